//! The order of the probe's requests. Every loop is bounded.

use super::ask::{Chat, Prober, Seen, Tail};
use super::infer::{self, Pair};
use serde::Serialize;
use std::time::Duration;

/// A prompt that hits nothing is made longer, up to so many times the first.
const LONGEST: usize = 8;

/// Lengths, in percent of the first that hit, at which repeats are counted.
const LENGTHS: [usize; 7] = [127, 153, 181, 214, 143, 168, 197];

/// Prompts tried for the least one that hits.
const SHORTS: u64 = 8;

/// What was seen, by what it was asked for.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Observed {
    /// Prompts of several lengths: first and again.
    pub(super) lengths: Vec<Pair>,
    /// Milliseconds after the first answer at which its repeat was a hit.
    pub(super) delay_ms: Option<u64>,
    /// The same prompt as answers in one piece.
    pub(super) whole: Vec<Seen>,
    /// A prompt, with another turn behind it, and with another end twice.
    pub(super) base: Option<Seen>,
    pub(super) appended: Option<Seen>,
    pub(super) changed: Vec<Seen>,
    /// The appended one with reasoning in its history.
    pub(super) reasoned: Option<Seen>,
    /// Short prompts: first and again.
    pub(super) shorts: Vec<Pair>,
}

/// Words of the longest prompts that are asked for with a first one of `tokens`, one for
/// each request: no probe sends more, or longer ones.
pub(super) fn most(tokens: usize) -> Vec<usize> {
    let doubled = (0..).map(|times| tokens << times);
    let grown: Vec<usize> = doubled
        .take_while(|words| *words <= tokens * LONGEST)
        .collect();
    let words = grown.last().copied().unwrap_or(tokens);
    let lengths: Vec<usize> = (LENGTHS.into_iter().enumerate())
        .map(|(index, percent)| words * percent / 100 + index)
        .collect();
    let longest = lengths.iter().copied().max().unwrap_or(words);
    // In one piece, and again after a while.
    let mut all = vec![tokens; 4];
    for words in grown.into_iter().chain(lengths) {
        all.extend([words; 2]);
    }
    // With another turn, which may hold reasoning, and with other ends.
    all.extend([longest + 150; 5]);
    all.extend((0..SHORTS).flat_map(|_| [words; 2]));
    all
}

/// Sends a prompt and its repeat.
async fn pair(prober: &mut Prober<'_>, what: &str, chat: Chat) -> Pair {
    let first = prober.stream(what, chat).await;
    let again = prober.stream(&format!("{what}, again"), chat).await;
    Pair { first, again }
}

/// Asks everything, as far as the answers allow.
pub(super) async fn all(prober: &mut Prober<'_>, tokens: usize) -> Observed {
    let mut seen = Observed::default();
    let Some(words) = grown(prober, tokens, &mut seen).await else {
        return seen;
    };
    lengths(prober, words, &mut seen).await;
    let longest = seen
        .lengths
        .iter()
        .filter_map(|pair| pair.again.total)
        .max();
    ends(prober, words, longest, &mut seen).await;
    shorts(prober, words, &mut seen).await;
    seen
}

/// The first prompt whose repeat hits: its words. `None` where the server counts
/// nothing, fails, or never hits.
async fn grown(prober: &mut Prober<'_>, tokens: usize, seen: &mut Observed) -> Option<usize> {
    let mut words = tokens;
    loop {
        let chat = Chat::of(0, words);
        let what = format!("about {words} tokens");
        let mut found = pair(prober, &what, chat).await;
        if !prober.excludes && infer::excludes(&found) {
            prober.exclusive();
            found.first.include();
            found.again.include();
        }
        let (good, counted) = (
            found.first.ok() && found.again.ok(),
            found.again.read.is_some(),
        );
        let hit = found.is_hit();
        seen.lengths.push(found);
        if !good {
            return None;
        }
        if seen.whole.is_empty() {
            for time in ["first", "second"] {
                let what = format!("in one piece, {time} time");
                let answer = prober.whole(&what, chat).await;
                seen.whole.push(answer);
            }
        }
        if hit {
            seen.delay_ms = Some(0);
            return Some(words);
        }
        if words == tokens && counted {
            late(prober, chat, seen).await;
            if seen.delay_ms.is_some() {
                return Some(words);
            }
        }
        // A count that is left out may be a 0 below the least prompt that hits.
        let longest = if counted { LONGEST } else { LONGEST / 2 };
        words *= 2;
        if words > tokens * longest {
            return None;
        }
    }
}

