//! What strategies store, when, and who sees it again.

use super::samples::*;
use super::{Conversation, ConversationSetup, Next, Nonce, NoncePlace, Resources};
use crate::chat::{Class, Family, Message, Prompt, Role, Span};
use crate::context::view::CompactionMode::Coverage;
use crate::context::view::{Link, Purpose, Sample};
use crate::context::{
    Chain, Configuration, ContextError, Options, Phrases, Plan, Setup, Stored, Strategy,
    StrategyKind,
};
use crate::scenario::model::TurnRef::{Last, Number};
use crate::scenario::model::{Action, UserStep};
use std::sync::Arc;

/// Stores something on every message and wherever it finds no anchor; its
/// prompt says what it found.
#[derive(Default)]
struct Witness {
    planned: usize,
    observed: usize,
}

impl Strategy for Witness {
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        self.planned += 1;
        assert_eq!(*chain.purpose, Purpose::Send);
        assert_eq!(chain.live, &*chain.newest().unwrap().sample);
        Ok(Plan {
            message: Some(Stored::Seen),
            anchor: anchor(chain).is_none().then_some(Stored::Seen),
            warnings: vec![format!("planned {}", self.planned)],
        })
    }

    fn observe(&mut self, _: &str, _: &Sample) -> Result<(), ContextError> {
        self.observed += 1;
        Ok(())
    }

    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let stored = chain.users().filter(|turn| turn.stored.is_some()).count();
        let text = format!(
            "{} planned, {} observed, {stored} of {} stored, anchor {}, rebuilt {}, reloaded {}",
            self.planned,
            self.observed,
            chain.users().count(),
            anchor(chain).is_some(),
            chain.rebuilt,
            chain.reloaded,
        );
        let span = Span::new("witness", Class::Turn, text);
        Ok(Prompt {
            messages: vec![Message::text(Role::User, vec![span])],
            ..Prompt::default()
        })
    }
}

/// The anchor of the segment that the chain ends in.
fn anchor<'a>(chain: &Chain<'a>) -> Option<&'a Stored> {
    match chain.boundary() {
        Some((_, compaction)) => compaction.stored.as_ref(),
        None => chain.anchor,
    }
}

static WITNESS: StrategyKind = StrategyKind {
    name: "witness",
    about: "says what it sees",
    options: &[],
    compacts: false,
    tells: None,
    start: |_| Ok(Box::new(Witness::default())),
};

fn witness() -> Configuration {
    Configuration {
        name: "witness".to_owned(),
        base: &WITNESS,
        options: Options::default(),
    }
}

struct Known;

