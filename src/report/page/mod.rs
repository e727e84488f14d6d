//! Results, manifest and figures to the page of a run.

mod columns;
mod facts;
mod more;
mod summed;
mod tables;

use super::excerpts::Excerpts;
use super::headline::headline;
use super::html::{Download, Page, Picture, Table};
use super::notes::notes;
use super::scenes::not_drawn;
use super::terminal::measured_on;
use super::words::count;
use crate::analysis::Results;
use crate::analysis::advice::Advised;
use crate::record::Manifest;
use crate::units::grouped;

/// What a page shows besides results.
pub(super) struct Shown {
    pub(super) pictures: Vec<Picture>,
    /// Kinds of pictures that there are none of, each with its reason.
    pub(super) left_out: Vec<String>,
    /// Breaks with their texts, of the drawn conversations.
    pub(super) breaks: Excerpts,
    pub(super) textless: bool,
    pub(super) downloads: Vec<Download>,
}

/// The page of a run.
pub(super) fn page(results: &Results, manifest: &Manifest, shown: Shown) -> Page {
    let mut sentences = headline(results).into_iter();
    let first = sentences.next().unwrap_or_default();
    let mut basis: Vec<String> = sentences.collect();
    basis.extend(
        results
            .targets
            .iter()
            .map(|target| measured_on(target, results)),
    );
    if shown.textless {
        basis.push(
            "The texts of the prompts were not kept (`--no-text`), so a break is told without \
             what differs."
                .to_owned(),
        );
    }
    basis.extend(Some(not_drawn(results)).filter(|said| !said.is_empty()));
    let tables = all_tables(results);
    let Excerpts {
        breaks,
        all,
        advised,
    } = shown.breaks;
    Page {
        title: title(results, manifest),
        headline: first,
        basis,
        warnings: notes(results),
        summary: summed::totals(results),
        figures: shown.pictures,
        figures_note: pictures_note(&shown.left_out),
        breaks_note: breaks_note(breaks.len(), all),
        advice: advice(&advised),
        breaks,
        tables,
        facts: facts::facts(manifest),
        downloads: shown.downloads,
    }
}

/// The tables behind the first one; none without rows.
fn all_tables(results: &Results) -> Vec<Table> {
    let tables = [
        more::apart(results),
        more::costs(results),
        Some(tables::differences(results)),
        summed::groups(results),
        summed::scenarios(results),
        Some(more::reuse(results)),
        Some(more::latencies(results)),
        Some(tables::fits(results)),
        Some(tables::breaks(results)),
        Some(tables::turns(results)),
    ];
    let tables = tables.into_iter().flatten();
    tables.filter(|table| !table.rows.is_empty()).collect()
}

/// Which kinds of pictures there are none of, and why.
fn pictures_note(left_out: &[String]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    format!("Not drawn: {}.", left_out.join("; "))
}

/// What to change, a sentence each.
pub(super) fn advice(advised: &[Advised]) -> Vec<String> {
    let said = advised.iter().flat_map(|one| {
        let sentences = one.sentences().into_iter();
        sentences.map(|sentence| format!("{}: {sentence}", one.configuration))
    });
    said.collect()
}

pub(super) fn breaks_note(shown: usize, all: usize) -> String {
    let which = "In the first conversation of each configuration and scenario";
    if shown == all {
        return format!("{which}, the most expensive first.");
    }
    let all = grouped(all as u64);
    format!("{which}: the {shown} most expensive of {all} breaks.")
}

/// What was run on what, and when: also the title of the window.
fn title(results: &Results, manifest: &Manifest) -> String {
    let scenarios = match manifest.scenarios.as_slice() {
        [only] => only.name.to_string(),
        all => count(all.len() as u64, "scenario"),
    };
    let targets: Vec<String> = results
        .targets
        .iter()
        .map(|target| {
            if target.simulated {
                "the embedded server (simulated)".to_owned()
            } else {
                target.name.to_string()
            }
        })
        .collect();
    format!("{scenarios} on {}, {}", targets.join(" and "), results.date)
}
