//! The sources of a sample, as the layered family lays them out.

use super::release::Release;
use crate::chat::{Class, Origin, Span, Text};
use crate::context::registry::{self, key};
use crate::context::render;
use crate::context::turn::produce::{self, Clock, Producer};
use crate::context::turn::variables;
use crate::context::view::{Sample, UserTurn};
use std::sync::Arc;

/// The same spans with the layer in front of their origins.
pub(super) fn in_layer(layer: &str, mut spans: Vec<Span>) -> Vec<Span> {
    for span in &mut spans {
        span.origin = Origin::from(format!("{layer}/{}", span.origin));
    }
    spans
}

/// What a part is about, for choosing among the sampled ones.
fn part(sample: &Sample, producer: Producer<'_>, wanted: impl Fn(&str) -> bool) -> Vec<Vec<Span>> {
    keyed(sample, producer, wanted)
        .into_iter()
        .map(|(_, spans)| spans)
        .collect()
}

fn keyed(
    sample: &Sample,
    producer: Producer<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<(Arc<str>, Vec<Span>)> {
    let parts = producer.parts(sample, Clock::Turn);
    let wanted = parts.iter().filter(|part| wanted(&part.key));
    wanted
        .map(|part| (Arc::clone(&part.key), producer.part(part)))
        .collect()
}

/// The `wanted` parts, and among them what the agent's author wrote and the agent's
/// files, in registry order.
fn first_layer(
    sample: &Sample,
    producer: Producer<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Vec<Span>> {
    let mut parts = keyed(sample, producer, wanted);
    let known = other(sample, true).map(|(key, span)| (Arc::clone(key), vec![span]));
    parts.extend(known);
    parts.sort_by_key(|(key, _)| registry::order(key));
    parts.into_iter().map(|(_, spans)| spans).collect()
}

/// Whether a change of the source of that key shows in what goes with a question: the
/// time, and what no registry knows. All others stand in the first layer.
pub(super) fn goes_with_the_question(key: &str) -> bool {
    match key {
        key::WEB_SEARCH_TIME | key::TEMPORAL_AGENT | key::DATE | key::SEND_TIME => true,
        Origin::TOOLS | Origin::MODEL => false,
        _ => !registry::knows(key),
    }
}

/// Parts under keys of their own: those that the registry knows, or the others.
fn other(sample: &Sample, known: bool) -> impl Iterator<Item = (&Arc<str>, Span)> {
    let chosen = sample.other.iter();
    let chosen = chosen.filter(move |(key, _)| registry::knows(key) == known);
    chosen.map(|(key, text)| (key, registry::span(key, text.clone())))
}

/// Whether two samples have the same parts under keys that the registry knows.
pub(super) fn same_known(a: &Sample, b: &Sample) -> bool {
    let known = |sample| other(sample, true).map(|(_, span)| span);
    known(a).eq(known(b))
}

/// L1 of `layered`: agent instructions, then the sources in registry order.
///
/// Variables in the instructions stand for the start of the chat, so that L1
/// does not change with the clock; the present goes with the question.
pub(super) fn instructions(sample: &Sample, producer: Producer<'_>) -> Vec<Span> {
    let start = produce::prompt_time(sample, Clock::Start);
    let system = if variables::is_temporal(&sample.system) {
        Text::from(variables::resolve(&sample.system, &start))
    } else {
        sample.system.clone()
    };
    let agent = vec![registry::span(key::AGENT, system)];
    let parts = first_layer(sample, producer, |key| key != key::WEB_SEARCH_TIME);
    let spans = render::join("\n\n", [agent].into_iter().chain(parts));
    in_layer("L1", render::trim(spans))
}

/// What `layered` says of the present with the question: the time where a tool
/// or the instructions ask for it, and parts under keys that no registry knows.
pub(super) fn present(sample: &Sample, producer: Producer<'_>) -> Vec<Vec<Span>> {
    let mut out = part(sample, producer, |key| key == key::WEB_SEARCH_TIME);
    if variables::is_temporal(&sample.system) {
        let label = producer.phrases.get("turn.web_search_now");
        let text = format!("{label}{}", sample.at.datetime());
        out.push(vec![registry::span(key::TEMPORAL_AGENT, text)]);
    }
    out.extend(other(sample, false).map(|(_, span)| vec![span]));
    out
}

/// L1 of the releases: memory and what is dated in front, one line end, then the
/// system text. `system` is the instructions, templates expanded.
///
/// Everything in it is read for every message, the time included.
pub(super) fn shipped_instructions(
    release: Release,
    sample: &Sample,
    system: &Text,
    producer: Producer<'_>,
) -> Vec<Span> {
    let front = part(sample, producer, |key| {
        matches!(key, key::MEMORY | key::WEB_SEARCH_TIME)
    });
    let front = render::join("\n", front);
    let agent = vec![registry::span(key::AGENT, system.clone())];
    let parts = first_layer(sample, producer, |key| match key {
        key::MEMORY | key::WEB_SEARCH_TIME => false,
        key::PROJECT => release == Release::V4,
        _ => true,
    });
    let unknown = other(sample, false).map(|(_, span)| vec![span]);
    let parts = parts.into_iter().chain(unknown);
    let mut text = render::join("\n\n", [agent].into_iter().chain(parts));
    if release == Release::V31 {
        render::append(&mut text, "\n\n", project(sample));
    }
    in_layer("L1", render::trim(render::join("\n", [front, text])))
}

/// The instructions with their variables replaced by the time of the sample.
pub(super) fn dated(sample: &Sample) -> Text {
    if variables::is_temporal(&sample.system) {
        Text::from(variables::resolve(&sample.system, &sample.at))
    } else {
        sample.system.clone()
    }
}

/// Project guidance in the tag that release 3.1 puts around it.
fn project(sample: &Sample) -> Vec<Span> {
    let Some(text) = &sample.project else {
        return Vec::new();
    };
    vec![
        registry::span(key::PROJECT, "<project_system_prompt>\n"),
        registry::span(key::PROJECT, text.clone()),
        registry::span(key::PROJECT, "\n</project_system_prompt>"),
    ]
}

/// When a message was sent, in the zone then in force, and a line end.
pub(super) fn stamp(turn: &UserTurn) -> Span {
    registry::span(key::SEND_TIME, format!("[{}]\n", turn.sent.minute()))
}

/// A span that belongs to a layer and to no source.
pub(super) fn frame(layer: &str, text: impl Into<Text>) -> Span {
    Span::new(layer, Class::Static, text)
}
