use super::*;
use crate::analysis::testing::{Said, record, store};
use crate::chat::Role;
use crate::tokens::embedded;
use std::sync::Arc;

const LONG: &str = "Answer in whole sentences, name your sources, and never guess what you cannot know. \
     If a question is unclear, ask what is meant before you answer it.";

fn said(
    system: &[(&'static str, &'static str)],
    rest: &[(Role, &'static str, &'static str)],
) -> Vec<Said> {
    let mut all = vec![(Role::System, system.to_vec())];
    all.extend(
        rest.iter()
            .map(|&(role, origin, text)| (role, vec![(origin, text)])),
    );
    all
}

fn found(earlier: &[Said], newer: &[Said], tokens: bool) -> Option<Kept> {
    let spans = store(&[earlier.to_vec(), newer.to_vec()]);
    let encoder = embedded();
    let prompts = Prompts {
        spans: &spans,
        encoder: tokens.then_some(&encoder),
        dialect: "openai-chat",
    };
    kept(&record(earlier), &record(newer), prompts)
}

fn broke(origin: &str, cause: &str) -> Break {
    Break {
        origin: Origin::from(origin),
        cause: Arc::from(cause),
        byte: 0,
        lost: None,
    }
}

const ASKED: (Role, &str, &str) = (
    Role::User,
    "user",
    "Where is the harbour, and when does it open?",
);

#[test]
fn a_source_in_front_of_what_did_not_change_is_advised_to_stand_behind_it() {
    let earlier = said(&[("memory", "Ada is formal."), ("system", LONG)], &[ASKED]);
    let newer = said(
        &[("memory", "Ada is brief."), ("system", LONG)],
        &[ASKED, (Role::Assistant, "reply", "At nine.")],
    );
    let kept = found(&earlier, &newer, true).expect("worth it");
    assert_eq!(kept.moved, [Origin::from("memory")]);
    let counted = embedded().output(LONG).len() as u64;
    let Size::Tokens(size) = kept.size else {
        panic!("tokens");
    };
    assert!(
        size.0 >= counted && size.0 < counted + 30,
        "{size} of {counted}"
    );
    assert_eq!(
        sentence(&broke("memory", "memory changed"), Some(&kept)),
        format!(
            "`memory` stands in front of `system` and what follows, {size} tokens that did not change; \
             moved behind, it would have kept these."
        )
    );
    let in_bytes = found(&earlier, &newer, false).expect("worth it");
    assert!(
        matches!(in_bytes.size, Size::Bytes(bytes) if bytes >= LONG.len() as u64),
        "{in_bytes:?}"
    );
}

#[test]
fn what_was_put_in_or_taken_out_counts_too() {
    let with = said(
        &[("artifacts", "Draw with care."), ("system", LONG)],
        &[ASKED],
    );
    let without = said(&[("system", LONG)], &[ASKED]);
    for (earlier, newer) in [(&with, &without), (&without, &with)] {
        let kept = found(earlier, newer, true).expect("worth it");
        assert_eq!(kept.moved, [Origin::from("artifacts")]);
    }
}

#[test]
fn several_sources_in_a_row_are_moved_together() {
    let prompt = |date: &'static str, memory: &'static str| {
        said(
            &[
                ("date", date),
                ("system", "Be kind. "),
                ("memory", memory),
                ("rules", LONG),
            ],
            &[ASKED],
        )
    };
    let kept = found(
        &prompt("Monday. ", "Formal. "),
        &prompt("Tuesday. ", "Brief. "),
        true,
    );
    let kept = kept.expect("worth it");
    assert_eq!(kept.moved, [Origin::from("date"), Origin::from("memory")]);
    let said = sentence(&broke("date", "wait"), Some(&kept));
    assert!(
        said.starts_with("`date` and `memory` stand in front of"),
        "{said}"
    );
}

#[test]
fn what_was_said_is_never_moved_and_little_is_not_worth_it() {
    let asked = |text| {
        said(
            &[("system", LONG)],
            &[(Role::User, "user", text), (Role::Assistant, "reply", LONG)],
        )
    };
    assert_eq!(found(&asked("One?"), &asked("Two?"), true), None);
    let last = |memory| said(&[("system", LONG), ("memory", memory)], &[]);
    assert_eq!(found(&last("Formal."), &last("Brief."), true), None);
    assert_eq!(
        found(&last("Formal."), &last("Formal."), true),
        None,
        "no break"
    );
    let blank = record(&last("Formal."));
    let spans = crate::record::SpanStore::default();
    let prompts = Prompts {
        spans: &spans,
        encoder: None,
        dialect: "",
    };
    assert_eq!(kept(&blank, &blank, prompts), None, "no texts");
}

#[test]
fn where_nothing_is_to_be_moved_it_says_why() {
    let cases = [
        ("tools", "tools", "Tool definitions"),
        ("reply", "compact", "A compaction"),
        ("user", "edit turn 2", "went back to an earlier turn"),
        ("user", "history", "rewritten"),
        (
            "memory",
            "memory changed",
            "Moving `memory` behind what follows",
        ),
        ("L5/user", "history", "rewritten"),
    ];
    for (origin, cause, expected) in cases {
        let said = sentence(&broke(origin, cause), None);
        assert!(said.contains(expected), "{origin}, {cause}: {said}");
    }
}

#[test]
fn breaks_of_one_source_are_one_change() {
    let kept = |moved: &str, size| Kept {
        moved: vec![Origin::from(moved)],
        before: None,
        size: Size::Tokens(Tokens(size)),
    };
    let all = [
        kept("date", 50),
        kept("memory", 3_000),
        kept("memory", 3_200),
    ];
    let said: Vec<String> = changes(&all).iter().map(Change::sentence).collect();
    assert_eq!(
        said,
        [
            "Move `memory` behind what did not change: keeps 6,200 tokens in 2 breaks, 3,100 each.",
            "Move `date` behind what did not change: keeps 50 tokens in 1 break.",
        ]
    );
}
