//! The tables of a run folder.

use super::{markdown, summary_csv, summary_json};
use crate::analysis::Results;
use crate::record::{BoundRecord, RequestRecord, WriteError, files, write_requests};
use std::borrow::Borrow;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

/// Name of the Markdown report in a run folder.
pub const REPORT_MD: &str = "report.md";

/// Writes `requests.csv`, `summary.csv`, `summary.json` and `report.md` into
/// `dir`, over those that are there.
///
/// # Errors
///
/// [`WriteError`], which names the file.
pub fn write_tables<R: Borrow<RequestRecord>>(
    dir: &Path,
    records: impl IntoIterator<Item = R>,
    bounds: &[BoundRecord],
    results: &Results,
) -> Result<(), WriteError> {
    written(&dir.join(files::REQUESTS_CSV), |file| {
        write_requests(file, records, bounds)
    })?;
    written(&dir.join(files::SUMMARY_CSV), |file| {
        summary_csv(file, results)
    })?;
    let whole = |name: &str, text: io::Result<String>| {
        let path = dir.join(name);
        text.and_then(|text| fs::write(&path, text))
            .map_err(|source| WriteError::new(&path, source))
    };
    whole(
        files::SUMMARY_JSON,
        summary_json(results).map_err(io::Error::from),
    )?;
    whole(REPORT_MD, Ok(markdown(results)))
}

fn written(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let failed = |source| WriteError::new(path, source);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    write(&mut file).map_err(failed)?;
    io::Write::flush(&mut file).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Samples;
    use crate::analysis::testing::{manifest, story};

    #[test]
    fn the_tables_of_a_run_are_written_and_written_over() {
        let dir = tempfile::tempdir().expect("folder");
        let (records, bounds) = story();
        let samples = Samples::of(&manifest(), &records, &bounds);
        let results = Results::new(&manifest(), &samples, Vec::new());
        for _ in 0..2 {
            write_tables(dir.path(), &records, &bounds, &results).expect("writes");
        }
        let lines = |name| {
            let text = fs::read_to_string(dir.path().join(name)).expect("reads");
            text.lines().count()
        };
        assert_eq!(lines(files::REQUESTS_CSV), 19);
        assert_eq!(lines(files::SUMMARY_CSV), 4);
        assert!(lines(REPORT_MD) > 10 && lines(files::SUMMARY_JSON) > 10);
        let nowhere = write_tables(&dir.path().join("no"), &records, &bounds, &results);
        assert!(
            nowhere
                .expect_err("no such folder")
                .to_string()
                .contains("requests.csv")
        );
    }
}
