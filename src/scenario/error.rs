//! What can be wrong with a scenario, and how it is shown.

use super::names::nearest;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// A scenario that cannot be run.
#[derive(Debug)]
pub enum ScenarioError {
    /// The file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why the operating system refused.
        source: io::Error,
    },
    /// Something in the file is wrong.
    Mistake {
        /// What.
        mistake: Box<Mistake>,
        /// The whole file.
        text: Arc<NamedSource<String>>,
        /// Where it stands.
        at: SourceSpan,
    },
}

/// One thing that is wrong with a scenario file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The file is not well-formed YAML.
    #[error("not readable as YAML: {said}")]
    Yaml {
        /// What the parser says.
        said: String,
    },
    /// A value of another kind.
    #[error("expected {expected}{}", found.as_ref().map(|found| format!(", found {found}")).unwrap_or_default())]
    WrongType {
        /// What would do.
        expected: String,
        /// What stands there, where known.
        found: Option<String>,
    },
    /// A key that has to be there is not.
    #[error("`{name}` is missing")]
    Missing {
        /// The key.
        name: &'static str,
    },
    /// A key that nothing reads.
    #[error("unknown key `{name}`")]
    UnknownKey {
        /// The key as written.
        name: String,
        /// Keys that would have done.
        known: Vec<&'static str>,
    },
    /// A step of a kind that does not exist.
    #[error("unknown step `{name}`")]
    UnknownStep {
        /// The kind as written.
        name: String,
        /// Kinds that exist.
        known: Vec<&'static str>,
    },
    /// A word where only certain words do.
    #[error("`{name}` is not known here")]
    UnknownWord {
        /// The word as written.
        name: String,
        /// Words that would have done.
        known: Vec<&'static str>,
    },
    /// A key stands twice in one map.
    #[error("duplicate key `{name}`")]
    DuplicateKey {
        /// The key.
        name: String,
    },
    /// A step with two kinds.
    #[error("a step has one kind")]
    TwoKinds,
    /// A name of something that does not exist at this point.
    #[error("unknown {what} `{name}`")]
    UnknownName {
        /// Kind of thing: `note`, `time zone`.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// What else helps.
        help: String,
    },
    /// Something is added that is already there.
    #[error("{what} `{name}` exists already")]
    Exists {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// What to do instead.
        help: &'static str,
    },
    /// A turn that cannot have happened yet.
    #[error("turn {turn} {why}")]
    NoSuchTurn {
        /// As written.
        turn: String,
        /// Why not.
        why: String,
    },
    /// A file that cannot be read.
    #[error("cannot read `{name}`")]
    File {
        /// As written.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// A file outside the scenario's folder.
    #[error("`{name}` lies outside the scenario's folder")]
    Outside {
        /// As written.
        name: String,
    },
    /// Too much of something.
    #[error("{what} is too large: the limit is {limit}")]
    TooLarge {
        /// What.
        what: String,
        /// The limit with its unit.
        limit: String,
    },
    /// A value of the right kind that makes no sense.
    #[error("{what} {said}")]
    Value {
        /// What: a key or a name, in backticks.
        what: String,
        /// What is wrong with it.
        said: String,
        /// What to do about it.
        help: Option<String>,
    },
}

impl Mistake {
    /// Shorthand for [`Mistake::Value`].
    pub(crate) fn value(what: impl Display, said: impl Into<String>) -> Self {
        Self::Value {
            what: what.to_string(),
            said: said.into(),
            help: None,
        }
    }

    /// The same with a help.
    #[must_use]
    pub(crate) fn helped(mut self, text: impl Into<String>) -> Self {
        if let Self::Value { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }

    /// Stable name of the kind of mistake.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Yaml { .. } => "scenario::yaml",
            Self::WrongType { .. } => "scenario::wrong_type",
            Self::Missing { .. } => "scenario::missing",
            Self::UnknownKey { .. } => "scenario::unknown_key",
            Self::UnknownStep { .. } => "scenario::unknown_step",
            Self::UnknownWord { .. } => "scenario::unknown_word",
            Self::DuplicateKey { .. } => "scenario::duplicate_key",
            Self::TwoKinds => "scenario::two_kinds",
            Self::UnknownName { .. } => "scenario::unknown_name",
            Self::Exists { .. } => "scenario::exists",
            Self::NoSuchTurn { .. } => "scenario::no_such_turn",
            Self::File { .. } => "scenario::file",
            Self::Outside { .. } => "scenario::outside",
            Self::TooLarge { .. } => "scenario::too_large",
            Self::Value { .. } => "scenario::value",
        }
    }

    fn label(&self) -> String {
        match self {
            Self::UnknownKey { .. } => "nothing reads this key".to_owned(),
            Self::UnknownStep { .. } => "no step has this name".to_owned(),
            Self::DuplicateKey { .. } => "stands here a second time".to_owned(),
            Self::Missing { .. } => "not in this map".to_owned(),
            Self::TwoKinds => "a second kind".to_owned(),
            Self::UnknownName { what, .. } => format!("no {what} of this name here"),
            Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "there is no such file".to_owned()
            }
            Self::File { source, .. } => source.to_string(),
            _ => "here".to_owned(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::UnknownKey { name, known } => Some(meant(name, known, "known keys")),
            Self::UnknownStep { name, known } => Some(meant(name, known, "known steps")),
            Self::UnknownWord { name, known } => Some(meant(name, known, "known words")),
            Self::UnknownName { nearest, help, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => help.clone(),
            })
            .filter(|help| !help.is_empty()),
            Self::TwoKinds => Some("begin the next step with `-`".to_owned()),
            Self::Exists { help, .. } => Some((*help).to_owned()),
            Self::File { .. } => {
                Some("files are looked for beside the file that names them".to_owned())
            }
            Self::Outside { .. } => Some(
                "move it there, or allow files from elsewhere with `--outside-folder`".to_owned(),
            ),
            Self::Value { help, .. } => help.clone(),
            _ => None,
        }
    }
}

fn meant(name: &str, known: &[&'static str], list: &str) -> String {
    if known.is_empty() {
        return "take it out".to_owned();
    }
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("{list}: {}", known.join(", ")),
    }
}

impl Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, .. } => write!(f, "cannot read `{}`", path.display()),
            Self::Mistake { mistake, .. } => Display::fmt(mistake, f),
        }
    }
}

impl Error for ScenarioError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            // The label says it, where it stands.
            Self::Mistake { .. } => None,
        }
    }
}

impl Diagnostic for ScenarioError {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(match self {
            Self::Read { .. } => "scenario::read",
            Self::Mistake { mistake, .. } => mistake.code(),
        }))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake { mistake, .. } => mistake
                .help()
                .map(|help| -> Box<dyn Display + 'a> { Box::new(help) }),
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake { text, .. } => Some(text.as_ref()),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Self::Read { .. } => None,
            Self::Mistake { mistake, at, .. } => Some(Box::new(std::iter::once(
                LabeledSpan::new_with_span(Some(mistake.label()), *at),
            ))),
        }
    }
}
