//! Some of many points, always the same ones.

use std::collections::BTreeMap;

/// A sample of at most [`super::KEPT_POINTS`] of all points offered.
///
/// Kept are those of the lowest rank, a hash of what they are called: so which they are depends
/// neither on the order nor on what else was offered before, and a part of a run keeps the same
/// ones that the whole does.
#[derive(Clone, Debug)]
pub struct Thinned<P> {
    kept: BTreeMap<(u64, P), ()>,
    offered: u64,
}

impl<P: Ord> Default for Thinned<P> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            offered: 0,
        }
    }
}

impl<P: Ord + Copy> Thinned<P> {
    /// Offers a point.
    pub fn offer(&mut self, rank: u64, point: P) {
        self.offered += 1;
        let full = self.kept.len() == super::KEPT_POINTS;
        let highest = self.kept.last_key_value().map(|((rank, _), ())| *rank);
        if full && highest.is_some_and(|highest| rank > highest) {
            return;
        }
        self.kept.insert((rank, point), ());
        if self.kept.len() > super::KEPT_POINTS {
            self.kept.pop_last();
        }
    }

    /// How many were offered.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// At most `most` of those kept; fewer are a part of more.
    pub fn points(&self, most: usize) -> Vec<P> {
        let kept = self.kept.keys().take(most);
        kept.map(|(_, point)| *point).collect()
    }
}

/// The rank of a request: a hash of its name, the same on every machine.
///
/// # Source
///
/// FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), with the finaliser of `SplitMix64` (S. Vigna, 2015)
/// since names that differ in their last letter must not lie beside each other.
pub(super) fn rank(conversation: &str, turn: u32, request: u32) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let numbers = [turn.to_le_bytes(), request.to_le_bytes()].concat();
    for byte in conversation.bytes().chain(numbers) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::points::KEPT_POINTS;

    fn thinned(numbers: impl Iterator<Item = u32>) -> Thinned<u32> {
        let mut thinned = Thinned::default();
        for number in numbers {
            thinned.offer(rank("story/dev/1", number, 1), number);
        }
        thinned
    }

    #[test]
    fn few_points_are_all_kept_and_of_many_the_same_whatever_their_order() {
        let mut few = thinned(0..7).points(100);
        few.sort_unstable();
        assert_eq!(few, [0, 1, 2, 3, 4, 5, 6]);
        let (there, back) = (thinned(0..5_000), thinned((0..5_000).rev()));
        assert_eq!(there.points(1_000), back.points(1_000));
        assert_eq!(
            (there.points(1_000).len(), there.offered()),
            (KEPT_POINTS, 5_000)
        );
        assert_eq!(there.points(3)[..], there.points(1_000)[..3]);
        assert_eq!(Thinned::<u32>::default().points(5), Vec::<u32>::new());
    }

    #[test]
    fn what_is_kept_lies_everywhere_among_what_was_offered() {
        let kept = thinned(0..10_000).points(KEPT_POINTS);
        let lower = kept.iter().filter(|number| **number < 5_000).count();
        assert!((150..250).contains(&lower), "{lower} of {KEPT_POINTS}");
    }
}
