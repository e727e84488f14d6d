use super::{Admitted, Cache, Model, Query};
use crate::chat::Role;
use proptest::prelude::*;
use std::time::Duration;

fn cache(model: &str) -> Cache {
    Cache::new(&model.parse().expect(model), None)
}

/// `tokens` ids that no other `seed` gives.
fn text(seed: u32, tokens: usize) -> Vec<u32> {
    (0..tokens)
        .map(|index| seed * 1_000_000 + u32::try_from(index).expect("small"))
        .collect()
}

fn send(cache: &mut Cache, query: &Query<'_>, output: &[u32]) -> Admitted {
    let admitted = cache.admit(query);
    cache.finish(admitted.handle, output);
    admitted
}

fn ask(cache: &mut Cache, ids: &[u32], output: &[u32]) -> (u64, Option<u64>) {
    let query = Query {
        ids,
        ..Query::default()
    };
    let admitted = send(cache, &query, output);
    (admitted.bound, admitted.created)
}

#[test]
fn a_prompt_sent_again_hits_what_each_model_allows() {
    // model, tokens of the prompt, read of the repeat, created of the repeat
    let cases: &[(&str, usize, u64, Option<u64>)] = &[
        // The last block of an exact multiple is computed for ever.
        ("blocks:32", 2560, 2528, Some(32)),
        ("blocks:32", 2561, 2560, Some(0)),
        ("blocks:32", 2559, 2528, Some(0)),
        ("blocks:32", 32, 0, Some(32)),
        ("blocks:32", 31, 0, Some(0)),
        // Reported for 3,617 and for 2,501 tokens, with a drafter.
        ("blocks:1600,drop=1", 3617, 1600, Some(1600)),
        ("blocks:800,drop=1", 2501, 1600, Some(800)),
        ("blocks:1600,drop=1", 3200, 0, Some(3200)),
        ("blocks:1600,drop=1", 1700, 0, Some(1600)),
        ("blocks:32,capacity=130", 2560, 2528, Some(32)),
        ("align:1600", 3617, 3200, Some(0)),
        // The only kept state is behind the whole prompt, too late to be used.
        ("align:1600", 3200, 0, Some(3200)),
        ("radix", 2556, 2555, None),
        ("radix:64", 2560, 2496, None),
        ("slots:2", 1564, 1563, None),
        ("steps:128,min=1024", 1564, 1536, None),
        ("steps:128,min=1024", 1100, 1024, None),
        ("steps:128,min=1024", 1023, 0, None),
        ("steps:128", 300, 256, None),
        ("units", 300, 300, None),
        // Entries at 2,048 and 4,096 tokens.
        ("intervals:2048", 5_000, 4_096, None),
        ("intervals:2048", 2_047, 0, None),
        // They are counted from the start of a hidden text of 100 tokens: the
        // second lies at 3,996 tokens of the prompt, which is reported in steps.
        ("intervals:2048,hidden=100", 5_000, 3_968, None),
        ("intervals:2048,hidden=100,step=1", 5_000, 3_996, None),
        ("intervals:2048,hidden=100,step=1", 3_995, 1_948, None),
        ("intervals:512", 1_100, 1_024, None),
        ("intervals:512", 1_000, 0, None),
    ];
    for &(model, tokens, read, created) in cases {
        let mut cache = cache(model);
        let ids = text(1, tokens);
        let first = ask(&mut cache, &ids, &[]);
        assert_eq!(first.0, 0, "{model} {tokens}: cold");
        let again = ask(&mut cache, &ids, &[]);
        assert_eq!(again, (read, created), "{model} {tokens}");
    }
}

