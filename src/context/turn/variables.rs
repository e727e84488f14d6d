//! Special variables of agent instructions.
//!
//! `{{current_date}}`, `{{current_datetime}}` and `{{iso_datetime}}`, in any
//! case and with blanks inside the braces, stand for an instant. Any other text
//! in braces is left as it is.
//!
//! Source: turn context, sections 2.3 (row 13) and 2.4.

use crate::context::view::Moment;

#[derive(Clone, Copy)]
enum Variable {
    Date,
    Datetime,
    Iso,
}

/// The next variable of `text` from byte `from` on, with where it begins and
/// ends. Every other opening of braces is tried too, so `{{{{current_date}}` has one.
fn next(text: &str, mut from: usize) -> Option<(usize, usize, Variable)> {
    loop {
        let start = from + text.get(from..)?.find("{{")?;
        if let Some((length, variable)) = text.get(start + 2..).and_then(named) {
            return Some((start, start + 2 + length, variable));
        }
        from = start + 1;
    }
}

/// The variable whose name and closing braces begin `rest`, and their length.
fn named(rest: &str) -> Option<(usize, Variable)> {
    const LONGEST: usize = 64;
    let close = rest.bytes().take(LONGEST).position(|byte| byte == b'}')?;
    let after = rest.get(close..)?;
    if !after.starts_with("}}") {
        return None;
    }
    let name = rest.get(..close)?.trim().to_ascii_lowercase();
    let variable = match name.as_str() {
        "current_date" => Variable::Date,
        "current_datetime" => Variable::Datetime,
        "iso_datetime" => Variable::Iso,
        _ => return None,
    };
    Some((close + 2, variable))
}

/// Whether `text` names an instant.
pub(in crate::context) fn is_temporal(text: &str) -> bool {
    next(text, 0).is_some()
}

/// `text` with every variable replaced by `moment`, in the moment's own zone.
pub(in crate::context) fn resolve(text: &str, moment: &Moment) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut from = 0;
    while let Some((start, end, variable)) = next(text, from) {
        out.push_str(text.get(from..start).unwrap_or_default());
        out.push_str(&match variable {
            Variable::Date => moment.date(),
            Variable::Datetime => moment.datetime(),
            Variable::Iso => moment.iso(),
        });
        from = end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn variables_are_found_in_any_case_and_with_blanks() {
        let moment = Moment {
            at: "2026-10-16T21:00:47.313Z".parse().unwrap(),
            zone: TimeZone::get("Asia/Kolkata").unwrap(),
        };
        let cases = [
            ("{{current_date}}", "2026-10-17 (Saturday)"),
            ("at {{ Current_Date }}.", "at 2026-10-17 (Saturday)."),
            (
                "{{current_datetime}}",
                "2026-10-17 02:30:47 +05:30 (Saturday)",
            ),
            ("{{ISO_DATETIME}}", "2026-10-16T21:00:47.313Z"),
            ("{{{{iso_datetime}}", "{{2026-10-16T21:00:47.313Z"),
            ("{{a}} {{current_date}}", "{{a}} 2026-10-17 (Saturday)"),
        ];
        for (text, expected) in cases {
            assert!(is_temporal(text), "{text}");
            assert_eq!(resolve(text, &moment), expected, "{text}");
        }
        for text in [
            "",
            "{{",
            "{{current_user}}",
            "{current_date}",
            "{{current_date}",
            "{{ä}}",
        ] {
            assert!(!is_temporal(text), "{text}");
            assert_eq!(resolve(text, &moment), text);
        }
    }
}
