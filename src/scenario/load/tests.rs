//! The grammar as a whole.

mod errors;
mod robustness;
mod shipped;

use super::*;
use crate::chat::{Digest, MarkerRule, Text};
use crate::context::view::{ChainKind, CompactionMode};
use crate::scenario::model::{Action, Attach, NoteEdit, Replies, Step, TurnRef, UserStep};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::fs;
use std::time::Duration;

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    load_str("chat.yaml", text, Path::new("."), &LoadOptions::default())
}

/// What a terminal without colours shows of the error.
pub(in crate::scenario) fn shown(error: &ScenarioError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut out, error)
        .expect("a string takes everything");
    out
}

fn tokens(text: &Text) -> usize {
    let encoding = tiktoken_rs::o200k_base_singleton();
    encoding.encode_ordinary(text).len()
}

fn send(step: &Step) -> &UserStep {
    match &step.action {
        Action::User(user) | Action::Edit { user, .. } => user,
        other => panic!("a send, not {other:?}"),
    }
}

fn labels(scenario: &Scenario) -> Vec<&str> {
    scenario.steps.iter().map(|step| &*step.label).collect()
}

#[test]
fn the_least_scenario_gets_the_stated_defaults() {
    let scenario = parsed("scenario: least\nsteps: [{user: {text: Hi}}]\n").expect("valid");
    assert_eq!(&*scenario.name, "least");
    assert_eq!(scenario.clock.minute(), "2026-10-16 09:00");
    assert_eq!(scenario.clock.zone, jiff::tz::TimeZone::UTC);
    let start = &scenario.start;
    assert!(start.memory.on && start.memory.entries.is_empty());
    assert!(start.skills.is_empty() && start.other.is_empty() && start.tools.is_empty());
    let sources = [
        &start.project,
        &start.artifacts,
        &start.memory_guard,
        &start.web_search,
    ];
    assert_eq!(sources, [&None, &None, &None, &None]);
    assert!(!start.timestamps);
    assert_eq!(scenario.replies, Replies::Scripted);
    assert_eq!(tokens(&start.system), 1_200);
    let user = send(&scenario.steps[0]);
    assert_eq!(user.text.as_str(), "Hi");
    assert_eq!(tokens(&user.reply), 120);
}

#[test]
fn fillers_have_the_stated_sizes() {
    let scenario = parsed(
        "scenario: a\nstart: {artifacts: on, web_search: on, memory_guard: on}\nsteps: [{user: {text: Hi}}]\n",
    )
    .expect("valid");
    let sizes = [
        &scenario.start.artifacts,
        &scenario.start.web_search,
        &scenario.start.memory_guard,
    ]
    .map(|text| tokens(text.as_ref().expect("on")));
    assert_eq!(sizes, [2_500, 400, 40]);
}

#[test]
fn replies_that_are_left_out_differ_from_each_other() {
    let scenario =
        parsed("scenario: a\nsteps: [{user: {text: Hi}}, {user: {text: Hi}}]\n").expect("valid");
    assert_ne!(
        send(&scenario.steps[0]).reply,
        send(&scenario.steps[1]).reply
    );
}

/// Everything that the grammar has, once.
const WHOLE: &str = r##"
scenario: whole
group: G9
about: Everything once.
clock: {start: "2026-10-16T09:00", zone: Europe/Berlin}
system: Be kind.
tools: '[{"name": "search"}]'
model: small
start:
  project: off
  artifacts: Draw.
  memory: {name: Ada, age: 42, height: 1.50, likes: on}
  web_search: on
  memory_guard: off
  timestamps: on
  skills: {sum: adds up}
  other: {weather: rain}
notes:
  a/spec.md: {text: "one\ntwo\nthree", tags: ["#plan"]}
  a/more.md: {generate: {tokens: 50, seed: 3, kind: markdown}, tags: [plan, old]}
urls: {"https://a.example": page}
tabs: {"https://b.example": tab}
replies: scripted
configurations:
  mine: {base: turn-context, markers: anthropic, window: 9000}
steps:
  - user:
      text: Look.
      attach:
        - {note: a/spec.md, active: true}
        - {url: "https://a.example"}
        - {tab: "https://b.example", active: true}
        - {selection: {note: a/spec.md, lines: [2, 3]}}
        - {selection: {url: "https://c.example", text: picked}}
        - {tag: "#plan"}
        - {folder: a/}
      retrieved: found
      queued_files: [x.csv]
      tool_outputs: [{tool: clock, output: nine}]
      tool_calls: [{text: Wait., calls: [{name: search, args: {q: b, a: [1, true]}, result: none}]}]
      reply: Done.
      chain: vault-qa
      expect: [done]
  - approve: {while: [{set: {artifacts: off}}, {wait: 30s}]}
  - set: {project: Rules., web_search: off, memory: off, timestamps: off, skills: off, zone: Asia/Tokyo, other: {weather: off}}
  - memory: {add: {city: Rome}, change: {age: 43}, remove: [name]}
  - note: {a/spec.md: {write: new}, a/more.md: touch}
  - note: {a/more.md: {move: b/more.md}, a/spec.md: delete}
  - url: {"https://a.example": newer}
  - tab: {"https://b.example": newer}
  - wait: 1h 30m
  - idle: 2d
  - compact: {keep_turns: 1, summary: So far., mode: positional, call: true}
  - regenerate: {turn: last, reply: Again.}
  - edit: {turn: 1, user: {text: Else.}}
  - branch: {from: 2}
  - system: Be brief.
  - tools: "[]"
  - model: large
  - configuration: mine
  - reload: {}
  - new_chat:
  - user: {text: 7}
  - subagent: {task: Count., skills: {s: body}, retrieved: r, reply: One.}