#[test]
fn the_next_turn_hits_the_answer_where_the_engine_keeps_it() {
    let prompt = text(1, 313);
    let answer = text(2, 12);
    let next = [&prompt[..], &answer, &text(3, 17)].concat();
    let cases = [
        // llama.cpp: previous prompt and completion, less one.
        ("slots:1", 324),
        ("radix", 324),
        ("units", 324),
        ("blocks:16", 320),
        ("blocks:32", 320),
        ("blocks:324", 324),
        ("blocks:325", 0),
        ("align:16", 320),
        ("steps:1", 313),
    ];
    for (model, read) in cases {
        let mut cache = cache(model);
        ask(&mut cache, &prompt, &answer);
        assert_eq!(ask(&mut cache, &next, &[]).0, read, "{model}");
    }
}

#[test]
fn an_entry_that_ends_at_a_message_is_read_by_the_turn_behind_it() {
    // The worked example of the guide: 12,000 tokens, then 15,000.
    let ids = text(1, 15_000);
    let mut cache = cache("message-ends");
    let first = Query {
        ids: &ids[..12_000],
        ends: &[4_000, 12_000],
        roles: &[Role::System, Role::User],
        ..Query::default()
    };
    let second = Query {
        ids: &ids,
        ends: &[4_000, 12_000, 12_500, 15_000],
        roles: &[Role::System, Role::User, Role::Assistant, Role::User],
        ..Query::default()
    };
    let first = send(&mut cache, &first, &[]);
    assert_eq!((first.bound, first.created), (0, Some(12_000)));
    let second = send(&mut cache, &second, &[]);
    assert_eq!((second.bound, second.created), (12_000, Some(3_000)));
}

#[test]
fn a_message_that_was_extended_has_lost_its_end() {
    let mut cache = cache("message-ends");
    let ids = text(1, 3_000);
    let one = Query {
        ids: &ids[..2_000],
        ends: &[500, 2_000],
        roles: &[Role::System, Role::User],
        ..Query::default()
    };
    let longer = Query {
        ids: &ids,
        ends: &[500, 3_000],
        ..one
    };
    send(&mut cache, &one, &[]);
    let longer = send(&mut cache, &longer, &[]);
    assert_eq!((longer.eligible, longer.bound), (2_000, 0));
}

#[test]
fn a_marked_place_is_read_within_the_lookback_only() {
    let ids = text(1, 5_000);
    let ends: Vec<usize> = (1..=50).map(|message| message * 100).collect();
    // marker of the second request, hit on an entry at 2,000
    let cases = [(2_000, 2_000), (3_900, 2_000), (4_000, 0), (1_900, 0)];
    for (marker, read) in cases {
        let mut cache = cache("breakpoints");
        let first = Query {
            ids: &ids[..2_500],
            ends: &ends[..25],
            markers: &[2_000],
            ..Query::default()
        };
        let written = send(&mut cache, &first, &[]);
        assert_eq!((written.bound, written.created), (0, Some(2_000)));
        let second = Query {
            ids: &ids,
            ends: &ends,
            markers: &[marker],
            ..Query::default()
        };
        let second = send(&mut cache, &second, &[]);
        let created = (marker as u64).saturating_sub(read);
        assert_eq!((second.bound, second.created), (read, Some(created)));
    }
}

#[test]
fn no_entry_is_below_the_minimum() {
    let ids = text(1, 1_500);
    let query = Query {
        ids: &ids,
        ends: &[900, 1_500],
        markers: &[900],
        ..Query::default()
    };
    let mut cache = cache("breakpoints");
    send(&mut cache, &query, &[]);
    let again = send(&mut cache, &query, &[]);
    assert_eq!((again.bound, again.created), (0, Some(0)));
    assert_eq!(again.eligible, 1_500);
}

#[test]
fn a_common_prefix_becomes_a_unit_with_its_third_request() {
    let shared = text(1, 1_000);
    for model in ["units", "align:100"] {
        let mut cache = cache(model);
        let reads: Vec<u64> = (2..5)
            .map(|tail| ask(&mut cache, &[&shared[..], &text(tail, 150)].concat(), &[]).0)
            .collect();
        assert_eq!(reads, [0, 0, 1_000], "{model}");
    }
}

