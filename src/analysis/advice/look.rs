//! Many breaks looked into: what a move would have kept, or why that is not known.

use super::counterfactual::{bytes, common, is_nonce, moved_on};
use super::{Kept, Prompts};
use crate::analysis::parallel::map;
use crate::chat::Digest;
use crate::record::RequestRecord;
use std::collections::HashMap;

/// What came of comparing two prompts once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A move would have kept this.
    Kept(Kept),
    /// A source could be moved, but hardly anything behind it repeats.
    Little,
    /// Nothing that stands at the break can be moved.
    Fixed,
    /// Not known: a text of the two was not kept.
    Textless,
    /// Not known: the request that the newer one parts from is not at hand.
    Alone,
}

impl Finding {
    /// What would have been kept, where that is known and worth a change.
    pub fn kept(&self) -> Option<&Kept> {
        match self {
            Self::Kept(kept) => Some(kept),
            _ => None,
        }
    }
}

/// What `newer` would have kept of `earlier`, had the sources that parted them
/// stood behind all else. `None` for `earlier`: it is not at hand.
///
/// Where the prompts cannot be counted in tokens, it is counted in bytes.
pub fn look(
    earlier: Option<&RequestRecord>,
    newer: &RequestRecord,
    prompts: Prompts<'_>,
) -> Finding {
    let Some(earlier) = earlier else {
        return if bytes(newer, prompts.spans).is_some() {
            Finding::Alone
        } else {
            Finding::Textless
        };
    };
    let in_bytes = Prompts {
        encoder: None,
        ..prompts
    };
    let counted = [prompts, in_bytes];
    let found = counted.into_iter().find_map(|prompts| {
        let start = common(earlier, newer, prompts)?;
        moved_on(earlier, newer, prompts, start)
    });
    found.unwrap_or(Finding::Textless)
}

/// The same for many pairs of prompts, in their order, on all cores. Equal pairs,
/// as those of repeats, are compared once.
pub fn look_into(
    pairs: &[(Option<&RequestRecord>, &RequestRecord)],
    prompts: Prompts<'_>,
) -> Vec<Finding> {
    let mut places: HashMap<(Option<Digest>, Digest), usize> = HashMap::new();
    let mut distinct = Vec::new();
    let of_pair: Vec<usize> = pairs
        .iter()
        .map(|&(earlier, newer)| {
            let key = (earlier.map(written), written(newer));
            *places.entry(key).or_insert_with(|| {
                distinct.push((earlier, newer));
                distinct.len() - 1
            })
        })
        .collect();
    let found = map(&distinct, |&(earlier, newer)| look(earlier, newer, prompts));
    let of_each = of_pair.into_iter().filter_map(|at| found.get(at).cloned());
    of_each.collect()
}

/// A hash of all that a comparison reads of a prompt: equal for those that differ
/// in their nonces alone.
fn written(record: &RequestRecord) -> Digest {
    let mut key = Vec::new();
    for message in &record.prompt {
        key.extend_from_slice(message.role.as_str().as_bytes());
        let mut behind = 0;
        for span in message.spans.iter().filter(|span| !is_nonce(span)) {
            key.push(0);
            key.extend_from_slice(span.origin.as_str().as_bytes());
            key.push(u8::from(behind == span.start));
            key.extend_from_slice(format!("{:?}", span.part).as_bytes());
            behind = span.end;
            key.extend_from_slice(&span.sha256.0);
        }
        key.push(1);
    }
    Digest::of(&key)
}
