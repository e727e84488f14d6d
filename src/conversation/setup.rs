//! What a conversation is started with.

use super::nonce::{Nonce, NoncePlace};
use crate::chat::Wire;
use crate::context::registry::key;
use crate::context::view::Sample;
use crate::context::{Configuration, ContextError, Phrases, Setup, Strategy, changed, strategy};
use crate::scenario::model::{Action, Scenario};
use std::sync::Arc;

/// What strategies are started with, and the configurations that a scenario can
/// switch to.
///
/// The I/O behind it (the phrase file, the process of the user's own builder,
/// the file of bodies) belongs to whoever implements it.
pub trait Resources: Send + Sync {
    /// The configuration of that name.
    fn configuration(&self, name: &str) -> Option<Configuration>;

    /// What the configuration's strategy is started with, for the conversation
    /// of that name.
    ///
    /// # Errors
    ///
    /// [`ContextError`] where a builder cannot be started or a file not be read.
    fn setup(
        &self,
        configuration: &Configuration,
        conversation: &str,
    ) -> Result<Setup, ContextError>;
}

/// The built-in configurations and those that a scenario defines, with the
/// shipped phrases; no builder and no bodies.
#[derive(Debug)]
pub struct Shipped(pub Arc<Scenario>);

impl Resources for Shipped {
    fn configuration(&self, name: &str) -> Option<Configuration> {
        let Some(spec) = self.0.configurations.get(name) else {
            return Configuration::built_in(name);
        };
        Some(Configuration {
            name: name.to_owned(),
            base: strategy::find(&spec.base)?,
            options: spec.options.clone(),
        })
    }

    fn setup(&self, configuration: &Configuration, _: &str) -> Result<Setup, ContextError> {
        Ok(Setup {
            options: configuration.options.clone(),
            phrases: Arc::new(Phrases::default()),
            builder: None,
            bodies: Arc::new([]),
        })
    }
}

/// Which model answers a conversation, as strategies see it.
///
/// Strategies lay out for the model that the request goes to, so both follow from
/// this: a `model` step changes either both or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// Any that is asked for: this one until a `model` step names another. `None`
    /// where nobody has named one.
    Any(Option<Arc<str>>),
    /// This one. What a `model` step says is a label that changes nothing.
    One(Arc<str>),
}

impl Served {
    /// The model in use where the scenario has named `named`.
    pub(super) fn model(&self, named: Option<&Arc<str>>) -> Option<Arc<str>> {
        match self {
            Self::Any(first) => named.or(first.as_ref()).cloned(),
            Self::One(only) => Some(Arc::clone(only)),
        }
    }
}

/// What a conversation is started with.
pub struct ConversationSetup {
    /// Its name, unique in the run (`quickstart/dev/1`).
    pub name: Arc<str>,
    /// How prompts are built.
    pub configuration: Configuration,
    /// The target's wire, before the configuration's options change it.
    pub wire: Wire,
    /// The model that answers.
    pub served: Served,
    /// Its isolation nonce.
    pub nonce: Nonce,
    /// Where the nonce goes.
    pub place: NoncePlace,
    /// What strategies are started with.
    pub resources: Arc<dyn Resources>,
}

/// A strategy at work.
pub(super) struct Layout {
    pub(super) configuration: Configuration,
    pub(super) strategy: Box<dyn Strategy>,
    pub(super) wire: Wire,
}

impl Layout {
    pub(super) fn start(
        setup: &ConversationSetup,
        configuration: Configuration,
    ) -> Result<Self, ContextError> {
        let given = setup.resources.setup(&configuration, &setup.name)?;
        Ok(Self {
            strategy: configuration.base.begin(given)?,
            wire: configuration.options.applied_to(setup.wire),
            configuration,
        })
    }

    /// The sources that `action` changed, of those whose earlier text is written anew;
    /// `None` where that is not known.
    pub(super) fn rewrites(
        &self,
        action: &Action,
        before: &Sample,
        after: &Sample,
    ) -> Option<Vec<Arc<str>>> {
        let tells = self.configuration.base.tells?;
        let changed = match action {
            Action::Note(_) | Action::Url(_) | Action::Tab(_) => return None,
            Action::Set(_)
            | Action::Memory(_)
            | Action::System(_)
            | Action::Tools(_)
            | Action::Model(_)
            | Action::Wait(_)
            | Action::Idle(_) => changed(before, after),
            // What such a step changes is the conversation itself.
            _ => Vec::new(),
        };
        // Memory that is off is withheld from all of a request.
        let switched = before.memory.on != after.memory.on;
        let anew = |key: &Arc<str>| !tells(key) || (switched && **key == *key::MEMORY);
        Some(changed.into_iter().filter(anew).collect())
    }
}