"##;

const LABELS: &[&str] = &[
    "user",
    "approve last turn",
    "project on, web search off, memory off, timestamps off, ski…",
    "memory added city, changed age, removed name",
    "note a/spec.md written, note a/more.md touched",
    "note a/more.md moved to b/more.md, note a/spec.md deleted",
    "url https://a.example changed",
    "tab https://b.example changed",
    "wait 1h 30m",
    "idle 2d",
    "compact",
    "regenerate last turn",
    "edit turn 1",
    "branch from turn 2",
    "system changed",
    "tools changed",
    "model large",
    "configuration mine",
    "reload",
    "new chat",
    "user",
    "subagent",
];

#[test]
fn every_step_and_field_is_read() {
    let scenario = parsed(WHOLE).unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(labels(&scenario), LABELS);
    let memory: Vec<_> = scenario
        .start
        .memory
        .entries
        .iter()
        .map(|entry| (&*entry.key, entry.value.as_str()))
        .collect();
    // As they stand in the file, not as YAML would read them.
    assert_eq!(
        memory,
        [
            ("name", "Ada"),
            ("age", "42"),
            ("height", "1.50"),
            ("likes", "on")
        ]
    );
    assert_eq!(
        scenario.clock.datetime(),
        "2026-10-16 09:00:00 +02:00 (Friday)"
    );
    assert_eq!(&*scenario.start.tools[0].name, "search");
    assert_eq!(scenario.configurations["mine"].base, "turn-context");
    let options = &scenario.configurations["mine"].options;
    assert_eq!(options.markers, Some(MarkerRule::Anthropic));
    assert_eq!(options.window, Some(9_000));
    assert_eq!(
        &*scenario.note("a/spec.md").expect("a note").tags[0],
        "plan"
    );

    let first = send(&scenario.steps[0]);
    assert_eq!(first.attach.len(), 7);
    assert!(
        matches!(&first.attach[3], Attach::Selection { text, lines: Some((2, 3)), .. } if text.as_str() == "two\nthree")
    );
    assert!(matches!(&first.attach[6], Attach::Folder(path) if &**path == "a"));
    assert_eq!(first.chain, Some(ChainKind::VaultQa));
    let call = &first.rounds[0].calls[0];
    assert_eq!(
        (&*call.id, call.arguments.as_str()),
        ("call_00000001", r#"{"q":"b","a":[1,true]}"#)
    );
    assert!(
        matches!(&scenario.steps[1].action, Action::Approve { turn: TurnRef::Last, during } if during.len() == 2)
    );
    assert!(
        matches!(&scenario.steps[4].action, Action::Note(edits) if edits[1].1 == NoteEdit::Touch)
    );
    assert!(
        matches!(scenario.steps[8].action, Action::Wait(time) if time == Duration::from_mins(90))
    );
    assert!(
        matches!(&scenario.steps[10].action, Action::Compact(step) if step.mode == CompactionMode::Positional && step.call && step.keep_turns == 1)
    );
    assert_eq!(scenario.steps[0].line, 27);
    assert_eq!(scenario.steps[1].line, 44);
    assert_eq!(send(&scenario.steps[20]).text.as_str(), "7");
}

#[test]
fn anchors_and_aliases_are_followed() {
    let scenario = parsed(
        "scenario: a\nsteps:\n  - &ask\n    user: {text: &n 12, reply: *n}\n  - *ask\n  - wait: 1s\n",
    )
    .unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(send(&scenario.steps[1]).reply.as_str(), "12");
    assert_eq!(scenario.steps[1].line, 5);
}

#[test]
fn files_are_found_beside_the_scenario_and_enter_its_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).expect("written");
    };
    let text = "scenario: a\nsystem: {file: b.md}\nsteps:\n  - user: {text: {file: a.md}, reply: {file: b.md}, attach: [{image: p.png}]}\n";
    write("chat.yaml", text.as_bytes());
    write("a.md", "\u{feff}eins\r\nzwei\r\n".as_bytes());
    write("b.md", b"three");
    let png = b"\x89PNG\r\n\x1a\nabc";
    write("p.png", png);
    let scenario = load(&folder.path().join("chat.yaml"), &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_eq!(scenario.start.system.as_str(), "three");
    let user = send(&scenario.steps[0]);
    assert_eq!(user.text.as_str(), "eins\nzwei\n");
    assert!(
        matches!(&user.attach[0], Attach::Image { name, media_type, data }
        if &**name == "p.png" && &**media_type == "image/png" && data.as_str() == "iVBORw0KGgphYmM=")
    );
    let all = [
        text.as_bytes(),
        b"three",
        "\u{feff}eins\r\nzwei\r\n".as_bytes(),
        png,
    ]
    .concat();
    assert_eq!(scenario.digest, Digest::of(&all));
}

