//! Reads the cases and runs them.

mod conversation;
mod output;
mod wording;

use prefixbench::chat::Text;
use prefixbench::context::Phrases;
use prefixbench::context::layered::{
    ConvertOptions, Envelope, LayerId, Release, Segment, convert, parse_segments, reduce_block,
    repair_surrogates, user_content,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

/// A state of the original program, as the cases name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    V4,
    V31,
}

impl State {
    pub(crate) const BOTH: [Self; 2] = [Self::V4, Self::V31];

    pub(crate) fn release(self) -> Release {
        match self {
            Self::V4 => Release::V4,
            Self::V31 => Release::V31,
        }
    }
}

/// The original's wording.
const PHRASES: &str = "phrases.json";

/// The folder beside the checkout.
fn beside() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/layered")
}

/// The folder of the cases.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder, where there is one; says so where there is none.
    #[expect(clippy::print_stdout, reason = "says that nothing was compared")]
    pub(crate) fn find() -> Option<Self> {
        let named = env::var_os("LAYERED_CASES").map(PathBuf::from);
        let folder = named.unwrap_or_else(beside);
        if folder.is_dir() {
            return Some(Self(folder));
        }
        println!(
            "layered: skipped, there is no folder `{}`",
            folder.display()
        );
        assert!(
            env::var_os("CI").is_none_or(|ci| ci != "true"),
            "the layered cases are missing"
        );
        None
    }

    fn read(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.0.join(name)).expect("a readable file");
        serde_json::from_str(&repair_surrogates(&text)).expect("JSON")
    }

    /// The original's wording, its masked passages as placeholders.
    pub(crate) fn phrases(&self) -> Arc<Phrases> {
        let here = self.0.join(PHRASES).is_file();
        let folder = if here { self.0.clone() } else { beside() };
        let mut book = Self(folder).read(PHRASES);
        for key in ["agent_guidance", "citation_reminder", "agent_reasoning"] {
            book[key] = json!(format!("{{{{{}}}}}", key.to_uppercase()));
        }
        for (key, words) in wording::LACKING {
            if book.get(key).is_none() {
                book[key] = json!(words);
            }
        }
        Arc::new(Phrases::with(&book.to_string()).expect("a phrase book"))
    }

    /// Every case of every file.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| Path::new(name).extension().is_some_and(|it| it == "json"))
            .filter(|name| name != PHRASES)
            .collect();
        names.sort();
        names.iter().flat_map(|name| self.cases_of(name)).collect()
    }

    fn cases_of(&self, name: &str) -> Vec<Case> {
        let file = self.read(name);
        let suite = text(&file, "suite");
        let cases = file["cases"].as_array().expect("cases");
        let case = |value: &Value| Case {
            suite: suite.to_owned(),
            id: text(value, "id").to_owned(),
            input: value["input"].clone(),
            expected: normalised(value["expected"].clone()),
        };
        cases.iter().map(case).collect()
    }
}

/// What is expected, without the lengths that were derived from the messages
/// afterwards and are no output of the program, and with tool calls as id, name
/// and arguments.
fn normalised(mut expected: Value) -> Value {
    for state in ["v4", "v3_1"] {
        let requests = expected[state]
            .get_mut("requests")
            .and_then(Value::as_array_mut);
        for request in requests.into_iter().flatten() {
            if let Some(request) = request.as_object_mut() {
                request.shift_remove("prefix");
            }
            let messages = request["messages"].as_array_mut();
            for message in messages.into_iter().flatten() {
                let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
                calls.into_iter().flatten().for_each(plain_call);
            }
        }
    }
    expected
}

/// Removes the type of a call, and takes the function's fields out of it.
fn plain_call(call: &mut Value) {
    if let Some(function) = call.get("function").cloned() {
        let args = text(&function, "arguments");
        let args: Value = serde_json::from_str(args).expect("arguments are JSON");
        *call = json!({"id": call["id"], "name": function["name"], "args": args});
    } else if let Some(call) = call.as_object_mut() {
        call.shift_remove("type");
    }
}

/// The text under `key`; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

/// One case.
pub(crate) struct Case {
    pub(crate) suite: String,
    pub(crate) id: String,
    input: Value,
    expected: Value,
}

impl Case {
    /// What is expected of a state; `None` where the case does not apply to it.
    pub(crate) fn expected(&self, state: State) -> Option<&Value> {
        let v4 = &self.expected["v4"];
        let value = match state {
            State::V4 => v4,
            State::V31 => &self.expected["v3_1"],
        };
        match value {
            Value::String(same) if same == "same" => Some(v4),
            value => Some(value),
        }
        .filter(|value| !value.is_null())
        .filter(|value| !(state == State::V31 && self.refused(value)))
    }

    /// Whether the state threw an error at text that is not Unicode: such text
    /// does not exist here, since it is repaired when it is read.
    fn refused(&self, expected: &Value) -> bool {
        expected.get("error").is_some() && self.input.to_string().contains('\u{fffd}')
    }

    /// What we make of it, in the shape of what is expected.
    pub(crate) fn run(&self, state: State, phrases: &Arc<Phrases>) -> Value {
        let input = &self.input;
        match self.suite.as_str() {
            "engine" => output::envelope(&built(input), phrases),
            "converter" => converted(input, phrases),
            "parser" => {
                let stable = input["stable"].as_bool().unwrap_or(false);
                let found = parse_segments(state.release(), text(input, "text"), stable);
                json!({"segments": found.iter().map(output::segment).collect::<Vec<_>>()})
            }
            "compaction" => {
                json!({"output": reduce_block(text(input, "block"), text(input, "tag"), phrases)})
            }
            "conversation" => conversation::run(input, state.release(), phrases),
            other => panic!("unknown suite `{other}`"),
        }
    }
}

/// The envelope of raw segments.
fn built(input: &Value) -> Envelope {
    let id = input["message_id"].as_str().unwrap_or("m1");
    let given = LayerId::ALL.into_iter().flat_map(|layer| {
        let segments = input["layers"][layer.as_str()].as_array();
        let segments = segments.cloned().unwrap_or_default();
        segments
            .into_iter()
            .map(move |value| (layer, segment(&value)))
    });
    Envelope::build(id, given)
}

fn segment(value: &Value) -> Segment {
    Segment {
        id: Arc::from(text(value, "id")),
        content: Text::from(text(value, "content")),
        stable: value["stable"].as_bool().unwrap_or(true),
        metadata: value["metadata"].as_object().cloned(),
    }
}

fn converted(input: &Value, phrases: &Phrases) -> Value {
    let envelope = built(input);
    let option = |key: &str| input["options"][key].as_bool().unwrap_or(true);
    let options = ConvertOptions {
        system: option("includeSystemMessage"),
        merge: option("mergeUserContent"),
    };
    let converted = convert(&envelope, phrases, options);
    let system = converted.system.iter().map(|spans| ("system", spans));
    let users = converted.users.iter().map(|spans| ("user", spans));
    let messages: Vec<Value> = system
        .chain(users)
        .map(|(role, spans)| output::message(role, spans))
        .collect();
    let texts: Map<String, Value> = envelope
        .layers()
        .iter()
        .map(|layer| (layer.id.as_str().to_owned(), json!(layer.text())))
        .collect();
    json!({
        "messages": messages,
        "extract_user_content": user_content(&envelope),
        "layer_texts": texts,
    })
}
