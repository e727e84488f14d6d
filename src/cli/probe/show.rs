//! The probe's findings for a person, and as an entry of a targets file.

use super::infer::{Convention, Counts, Findings, Read};
use super::{Notes, Probed};
use crate::load::{Engine, Target};
use std::fmt::Write as _;

/// What was found, line by line.
pub(super) fn report(target: &Target, probed: &Probed, url: &str) -> String {
    let found = &probed.findings;
    let mut out = format!(
        "{} ({}, model {}) at {url}\n\n",
        target.name,
        target.dialect.name(),
        target.model
    );
    let mut line = |what: &str, said: String| {
        let _written = writeln!(out, "{what:<18}{said}");
    };
    line("counts", counts(found.counts));
    if let Some(whole) = found.counts_whole {
        line("  in one piece", counts(whole));
    }
    if let Some(convention) = found.convention {
        line("prompt count", convention_words(convention).to_owned());
    }
    line(
        "newly cached",
        if found.writes {
            "counted"
        } else {
            "not counted"
        }
        .to_owned(),
    );
    for (what, read) in [
        ("exact repeat", found.repeat),
        ("another turn", found.appended),
        ("changed end", found.changed),
        ("  a second time", found.changed_again),
    ] {
        if let Some(read) = read {
            line(what, share(read));
        }
    }
    match found.step {
        Some(step) => {
            let dropped = if step.dropped {
                ", and the last block of a hit is lost"
            } else {
                ""
            };
            let sure = if step.sure { "" } else { " (or a part of it)" };
            line("step", format!("{} tokens{sure}{dropped}", step.tokens));
        }
        None if found.minimum.is_some() => line("step", "none found".to_owned()),
        None => {}
    }
    if let Some(minimum) = found.minimum {
        let usual = minimum
            .tokens
            .map_or(String::new(), |tokens| format!(": {tokens}, as it seems"));
        let said = if minimum.missed == 0 {
            format!("none seen: {} tokens hit", minimum.hit)
        } else {
            format!(
                "{} tokens did not hit, {} did{usual}",
                minimum.missed, minimum.hit
            )
        };
        line("least prompt", said);
    }
    if let Some(delay) = found.delay_ms {
        let said = if delay == 0 {
            "at once".to_owned()
        } else {
            format!("after {delay} ms, not before")
        };
        line("readable", said);
    }
    if let Some((cold, warm)) = found.first_token_us {
        line(
            "first token",
            format!("{} ms, repeated {} ms", millis(cold), millis(warm)),
        );
    }
    for (what, notes) in [("template", &probed.template), ("direct", &probed.direct)] {
        for note in notes.iter().flatten() {
            line(what, note.clone());
        }
    }
    if let Some(model) = &found.cache_model {
        let counts = found.explained.unwrap_or(0);
        let wrapper = found.wrapper.map_or(String::new(), |tokens| {
            format!(", where the last tokens of a prompt ({tokens}) are never found again")
        });
        line(
            "cache model",
            format!("{model}: explains all {counts} counts{wrapper}"),
        );
    }
    if let Some(why) = &found.unexplained {
        line("cache model", why.clone());
    }
    for note in advice(target, found) {
        line("note", note);
    }
    out
}

fn millis(micros: u64) -> String {
    format!("{:.1}", micros as f64 / 1e3)
}

fn share(read: Read) -> String {
    format!("{} of {} tokens read", read.read, read.total)
}

fn counts(counts: Counts) -> String {
    match counts {
        Counts::Reported => "what was read is reported, also a 0",
        Counts::LeftOutWhenZero => "what was read is reported, and left out where it is 0",
        Counts::NoReads => "the prompt is counted, and nothing says what was read of it",
        Counts::Nothing => "no usage at all",
    }
    .to_owned()
}

