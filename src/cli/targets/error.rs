//! What can be wrong with a targets file, and how it is shown.

use crate::scenario::ScenarioError;
use miette::{Diagnostic, LabeledSpan, SourceCode};
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A targets file that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum TargetsError {
    /// The file could not be read.
    #[error("cannot read targets file `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why the operating system refused.
        source: io::Error,
    },
    /// Something in it is wrong. The reader of YAML is the scenario's, and so are
    /// the words in which it says what is wrong.
    #[error("{0}")]
    Mistake(ScenarioError),
}

impl From<ScenarioError> for TargetsError {
    fn from(error: ScenarioError) -> Self {
        Self::Mistake(error)
    }
}

impl Diagnostic for TargetsError {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let code = match self {
            Self::Read { .. } => "targets::read".to_owned(),
            Self::Mistake(error) => {
                let code = error.code()?.to_string();
                code.replacen("scenario::", "targets::", 1)
            }
        };
        Some(Box::new(code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake(error) => error.help(),
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake(error) => error.source_code(),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake(error) => error.labels(),
        }
    }
}
