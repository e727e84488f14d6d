//! The scenarios that come with the program.

use super::shown;
use crate::scenario::model::{Action, Step};
use crate::scenario::{LoadOptions, Scenario, load, schema, schema_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn shipped() -> BTreeMap<String, PathBuf> {
    fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}

fn all() -> Vec<Scenario> {
    let options = LoadOptions::default();
    shipped()
        .values()
        .map(|path| load(path, &options).unwrap_or_else(|error| panic!("{}", shown(&error))))
        .collect()
}

#[test]
fn every_scenario_is_valid_and_named_as_its_file() {
    let scenarios = all();
    for ((stem, _), scenario) in shipped().iter().zip(&scenarios) {
        assert_eq!(**stem, *scenario.name);
        assert!(
            !scenario.about.is_empty() && !scenario.group.is_empty(),
            "{stem}"
        );
    }
    let ids: BTreeSet<&str> = scenarios
        .iter()
        .filter_map(|scenario| scenario.name.split_once('-').map(|(id, _)| id))
        .collect();
    for id in (1..=21).chain([25]).map(|number| format!("s{number:02}")) {
        assert!(ids.contains(id.as_str()), "no scenario of kind {id}");
    }
}

#[test]
fn kinds_are_grouped_by_what_changes() {
    let group = |id: u32| match id {
        1..=5 => "G1",
        6 | 7 | 10 | 13 | 14 | 20 | 21 => "G2",
        _ => "G3",
    };
    for scenario in all() {
        let id = scenario
            .name
            .get(1..3)
            .and_then(|digits| digits.parse().ok());
        if let (true, Some(id)) = (scenario.name.starts_with('s'), id) {
            assert_eq!(&*scenario.group, group(id), "{}", scenario.name);
        }
    }
}

#[test]
fn every_scenario_opens_with_what_it_shows() {
    for (stem, path) in shipped() {
        let text = fs::read_to_string(path).expect("readable");
        let head: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .collect();
        let head = head.join("\n");
        assert!(
            head.contains("dev") && head.contains("turn-context"),
            "{stem}:\n{head}"
        );
    }
}

fn kinds<'a>(steps: &'a [Step], seen: &mut BTreeSet<&'a str>) {
    for step in steps {
        if let Action::Approve { during, .. } = &step.action {
            kinds(during, seen);
        }
        seen.insert(step.label.split(' ').next().unwrap_or_default());
    }
}

#[test]
fn every_kind_of_event_is_in_some_scenario() {
    let scenarios = all();
    let mut seen = BTreeSet::new();
    for scenario in &scenarios {
        kinds(&scenario.steps, &mut seen);
    }
    for kind in [
        "user",
        "artifacts",
        "memory",
        "project",
        "skills",
        "wait",
        "idle",
        "zone",
        "compact",
        "regenerate",
        "edit",
        "branch",
        "approve",
        "configuration",
        "new",
        "subagent",
    ] {
        assert!(seen.contains(kind), "{kind} is in none: {seen:?}");
    }
}

#[test]
fn the_schema_file_is_current() {
    let file = fs::read_to_string(folder().join("schema.json")).expect("readable");
    assert!(
        file.replace("\r\n", "\n") == schema_text(),
        "scenarios/schema.json is out of date: run `prefixbench schema > scenarios/schema.json`"
    );
}

#[test]
fn the_schema_takes_every_scenario_and_refuses_slips() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let value = |text: &str| -> serde_json::Value { serde_saphyr::from_str(text).expect("YAML") };
    for (stem, path) in shipped() {
        let text = fs::read_to_string(path).expect("readable");
        let faults: Vec<_> = validator
            .iter_errors(&value(&text))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{stem}: {faults:?}");
    }
    assert!(validator.is_valid(&value(super::WHOLE)));
    for slip in [
        "steps: []",
        "{scenario: a, steps: [], stepz: 1}",
        "{scenario: a, steps: [{usr: {text: Hi}}]}",
        "{scenario: a, steps: [{user: {text: Hi, replay: x}}]}",
        "{scenario: a, steps: [{user: {text: [Hi]}}]}",
        "{scenario: a, steps: [{regenerate: {turn: first}}]}",
    ] {
        assert!(!validator.is_valid(&value(slip)), "{slip}");
    }
}
