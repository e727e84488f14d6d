//! Sources that are made of entries: memory and skills.

use crate::chat::Text;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Values by key.
pub(super) type Facts = BTreeMap<Arc<str>, Text>;

/// Lines that lead from `known` to `now`, which is known from then on; `None`
/// where they are the same.
///
/// `+ key: value` adds or changes, `- key` removes. A value's further lines are
/// indented, so that none can pass for an entry.
pub(super) fn tell<'a>(
    known: &mut Facts,
    now: impl Iterator<Item = (&'a Arc<str>, &'a Text)>,
) -> Option<Text> {
    let now: BTreeMap<&Arc<str>, &Text> = now.collect();
    let mut lines = String::new();
    for (key, value) in &now {
        if known.get(*key) != Some(*value) {
            let value = value.replace('\n', "\n  ");
            let _infallible = writeln!(lines, "+ {}: {value}", one_line(key));
        }
    }
    for key in known.keys().filter(|key| !now.contains_key(*key)) {
        let _infallible = writeln!(lines, "- {}", one_line(key));
    }
    if lines.is_empty() {
        return None;
    }
    let now = now.into_iter();
    *known = now
        .map(|(key, text)| (Arc::clone(key), text.clone()))
        .collect();
    Some(Text::from(lines))
}

fn one_line(key: &str) -> String {
    key.replace(['\n', '\r'], " ")
}
