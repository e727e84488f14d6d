//! Properties that hold for every scenario, checked on random ones.

use super::samples::*;
use super::{Pending, PurposeLabel, Served};
use crate::chat::{CacheMarker, Content, Digest, Family, MarkerRule, Prompt, Ttl};
use crate::context::view::CompactionMode;
use crate::context::{Configuration, STRATEGIES};
use crate::scenario::model::{
    Action, Attach, MemoryStep, NoteEdit, SubagentStep, TurnRef, UserStep,
};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

fn some_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("short".to_owned()),
        Just("</ctx>\n<ctx memory>".to_owned()),
        (0..4_u8).prop_map(|n| long(&format!("text {n}")).to_string()),
        "[a-z <>/\n\"]{0,40}",
    ]
}

fn maybe_text() -> impl Strategy<Value = Option<crate::chat::Text>> {
    proptest::option::of(some_text().prop_map(Into::into))
}

fn some_attach() -> impl Strategy<Value = Attach> {
    let note = prop_oneof![Just("spec.md"), Just("plans/a.md"), Just("gone.md")];
    prop_oneof![
        (note, any::<bool>()).prop_map(|(path, active)| Attach::Note {
            path: path.into(),
            active,
        }),
        Just(Attach::Url("https://a.example/".into())),
        Just(Attach::Tag("work".into())),
        Just(Attach::Folder("plans".into())),
        some_text().prop_map(|text| Attach::Selection {
            source: "spec.md".into(),
            web: false,
            lines: Some((1, 3)),
            text: text.into(),
        }),
        Just(Attach::Image {
            name: "a.png".into(),
            media_type: "image/png".into(),
            data: "AAAA".repeat(40).as_str().into(),
        }),
    ]
}

fn some_user() -> impl Strategy<Value = UserStep> {
    let attached = proptest::collection::vec(some_attach(), 0..3);
    (
        some_text(),
        attached,
        maybe_text(),
        0..3_usize,
        "[a-z]{0,3}",
    )
        .prop_map(|(text, attach, retrieved, rounds, reply)| UserStep {
            attach,
            retrieved,
            queued_files: Vec::from_iter((rounds == 1).then(|| "a.csv".into())),
            rounds: (0..rounds).map(|at| round(&at.to_string())).collect(),
            reply: reply.as_str().into(),
            ..said(&text)
        })
}

fn some_turn() -> impl Strategy<Value = TurnRef> {
    prop_oneof![Just(TurnRef::Last), (0..6_u32).prop_map(TurnRef::Number)]
}

/// Steps after which a prompt still begins with the one before it.
fn appending() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => some_user().prop_map(|user| Action::User(Box::new(user))),
        1 => maybe_text().prop_map(|text| set(|set| set.artifacts = Some(text))),
        1 => maybe_text().prop_map(|text| set(|set| set.project = Some(text))),
        1 => maybe_text().prop_map(|text| set(|set| set.web_search = Some(text))),
        1 => maybe_text().prop_map(|text| set(|set| set.other = vec![("x".into(), text)])),
        1 => proptest::collection::vec(some_text(), 0..3).prop_map(|texts| set(|set| {
            let named = texts.into_iter().zip(["a", "b", "c"]);
            set.skills = Some(named.map(|(text, name)| (name.into(), text.into())).collect());
        })),
        1 => any::<bool>().prop_map(|on| set(|set| set.timestamps = Some(on))),
        1 => Just(set(|set| set.zone = TimeZone::get("Asia/Tokyo").ok())),
        1 => ("[ab]", some_text()).prop_map(|(key, value)| remember(&key, &value)),
        1 => "[ab]".prop_map(|key| Action::Memory(MemoryStep {
            remove: vec![key.as_str().into()],
            ..MemoryStep::default()
        })),
        1 => some_text().prop_map(|text| Action::System(text.as_str().into())),
        1 => some_text().prop_map(|text| {
            Action::Note(vec![("spec.md".into(), NoteEdit::Write(text.as_str().into()))])
        }),
        1 => Just(Action::Note(vec![("plans/a.md".into(), NoteEdit::Move("plans/z.md".into()))])),
        1 => Just(Action::Wait(Duration::from_hours(26))),
        1 => Just(Action::Reload),
    ]
}