#[test]
fn an_entry_lives_from_the_start_of_its_last_use() {
    let ids = text(1, 2_000);
    let ends = [2_000];
    for model in ["blocks:16", "breakpoints", "message-ends", "steps:128"] {
        let model: Model = model.parse().expect("a model");
        let mut cache = Cache::new(&model, Some(Duration::from_mins(5)));
        let mut read_at = |minute: i64| {
            let query = Query {
                ids: &ids,
                ends: &ends,
                markers: &ends,
                at_ms: minute * 60_000,
                ..Query::default()
            };
            send(&mut cache, &query, &[]).bound > 0
        };
        let hits = [0, 4, 8, 13, 19].map(&mut read_at);
        assert_eq!(hits, [false, true, true, true, false], "{model}");
    }
}

#[test]
fn salts_are_worlds_apart_where_the_server_knows_them() {
    let ids = text(1, 100);
    for (model, apart) in [("blocks:16", true), ("radix", true), ("slots:1", false)] {
        let mut cache = cache(model);
        let mut read = |salt: Option<&str>| {
            let query = Query {
                ids: &ids,
                salt,
                ..Query::default()
            };
            send(&mut cache, &query, &[]).bound
        };
        read(Some("a"));
        assert_eq!(read(Some("b")) == 0, apart, "{model}");
        assert!(read(Some("b")) > 0, "{model}");
        assert_eq!(read(None) == 0, apart, "{model}");
    }
}

#[test]
fn a_running_request_is_shared_where_the_engine_shares_on_schedule() {
    let ids = text(1, 2_000);
    let cases = [
        ("blocks:32", 1_984),
        ("blocks:32,capacity=200", 1_984),
        ("radix", 1_999),
        ("steps:128", 0),
        ("slots:2", 0),
    ];
    for (model, read) in cases {
        let mut cache = cache(model);
        let query = Query {
            ids: &ids,
            ..Query::default()
        };
        assert_eq!(cache.admit(&query).bound, 0, "{model}");
        assert_eq!(cache.admit(&query).bound, read, "{model}");
    }
}

#[test]
fn units_at_fixed_intervals_are_read_where_prompts_part() {
    // Shared are 150 tokens, which end no input, no output and no known prefix.
    let shared = text(1, 150);
    let first = [&shared[..], &text(2, 100)].concat();
    let second = [&shared[..], &text(3, 100)].concat();
    for (model, read) in [
        ("units", 0),
        ("units,interval=64", 128),
        ("units,interval=200", 0),
    ] {
        let mut cache = cache(model);
        ask(&mut cache, &first, &[]);
        assert_eq!(ask(&mut cache, &second, &[]).0, read, "{model}");
        // The end of an earlier input goes before an interval that lies in front of it.
        let third = [&second[..], &text(4, 10)].concat();
        assert_eq!(ask(&mut cache, &third, &[]).0, 250, "{model}");
    }
}

#[test]
fn a_reset_empties_the_cache_unless_a_request_runs() {
    for model in ["blocks:16", "blocks:16,capacity=50", "slots:1", "units"] {
        let mut cache = cache(model);
        let ids = text(1, 100);
        let query = Query {
            ids: &ids,
            ..Query::default()
        };
        let running = cache.admit(&query).handle;
        assert!(!cache.reset(), "{model}");
        cache.finish(running, &[]);
        assert!(ask(&mut cache, &ids, &[]).0 > 0, "{model}");
        assert!(cache.reset(), "{model}");
        assert_eq!(ask(&mut cache, &ids, &[]).0, 0, "{model}");
        cache.finish(running, &[1, 2]);
    }
}

#[test]
fn trimming_forgets_the_salts_that_were_used_longest_ago() {
    let mut cache = cache("blocks:16");
    let ids = text(1, 100);
    let read = |cache: &mut Cache, salt| {
        let query = Query {
            ids: &ids,
            salt: Some(salt),
            ..Query::default()
        };
        send(cache, &query, &[]).bound
    };
    for salt in ["a", "b", "c", "a"] {
        read(&mut cache, salt);
    }
    cache.trim(200);
    let reads = ["a", "c", "b"].map(|salt| read(&mut cache, salt));
    assert_eq!(reads, [96, 96, 0]);
    cache.trim(0);
    assert_eq!(read(&mut cache, "a"), 0);
}

