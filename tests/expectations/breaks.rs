//! Every scenario's header says what breaks where, and that is what happens.
//!
//! ```text
//! # expect dev openai: 2-8 tool_runtime.web_search (time passed)
//! # expect turn-context both: none
//! ```
//!
//! An entry is a turn, a range of turns, or `TURN.REQUEST`, with the source in
//! which the prefix breaks and the cause; or `returns`, where the request breaks
//! nothing but goes on from an earlier prompt than the one before it, as when a
//! source that was switched on is off again. Lines go on behind `#   `.

use super::{Predicted, predict, scenario_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Tokens that a template adds to ask for an answer.
const SUFFIX: u64 = 12;

/// Configuration and dialect to entries.
type Expected = BTreeMap<(String, &'static str), Vec<String>>;

/// The lines of a scenario's header that begin with `expect`.
fn expected(text: &str) -> Expected {
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("# expect ") {
            lines.push(rest.to_owned());
            open = true;
        } else if let (true, Some(rest), Some(last)) =
            (open, line.strip_prefix("#   "), lines.last_mut())
        {
            last.push(' ');
            last.push_str(rest.trim());
        } else {
            open = false;
        }
    }
    let mut found = Expected::new();
    for line in lines {
        let (whom, what) = line.split_once(": ").expect("`CONFIGURATION WIRE: ...`");
        let (configuration, wire) = whom.split_once(' ').expect("a wire");
        let dialects: &[&str] = match wire {
            "openai" => &["openai-chat"],
            "anthropic" => &["anthropic"],
            "both" => &["openai-chat", "anthropic"],
            _ => panic!("no wire is called `{wire}`"),
        };
        let entries: Vec<String> = what
            .split("; ")
            .filter(|entry| *entry != "none")
            .flat_map(unfolded)
            .collect();
        for dialect in dialects {
            found.insert((configuration.to_owned(), dialect), entries.clone());
        }
    }
    found
}

/// `2-4 x (y)` as one entry for each turn.
fn unfolded(entry: &str) -> Vec<String> {
    let (turns, what) = entry.split_once(' ').expect("`TURN SOURCE (CAUSE)`");
    let Some((first, last)) = turns.split_once('-') else {
        return vec![entry.to_owned()];
    };
    let first: u32 = first.parse().expect("a turn");
    let last: u32 = last.parse().expect("a turn");
    (first..=last)
        .map(|turn| format!("{turn} {what}"))
        .collect()
}

/// What happened, as entries.
fn happened(requests: &[&Predicted]) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Option<u64> = None;
    for request in requests {
        let place = match request.request {
            1 => request.turn.to_string(),
            number => format!("{}.{number}", request.turn),
        };
        if let Some(broke) = &request.broke {
            found.push(format!("{place} {} ({})", broke.origin, broke.cause));
        } else if before.is_some_and(|before| {
            request.eligible_tokens + SUFFIX < before.min(request.total_tokens)
        }) {
            found.push(format!("{place} returns"));
        }
        before = Some(request.total_tokens);
    }
    found
}

fn wrong(path: &Path) -> Vec<String> {
    let expected = expected(&fs::read_to_string(path).expect("readable"));
    let name = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .expect("a name");
    let mut wrong = Vec::new();
    for dialect in ["openai-chat", "anthropic"] {
        let configurations: BTreeSet<&str> = expected
            .keys()
            .filter(|(_, other)| *other == dialect)
            .map(|(configuration, _)| configuration.as_str())
            .collect();
        if configurations.is_empty() {
            continue;
        }
        let list: Vec<&str> = configurations.iter().copied().collect();
        let requests = predict(&[path.to_owned()], &list.join(","), dialect);
        for configuration in configurations {
            let own: Vec<&Predicted> = requests
                .iter()
                .filter(|request| request.configuration == configuration)
                .collect();
            assert!(!own.is_empty(), "{name}: nothing of `{configuration}`");
            let happened = happened(&own);
            let said = &expected[&(configuration.to_owned(), dialect)];
            if happened != *said {
                wrong.push(format!(
                    "{name}, {configuration}, {dialect}:\n  says     {}\n  happens  {}",
                    said.join("; "),
                    happened.join("; ")
                ));
            }
        }
    }
    wrong
}

#[test]
fn every_scenario_breaks_where_it_says_and_for_the_reason_it_says() {
    let wrong: Vec<String> = scenario_files()
        .iter()
        .flat_map(|path| wrong(path))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_scenario_says_what_both_systems_do_on_both_wires() {
    for path in scenario_files() {
        let name = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("a name");
        if !name.starts_with(['s', 'q']) {
            continue;
        }
        let expected = expected(&fs::read_to_string(&path).expect("readable"));
        for configuration in ["dev", "turn-context"] {
            for dialect in ["openai-chat", "anthropic"] {
                let key = (configuration.to_owned(), dialect);
                assert!(
                    expected.contains_key(&key),
                    "{name} says nothing of {key:?}"
                );
            }
        }
    }
}

#[test]
fn quickstart_shows_what_the_layouts_are_about() {
    let path = scenario_files()
        .into_iter()
        .find(|path| path.ends_with("quickstart.yaml"))
        .expect("the scenario");
    let requests = predict(
        &[path],
        "dev,layered,turn-context,append-only",
        "openai-chat",
    );
    let breaks = |configuration: &str| -> Vec<(u32, &str, &str)> {
        requests
            .iter()
            .filter(|request| request.configuration == configuration)
            .filter_map(|request| {
                let broke = request.broke.as_ref()?;
                Some((request.turn, broke.origin.as_str(), broke.cause.as_str()))
            })
            .collect()
    };
    assert_eq!(
        breaks("dev"),
        [
            (5, "artifacts", "artifacts on"),
            (7, "memory", "memory changed tone")
        ]
    );
    let grew = |turn: u32| {
        breaks("layered").iter().any(|(at, origin, cause)| {
            *at == turn && origin.starts_with("L2") && *cause == "library grew"
        })
    };
    assert!(grew(3) && grew(9), "{:?}", breaks("layered"));
    assert_eq!(breaks("turn-context"), []);
    assert_eq!(breaks("append-only"), []);
}

#[test]
fn entries_are_read_as_they_are_written() {
    let text = "# About.\n# expect dev both: 2-3 a (b c); 5.2 d (e);\n#   6 returns\n#\n#   no entry\nscenario: x\n";
    let entries = ["2 a (b c)", "3 a (b c)", "5.2 d (e)", "6 returns"].map(str::to_owned);
    let found = expected(text);
    assert_eq!(found.len(), 2);
    assert!(found.values().all(|said| *said == entries), "{found:?}");
}
