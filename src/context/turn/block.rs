//! The one block that tells, in front of a user message, what changed.
//!
//! Invariants: the text is a function of the stored update alone (no clock, no
//! zone, no live state), but for memory, which can be withheld; nothing inside
//! can close the block or pass for an item of it: a line that begins as an item
//! does is indented, and so is every further line of a fact.
//!
//! Source: turn context, section 4.4.

use super::produce::Producer;
use super::state::{Change, FactChange, Part, To, Update, Value};
use crate::chat::{Span, Text};
use crate::context::configuration::MemoryForm;
use crate::context::registry::{self, key};
use crate::context::render::{escape, join};
use crate::context::view::ToolOutput;
use std::sync::Arc;

/// Labels of items that are no keys of sources.
const LABELS: &[&str] = &["sent", "retrieved", "tool", "files"];

/// Name of the block's element.
pub(super) const TAG: &str = key::UPDATE;

/// The block of `update`, closed, without anything behind it. Empty where there
/// is nothing to tell.
///
/// `withheld`: memory is off, so what the update says of its content is left out.
pub(super) fn block(update: &Update, producer: Producer<'_>, withheld: bool) -> Vec<Span> {
    let mut lines = join("\n", items(update, producer, withheld));
    let Some(first) = lines.first() else {
        return Vec::new();
    };
    let open = Span {
        text: Text::from(format!("<{TAG}>\n")),
        ..first.clone()
    };
    lines.insert(0, open);
    lines.push(registry::span(key::UPDATE, format!("\n</{TAG}>")));
    lines
}

fn items(update: &Update, producer: Producer<'_>, withheld: bool) -> Vec<Vec<Span>> {
    let line =
        |key: &str, label: &str, text: &str| vec![registry::span(key, format!("[{label}] {text}"))];
    let mut items = Vec::new();
    items.extend(update.date.iter().map(|date| line(key::DATE, "date", date)));
    items.extend(
        update
            .sent
            .iter()
            .map(|sent| line(key::SEND_TIME, "sent", sent)),
    );
    for change in &update.changes {
        if !(withheld && tells_memory(change)) {
            items.push(changed(change, producer));
        }
    }
    items.extend(update.retrieved.iter().map(|text| {
        let text = registry::span(key::RETRIEVED, text.clone());
        labelled(key::RETRIEVED, "[retrieved]", vec![text])
    }));
    items.extend(update.outputs.iter().map(|output| {
        let output = ToolOutput {
            tool: Arc::clone(&output.tool),
            output: output.text.clone(),
        };
        labelled(key::TOOL_OUTPUTS, "[tool]", producer.output(&output))
    }));
    if !update.files.is_empty() {
        items.push(labelled(
            key::QUEUED_FILES,
            "[files]",
            producer.queued(&update.files),
        ));
    }
    items
}

fn tells_memory(change: &Change) -> bool {
    &*change.key == key::MEMORY && change.to != To::Off
}

fn changed(change: &Change, producer: Producer<'_>) -> Vec<Span> {
    let key = &*change.key;
    let whole = |value: &Value| {
        producer.part(&Part {
            key: Arc::clone(&change.key),
            value: value.clone(),
        })
    };
    match &change.to {
        To::On(value) => labelled(key, &format!("[{key}] on"), whole(value)),
        To::Changed(text) => {
            let text = whole(&Value::Text(text.clone()));
            labelled(key, &format!("[{key}] changed"), text)
        }
        To::Facts(facts) => {
            let lines: Vec<String> = facts.iter().map(|it| fact(it, producer.form)).collect();
            let lines = vec![registry::span(key, lines.join("\n"))];
            labelled(key, &format!("[{key}]"), lines)
        }
        To::Off => vec![registry::span(key, format!("[{key}] off"))],
    }
}

/// A fact is named by its key where the prompt shows keys, else by its value.
fn fact(change: &FactChange, form: MemoryForm) -> String {
    match (change, form) {
        (FactChange::Added { key, value }, MemoryForm::Keyed) => format!("added {key}: {value}"),
        (FactChange::Added { value, .. }, MemoryForm::Values) => format!("added: {value}"),
        (FactChange::Changed { key, to, .. }, MemoryForm::Keyed) => format!("changed {key}: {to}"),
        (FactChange::Changed { from, to, .. }, MemoryForm::Values) => {
            format!("changed: {from} -> {to}")
        }
        (FactChange::Removed { key, .. }, MemoryForm::Keyed) => format!("removed {key}"),
        (FactChange::Removed { value, .. }, MemoryForm::Values) => format!("removed: {value}"),
    }
    .replace('\r', "")
    .replace('\n', "\n  ")
}

/// `text` under a line of its own, escaped; the line alone where there is no text.
fn labelled(key: &str, label: &str, mut text: Vec<Span>) -> Vec<Span> {
    for span in &mut text {
        span.text = indented(escape(&span.text, TAG));
    }
    join("\n", [vec![registry::span(key, label)], text])
}

/// `text` with two blanks in front of every line that begins as an item does. Shared
/// where there is none.
fn indented(text: Text) -> Text {
    if !text.split('\n').any(begins_item) {
        return text;
    }
    let indent = |line: &str| {
        let blanks = if begins_item(line) { "  " } else { "" };
        format!("{blanks}{line}")
    };
    let lines: Vec<String> = text.split('\n').map(indent).collect();
    Text::from(lines.join("\n"))
}

/// Whether a line begins with a label that items have.
fn begins_item(line: &str) -> bool {
    let label = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    label.is_some_and(|(label, _)| LABELS.contains(&label) || registry::knows(label))
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
