//! The page of a run: one HTML file that needs nothing beside it.
//!
//! The page is filled from a [`Page`], plain data that other report formats may
//! share. Styles, script, pictures and raw numbers are inside the file; it asks
//! no network for anything, and is whole without its script.
//!
//! Invariants: all text is escaped by the template engine, so nothing from a
//! prompt becomes markup; the same page gives the same bytes.

use crate::chart::{CHARTS, ChartError, Figure};
use crate::units::grouped;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use std::fmt::Write as _;
use thiserror::Error;

const TEMPLATE: &str = include_str!("html/page.html.jinja");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/tables.js");

/// Files that are no longer than this as an address are carried in the page; others are only named.
const CARRIED: usize = 128 * 1024;

/// Bytes of pictures that are carried in the page; others are only named.
const PICTURES: usize = 1_000_000;

/// Rows of a table that are shown: more would not be read, and would slow the browser.
const ROWS: usize = 400;

/// Breaks that are shown.
const BREAKS: usize = 50;

/// What a page says.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What was run; also the title of the window.
    pub title: String,
    /// The answer in one sentence, built from the numbers.
    pub headline: String,
    /// What the answer rests on: how much was measured, on what, when; a paragraph each.
    pub basis: Vec<String>,
    /// What limits the numbers, each with what to do about it; shown first where there is any.
    pub warnings: Vec<String>,
    /// The table that comes first.
    pub summary: Table,
    /// Pictures, in order.
    pub figures: Vec<Picture>,
    /// A sentence below them, such as what was left out; may be empty.
    pub figures_note: String,
    /// A sentence above the breaks: which they are.
    pub breaks_note: String,
    /// What to change, from these breaks; a sentence each.
    pub advice: Vec<String>,
    /// Breaks, in order; each opens to the texts that differ.
    pub breaks: Vec<Break>,
    /// Further tables, by turn for instance.
    pub tables: Vec<Table>,
    /// Settings, versions, hashes: what a reader needs to repeat the run.
    pub facts: Vec<Fact>,
    /// Raw numbers to take away.
    pub downloads: Vec<Download>,
}

/// A picture with the sentence below it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What is shown.
    pub figure: Figure,
    /// How to read it, or what it shows here.
    pub caption: String,
    /// Its SVG file beside the page; named where the page has no room for the picture.
    pub file: String,
}

/// A table; each row has a cell for each column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What a program calls it: an attribute of the table, for checks of the page.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// A sentence above it, such as what was left out; may be empty.
    pub note: String,
    /// Its columns; the first one names the row.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Column {
    /// What a program calls it: an attribute of its head, for checks of the page.
    pub key: String,
    /// Its name, with the unit.
    pub name: String,
    /// What the name means, where that is not plain; may be empty.
    pub help: String,
    /// Whether it holds numbers, which are set to the right.
    pub number: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    /// What it says; empty for what is not known.
    pub text: String,
    /// What it is sorted by; by its text where there is none.
    pub value: Option<f64>,
}

impl Cell {
    /// A cell of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: None,
        }
    }

    /// A cell of a number as it is to be shown; empty where there is none.
    pub fn number(value: Option<f64>, shown: impl FnOnce(f64) -> String) -> Self {
        Self {
            text: value.map_or_else(String::new, shown),
            value: value.filter(|value| value.is_finite()),
        }
    }
}

/// A place where the prefix broke.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Break {
    /// What was lost behind it, `3,100 tokens`.
    pub lost: String,
    /// Where and why: configuration, scenario, turn, source, step.
    pub title: String,
    /// What to change; may be empty.
    pub advice: String,
    /// The end of what both requests have in common; may be empty.
    pub common: String,
    /// The earlier request from there on.
    pub earlier: Excerpt,
    /// This request from there on.
    pub now: Excerpt,
}

/// A piece of a request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Excerpt {
    /// Which request, `turn 3`.
    pub request: String,
    /// Its text.
    pub text: String,
}

/// A fact about the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A file to take away.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its name in the run's folder.
    pub name: String,
    /// What it is, `text/csv`.
    pub media_type: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// What is in it; `None` where it is too large to be carried.
    pub content: Option<String>,
}

