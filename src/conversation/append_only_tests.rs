//! What `append-only` adds to a message, and what it never does.

use super::samples::*;
use crate::chat::{Family, Prompt};
use crate::context::view::CompactionMode;
use crate::scenario::model::{Action, Attach, MemoryStep, NoteEdit, UserStep};
use jiff::tz::TimeZone;
use std::time::Duration;

fn prompts(actions: Vec<Action>) -> Vec<Prompt> {
    let requests = run(actions, "append-only");
    requests.into_iter().map(|pending| pending.prompt).collect()
}

/// What stands in front of `q`, the text of the newest message.
fn told(actions: Vec<Action>) -> String {
    let actions: Vec<Action> = actions.into_iter().chain([user("q")]).collect();
    let all = prompts(actions);
    let last = lines(all.last().unwrap()).pop().unwrap();
    let told = last
        .strip_prefix("user: ")
        .unwrap()
        .strip_suffix('q')
        .unwrap();
    let intro = told
        .split_once("a bare code repeats its text.\n")
        .map(|(_, rest)| rest);
    intro.unwrap_or(told).to_owned()
}

fn project(text: Option<&str>) -> Action {
    set(|set| set.project = Some(text.map(Into::into)))
}

fn artifacts(on: bool) -> Action {
    set(|set| set.artifacts = Some(on.then(|| long("artifacts"))))
}

fn attach(paths: &[&str]) -> Action {
    let note = |path: &&str| Attach::Note {
        path: (*path).into(),
        active: false,
    };
    Action::User(Box::new(UserStep {
        attach: paths.iter().map(note).collect(),
        ..said("look")
    }))
}

fn attached(paths: &[&str]) -> Vec<Action> {
    vec![attach(paths)]
}

fn retrieved(text: &str) -> Action {
    Action::User(Box::new(UserStep {
        retrieved: Some(long(text)),
        ..said("q")
    }))
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn a_message_tells_what_changed_and_nothing_else() {
    let memory = |add: &[(&str, &str)], change: &[(&str, &str)], remove: &[&str]| {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect()
        };
        Action::Memory(MemoryStep {
            add: pairs(add),
            change: pairs(change),
            remove: remove.iter().map(|key| (*key).into()).collect(),
        })
    };
    let skill = |text: &str| set(|set| set.skills = Some(vec![("s".into(), text.into())]));
    let cases: Vec<(&str, Vec<Action>, &str)> = vec![
        ("nothing happened", vec![user("a")], ""),
        (
            "a source comes on",
            vec![user("a"), project(Some("Mind the budget."))],
            "<ctx project>\nMind the budget.\n</ctx>\n",
        ),
        (
            "a source goes off",
            vec![project(Some("P")), user("a"), project(None)],
            "<ctx project off/>\n",
        ),
        (
            "on and off between two messages leaves no trace",
            vec![user("a"), artifacts(true), artifacts(false)],
            "",
        ),
        (
            "a known text comes on again",
            vec![
                artifacts(true),
                user("a"),
                artifacts(false),
                user("b"),
                artifacts(true),
            ],
            "<ctx artifacts d16cd194/>\n",
        ),
        (
            "memory tells its difference",
            vec![
                memory(&[("a", "1"), ("b", "2"), ("c", "3")], &[], &[]),
                user("a"),
                memory(&[("d", "4")], &[("b", "two\nlines")], &["a"]),
            ],
            "<ctx memory>\n+ b: two\n  lines\n+ d: 4\n- a\n</ctx>\n",
        ),
        (
            "a value that is set again as it was is no difference",
            vec![
                memory(&[("a", "1")], &[], &[]),
                user("a"),
                memory(&[], &[("a", "1")], &[]),
            ],
            "",
        ),
        (
            "skills tell their difference",
            vec![skill("old"), user("a"), skill("new")],
            "<ctx skills>\n+ s: new\n</ctx>\n",
        ),
        (
            "a source that no registry knows",
            vec![
                user("a"),
                set(|set| set.other = vec![("k\"".into(), Some("v".into()))]),
            ],
            "<ctx other \"k'\">\nv\n</ctx>\n",
        ),
        (
            "edited instructions come behind everything",
            vec![user("a"), Action::System("Be verbose.".into())],
            "<ctx instructions>\nBe verbose.\n</ctx>\n",
        ),
        (
            "the first instructions come back",
            vec![
                user("a"),
                Action::System("Be verbose.".into()),
                user("b"),
                Action::System("Be brief.".into()),
            ],
            "<ctx instructions first/>\n",
        ),
        (
            "another day is told where something asks for the time",
            vec![
                set(|set| set.web_search = Some(Some("W".into()))),
                user("a"),
                Action::Wait(Duration::from_hours(49)),
            ],
            "<ctx now 2026-10-18 10:00 +00:00 (Sunday)/>\n",
        ),
        (
            "and not where nothing does",
            vec![user("a"), Action::Wait(Duration::from_hours(49))],
            "",
        ),
        (
            "another zone counts as another time",
            vec![
                set(|set| set.web_search = Some(Some("W".into()))),
                user("a"),
                set(|set| set.zone = TimeZone::get("Europe/Berlin").ok()),
            ],
            "<ctx now 2026-10-16 11:00 +02:00 (Friday)/>\n",
        ),
    ];
    for (case, actions, expected) in cases {
        assert_eq!(told(actions), expected, "{case}");
    }
}

