//! What the program predicts and what the embedded server reports, against
//! what the naive simulator finds in the rendered bodies: no difference, for
//! any request of any scenario.

use crate::folder::{Ended, Folder, shipped};
use crate::naive::{Cache, Found, Message, Template, messages};
use serde_json::Value;
use std::collections::HashMap;

/// What a request goes by.
type Key = (String, String, u64, u64);

fn key(line: &Value) -> Key {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| line[name].as_u64().unwrap_or_default();
    (
        text("scenario"),
        text("configuration"),
        number("turn"),
        number("request"),
    )
}

fn number(value: &Value, path: &str) -> usize {
    let number = value.pointer(path).and_then(Value::as_u64);
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.unwrap_or_else(|| panic!("no {path} in {value}"))
}

/// One way of sending some scenarios.
struct Way {
    folder: Folder,
    scenarios: Vec<String>,
    configurations: &'static str,
    dialect: &'static str,
    wire: &'static str,
}

impl Way {
    fn new(scenarios: Vec<String>, configurations: &'static str) -> Self {
        Self {
            folder: Folder::new(),
            scenarios,
            configurations,
            dialect: "openai-chat",
            wire: "compatible",
        }
    }

    fn call(&self, command: &str, more: &[&str]) -> Ended {
        let mut program = self.folder.program();
        program.arg(command).args(&self.scenarios);
        program.args(["--config", self.configurations]);
        program.args(["--dialect", self.dialect, "--wire", self.wire]);
        let ended = Ended::of(program.args(more).output());
        ended.ended_with(0, &[]);
        ended
    }

    fn lines(&self, command: &str) -> Vec<Value> {
        let out = self.call(command, &["--format", "jsonl"]).out;
        let lines = out.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON lines")
    }

    /// Predictions and measurements against the simulator. Says how many
    /// requests were compared.
    fn check(&self, more: &[&str]) -> usize {
        let mut template = Template::default();
        let rendered = self.lines("render");
        let bodies: HashMap<Key, &str> = rendered
            .iter()
            .map(|line| (key(line), line["body"].as_str().expect("a body")))
            .collect();
        self.check_predicted(&rendered, &mut template);
        self.call("run", &[&["--out", "run", "--quiet"], more].concat());
        self.check_measured(&bodies, &mut template)
    }

    fn check_predicted(&self, rendered: &[Value], template: &mut Template) {
        let predicted = self.lines("predict");
        assert_eq!(rendered.len(), predicted.len());
        let mut caches: HashMap<(String, String), Cache> = HashMap::new();
        for (line, predicted) in rendered.iter().zip(&predicted) {
            let key = key(line);
            assert_eq!(key, self::key(predicted));
            let cache = caches.entry((key.0.clone(), key.1.clone())).or_default();
            let prompt = template.prompt(&messages(line["body"].as_str().expect("a body")));
            let found = cache.find(&prompt);
            let said = Found {
                total: number(predicted, "/total_tokens"),
                eligible: number(predicted, "/eligible_tokens"),
                bound: number(predicted, "/bound_tokens"),
            };
            assert_eq!(said, found, "predicted for {key:?}");
            cache.keep(prompt, &[]);
        }
    }

    fn check_measured(&self, bodies: &HashMap<Key, &str>, template: &mut Template) -> usize {
        let stored = self.folder.lines("run", "spans.jsonl");
        let texts: HashMap<&str, &str> = stored
            .iter()
            .filter_map(|span| Some((span["sha256"].as_str()?, span["text"].as_str()?)))
            .collect();
        let records = self.folder.records("run");
        let bounds = self.folder.lines("run", "bounds.jsonl");
        assert_eq!(records.len(), bounds.len());
        let mut caches: HashMap<String, Cache> = HashMap::new();
        for (record, bound) in records.iter().zip(&bounds) {
            let key = key(record);
            assert_eq!(record["outcome"], "ok", "{key:?}");
            assert_eq!(record["conversation"], bound["conversation"]);
            assert_eq!(
                (&record["turn"], &record["request"]),
                (&bound["turn"], &bound["request"])
            );
            let asked = if is_live(&key.0) {
                recorded(record, &texts)
            } else {
                messages(bodies[&key])
            };
            let prompt = template.prompt(&asked);
            let cache = caches.entry(record["salt"].to_string()).or_default();
            let found = cache.find(&prompt);
            let said = Found {
                total: number(bound, "/prompt"),
                eligible: number(bound, "/eligible"),
                bound: number(bound, "/bound"),
            };
            assert_eq!(said, found, "computed for {key:?}");
            let total = number(record, "/usage/total");
            let read = number(record, "/usage/read");
            assert_eq!(
                (total, read),
                (found.total, found.bound),
                "reported for {key:?}"
            );
            let answer = texts[record["output_sha256"].as_str().expect("an answer")];
            let mut generated = template.encode(answer.to_owned()).to_vec();
            // An answer that ended by itself ends with a token that has no text.
            generated.extend((record["finish"] == "stop").then_some(0));
            assert_eq!(generated.len(), number(record, "/usage/output"), "{key:?}");
            cache.keep(prompt, &generated);
        }
        records.len()
    }
}

