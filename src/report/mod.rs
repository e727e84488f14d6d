//! Results and figures to pages and tables.
//!
//! Invariants: a report is made of results alone, so that the same run folder
//! gives the same report; what is not known is an empty cell or `-`, never 0;
//! what was measured on the embedded server says so in every form.

pub mod compare;
pub mod csv;
mod detail;
mod excerpts;
mod figures;
pub mod files;
pub mod gate;
pub mod headline;
pub mod html;
pub mod json;
mod layouts;
mod ledger;
mod markdown;
mod notes;
mod page;
mod read;
mod scenes;
mod strip;
mod table;
pub mod terminal;
pub mod words;

pub use csv::{SUMMARY_COLUMNS, summary_csv};
pub use files::{
    CHARTS, REPORT_HTML, REPORT_MD, RebuildError, computed_bounds, rebuild, side_by_side,
};
pub use json::{summary_json, summary_schema};
pub use terminal::{Look, terminal};

#[cfg(test)]
mod tests;
