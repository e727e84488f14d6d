//! How the program ends.

use std::fmt;

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of a run: at least one request was answered whole.
    Done,
    /// Something that should not happen.
    Unexpected,
    /// The input is wrong: a file, a name, a flag.
    WrongInput,
    /// A rule was missed.
    RuleMissed,
    /// Not one request was answered whole.
    NoRequestOk,
    /// Results could not be written.
    NotWritten,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

impl Exit {
    /// The code that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unexpected => 1,
            Self::WrongInput => 2,
            Self::RuleMissed => 3,
            Self::NoRequestOk => 4,
            Self::NotWritten => 5,
            Self::Interrupted => 130,
        }
    }
}

/// An end that a person has to be told about.
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What is said on stderr.
    pub report: miette::Report,
}

impl Failure {
    /// Wrong input, told by a diagnostic of its own.
    pub fn input(error: impl miette::Diagnostic + Send + Sync + 'static) -> Self {
        Self {
            exit: Exit::WrongInput,
            report: miette::Report::new(error),
        }
    }

    /// An end with a message and, where there is one, the way out.
    pub fn new(exit: Exit, message: impl fmt::Display, help: Option<String>) -> Self {
        let mut diagnostic = miette::MietteDiagnostic::new(message.to_string());
        diagnostic.help = help;
        Self {
            exit,
            report: diagnostic.into(),
        }
    }

    /// Wrong input, with a message and the way out.
    pub fn wrong(message: impl fmt::Display, help: impl Into<String>) -> Self {
        Self::new(Exit::WrongInput, message, Some(help.into()))
    }
}
