//! A run folder's derived files, made from its records.
//!
//! Invariants: everything is made from files that the run left, so that `run`
//! and `report` give the same bytes; a reader never sees half of a file; memory
//! grows with reduced records, not with prompts.

use super::detail::Detail;
use super::excerpts::{Excerpts, excerpts};
use super::figures::{Figures, figures};
use super::html::{Download, HtmlError, Picture, html};
use super::ledger;
use super::markdown::markdown;
use super::page::{Shown, page};
use super::read::{Read, labels, together};
use super::scenes::scenes;
use super::{summary_csv, summary_json};
use crate::analysis::bounds::{Inputs, bounds};
use crate::analysis::points::Points;
use crate::analysis::prices::Catalogue;
use crate::analysis::{Results, labelled};
use crate::cache::ModelError;
use crate::chart::ChartError;
use crate::record::{
    BoundRecord, Manifest, ReadError, RequestRecord, Run, RunContents, WriteError, files,
};
use crate::tokens::{SharedEncoder, embedded};
use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
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
    /// The folder for a report over several runs is itself a run's.
    #[error("`{}` is a run folder: a report over several runs would replace its own", path.display())]
    InTheWay {
        /// The folder.
        path: PathBuf,
    },
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
    let run = opened(dir, prices)?;
    let lines = run.ledger()?;
    let out = Folder(dir);
    let runs = [(run, None)];
    let read = Read::of(&runs, Some(&out))?;
    let [(run, _)] = &runs;
    let mut warnings = read.warnings;
    warnings.extend(ledger::notes(&run.manifest, &lines));
    let results = Results::new(&run.manifest, &read.samples, warnings);
    let all = scenes(&results);
    let detail = match read.computed.first() {
        Some(computed) => Detail::read(run, &read.samples, &all, computed)?,
        None => Detail::default(),
    };
    let points = Points::of(&read.samples);
    drop((read.samples, read.computed));
    let Figures { drawn, left_out } = figures(&results, &detail, &points);
    let shown = Shown {
        breaks: excerpts(&results, &all, &detail),
        textless: detail.textless,
        pictures: drawn,
        left_out,
        downloads: Vec::new(),
    };
    out.report(&results, &run.manifest, shown)?;
    Ok(results)
}

/// Makes tables, charts and a page of several runs side by side, in `out` where
/// that is given. A target and a conversation are named with their run in front.
/// Prefix maps and texts are left to the runs' own pages.
///
/// # Errors
///
/// [`RebuildError`]; the runs' folders stay as they are.
pub fn side_by_side(
    dirs: &[PathBuf],
    out: Option<&Path>,
    prices: Option<&Catalogue>,
) -> Result<Results, RebuildError> {
    let opened = dirs.iter().map(|dir| opened(dir, prices));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    let runs: Vec<_> = opened
        .into_iter()
        .zip(labels(dirs).into_iter().map(Some))
        .collect();
    let folder = out.map(Folder);
    if let Some(Folder(dir)) = &folder {
        fs::create_dir_all(dir).map_err(|source| WriteError::new(dir, source))?;
        if dir.join(files::MANIFEST).exists() {
            return Err(RebuildError::InTheWay {
                path: (*dir).to_owned(),
            });
        }
    }
    let read = Read::of(&runs, folder.as_ref())?;
    let mut warnings = read.warnings;
    for (run, label) in &runs {
        let notes = ledger::notes(&run.manifest, &run.ledger()?);
        let label = label.as_deref();
        warnings.extend(notes.iter().map(|note| labelled(label, note).into_owned()));
    }
    let manifest = together(&runs);
    let results = Results::new(&manifest, &read.samples, warnings);
    if let Some(out) = folder {
        let points = Points::of(&read.samples);
        let Figures { drawn, left_out } = figures(&results, &Detail::default(), &points);
        let shown = Shown {
            breaks: Excerpts::default(),
            textless: false,
            pictures: drawn,
            left_out,
            downloads: Vec::new(),
        };
        out.report(&results, &manifest, shown)?;
    }
    Ok(results)
}

fn opened(dir: &Path, prices: Option<&Catalogue>) -> Result<Run, RebuildError> {
    let mut run = Run::read(dir)?;
    if let Some(catalogue) = prices {
        price_again(&mut run.manifest, catalogue);
    }
    Ok(run)
}

fn price_again(manifest: &mut Manifest, catalogue: &Catalogue) {
    let date = manifest.started.date();
    for target in &mut manifest.targets {
        if let Some(price) = catalogue.find(&target.model, &date) {
            target.price = Some(price.clone());
        }
    }
}

/// What was computed after each cell. Where something is missing, as of a run
/// that was killed before, that is computed here as far as it needs no server.
///
/// # Errors
///
/// [`ModelError`] where the manifest names a cache model that is none.
pub fn computed_bounds(contents: &RunContents) -> Result<Vec<BoundRecord>, ModelError> {
    let known: HashSet<_> = contents.bounds.iter().map(BoundRecord::key).collect();
    let sent = contents.requests.iter().chain(&contents.aside);
    let sent: Vec<RequestRecord> = sent.cloned().collect();
    let mut found = contents.bounds.clone();
    for target in &contents.manifest.targets {
        let lacks =
            |record: &RequestRecord| record.target == target.name && !known.contains(&record.key());
        if !contents.requests.iter().any(lacks) {
            continue;
        }
        let encoder: Option<SharedEncoder> = target.simulated.then(embedded);
        let all = bounds(&Inputs {
            target,
            records: &sent,
            spans: &contents.spans,
            started_ms: Some(contents.manifest.started.epoch_ms()),
            encoder: encoder.as_ref(),
        })?;
        found.extend(
            all.into_iter()
                .filter(|bound| !known.contains(&bound.key())),
        );
    }
    Ok(found)
}

/// The folder that files are written to, each beside its place first and then
/// moved there.
pub(super) struct Folder<'a>(pub(super) &'a Path);

impl Folder<'_> {
    fn failed(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::new(&self.0.join(name), source)
    }

    fn place(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.written(name, |file| file.write_all(bytes))
    }

    pub(super) fn written(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.0.join(name);
        let draft = self.0.join(format!("{name}.new"));
        let done = || -> io::Result<()> {
            let mut file = BufWriter::with_capacity(1 << 16, fs::File::create(&draft)?);
            write(&mut file)?;
            file.flush()?;
            fs::rename(&draft, &path)
        };
        done().map_err(|source| self.failed(name, source))
    }

    /// Writes everything but `requests.csv`; what the page offers to take away
    /// is added to what it shows.
    fn report(
        &self,
        results: &Results,
        manifest: &Manifest,
        mut shown: Shown,
    ) -> Result<(), RebuildError> {
        let mut csv = Vec::new();
        summary_csv(&mut csv, results).map_err(|source| self.failed(files::SUMMARY_CSV, source))?;
        self.place(files::SUMMARY_CSV, &csv)?;
        let json = summary_json(results)
            .map_err(|error| self.failed(files::SUMMARY_JSON, io::Error::from(error)))?;
        self.place(files::SUMMARY_JSON, json.as_bytes())?;
        self.charts(&shown.pictures)?;
        let breaks = &shown.breaks;
        self.place(REPORT_MD, markdown(results, breaks).as_bytes())?;
        shown.downloads = self.downloads()?;
        let page = html(&page(results, manifest, shown))?;
        self.place(REPORT_HTML, page.as_bytes())?;
        Ok(())
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
