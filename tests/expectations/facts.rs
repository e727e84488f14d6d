//! Whether every fact that the sources state is in every request.

use super::{program, scenario_files, spy};
use prefixbench::chat::Family;
use prefixbench::context::keeps::{Keeps, keeps};
use prefixbench::context::{Configuration, STRATEGIES};
use prefixbench::conversation::{
    Conversation, ConversationSetup, Next, Nonce, NoncePlace, Pending, Served, Shipped,
};
use prefixbench::provider::{self, RequestParams};
use prefixbench::scenario::model::{Action, Replies, Scenario};
use prefixbench::scenario::{LoadOptions, load};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Configurations that promise to withhold memory that is off.
const WITHHOLD: &[&str] = &["dev", "lever-off", "parts", "turn-context", "append-only"];

fn pending(scenario: &Arc<Scenario>, configuration: Configuration, family: Family) -> Vec<Pending> {
    let setup = ConversationSetup {
        name: Arc::from("facts"),
        configuration,
        wire: family.wire(),
        served: Served::Any(None),
        nonce: Nonce::default(),
        place: NoncePlace::Nowhere,
        resources: Arc::new(Shipped(Arc::clone(scenario))),
    };
    let mut conversation = Conversation::new(Arc::clone(scenario), setup).expect("a start");
    let mut found = Vec::new();
    while let Some(next) = conversation.next().expect("a request") {
        if let Next::Request(pending) = next {
            found.push(*pending);
        }
    }
    found
}

/// The scenario with the script's answers.
fn scripted(path: &Path) -> Scenario {
    let mut scenario = load(path, &LoadOptions::default()).expect("a valid scenario");
    scenario.replies = Replies::Scripted;
    scenario
}

/// What must be in each request, as the spy sees it. The spy stays where the
/// scenario switches layouts.
fn required(scenario: &Scenario) -> Vec<(u32, u32, Vec<(String, String)>)> {
    let mut watched = scenario.clone();
    watched
        .steps
        .retain(|step| !matches!(step.action, Action::Configuration(_)));
    let configuration = Configuration {
        name: "spy".to_owned(),
        base: &spy::SPY,
        options: prefixbench::context::Options::default(),
    };
    pending(&Arc::new(watched), configuration, Family::Compatible)
        .into_iter()
        .map(|pending| (pending.turn, pending.request, spy::facts(&pending.prompt)))
        .collect()
}

/// Everything that a provider renders, without what layouts do to white space
/// and to brackets.
fn plain(text: &str) -> String {
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn request_text(pending: &Pending, dialect: &str) -> String {
    let dialect = provider::find(dialect).expect("a dialect");
    let body = dialect.body(&pending.prompt, &RequestParams::default());
    let spans = body.messages.iter().flat_map(|message| &message.spans);
    let whole: String = spans.map(|placed| placed.span.text.as_str()).collect();
    plain(&whole)
}

/// A fact that a request lacks, or holds though it should not.
#[derive(Debug)]
#[expect(dead_code, reason = "what a failure shows")]
struct Fault {
    scenario: String,
    turn: u32,
    source: String,
    text: String,
}

fn faults(configuration: &str, family: Family, dialect: &str) -> Vec<Fault> {
    let mut found = Vec::new();
    for path in scenario_files() {
        let scenario = Arc::new(scripted(&path));
        let built_in = Configuration::built_in(configuration).expect("a configuration");
        let requests = pending(&scenario, built_in, family);
        let required = required(&scenario);
        assert_eq!(
            requests.len(),
            required.len(),
            "{configuration}, {}",
            scenario.name
        );
        for (request, (turn, number, facts)) in requests.iter().zip(&required) {
            assert_eq!((request.turn, request.request), (*turn, *number));
            let text = request_text(request, dialect);
            for (source, fact) in facts {
                let mut forms = fact.split(spy::OR).map(plain);
                let held = if source.starts_with(spy::GONE) {
                    let gone = forms.next().unwrap_or_default();
                    let told = |form: String| {
                        let at = text.rfind(&form);
                        at.is_some_and(|at| at + form.len() >= text.rfind(&gone).unwrap_or(0))
                    };
                    !text.contains(&gone) || forms.any(told)
                } else {
                    forms.any(|form| text.contains(&form))
                };
                if held == source.starts_with(spy::WITHHELD) {
                    found.push(Fault {
                        scenario: scenario.name.to_string(),
                        turn: *turn,
                        source: source.clone(),
                        text: fact.chars().take(60).collect(),
                    });
                }
            }
        }
    }
    found
}

/// Faults of each built-in configuration on both wires; computed once.
fn all() -> &'static BTreeMap<&'static str, Vec<Fault>> {
    static ALL: OnceLock<BTreeMap<&'static str, Vec<Fault>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let own = STRATEGIES
            .iter()
            .map(|kind| kind.name)
            .filter(|name| keeps(name) != Some(Keeps::Yours));
        own.map(|name| {
            let mut found = faults(name, Family::Compatible, "openai-chat");
            found.extend(faults(name, Family::Anthropic, "anthropic"));
            (name, found)
        })
        .collect()
    })
}