impl Resources for Known {
    fn configuration(&self, name: &str) -> Option<Configuration> {
        (name == "witness")
            .then(witness)
            .or_else(|| Configuration::built_in(name))
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

fn conversation(actions: Vec<Action>) -> Conversation {
    let setup = ConversationSetup {
        name: "test/1".into(),
        configuration: witness(),
        wire: Family::Compatible.wire(),
        served: super::Served::Any(None),
        nonce: Nonce::ZERO,
        place: NoncePlace::Nowhere,
        resources: Arc::new(Known),
    };
    Conversation::new(Arc::new(scenario(actions)), setup).unwrap()
}

fn seen(actions: Vec<Action>) -> String {
    let requests = run_with(conversation(actions), "x");
    text_of(&requests.last().unwrap().prompt.messages[0].blocks)
}

#[test]
fn a_strategy_plans_once_for_each_message_and_sees_what_it_stored() {
    let edit = |turn| Action::Edit {
        turn,
        user: Box::new(said("new")),
    };
    let again = |turn| Action::Regenerate { turn, reply: None };
    let looped = Action::User(Box::new(UserStep {
        rounds: vec![round("1")],
        ..said("b")
    }));
    let approve = Action::Approve {
        turn: Last,
        during: steps(vec![remember("a", "b")]),
    };
    let summary = || Action::Compact(compact(0, Coverage));
    let cases = [
        (
            "two messages",
            vec![user("a"), user("b")],
            "2 planned, 2 observed, 2 of 2 stored, anchor true, rebuilt 0, reloaded 0",
        ),
        (
            "a regeneration plans nothing",
            vec![user("a"), user("b"), again(Number(2))],
            "2 planned, 3 observed, 2 of 2 stored, anchor true, rebuilt 1, reloaded 0",
        ),
        (
            "an edited message is planned",
            vec![user("a"), user("b"), edit(Number(2))],
            "3 planned, 3 observed, 2 of 2 stored, anchor true, rebuilt 1, reloaded 0",
        ),
        (
            "a resumed turn plans nothing",
            vec![user("a"), looped, approve],
            "2 planned, 4 observed, 2 of 2 stored, anchor true, rebuilt 0, reloaded 0",
        ),
        (
            "a compaction opens a segment with an anchor of its own",
            vec![user("a"), summary(), user("b")],
            "2 planned, 3 observed, 2 of 2 stored, anchor true, rebuilt 0, reloaded 0",
        ),
        (
            "a new chat has nothing stored",
            vec![user("a"), Action::NewChat, user("b")],
            "2 planned, 3 observed, 1 of 1 stored, anchor true, rebuilt 0, reloaded 0",
        ),
        (
            "what is stored survives a reload",
            vec![user("a"), user("b"), Action::Reload, again(Last)],
            "2 planned, 4 observed, 2 of 2 stored, anchor true, rebuilt 1, reloaded 1",
        ),
        (
            "messages of another layout have nothing stored",
            vec![
                Action::Configuration("inline".into()),
                user("a"),
                Action::Configuration("witness".into()),
                user("b"),
            ],
            "1 planned, 2 observed, 1 of 2 stored, anchor true, rebuilt 0, reloaded 0",
        ),
    ];
    for (case, actions, expected) in cases {
        assert_eq!(seen(actions), expected, "{case}");
    }
}

#[test]
fn anchors_stand_where_their_segment_begins() {
    let mut conversation = conversation(vec![
        user("a"),
        Action::Compact(compact(0, Coverage)),
        user("b"),
        user("c"),
    ]);
    while conversation.next().unwrap().is_some() {}
    let state = conversation.stored_state();
    let chat = &state["chats"][0];
    assert_eq!(chat["anchors"], serde_json::json!([{"witness": "seen"}]));
    let messages = chat["messages"].as_array().unwrap();
    let anchored: Vec<&str> = messages
        .iter()
        .filter(|node| node["anchors"] != serde_json::json!([]))
        .map(|node| node["kind"].as_str().unwrap())
        .collect();
    assert_eq!(anchored, ["summary"]);
}

#[test]
fn what_planning_warns_of_goes_out_once() {
    let looped = Action::User(Box::new(UserStep {
        rounds: vec![round("1")],
        ..said("a")
    }));
    let mut conversation = conversation(vec![looped]);
    let mut warnings = Vec::new();
    while let Some(Next::Request(pending)) = conversation.next().unwrap() {
        warnings.push(pending.prompt.warnings);
    }
    assert_eq!(warnings, [vec!["planned 1".to_owned()], vec![]]);
}

#[test]
fn a_sample_is_the_state_at_the_send() {
    let links = |chain: &Chain<'_>| {
        chain
            .links
            .iter()
            .filter(|l| matches!(l, Link::User(_)))
            .count()
    };
    let mut conversation = conversation(vec![user("a"), remember("k", "v"), user("b")]);
    while conversation.next().unwrap().is_some() {}
    let ask = conversation.looking_at(0);
    let live = conversation.sample(0);
    let entries: Vec<usize> = conversation.with_chain(&ask, &live, |_, chain| {
        assert_eq!(links(chain), 2);
        chain
            .users()
            .map(|turn| turn.sample.memory.entries.len())
            .collect()
    });
    assert_eq!(entries, [0, 1]);
}