fn convention_words(convention: Convention) -> &'static str {
    match convention {
        Convention::Inclusive => "includes what was read",
        Convention::Exclusive => "excludes what was read",
        Convention::Contradictory => {
            "differs between a prompt and its repeat: counts cannot be trusted"
        }
    }
}

/// What a person should do about it.
pub(super) fn advice(target: &Target, found: &Findings) -> Notes {
    let mut notes = Vec::new();
    if let Some(what) = &found.answer_cache {
        notes.push(format!("a gateway answers from a cache of whole answers ({what}): no count here means anything until that is off"));
    }
    match found.counts {
        Counts::NoReads | Counts::Nothing => notes.push(match target.engine {
            Engine::Vllm => "start vLLM with --enable-prompt-tokens-details".to_owned(),
            _ => "vLLM reports with --enable-prompt-tokens-details, SGLang with --enable-cache-report; behind a gateway, compare with --direct URL".to_owned(),
        }),
        Counts::LeftOutWhenZero => notes.push("the entry below takes an absent count for a 0, since the repeat had one".to_owned()),
        Counts::Reported => {}
    }
    if let Some((cold, warm)) = found.first_token_us
        && matches!(found.counts, Counts::NoReads | Counts::Nothing)
        && cold > 20_000
        && warm * 2 < cold
    {
        notes.push("the repeat was more than twice as fast: there probably is a cache".to_owned());
    }
    if found.counts == Counts::Reported && found.minimum.is_none() {
        notes.push(
            "nothing was read of any repeat: the cache is off, or needs longer prompts or markers"
                .to_owned(),
        );
    }
    if let (Some(appended), Some(repeat)) = (found.appended, found.repeat)
        && repeat.read > 0
        && appended.read * 4 < repeat.read
    {
        notes.push("a repeat is read and another turn is not: the template moves text, or entries end elsewhere".to_owned());
    }
    if found.excludes {
        notes.push("this dialect's count of a prompt includes what was read, and here it does not: a run would call its counts contradictory, so that the entry says `unreliable`".to_owned());
    }
    if found.reasoning_dropped == Some(true) {
        notes.push("reasoning in history does not reach the prompt: with a reasoning model each turn breaks at the turn before".to_owned());
    }
    notes
}

/// An entry to paste into a targets file.
pub(super) fn entry(target: &Target, probed: &Probed, url: &str, date: &str) -> String {
    let found = &probed.findings;
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let name: String = target
        .name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect();
    let mut out = format!("targets:\n  {}:\n    url: {}\n", text(&name), text(url));
    let mut line = |key: &str, value: String| {
        let _written = writeln!(out, "    {key}: {value}");
    };
    line("model", text(&target.model));
    line("dialect", target.dialect.name().to_owned());
    if let Some(model) = &found.cache_model {
        line("cache_model", text(model));
    }
    if let Some(evidence) = evidence(found, date) {
        line("absent_means_zero", "true".to_owned());
        line("evidence", text(&evidence));
    }
    if let Some(why) = distrust(found, date) {
        line("unreliable", text(&why));
    }
    out
}

/// What shows that a count left out is a 0; `None` where nothing does.
pub(super) fn evidence(found: &Findings, date: &str) -> Option<String> {
    let read = found.repeat.filter(|repeat| repeat.read > 0)?.read;
    (found.counts == Counts::LeftOutWhenZero).then(|| {
        format!(
            "probe of {date}: the repeat of a prompt had a count of {read}, the first sending none"
        )
    })
}

/// Why no count can be believed; `None` where nothing speaks against them.
pub(super) fn distrust(found: &Findings, date: &str) -> Option<String> {
    if let Some(what) = &found.answer_cache {
        return Some(format!("probe of {date}: answers from a cache ({what})"));
    }
    if found.excludes {
        return Some(format!(
            "probe of {date}: the prompt's count excludes what was read, which this dialect's includes"
        ));
    }
    (found.convention == Some(Convention::Contradictory))
        .then(|| format!("probe of {date}: a prompt and its repeat have other totals"))
}