/// A fact that a request lacks: not one that it holds too much.
fn is_missing(fault: &Fault) -> bool {
    let source = &fault.source;
    !source.starts_with(spy::WITHHELD) && !source.starts_with(spy::GONE)
}

/// Configurations in which no fact is missing, by computation.
pub(super) fn keepers() -> Vec<&'static str> {
    all()
        .iter()
        .filter(|(_, found)| !found.iter().any(is_missing))
        .map(|(name, _)| *name)
        .collect()
}

#[test]
fn the_column_of_the_list_says_which_configurations_keep_all_facts() {
    let keepers = keepers();
    let mut wrong = Vec::new();
    for (name, found) in all() {
        let said = keeps(name).expect("a line in the table");
        let missing: Vec<&Fault> = found.iter().filter(|fault| is_missing(fault)).collect();
        if (said == Keeps::All) != missing.is_empty() {
            let first = missing.iter().take(6);
            wrong.push(format!(
                "`{name}`: {said:?}, but {} are missing: {:#?}",
                missing.len(),
                first.collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = program(&["list", "configurations"]);
    let header = listed.lines().next().unwrap_or_default();
    assert!(header.contains("KEEPS ALL FACTS"), "{header}");
    for name in keepers {
        let row = listed
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        assert!(row.is_some_and(|row| row.contains(" yes ")), "{row:?}");
    }
}

#[test]
fn append_only_keeps_all_facts() {
    assert!(keepers().contains(&"append-only"));
}

#[test]
fn memory_that_is_off_is_in_no_request_of_those_that_promise_it() {
    for name in WITHHOLD {
        let leaked = all()[name]
            .iter()
            .find(|fault| fault.source.starts_with(spy::WITHHELD));
        assert!(leaked.is_none(), "{name}: {leaked:?}");
    }
    let inline = &all()["inline"];
    assert!(
        inline
            .iter()
            .any(|fault| fault.source.starts_with(spy::WITHHELD)),
        "what is pasted into messages stays there: the test can see a leak"
    );
}

#[test]
fn what_was_switched_off_or_removed_is_gone_or_said_to_be() {
    let still = |found: &[Fault]| {
        let mut gone = found
            .iter()
            .filter(|fault| fault.source.starts_with(spy::GONE));
        gone.next().map(|fault| format!("{fault:?}"))
    };
    for (name, found) in all().iter().filter(|(name, _)| **name != "inline") {
        assert_eq!(still(found), None, "{name}");
    }
    // It says of nothing that it is off: the newest message just has no more of it.
    assert!(still(&all()["inline"]).is_some(), "the test can see it");
}

#[test]
fn a_reason_is_given_where_facts_are_missing() {
    for (name, found) in all() {
        if let Some(Keeps::Not(reason)) = keeps(name) {
            assert!(!reason.is_empty() && !found.is_empty(), "{name}");
        }
    }
}
