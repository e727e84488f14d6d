//! A run folder's derived files, made from its records.
//!
//! Invariants: everything is made from files that the run left, so that `run`
//! and `report` give the same bytes; a reader never sees half of a file; memory
//! grows with reduced records, not with prompts.

use super::detail::Detail;
use super::excerpts::excerpts;
use super::figures::{Figures, figures};
use super::html::{Download, HtmlError, Picture, html};
use super::ledger;
use super::page::{Shown, page};
use super::scenes::scenes;
use super::{markdown, summary_csv, summary_json};
use crate::analysis::bounds::{Inputs, bounds};
use crate::analysis::cost::bill;
use crate::analysis::points::Points;
use crate::analysis::prices::Catalogue;
use crate::analysis::{Results, Samples};
use crate::cache::ModelError;
use crate::chart::ChartError;
use crate::record::{
    BoundRecord, Manifest, ReadError, RequestRecord, Run, RunContents, WriteError, files,
    write_requests,
};
use crate::tokens::{SharedEncoder, embedded};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use thiserror::Error;

/// Name of the Markdown report in a run folder.
pub const REPORT_MD: &str = "report.md";

/// Name of the page in a run folder.
pub const REPORT_HTML: &str = "report.html";

/// Name of the folder with the pictures in a run folder.
pub const CHARTS: &str = "charts";

/// Files above this size, in bytes, are not read to be carried in the page.
const CARRIED: u64 = 256 * 1024;

/// A report that could not be made.
#[derive(Debug, Error)]
pub enum RebuildError {
    /// The records cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The manifest names a cache model that is none.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] HtmlError),
}

/// Makes every table, chart and page of the run in `dir` from its records, over
/// those that are there, and gives its results.
///
/// With `prices`, requests are billed by the prices of the run's day in that
/// catalogue; a model without one there keeps what it was billed with.
///
/// # Errors
///
/// [`RebuildError`]; the records stay as they are.
pub fn rebuild(dir: &Path, prices: Option<&Catalogue>) -> Result<Results, RebuildError> {
    let mut run = Run::read(dir)?;
    if let Some(catalogue) = prices {
        price_again(&mut run.manifest, catalogue);
    }
    let (samples, found, warnings) = read(&run, prices.is_some())?;
    let mut warnings = warnings;
    warnings.extend(ledger::notes(&run.manifest, &run.ledger()?));
    let results = Results::new(&run.manifest, &samples, warnings);
    let all = scenes(&results);
    let mut detail = Detail::plan(&samples, &all);
    drop(samples);
    let mut points = Points::new(&run.manifest);
    requests_csv(dir, &run, &found, |record| {
        detail.offer(record);
        points.offer(record);
    })?;
    detail.complete(&found, &run)?;
    let out = Folder(dir);
    let mut csv = Vec::new();
    summary_csv(&mut csv, &results).map_err(|source| out.failed(files::SUMMARY_CSV, source))?;
    out.place(files::SUMMARY_CSV, &csv)?;
    let json = summary_json(&results)
        .map_err(|error| out.failed(files::SUMMARY_JSON, io::Error::from(error)))?;
    out.place(files::SUMMARY_JSON, json.as_bytes())?;
    let Figures { drawn, left_out } = figures(&results, &detail, &points);
    out.charts(&drawn)?;
    out.place(REPORT_MD, markdown(&results).as_bytes())?;
    let shown = Shown {
        breaks: excerpts(&results, &all, &detail),
        textless: detail.textless,
        pictures: drawn,
        left_out,
        downloads: out.downloads()?,
    };
    let page = html(&page(&results, &run.manifest, shown))?;
    out.place(REPORT_HTML, page.as_bytes())?;
    Ok(results)
}

/// Reduced records, what was computed for them, and what a person must know of
/// the files. Where the run was killed before anything was computed, that is
/// done now.
fn read(run: &Run, bill: bool) -> Result<(Samples, Vec<BoundRecord>, Vec<String>), RebuildError> {
    let mut warnings = Vec::new();
    let mut found = Vec::new();
    if let Some(mut lines) = run.bounds()? {
        for bound in lines.by_ref() {
            found.push(bound?);
        }
        warnings.extend(lines.torn().then(|| cut_off(files::BOUNDS)));
    }
    let (mut all, torn) = samples(run, &found)?;
    warnings.extend(torn.then(|| cut_off(files::REQUESTS)));
    if found.is_empty() && !all.list().is_empty() {
        found = computed_bounds(&Run::read(run.dir())?.contents()?)?;
        (all, _) = samples(run, &found)?;
    }
    if bill {
        bill_again(run, &mut found)?;
        (all, _) = samples(run, &found)?;
    }
    Ok((all, found, warnings))
}

fn price_again(manifest: &mut Manifest, catalogue: &Catalogue) {
    let date = manifest.started.date();
    for target in &mut manifest.targets {
        if let Some(price) = catalogue.find(&target.model, &date) {
            target.price = Some(price.clone());
        }
    }
}

