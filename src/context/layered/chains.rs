//! What the chains make of an envelope's messages.
//!
//! Message order is the same everywhere: system, history, user. The user
//! message is built as spans, so that an unchanged piece stays shared.

use super::convert::{self, Converted};
use super::envelope::{Envelope, LayerId};
use super::units::{trim, trim_end, trim_start};
use crate::chat::{Class, Origin, Span};
use crate::context::Phrases;

/// Converts `envelope` as every chain begins.
pub(super) fn base(envelope: &Envelope, phrases: &Phrases) -> (Option<Vec<Span>>, Vec<Span>) {
    let Converted { system, users } =
        convert::convert(envelope, phrases, convert::Options::default());
    (system, users.into_iter().next().unwrap_or_default())
}

/// A tool's output: its name and what it gave, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The tool.
    pub tool: String,
    /// Its output; anything but a string is compact JSON.
    pub text: String,
}

/// The user message of the chain whose tools run before the one model call.
///
/// `question` is what the label is followed by where the message lacks it. A
/// reminder to cite goes before the last label, even one that a person typed.
/// Where there is neither question nor context, there is no message.
pub(super) fn with_tools(
    user: Vec<Span>,
    question: &str,
    outputs: &[Output],
    cite: bool,
    phrases: &Phrases,
) -> Vec<Span> {
    if user.is_empty() {
        return user;
    }
    let labelled = labelled(user, question, phrases);
    let Some(context) = tool_context(outputs, phrases) else {
        return labelled;
    };
    let mut spans = vec![context, Span::new("L3", Class::Static, "\n\n")];
    spans.extend(labelled);
    if cite {
        spans = reminded(spans, phrases);
    }
    spans
}

/// The outputs, each in a tag of its tool; `None` for no outputs.
pub(super) fn tool_context(outputs: &[Output], phrases: &Phrases) -> Option<Span> {
    if outputs.is_empty() {
        return None;
    }
    let blocks: Vec<String> = outputs
        .iter()
        .map(|Output { tool, text }| format!("<{tool}>\n{text}\n</{tool}>"))
        .collect();
    let text = format!(
        "{}\n\n{}",
        phrases.get("tool_context_heading"),
        blocks.join("\n\n")
    );
    Some(Span::new("L3/tools", Class::Turn, trim(&text)))
}

/// Appends the label and the question where the message has no label. A
/// question without context then stands there twice.
fn labelled(mut user: Vec<Span>, question: &str, phrases: &Phrases) -> Vec<Span> {
    let label = phrases.get("query_label");
    if convert::concat(&user).contains(label) {
        return user;
    }
    if let Some(last) = user.last_mut() {
        let trimmed = trim_end(&last.text);
        if trimmed.len() < last.text.len() {
            last.text = trimmed.into();
        }
    }
    let mut label = label.to_owned();
    if user.iter().any(|span| !span.text.is_empty()) {
        label.insert_str(0, "\n\n");
    }
    let question = trim(question);
    if question.is_empty() {
        user.push(Span::new("L5", Class::Static, label));
    } else {
        user.push(Span::new("L5", Class::Static, format!("{label}\n")));
        user.push(Span::new(Origin::USER, Class::Turn, question));
    }
    user
}

/// Puts the reminder to cite before the last label.
fn reminded(spans: Vec<Span>, phrases: &Phrases) -> Vec<Span> {
    let reminder = trim(phrases.get("citation_reminder"));
    let whole = convert::concat(&spans);
    let found = whole.rfind(phrases.get("query_label"));
    let (before, after) = whole.split_at(found.unwrap_or(whole.len()));
    let before = trim_end(before);
    let mut out = front(spans.clone(), before.len());
    let gap = if before.is_empty() { "" } else { "\n\n" };
    out.push(Span::new(
        "L3/citations",
        Class::Static,
        format!("{gap}{reminder}"),
    ));
    if found.is_some() {
        out.push(Span::new("L5", Class::Static, "\n\n"));
        out.extend(back(spans, whole.len() - trim_start(after).len()));
    }
    out
}

/// The first `bytes` of the spans' text.
fn front(spans: Vec<Span>, mut bytes: usize) -> Vec<Span> {
    let mut out = Vec::new();
    for mut span in spans {
        if bytes == 0 {
            break;
        }
        let len = span.text.len();
        if len > bytes {
            span.text = span.text[..bytes].into();
        }
        bytes = bytes.saturating_sub(len);
        out.push(span);
    }
    out
}

