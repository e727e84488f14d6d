//! Servers made up by a rule, and the rule found again.

use super::super::ask::{Chat, Seen, Tail};
use super::*;
use crate::chat::MarkerRule;
use crate::conversation::Nonce;
use crate::record::Outcome;
use crate::tokens::{TemplateMessage, embedded};

/// A server that counts every token of the bundled vocabulary `stretch` times, and
/// reads what `rule` makes of a prompt's tokens and of those it has in common with
/// earlier ones.
struct Made<R> {
    rule: R,
    stretch: usize,
    sent: Vec<Vec<u32>>,
    seen: Vec<Seen>,
}

impl<R: Fn(u64, u64) -> u64> Made<R> {
    fn new(rule: R, stretch: usize) -> Self {
        Self {
            rule,
            stretch,
            sent: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn send(&mut self, what: &str, chat: Chat) -> Seen {
        let messages = chat.messages(Nonce::ZERO, MarkerRule::None);
        let template: Vec<_> = messages
            .iter()
            .map(|(role, text, _)| TemplateMessage::text(role.as_str(), text))
            .collect();
        let ids = embedded().prompt(&template);
        let shared = |earlier: &Vec<u32>| {
            let pairs = earlier.iter().zip(&ids);
            pairs.take_while(|(a, b)| a == b).count()
        };
        let common = self.sent.iter().map(shared).max().unwrap_or(0) * self.stretch;
        let total = (ids.len() * self.stretch) as u64;
        self.sent.push(ids);
        let seen = Seen {
            what: what.to_owned(),
            stream: true,
            outcome: Outcome::Ok,
            error: None,
            said: Some(total),
            total: Some(total),
            read: Some((self.rule)(total, common as u64)),
            written: None,
            first_token_us: None,
            id: None,
            answer_cache: None,
            usage: None,
            chat: Some(chat),
        };
        self.seen.push(seen.clone());
        seen
    }

    fn pair(&mut self, chat: Chat) -> Pair {
        Pair {
            first: self.send("first", chat),
            again: self.send("again", chat),
        }
    }

    /// The requests of a probe, and what explains them.
    fn probed(mut self, words: usize, shorts: &[usize]) -> Fit {
        let mut pairs = Vec::new();
        for percent in [100, 127, 153, 181, 214] {
            pairs.push(self.pair(Chat::of(0, words * percent / 100)));
        }
        let chat = Chat::of(1, words * 2);
        self.send("a longer chat", chat);
        for tail in [Tail::Appended, Tail::Changed(1), Tail::Changed(2)] {
            self.send("another end", chat.ending(tail));
        }
        for (unit, words) in (2..).zip(shorts) {
            pairs.push(self.pair(Chat::of(unit, *words)));
        }
        let play = Play::of(&self.seen, Nonce::ZERO, MarkerRule::None);
        fit(&play, &pairs, None, false)
    }
}

fn found(fit: &Fit) -> String {
    match fit {
        Fit::Explained { model, .. } => model.to_string(),
        Fit::Nothing(nearest) => format!("nothing, {}", nearest.is_some()),
    }
}

#[test]
fn the_rule_is_found_in_whatever_tokens_the_server_counts() {
    for stretch in [1, 2] {
        let blocks = |total: u64, common: u64| common.min(total - 1) / 16 * 16;
        let dropped = |total: u64, common: u64| (common.min(total - 1) / 64).saturating_sub(1) * 64;
        // A suffix of three tokens is never found again.
        let wrapped = |total: u64, common: u64| {
            let read = common.min(total - 3) / 128 * 128;
            if read >= 1_024 { read } else { 0 }
        };
        let every = |total: u64, common: u64| common.min(total - 1);
        let least = |_: u64, common: u64| if common >= 2_048 { common } else { 0 };
        let shorts = [80, 300, 500, 640, 660, 700, 780, 900];
        let fits = [
            (Made::new(blocks, stretch).probed(2_000, &[10]), "blocks:16"),
            (
                Made::new(dropped, stretch).probed(2_000, &[20]),
                "blocks:64,drop=1",
            ),
            (
                Made::new(wrapped, stretch).probed(2_000, &shorts),
                "steps:128,min=1024",
            ),
            (Made::new(every, stretch).probed(2_000, &[10]), "radix:1"),
            (
                Made::new(least, stretch).probed(2_000, &[300, 600, 900, 1_300]),
                "steps:1,min=2048",
            ),
        ];
        for (fit, expected) in fits {
            assert_eq!(found(&fit), expected, "stretched {stretch} times: {fit:?}");
        }
    }
}

#[test]
fn a_hidden_text_in_front_of_entries_at_fixed_distances_is_found() {
    let rule = |_: u64, common: u64| {
        let read = ((common + 300) / 2_048 * 2_048).saturating_sub(300) / 128 * 128;
        if read >= 1_024 { read } else { 0 }
    };
    let fit = Made::new(rule, 1).probed(3_000, &[200, 1_000]);
    let Fit::Explained { model, .. } = &fit else {
        panic!("{fit:?}");
    };
    assert!(model.to_string().starts_with("intervals:2048"), "{model}");
}

#[test]
fn tokens_that_are_never_found_again_do_not_hide_a_minimum() {
    let repeats = Repeats {
        hits: vec![
            (2_000, 1_920),
            (2_541, 2_432),
            (3_067, 2_944),
            (1_088, 1_024),
        ],
        misses: vec![230, 672, 1_003, 1_026],
    };
    let found = repeats.steps(128).expect("three tokens explain it");
    assert_eq!(
        (found.model.to_string().as_str(), found.wrapper),
        ("steps:128,min=1024", 3)
    );
    let never = Repeats {
        misses: vec![1_500],
        ..repeats
    };
    assert_eq!(never.steps(128), None, "a longer one was no entry");
}

#[test]
fn what_no_model_explains_is_said_with_the_nearest() {
    // Only the very same prompt is found again.
    let same = |total: u64, common: u64| if common == total { total - 1 } else { 0 };
    let fit = Made::new(same, 1).probed(2_000, &[10]);
    let Fit::Nothing(Some((_, wrong))) = &fit else {
        panic!("{fit:?}");
    };
    assert!(
        wrong.count >= 1 && wrong.expected != wrong.read,
        "{wrong:?}"
    );
}
