//! What the user's own builder is shown, as JSON.

use crate::chat::{Text, Tool};
use crate::context::view::{
    Attachment, Chain, Link, Memory, Moment, Note, Purpose, Round, Sample, UserTurn,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A request for a prompt.
pub(super) fn request(chain: &Chain<'_>) -> Value {
    let mut line = json!({
        "type": "request",
        "purpose": purpose(chain.purpose),
        "wire": chain.wire,
        "rounds": chain.rounds,
        "now": moment(&chain.live.at),
        "started": moment(&chain.live.started),
        "sources": changes(None, chain.live),
        "conversation": conversation(chain),
    });
    if let Purpose::Subagent(helper) = chain.purpose {
        let skills: Vec<Value> = helper.skills.iter().map(pair).collect();
        line["helper"] = json!({
            "task": helper.task,
            "skills": skills,
            "retrieved": helper.retrieved,
        });
    }
    line
}

fn purpose(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Send => "send",
        Purpose::Regenerate => "regenerate",
        Purpose::Resume => "resume",
        Purpose::Summarise => "summarise",
        Purpose::Subagent(_) => "subagent",
    }
}

/// Messages, root first. Each user message holds the sources that differ from
/// those of the user message before, so that the line grows with the
/// conversation and not with its square.
fn conversation(chain: &Chain<'_>) -> Vec<Value> {
    let mut before: Option<&Sample> = None;
    let shown = chain.links.iter().map(|link| match link {
        Link::User(turn) => {
            let rounds = super::super::replay::rounds_of(chain, turn);
            let shown = user(turn, before, rounds);
            before = Some(&turn.sample);
            shown
        }
        Link::Assistant(turn) => json!({
            "role": "assistant",
            "text": turn.text,
            "reasoning": turn.reasoning,
        }),
        Link::Compaction(turn) => json!({
            "role": "summary",
            "text": turn.summary,
            "keep_turns": turn.keep_turns,
            "mode": turn.mode,
        }),
    });
    shown.collect()
}

fn user(turn: &UserTurn, before: Option<&Sample>, rounds: &[Round]) -> Value {
    let outputs = turn.tool_outputs.iter();
    json!({
        "role": "user",
        "id": turn.id,
        "text": turn.text,
        "sent": moment(&turn.sent),
        "changes": changes(before, &turn.sample),
        "attachments": turn.attachments.iter().map(attachment).collect::<Vec<_>>(),
        "retrieved": turn.retrieved,
        "queued_files": turn.queued_files,
        "tool_outputs": outputs
            .map(|output| json!({"tool": output.tool, "output": output.output}))
            .collect::<Vec<_>>(),
        "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
    })
}

fn round(round: &Round) -> Value {
    let calls = round.calls.iter().map(|call| {
        json!({
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "result": call.result,
        })
    });
    json!({"text": round.text, "calls": calls.collect::<Vec<_>>()})
}

fn attachment(attachment: &Attachment) -> Value {
    match attachment {
        Attachment::Note { note: it, active } => json!({"note": note(it), "active": active}),
        Attachment::Url { url, text } => json!({"url": url, "text": text}),
        Attachment::Tab { url, text, active } => {
            json!({"tab": url, "text": text, "active": active})
        }
        Attachment::Selection {
            source,
            lines,
            text,
            ..
        } => json!({"selection": source, "lines": lines, "text": text}),
        Attachment::Tag { tag, notes } => {
            json!({"tag": tag, "notes": notes.iter().map(note).collect::<Vec<_>>()})
        }
        Attachment::Folder { path, notes } => {
            json!({"folder": path, "notes": notes.iter().map(note).collect::<Vec<_>>()})
        }
        Attachment::Image {
            name,
            media_type,
            data,
        } => json!({"image": name, "media_type": media_type, "data": data}),
    }
}

fn note(note: &Note) -> Value {
    json!({
        "path": note.path,
        "text": note.text,
        "created": note.created.to_string(),
        "modified": note.modified.to_string(),
        "tags": note.tags,
    })
}

/// An instant with all that a builder may want to write of it.
pub(super) fn moment(moment: &Moment) -> Value {
    json!({
        "iso": moment.iso(),
        "local": moment.datetime(),
        "zone": moment.zone.iana_name(),
    })
}

/// The sources of `now` that differ from those of `before`; all of them where
/// there is nothing before. A source that is off is null.
pub(super) fn changes(before: Option<&Sample>, now: &Sample) -> Value {
    let mut out = Map::new();
    let differs = |same: fn(&Sample, &Sample) -> bool| before.is_none_or(|old| !same(old, now));
    let mut put = |name: &str, differs: bool, value: &dyn Fn() -> Value| {
        if differs {
            out.insert(name.to_owned(), value());
        }
    };
    put("system", differs(|a, b| a.system == b.system), &|| {
        json!(now.system)
    });
    put("tools", differs(|a, b| a.tools == b.tools), &|| {
        now.tools.iter().map(tool).collect()
    });
    put("model", differs(|a, b| a.model == b.model), &|| {
        json!(now.model)
    });
    put("project", differs(|a, b| a.project == b.project), &|| {
        json!(now.project)
    });
    put(
        "artifacts",
        differs(|a, b| a.artifacts == b.artifacts),
        &|| json!(now.artifacts),
    );
    put(
        "memory_guard",
        differs(|a, b| a.memory_guard == b.memory_guard),
        &|| json!(now.memory_guard),
    );
    put("skills", differs(|a, b| a.skills == b.skills), &|| {
        now.skills.iter().map(pair).collect()
    });
    put(
        "web_search",
        differs(|a, b| a.web_search == b.web_search),
        &|| json!(now.web_search),
    );
    put("memory", differs(|a, b| a.memory == b.memory), &|| {
        memory(&now.memory)
    });
    put(
        "timestamps",
        differs(|a, b| a.timestamps == b.timestamps),
        &|| json!(now.timestamps),
    );
    put("other", differs(|a, b| a.other == b.other), &|| {
        now.other.iter().map(pair).collect()
    });
    Value::Object(out)
}

fn pair((name, text): &(Arc<str>, Text)) -> Value {
    json!({"name": name, "text": text})
}

fn memory(memory: &Memory) -> Value {
    if !memory.on {
        return Value::Null;
    }
    let entries = memory.entries.iter().map(|entry| {
        json!({
            "key": entry.key,
            "value": entry.value,
            "updated": moment(&entry.updated),
        })
    });
    entries.collect()
}

/// In the form of the Anthropic API, which a builder can hand back as it is.
fn tool(tool: &Tool) -> Value {
    let description: String = tool.description.iter().map(|span| &*span.text).collect();
    // What a scenario gives is checked to be JSON.
    let schema: Value = serde_json::from_str(&tool.parameters.text).unwrap_or_default();
    json!({"name": tool.name, "description": description, "input_schema": schema})
}