#[test]
fn two_chats_on_a_small_cache_lose_their_tails() {
    // Measured: two chats of 2,556 tokens on 130 blocks of 32: A 0, A 2528, B 0, A 1536, B 1536.
    let mut cache = cache("blocks:32,capacity=130");
    let (a, b) = (text(1, 2_556), text(2, 2_556));
    let reads = [&a, &a, &b, &a, &b].map(|ids| ask(&mut cache, ids, &text(3, 17)).0);
    assert_eq!(reads, [0, 2_528, 0, 1_536, 1_536]);
}

#[test]
fn a_prompt_larger_than_the_cache_is_cached_as_far_as_there_is_room() {
    let mut cache = cache("blocks:16,capacity=5");
    let ids = text(1, 200);
    ask(&mut cache, &ids, &text(2, 50));
    assert_eq!(ask(&mut cache, &ids, &[]).0, 64);
}

/// Turns of two chats on llama.cpp, each prompt a little longer than the last.
fn interleaved(model: &str, shared: usize) -> Vec<u64> {
    let mut cache = cache(model);
    let head = text(9, shared);
    let mut chats = [
        [&head[..], &text(1, 290 - shared)].concat(),
        [&head[..], &text(2, 290 - shared)].concat(),
    ];
    let mut reads = Vec::new();
    for turn in 0..3 {
        for (chat, ids) in chats.iter_mut().enumerate() {
            let seed = 10 + turn * 2 + u32::try_from(chat).expect("two");
            ids.extend(text(seed, 10));
            let read = ask(&mut cache, ids, &[]).0;
            if turn > 0 {
                reads.push(read);
            }
        }
    }
    reads
}

#[test]
fn two_chats_share_llama_slots_as_measured() {
    let (full, lost, shared) = ([300, 300, 310, 310], [3; 4], [176; 4]);
    let cases = [
        ("slots:1,ram=0", 3, lost),
        ("slots:1", 3, full),
        ("slots:2,ram=0", 3, full),
        ("slots:2", 3, full),
        // One system prompt: both chats fight over one slot.
        ("slots:1,ram=0", 176, shared),
        ("slots:1", 176, shared),
        ("slots:2,ram=0", 176, shared),
        ("slots:2", 176, shared),
        ("slots:4,ram=0", 176, shared),
        ("slots:2,sps=0", 176, full),
        ("slots:2,sps=0.9", 176, full),
    ];
    for (model, in_common, expected) in cases {
        assert_eq!(
            interleaved(model, in_common),
            expected,
            "{model} {in_common}"
        );
    }
}

/// What vLLM's rules give, with nothing remembered but whole sequences.
fn naive(size: usize, drop: usize, earlier: &[Vec<u32>], ids: &[u32]) -> u64 {
    let hit = |stored: &Vec<u32>| {
        let mut blocks = 0;
        while (blocks + 1) * size < ids.len()
            && stored.get(..(blocks + 1) * size) == ids.get(..(blocks + 1) * size)
        {
            blocks += 1;
        }
        blocks
    };
    let most = earlier.iter().map(hit).max().unwrap_or(0);
    (most.saturating_sub(drop) * size) as u64
}

/// A small cache, simulated with lists and whole prefixes for keys; serial only.
struct NaivePool {
    size: usize,
    /// What each block holds: the tokens from the start of the prompt to its end.
    held: Vec<Option<Vec<u32>>>,
    /// Since when each block holds it; of two copies the older is found.
    since: Vec<usize>,
    queue: Vec<usize>,
    clock: usize,
}

