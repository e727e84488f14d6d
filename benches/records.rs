//! How fast records are written, each with one `write`, beside a plain write of
//! the same lines. Their span texts are already stored, as in a run's middle.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::record::{Manifest, RequestRecord, RunWriter};
use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;

fn records() -> Vec<RequestRecord> {
    let scenario = support::long_chat(100, 40_000);
    let requests = support::requests(&scenario, "append-only");
    let numbered = requests.iter().zip(0..);
    numbered
        .map(|(pending, at)| support::record(pending, &support::body(pending), at))
        .collect()
}

fn written(writer: &mut RunWriter, records: &[RequestRecord]) {
    for record in records {
        let none = &mut std::iter::empty();
        writer.append(record, none).expect("written");
    }
}

fn writing(criterion: &mut Criterion) {
    let records = records();
    let lines: Vec<Vec<u8>> = records
        .iter()
        .map(|record| {
            let mut line = serde_json::to_vec(record).expect("JSON");
            line.push(b'\n');
            line
        })
        .collect();
    let bytes: usize = lines.iter().map(Vec::len).sum();
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = Manifest::begin(1, "0 0 0 0 0 0 0 0");
    let mut writer = RunWriter::create(&folder.path().join("run"), &manifest, true).expect("a run");
    let mut plain = File::create(folder.path().join("plain")).expect("a file");
    let mut group = criterion.benchmark_group("records");
    for (unit, throughput) in [
        ("bytes", Throughput::Bytes(bytes as u64)),
        ("records", Throughput::Elements(records.len() as u64)),
    ] {
        group.throughput(throughput);
        group.bench_function(format!("written, {unit}"), |bencher| {
            bencher.iter(|| written(&mut writer, black_box(&records)));
        });
        group.bench_function(format!("limit: plain write, {unit}"), |bencher| {
            bencher.iter(|| {
                let mut lines = lines.iter();
                lines.try_for_each(|line| plain.write_all(black_box(line)))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, writing);
criterion_main!(benches);
