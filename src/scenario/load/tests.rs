//! The grammar as a whole, and what a person sees who gets it wrong.

use super::*;
use crate::chat::Text;
use crate::context::view::{ChainKind, CompactionMode};
use crate::scenario::model::{Action, Attach, NoteEdit, Replies, TurnRef};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::fs;

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    load_str("chat.yaml", text, Path::new("."), &LoadOptions::default())
}

/// What a terminal without colours shows of the error.
fn shown(error: &ScenarioError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut out, error)
        .expect("a string takes everything");
    out
}

fn refusal(text: &str) -> String {
    shown(&parsed(text).expect_err("the scenario is faulty"))
}

#[test]
fn the_least_scenario_gets_the_stated_defaults() {
    let scenario = parsed("scenario: least\nsteps: [{user: {text: Hi}}]\n").expect("valid");
    assert_eq!(&*scenario.name, "least");
    assert_eq!(scenario.clock.minute(), "2026-10-16 09:00");
    assert_eq!(scenario.clock.zone, jiff::tz::TimeZone::UTC);
    assert!(scenario.start.memory.on && scenario.start.memory.entries.is_empty());
    assert_eq!(scenario.start.project, None);
    assert_eq!(scenario.start.artifacts, None);
    assert_eq!(scenario.start.web_search, None);
    assert!(!scenario.start.timestamps);
    assert_eq!(scenario.replies, Replies::Scripted);
    let Action::User(user) = &scenario.steps[0].action else {
        panic!("a send")
    };
    assert_eq!(user.text.as_str(), "Hi");
    let encoding = tiktoken_rs::o200k_base().expect("bundled");
    let tokens = |text: &Text| encoding.encode_ordinary(text).len();
    assert_eq!(tokens(&scenario.start.system), 1_200);
    assert_eq!(tokens(&user.reply), 120);
}

#[test]
fn fillers_have_the_stated_sizes() {
    let scenario = parsed(
        "scenario: a\nstart: {artifacts: on, web_search: on, memory_guard: on}\nsteps: [{user: {text: Hi}}]\n",
    )
    .expect("valid");
    let encoding = tiktoken_rs::o200k_base().expect("bundled");
    let sizes = [
        &scenario.start.artifacts,
        &scenario.start.web_search,
        &scenario.start.memory_guard,
    ]
    .map(|text| encoding.encode_ordinary(text.as_ref().expect("on")).len());
    assert_eq!(sizes, [2_500, 400, 40]);
}