/// The spans' text without its first `bytes`.
fn back(spans: Vec<Span>, mut bytes: usize) -> Vec<Span> {
    let mut out = Vec::new();
    for mut span in spans {
        let len = span.text.len();
        if len <= bytes {
            bytes -= len;
            continue;
        }
        if bytes > 0 {
            span.text = span.text[bytes..].into();
            bytes = 0;
        }
        out.push(span);
    }
    out
}

/// The system message of the tool loop: guidance behind everything else.
pub(super) fn agent_system(
    system: Option<Vec<Span>>,
    notes: &[Span],
    phrases: &Phrases,
) -> Vec<Span> {
    let mut spans = system.unwrap_or_default();
    let guidance = Span::new(
        "L1/agent_guidance",
        Class::Static,
        phrases.get("agent_guidance"),
    );
    for part in notes.iter().chain([&guidance]) {
        if part.text.is_empty() {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::new(part.origin.clone(), Class::Static, "\n\n"));
        }
        spans.push(part.clone());
    }
    spans
}

/// A tool's result as the loop sends it: a search gets the question appended
/// unless it holds it already.
pub(super) fn tool_result(tool: &str, result: &str, question: &str, phrases: &Phrases) -> String {
    let question = trim(question);
    if tool != "localSearch" || question.is_empty() || result.contains(question) {
        return result.to_owned();
    }
    let asked = format!("{}\n{question}", phrases.get("query_label"));
    let result = trim(result);
    if result.is_empty() {
        asked
    } else {
        format!("{result}\n\n{asked}")
    }
}

/// The question of an envelope: the text of L5.
pub(super) fn question(envelope: &Envelope) -> crate::chat::Text {
    envelope.layer(LayerId::User).text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Phrases {
        Phrases::with(
            r##"{"query_label": "[Q]:", "tool_context_heading": "# Found:", "citation_reminder": "CITE", "agent_guidance": "GUIDE"}"##,
        )
        .unwrap()
    }

    fn spans(texts: &[&str]) -> Vec<Span> {
        texts
            .iter()
            .map(|text| Span::new("x", Class::Turn, *text))
            .collect()
    }

    fn output(tool: &str, text: &str) -> Output {
        Output {
            tool: tool.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_label_is_appended_once_and_outputs_go_in_front() {
        let cases: &[(&[&str], &[Output], bool, &str)] = &[
            (&["why "], &[], false, "why\n\n[Q]:\nwhy"),
            (
                &["ctx\n\n[Q]:\n\n", "why"],
                &[],
                false,
                "ctx\n\n[Q]:\n\nwhy",
            ),
            (
                &["why"],
                &[output("t", "1"), output("u", "2")],
                false,
                "# Found:\n\n<t>\n1\n</t>\n\n<u>\n2\n</u>\n\nwhy\n\n[Q]:\nwhy",
            ),
            (
                &["a [Q]:", " b"],
                &[output("t", "1")],
                true,
                "# Found:\n\n<t>\n1\n</t>\n\na\n\nCITE\n\n[Q]: b",
            ),
            (&["why"], &[], true, "why\n\n[Q]:\nwhy"),
            (&[], &[output("t", "1")], true, ""),
        ];
        for (user, outputs, cite, expected) in cases {
            let out = with_tools(spans(user), "why ", outputs, *cite, &book());
            assert_eq!(convert::concat(&out), *expected);
        }
    }

    #[test]
    fn guidance_stands_behind_the_library() {
        let out = agent_system(Some(spans(&["L1 and L2"])), &[], &book());
        assert_eq!(convert::concat(&out), "L1 and L2\n\nGUIDE");
        assert_eq!(convert::concat(&agent_system(None, &[], &book())), "GUIDE");
    }

    #[test]
    fn search_results_get_the_question_unless_they_hold_it() {
        let cases = [
            ("localSearch", "found ", "found\n\n[Q]:\nwhy"),
            ("localSearch", "why not", "why not"),
            ("readNote", "found ", "found "),
            ("localSearch", "", "[Q]:\nwhy"),
        ];
        for (tool, result, expected) in cases {
            assert_eq!(tool_result(tool, result, " why", &book()), expected);
        }
    }
}