/// Bills every request by the manifest's prices.
fn bill_again(run: &Run, found: &mut [BoundRecord]) -> Result<(), ReadError> {
    let places: HashMap<_, _> = found
        .iter()
        .enumerate()
        .map(|(at, bound)| (bound.key(), at))
        .collect();
    let mut costs = vec![None; found.len()];
    for record in run.requests()? {
        let record = record?;
        let price = run
            .manifest
            .target(&record.target)
            .and_then(|target| target.price.as_ref());
        if let (Some(price), Some(&at)) = (price, places.get(&record.key())) {
            costs[at] = bill(price, &record.usage);
        }
    }
    drop(places);
    for (bound, cost) in found.iter_mut().zip(costs) {
        bound.cost = cost;
    }
    Ok(())
}

fn cut_off(name: &str) -> String {
    format!("the last line of `{name}` was cut off and is left out")
}

/// What was computed after each cell; computed here where the run was killed
/// before, as far as that needs no server.
///
/// # Errors
///
/// [`ModelError`] where the manifest names a cache model that is none.
pub fn computed_bounds(contents: &RunContents) -> Result<Vec<BoundRecord>, ModelError> {
    if !contents.bounds.is_empty() || contents.requests.is_empty() {
        return Ok(contents.bounds.clone());
    }
    let sent = contents.requests.iter().chain(&contents.aside);
    let sent: Vec<RequestRecord> = sent.cloned().collect();
    let mut found = Vec::new();
    for target in &contents.manifest.targets {
        let encoder: Option<SharedEncoder> = target.simulated.then(embedded);
        found.extend(bounds(&Inputs {
            target,
            records: &sent,
            spans: &contents.spans,
            encoder: encoder.as_ref(),
        })?);
    }
    Ok(found)
}

/// Reduced records, and whether the last line of their file was cut off.
fn samples(run: &Run, bounds: &[BoundRecord]) -> Result<(Samples, bool), ReadError> {
    let by_attempt: HashMap<_, _> = bounds.iter().map(|bound| (bound.key(), bound)).collect();
    let mut samples = Samples::new(&run.manifest);
    let mut lines = run.requests()?;
    for record in lines.by_ref() {
        let record = record?;
        samples.add(&record, by_attempt.get(&record.key()).copied());
    }
    Ok((samples, lines.torn()))
}

/// Writes `requests.csv` record by record, and shows each to `look`.
fn requests_csv(
    dir: &Path,
    run: &Run,
    bounds: &[BoundRecord],
    mut look: impl FnMut(&RequestRecord),
) -> Result<(), RebuildError> {
    let mut unreadable = None;
    let records = run.requests()?.map_while(|record| match record {
        Ok(record) => {
            look(&record);
            Some(record)
        }
        Err(error) => {
            unreadable = Some(error);
            None
        }
    });
    Folder(dir).written(files::REQUESTS_CSV, |file| {
        write_requests(file, records, bounds)
    })?;
    unreadable.map_or(Ok(()), |error| Err(error.into()))
}

/// The folder that files are written to, each beside its place first and then
/// moved there.
struct Folder<'a>(&'a Path);

impl Folder<'_> {
    fn failed(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::new(&self.0.join(name), source)
    }

    fn place(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.written(name, |file| file.write_all(bytes))
    }

    fn written(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.0.join(name);
        let draft = self.0.join(format!("{name}.new"));
        let done = || -> io::Result<()> {
            let mut file = BufWriter::new(fs::File::create(&draft)?);
            write(&mut file)?;
            file.flush()?;
            fs::rename(&draft, &path)
        };
        done().map_err(|source| self.failed(name, source))
    }

    /// Writes each picture as SVG and as PNG.
    fn charts(&self, drawn: &[Picture]) -> Result<(), RebuildError> {
        fs::create_dir_all(self.0.join(CHARTS)).map_err(|source| self.failed(CHARTS, source))?;
        for picture in drawn {
            let figure = &picture.figure;
            let failed = |source: ChartError| HtmlError::Chart {
                title: figure.title(),
                source,
            };
            self.place(&picture.file, figure.svg().map_err(failed)?.as_bytes())?;
            let png = Path::new(&picture.file).with_extension("png");
            self.place(&png.to_string_lossy(), &figure.png().map_err(failed)?)?;
        }
        Ok(())
    }

    /// The tables, to be taken from the page.
    fn downloads(&self) -> Result<Vec<Download>, WriteError> {
        let types = [
            (files::SUMMARY_CSV, "text/csv"),
            (files::REQUESTS_CSV, "text/csv"),
            (files::SUMMARY_JSON, "application/json"),
        ];
        let file = |(name, media_type): (&str, &'static str)| {
            let path = self.0.join(name);
            let failed = |source| self.failed(name, source);
            let size = fs::metadata(&path).map_err(failed)?.len();
            let content = if size <= CARRIED {
                Some(fs::read_to_string(&path).map_err(failed)?)
            } else {
                None
            };
            Ok(Download {
                name: name.to_owned(),
                media_type,
                size,
                content,
            })
        };
        types.into_iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests;