#[test]
fn known_content_is_referred_to_by_its_code() {
    let write = |path: &str, text| Action::Note(vec![(path.into(), NoteEdit::Write(text))]);
    let code = "<ctx note \"spec.md\" 1902db4b";
    let text = long("spec.md");
    let whole = format!("{code}>\n{text}\n</ctx>\n");
    let newest = |actions: Vec<Action>| {
        let all = prompts(actions);
        lines(all.last().unwrap()).pop().unwrap()
    };
    let first = newest(attached(&["spec.md"]));
    assert!(first.ends_with(&format!("{whole}look")), "{first}");

    let cases: Vec<(&str, Vec<Action>, String)> = vec![
        (
            "the same note",
            attached(&["spec.md"]),
            format!("{code}/>\n"),
        ),
        (
            "a touched note",
            vec![
                Action::Note(vec![("spec.md".into(), NoteEdit::Touch)]),
                attach(&["spec.md"]),
            ],
            format!("{code}/>\n"),
        ),
        (
            "the same text under another name",
            vec![write("copy.md", long("spec.md")), attach(&["copy.md"])],
            "<ctx note \"copy.md\" 1902db4b/>\n".to_owned(),
        ),
        (
            "a changed note comes whole",
            vec![write("spec.md", "short".into()), attach(&["spec.md"])],
            "<ctx note \"spec.md\">\nshort\n</ctx>\n".to_owned(),
        ),
        (
            "a deleted note",
            vec![
                Action::Note(vec![("spec.md".into(), NoteEdit::Delete)]),
                attach(&["spec.md"]),
            ],
            "<ctx note \"spec.md\" missing/>\n".to_owned(),
        ),
    ];
    for (case, then, expected) in cases {
        let actions = attached(&["spec.md"]).into_iter().chain(then).collect();
        assert_eq!(newest(actions), format!("user: {expected}look"), "{case}");
    }

    let twice = newest(vec![retrieved("found"), retrieved("found")]);
    assert!(
        twice.starts_with("user: <ctx retrieved ") && twice.ends_with("/>\nq"),
        "{twice}"
    );
}

