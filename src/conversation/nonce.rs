//! The isolation nonce: a few digits at the very front of a prompt, so that a
//! cache cannot serve one unit of a run from another's entries.
//!
//! Invariants: a nonce has the same length in tokens whatever its value (eight
//! single digits with blanks between, then a fixed separator), it is a span of
//! its own, and no strategy ever sees it.

use crate::chat::{Block, Class, Content, Origin, Prompt, Role, Span};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;

/// How many different nonces there are.
const COUNT: u64 = 100_000_000;

/// Coprime to [`COUNT`], so that units of one run never share a nonce, and large,
/// so that neighbours differ from the first digits on.
const STRIDE: u64 = 61_803_399;

/// Stands between the nonce and the prompt.
const SEPARATOR: &str = "\n\n";

/// Eight digits in front of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nonce(u32);

impl Nonce {
    /// What `render` and `predict` use: as long as any other.
    pub const ZERO: Self = Self(0);

    /// A run's nonce, drawn from `seed`.
    pub fn draw(seed: u64) -> Self {
        Self::from_number(ChaCha8Rng::seed_from_u64(seed).random())
    }

    /// Reads what [`Display`](fmt::Display) writes, with or without the blanks;
    /// `None` for anything but eight digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != ' ').collect();
        let valid = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| digits.parse().ok().map(Self)).flatten()
    }

    /// The nonce of an isolation unit of the run whose nonce this is.
    ///
    /// Units are numbered from 0; no two of the first hundred million share one.
    #[must_use]
    pub fn of_unit(self, unit: u64) -> Self {
        Self::from_number(u64::from(self.0) + (unit % COUNT) * STRIDE)
    }

    /// Puts the nonce in front of `prompt`, at the first place that the provider
    /// renders: see [`NoncePlace`].
    pub fn put_into(self, prompt: &mut Prompt, place: NoncePlace) {
        let mut text = self.to_string();
        text.push_str(SEPARATOR);
        let span = Span::new(Origin::NONCE, Class::Static, text);
        match place {
            NoncePlace::Nowhere => {}
            NoncePlace::Tools => match prompt.tools.first_mut() {
                Some(tool) => tool.description.insert(0, span),
                None => into_text(prompt, span),
            },
            NoncePlace::System => into_text(prompt, span),
        }
    }

    fn from_number(number: u64) -> Self {
        Self((number % COUNT) as u32)
    }
}

/// In front of the system text, or of the first user message where there is none.
fn into_text(prompt: &mut Prompt, span: Span) {
    if !prompt.system.is_empty() {
        return into_blocks(&mut prompt.system, span);
    }
    let first = prompt
        .messages
        .iter_mut()
        .find(|message| matches!(message.role, Role::User | Role::System));
    if let Some(message) = first {
        into_blocks(&mut message.blocks, span);
    }
}

fn into_blocks(blocks: &mut Vec<Block>, span: Span) {
    match blocks.first_mut() {
        Some(Block {
            content: Content::Text(spans),
            ..
        }) => spans.insert(0, span),
        _ => blocks.insert(0, Block::text(vec![span])),
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every request has it in its body and in its record.
        let mut text = [b' '; 15];
        let mut rest = self.0;
        for place in (0..8).rev() {
            text[2 * place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Where the nonce goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoncePlace {
    /// Nowhere: the server keeps units apart by other means.
    Nowhere,
    /// In front of the first tool's description, since the target renders tools
    /// first; where there is no tool, as [`NoncePlace::System`].
    Tools,
    /// In front of the system text; where there is none, of the first user message.
    #[default]
    System,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Tool};
    use std::collections::HashSet;

    fn prompt(tool: bool, system: bool) -> Prompt {
        let text = |text: &str| vec![Span::new("t", Class::Static, text)];
        let tool = tool.then(|| Tool {
            name: "find".into(),
            description: text("Finds."),
            parameters: Span::new(Origin::TOOLS, Class::Static, "{}"),
            marker: None,
        });
        Prompt {
            tools: tool.into_iter().collect(),
            system: Vec::from_iter(system.then(|| Block::text(text("Be brief.")))),
            messages: vec![Message::text(Role::User, text("Hello."))],
            ..Prompt::default()
        }
    }

    fn first_of(blocks: &[Block]) -> &str {
        match &blocks[0].content {
            Content::Text(spans) => &spans[0].text,
            other => panic!("no text: {other:?}"),
        }
    }

    #[test]
    fn the_nonce_stands_where_the_provider_begins_to_render() {
        let expected = "1 2 3 4 5 6 7 8\n\n";
        let nonce = Nonce::parse("12345678").unwrap();
        for (place, tool, system) in [
            (NoncePlace::Tools, true, true),
            (NoncePlace::Tools, false, true),
            (NoncePlace::Tools, false, false),
            (NoncePlace::System, true, true),
            (NoncePlace::System, true, false),
        ] {
            let mut prompt = prompt(tool, system);
            nonce.put_into(&mut prompt, place);
            let found = match (place, tool, system) {
                (NoncePlace::Tools, true, _) => prompt.tools[0].description[0].text.as_str(),
                (_, _, true) => first_of(&prompt.system),
                _ => first_of(&prompt.messages[0].blocks),
            };
            assert_eq!(found, expected, "{place:?} {tool} {system}");
        }
    }

    #[test]
    fn without_a_place_the_prompt_stays_as_it_was() {
        let mut changed = prompt(true, true);
        Nonce::draw(1).put_into(&mut changed, NoncePlace::Nowhere);
        assert_eq!(changed, prompt(true, true));
    }

    #[test]
    fn a_nonce_is_read_back_as_written_and_nothing_else_is() {
        for seed in 0..50 {
            let nonce = Nonce::draw(seed);
            assert_eq!(nonce.to_string().len(), 15);
            assert_eq!(Nonce::parse(&nonce.to_string()), Some(nonce));
        }
        for wrong in ["", "1234567", "123456789", "1234567x", "+1234567"] {
            assert_eq!(Nonce::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn units_of_a_run_never_share_a_nonce() {
        let run = Nonce::draw(7);
        let units: HashSet<Nonce> = (0..20_000).map(|unit| run.of_unit(unit)).collect();
        assert_eq!(units.len(), 20_000);
        assert_eq!(run.of_unit(0), run);
    }
}
