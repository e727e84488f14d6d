//! Scenario files: from YAML to a checked [`Scenario`].
//!
//! [`load()`] reads the grammar, resolves every text, and walks the steps, so that
//! whatever else in the program takes a [`Scenario`] meets no file name, no
//! unknown note and no turn that never was.
//!
//! Invariants: loading is pure but for the files that the scenario names: the
//! same files give the same [`Scenario`] on every machine; nothing outside the
//! scenario's folder is read unless allowed; no input makes it panic.

mod check;
pub mod duration;
pub mod error;
pub(crate) mod files;
pub mod generate;
mod image;
mod limits;
pub mod load;
pub mod model;
pub mod names;
pub mod pace;
pub mod plan;
mod schema;
mod texts;
mod tools;
mod words;

pub use error::{Mistake, ScenarioError};
pub use load::{LoadOptions, load, load_str};
pub use model::Scenario;
pub use schema::{schema, schema_text, step_kinds};