#[test]
fn memory_that_is_off_is_withheld_from_the_whole_request() {
    let memory = |on| set(|set| set.memory = Some(on));
    let all = prompts(vec![
        remember("city", "Rome"),
        user("a"),
        remember("pet", "cat"),
        user("b"),
        memory(false),
        remember("car", "none"),
        user("c"),
        memory(true),
        user("d"),
    ]);
    let texts: Vec<String> = all.iter().map(rendered).collect();
    assert!(texts[1].contains("+ city: Rome") && texts[1].contains("+ pet: cat"));
    for word in ["memory", "Rome", "cat", "none"] {
        assert!(!texts[2].contains(word), "{}", texts[2]);
    }
    assert!(
        texts[3].starts_with(&texts[1]),
        "the old prefix is good again"
    );
    assert!(
        texts[3].ends_with("<ctx memory>\n+ car: none\n</ctx>\nd"),
        "{}",
        texts[3]
    );
}

#[test]
fn a_compaction_keeps_the_head_and_folds_what_was_told_into_its_end() {
    let all = prompts(vec![
        artifacts(true),
        attach(&["spec.md"]),
        project(Some("P")),
        artifacts(false),
        user("b"),
        Action::Compact(compact(1, CompactionMode::Coverage)),
        attach(&["spec.md"]),
        project(None),
        user("c"),
        Action::Compact(compact(1, CompactionMode::Coverage)),
        user("d"),
    ]);
    let heads: Vec<String> = all.iter().map(|prompt| text_of(&prompt.system)).collect();
    assert_eq!(heads[0], heads[1], "within a segment");
    assert_eq!(
        heads[2].strip_prefix(heads[1].as_str()),
        Some("<ctx artifacts off/>\n<ctx project>\nP\n</ctx>\n")
    );
    assert_eq!(heads[2], heads[3]);
    assert_eq!(
        heads[4].strip_prefix(heads[3].as_str()),
        Some("<ctx project off/>\n")
    );
    let after = lines(&all[2]);
    assert_eq!(after[0], "user: <ctx summary>\nWhat was said.\n</ctx>\nb");
    assert!(
        after[2].contains("spec.md: filler"),
        "what is gone is told again"
    );
    assert!(rendered(&all[3]).starts_with(&rendered(&all[2])));
}

#[test]
fn an_end_of_the_head_is_a_block_of_its_own_where_entries_are_marked() {
    let actions = || {
        vec![
            user("a"),
            project(Some("P")),
            user("b"),
            Action::Compact(compact(1, CompactionMode::Coverage)),
            user("c"),
        ]
    };
    for (family, blocks) in [(Family::Anthropic, 2), (Family::Openai, 1)] {
        let requests = run_with(start_on(scenario(actions()), "append-only", family), "x");
        let last = &requests.last().unwrap().prompt.system;
        assert_eq!(last.len(), blocks, "{family:?}");
        let marked: Vec<bool> = last.iter().map(|block| block.marker.is_some()).collect();
        assert_eq!(marked.last(), Some(&(family == Family::Anthropic)));
    }
}

#[test]
fn other_tools_take_a_new_head_and_the_old_one_comes_back_with_the_old_tools() {
    let tools = |name: &str| Action::Tools(std::sync::Arc::from([tool(name)]));
    let all = prompts(vec![
        user("a"),
        project(Some("P")),
        Action::System("Be verbose.".into()),
        user("b"),
        tools("other"),
        user("c"),
        artifacts(true),
        user("d"),
        tools("find"),
        user("e"),
        tools("other"),
        user("f"),
    ]);
    let system = |at: usize| text_of(&all[at].system);
    assert_eq!(system(1), "Be brief.");
    assert!(
        system(2).starts_with("Be verbose.") && system(2).ends_with("<ctx project>\nP\n</ctx>\n")
    );
    let others = lines(&all[2]);
    assert_eq!(others[2], "user: b", "the head tells it");
    assert_eq!(others[4], "user: c");
    assert!(rendered(&all[3]).starts_with(&rendered(&all[2])));
    assert!(
        rendered(&all[4]).starts_with(&rendered(&all[1])),
        "everything sent with the old tools is good again"
    );
    assert!(
        rendered(&all[5]).starts_with(&rendered(&all[3])),
        "and so with the others"
    );
    assert_eq!(lines(&all[5])[6], lines(&all[3])[6]);
}

