//! Durations as people write them: `26h`, `1h 30m`, `2d`, `500ms`.

use std::time::Duration;

/// The longest duration that a scenario may name.
pub const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// Reads `26h`, `90m`, `30s`, `500ms`, `2d`, `1w` or several of them, larger
/// units first: `1h 30m`, `1d12h`. Whole numbers only.
///
/// # Errors
///
/// A lowercase fragment that says what is wrong: no unit, an unknown one, one
/// that does not follow a larger one, or a span above [`LONGEST`].
pub fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("is empty".to_owned());
    }
    let mut total = Duration::ZERO;
    let mut smallest = None;
    while !rest.is_empty() {
        let (part, size, behind) = one(rest)?;
        if smallest.is_some_and(|unit| size >= unit) {
            return Err("must name larger units first, each once".to_owned());
        }
        smallest = Some(size);
        total = total
            .checked_add(part)
            .filter(|total| *total <= LONGEST)
            .ok_or_else(too_long)?;
        rest = behind.trim_start();
    }
    Ok(total)
}

/// A duration as [`parse`] reads it, larger units first: `1h30m`; what is left below a
/// millisecond is dropped.
pub fn shown(span: Duration) -> String {
    const UNITS: [(u128, &str); 5] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ];
    let mut left = span.as_millis();
    let mut text = String::new();
    for (size, unit) in UNITS {
        let number = left / size;
        left %= size;
        if number > 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

fn too_long() -> String {
    "is longer than ten years".to_owned()
}

/// The first number with its unit, the unit's size, and what follows.
fn one(text: &str) -> Result<(Duration, Duration, &str), String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, behind) = text.split_at(digits);
    let behind = behind.trim_start();
    let letters = behind
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(behind.len());
    let (unit, behind) = behind.split_at(letters);
    if number.is_empty() {
        return Err("must begin with a whole number".to_owned());
    }
    let number: u32 = number.parse().map_err(|_| too_long())?;
    let size = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" | "min" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        "d" => Duration::from_hours(24),
        "w" => Duration::from_hours(7 * 24),
        "" => return Err("has no unit".to_owned()),
        _ => return Err(format!("has an unknown unit `{unit}`")),
    };
    let part = size.checked_mul(number).ok_or_else(too_long)?;
    Ok((part, size, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_as_they_are_read() {
        for text in ["0s", "500ms", "1m30s", "26h", "1d2h3m4s5ms"] {
            let span = parse(text).unwrap();
            assert_eq!(parse(&shown(span)), Ok(span), "{text}");
        }
        assert_eq!(shown(Duration::from_secs(90)), "1m30s");
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        let cases = [
            ("26h", Ok(26 * 3_600_000)),
            ("90m", Ok(90 * 60_000)),
            ("30s", Ok(30_000)),
            ("1h 30m", Ok(5_400_000)),
            ("1d12h", Ok(36 * 3_600_000)),
            (" 2 d ", Ok(48 * 3_600_000)),
            ("1w", Ok(7 * 24 * 3_600_000)),
            ("500ms", Ok(500)),
            ("0s", Ok(0)),
            ("", Err("is empty")),
            ("90", Err("has no unit")),
            ("h", Err("must begin with a whole number")),
            ("-1h", Err("must begin with a whole number")),
            ("1.5h", Err("has no unit")),
            ("2 fortnights", Err("has an unknown unit `fortnights`")),
            ("30m 1h", Err("must name larger units first, each once")),
            ("1h 1h", Err("must name larger units first, each once")),
            ("4000d", Err("is longer than ten years")),
            ("99999999999d", Err("is longer than ten years")),
        ];
        for (text, expected) in cases {
            let expected = expected.map(Duration::from_millis).map_err(str::to_owned);
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
