//! How fast 1,000,000 records become results (sums, quantiles, intervals), beside
//! sorting as many numbers, which every quantile needs.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::analysis::{Results, Samples};
use prefixbench::record::{Manifest, RequestRecord};
use std::hint::black_box;
use std::sync::Arc;

const RECORDS: u64 = 1_000_000;

/// 1,000,000 requests of 50,000 conversations under four configurations.
fn records() -> Vec<RequestRecord> {
    let scenario = support::long_chat(20, 8_000);
    let requests = support::requests(&scenario, "append-only");
    let bodies: Vec<_> = requests.iter().map(support::body).collect();
    let configurations = ["inline", "dev", "layered", "append-only"].map(Arc::<str>::from);
    let record = |at: u64| {
        let conversation = at / 20;
        let turn = usize::try_from(at % 20).expect("small");
        let mut record = support::record(&requests[turn], &bodies[turn], at);
        record.configuration = Arc::clone(&configurations[(conversation % 4) as usize]);
        record.repeat = u32::try_from(conversation / 4 + 1).expect("small");
        record.conversation = format!("long/{conversation}").into();
        // Results need no prompts, and a real run's are read one after the other.
        record.prompt = Vec::new();
        record
    };
    (0..RECORDS).map(record).collect()
}

fn results(criterion: &mut Criterion) {
    let records = records();
    let manifest = Manifest::begin(1, "0 0 0 0 0 0 0 0");
    let mut group = criterion.benchmark_group("analysis of 1,000,000 records");
    group.sample_size(10);
    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("samples", |bencher| {
        bencher.iter(|| Samples::of(&manifest, black_box(&records), &[]));
    });
    let samples = Samples::of(&manifest, &records, &[]);
    group.bench_function("results", |bencher| {
        bencher.iter(|| Results::new(&manifest, black_box(&samples), Vec::new()));
    });
    // A fixed mixing of the numbers, so that there is something to sort.
    let numbers: Vec<u64> = (0..RECORDS)
        .map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    group.bench_function("limit: sort", |bencher| {
        bencher.iter(|| {
            let mut numbers = black_box(&numbers).clone();
            numbers.sort_unstable();
            numbers
        });
    });
    group.finish();
}

criterion_group!(benches, results);
criterion_main!(benches);
