//! Where the layered design breaks a prefix: every row of its table, with the
//! layer in which the break falls and the cause that is named.

use super::{Predicted, predict, root, scenario_files};

/// Row, scenario, configuration, turn, beginning of the source, cause.
type Row = (
    u32,
    &'static str,
    &'static str,
    u32,
    &'static str,
    &'static str,
);

const ROWS: &[Row] = &[
    // A note that was new in the turn before stands at the end of the old library.
    (1, "l01-promotion", "layered", 2, "L2", "library grew"),
    (1, "l01-promotion", "copilot-3.1", 4, "L2", "library grew"),
    (1, "l01-promotion", "copilot-4", 2, "L2", "library grew"),
    // The question was sent with context, the history holds the question alone.
    (
        2,
        "l02-question-with-context",
        "layered",
        4,
        "user",
        "L3 moved",
    ),
    (
        2,
        "l02-question-with-context",
        "copilot-4",
        2,
        "user",
        "selected_text moved",
    ),
    (
        2,
        "l02-question-with-context",
        "copilot-4",
        4,
        "user",
        "tools moved",
    ),
    // The plus chain sends a question without context twice.
    (
        3,
        "l02-question-with-context",
        "copilot-3.1",
        5,
        "L5",
        "history",
    ),
    (
        3,
        "l02-question-with-context",
        "copilot-4",
        5,
        "L5",
        "history",
    ),
    // The time in front. Recent conversations are no source of scenarios; the time that
    // comes with web search stands in the same place.
    (
        4,
        "s02-web-search",
        "copilot-3.1",
        2,
        "L1/tool_runtime.web_search",
        "time passed",
    ),
    (
        4,
        "s02-web-search",
        "copilot-4",
        2,
        "L1/tool_runtime.web_search",
        "time passed",
    ),
    (
        5,
        "l03-first-layer",
        "layered",
        3,
        "L1/memory",
        "memory added city",
    ),
    (
        5,
        "l03-first-layer",
        "copilot-4",
        3,
        "L1/memory",
        "memory added city",
    ),
    (
        6,
        "l03-first-layer",
        "layered",
        4,
        "L1/agent_instructions",
        "system changed",
    ),
    (
        6,
        "l03-first-layer",
        "copilot-4",
        4,
        "L1/agent_instructions",
        "system changed",
    ),
    // A tab with new text, one turn later; a note that was edited and is read again.
    (
        7,
        "l04-library-changes",
        "copilot-4",
        6,
        "L2/https://news.example/",
        "library changed",
    ),
    (
        7,
        "l04-library-changes",
        "copilot-3.1",
        7,
        "L2/plan.md",
        "note plan.md written",
    ),
    (8, "l04-library-changes", "layered", 9, "L2", "reload"),
    (
        8,
        "l04-library-changes",
        "copilot-4",
        10,
        "user",
        "edit turn 9",
    ),
    // The history is filled again from what was shown.
    (9, "l04-library-changes", "copilot-3.1", 9, "user", "reload"),
    (10, "l06-long-chat", "copilot-4", 32, "user", "history"),
    (10, "l06-long-chat", "copilot-4", 33, "user", "history"),
    // Once when the library leaves the system message and once when it is back.
    (
        11,
        "l07-auto-compaction",
        "copilot-4-small",
        3,
        "user",
        "short.md moved",
    ),
    (
        11,
        "l07-auto-compaction",
        "copilot-4-small",
        4,
        "L2",
        "library grew",
    ),
    // The tool messages are gone; the agent's guidance stands behind the library.
    (12, "l05-agent", "layered", 3, "reply", "history"),
    (
        12,
        "l05-agent",
        "copilot-4",
        2,
        "L1/agent_guidance",
        "agent_guidance changed",
    ),
    (
        13,
        "l03-first-layer",
        "layered",
        5,
        "tools",
        "tools changed",
    ),
    (
        13,
        "l03-first-layer",
        "copilot-4",
        5,
        "tools",
        "tools changed",
    ),
    (
        13,
        "another-model",
        "layered",
        3,
        "model",
        "model other-model",
    ),
    (
        13,
        "another-model",
        "copilot-4",
        3,
        "model",
        "model other-model",
    ),
    // A long note is a preview in the library.
    (14, "l01-promotion", "copilot-4", 4, "L2", "library grew"),
];

/// A scenario that is no part of the library.
const ANOTHER_MODEL: &str = "tests/data/scenarios/another-model.yaml";

fn requests(scenario: &str, configuration: &str) -> Vec<Predicted> {
    let beside = root().join(ANOTHER_MODEL);
    let files: Vec<_> = scenario_files()
        .into_iter()
        .chain([beside])
        .filter(|path| path.file_stem().is_some_and(|stem| stem == scenario))
        .collect();
    predict(&files, configuration, "openai-chat")
}

#[test]
fn every_row_of_the_table_of_breaks_is_reproduced() {
    for (row, scenario, configuration, turn, origin, cause) in ROWS {
        let requests = requests(scenario, configuration);
        let broke = requests
            .iter()
            .find(|one| one.turn == *turn && one.request == 1)
            .and_then(|one| one.broke.as_ref());
        let found = broke.map(|broke| (broke.origin.as_str(), broke.cause.as_str()));
        assert!(
            found.is_some_and(|(place, step)| place.starts_with(origin) && step == *cause),
            "row {row}, {scenario}, {configuration}, turn {turn}: {found:?}"
        );
    }
    let rows: std::collections::BTreeSet<u32> = ROWS.iter().map(|row| row.0).collect();
    assert_eq!(
        rows.into_iter().collect::<Vec<_>>(),
        (1..=14).collect::<Vec<_>>()
    );
}

#[test]
fn another_model_loses_all_of_the_prompt_before() {
    for configuration in ["dev", "turn-context", "layered", "append-only"] {
        let requests = requests("another-model", configuration);
        let of = |turn: u32| {
            requests
                .iter()
                .find(|one| one.turn == turn)
                .expect("a turn")
        };
        let (before, other) = (of(2), of(3));
        let explained = super::program(&["explain", ANOTHER_MODEL, "--config", configuration]);
        let line = explained
            .lines()
            .find(|line| line.contains("BREAK in model"));
        let line = line.expect("the break").replace(',', "");
        let lost = format!(
            "because of model other-model: {} tokens lost",
            before.total_tokens
        );
        assert!(line.contains(&lost), "{configuration}: {line}");
        assert_eq!((other.eligible_tokens, other.bound_tokens), (0, 0));
    }
}

#[test]
fn a_long_note_shrinks_to_its_preview() {
    let requests = requests("l01-promotion", "copilot-4");
    let total = |turn: u32| {
        requests
            .iter()
            .find(|one| one.turn == turn)
            .map_or(0, |one| one.total_tokens)
    };
    assert!(total(4) < total(3), "{} and {}", total(3), total(4));
}

#[test]
fn stable_cases_are_stable() {
    // Known notes again; no context in the plain chain; requests of one agent turn.
    for (scenario, configuration, turn) in [
        ("l01-promotion", "copilot-4", 5),
        ("l01-promotion", "layered", 5),
        ("s01-plain-chat", "copilot-4", 8),
        ("l05-agent", "copilot-4", 2),
    ] {
        let requests = requests(scenario, configuration);
        let of_turn = requests.iter().filter(|one| one.turn == turn);
        let broken = of_turn
            .filter(|one| one.broke.is_some() && !(scenario == "l05-agent" && one.request == 1));
        assert_eq!(
            broken.count(),
            0,
            "{scenario}, {configuration}, turn {turn}"
        );
    }
}
