//! Drives a chat with a case's steps.

use super::{output, text};
use jiff::Timestamp;
use prefixbench::chat::Text;
use prefixbench::context::Phrases;
use prefixbench::context::layered::{
    Answer, Attach, Item, Output, Release, Reply, Request, ScriptedCall, Session, Settings,
};
use prefixbench::context::view::{ChainKind, Note};
use serde_json::{Value, json};
use std::sync::Arc;

/// Time of a file that states none.
const FILE_TIME_MS: i64 = 1_700_000_000_000;

/// Runs the case; of the expected output only `prefix` is left out, which is
/// derived from the messages.
pub(crate) fn run(input: &Value, release: Release, phrases: &Arc<Phrases>) -> Value {
    let mut session = session(input, release, phrases);
    let mut requests = Vec::new();
    let steps = input["turns"].as_array().expect("turns");
    for (index, step) in steps.iter().enumerate() {
        prepare(&mut session, step);
        let op = step["op"].as_str().unwrap_or("send");
        let cause = format!("step {}: {op}", index + 1);
        let asked = perform(&mut session, op, step);
        requests.extend(asked.iter().map(|r| output::request(r, &cause, phrases)));
    }
    json!({"requests": requests})
}

fn session(input: &Value, release: Release, phrases: &Arc<Phrases>) -> Session {
    let chain = match text(input, "chain") {
        "plus" => ChainKind::Plus,
        "agent" => ChainKind::Agent,
        _ => ChainKind::Llm,
    };
    let given = &input["settings"];
    let number = |key: &str, default: usize| {
        let value = given[key].as_u64().and_then(|n| usize::try_from(n).ok());
        value.unwrap_or(default)
    };
    let default = Settings::default();
    let flag = |key: &str, default| given[key].as_bool().unwrap_or(default);
    let settings = Settings {
        context_turns: number("context_turns", default.context_turns),
        threshold_tokens: number("auto_compact_threshold_tokens", default.threshold_tokens),
        templating: flag("templating", default.templating),
        inline_citations: flag("inline_citations", default.inline_citations),
    };
    let mut session = Session::new(release, chain, settings, phrases.clone());
    text(input, "system").clone_into(&mut session.system);
    text(input, "memory").clone_into(&mut session.memory);
    session.summaries = list(input, "summaries")
        .filter_map(|summary| summary.as_str().map(str::to_owned))
        .collect();
    session
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// What changes before a step: files, memory, instructions, the editor.
fn prepare(session: &mut Session, step: &Value) {
    for file in list(step, "vault") {
        if file["deleted"] == json!(true) {
            session.files.remove(text(file, "path"));
        } else {
            session.files.write(note(file));
        }
    }
    if let Some(memory) = step.get("memory") {
        memory
            .as_str()
            .unwrap_or("")
            .clone_into(&mut session.memory);
    }
    if let Some(system) = step.get("system") {
        system
            .as_str()
            .unwrap_or("")
            .clone_into(&mut session.system);
    }
    if let Some(path) = step["focused_note"].as_str() {
        session.editor = Some(Arc::from(path));
    } else if step.get("op").is_none_or(|op| op == "send") {
        session.editor = None;
    }
}

fn note(file: &Value) -> Note {
    let time = |key: &str| {
        let ms = file[key].as_i64().unwrap_or(FILE_TIME_MS);
        Timestamp::from_millisecond(ms).expect("a time")
    };
    Note {
        path: Arc::from(text(file, "path")),
        text: Some(Text::from(text(file, "content"))),
        created: time("ctime_ms"),
        modified: time("mtime_ms"),
        tags: list(file, "tags")
            .filter_map(Value::as_str)
            .map(Arc::from)
            .collect(),
    }
}

fn perform(session: &mut Session, op: &str, step: &Value) -> Vec<Request> {
    let number = step["user_turn"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok());
    let number = number.unwrap_or(0);
    let answer = answer(step);
    match op {
        "send" => {
            let attached = list(step, "items")
                .map(|item| attach(session, item))
                .collect();
            session.send(text(step, "user"), attached, &answer)
        }
        "edit" => session.edit(number, text(step, "user"), &answer),
        "regenerate" => session.regenerate(number, &answer),
        "delete" => {
            session.delete(number, text(step, "which") == "assistant");
            Vec::new()
        }
        "reload" => {
            session.reload(None);
            Vec::new()
        }
        "reload_after_move" => {
            session.reload(Some((text(step, "from"), text(step, "to"))));
            Vec::new()
        }
        other => panic!("unknown step `{other}`"),
    }
}

/// A string as it is, anything else as compact JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn answer(step: &Value) -> Answer {
    Answer {
        text: text(step, "assistant").to_owned(),
        outputs: list(step, "tool_outputs")
            .filter(|output| !output["output"].is_null())
            .map(|output| Output {
                tool: text(output, "tool").to_owned(),
                text: plain(&output["output"]),
            })
            .collect(),
        script: list(step, "agent_script").map(reply).collect(),
    }
}

fn reply(reply: &Value) -> Reply {
    let call = |call: &Value| ScriptedCall {
        id: Arc::from(text(call, "id")),
        name: Arc::from(text(call, "name")),
        args: Text::from(call["args"].to_string()),
        result: Text::from(plain(&call["result"])),
    };
    Reply {
        text: Text::from(text(reply, "content")),
        calls: list(reply, "tool_calls").map(call).collect(),
    }
}

fn attach(session: &mut Session, item: &Value) -> Attach {
    let shared = |key: &str| -> Arc<str> { Arc::from(text(item, key)) };
    let content = || Text::from(text(item, "content"));
    let title = || text(item, "title").to_owned();
    match text(item, "kind") {
        "note" => {
            if item["content"].is_string() {
                session.files.write(note(item));
            } else if let Some(file) = touched(session, item) {
                session.files.write(file);
            }
            Attach::Note {
                path: shared("path"),
                active: item["active"] == json!(true),
            }
        }
        "url" => Attach::Url {
            url: shared("url"),
            text: item["content"].as_str().map(Text::from),
        },
        "tag" => Attach::Tag(shared("tag")),
        "folder" => Attach::Folder(shared("path")),
        "selected_text" => Attach::Shown(Item::Selection {
            title: title(),
            path: shared("path"),
            lines: line(item, "start_line").zip(line(item, "end_line")),
            text: content(),
        }),
        "web_selected_text" => Attach::Shown(Item::WebSelection {
            title: title(),
            url: shared("url"),
            text: content(),
        }),
        "web_tab" => Attach::Shown(Item::Tab {
            title: title(),
            url: shared("url"),
            mode: item["mode"].as_str().map(str::to_owned),
            text: content(),
            active: item["active"] == json!(true),
        }),
        other => panic!("unknown item `{other}`"),
    }
}

/// A file that keeps its text and gets other times.
fn touched(session: &Session, item: &Value) -> Option<Note> {
    let file = session.files.get(text(item, "path"))?;
    let time = |key: &str, old| {
        let ms = item[key].as_i64();
        ms.map_or(old, |ms| Timestamp::from_millisecond(ms).expect("a time"))
    };
    Some(Note {
        created: time("ctime_ms", file.created),
        modified: time("mtime_ms", file.modified),
        ..file.clone()
    })
}

fn line(item: &Value, key: &str) -> Option<u32> {
    item[key].as_u64().and_then(|line| u32::try_from(line).ok())
}