#[test]
fn another_model_counts_as_other_tools() {
    let all = prompts(vec![
        user("a"),
        project(Some("P")),
        user("b"),
        Action::Model("other".into()),
        user("c"),
    ]);
    assert!(text_of(&all[2].system).ends_with("<ctx project>\nP\n</ctx>\n"));
    assert_eq!(lines(&all[2])[2], "user: b");
}

#[test]
fn a_stamp_is_one_line_in_front_of_what_was_typed() {
    let all = prompts(vec![
        set(|set| set.timestamps = Some(true)),
        set(|set| set.zone = TimeZone::get("Europe/Berlin").ok()),
        user("a"),
    ]);
    assert_eq!(
        lines(&all[0])[0],
        "user: [2026-10-16 11:00 +02:00 (Friday)]\na"
    );
}

#[test]
fn a_new_chat_shares_everything_up_to_the_first_difference() {
    let all = prompts(vec![
        artifacts(true),
        remember("city", "Rome"),
        user("a"),
        remember("city", "Oslo"),
        Action::NewChat,
        user("b"),
    ]);
    let heads = [text_of(&all[0].system), text_of(&all[1].system)];
    let shared = heads[0].split("Rome").next().unwrap();
    assert!(shared.contains("artifacts:") && heads[1].starts_with(shared));
    assert!(heads[1].contains("+ city: Oslo") && !heads[1].contains("Rome"));
}

#[test]
fn instructions_that_name_the_time_stand_behind_what_does_not_change() {
    let all = prompts(vec![
        Action::System("Today is {{current_date}}.".into()),
        project(Some("P")),
        user("a"),
        Action::Wait(Duration::from_hours(26)),
        user("b"),
    ]);
    let head = text_of(&all[1].system);
    assert!(head.ends_with("\nToday is 2026-10-16 (Friday)."), "{head}");
    assert!(lines(&all[1])[2].contains("now 2026-10-17"));
}

#[test]
fn markers_stand_at_the_ends_of_the_head_and_of_the_newest_two_requests() {
    let looped = Action::User(Box::new(UserStep {
        rounds: vec![round("1"), round("2")],
        ..said("b")
    }));
    let conversation = start_on(
        scenario(vec![user("a"), looped]),
        "append-only",
        Family::Anthropic,
    );
    let requests = run_with(conversation, "x");
    let marked = |prompt: &Prompt| -> Vec<usize> {
        let messages = prompt.messages.iter().enumerate();
        let marked = messages.filter(|(_, m)| m.blocks.iter().any(|b| b.marker.is_some()));
        marked.map(|(at, _)| at).collect()
    };
    let found: Vec<Vec<usize>> = requests.iter().map(|p| marked(&p.prompt)).collect();
    // Messages: a, answer, b, calls, result, calls, result.
    assert_eq!(found, [vec![0], vec![0, 2], vec![2, 4], vec![4, 6]]);
    for pending in &requests {
        assert!(pending.prompt.tools[0].marker.is_some());
        assert!(pending.prompt.system[0].marker.is_some());
    }
}

#[test]
fn unchanged_text_is_shared_and_not_copied() {
    let texts = |prompt: &Prompt| -> Vec<crate::chat::Text> {
        let messages = prompt.messages.iter().flat_map(|message| &message.blocks);
        let blocks = prompt.system.iter().chain(messages);
        let spans = blocks.filter_map(|block| match &block.content {
            crate::chat::Content::Text(spans) => Some(spans),
            _ => None,
        });
        let all = spans.flatten().map(|span| span.text.clone());
        all.filter(|text| text.contains("filler")).collect()
    };
    let all = prompts(vec![
        artifacts(true),
        attach(&["spec.md"]),
        retrieved("found"),
        user("b"),
    ]);
    let (before, after) = (texts(&all[1]), texts(&all[2]));
    assert_eq!(before.len(), 3);
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(one, other)| one.is_same(other))
    );
}
