//! What is known of each target, for `list targets`.

use super::entry::{Entry, KeyPlace, Prices};
use crate::cache::{Model, known};
use crate::load::Affinity;
use crate::load::preset::{self, PRESETS, Preset};
use crate::record::PublicUrl;
use std::fmt::Write as _;
use std::time::Duration;

/// The entries of a targets file, then every preset. No key and no header's value is shown.
pub(crate) fn text(entries: &[Entry]) -> String {
    let mut out = String::new();
    for entry in entries {
        one_entry(&mut out, entry);
    }
    for preset in PRESETS {
        one_preset(&mut out, preset);
    }
    out
}

fn line(out: &mut String, what: &str, said: &str) {
    // Writing to a text cannot fail.
    let _written = writeln!(out, "  {what:<11}{said}");
}

fn one_entry(out: &mut String, entry: &Entry) {
    let preset = entry
        .preset
        .map_or(String::new(), |preset| format!(", preset {}", preset.name));
    let _written = writeln!(out, "{} (of the targets file{preset})", entry.name);
    let url = PublicUrl::new(&entry.url);
    line(out, "address", &format!("{url} ({})", entry.dialect.name()));
    if let Some(model) = &entry.model {
        line(out, "model", model);
    }
    match &entry.key {
        None => {}
        Some(KeyPlace::Env(name) | KeyPlace::Usual(name)) => {
            line(out, "key", &format!("in {name}"));
        }
        Some(KeyPlace::Command(_, None)) => line(out, "key", "from a command, once"),
        Some(KeyPlace::Command(_, Some(ttl))) => {
            line(
                out,
                "key",
                &format!("from a command, again after {}", span(*ttl)),
            );
        }
    }
    let names: Vec<&str> = entry
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    if !names.is_empty() {
        line(out, "headers", &names.join(", "));
    }
    let cache = entry.cache.as_ref().map(ToString::to_string);
    let rule = entry.model.as_deref().and_then(|model| entry.rule(model));
    let stated = cache.as_deref().or(rule.map(|rule| rule.cache));
    let lifetime = entry.lifetime.or(rule.and_then(|rule| rule.lifetime));
    if let Some(stated) = stated {
        line(out, "cache", &cache_words(stated, lifetime));
    }
    let note = entry
        .model
        .as_deref()
        .and_then(|model| entry.cache_note(model));
    if let Some(note) = note {
        line(out, "", &format!("({note})"));
    }
    match &entry.prices {
        None => {}
        Some(Prices::Model(model)) => line(out, "prices", &format!("of {model}")),
        Some(Prices::Amounts(_)) => line(out, "prices", "stated in the file"),
    }
    let limits = [
        entry
            .rates
            .requests_per_minute
            .map(|n| format!("{n} requests")),
        entry.rates.tokens_per_minute.map(|n| format!("{n} tokens")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        line(out, "limits", &format!("{} a minute", limits.join(" and ")));
    }
    if let Some(why) = &entry.unreliable {
        line(out, "unreliable", why);
    }
    if let Some(evidence) = &entry.absent_is_zero {
        line(out, "absent is 0", evidence);
    }
    out.push('\n');
}

fn one_preset(out: &mut String, preset: &Preset) {
    let _written = writeln!(out, "{}: {}", preset.name, preset.about);
    line(
        out,
        "address",
        &format!("{} ({})", preset.url, preset.dialect),
    );
    if let Some(name) = preset.key_env {
        let headers: Vec<&str> = preset.key_headers.iter().map(|(name, _)| *name).collect();
        let sent = match headers.as_slice() {
            [] => String::new(),
            headers => format!(", sent as {}", headers.join(" and ")),
        };
        line(out, "key", &format!("in {name}{sent}"));
    }
    line(out, "counts", preset.usage);
    for rule in known::rules(preset.name) {
        let models = match rule.models {
            ["*"] => String::new(),
            models => format!("{}: ", models.join(", ")),
        };
        let said = cache_words(rule.cache, rule.lifetime);
        line(out, "cache", &format!("{models}{said}"));
        if let Some(note) = rule.note {
            line(out, "", &format!("({note})"));
        }
        if (rule.source, rule.as_of) != (preset.source, preset.as_of) {
            line(out, "", &format!("({}, {})", rule.as_of, rule.source));
        }
    }
    let affinity = preset.affinity.map(|affinity| (affinity, String::new()));
    let elsewhere = preset.affinity_on.iter();
    let elsewhere = elsewhere.map(|(dialect, affinity)| (*affinity, format!(" (on {dialect})")));
    for (affinity, on) in affinity.into_iter().chain(elsewhere) {
        let by = match affinity {
            Affinity::Header(name) => format!("header {name}"),
            Affinity::Field(name) => format!("field {name}"),
        };
        line(out, "affinity", &format!("{by}, by conversation{on}"));
    }
    let headers = preset
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let fields = preset.body.iter().map(|(name, json)| match *json {
        "null" => format!("no {name}"),
        json => format!("{name}: {json}"),
    });
    let sent: Vec<String> = headers.chain(fields).collect();
    if !sent.is_empty() {
        line(out, "sent too", &sent.join("; "));
    }
    line(out, "prices", &price_words(preset.prices));
    for (dialect, why) in preset.unreliable {
        let on = if dialect.is_empty() {
            String::new()
        } else {
            format!(" (on {dialect})")
        };
        line(out, "unreliable", &format!("{why}{on}"));
    }
    line(out, "read", &format!("{}, {}", preset.as_of, preset.source));
    out.push('\n');
}

fn price_words(prices: preset::Prices) -> String {
    match prices {
        preset::Prices::Of(models) => format!("of {}", models.join(", ")),
        preset::Prices::Behind | preset::Prices::Makers => {
            "those of the provider behind it".to_owned()
        }
        preset::Prices::Own => "none by the token: one's own machines".to_owned(),
        preset::Prices::Unknown => "not found: state them with `prices`".to_owned(),
    }
}

fn cache_words(cache: &str, lifetime: Option<Duration>) -> String {
    let least = cache
        .parse::<Model>()
        .ok()
        .and_then(|model| model.minimum());
    let said = [
        Some(cache.to_owned()),
        least.map(|tokens| format!("from {tokens} tokens")),
        lifetime.map(|lifetime| format!("entries live {}", span(lifetime))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    said.join(", ")
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds > 0 && seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
