//! Replays request sequences that a real vLLM 0.32.0 answered, and compares
//! its cached and created counts with the cache model's.
//!
//! Token ids stand in the files, so no tokenizer is needed. The folder comes
//! from `VLLM_CASES`; every `*.jsonl` in it is read.
#![expect(clippy::expect_used, reason = "a broken case file is a failed test")]

use prefixbench::cache::{Cache, Handle, Query};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// First line of a file.
#[derive(Deserialize)]
struct Server {
    label: String,
    block_size: usize,
    num_gpu_blocks: usize,
}

/// Any other line: a request, in the order sent.
#[derive(Deserialize)]
struct Row {
    set: String,
    seq: String,
    i: i64,
    reset_before: bool,
    api: String,
    cache_salt: Option<String>,
    prompt_tokens: u64,
    cached_tokens: u64,
    created_cache_tokens: u64,
    prompt_ids: Vec<u32>,
    completion_ids: Vec<u32>,
    /// `/v1/messages` only: what its own usage called input.
    input_tokens: Option<u64>,
    /// Sent with its neighbours at once: the order of the rows is not that of arrival.
    #[serde(default)]
    order_dependent: bool,
    /// Names the group sent at once.
    #[serde(default)]
    concurrent: serde_json::Value,
}

impl Row {
    fn counts(&self) -> (u64, u64) {
        (self.cached_tokens, self.created_cache_tokens)
    }

    fn sent_with(&self, other: &Self) -> bool {
        self.order_dependent
            && other.order_dependent
            && !other.reset_before
            && self.set == other.set
            && self.seq == other.seq
            && self.concurrent == other.concurrent
    }

    fn admit(&self, cache: &mut Cache) -> (Handle, (u64, u64)) {
        let admitted = cache.admit(&Query {
            ids: &self.prompt_ids,
            salt: self.cache_salt.as_deref(),
            ..Query::default()
        });
        let created = admitted.created.expect("vLLM reports created tokens");
        (admitted.handle, (admitted.bound, created))
    }
}

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("VLLM_CASES") {
        return folder.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join("../shared/oracle/vllm");
    if shared.is_dir() {
        shared
    } else {
        root.join("tests/data/vllm")
    }
}

/// Server and requests of every file, by file name.
fn files() -> Vec<(String, Server, Vec<Row>)> {
    let folder = folder();
    let entries = fs::read_dir(&folder).expect("folder of cases");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no cases in `{}`", folder.display());
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> (String, Server, Vec<Row>) {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).expect(&name);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let server = serde_json::from_str(lines.next().expect(&name)).expect(&name);
    let rows = lines.map(|line| serde_json::from_str(line).expect(&name));
    let rows = rows.collect();
    (name, server, rows)
}

/// Rows that were sent at once, in groups; any other row is a group of its own.
fn groups(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(Row::sent_with)
}

/// Replays a group; the wrong rows, told.
///
/// Rows sent at once are compared as a multiset. Which of them came first is
/// not in the file, but the one that came first found least.
fn replay(cache: &mut Cache, group: &[Row]) -> Vec<String> {
    if group[0].reset_before {
        assert!(cache.reset(), "nothing runs between groups");
    }
    let mut arrivals: Vec<&Row> = group.iter().collect();
    arrivals.sort_by_key(|row| row.cached_tokens);
    let running: Vec<_> = arrivals.iter().map(|row| row.admit(cache)).collect();
    for (row, (handle, _)) in arrivals.iter().zip(&running) {
        cache.finish(*handle, &row.completion_ids);
    }
    let mut found: Vec<_> = running.iter().map(|(_, counts)| *counts).collect();
    let mut wrong = Vec::new();
    for row in arrivals {
        if let Some(index) = found.iter().position(|&counts| counts == row.counts()) {
            found.swap_remove(index);
        } else {
            let (set, seq, i) = (&row.set, &row.seq, row.i);
            let told = row.counts();
            wrong.push(format!("{set} {seq} {i}: told {told:?}, left {found:?}"));
        }
    }
    wrong
}

#[test]
fn vllm_cases_come_out_exactly() {
    let (mut requests, mut wrong) = (0, Vec::new());
    for (file, server, rows) in files() {
        let (size, blocks) = (server.block_size, server.num_gpu_blocks);
        let model = format!("blocks:{size},capacity={blocks}");
        let mut cache = Cache::new(&model.parse().expect("a model"), None);
        for group in groups(&rows) {
            requests += group.len();
            let label = &server.label;
            let told = replay(&mut cache, group);
            wrong.extend(told.iter().map(|row| format!("{file} ({label}): {row}")));
        }
    }
    println!("vllm: {requests} requests, {} wrong", wrong.len());
    assert!(requests > 0, "the files hold no request");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn vllm_cases_without_eviction_need_no_capacity() {
    let mut requests = 0;
    for (file, server, rows) in files() {
        if server.num_gpu_blocks < 1_000 {
            continue;
        }
        let model = format!("blocks:{}", server.block_size);
        let mut cache = Cache::new(&model.parse().expect("a model"), None);
        for group in groups(&rows) {
            requests += group.len();
            assert_eq!(replay(&mut cache, group), [""; 0], "{file}");
        }
    }
    println!("vllm: {requests} requests without eviction");
}

#[test]
fn vllm_cases_agree_with_themselves() {
    for (file, server, rows) in files() {
        for row in rows {
            let told = format!("{file}: {} {} {}", row.set, row.seq, row.i);
            assert_eq!(row.prompt_ids.len() as u64, row.prompt_tokens, "{told}");
            if row.api == "messages" {
                let size = server.block_size as u64;
                assert_eq!(row.input_tokens, Some(row.prompt_tokens % size), "{told}");
            }
        }
    }
}
