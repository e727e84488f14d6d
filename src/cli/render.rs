//! `render`: the requests that would be sent.

mod text;

use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::output;
use super::requests::{Form, Rendered, each_request};
use super::resources;
use crate::chat::{Digest, PlacedMessage, PlacedSpan, Wire};
use crate::provider::Dialect;
use serde::Serialize;
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
    /// For reading: every span with layer or part, class, tokens, hash, and what became of it
    /// since the request before
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
            let mut reader = text::Reader::default();
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
                        Format::Http => {
                            let model = rendered.pending.model.as_deref();
                            let model = model.unwrap_or_else(|| arguments.form.model());
                            http(model, dialect, &rendered)
                        }
                        Format::Text => reader.read(&scenario.name, &name, &rendered),
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
        dialect.path(model, dialect.streams()),
        rendered.body.text.len(),
        rendered.body.text,
    )
}
