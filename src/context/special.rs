//! Special variables in agent instructions: `{{current_date}}`,
//! `{{current_datetime}}` and `{{iso_datetime}}`, in any case and with blanks
//! inside the braces.

use super::view::Moment;
use crate::chat::Text;

/// `text` with its variables as of `at`; the same text, shared, where it has none.
pub(super) fn resolve(text: &Text, at: &Moment) -> Text {
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, value, after)) = next(rest, at) {
        out.push_str(before);
        out.push_str(&value);
        rest = after;
    }
    if rest.len() == text.len() {
        return text.clone();
    }
    out.push_str(rest);
    Text::from(out)
}

/// Whether `text` has a variable.
pub(super) fn has_variable(text: &str) -> bool {
    variables(text).next().is_some()
}

fn next<'t>(text: &'t str, at: &Moment) -> Option<(&'t str, String, &'t str)> {
    let (start, end, name) = variables(text).next()?;
    let value = match name {
        Variable::Date => at.date(),
        Variable::DateTime => at.datetime(),
        Variable::Iso => at.iso(),
    };
    Some((text.get(..start)?, value, text.get(end..)?))
}

enum Variable {
    Date,
    DateTime,
    Iso,
}

/// Start, end and kind of every variable.
fn variables(text: &str) -> impl Iterator<Item = (usize, usize, Variable)> {
    // Most texts have no brace at all, which is seen sooner than that they have no two.
    let any = text.contains('{').then(|| text.match_indices("{{"));
    any.into_iter().flatten().filter_map(|(start, _)| {
        let inner = text.get(start + 2..)?;
        let length = inner.find("}}")?;
        let variable = match inner.get(..length)?.trim().to_ascii_lowercase().as_str() {
            "current_date" => Variable::Date,
            "current_datetime" => Variable::DateTime,
            "iso_datetime" => Variable::Iso,
            _ => return None,
        };
        Some((start, start + 2 + length + 2, variable))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn variables_are_replaced_and_everything_else_stays() {
        let at = Moment {
            at: "2026-10-16T07:00:47.313Z".parse().unwrap(),
            zone: TimeZone::get("Europe/Berlin").unwrap(),
        };
        for (text, expected) in [
            ("no variable {{ here", "no variable {{ here"),
            ("{{current_date}}!", "2026-10-16 (Friday)!"),
            (
                "a {{ CURRENT_datetime }} b",
                "a 2026-10-16 09:00:47 +02:00 (Friday) b",
            ),
            ("{{iso_datetime}}", "2026-10-16T07:00:47.313Z"),
            ("{{user}} {{current_date}}", "{{user}} 2026-10-16 (Friday)"),
            ("", ""),
        ] {
            assert_eq!(resolve(&Text::from(text), &at).as_str(), expected);
            assert_eq!(has_variable(text), text != expected, "{text}");
        }
    }
}
