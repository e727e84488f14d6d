//! What can be wrong with a rule, and how it is shown.

use miette::{Diagnostic, NamedSource, SourceSpan};
use std::sync::Arc;
use thiserror::Error;

/// A rule that cannot be read.
#[derive(Debug, Error, Diagnostic)]
#[error("{said}")]
#[diagnostic(code(gate::rule), help("{help}"))]
pub struct RuleError {
    /// What is wrong: a lowercase fragment.
    pub said: String,
    /// What to do about it.
    pub help: String,
    /// The whole text.
    #[source_code]
    pub text: Arc<NamedSource<String>>,
    /// What stands at the place.
    pub label: String,
    /// Where it stands.
    #[label("{label}")]
    pub at: SourceSpan,
}

/// Rules that cannot be read.
#[derive(Debug, Error, Diagnostic)]
#[error("{}", self.said())]
pub struct RulesError {
    /// Each of them.
    #[related]
    pub errors: Vec<RuleError>,
}

impl RulesError {
    fn said(&self) -> String {
        match self.errors.len() {
            1 => "a rule cannot be read".to_owned(),
            many => format!("{many} rules cannot be read"),
        }
    }
}
