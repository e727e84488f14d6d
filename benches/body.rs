//! How fast a dialect writes a prompt of 200,000 tokens as a body, beside a plain
//! copy of the body and `serde_json` writing it from a value.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::provider::{DIALECTS, RequestParams};
use std::hint::black_box;

fn bodies(criterion: &mut Criterion) {
    let scenario = support::long_chat(500, 200_000);
    let requests = support::requests(&scenario, "append-only");
    let prompt = &requests.last().expect("500 requests").prompt;
    let params = RequestParams {
        model: "m".to_owned(),
        max_tokens: 16,
        stream: true,
        ..RequestParams::default()
    };
    let mut group = criterion.benchmark_group("body");
    for dialect in DIALECTS {
        let bytes = dialect.body(prompt, &params).text.len() as u64;
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(dialect.name(), |bencher| {
            bencher.iter(|| dialect.body(black_box(prompt), black_box(&params)));
        });
    }
    let text = support::body(requests.last().expect("500 requests")).text;
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("limit: memcpy", |bencher| {
        bencher.iter(|| black_box(&text).clone());
    });
    group.bench_function("limit: serde_json", |bencher| {
        bencher.iter(|| serde_json::to_string(black_box(&value)));
    });
    group.finish();
}

criterion_group!(benches, bodies);
criterion_main!(benches);
