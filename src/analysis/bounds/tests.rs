//! Tests of bounds over small conversations: a token is a character.

use super::*;
use crate::analysis::testing::{self, Said, record, store};
use crate::chat::Role::{Assistant, System, User};
use crate::chat::{Text, UsageOrigin};
use crate::record::{EventLabel, IDLE_CUT};
use crate::tokens::{EncodeError, EncodedPrompt, PromptEncoder, TemplateMessage};
use std::slice;

/// `<` role text `>` for each message and `<a` behind, a token a character.
struct Letters;

impl PromptEncoder for Letters {
    fn name(&self) -> &'static str {
        "letters"
    }

    fn prompt(&self, messages: &[TemplateMessage<'_>]) -> Vec<u32> {
        self.encoded(messages)
            .map_or_else(|_| Vec::new(), |prompt| prompt.ids)
    }

    fn output(&self, text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    fn encoded(&self, messages: &[TemplateMessage<'_>]) -> Result<EncodedPrompt, EncodeError> {
        let mut prompt = EncodedPrompt::default();
        for message in messages {
            let text = format!("<{}{}>", &message.role[..1], message.text);
            prompt.ids.extend(text.chars().map(u32::from));
            prompt.ends.push(prompt.ids.len());
        }
        prompt.ids.extend("<a".chars().map(u32::from));
        Ok(prompt)
    }
}

fn target(cache_model: &str) -> TargetFacts {
    TargetFacts {
        name: Arc::from("here"),
        cache_model: Some(Arc::from(cache_model)),
        ..TargetFacts::default()
    }
}

/// A request and its place in time, a second after the one before.
fn sent(said: &[Said], turn: u32) -> RequestRecord {
    let mut record = record(said);
    record.turn = turn;
    let second = u64::from(turn) * 1_000_000;
    record.stamps.sent_us = Some(Micros(second));
    record.stamps.done_us = Some(Micros(second + 500_000));
    record
}

fn conversation() -> Vec<Vec<Said>> {
    let first = vec![
        (System, vec![("agent", "abcd")]),
        (User, vec![("user", "hi")]),
    ];
    let mut second = first.clone();
    second.push((Assistant, vec![("reply", "yes")]));
    second.push((User, vec![("user", "more")]));
    vec![first, second]
}

fn play(target: &TargetFacts, records: &[RequestRecord], spans: &SpanStore) -> Vec<BoundRecord> {
    let encoder: SharedEncoder = Arc::new(Letters);
    bounds(&Inputs {
        target,
        records,
        spans,
        started_ms: None,
        encoder: Some(&encoder),
    })
    .expect("a known model")
}

#[test]
fn what_a_request_cost_is_by_the_hour_at_which_it_was_sent() {
    let spans = store(&[]);

    let mut records = [testing::blank("dev", 1), testing::blank("dev", 2)];
    let mut target = target("blocks:4");
    let catalogue = crate::analysis::prices::Catalogue::shipped();
    target.price = catalogue.find("deepseek-flash", "2026-11-30").cloned();
    for (record, sent) in records.iter_mut().zip([0, 3 * 3_600_000_000]) {
        record.usage.total = Some(Tokens(1_000_000));
        record.usage.read = Some(Tokens(0));
        record.usage.output = Some(Tokens(0));
        record.stamps.sent_us = Some(Micros(sent));
    }
    let costs = |started_ms| {
        let found = bounds(&Inputs {
            target: &target,
            records: &records,
            spans: &spans,
            started_ms,
            encoder: None,
        });
        let found = found.expect("a known model").into_iter();
        found
            .map(|bound| bound.cost.map(crate::units::Money::decimal))
            .collect::<Vec<_>>()
    };
    let dollars = |amounts: [&str; 2]| amounts.map(|amount| Some(amount.to_owned())).to_vec();
    // 01:00 UTC of a Monday, in the peak; three hours later it is over.
    assert_eq!(costs(Some(1_796_000_400_000)), dollars(["0.3", "0.15"]));
    assert_eq!(costs(None), dollars(["0.15", "0.15"]));
}

fn pair(bound: &BoundRecord) -> (Option<u64>, Option<u64>) {
    (bound.eligible.map(|t| t.0), bound.bound.map(|t| t.0))
}

#[test]
fn a_prompt_that_goes_on_is_eligible_up_to_where_the_earlier_one_ended() {
    // Turn 1: `<sabcd><uhi><a` is 14 tokens; turn 2 begins with the same.
    let said = conversation();
    let records = [sent(&said[0], 1), sent(&said[1], 2)];
    let found = play(&target("blocks:4"), &records, &store(&said));
    assert_eq!(
        found.iter().map(pair).collect::<Vec<_>>(),
        [(Some(0), Some(0)), (Some(14), Some(12)),]
    );
    assert_eq!(found[0].prompt, Some(Tokens(14)));
    assert!(
        found
            .iter()
            .all(|bound| bound.flags.is_empty() && bound.broke.is_none())
    );
    assert_eq!(found[1].tokenizer.as_deref(), Some("letters"));
}

#[test]
fn what_was_generated_counts_less_its_last_token() {
    let said = conversation();
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    let mut spans = store(&said);
    let cases = [
        // Generated is `yes` and a stop token that is counted: all of `yes` is held.
        ("yes", Some(4), 17),
        // Cut off by the limit: the last token was never computed.
        ("yes", Some(3), 16),
        // The server does not say how many: the last of the text's may be missing.
        ("yes", None, 16),
        // The script replaced what was generated: its actual output counts.
        ("yet", Some(4), 16),
        ("", Some(1), 14),
    ];
    for (text, count, eligible) in cases {
        let text = Text::from(text);
        spans.insert(text.clone());
        records[0].output_sha256 = Some(text.digest());
        records[0].usage.output = count.map(Tokens);
        let found = play(&target("blocks:1"), &records, &spans);
        assert_eq!(pair(&found[1]).0, Some(eligible), "{text} {count:?}");
    }
}

#[test]
fn ids_that_the_server_named_go_before_its_text_and_reasoning_matches_nothing() {
    let said = conversation();
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    let mut spans = store(&said);
    spans.insert(Text::from("yes"));
    records[0].output_sha256 = Some(Text::from("yes").digest());
    records[0].usage.output = Some(Tokens(4));
    let mut eligible = |change: &dyn Fn(&mut RequestRecord)| {
        change(&mut records[0]);
        pair(&play(&target("blocks:1"), &records, &spans)[1]).0
    };
    let ids = |text: &str| Some(text.chars().map(u32::from).collect::<Arc<[u32]>>());
    assert_eq!(eligible(&|first| first.output_ids = ids("yet.")), Some(16));
    assert_eq!(eligible(&|first| first.output_ids = ids("yes.")), Some(17));
    assert_eq!(eligible(&|first| first.output_ids = None), Some(17));
    let reasoned = eligible(&|first| first.usage.reasoning = Some(Tokens(1)));
    assert_eq!(reasoned, Some(14), "reasoning stands in front of the text");
}

#[test]
fn a_request_that_has_not_ended_has_no_output_yet() {
    let said = conversation();
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    let mut spans = store(&said);
    spans.insert(Text::from("yes"));
    records[0].output_sha256 = Some(Text::from("yes").digest());
    records[0].stamps.done_us = Some(Micros(2_000_001));
    let found = play(&target("blocks:1"), &records, &spans);
    assert_eq!(
        pair(&found[1]).0,
        Some(14),
        "the prompt itself is shared in flight"
    );
}

#[test]
fn a_break_says_what_was_lost_behind_it() {
    let mut said = conversation();
    said[1][0].1 = vec![("agent", "abcX")];
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    records[1].events = vec![EventLabel {
        label: Arc::from("agent changed"),
        line: 3,
        rewrites: None,
    }];
    let found = play(&target("blocks:1"), &records, &store(&said));
    let broke = found[1].broke.as_ref().expect("differs");
    // `<sabc` is common; `d><uhi><a` is lost.
    assert_eq!(broke.lost, Some(Tokens(9)));
    assert_eq!(
        (broke.origin.as_str(), &*broke.cause),
        ("agent", "agent changed")
    );
    assert_eq!(pair(&found[1]), (Some(5), Some(5)));
}

#[test]
fn salts_and_models_share_nothing() {
    let said = conversation();
    let spans = store(&said);
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    records[1].salt = Some(Arc::from("other"));
    assert_eq!(
        pair(&play(&target("blocks:1"), &records, &spans)[1]),
        (Some(0), Some(0))
    );
    records[1].salt = None;
    records[1].model = Arc::from("other");
    assert_eq!(
        pair(&play(&target("blocks:1"), &records, &spans)[1]),
        (Some(0), Some(0))
    );
}

#[test]
fn what_was_refused_leaves_nothing_and_what_was_cut_may() {
    let said = conversation();
    let spans = store(&said);
    for (outcome, eligible) in [
        (Outcome::Http429, 0),
        (Outcome::Overflow, 0),
        (Outcome::Connect, 0),
        (Outcome::Cut, 14),
        (Outcome::Timeout, 14),
        (Outcome::Http5xx, 14),
    ] {
        let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
        records[0].outcome = outcome;
        let found = play(&target("blocks:1"), &records, &spans);
        assert_eq!(pair(&found[1]).0, Some(eligible), "{outcome:?}");
    }
}

#[test]
fn what_a_server_had_no_room_for_leaves_nothing() {
    let said = conversation();
    let spans = store(&said);
    for (status, begun, eligible) in [
        (503, false, 0),
        (529, false, 0),
        (503, true, 14),
        (500, false, 14),
        (502, false, 14),
    ] {
        let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
        records[0].outcome = Outcome::Http5xx;
        records[0].status = Some(status);
        records[0].stamps.first_event_us = begun.then_some(Micros(1_100_000));
        let found = play(&target("blocks:1"), &records, &spans);
        assert_eq!(
            pair(&found[1]).0,
            Some(eligible),
            "{status}, begun: {begun}"
        );
    }
}

#[test]
fn a_prompt_that_was_cached_and_is_read_no_more_was_evicted() {
    let said = conversation();
    let third = said[1].clone();
    let said = [said[0].clone(), said[1].clone(), third];
    let spans = store(&said);
    let with = |reads: [u64; 3]| {
        let mut records: Vec<_> = (1..)
            .zip(&said)
            .map(|(turn, said)| sent(said, turn))
            .collect();
        for (record, read) in records.iter_mut().zip(reads) {
            record.usage.read = Some(Tokens(read));
        }
        let found = play(&target("blocks:1"), &records, &spans);
        let evicted = |bound: &BoundRecord| bound.flags.iter().any(|flag| &**flag == "evicted");
        found.iter().map(evicted).collect::<Vec<_>>()
    };
    assert_eq!(with([0, 14, 0]), [false, false, true]);
    assert_eq!(with([0, 14, 13]), [false, false, false], "within a block");
    assert_eq!(with([0, 0, 0]), [false, false, false], "never cached");
}

#[test]
fn a_text_that_was_not_kept_leaves_the_bound_open() {
    let said = conversation();
    let records = [sent(&said[0], 1), sent(&said[1], 2)];
    let spans = store(&said[1..]);
    let found = play(&target("blocks:4"), &records, &spans);
    assert_eq!(
        pair(&found[0]),
        (Some(0), Some(0)),
        "all its texts are in the second"
    );
    let found = play(&target("blocks:4"), &records, &store(&said[..1]));
    assert_eq!(pair(&found[1]), (None, None));
    let none = bounds(&Inputs {
        target: &target("blocks:4"),
        records: &records,
        spans: &spans,
        started_ms: None,
        encoder: None,
    })
    .expect("a known model");
    assert_eq!(pair(&none[1]), (None, None));
}

#[test]
fn counts_that_cannot_be_are_flagged() {
    let said = conversation();
    let spans = store(&said);
    let flags = |first: u64, second: u64, tolerance: u64, origin| {
        let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
        records[0].usage.read = Some(Tokens(first));
        records[1].usage.read = Some(Tokens(second));
        records[1].usage.origin = origin;
        // Kept apart, so that it should have begun cold.
        for record in &mut records {
            record.nonce = Arc::from("1 2 3 4 5 6 7 8");
        }
        let target = TargetFacts {
            tolerance: Tokens(tolerance),
            ..target("blocks:4")
        };
        play(&target, &records, &spans)
            .iter()
            .map(|bound| bound.flags.join(" "))
            .collect::<Vec<_>>()
    };
    let reported = UsageOrigin::Reported;
    assert_eq!(flags(0, 12, 0, reported), ["", ""]);
    assert_eq!(
        flags(0, 8, 0, reported),
        ["", ""],
        "less than the bound is an efficiency"
    );
    assert_eq!(
        flags(4, 16, 0, reported),
        ["above_bound contaminated", "above_bound contaminated"],
        "later requests build on the same cache"
    );
    assert_eq!(flags(4, 16, 4, reported), ["", ""]);
    assert_eq!(flags(0, 11, 0, reported), ["", "off_step"]);
    assert_eq!(flags(0, 11, 1, reported), ["", ""]);
    assert_eq!(flags(0, 16, 0, UsageOrigin::Contradictory), ["", ""]);
}

#[test]
fn a_wait_beyond_the_lifetime_is_shown_apart() {
    let said = conversation();
    let spans = store(&said);
    let target = TargetFacts {
        lifetime_ms: Some(300_000),
        ..target("blocks:4")
    };
    let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
    records[1].scenario_ms = records[0].scenario_ms + 300_001;
    records[1].usage.read = Some(Tokens(12));
    let found = play(&target, &records, &spans);
    assert_eq!(pair(&found[1]), (Some(0), Some(0)));
    assert_eq!(found[1].flags.join(" "), "beyond_lifetime");

    records[1].events = vec![EventLabel {
        label: Arc::from("idle 6m"),
        line: 9,
        rewrites: None,
    }];
    let found = play(&target, &records, &spans);
    assert_eq!(
        found[1].flags.join(" "),
        "above_bound",
        "after idle nothing may be left"
    );

    records[1].events[0].label = Arc::from("idle 5m");
    let found = play(&target, &records, &spans);
    assert_eq!(
        found[1].flags.join(" "),
        "beyond_lifetime",
        "the server rested for no longer than it keeps things"
    );

    records[1].flags = vec![Arc::from(IDLE_CUT)];
    let found = play(&target, &records, &spans);
    assert_eq!(
        found[1].flags.join(" "),
        "beyond_lifetime",
        "a rest that was cut short is a wait"
    );

    records[1].flags.clear();
    records[1].scenario_ms = records[0].scenario_ms + 299_000;
    let found = play(&target, &records, &spans);
    assert_eq!(pair(&found[1]).1, Some(12));
}

#[test]
fn a_wait_within_what_markers_asked_for_is_not_beyond_the_lifetime() {
    let said = conversation();
    let target = TargetFacts {
        lifetime_ms: Some(300_000),
        ..target("breakpoints,min=1")
    };
    let after = |minutes: i64, long: bool| {
        let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
        records[1].scenario_ms = records[0].scenario_ms + minutes * 60_000;
        for message in records.iter_mut().flat_map(|record| &mut record.prompt) {
            message.marks = Some(vec![message.spans.len()]);
            message.long_marks = Vec::from_iter(long.then_some(message.spans.len()));
        }
        let found = play(&target, &records, &store(&said));
        (pair(&found[1]).1, found[1].flags.join(" "))
    };
    let beyond = || (Some(0), "beyond_lifetime".to_owned());
    assert_eq!(after(4, false), (Some(12), String::new()));
    assert_eq!(after(20, false), beyond());
    assert_eq!(after(20, true), (Some(12), String::new()));
    assert_eq!(after(70, true), beyond());
}

#[test]
fn in_explicit_mode_only_marked_places_are_read_for_as_long_as_was_asked() {
    let said = conversation();
    let target = TargetFacts {
        lifetime_ms: Some(300_000),
        ..target("message-ends,min=1")
    };
    let after = |minutes: i64, marked: bool| {
        let mut records = [sent(&said[0], 1), sent(&said[1], 2)];
        records[1].scenario_ms = records[0].scenario_ms + minutes * 60_000;
        for record in &mut records {
            record.cache.explicit = true;
            record.cache.lifetime_ms = Some(1_800_000);
            for message in &mut record.prompt {
                message.marks = Some(Vec::new());
            }
            record.prompt[0].marks = Some(Vec::from_iter(marked.then_some(1)));
        }
        pair(&play(&target, &records, &store(&said))[1]).1
    };
    assert_eq!(after(4, false), Some(0), "nothing is an entry");
    assert_eq!(after(20, true), Some(7), "the system message");
    assert_eq!(after(31, true), Some(0));
}

#[test]
fn the_retry_of_a_refused_request_has_waited_as_long() {
    let said = conversation();
    let target = TargetFacts {
        lifetime_ms: Some(300_000),
        ..target("blocks:4")
    };
    let mut refused = sent(&said[1], 2);
    refused.scenario_ms += 300_001;
    let mut retry = refused.clone();
    refused.outcome = Outcome::Http429;
    retry.attempt = 2;
    retry.stamps.sent_us = Some(Micros(2_700_000));
    let records = [sent(&said[0], 1), refused, retry];
    let found = play(&target, &records, &store(&said));
    assert_eq!(found[2].flags.join(" "), "beyond_lifetime");
    assert_eq!(pair(&found[2]), (Some(0), Some(0)));
}

#[test]
fn records_of_other_targets_and_orders_do_not_matter() {
    let said = conversation();
    let spans = store(&said);
    let mut other = sent(&said[1], 1);
    other.target = Arc::from("there");
    let records = [sent(&said[1], 2), other, sent(&said[0], 1)];
    let found = play(&target("blocks:4"), &records, &spans);
    let turns: Vec<_> = found
        .iter()
        .map(|bound| (bound.turn, pair(bound).0))
        .collect();
    assert_eq!(turns, [(1, Some(0)), (2, Some(14))]);
}

#[test]
fn an_unknown_cache_model_is_an_error_and_none_gives_breaks_only() {
    let said = conversation();
    let records = [sent(&said[0], 1)];
    let spans = store(&said);
    let play = |target: &TargetFacts| {
        bounds(&Inputs {
            target,
            records: &records,
            spans: &spans,
            started_ms: None,
            encoder: None,
        })
    };
    assert!(play(&target("magic")).is_err());
    let none = TargetFacts {
        cache_model: None,
        ..target("blocks:4")
    };
    assert_eq!(
        pair(&play(&none).expect("no model is no error")[0]),
        (None, None)
    );
}

#[test]
fn the_embedded_tokenizer_and_the_embedded_cache_agree_over_a_whole_chat() {
    // Three turns of a growing chat, each answered by what the script says: what
    // one turn sent and was answered is the beginning of the next.
    let mut chat: Vec<Said> = vec![(System, vec![("agent", "You are a careful assistant.")])];
    let mut requests = Vec::new();
    let replies = ["It is about caches.", "Blocks of sixteen tokens.", "Yes."];
    for (question, reply) in ["What is it?", "Of which size?", "Sure?"]
        .into_iter()
        .zip(replies)
    {
        chat.push((User, vec![("user", question)]));
        requests.push(chat.clone());
        chat.push((Assistant, vec![("reply", reply)]));
    }
    let mut spans = store(&requests);
    spans.extend(replies.map(Text::from));
    let encoder = crate::tokens::embedded();
    let records: Vec<_> = requests
        .iter()
        .zip(replies)
        .zip(1..)
        .map(|((said, reply), turn)| {
            let mut record = sent(said, turn);
            record.output_sha256 = Some(Text::from(reply).digest());
            // The stop token is generated and counted.
            record.usage.output = Some(Tokens(encoder.output(reply).len() as u64 + 1));
            record
        })
        .collect();
    let found = bounds(&Inputs {
        target: &target("blocks:1"),
        records: &records,
        spans: &spans,
        started_ms: None,
        encoder: Some(&encoder),
    })
    .expect("a known model");
    for (index, reply) in replies.iter().enumerate().take(2) {
        let held = found[index].prompt.expect("encodes").0 + encoder.output(reply).len() as u64;
        let eligible = found[index + 1].eligible.expect("encodes").0;
        // The template ends the answer with its own token, which may be the stop token.
        assert!(
            eligible == held || eligible == held + 1,
            "{eligible} {held}"
        );
    }
    assert!(found.iter().all(|bound| bound.broke.is_none()));
}

#[test]
fn of_two_requests_at_once_either_may_read_from_the_other() {
    let said = conversation()[0].clone();
    let (mut one, mut two) = (sent(&said, 1), sent(&said, 1));
    two.stamps.sent_us = one.stamps.sent_us.map(|sent| Micros(sent.0 + 10));
    two.conversation = Arc::from("other");
    one.salt = Some(Arc::from("shared"));
    two.salt.clone_from(&one.salt);
    let records = [one, two];
    let found = play(&target("blocks:4"), &records, &store(&[said]));
    assert_eq!(
        pair(&found[0]),
        pair(&found[1]),
        "the order of arrival is not known"
    );
    assert!(found[0].bound > Some(Tokens(0)));
}

#[test]
fn a_fresh_unit_that_begins_warm_is_contaminated_also_where_nothing_counts_tokens() {
    let said = conversation()[0].clone();
    let with = |nonce: &str, read: u64| {
        let mut record = sent(&said, 1);
        record.nonce = Arc::from(nonce);
        record.usage.total = Some(Tokens(2_000));
        record.usage.read = Some(Tokens(read));
        record.usage.origin = UsageOrigin::Reported;
        let found = bounds(&Inputs {
            target: &target("steps:128,min=1024"),
            records: &[record],
            spans: &store(&[]),
            started_ms: None,
            encoder: None,
        });
        found.expect("a known model")[0]
            .flags
            .iter()
            .any(|flag| &**flag == "contaminated")
    };
    let cases = [
        ("1 2 3 4 5 6 7 8", 1_024, true),
        ("1 2 3 4 5 6 7 8", 0, false),
    ];
    for (nonce, read, expected) in cases {
        assert_eq!(with(nonce, read), expected, "{read}");
    }
    assert!(!with("0 0 0 0 0 0 0 0", 1_024), "nothing kept it apart");
}

#[test]
fn a_retry_keeps_the_break_of_its_request() {
    let mut changed = conversation()[1].clone();
    changed[0] = (System, vec![("agent", "efgh")]);
    let said = [conversation()[0].clone(), changed.clone(), changed];
    let mut records: Vec<_> = said
        .iter()
        .zip([1, 2, 2])
        .map(|(said, turn)| sent(said, turn))
        .collect();
    records[1].outcome = Outcome::Http5xx;
    records[2].attempt = 2;
    records[2].stamps.sent_us = Some(Micros(2_700_000));
    records[2].stamps.done_us = Some(Micros(2_900_000));
    let found = play(&target("blocks:4"), &records, &store(&said));
    assert!(found[1].broke.is_some());
    assert_eq!(found[2].broke, found[1].broke);
}

#[test]
fn what_was_set_aside_is_in_the_cache_and_has_no_bound_of_its_own() {
    let said = conversation()[0].clone();
    let mut primed = sent(&said, 1);
    primed.flags.push(Arc::from("warm_up"));
    let mut measured = sent(&said, 2);
    measured.turn = 1;
    let alone = play(
        &target("blocks:4"),
        &[measured.clone()],
        &store(slice::from_ref(&said)),
    );
    assert_eq!(alone[0].bound, Some(Tokens(0)));
    let records = [primed, measured];
    let found = play(&target("blocks:4"), &records, &store(&[said]));
    assert_eq!(found.len(), 1);
    assert!(found[0].bound > Some(Tokens(0)), "{:?}", found[0].bound);
}

#[test]
fn nothing_outlives_the_epoch_of_its_cache() {
    let said = conversation()[0].clone();
    let (first, mut second) = (sent(&said, 1), sent(&said, 2));
    let bound = |records: &[RequestRecord]| {
        let found = play(&target("blocks:4"), records, &store(slice::from_ref(&said)));
        (found[1].bound, found[1].eligible)
    };
    assert!(bound(&[first.clone(), second.clone()]).0 > Some(Tokens(0)));
    second.epoch = 1;
    let nothing = Some(Tokens(0));
    assert_eq!(bound(&[first, second]), (nothing, nothing));
}

#[test]
fn a_prompt_that_is_not_known_hides_nothing_where_it_was_refused() {
    let said = conversation()[0].clone();
    let (mut first, second) = (sent(&said, 1), sent(&said, 2));
    first.prompt[0].spans[0].sha256 = Text::from("not kept").digest();
    let bound = |records: &[RequestRecord]| {
        play(&target("blocks:4"), records, &store(slice::from_ref(&said)))[1].bound
    };
    assert_eq!(bound(&[first.clone(), second.clone()]), None);
    first.outcome = Outcome::Http429;
    assert_eq!(bound(&[first, second]), Some(Tokens(0)));
}
