//! The seam between a conversation and a way of building prompts.

use super::configuration::Options;
use super::phrases::Phrases;
use super::stored::Stored;
use super::view::{Chain, Sample};
use crate::chat::{Prompt, Text};
use std::sync::Arc;
use thiserror::Error;

/// A prompt that could not be built.
#[derive(Debug, Error)]
pub enum ContextError {
    /// The user's own builder failed.
    #[error("external builder {said}")]
    External {
        /// What happened, with the builder's own words where it gave any.
        said: String,
    },
    /// A file of finished bodies has too few of them, or one is unusable.
    #[error("raw bodies: {said}")]
    Raw {
        /// What is wrong and where.
        said: String,
    },
    /// A configuration that nobody defined.
    #[error("unknown configuration `{name}`")]
    UnknownConfiguration {
        /// The name as written.
        name: String,
    },
    /// The strategy cannot render this.
    #[error("`{strategy}` cannot render {what}")]
    Unsupported {
        /// The strategy.
        strategy: &'static str,
        /// What it cannot render.
        what: String,
    },
}

/// What a strategy wants kept when a message is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// On the user message.
    pub message: Option<Stored>,
    /// On the opening of the segment: the newest summary on the chain, or the
    /// chat itself. Written only where nothing of this kind is there yet.
    pub anchor: Option<Stored>,
    /// What a person should know; lowercase sentences without a full stop.
    pub warnings: Vec<String>,
}

/// A way of building prompts, for one conversation.
pub trait Strategy: Send {
    /// Decides, once, when the chain's newest message is sent, what is stored
    /// with it. Never called for a regeneration, a resumed turn or a retry.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where the user's own builder fails.
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        let _ = chain;
        Ok(Plan::default())
    }

    /// Hears that a step of the scenario happened; `live` is the state of the
    /// sources after it. Only the user's own builder cares.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where the user's own builder fails.
    fn observe(&mut self, label: &str, live: &Sample) -> Result<(), ContextError> {
        let _ = (label, live);
        Ok(())
    }

    /// The prompt of the chain's next request.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where the user's own builder or file fails.
    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError>;
}

/// Talks to the user's own builder: a line of JSON there, a line of JSON back.
///
/// The process behind it is started below this module, so that strategies stay
/// pure and tests can put a function in its place.
pub trait Builder: Send {
    /// Sends a line and waits for the answering one, both without line ends.
    ///
    /// # Errors
    ///
    /// A sentence that says what happened (died, timed out, said nothing) with
    /// the process's own last words.
    fn ask(&mut self, line: &str) -> Result<String, String>;
}

/// What a strategy is started with.
pub struct Setup {
    /// Options of the configuration.
    pub options: Options,
    /// Fixed wording around content.
    pub phrases: Arc<Phrases>,
    /// The user's own builder, for `external`.
    pub builder: Option<Box<dyn Builder>>,
    /// The user's finished bodies, for `raw`: one a turn.
    pub bodies: Arc<[Text]>,
}

/// A line of the registry.
pub struct StrategyKind {
    /// Name by which configurations choose it; lowercase, unique.
    pub name: &'static str,
    /// One sentence for `prefixbench list configurations`.
    pub about: &'static str,
    /// Names of the options that it reads; any other that is set is refused.
    pub options: &'static [&'static str],
    /// Whether it heeds the option `window` itself. For any other strategy that
    /// reads it the conversation puts a compaction in front of a message.
    pub compacts: bool,
    /// Of which sources a change is told in a message, by their keys, so that what was
    /// written of them before stays as it is. `None` where that is not known.
    pub tells: Option<fn(&str) -> bool>,
    /// Starts it for one conversation.
    pub start: fn(Setup) -> Result<Box<dyn Strategy>, ContextError>,
}

impl StrategyKind {
    /// Starts the strategy for one conversation.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where an option is set that it does not read, or where
    /// it cannot be started.
    pub fn begin(&self, setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        let given = setup.options.given();
        match given.iter().find(|name| !self.options.contains(name)) {
            None => (self.start)(setup),
            Some(name) => Err(ContextError::Unsupported {
                strategy: self.name,
                what: format!("the option `{name}`; it reads {}", self.options.join(", ")),
            }),
        }
    }
}

/// Every strategy that a configuration can name.
pub static STRATEGIES: &[StrategyKind] = &[
    super::inline::KIND,
    super::turn::DEV,
    super::turn::LEVER_OFF,
    super::turn::PARTS,
    super::turn::TURN_CONTEXT,
    super::layered::LAYERED,
    super::layered::COPILOT_3_1,
    super::layered::COPILOT_4,
    super::append_only::KIND,
    super::external::KIND,
    super::raw::KIND,
];

/// The strategy of that name.
pub fn find(name: &str) -> Option<&'static StrategyKind> {
    STRATEGIES.iter().find(|kind| kind.name == name)
}
