//! What the embedded server can be told to do wrong.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Defines [`Fault`] and [`FAULTS`] from one line a fault.
macro_rules! faults {
    ($($(#[doc = $doc:literal])* $fault:ident = $name:literal;)+) => {
        /// Something that a server does wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[doc = $doc])* $fault,)+
        }

        /// Every fault: its name, and what it does.
        pub static FAULTS: &[(&str, Fault, &str)] = &[
            $(($name, Fault::$fault, concat!($($doc),*).trim_ascii()),)+
        ];
    };
}

faults! {
    /// Refuses with 401.
    Unauthorized = "401";
    /// Refuses with 429 and `Retry-After: 1`.
    RateLimited = "429";
    /// Refuses with 500.
    Internal = "500";
    /// Refuses with 503.
    Unavailable = "503";
    /// Refuses with 529, Anthropic's way of being overloaded.
    Overloaded = "529";
    /// Breaks the connection off after half of the answer.
    Cut = "cut";
    /// Resets the connection after half of the answer; then every connection that breaks is reset.
    Reset = "reset";
    /// Sends an error event after half of the answer and ends.
    StreamError = "stream-error";
    /// Sends the first half and then nothing, with the connection open.
    Hang = "hang";
    /// Sends no usage at all.
    NoUsage = "no-usage";
    /// Sends an event that is no JSON in the middle of the stream.
    Garbage = "garbage";
    /// Sends a line of 64 MiB in the middle of the stream.
    LongLine = "long-line";
    /// Thinks first: the first half of a chat answer comes as reasoning.
    Reasoning = "reasoning";
    /// Leaves the end marker of the stream out.
    NoDone = "no-done";
    /// Ends lines with CR LF.
    Crlf = "crlf";
    /// Sends a comment before each event.
    Comments = "comments";
    /// Leaves out the blank behind `data:`.
    NoSpace = "no-space";
    /// Puts usage on the chunk that has the finish reason.
    UsageOnFinish = "usage-on-finish";
    /// Sends the opening events at once, long before the first token.
    RoleGap = "role-gap";
    /// Reports ten more tokens read than the prompt has.
    OverReport = "over-report";
    /// Sends usage without any cache count.
    NoDetails = "no-details";
    /// Is ten times as slow.
    Slow = "slow";
    /// Sends every write in two halves.
    Split = "split";
    /// Answers what was asked before from a cache of answers, as a gateway may: the same id and
    /// counts again, and a header that says so.
    AnswerCache = "answer-cache";
}

impl Fault {
    /// The status of a refusal; `None` for a fault inside an answer.
    pub(super) fn status(self) -> Option<u16> {
        match self {
            Self::Unauthorized => Some(401),
            Self::RateLimited => Some(429),
            Self::Internal => Some(500),
            Self::Unavailable => Some(503),
            Self::Overloaded => Some(529),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = FAULTS.iter().find(|(_, fault, _)| fault == self);
        f.pad(named.map_or("", |(name, ..)| name))
    }
}

/// A fault that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FaultError {
    /// There is no such fault.
    #[error("unknown fault `{name}` (known: {})", known())]
    Unknown {
        /// The name as written.
        name: String,
    },
    /// What stands behind the colon is no number from 1.
    #[error("`{every}` in `{written}` is no number of requests from 1")]
    Every {
        /// The number as written.
        every: String,
        /// The whole.
        written: String,
    },
}

fn known() -> String {
    let names: Vec<String> = FAULTS
        .iter()
        .map(|(name, ..)| format!("`{name}`"))
        .collect();
    names.join(", ")
}

/// Faults, each at every so manieth request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<(Fault, u64)>);

impl Faults {
    /// Adds a fault at every `every`th request; 0 counts as 1.
    #[must_use]
    pub fn with(mut self, fault: Fault, every: u64) -> Self {
        self.0.push((fault, every.max(1)));
        self
    }

    /// Adds a fault as it is written: `429:3`, or `crlf` for every request.
    ///
    /// # Errors
    ///
    /// [`FaultError`] for an unknown name or a number below 1.
    pub fn with_written(self, written: &str) -> Result<Self, FaultError> {
        let (name, every) = written.split_once(':').unwrap_or((written, "1"));
        let number = every.parse().ok().filter(|&every| every > 0);
        let number = number.ok_or_else(|| FaultError::Every {
            every: every.to_owned(),
            written: written.to_owned(),
        })?;
        Ok(self.with(name.parse()?, number))
    }

    /// Whether request `number`, counted from 1, has `fault`.
    pub(super) fn has(&self, fault: Fault, number: u64) -> bool {
        let mut mine = self.0.iter().filter(|(known, _)| *known == fault);
        mine.any(|(_, every)| number.is_multiple_of(*every))
    }

    /// Whether `fault` comes at all.
    pub(super) fn any(&self, fault: Fault) -> bool {
        self.0.iter().any(|(known, _)| *known == fault)
    }

    /// The status with which request `number` is refused, the first given first.
    pub(super) fn refusal(&self, number: u64) -> Option<u16> {
        let mut due = self
            .0
            .iter()
            .filter(|(_, every)| number.is_multiple_of(*every));
        due.find_map(|(fault, _)| fault.status())
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(name: &str) -> Result<Self, FaultError> {
        let named = FAULTS.iter().find(|(known, ..)| *known == name);
        let fault = named.map(|(_, fault, _)| *fault);
        fault.ok_or_else(|| FaultError::Unknown {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_comes_at_every_nth_request() {
        let faults = Faults::default()
            .with_written("429:3")
            .and_then(|faults| faults.with_written("crlf"))
            .expect("known");
        let refused: Vec<_> = (1..=6).map(|number| faults.refusal(number)).collect();
        assert_eq!(refused, [None, None, Some(429), None, None, Some(429)]);
        assert!(faults.has(Fault::Crlf, 1) && !faults.has(Fault::Cut, 1));
    }

    #[test]
    fn faults_have_unique_names_and_help_and_read_back() {
        for (name, fault, help) in FAULTS {
            assert_eq!(name.parse(), Ok(*fault));
            assert_eq!(fault.to_string(), *name);
            assert!(help.ends_with('.'), "{name}: {help}");
        }
        let wrong = Faults::default().with_written("429:0").expect_err("zero");
        assert_eq!(
            wrong.to_string(),
            "`0` in `429:0` is no number of requests from 1"
        );
        let wrong = Faults::default().with_written("fire").expect_err("unknown");
        assert!(wrong.to_string().starts_with("unknown fault `fire`"));
    }
}
