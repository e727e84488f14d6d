use super::*;
use crate::analysis::testing::{Said, record, store};
use crate::chat::Role;
use crate::record::SpanStore;
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
    looked(earlier, newer, tokens).kept().cloned()
}

fn looked(earlier: &[Said], newer: &[Said], tokens: bool) -> Finding {
    let spans = store(&[earlier.to_vec(), newer.to_vec()]);
    let encoder = embedded();
    let prompts = Prompts {
        spans: &spans,
        encoder: tokens.then_some(&encoder),
        dialect: "openai-chat",
    };
    look(Some(&record(earlier)), &record(newer), prompts)
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
        sentence(
            &broke("memory", "memory changed"),
            &Finding::Kept(kept.clone())
        ),
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
    let said = sentence(&broke("date", "wait"), &Finding::Kept(kept));
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
    assert_eq!(looked(&asked("One?"), &asked("Two?"), true), Finding::Fixed);
    let last = |memory| said(&[("system", LONG), ("memory", memory)], &[]);
    let (formal, brief) = (last("Formal."), last("Brief."));
    assert_eq!(looked(&formal, &brief, true), Finding::Little);
    assert_eq!(looked(&formal, &formal, true), Finding::Fixed, "no break");
}

#[test]
fn what_cannot_be_looked_into_is_not_said_to_be_worth_nothing() {
    let prompt = |memory| said(&[("memory", memory), ("system", LONG)], &[ASKED]);
    let (earlier, newer) = (prompt("Formal."), prompt("Brief."));
    let spans = store(&[earlier.clone(), newer.clone()]);
    let (earlier, newer) = (record(&earlier), record(&newer));
    let none = SpanStore::default();
    let encoder = embedded();
    for encoder in [None, Some(&encoder)] {
        let with = |spans| Prompts {
            spans,
            encoder,
            dialect: "openai-chat",
        };
        let textless = look(Some(&earlier), &newer, with(&none));
        assert_eq!(textless, Finding::Textless);
        assert_eq!(look(None, &newer, with(&none)), Finding::Textless);
        assert_eq!(look(None, &newer, with(&spans)), Finding::Alone);
        let kept = look(Some(&earlier), &newer, with(&spans));
        assert!(kept.kept().is_some(), "{kept:?}");
    }
    let memory = broke("memory", "memory changed");
    assert_eq!(
        sentence(&memory, &Finding::Textless),
        "What a move would keep is not known: the run keeps no texts of it (`--no-text`)."
    );
    assert_eq!(
        sentence(&memory, &Finding::Alone),
        "What a move would keep is not known: the request that it parts from is not at hand."
    );
    let compacted = sentence(&broke("summary", "compact"), &Finding::Textless);
    assert!(
        compacted.starts_with("A compaction") && compacted.contains("not known"),
        "{compacted}"
    );
}

#[test]
fn many_breaks_are_looked_into_as_each_alone_is() {
    let prompt = |memory| said(&[("memory", memory), ("system", LONG)], &[ASKED]);
    let all = [prompt("Formal."), prompt("Brief."), prompt("Formal.")];
    let spans = store(&all);
    let prompts = Prompts {
        spans: &spans,
        encoder: None,
        dialect: "",
    };
    let [first, second, again] = all.each_ref().map(|said| record(said));
    let pairs = [
        (Some(&first), &second),
        (None, &second),
        (Some(&second), &first),
        (Some(&again), &second),
    ];
    let found = look_into(&pairs, prompts);
    let each = pairs.map(|(earlier, newer)| look(earlier, newer, prompts));
    assert_eq!(found, each);
    assert_eq!(found[0], found[3], "the same pair");
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
        let said = sentence(&broke(origin, cause), &Finding::Little);
        assert!(said.contains(expected), "{origin}, {cause}: {said}");
    }
    let said = sentence(&broke("end", "elsewhere"), &Finding::Fixed);
    assert_eq!(said, "Nothing stands here that a layout could move.");
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
    let in_bytes = Kept {
        size: Size::Bytes(9_000),
        ..kept("memory", 0)
    };
    let both = changes(all.iter().chain([&in_bytes]));
    assert_eq!(
        both.iter().map(|change| change.kept).collect::<Vec<_>>(),
        [
            Size::Tokens(Tokens(6_200)),
            Size::Tokens(Tokens(50)),
            Size::Bytes(9_000)
        ],
        "bytes are not added to tokens"
    );
    assert_eq!(
        said,
        [
            "Move `memory` behind what did not change: keeps 6,200 tokens in 2 breaks, 3,100 each.",
            "Move `date` behind what did not change: keeps 50 tokens in 1 break.",
        ]
    );
}

#[test]
fn what_follows_for_a_configuration_says_how_much_is_not_known() {
    let kept = Finding::Kept(Kept {
        moved: vec![Origin::from("memory")],
        before: None,
        size: Size::Tokens(Tokens(3_000)),
    });
    let (dev, known, other) = (Arc::from("dev"), Arc::from("known"), Arc::from("other"));
    let advised = advised([
        (&dev, &kept),
        (&known, &Finding::Little),
        (&dev, &Finding::Textless),
        (&dev, &Finding::Fixed),
        (&other, &Finding::Alone),
        (&other, &Finding::Alone),
    ]);
    let said: Vec<_> = advised
        .iter()
        .map(|one| (&*one.configuration, one.sentences()))
        .collect();
    let expected = [
        (
            "dev",
            vec![
                "Move `memory` behind what did not change: keeps 3,000 tokens in 1 break."
                    .to_owned(),
                "Of 1 break it is not known what a move would keep: the run keeps no texts of the \
                 prompts (`--no-text`)."
                    .to_owned(),
            ],
        ),
        (
            "other",
            vec![
                "Of 2 breaks it is not known what a move would keep: the request that the prefix \
                 parts from is not at hand."
                    .to_owned(),
            ],
        ),
    ];
    assert_eq!(said, expected);
}