/// Steps after which it need not.
fn breaking() -> impl Strategy<Value = Action> {
    let mode = prop_oneof![
        Just(CompactionMode::Coverage),
        Just(CompactionMode::Positional)
    ];
    prop_oneof![
        (0..3_usize, mode, any::<bool>()).prop_map(|(keep, mode, call)| {
            let mut step = compact(keep, mode);
            step.call = call;
            Action::Compact(step)
        }),
        (some_turn(), maybe_text()).prop_map(|(turn, reply)| Action::Regenerate { turn, reply }),
        (some_turn(), some_user()).prop_map(|(turn, user)| Action::Edit {
            turn,
            user: Box::new(user),
        }),
        some_turn().prop_map(|from| Action::Branch { from }),
        any::<bool>().prop_map(|on| set(|set| set.memory = Some(on))),
        Just(Action::NewChat),
        Just(Action::Tools(Arc::new([tool("other")]))),
        (some_text(), maybe_text()).prop_map(|(task, retrieved)| {
            Action::Subagent(Box::new(SubagentStep {
                task: task.as_str().into(),
                skills: vec![("style".into(), long("style"))],
                retrieved,
                reply: "done".into(),
            }))
        }),
        Just(Action::Configuration("inline".into())),
        (some_turn(), proptest::collection::vec(appending(), 0..3)).prop_map(|(turn, during)| {
            Action::Approve {
                turn,
                during: steps(during),
            }
        }),
    ]
}

fn anything() -> impl Strategy<Value = Vec<Action>> {
    proptest::collection::vec(prop_oneof![3 => appending(), 1 => breaking()], 0..14)
}

fn family() -> impl Strategy<Value = Family> {
    (0..Family::ALL.len()).prop_map(|at| Family::ALL[at])
}

fn requests(actions: Vec<Action>, configuration: &str, family: Family) -> Vec<Pending> {
    run_with(start_on(scenario(actions), configuration, family), "x")
}

