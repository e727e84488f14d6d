//! What each step does, seen through the requests that follow it.

use super::samples::*;
use super::{
    Conversation, ConversationSetup, Next, Nonce, NoncePlace, PurposeLabel, Reply, Served, Shipped,
};
use crate::chat::{Family, Ttl};
use crate::context::Configuration;
use crate::context::view::CompactionMode::{Coverage, Positional};
use crate::scenario::model::TurnRef::{Last, Number};
use crate::scenario::model::{Action, Attach, NoteEdit, Replies, SubagentStep, UserStep};
use std::sync::Arc;
use std::time::Duration;

fn looped(text: &str, rounds: &[&str]) -> Action {
    Action::User(Box::new(UserStep {
        rounds: rounds.iter().map(|id| round(id)).collect(),
        ..said(text)
    }))
}

/// The newest request's messages after `actions`.
fn last_lines(actions: Vec<Action>) -> Vec<String> {
    let requests = run(actions, "append-only");
    lines(&requests.last().unwrap().prompt)
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn each_step_leads_to_the_messages_that_a_person_expects() {
    let edit = |turn| Action::Edit {
        turn,
        user: Box::new(said("new")),
    };
    let again = |turn, reply: Option<&str>| Action::Regenerate {
        turn,
        reply: reply.map(Into::into),
    };
    let compacted = |keep, mode| Action::Compact(compact(keep, mode));
    let summary = "user: <ctx summary>\nWhat was said.\n</ctx>\n";
    let cases: Vec<(&str, Vec<Action>, Vec<String>)> = vec![
        (
            "a message follows the answer",
            vec![user("a"), user("b")],
            vec!["user: a".into(), "assistant: re a".into(), "user: b".into()],
        ),
        (
            "an edited message is a sibling of the old one",
            vec![user("a"), user("b"), edit(Number(2))],
            vec![
                "user: a".into(),
                "assistant: re a".into(),
                "user: new".into(),
            ],
        ),
        (
            "the first message can be edited",
            vec![user("a"), user("b"), edit(Number(1))],
            vec!["user: new".into()],
        ),
        (
            "a new answer stands under the same message",
            vec![user("a"), again(Last, None)],
            vec!["user: a".into()],
        ),
        (
            "the conversation goes on from the new answer",
            vec![user("a"), again(Number(1), Some("other")), user("b")],
            vec![
                "user: a".into(),
                "assistant: other".into(),
                "user: b".into(),
            ],
        ),
        (
            "a branch goes back to an older answer",
            vec![
                user("a"),
                again(Last, Some("other")),
                Action::Branch { from: Number(1) },
                user("b"),
            ],
            vec!["user: a".into(), "assistant: re a".into(), "user: b".into()],
        ),
        (
            "a compaction keeps the newest turns word for word",
            vec![user("a"), user("b"), compacted(1, Coverage), user("c")],
            vec![
                format!("{summary}b"),
                "assistant: re b".into(),
                "user: c".into(),
            ],
        ),
        (
            "a compaction may keep none",
            vec![user("a"), compacted(0, Coverage), user("b")],
            vec![format!("{summary}b")],
        ),
        (
            "a positional compaction keeps none",
            vec![user("a"), user("b"), compacted(2, Positional), user("c")],
            vec![format!("{summary}c")],
        ),
        (
            "with nothing to summarise nothing is compacted",
            vec![user("a"), compacted(1, Coverage), user("b")],
            vec!["user: a".into(), "assistant: re a".into(), "user: b".into()],
        ),
        (
            "a new chat begins empty",
            vec![user("a"), Action::NewChat, user("b")],
            vec!["user: b".into()],
        ),
        (
            "a turn of an older chat can be edited",
            vec![
                user("a"),
                Action::NewChat,
                user("b"),
                edit(Number(1)),
                user("c"),
            ],
            vec![
                "user: new".into(),
                "assistant: re new".into(),
                "user: c".into(),
            ],
        ),
        (
            "a saved and loaded chat goes on",
            vec![user("a"), Action::Reload, user("b")],
            vec!["user: a".into(), "assistant: re a".into(), "user: b".into()],
        ),
        (
            "a tool loop stays in the history",
            vec![looped("a", &["1"]), user("b")],
            vec![
                "user: a".into(),
                "assistant: Let me look.(calls find)".into(),
                "tool: result of 1".into(),
                "assistant: re a".into(),
                "user: b".into(),
            ],
        ),
    ];
    for (case, actions, expected) in cases {
        assert_eq!(last_lines(actions), expected, "{case}");
    }
}

#[test]
fn turns_and_requests_are_counted_in_the_order_in_which_they_happen() {
    let helper = Action::Subagent(Box::new(SubagentStep {
        task: "help".into(),
        skills: Vec::new(),
        retrieved: None,
        reply: "done".into(),
    }));
    let mut called = compact(0, Coverage);
    called.call = true;
    let actions = vec![
        helper.clone(),
        looped("a", &["1", "2"]),
        helper,
        Action::Edit {
            turn: Number(1),
            user: Box::new(said("b")),
        },
        Action::Compact(called),
        Action::Regenerate {
            turn: Last,
            reply: None,
        },
    ];
    let found: Vec<_> = run(actions, "inline")
        .iter()
        .map(|pending| (pending.turn, pending.request, pending.purpose.as_str()))
        .collect();
    let expected = [
        (0, 1, "subagent"),
        (1, 1, "send"),
        (1, 2, "send"),
        (1, 3, "send"),
        (1, 4, "subagent"),
        (2, 1, "send"),
        (2, 2, "summarise"),
        (3, 1, "regenerate"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_summary_that_is_asked_for_shows_the_whole_conversation() {
    let mut called = compact(0, Coverage);
    called.call = true;
    let requests = run(
        vec![user("a"), Action::Compact(called), user("b")],
        "append-only",
    );
    let asked = lines(&requests[1].prompt);
    assert_eq!(asked[..2], ["user: a", "assistant: re a"]);
    assert!(asked[2].starts_with("user: Summarise"), "{asked:?}");
    assert!(lines(&requests[2].prompt)[0].contains("What was said."));
}

#[test]
fn a_paused_tool_loop_resumes_behind_what_happened_meanwhile() {
    let during = steps(vec![set(|set| {
        set.artifacts = Some(Some(long("artifacts")));
    })]);
    let approve = Action::Approve { turn: Last, during };
    let actions = vec![looped("a", &["1"]), approve, user("b")];
    let requests = run(actions, "append-only");
    let found: Vec<_> = requests
        .iter()
        .map(|pending| (pending.turn, pending.purpose, pending.events.len()))
        .collect();
    let expected = [
        (1, PurposeLabel::Send, 0),
        (1, PurposeLabel::Resume, 2),
        (2, PurposeLabel::Send, 0),
    ];
    assert_eq!(found, expected);
    assert!(!rendered(&requests[1].prompt).contains("artifacts"));
    assert!(rendered(&requests[2].prompt).contains("<ctx artifacts"));
}

#[test]
fn events_stand_on_the_request_that_follows_them() {
    let actions = vec![
        Action::Wait(Duration::from_mins(1)),
        user("a"),
        remember("name", "Ada"),
        remember("city", "Rome"),
        looped("b", &["1"]),
    ];
    let found: Vec<Vec<usize>> = run(actions, "inline")
        .iter()
        .map(|pending| pending.events.iter().map(|event| event.line).collect())
        .collect();
    assert_eq!(found, [vec![1], vec![3, 4], vec![]]);
}

#[test]
fn a_message_is_sent_before_its_step_moves_the_clock() {
    let actions = vec![
        user("a"),
        user("b"),
        Action::Wait(Duration::from_secs(1)),
        Action::Edit {
            turn: Last,
            user: Box::new(said("c")),
        },
        user("d"),
    ];
    let requests = run(actions, "inline");
    let start = requests[0].scenario_ms;
    let offsets: Vec<i64> = requests
        .iter()
        .map(|pending| pending.scenario_ms - start)
        .collect();
    assert_eq!(start, 1_792_141_200_000, "2026-10-16 09:00 UTC");
    assert_eq!(offsets, [0, 47_313, 95_626, 142_939]);
}

#[test]
fn what_was_attached_stays_as_it_was() {
    let attached = Action::User(Box::new(UserStep {
        attach: vec![Attach::Note {
            path: "spec.md".into(),
            active: false,
        }],
        ..said("a")
    }));
    let rewritten = Action::Note(vec![("spec.md".into(), NoteEdit::Write("other".into()))]);
    for configuration in ["inline", "append-only"] {
        let requests = run(
            vec![attached.clone(), rewritten.clone(), user("b")],
            configuration,
        );
        let first = lines(&requests[0].prompt)[0].clone();
        assert!(first.contains("spec.md: filler"), "{first}");
        assert_eq!(lines(&requests[1].prompt)[0], first);
    }
}

#[test]
fn live_answers_enter_the_history_and_scripted_ones_ignore_them() {
    for (replies, expected) in [
        (Replies::Scripted, "assistant: re a"),
        (Replies::Live, "assistant: own words"),
    ] {
        let mut scenario = scenario(vec![user("a"), user("b")]);
        scenario.replies = replies;
        let requests = run_with(start(scenario, "inline"), "own words");
        assert_eq!(lines(&requests[1].prompt)[1], expected);
        assert_eq!(requests[0].live, replies == Replies::Live);
    }
}

#[test]
fn a_failed_turn_goes_on_with_the_script_and_ends_a_live_conversation() {
    let actions = vec![looped("a", &["1", "2"]), user("b")];
    for (replies, goes_on) in [(Replies::Scripted, true), (Replies::Live, false)] {
        let mut scenario = scenario(actions.clone());
        scenario.replies = replies;
        let mut conversation = start(scenario, "inline");
        let Some(Next::Request(_)) = conversation.next().unwrap() else {
            panic!("no request");
        };
        assert_eq!(conversation.fail(), goes_on);
        match conversation.next().unwrap() {
            Some(Next::Request(pending)) => {
                assert_eq!((pending.turn, pending.request), (2, 1));
                assert_eq!(lines(&pending.prompt)[5], "assistant: re a");
                assert!(goes_on);
            }
            other => assert!(other.is_none() && !goes_on),
        }
    }
}

#[test]
fn a_pause_in_real_time_is_handed_out() {
    let pause = Duration::from_hours(26);
    let mut conversation = start(scenario(vec![Action::Idle(pause), user("a")]), "inline");
    match conversation.next().unwrap() {
        Some(Next::Idle(time)) => assert_eq!(time, pause),
        other => panic!("no pause: {other:?}"),
    }
}

#[test]
fn a_layout_can_be_switched_in_the_middle() {
    let actions = vec![
        user("a"),
        Action::Configuration("append-only".into()),
        user("b"),
    ];
    let requests = run(actions, "inline");
    let names: Vec<&str> = requests
        .iter()
        .map(|pending| &*pending.configuration)
        .collect();
    assert_eq!(names, ["inline", "append-only"]);

    let actions = vec![
        user("a"),
        Action::Configuration("nothing".into()),
        user("b"),
    ];
    let mut conversation = start(scenario(actions), "inline");
    conversation.next().unwrap();
    let error = conversation.next().unwrap_err();
    assert_eq!(error.to_string(), "unknown configuration `nothing`");
    assert!(conversation.next().unwrap().is_none(), "it is over");
}

#[test]
fn what_is_laid_out_for_is_what_is_asked_for() {
    let named = |text: &str| Some(Arc::<str>::from(text));
    let cases = [
        (Served::Any(None), [None, named("second")], 0),
        (
            Served::Any(named("first")),
            [named("first"), named("second")],
            0,
        ),
        (
            Served::One("only".into()),
            [named("only"), named("only")],
            1,
        ),
    ];
    for (served, models, warnings) in cases {
        let actions = vec![user("a"), Action::Model("second".into()), user("b")];
        let configuration = Configuration::built_in("copilot-4").unwrap();
        let family = Family::Compatible;
        let said = format!("{served:?}");
        let requests = run_with(
            start_with(scenario(actions), configuration, family, served),
            "x",
        );
        let found = requests.iter().map(|pending| pending.model.clone());
        assert_eq!(found.collect::<Vec<_>>(), models, "{said}");
        let told = &requests[1].prompt.warnings;
        assert_eq!(told.len(), warnings, "{told:?}");
    }
}

#[test]
fn strategies_see_the_model_that_is_asked_before_any_step_names_one() {
    let marked = |served: Served| {
        let configuration = Configuration::built_in("turn-context").unwrap();
        let actions = scenario(vec![user("a")]);
        let conversation = start_with(actions, configuration, Family::Bedrock, served);
        let prompt = run_with(conversation, "x").swap_remove(0).prompt;
        let ttl = prompt.system[0].marker.map(|marker| marker.ttl);
        (prompt.tools[0].marker.is_some(), ttl)
    };
    let nova = Arc::<str>::from("amazon.nova-pro");
    let hour = (true, Some(Ttl::Hour));
    let five = (false, Some(Ttl::FiveMinutes));
    assert_eq!(marked(Served::Any(None)), hour, "taken for Claude");
    assert_eq!(marked(Served::Any(Some(Arc::clone(&nova)))), five);
    assert_eq!(marked(Served::One(nova)), five);
    assert_eq!(marked(Served::One("anthropic.claude-5".into())), hour);
}

#[test]
fn nonce_and_hints_are_put_in_below_the_strategy() {
    let scenario = Arc::new(scenario(vec![user("a")]));
    let mut configuration = Configuration::built_in("append-only").unwrap();
    configuration.options.prompt_cache_key = Some("key-{conversation}".to_owned());
    configuration.options.affinity_header = Some("x-session".to_owned());
    let setup = ConversationSetup {
        name: "test/7".into(),
        configuration,
        wire: Family::Openai.wire(),
        served: Served::Any(None),
        nonce: Nonce::parse("12345678").unwrap(),
        place: NoncePlace::Tools,
        resources: Arc::new(Shipped(Arc::clone(&scenario))),
    };
    let mut conversation = Conversation::new(scenario, setup).unwrap();
    let Some(Next::Request(pending)) = conversation.next().unwrap() else {
        panic!("no request");
    };
    let hints = &pending.prompt.hints;
    assert_eq!(hints.prompt_cache_key.as_deref(), Some("key-test/7"));
    assert_eq!(
        hints.affinity,
        [("x-session".to_owned(), "test/7".to_owned())]
    );
    let first = &pending.prompt.tools[0].description[0];
    assert_eq!(
        (first.origin.as_str(), &*first.text),
        ("nonce", "1 2 3 4 5 6 7 8\n\n")
    );
}

#[test]
fn the_tree_can_be_written_out() {
    let actions = vec![user("a"), user("b"), Action::Compact(compact(1, Coverage))];
    let mut conversation = start(scenario(actions), "inline");
    while conversation.next().unwrap().is_some() {
        conversation.answer(Reply::default());
    }
    let state = conversation.stored_state();
    let messages = state["chats"][0]["messages"].as_array().unwrap();
    let found: Vec<(&str, Option<u64>)> = messages
        .iter()
        .map(|node| (node["kind"].as_str().unwrap(), node["parent"].as_u64()))
        .collect();
    let expected = [
        ("user", None),
        ("assistant", Some(0)),
        ("user", Some(1)),
        ("assistant", Some(2)),
        ("summary", Some(3)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_conversation_can_be_driven_from_any_thread() {
    fn takes<T: Send + 'static>(_: T) {}
    takes(start(scenario(vec![user("a")]), "inline"));
}

#[test]
fn keys_and_headers_that_pin_a_conversation_are_set_once_in_every_layout() {
    use crate::context::{Options, STRATEGIES};
    let heeding = STRATEGIES
        .iter()
        .filter(|kind| kind.options.contains(&"affinity_header"))
        .filter(|kind| !matches!(kind.name, "external" | "raw"));
    for kind in heeding {
        let scenario = Arc::new(scenario(vec![user("a")]));
        let mut configuration = Configuration::built_in(kind.name).unwrap();
        configuration.options = Options {
            prompt_cache_key: Some("user-{conversation}".to_owned()),
            affinity_header: Some("x-session".to_owned()),
            ..Options::default()
        };
        let setup = ConversationSetup {
            name: "test/1".into(),
            configuration,
            wire: Family::Openai.wire(),
            served: Served::Any(None),
            nonce: Nonce::ZERO,
            place: NoncePlace::Nowhere,
            resources: Arc::new(Shipped(Arc::clone(&scenario))),
        };
        let requests = run_with(Conversation::new(scenario, setup).unwrap(), "x");
        let hints = &requests[0].prompt.hints;
        let name = kind.name;
        assert_eq!(
            hints.prompt_cache_key.as_deref(),
            Some("user-test/1"),
            "{name}"
        );
        let pin = [("x-session".to_owned(), "test/1".to_owned())];
        assert_eq!(hints.affinity, pin, "{name}");
    }
}
