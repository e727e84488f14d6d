//! How fast bounds and breaks are computed from records, in prompt tokens a
//! second; the rate is the same at every length. Beside it the cache model
//! alone, and a comparison of the same tokens.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::analysis::bounds::{Inputs, bounds};
use prefixbench::cache::{Cache, Model, Query};
use prefixbench::record::{BoundRecord, RequestRecord, SpanStore, TargetFacts};
use prefixbench::tokens::{SharedEncoder, TemplateMessage, embedded};
use std::hint::black_box;
use std::sync::Arc;

const TOKENS_PER_TURN: usize = 400;

/// Records of a chat and the texts of their spans.
struct Recorded {
    records: Vec<RequestRecord>,
    spans: SpanStore,
    prompts: Vec<Vec<u32>>,
}

fn recorded(turns: usize, encoder: &SharedEncoder) -> Recorded {
    let scenario = support::long_chat(turns, turns * TOKENS_PER_TURN);
    let mut recorded = Recorded {
        records: Vec::new(),
        spans: SpanStore::default(),
        prompts: Vec::new(),
    };
    for (pending, at) in support::requests(&scenario, "append-only").iter().zip(0..) {
        let body = support::body(pending);
        let spans = body.messages.iter().flat_map(|message| &message.spans);
        recorded
            .spans
            .extend(spans.map(|placed| placed.span.text.clone()));
        recorded.records.push(support::record(pending, &body, at));
        let texts = body.messages.iter().map(|message| {
            let texts = message.spans.iter().map(|placed| placed.span.text.as_str());
            (message.role.as_str(), texts.collect::<String>())
        });
        let texts: Vec<_> = texts.collect();
        let shown = texts
            .iter()
            .map(|(role, text)| TemplateMessage::text(role, text));
        recorded
            .prompts
            .push(encoder.prompt(&shown.collect::<Vec<_>>()));
    }
    recorded
}

fn computed(recorded: &Recorded, encoder: &SharedEncoder) -> Vec<BoundRecord> {
    let target = TargetFacts {
        name: Arc::from("here"),
        cache_model: Some(Arc::from("blocks:16")),
        ..TargetFacts::default()
    };
    let inputs = Inputs {
        target: &target,
        records: &recorded.records,
        spans: &recorded.spans,
        started_ms: None,
        encoder: Some(encoder),
    };
    bounds(&inputs).expect("a known model")
}

fn played(prompts: &[Vec<u32>], model: &Model) -> u64 {
    let mut cache = Cache::new(model, None);
    let reads = prompts.iter().map(|ids| {
        let admitted = cache.admit(&Query {
            ids,
            ..Query::default()
        });
        cache.finish(admitted.handle, &[]);
        admitted.bound
    });
    reads.sum()
}

fn compared(prompts: &[Vec<u32>]) -> usize {
    let pairs = prompts.windows(2);
    pairs.filter(|pair| pair[1].starts_with(&pair[0])).count()
}

fn tokens(criterion: &mut Criterion) {
    let encoder = embedded();
    let mut group = criterion.benchmark_group("bounds");
    group.sample_size(10);
    for turns in [60, 120, 240] {
        let recorded = recorded(turns, &encoder);
        let tokens: usize = recorded.prompts.iter().map(Vec::len).sum();
        group.throughput(Throughput::Elements(tokens as u64));
        group.bench_function(BenchmarkId::new("from records", turns), |bencher| {
            bencher.iter(|| computed(black_box(&recorded), &encoder));
        });
        for written in ["blocks:16", "blocks:16,capacity=20000"] {
            let model = written.parse().expect("a model");
            group.bench_function(BenchmarkId::new(written, turns), |bencher| {
                bencher.iter(|| played(black_box(&recorded.prompts), &model));
            });
        }
        group.bench_function(BenchmarkId::new("limit: comparison", turns), |bencher| {
            bencher.iter(|| compared(black_box(&recorded.prompts)));
        });
    }
    group.finish();
}

criterion_group!(benches, tokens);
criterion_main!(benches);
