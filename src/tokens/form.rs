//! A conversation in the form of Chat Completions: what `/tokenize` and
//! `/apply-template` take, and what chat templates are written for.
//!
//! It is put together from what each stretch of text was, never by reading
//! rendered text. Ids of calls are not recorded: they are numbered from 0.

use super::TemplateMessage;
use crate::chat::Part;
use serde_json::{Value, json};

/// A conversation and the tools that were offered in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatForm {
    /// The messages, tools not among them.
    pub messages: Vec<Value>,
    /// Tool definitions.
    pub tools: Vec<Value>,
}

/// Puts a conversation into the form of Chat Completions.
pub fn chat_form(messages: &[TemplateMessage<'_>]) -> ChatForm {
    let mut form = ChatForm::default();
    let mut calls = Calls::default();
    for message in messages {
        if message.role == "tools" {
            form.tools.extend(tools(message));
        } else {
            form.messages.push(calls.message(message));
        }
    }
    form
}

/// Numbers calls, and results in the order of the calls.
#[derive(Default)]
struct Calls {
    made: usize,
    answered: usize,
}

fn id(number: usize) -> String {
    format!("call_{number}")
}

impl Calls {
    fn message(&mut self, message: &TemplateMessage<'_>) -> Value {
        let of = |wanted: Part| -> Vec<&str> {
            let parts = message.parts().filter(|(part, _)| *part == wanted);
            parts.map(|(_, text)| text).collect()
        };
        let mut value = json!({"role": message.role, "content": content(message)});
        let reasoning = of(Part::Reasoning).concat();
        if !reasoning.is_empty() {
            value["reasoning"] = json!(reasoning);
            value["reasoning_content"] = json!(reasoning);
        }
        let names = of(Part::CallName).into_iter();
        let calls: Vec<Value> = names
            .zip(of(Part::CallArguments))
            .map(|(name, arguments)| {
                self.made += 1;
                let function = json!({"name": name, "arguments": arguments});
                json!({"id": id(self.made - 1), "type": "function", "function": function})
            })
            .collect();
        if !calls.is_empty() {
            value["tool_calls"] = Value::Array(calls);
        }
        if message.role == "tool" {
            value["tool_call_id"] = json!(id(self.answered));
            self.answered += 1;
        }
        value
    }
}

/// A text as a string, several as a list; those of a tool's result in lines, as
/// servers put them.
fn content(message: &TemplateMessage<'_>) -> Value {
    let texts: Vec<&str> = message
        .parts()
        .filter(|(part, _)| *part == Part::Text)
        .map(|(_, text)| text)
        .collect();
    match texts.as_slice() {
        [] => json!(""),
        [text] => json!(text),
        texts if message.role == "tool" => json!(texts.join("\n")),
        texts => texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect(),
    }
}

/// A definition begins with its name and ends with its schema.
fn tools(message: &TemplateMessage<'_>) -> Vec<Value> {
    let mut tools: Vec<Value> = Vec::new();
    for (part, text) in message.parts() {
        if part == Part::ToolName {
            let function = json!({"name": text, "description": ""});
            tools.push(json!({"type": "function", "function": function}));
            continue;
        }
        let Some(function) = tools.last_mut().map(|tool| &mut tool["function"]) else {
            continue;
        };
        if part == Part::ToolSchema {
            // A schema that is no JSON went out as a string.
            function["parameters"] = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        } else {
            function["description"] = json!(text);
        }
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Piece;

    fn pieces(parts: &[(Part, &str)]) -> (String, Vec<Piece>) {
        let (mut text, mut pieces) = (String::new(), Vec::new());
        for &(part, stretch) in parts {
            text.push_str(stretch);
            let end = text.len();
            pieces.push(Piece { part, end });
        }
        (text, pieces)
    }

    #[test]
    fn calls_tools_and_blocks_come_back_as_they_were_sent() {
        let (tools, tool_pieces) = pieces(&[
            (Part::ToolName, "find"),
            (Part::Text, "1 2\n\nFinds."),
            (Part::ToolSchema, r#"{"type":"object","properties":{}}"#),
            (Part::ToolName, "open"),
            (Part::Text, "Opens."),
            (Part::ToolSchema, "{oops"),
        ]);
        let (call, call_pieces) = pieces(&[
            (Part::Reasoning, "I look."),
            (Part::Text, "Let me see."),
            (Part::CallName, "find"),
            (Part::CallArguments, r#"{"q":"x"}"#),
            (Part::CallName, "open"),
            (Part::CallArguments, "{}"),
        ]);
        let (blocks, block_pieces) = pieces(&[(Part::Text, "One."), (Part::Text, "Two.")]);
        let message = |role, text, pieces| TemplateMessage { role, text, pieces };
        let form = chat_form(&[
            message("tools", &tools, &tool_pieces),
            message("user", &blocks, &block_pieces),
            message("assistant", &call, &call_pieces),
            message("tool", &blocks, &block_pieces),
            TemplateMessage::text("tool", "Opened."),
        ]);
        let function = |name, arguments| json!({"name": name, "arguments": arguments});
        let expected = json!([
            {"role": "user", "content": [
                {"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]},
            {"role": "assistant", "content": "Let me see.",
                "reasoning": "I look.", "reasoning_content": "I look.",
                "tool_calls": [
                    {"id": "call_0", "type": "function", "function": function("find", r#"{"q":"x"}"#)},
                    {"id": "call_1", "type": "function", "function": function("open", "{}")}]},
            {"role": "tool", "content": "One.\nTwo.", "tool_call_id": "call_0"},
            {"role": "tool", "content": "Opened.", "tool_call_id": "call_1"},
        ]);
        assert_eq!(Value::Array(form.messages), expected);
        assert_eq!(form.tools[0]["function"]["description"], "1 2\n\nFinds.");
        assert_eq!(
            form.tools[0]["function"]["parameters"]["type"], "object",
            "a schema is JSON again"
        );
        assert_eq!(form.tools[1]["function"]["parameters"], "{oops");
    }

    #[test]
    fn a_message_without_text_has_an_empty_one() {
        let (text, pieces) = pieces(&[(Part::CallName, "f"), (Part::CallArguments, "{}")]);
        let message = TemplateMessage {
            role: "assistant",
            text: &text,
            pieces: &pieces,
        };
        assert_eq!(chat_form(&[message]).messages[0]["content"], "");
    }
}
