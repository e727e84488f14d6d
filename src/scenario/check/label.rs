//! What records and charts call a step.

use crate::chat::Text;
use std::sync::Arc;

/// Longest label in characters.
const LONGEST: usize = 60;

/// Parts of a label, joined by commas: `artifacts on, memory off`.
#[derive(Default)]
pub(super) struct Label(String);

impl Label {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn add(&mut self, part: &str) {
        if !self.0.is_empty() {
            self.0.push_str(", ");
        }
        self.0.push_str(part);
    }

    /// `memory added city, changed tone`.
    pub(super) fn add_names(
        &mut self,
        verb: &str,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) {
        for (index, name) in names.into_iter().enumerate() {
            let name = name.as_ref();
            if index == 0 {
                self.add(&format!("{verb} {name}"));
            } else {
                self.add(name);
            }
        }
    }

    /// `artifacts on`, `artifacts off`, `project changed`.
    pub(super) fn switched(&mut self, name: &str, before: Option<&Text>, after: Option<&Text>) {
        let how = match (before, after) {
            (_, None) => "off",
            (Some(before), Some(after)) if before != after => "changed",
            (_, Some(_)) => "on",
        };
        self.add(&format!("{name} {how}"));
    }

    /// The label on one line, cut where it is too long.
    pub(super) fn done(self) -> Arc<str> {
        let line: String = self
            .0
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if line.chars().count() <= LONGEST {
            return Arc::from(line);
        }
        let cut: String = line.chars().take(LONGEST - 1).collect();
        Arc::from(format!("{}…", cut.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_short_line() {
        let mut label = Label::default();
        label.add_names("note", (0..20).map(|_| "folder/\nnote.md"));
        let label = label.done();
        assert_eq!(label.chars().count(), LONGEST);
        assert!(label.ends_with('…') && !label.contains('\n'), "{label}");
    }

    #[test]
    fn a_switch_says_what_changed() {
        let (a, b) = (Text::from("a"), Text::from("b"));
        let cases = [
            (None, Some(&a), "x on"),
            (Some(&a), None, "x off"),
            (None, None, "x off"),
            (Some(&a), Some(&b), "x changed"),
            (Some(&a), Some(&a), "x on"),
        ];
        for (before, after, expected) in cases {
            let mut label = Label::default();
            label.switched("x", before, after);
            assert_eq!(&*label.done(), expected);
        }
    }
}
