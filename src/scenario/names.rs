//! The nearest known name to one that is not known.

/// The candidate that `name` was most probably meant to be, if any is near.
///
/// Near is: at most a third of the name's letters (one at least) are changed,
/// added, dropped or swapped with their neighbour. Of equally near candidates
/// the first is taken. Letters are compared without regard to case.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long name is no typing slip, and the distance is quadratic.
    if name.is_empty() || name.len() > 100 {
        return None;
    }
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let limit = (wanted.len() / 3).max(1);
    let mut best = None;
    for candidate in candidates {
        if candidate.len() > 200 {
            continue;
        }
        let other: Vec<char> = candidate.to_lowercase().chars().collect();
        if wanted.len().abs_diff(other.len()) > limit {
            continue;
        }
        let far = distance(&wanted, &other);
        if far <= limit && best.is_none_or(|(_, least)| far < least) {
            best = Some((candidate, far));
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, substitutions and
/// swaps of neighbours, each of cost 1.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    for (row, &x) in a.iter().enumerate() {
        let mut here = vec![row + 1; width];
        for (col, &y) in b.iter().enumerate() {
            let substituted = above[col] + usize::from(x != y);
            let mut least = substituted.min(above[col + 1] + 1).min(here[col] + 1);
            let swapped = row > 0 && col > 0 && x == b[col - 1] && a[row - 1] == y;
            if swapped {
                least = least.min(before[col - 1] + 1);
            }
            here[col + 1] = least;
        }
        before = above;
        above = here;
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none_is() {
        let known = ["user", "set", "memory", "regenerate", "turn-context"];
        let cases = [
            ("usr", Some("user")),
            ("usre", Some("user")),
            ("USER", Some("user")),
            ("memmory", Some("memory")),
            ("regnerate", Some("regenerate")),
            ("turn_context", Some("turn-context")),
            ("pause", None),
            ("", None),
            ("x", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }

    #[test]
    fn a_distance_counts_edits_and_swaps() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("ab", "ba", 1),
        ];
        for (a, b, expected) in cases {
            let [a, b]: [Vec<char>; 2] = [a, b].map(|word| word.chars().collect());
            assert_eq!(distance(&a, &b), expected);
            assert_eq!(distance(&b, &a), expected);
        }
    }
}
