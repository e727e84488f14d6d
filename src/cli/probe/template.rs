//! What a chat template does to a prompt, where the server shows it.
//!
//! llama.cpp renders by `/apply-template`; vLLM's `/tokenize` and `/detokenize`
//! together do the same.

use super::Notes;
use crate::load::{Engine, Target};
use crate::transport::Client;
use serde_json::{Value, json};

const SYSTEM: &str = "Zebra instructions stand here.";
const USER: &str = "First question about quartz.";
const REPLY: &str = "An answer about quartz.";
const THOUGHT: &str = "Hidden musing about walnuts.";
const NEXT: &str = "Second question about basalt.";

/// Years and months that a template may insert.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// What the template does, in words; `None` where the server does not show it.
pub(super) async fn traps(target: &Target, client: &Client) -> Option<Notes> {
    let system = json!({"role": "system", "content": SYSTEM});
    let user = json!({"role": "user", "content": USER});
    let reply = json!({"role": "assistant", "content": REPLY, "reasoning_content": THOUGHT});
    let next = json!({"role": "user", "content": NEXT});
    let first = rendered(target, client, &[system.clone(), user.clone()]).await?;
    let second = rendered(target, client, &[system, user, reply, next]).await?;
    Some(judged(&first, &second))
}

async fn rendered(target: &Target, client: &Client, messages: &[Value]) -> Option<String> {
    let post = async |path: &str, body: Value| {
        let (url, headers) = (target.at_root(path), target.headers());
        let posted = client.post_json(&url, &headers, &body).await;
        // Once more where a pooled connection had been closed meanwhile.
        let reply = match posted {
            Ok(reply) => reply,
            Err(_stale) => client.post_json(&url, &headers, &body).await.ok()?,
        };
        reply.json()
    };
    match target.engine {
        Engine::LlamaCpp | Engine::Embedded => {
            let body = json!({"messages": messages});
            Some(
                post("/apply-template", body)
                    .await?
                    .get("prompt")?
                    .as_str()?
                    .to_owned(),
            )
        }
        Engine::Vllm => {
            let model = &*target.model;
            let body = json!({"model": model, "messages": messages});
            let tokens = post("/tokenize", body).await?.get("tokens")?.clone();
            let body = json!({"model": model, "tokens": tokens});
            Some(
                post("/detokenize", body)
                    .await?
                    .get("prompt")?
                    .as_str()?
                    .to_owned(),
            )
        }
        Engine::Other => None,
    }
}

/// What two renderings of one chat, a turn apart, say.
fn judged(first: &str, second: &str) -> Notes {
    let mut notes = Vec::new();
    let shared = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    match (second.find(SYSTEM), second.find(USER)) {
        (Some(system), Some(user)) if system > user => notes.push(
            "the system text moves to the last user message: almost nothing can be read from turn 2 on".to_owned(),
        ),
        (None, _) => notes.push("the system text is left out".to_owned()),
        _ => {}
    }
    let head = first.find(USER).map_or(0, |at| at + USER.len());
    if notes.is_empty() && shared < head {
        notes.push(format!("the prompt of turn 2 parts from that of turn 1 at byte {shared}, before the first question ends"));
    }
    if !second.contains(THOUGHT) {
        notes.push("reasoning of earlier turns is left out: with a reasoning model each turn breaks at the turn before".to_owned());
    }
    if let Some(date) = date(first) {
        notes.push(format!(
            "a date is inserted (`{date}`): the prefix breaks when it changes"
        ));
    }
    if notes.is_empty() {
        notes.push("nothing in it breaks a prefix".to_owned());
    }
    notes
}

/// The line in which a year or a month with a day stands.
fn date(text: &str) -> Option<String> {
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    text.lines().find_map(|line| {
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let year = words
            .iter()
            .any(|word| word.len() == 4 && word.starts_with("20") && digits(word));
        let month = words
            .iter()
            .any(|word| MONTHS.iter().any(|month| word.starts_with(month)));
        (year && (month || words.iter().any(|word| word.len() <= 2 && digits(word))))
            .then(|| line.trim().chars().take(60).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(first: &str, second: &str) -> String {
        judged(first, second).join("; ")
    }

    #[test]
    fn templates_are_judged_by_what_they_render() {
        let stable = said(
            &format!("<s>{SYSTEM}<u>{USER}<a>"),
            &format!("<s>{SYSTEM}<u>{USER}<a>{THOUGHT}{REPLY}<u>{NEXT}<a>"),
        );
        assert_eq!(stable, "nothing in it breaks a prefix");
        let moved = said(
            &format!("[INST]{SYSTEM}\n{USER}[/INST]"),
            &format!("[INST]{USER}[/INST]{THOUGHT}{REPLY}[INST]{SYSTEM}\n{NEXT}[/INST]"),
        );
        assert!(moved.starts_with("the system text moves"), "{moved}");
        let dated = said(
            &format!("Today Date: 26 Jul 2024\n{SYSTEM}{USER}"),
            &format!("Today Date: 26 Jul 2024\n{SYSTEM}{USER}{REPLY}{NEXT}"),
        );
        assert!(
            dated.contains("reasoning of earlier turns")
                && dated.contains("`Today Date: 26 Jul 2024`"),
            "{dated}"
        );
        let parted = said(
            &format!("1{SYSTEM}{USER}"),
            &format!("2{SYSTEM}{USER}{THOUGHT}{REPLY}{NEXT}"),
        );
        assert!(parted.contains("at byte 0"), "{parted}");
    }

    #[test]
    fn a_number_that_is_no_date_is_none() {
        for text in ["release 2024", "ask 3 of 9", "version 1 2 3 4", "May I?"] {
            assert_eq!(date(text), None, "{text}");
        }
        assert!(date("it is 2026-11-30 now").is_some());
    }
}
