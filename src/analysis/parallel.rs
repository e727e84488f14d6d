//! The same function over many values, on all cores.
//!
//! Invariants: results stand in the order of the values; how many cores there
//! are changes no result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Threads that are worth having.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

/// `work` of every value. Values are taken one by one, so that a long one does
/// not hold up the others.
pub(super) fn map<T: Sync, R: Send>(values: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = threads().min(values.len());
    if threads < 2 {
        return values.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(values.len()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, value)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    values.get(at).map(|value| (at, value))
                } {
                    let result = work(value);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_values() {
        let values: Vec<u64> = (0..1_000).collect();
        let squares = map(&values, |value| {
            // The first ones take longest.
            (*value..1_000).fold(value * value, |kept, _| kept)
        });
        assert!(
            squares
                .iter()
                .zip(&values)
                .all(|(square, value)| *square == value * value)
        );
        assert_eq!(map(&[] as &[u64], |value| *value), Vec::<u64>::new());
    }
}