/// Repeats after 1 s and 2 s more: some services need a while before they can read what they wrote.
async fn late(prober: &mut Prober<'_>, chat: Chat, seen: &mut Observed) {
    let mut waited = 0;
    for seconds in [1, 2] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        waited += seconds * 1_000;
        let again = prober
            .stream(&format!("again after {waited} ms"), chat)
            .await;
        let Some(last) = seen.lengths.last_mut() else {
            return;
        };
        last.again = again;
        if last.is_hit() {
            seen.delay_ms = Some(waited);
            return;
        }
    }
}

/// Repeats at other lengths, until the step is sure.
async fn lengths(prober: &mut Prober<'_>, words: usize, seen: &mut Observed) {
    for (index, percent) in LENGTHS.into_iter().enumerate() {
        if index >= 4 && infer::step(&seen.lengths).is_none_or(|step| step.sure) {
            return;
        }
        let longer = words * percent / 100 + index;
        let what = format!("about {longer} tokens");
        let found = pair(prober, &what, Chat::of(0, longer)).await;
        if !found.first.ok() || !found.again.ok() {
            return;
        }
        seen.lengths.push(found);
    }
}

/// What becomes of a prompt's prefix when another turn follows, and when its
/// last message changes in the middle.
async fn ends(prober: &mut Prober<'_>, words: usize, longest: Option<u64>, seen: &mut Observed) {
    let ratio = per_word(seen);
    let longest = longest.map_or(words, |tokens| words_of(tokens, ratio));
    let chat = Chat::of(1, longest.max(words));
    seen.base = Some(prober.stream("a longer chat", chat).await);
    seen.appended = Some(
        prober
            .stream("with another turn", chat.ending(Tail::Appended))
            .await,
    );
    for time in 1..=2 {
        let what = format!("with a changed last message, {time}");
        let changed = prober.stream(&what, chat.ending(Tail::Changed(time))).await;
        seen.changed.push(changed);
    }
    if prober.target.dialect.name() == "openai-chat" {
        seen.reasoned = Some(
            prober
                .stream("with reasoning in its history", chat.ending(Tail::Reasoned))
                .await,
        );
    }
}

/// Tokens per word, of the longest prompt counted; 1 where none was.
fn per_word(seen: &Observed) -> f64 {
    let counted = seen.lengths.iter().filter_map(|pair| {
        let words: f64 = pair.first.what.split(' ').nth(1)?.parse().ok()?;
        Some((words, pair.first.total? as f64 / words))
    });
    let longest = counted.max_by(|a, b| a.0.total_cmp(&b.0));
    longest.map_or(1.0, |(_, ratio)| ratio)
}

fn words_of(tokens: u64, ratio: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let words = (tokens as f64 / ratio).round().max(0.0) as usize;
    words
}

/// Halves the range between a prompt that does not hit and one that does.
async fn shorts(prober: &mut Prober<'_>, words: usize, seen: &mut Observed) {
    let ratio = per_word(seen);
    let step = infer::step(&seen.lengths);
    let (step, need) = step.map_or((1, 1), |step| {
        (step.tokens, step.tokens * (1 + u64::from(step.dropped)))
    });
    let (mut low, mut high) = infer::range(&seen.lengths);
    let mut aim = need + step / 2 + 8;
    for unit in 2..2 + SHORTS {
        if high <= low + (step / 8).max(16) {
            return;
        }
        if aim <= low || aim >= high {
            aim = low.midpoint(high);
        }
        // The template, the nonce and the shortest texts cost a few tokens.
        let asked = words_of(aim.saturating_sub(30).max(4), ratio).min(words);
        let what = format!("about {asked} tokens");
        let found = pair(prober, &what, Chat::of(unit, asked)).await;
        let (Some(total), true) = (found.again.total, found.again.ok()) else {
            return;
        };
        if total <= low || total >= high {
            seen.shorts.push(found);
            return;
        }
        if found.is_hit() {
            high = total;
        } else {
            low = total;
        }
        seen.shorts.push(found);
        aim = low.midpoint(high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_has_a_bound_on_its_requests_and_on_their_length() {
        let all = most(2_000);
        // 4 pairs that grow and 7 of other lengths, 2 in one piece and 2 after a while,
        // 5 ends, 8 pairs of short ones.
        assert_eq!(all.len(), 8 + 14 + 4 + 5 + 16);
        assert_eq!(all.iter().max(), Some(&(16_000 * 214 / 100 + 3 + 150)));
    }
}
