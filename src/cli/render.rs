//! `render`: the requests that would be sent.

use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::output;
use super::requests::{Form, Rendered, each_request};
use super::resources;
use crate::chat::{Digest, PlacedMessage, PlacedSpan, Wire};
use crate::provider::Dialect;
use serde::Serialize;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

/// Print the requests that would be sent, without a server
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    form: Form,

    /// How they are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For reading: spans with origin, class, size and what is new
    Text,
    /// Request line, headers and body
    Http,
    /// One JSON object a request, with the exact body and the place of every span in it
    Jsonl,
}

/// A line of `--format jsonl`.
#[derive(Serialize)]
struct Line<'a> {
    scenario: &'a str,
    configuration: &'a str,
    dialect: &'a str,
    wire: &'a str,
    turn: u32,
    request: u32,
    events: Vec<&'a str>,
    body: &'a str,
    spans: Vec<SpanLine<'a>>,
}

#[derive(Serialize)]
struct SpanLine<'a> {
    origin: &'a str,
    class: &'a str,
    start: usize,
    end: usize,
    sha256: Digest,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (dialect, wire) = arguments.form.resolve()?;
    for scenario in arguments.files.load_all()? {
        for name in arguments.configurations.chosen() {
            let configuration = arguments.configurations.find(&name, &scenario)?;
            let chosen = [configuration.clone()];
            let files = resources::Files::read(&scenario, &chosen, &arguments.configurations)?;
            let mut known = HashSet::new();
            each_request(
                &scenario,
                &configuration,
                Arc::new(files),
                &arguments.form,
                |rendered| {
                    for warning in &rendered.pending.prompt.warnings {
                        output::warn(&format!(
                            "{}/{name} turn {}: {warning}",
                            scenario.name, rendered.pending.turn
                        ));
                    }
                    let text = match arguments.format {
                        Format::Jsonl => jsonl(&scenario.name, &name, dialect, wire, &rendered),
                        Format::Http => http(&arguments.form.model, dialect, &rendered),
                        Format::Text => text(&scenario.name, &name, &rendered, &mut known),
                    };
                    output::data(&text)
                },
            )?;
        }
    }
    Ok(Exit::Done)
}

fn spans(messages: &[PlacedMessage]) -> impl Iterator<Item = &PlacedSpan> {
    messages.iter().flat_map(|message| &message.spans)
}

fn jsonl(
    scenario: &str,
    configuration: &str,
    dialect: &dyn Dialect,
    wire: Wire,
    rendered: &Rendered,
) -> String {
    let line = Line {
        scenario,
        configuration,
        dialect: dialect.name(),
        wire: wire.family.as_str(),
        turn: rendered.pending.turn,
        request: rendered.pending.request,
        events: rendered
            .pending
            .events
            .iter()
            .map(|event| &*event.label)
            .collect(),
        body: &rendered.body.text,
        spans: spans(&rendered.body.messages)
            .map(|placed| SpanLine {
                origin: placed.span.origin.as_str(),
                class: placed.span.class.as_str(),
                start: placed.start,
                end: placed.end,
                sha256: placed.span.text.digest(),
            })
            .collect(),
    };
    let mut json = serde_json::to_string(&line).unwrap_or_default();
    json.push('\n');
    json
}

fn http(model: &str, dialect: &dyn Dialect, rendered: &Rendered) -> String {
    format!(
        "### turn {}.{}\nPOST {} HTTP/1.1\ncontent-type: application/json\ncontent-length: {}\n\n{}\n\n",
        rendered.pending.turn,
        rendered.pending.request,
        dialect.path(model, true),
        rendered.body.text.len(),
        rendered.body.text,
    )
}

/// Longest excerpt of a span, in characters.
const EXCERPT: usize = 72;

fn text(
    scenario: &str,
    configuration: &str,
    rendered: &Rendered,
    known: &mut HashSet<Digest>,
) -> String {
    let pending = &rendered.pending;
    let mut out = format!(
        "{scenario} / {configuration}   turn {}.{}   {}   {} bytes\n",
        pending.turn,
        pending.request,
        pending.purpose,
        rendered.body.text.len()
    );
    for event in &pending.events {
        let _infallible = writeln!(out, "  after: {} (line {})", event.label, event.line);
    }
    let mut seen = HashSet::new();
    for message in &rendered.body.messages {
        let _infallible = writeln!(out, "  [{}]", message.role.as_str());
        for placed in &message.spans {
            let digest = placed.span.text.digest();
            let mark = if known.contains(&digest) { ' ' } else { '+' };
            seen.insert(digest);
            let _infallible = writeln!(
                out,
                "  {mark} {:<28} {:<12} {:>7} B  {}  {}",
                placed.span.origin,
                placed.span.class.as_str(),
                placed.span.text.len(),
                &digest.to_string()[..8],
                excerpt(&placed.span.text),
            );
        }
    }
    known.extend(seen);
    out.push('\n');
    out
}

fn excerpt(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= EXCERPT {
        return flat;
    }
    let head: String = flat.chars().take(EXCERPT - 1).collect();
    format!("{head}…")
}