/// The scenario whose answers are the model's own: what is rendered is not
/// what is sent.
fn is_live(scenario: &str) -> bool {
    scenario == "s25-answers"
}

/// The messages of a record.
fn recorded(record: &Value, texts: &HashMap<&str, &str>) -> Vec<Message> {
    let said = record["prompt"].as_array().expect("a prompt").iter();
    said.map(|message| {
        let role = ["tools", "system", "user", "assistant", "tool"]
            .into_iter()
            .find(|role| message["role"] == *role);
        let spans = message["spans"].as_array().expect("spans").iter();
        let text = spans.map(|span| texts[span["sha256"].as_str().expect("a hash")]);
        (role.expect("a role"), text.collect())
    })
    .collect()
}

fn all() -> Vec<String> {
    vec![shipped().to_str().expect("a path").to_owned()]
}

fn some(names: &[&str]) -> Vec<String> {
    let path = |name: &&str| shipped().join(format!("{name}.yaml"));
    let paths = names.iter().map(path);
    paths
        .map(|path| path.to_str().expect("a path").to_owned())
        .collect()
}

/// Tokens that are asked for: answers take time, and a few say as much as many.
const SHORT: &[&str] = &["--max-tokens", "5"];

#[test]
fn every_scenario_under_inline_dev_and_append_only() {
    let compared = Way::new(all(), "inline,dev,append-only").check(SHORT);
    assert!(compared > 500, "{compared}");
}

#[test]
fn every_scenario_under_the_turn_context_family() {
    let compared = Way::new(all(), "turn-context,parts,lever-off").check(SHORT);
    assert!(compared > 500, "{compared}");
}

#[test]
fn every_scenario_under_the_layered_family() {
    let compared = Way::new(all(), "layered,copilot-3.1,copilot-4").check(SHORT);
    assert!(compared > 500, "{compared}");
}

#[test]
fn the_anthropic_dialect() {
    let names = [
        "quickstart",
        "s06-artifacts",
        "s08-memory",
        "s16-branches",
        "s17-compaction",
    ];
    let more = ["s18-legacy-chat", "s19-tool-loop", "s20-subagent"];
    let way = Way {
        dialect: "anthropic",
        wire: "anthropic",
        ..Way::new(
            some(&[&names[..], &more].concat()),
            "dev,layered,turn-context,append-only",
        )
    };
    let compared = way.check(SHORT);
    assert!(compared > 200, "{compared}");
}

#[test]
fn conversations_that_share_a_cache() {
    for isolate in ["cell", "run"] {
        let way = Way::new(some(&["quickstart", "smoke"]), "inline,turn-context");
        way.check(&["--isolate", isolate, "--repeat", "2", "--max-tokens", "5"]);
    }
}

#[test]
fn answers_that_end_by_themselves() {
    let way = Way::new(some(&["smoke", "s15-regenerate"]), "append-only,layered");
    way.check(&["--max-tokens", "300"]);
}

#[test]
fn a_chat_whose_model_changes() {
    let text = "\
scenario: two-models
steps:
  - user: {text: One., reply: Fine.}
  - user: {text: Two., reply: Fine.}
  - model: other
  - user: {text: Three., reply: Fine.}
  - user: {text: Four., reply: Fine.}
";
    let folder = Folder::new();
    folder.write("two.yaml", text);
    folder
        .run(&["run", "two.yaml", "--config", "append-only", "--out", "run"])
        .ended_with(0, &[]);
    let bounds = folder.lines("run", "bounds.jsonl");
    let read: Vec<_> = folder
        .records("run")
        .iter()
        .map(|record| number(record, "/usage/read"))
        .collect();
    let bound: Vec<_> = bounds.iter().map(|bound| number(bound, "/bound")).collect();
    assert_eq!(read, bound);
    assert!(read[1] > 0 && read[3] > 0, "{read:?}");
    assert_eq!(read[2], 0, "another model has a cache of its own");
}
