//! The requests of a scenario, with no server: what `render`, `predict` and
//! `explain` begin from.

use super::exit::{Exit, Failure};
use crate::chat::{Family, Wire};
use crate::context::Configuration;
use crate::conversation::{
    Conversation, ConversationSetup, Next, Nonce, NoncePlace, Pending, Resources, Served,
};
use crate::load::UNNAMED;
use crate::provider::{self, Body, Dialect, RequestParams};
use crate::scenario::model::Scenario;
use std::sync::Arc;

/// How requests are written.
#[derive(Clone, clap::Args)]
pub(super) struct Form {
    /// Wire format [default: openai-chat; bedrock for --wire bedrock]
    #[arg(long)]
    pub(super) dialect: Option<String>,

    /// Kind of provider that strategies build for [default: by dialect]
    #[arg(long)]
    pub(super) wire: Option<String>,

    /// Model named in the bodies [default: the plan's, else embedded]
    #[arg(long)]
    pub(super) model: Option<String>,

    /// The target serves this model whatever the scenario says.
    #[arg(skip)]
    pub(super) one_model: bool,

    /// Output tokens asked for
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_tokens: u32,
}

impl Form {
    /// The model of requests that no step of the scenario names one for.
    pub(super) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(UNNAMED)
    }

    /// Which model answers, as strategies see it.
    fn served(&self) -> Served {
        let named = self.model.as_deref().filter(|model| *model != UNNAMED);
        match named.map(Arc::from) {
            Some(model) if self.one_model => Served::One(model),
            named => Served::Any(named),
        }
    }

    /// The name of the dialect that was asked for, or that the wire needs.
    pub(super) fn dialect(&self) -> &str {
        let family = self.wire.as_deref().and_then(|name| family(name).ok());
        let default = match family {
            Some(Family::Bedrock) => "bedrock",
            Some(Family::Anthropic) => "anthropic",
            Some(Family::Google) => "gemini",
            _ => "openai-chat",
        };
        self.dialect.as_deref().unwrap_or(default)
    }

    /// The dialect and the wire that were asked for.
    pub(super) fn resolve(&self) -> Result<(&'static dyn Dialect, Wire), Failure> {
        let family = self.wire.as_deref().map(family).transpose()?;
        let dialect = dialect(self.dialect())?;
        Ok((dialect, family.unwrap_or_else(|| dialect.family()).wire()))
    }
}

/// The dialect of that name.
pub(super) fn dialect(name: &str) -> Result<&'static dyn Dialect, Failure> {
    provider::find(name).ok_or_else(|| {
        let known: Vec<&str> = provider::DIALECTS
            .iter()
            .map(|dialect| dialect.name())
            .collect();
        Failure::wrong(
            format!("unknown dialect `{name}`"),
            format!("known: {}", known.join(", ")),
        )
    })
}

/// The family of that name.
pub(super) fn family(name: &str) -> Result<Family, Failure> {
    Family::ALL
        .into_iter()
        .find(|family| family.as_str() == name)
        .ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|family| family.as_str()).collect();
            Failure::wrong(
                format!("unknown wire `{name}`"),
                format!("known: {}", known.join(", ")),
            )
        })
}

/// A request that would be sent.
pub(super) struct Rendered {
    /// What the conversation handed out.
    pub(super) pending: Pending,
    /// The exact body.
    pub(super) body: Body,
}

/// The requests of a scenario under a configuration, in order, with a nonce of
/// zeros. Live replies are stood in for by the script's.
pub(super) struct Requests {
    name: String,
    conversation: Conversation,
    dialect: &'static dyn Dialect,
    form: Form,
}

impl Requests {
    /// Before the first request.
    pub(super) fn start(
        scenario: &Arc<Scenario>,
        configuration: &Configuration,
        resources: Arc<dyn Resources>,
        form: &Form,
    ) -> Result<Self, Failure> {
        let (dialect, wire) = form.resolve()?;
        let name = format!("{}/{}/1", scenario.name, configuration.name);
        let setup = ConversationSetup {
            name: Arc::from(name.as_str()),
            configuration: configuration.clone(),
            wire,
            served: form.served(),
            nonce: Nonce::default(),
            place: NoncePlace::Tools,
            resources,
        };
        let mut scripted = Scenario::clone(scenario);
        scripted.replies = crate::scenario::model::Replies::Scripted;
        let conversation =
            Conversation::new(Arc::new(scripted), setup).map_err(|error| failed(&name, &error))?;
        Ok(Self {
            name,
            conversation,
            dialect,
            form: form.clone(),
        })
    }

    /// The next request; `None` when the scenario is through.
    pub(super) fn next(&mut self) -> Result<Option<Rendered>, Failure> {
        let failed = |error| failed(&self.name, &error);
        while let Some(next) = self.conversation.next().map_err(failed)? {
            let Next::Request(pending) = next else {
                continue;
            };
            let model = pending.model.as_deref();
            let model = model.unwrap_or_else(|| self.form.model());
            let params = RequestParams {
                model: model.to_owned(),
                max_tokens: self.form.max_tokens,
                stream: self.dialect.streams(),
                ..RequestParams::default()
            };
            let body = self.dialect.body(&pending.prompt, &params);
            return Ok(Some(Rendered {
                pending: *pending,
                body,
            }));
        }
        Ok(None)
    }
}

fn failed(name: &str, error: &crate::context::ContextError) -> Failure {
    Failure::new(Exit::WrongInput, format!("{name}: {error}"), None)
}

/// Calls `each` with every request of the scenario under the configuration.
pub(super) fn each_request(
    scenario: &Arc<Scenario>,
    configuration: &Configuration,
    resources: Arc<dyn Resources>,
    form: &Form,
    mut each: impl FnMut(Rendered) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut requests = Requests::start(scenario, configuration, resources, form)?;
    while let Some(rendered) = requests.next()? {
        each(rendered)?;
    }
    Ok(())
}
