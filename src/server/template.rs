//! Chat templates that spoil prefixes, as real ones do.
//!
//! Source: templates of Mistral, Qwen and Llama models, as their tokenizers bring them.

use super::ask::Said;
use crate::chat::Role;

/// What the chat template does with a conversation before it is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Template {
    /// Every message in its place.
    #[default]
    Plain,
    /// The system text moves in front of the last user message (Mistral).
    SystemLast,
    /// Reasoning of turns before the last user message is left out (Qwen).
    DropsReasoning,
    /// The day stands in front of the system text (Llama).
    Dated,
}

/// Every template: its name, and what it does.
pub static TEMPLATES: &[(&str, Template, &str)] = &[
    ("plain", Template::Plain, "every message in its place"),
    (
        "system-last",
        Template::SystemLast,
        "the system text moves in front of the last user message",
    ),
    (
        "drops-reasoning",
        Template::DropsReasoning,
        "reasoning of earlier turns is left out",
    ),
    (
        "dated",
        Template::Dated,
        "the day stands in front of the system text",
    ),
];

/// The day on which a server's clock begins.
const FIRST_DAY: jiff::civil::Date = jiff::civil::date(2026, 10, 16);

impl Template {
    /// The conversation as it is rendered `now_ms` after the clock began.
    pub(super) fn arranged(self, mut said: Vec<Said>, now_ms: i64) -> Vec<Said> {
        match self {
            Self::Plain => {}
            Self::SystemLast => system_last(&mut said),
            Self::DropsReasoning => drop_reasoning(&mut said),
            Self::Dated => dated(&mut said, now_ms),
        }
        said
    }
}

fn last_user(said: &[Said]) -> Option<usize> {
    said.iter().rposition(|said| said.role == Role::User)
}

fn system_last(said: &mut Vec<Said>) {
    let Some(at) = said.iter().position(|said| said.role == Role::System) else {
        return;
    };
    let system = said.remove(at);
    match last_user(said) {
        Some(last) => said[last].put_before(&format!("{}\n\n", system.text)),
        None => said.push(system),
    }
}

fn drop_reasoning(said: &mut [Said]) {
    let last = last_user(said).unwrap_or(0);
    for one in &mut said[..last] {
        one.drop_reasoning();
    }
}

fn dated(said: &mut Vec<Said>, now_ms: i64) {
    const DAY_MS: i64 = 86_400_000;
    let days = jiff::Span::new().days(now_ms / DAY_MS);
    let day = FIRST_DAY.checked_add(days).unwrap_or(FIRST_DAY);
    let line = format!("Today Date: {}\n\n", day.strftime("%d %b %Y"));
    if let Some(system) = said.iter_mut().find(|said| said.role == Role::System) {
        system.put_before(&line);
    } else {
        let mut system = Said::new(Role::System);
        system.put_before(&line);
        said.insert(0, system);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ask::{Ask, Dialect};

    fn arranged(template: Template, now_ms: i64) -> Vec<String> {
        let body = r#"{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "One."},
            {"role": "assistant", "reasoning_content": "Hm.", "content": "Two."}, {"role": "user", "content": "Three."},
            {"role": "assistant", "reasoning_content": "Well.", "content": "Four."}]}"#;
        let ask = Ask::read(Dialect::Chat, body.as_bytes()).expect("a body");
        let said = template.arranged(ask.said, now_ms).into_iter();
        said.map(|said| format!("{}: {}", said.role.as_str(), said.text))
            .collect()
    }

    #[test]
    fn each_template_does_what_it_says() {
        let cases = [
            (
                Template::Plain,
                0,
                "system: Be brief.|user: One.|assistant: Hm.Two.|user: Three.|assistant: Well.Four.",
            ),
            (
                Template::SystemLast,
                0,
                "user: One.|assistant: Hm.Two.|user: Be brief.\n\nThree.|assistant: Well.Four.",
            ),
            (
                Template::DropsReasoning,
                0,
                "system: Be brief.|user: One.|assistant: Two.|user: Three.|assistant: Well.Four.",
            ),
            (
                Template::Dated,
                90_000_000,
                "system: Today Date: 17 Oct 2026\n\nBe brief.|user: One.|assistant: Hm.Two.|user: Three.|assistant: Well.Four.",
            ),
        ];
        for (template, now_ms, expected) in cases {
            assert_eq!(arranged(template, now_ms).join("|"), expected);
        }
    }
}