impl NaivePool {
    fn new(size: usize, capacity: usize) -> Self {
        Self {
            size,
            held: vec![None; capacity - 1],
            since: vec![0; capacity - 1],
            queue: (0..capacity - 1).collect(),
            clock: 0,
        }
    }

    fn find(&self, prefix: &[u32]) -> Option<usize> {
        let blocks = 0..self.held.len();
        let found = blocks.filter(|&block| self.held[block].as_deref() == Some(prefix));
        found.min_by_key(|&block| self.since[block])
    }

    fn send(&mut self, ids: &[u32], output: &[u32]) -> u64 {
        let computed = [ids, &output[..output.len().saturating_sub(1)]].concat();
        let mut mine = Vec::new();
        while (mine.len() + 1) * self.size < ids.len() {
            match self.find(&ids[..(mine.len() + 1) * self.size]) {
                Some(block) => mine.push(block),
                None => break,
            }
        }
        self.queue.retain(|block| !mine.contains(block));
        let read = mine.len() * self.size;
        while mine.len() * self.size < computed.len() {
            let block = self.queue.remove(0);
            mine.push(block);
            let full = computed.get(..mine.len() * self.size);
            self.held[block] = full.map(<[u32]>::to_vec);
            self.clock += 1;
            self.since[block] = self.clock;
        }
        for &block in mine.iter().rev() {
            if self.held[block].is_some() {
                self.queue.push(block);
            } else {
                self.queue.insert(0, block);
            }
        }
        read as u64
    }
}

proptest! {
    #[test]
    fn a_small_cache_agrees_with_a_naive_simulator(
        size in 1_usize..4,
        spare in 0_usize..6,
        prompts in proptest::collection::vec(
            (proptest::collection::vec(0_u32..2, 1..10), proptest::collection::vec(0_u32..2, 0..5)),
            1..25,
        ),
    ) {
        // The longest request has room, as an engine makes sure of.
        let capacity = 14_usize.div_ceil(size) + 1 + spare;
        let mut cache = cache(&format!("blocks:{size},capacity={capacity}"));
        let mut naive = NaivePool::new(size, capacity);
        for (ids, output) in prompts {
            prop_assert_eq!(ask(&mut cache, &ids, &output).0, naive.send(&ids, &output));
        }
    }

    #[test]
    fn blocks_agree_with_a_naive_simulator(
        size in 1_usize..5,
        drop in 0_usize..2,
        prompts in proptest::collection::vec(
            (proptest::collection::vec(0_u32..2, 0..14), proptest::collection::vec(0_u32..2, 0..6)),
            1..12,
        ),
    ) {
        let roomy = format!("blocks:{size},drop={drop},capacity=4000");
        let mut caches = [cache(&format!("blocks:{size},drop={drop}")), cache(&roomy)];
        let mut earlier = Vec::new();
        for (ids, output) in prompts {
            let read = naive(size, drop, &earlier, &ids);
            let created = (ids.len() / size * size) as u64 - read;
            for cache in &mut caches {
                prop_assert_eq!(ask(cache, &ids, &output), (read, Some(created)));
            }
            let computed = output.len().saturating_sub(1);
            earlier.push([&ids[..], &output[..computed]].concat());
        }
    }

    #[test]
    fn no_model_reads_more_than_is_eligible(
        prompts in proptest::collection::vec(proptest::collection::vec(0_u32..2, 0..20), 1..10),
    ) {
        let models = ["blocks:2", "blocks:2,capacity=6", "align:2", "radix", "slots:2", "steps:3",
            "message-ends,min=2", "breakpoints,min=2", "units"];
        for model in models {
            let mut cache = cache(model);
            for ids in &prompts {
                let ends = [ids.len() / 2, ids.len()];
                let query = Query { ids, ends: &ends, markers: &ends, ..Query::default() };
                let admitted = send(&mut cache, &query, &[1, 1, 0]);
                prop_assert!(admitted.bound <= admitted.eligible, "{}", model);
                prop_assert!(admitted.eligible <= ids.len() as u64);
            }
        }
    }
}
