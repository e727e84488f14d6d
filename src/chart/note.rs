//! What stands at the foot of every picture: what the numbers rest on.

use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// Who answered the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The embedded server, or no server at all.
    Simulated,
    /// A real server, by its name.
    Server(String),
}

/// What the numbers of a picture rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Requests that the numbers are taken from.
    pub requests: u64,
    /// Of the requests that went well, those that the server gave no count for.
    pub without_count: u64,
    /// Conversations that the requests belong to.
    pub conversations: u64,
    /// The day of the run, `2026-10-16`; empty where nothing was run.
    pub date: String,
    /// Who answered.
    pub source: Source,
    /// Model that was asked for; may be empty.
    pub model: String,
    /// Cache model that bounds were computed with, as written on a command line; may be empty.
    pub cache_model: String,
}

impl Note {
    /// The note as it stands on the picture: facts that are known, with a dot between.
    pub fn text(&self) -> String {
        let counted = |n: u64, one: &str| {
            let plural = if n == 1 { "" } else { "s" };
            format!("{} {one}{plural}", grouped(n))
        };
        let mut facts = vec![match &self.source {
            Source::Simulated => "simulated".to_owned(),
            Source::Server(name) => format!("measured on {name}"),
        }];
        if !self.model.is_empty() {
            facts.push(format!("model {}", self.model));
        }
        if !self.cache_model.is_empty() {
            facts.push(format!("cache model {}", self.cache_model));
        }
        facts.push(format!("n = {}", counted(self.requests, "request")));
        facts.push(counted(self.conversations, "conversation"));
        if self.without_count > 0 {
            facts.push(format!(
                "{} more without a count",
                grouped(self.without_count)
            ));
        }
        if !self.date.is_empty() {
            facts.push(self.date.clone());
        }
        facts.join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_says_what_is_known_and_nothing_else() {
        let full = Note {
            requests: 1_200,
            without_count: 3,
            conversations: 1,
            date: "2026-10-16".to_owned(),
            source: Source::Server("vLLM 0.11".to_owned()),
            model: "SmolLM2".to_owned(),
            cache_model: "blocks:16".to_owned(),
        };
        assert_eq!(
            full.text(),
            "measured on vLLM 0.11 · model SmolLM2 · cache model blocks:16 · n = 1,200 requests \
             · 1 conversation · 3 more without a count · 2026-10-16"
        );
        let bare = Note {
            requests: 1,
            without_count: 0,
            conversations: 0,
            date: String::new(),
            source: Source::Simulated,
            model: String::new(),
            cache_model: String::new(),
        };
        assert_eq!(bare.text(), "simulated · n = 1 request · 0 conversations");
    }
}