/// A page that could not be made.
#[derive(Debug, Error)]
pub enum HtmlError {
    /// A picture could not be drawn.
    #[error("cannot draw `{title}`")]
    Chart {
        /// Its title.
        title: String,
        /// Why.
        source: ChartError,
    },
    /// The template could not be filled.
    #[error("cannot fill the page")]
    Template {
        /// Why.
        #[from]
        source: minijinja::Error,
    },
}

/// The page as one HTML file.
///
/// Sections without content are left out. A large file is named, not carried; of a table the first
/// 400 rows are shown and of the breaks the first 50, and the page says so.
///
/// # Errors
///
/// [`HtmlError`] when a picture cannot be drawn or the template cannot be filled.
pub fn html(page: &Page) -> Result<String, HtmlError> {
    let (figures, files) = pictures(&page.figures)?;
    let downloads: Vec<Value> = page.downloads.iter().map(download).collect();
    let tables: Vec<Value> = page.tables.iter().map(table).collect();
    let breaks = &page.breaks[..page.breaks.len().min(BREAKS)];
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_template("page.html", TEMPLATE)?;
    let filled = environment.get_template("page.html")?.render(context! {
        title => page.title.as_str(),
        headline => page.headline.as_str(),
        basis => Value::from(Serde(&page.basis)),
        warnings => Value::from(Serde(&page.warnings)),
        summary => table(&page.summary),
        figures,
        files,
        figures_note => page.figures_note.as_str(),
        breaks_note => page.breaks_note.as_str(),
        advice => Value::from(Serde(&page.advice)),
        breaks => Value::from(Serde(breaks)),
        breaks_left_out => left_out(breaks.len(), page.breaks.len(), "breaks"),
        tables,
        facts => Value::from(Serde(&page.facts)),
        downloads,
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
    })?;
    Ok(filled)
}

/// A table as the template wants it, with its first rows.
fn table(table: &Table) -> Value {
    let rows = &table.rows[..table.rows.len().min(ROWS)];
    context! {
        key => table.key.as_str(),
        title => table.title.as_str(),
        note => table.note.as_str(),
        columns => Value::from(Serde(&table.columns)),
        rows => Value::from(Serde(rows)),
        left_out => left_out(rows.len(), table.rows.len(), "rows"),
    }
}

/// Says that only a part is shown; empty where all is.
fn left_out(shown: usize, all: usize, what: &str) -> String {
    if shown == all {
        return String::new();
    }
    let (shown, all) = (grouped(shown as u64), grouped(all as u64));
    format!("The first {shown} of {all} {what}; the files of the run have them all.")
}

/// The pictures that the page has room for, in order, and the files of the others.
/// Those of a kind that comes earlier in the list of charts have precedence.
fn pictures(all: &[Picture]) -> Result<(Vec<Value>, Vec<Value>), HtmlError> {
    let svgs = all.iter().map(svg).collect::<Result<Vec<_>, _>>()?;
    let rank = |at: &usize| {
        let name = all[*at].figure.chart().name;
        CHARTS.iter().position(|chart| chart.name == name)
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(rank);
    let mut room = PICTURES;
    let mut shown = vec![false; all.len()];
    for at in order {
        if let Some(rest) = room.checked_sub(svgs[at].len()) {
            room = rest;
            shown[at] = true;
        }
    }
    let (mut figures, mut files) = (Vec::new(), Vec::new());
    for ((picture, svg), shown) in all.iter().zip(svgs).zip(shown) {
        let title = picture.figure.title();
        if shown {
            figures.push(context! {
                title,
                svg => Value::from_safe_string(svg),
                caption => picture.caption.as_str(),
            });
        } else {
            files.push(context! { title, file => picture.file.as_str() });
        }
    }
    Ok((figures, files))
}

fn svg(picture: &Picture) -> Result<String, HtmlError> {
    picture.figure.svg().map_err(|source| HtmlError::Chart {
        title: picture.figure.title(),
        source,
    })
}

fn download(file: &Download) -> Value {
    let url = file.content.as_ref();
    let url = url.map(|content| data_url(file.media_type, content));
    let href = url.filter(|url| url.len() <= CARRIED);
    context! {
        name => file.name.as_str(),
        size => format!("{} kB", grouped(file.size.div_ceil(1000))),
        href,
    }
}

/// The content as an address that holds it.
fn data_url(media_type: &str, content: &str) -> String {
    let mut url = format!("data:{media_type};charset=utf-8,");
    for byte in content.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~,/:;".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _infallible = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests;
