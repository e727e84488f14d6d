//! Tests of causes.

use super::*;

/// A step of a run that did not keep what it changed.
fn silent(label: &str) -> EventLabel {
    EventLabel {
        label: Arc::from(label),
        line: 1,
        rewrites: None,
    }
}

/// A step, and the sources that the layout writes anew because of it.
fn step(label: &str, rewrites: &[&str]) -> EventLabel {
    EventLabel {
        rewrites: Some(rewrites.iter().copied().map(Arc::from).collect()),
        ..silent(label)
    }
}

fn found(origin: &str, displaced: Option<&str>, events: &[EventLabel], first: bool) -> String {
    let displaced = displaced.map(Origin::from);
    let events: Vec<&EventLabel> = events.iter().collect();
    cause(&Origin::from(origin), displaced.as_ref(), &events, first).to_string()
}

fn silents(labels: &[&str]) -> Vec<EventLabel> {
    labels.iter().copied().map(silent).collect()
}

#[test]
fn a_break_is_put_down_to_the_step_that_names_its_source() {
    let cases: &[(&str, &[&str], bool, &str)] = &[
        (
            "artifacts",
            &["memory changed tone", "artifacts on"],
            false,
            "artifacts on",
        ),
        (
            "memory",
            &["memory changed tone", "memory added city"],
            false,
            "memory added city",
        ),
        (
            "notes/spec.md",
            &["note log.md written", "note spec.md written"],
            false,
            "note spec.md written",
        ),
        ("L1/web_search", &["web search on"], false, "web search on"),
        ("L2/notes/spec.md", &[], false, "library grew"),
        ("L2", &["artifacts on"], false, "library grew"),
        ("date", &["wait 26h"], false, "wait 26h"),
        ("date", &[], false, "time passed"),
        ("user", &["compact"], false, "compact"),
        ("reply", &["edit turn 2"], false, "edit turn 2"),
        ("user", &["memory changed tone"], false, "history"),
        ("user", &[], true, "first request"),
        ("skills", &[], false, "skills changed"),
        ("summary", &[], false, "history"),
    ];
    for (origin, events, first, expected) in cases {
        let found = found(origin, None, &silents(events), *first);
        assert_eq!(found, *expected, "{origin} {events:?}");
    }
}

#[test]
fn without_a_step_the_place_says_what_it_can() {
    let cases: &[(&str, Option<&str>, &[&str], &str)] = &[
        ("tool_runtime.web_search", None, &[], "time passed"),
        ("tool_runtime.web_search", None, &["wait 26h"], "wait 26h"),
        ("user", Some("memory"), &[], "memory moved"),
        ("user", Some("memory"), &["memory off"], "memory off"),
        ("notes/a.md", Some("memory"), &[], "memory moved"),
        ("notes/a.md", Some("notes/b.md"), &[], "notes/a.md changed"),
        ("user", Some("reply"), &[], "history"),
        ("L5/user", Some("L3/notes/a.md"), &[], "notes/a.md moved"),
        ("always_apply_skill.lists", None, &[], "subagent"),
        ("L2/b.md", Some("L2/b.md"), &[], "library changed"),
        ("L2/b.md", Some("L1/guidance"), &[], "library grew"),
    ];
    for (origin, displaced, events, expected) in cases {
        let found = found(origin, *displaced, &silents(events), false);
        assert_eq!(found, *expected, "{origin} {displaced:?} {events:?}");
    }
}

#[test]
fn a_source_that_was_taken_away_is_a_cause_too() {
    let events = silents(&["artifacts off"]);
    let found = found("memory", Some("artifacts"), &events, false);
    assert_eq!(found, "artifacts off");
}

#[test]
fn the_step_that_changed_the_source_is_named_and_no_other() {
    let agent = "tool_runtime.agent_temporal_instructions";
    let cases = [
        // A wait within a day behind the one that brought the next.
        (
            agent,
            vec![step("wait 26h", &[agent, "date"]), step("wait 10m", &[])],
            "wait 26h",
        ),
        // Both move the same clock.
        (
            "tool_runtime.web_search",
            vec![
                step("wait 26h", &["tool_runtime.web_search"]),
                step("wait 10m", &["tool_runtime.web_search"]),
            ],
            "wait 26h",
        ),
        (
            agent,
            vec![
                step("zone Asia/Tokyo", &[agent, "date"]),
                step("wait 10m", &[]),
            ],
            "zone Asia/Tokyo",
        ),
        // Told in a message until the compaction wrote the prompt anew.
        (
            "artifacts",
            vec![step("artifacts on", &[]), step("compact", &[])],
            "compact",
        ),
        (
            "artifacts",
            vec![step("artifacts on", &["artifacts"]), step("compact", &[])],
            "artifacts on",
        ),
        // A message of another branch; the clock is told in it and has moved since.
        (
            "send_time",
            vec![step("regenerate turn 2", &[]), step("wait 10m", &["date"])],
            "regenerate turn 2",
        ),
        (
            "model",
            vec![step("subagent", &[]), step("model m2", &["model"])],
            "model m2",
        ),
        // A note that is called like a source.
        (
            "notes/project.md",
            vec![step("project off", &["project"])],
            "notes/project.md changed",
        ),
        // Steps that do not say so are judged by their words, beside those that do.
        (
            "L2/plan.md",
            vec![silent("note plan.md written"), step("wait 10m", &[])],
            "note plan.md written",
        ),
    ];
    for (origin, events, expected) in cases {
        assert_eq!(found(origin, None, &events, false), expected, "{origin}");
    }
}