#[test]
fn a_file_saved_on_windows_is_the_same_scenario() {
    let plain = parsed(WHOLE).expect("valid");
    let mut windows = parsed(&format!("\u{feff}{}", WHOLE.replace('\n', "\r\n")))
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    assert_ne!(windows.digest, plain.digest);
    windows.digest = plain.digest;
    assert_eq!(windows, plain);
}

#[test]
fn finished_bodies_and_builders_stand_in_configurations() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bodies.jsonl"), "{}\n").expect("written");
    let text = "scenario: a\nconfigurations:\n  ours: {base: external, external: {command: [python3, build.py]}}\n  done: {base: raw, raw: bodies.jsonl}\nsteps: [{user: {text: Hi}}]\n";
    let scenario = load_str("chat.yaml", text, folder.path(), &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    let external = scenario.configurations["ours"].options.external.as_ref();
    assert_eq!(external.expect("a builder").timeout_s, 30);
    assert_eq!(
        scenario.configurations["done"].options.raw,
        Some(folder.path().join("bodies.jsonl"))
    );
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let cases = [
        (
            "clock: {start: 2026-10-16T09:00+02:00}",
            "`start` is no date and time",
        ),
        (
            "clock: {start: 2026-13-01T09:00}",
            "`start` is no date and time",
        ),
        ("group: a/b", "`group` holds a slash or a control character"),
        ("notes: {../a.md: x}", "`../a.md` is no path of a note"),
        (
            "configurations: {m: {base: dev, window: 0}}",
            "`window` must be at least 1",
        ),
        (
            "configurations: {dev: {base: layered}}",
            "built-in configuration `dev` exists already",
        ),
        ("configurations: {m: {base: raw}}", "`raw` is missing"),
        (
            "configurations: {m: {base: external, external: {command: []}}}",
            "`external` names no program in `command`",
        ),
        (
            "system: {generate: {tokens: 0}}",
            "`tokens` must be at least 1",
        ),
        (
            "system: {}",
            "a text needs exactly one of `file` or `generate`",
        ),
    ];
    for (line, expected) in cases {
        let text = format!("scenario: a\n{line}\nsteps: [{{user: {{text: Hi}}}}]\n");
        let error = parsed(&text).expect_err(line);
        assert_eq!(error.to_string(), expected, "{line}");
    }
}

#[test]
fn steps_that_make_no_sense_are_refused() {
    let cases = [
        ("set: {}", "`set` names no source"),
        ("memory: {}", "`memory` edits nothing"),
        ("user: {text: ''}", "`text` is empty"),
        ("user: {text: Hi, reply: ''}", "`reply` is empty"),
        ("user: {text: Hi, attach: [{tag: x}]}", "unknown tag `x`"),
        ("user: {text: Hi, attach: [{url: u}]}", "unknown page `u`"),
        (
            "user: {text: Hi, attach: [{note: n.md, url: u}]}",
            "an attachment needs exactly one kind",
        ),
        (
            "user: {text: Hi, attach: [{selection: {note: n.md, lines: 2-9}}]}",
            "`n.md` has no line 9: it ends at line 1",
        ),
        (
            "user: {text: Hi, tool_calls: [{calls: []}]}",
            "`calls` are empty",
        ),
        (
            "user: {text: Hi, tool_calls: [{calls: [{name: t, args: [1], result: r}]}]}",
            "`args` are neither a map nor a JSON object",
        ),
        ("note: {n.md: {move: n.md}}", "note `n.md` exists already"),
        (
            "new_chat: {}\n  - regenerate: {turn: 1}",
            "turn 1 cannot be meant: nothing has been sent in this chat yet",
        ),
        (
            "branch: {from: 0}",
            "turn 0 does not exist: turns are counted from 1",
        ),
        ("configuration: layerd", "unknown configuration `layerd`"),
        (
            "wait: 3650d\n  - wait: 3650d\n  - wait: 20y",
            "the duration `20y` has an unknown unit `y`",
        ),
    ];
    for (step, expected) in cases {
        let text = format!(
            "scenario: a\nnotes: {{n.md: x}}\nsteps:\n  - user: {{text: Hi}}\n  - {step}\n"
        );
        let error = parsed(&text).expect_err(step);
        assert_eq!(error.to_string(), expected, "{step}");
    }
}
