//! Which shard of a run does a conversation.
//!
//! Invariants: it follows from what the conversation is, and from nothing else: not
//! from the order of cells, their number or the machine; each conversation has exactly
//! one shard.

use super::cell::Cell;
use super::isolation::Isolate;
use crate::chat::Digest;
use crate::record::Shard;

/// What a cell is called, as far as that decides about shards.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The configuration's name.
    pub configuration: &'a str,
    /// The target's name.
    pub target: &'a str,
    /// The load level, as records call it.
    pub load: &'a str,
}

impl Named<'_> {
    /// Whether `shard` runs the conversation that is `repeat` of this cell.
    ///
    /// Where the conversations of a cell share their cache, all of them are in one shard.
    pub fn runs(&self, shard: Shard, isolate: Isolate, repeat: u32) -> bool {
        let repeat = match isolate {
            Isolate::Cell => 0,
            Isolate::Conversation | Isolate::Run | Isolate::None => repeat,
        };
        let identity = [self.scenario, self.configuration, self.target, self.load];
        of(shard.count, &identity, repeat) == shard.index
    }
}

/// Whether `shard` runs the conversation that is `repeat` of `cell`.
pub fn runs(shard: Shard, isolate: Isolate, cell: &Cell, repeat: u32) -> bool {
    let named = Named {
        scenario: &cell.scenario.name,
        configuration: &cell.configuration.name,
        target: &cell.target.name,
        load: &cell.load,
    };
    named.runs(shard, isolate, repeat)
}

/// The shard, from 1 to `count`, of what these names and this number identify.
fn of(count: u32, names: &[&str], number: u32) -> u32 {
    let mut identity = String::new();
    for name in names {
        // No name holds it, so that no two identities are written alike.
        identity.push_str(name);
        identity.push('\0');
    }
    identity.push_str(&number.to_string());
    let digest = Digest::of(identity.as_bytes());
    let hash = digest.0[..8]
        .iter()
        .fold(0_u64, |hash, byte| (hash << 8) | u64::from(*byte));
    let within = hash % u64::from(count.max(1));
    u32::try_from(within).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_stays_in_its_shard() {
        let names = ["chat", "dev", "embedded", "sessions=1"];
        let found: Vec<u32> = (1..=8).map(|repeat| of(4, &names, repeat)).collect();
        assert_eq!(
            found, EXPECTED,
            "it is the same on every machine and for ever"
        );
    }

    /// `sha256("chat\0dev\0embedded\0sessions=1\0N")`, its first eight bytes as a
    /// big-endian number, modulo 4, plus 1, for N from 1 to 8; by Python's hashlib.
    const EXPECTED: [u32; 8] = [1, 2, 1, 1, 4, 3, 1, 2];

    #[test]
    fn conversations_spread_over_all_shards() {
        let mut counts = [0_u32; 5];
        for repeat in 0..1_000 {
            counts[of(5, &["a", "b"], repeat) as usize - 1] += 1;
        }
        assert!(
            counts.iter().all(|count| (150..250).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn one_shard_has_everything() {
        assert_eq!(of(1, &["a"], 7), 1);
    }
}