fn markers(prompt: &Prompt) -> Vec<CacheMarker> {
    let tools = prompt.tools.iter().filter_map(|tool| tool.marker);
    let messages = prompt.messages.iter().flat_map(|message| &message.blocks);
    let blocks = prompt.system.iter().chain(messages);
    tools
        .chain(blocks.filter_map(|block| block.marker))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_scenario_runs_to_its_end_and_the_same_way_twice(
        actions in anything(), family in family()
    ) {
        for configuration in ["inline", "append-only"] {
            let first = requests(actions.clone(), configuration, family);
            let again = requests(actions.clone(), configuration, family);
            prop_assert_eq!(first.len(), again.len());
            for (one, other) in first.iter().zip(&again) {
                prop_assert_eq!(&one.prompt, &other.prompt);
            }
        }
    }

    #[test]
    fn every_request_is_counted_once(actions in anything()) {
        let found = requests(actions, "inline", Family::Compatible);
        let mut keys: Vec<_> = found.iter().map(|p| (p.turn, p.request)).collect();
        let count = keys.len();
        keys.dedup();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), count);
    }

    #[test]
    fn an_append_only_prompt_begins_with_the_one_before(
        actions in proptest::collection::vec(appending(), 0..14), family in family()
    ) {
        let found = requests(actions, "append-only", family);
        for pair in found.windows(2) {
            let (before, now) = (rendered(&pair[0].prompt), rendered(&pair[1].prompt));
            prop_assert!(now.starts_with(&before), "{before}\n-- is no prefix of --\n{now}");
        }
    }

    #[test]
    fn between_breaks_an_append_only_prompt_begins_with_the_one_before(
        actions in anything()
    ) {
        let turning: Vec<usize> = actions
            .iter()
            .zip(1..)
            .filter(|(action, _)| breaks(action))
            .map(|(_, line)| line)
            .collect();
        let found = requests(actions, "append-only", Family::Anthropic);
        let mut sent: Option<&Pending> = None;
        let mut broken = false;
        for pending in &found {
            broken |= pending.events.iter().any(|event| turning.contains(&event.line));
            match pending.purpose {
                PurposeLabel::Subagent => continue,
                PurposeLabel::Send => {}
                // What breaks the prefix may show only on the next message.
                _ => {
                    broken = true;
                    continue;
                }
            }
            let ours = &*pending.configuration == "append-only";
            if let Some(sent) = sent.filter(|_| ours && !broken) {
                let (before, now) = (rendered(&sent.prompt), rendered(&pending.prompt));
                prop_assert!(now.starts_with(&before), "{before}\n-- is no prefix of --\n{now}");
            }
            (sent, broken) = (Some(pending), false);
        }
    }

    #[test]
    fn entries_are_opened_and_closed_by_the_strategy_alone(actions in anything()) {
        let found = requests(actions, "append-only", Family::Compatible);
        for pending in found.iter().filter(|p| &*p.configuration == "append-only") {
            let user = pending.prompt.messages.iter().filter(|m| m.role.as_str() == "user");
            for block in user.flat_map(|message| &message.blocks) {
                let Content::Text(spans) = &block.content else { continue };
                let text: String = spans.iter().map(|span| &*span.text).collect();
                let text = text.to_ascii_lowercase();
                let opened = spans.iter().filter(|span| span.text.starts_with("<ctx "));
                let closed = spans.iter().filter(|span| span.text.trim() == "</ctx>");
                prop_assert_eq!(text.matches("<ctx").count(), opened.count());
                prop_assert_eq!(text.matches("</ctx").count(), closed.count());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_prompt_has_more_than_four_markers_and_all_of_them_live_as_long_as_was_asked(
        actions in anything(), five in any::<bool>()
    ) {
        // What a step switches to has no options of ours.
        let stays = |action: &&Action| !matches!(action, Action::Configuration(_));
        let actions: Vec<Action> = actions.iter().filter(stays).cloned().collect();
        for kind in STRATEGIES.iter().filter(|kind| !matches!(kind.name, "external" | "raw")) {
            for (family, rule) in marked() {
                let mut configuration = Configuration::built_in(kind.name).unwrap();
                configuration.options.markers = rule;
                configuration.options.marker_ttl = five.then_some(Ttl::FiveMinutes);
                let started = start_with(
                    scenario(actions.clone()),
                    configuration,
                    family,
                    Served::Any(None),
                );
                for pending in run_with(started, "x") {
                    let found = markers(&pending.prompt);
                    let used = rule.unwrap_or(family.wire().markers);
                    let most = if used == MarkerRule::None { 0 } else { 4 };
                    let (name, count) = (kind.name, found.len());
                    prop_assert!(count <= most, "{name}: {count} markers on {family:?}");
                    // The one that a release ships has no lifetime.
                    let shipped = rule.is_none() && name.starts_with("copilot");
                    let asked = if five || shipped { Ttl::FiveMinutes } else { Ttl::Hour };
                    let other = found.iter().find(|marker| marker.ttl != asked);
                    prop_assert!(other.is_none(), "{name}: {other:?} on {family:?}");
                }
            }
        }
    }
}

/// Every family as it is, and those whose markers an option sets.
fn marked() -> Vec<(Family, Option<MarkerRule>)> {
    let plain = Family::ALL.into_iter().map(|family| (family, None));
    let set = [
        (Family::Openai, MarkerRule::OpenaiExplicit),
        (Family::Anthropic, MarkerRule::AnthropicOld),
        (Family::Compatible, MarkerRule::Anthropic),
        (Family::Bedrock, MarkerRule::None),
    ];
    plain
        .chain(set.map(|(family, rule)| (family, Some(rule))))
        .collect()
}

/// Whether the prompt behind this step need not begin with the one before it.
fn breaks(action: &Action) -> bool {
    match action {
        Action::Compact(_)
        | Action::Regenerate { .. }
        | Action::Edit { .. }
        | Action::Branch { .. }
        | Action::NewChat
        | Action::Tools(_)
        | Action::Configuration(_)
        | Action::Approve { .. } => true,
        Action::Set(set) => set.memory.is_some(),
        _ => false,
    }
}

/// Requests depend on the scenario alone: a changed digest means that the
/// machine, its zone or its locale got in, or that the layout was changed on
/// purpose.
#[test]
fn prompts_are_the_same_on_every_machine() {
    let actions = || {
        vec![
            set(|set| set.web_search = Some(Some("Cite pages.".into()))),
            set(|set| set.timestamps = Some(true)),
            set(|set| set.zone = TimeZone::get("America/New_York").ok()),
            remember("name", "Ada"),
            user("a"),
            Action::Wait(Duration::from_hours(26)),
            user("b"),
        ]
    };
    for (configuration, expected) in [
        ("inline", "dfa9d4d531ee1a73"),
        ("append-only", "09dc32c025da4977"),
    ] {
        let found = requests(actions(), configuration, Family::Compatible);
        let all: String = found
            .iter()
            .map(|pending| rendered(&pending.prompt))
            .collect();
        let digest = Digest::of(all.as_bytes()).to_string();
        assert_eq!(digest.get(..16), Some(expected), "{all}");
    }
}

#[test]
fn zone_locale_and_folder_of_the_machine_do_not_matter() {
    let test = "conversation::properties::prompts_are_the_same_on_every_machine";
    for zone in ["Asia/Tokyo", "America/St_Johns"] {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact"])
            .env_clear()
            .envs([
                ("TZ", zone),
                ("LC_ALL", "de_DE.UTF-8"),
                ("LANG", "tr_TR.UTF-8"),
            ])
            .current_dir(std::env::temp_dir())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(
            child.status.success() && said.contains("1 passed"),
            "{zone}: {said}"
        );
    }
}
