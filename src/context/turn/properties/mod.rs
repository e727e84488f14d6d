//! What must hold for every conversation, over random ones: random sources,
//! steps, trees and wires. Prompts are compared without markers.
//!
//! Source: the invariants at the end of section 13 of turn context.

mod world;

use super::planned;
use super::produce::Producer;
use crate::chat::{Content, Family, Role};
use crate::context::configuration::MemoryForm;
use crate::context::testing::{Talk, flat, strategy, text};
use crate::context::view::{Chain, CompactionMode, Link, NodeId, Purpose};
use crate::context::{Options, Phrases};
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use std::collections::HashMap;
use world::{Act, ZONES, any_act, change, extras, family, other, plain, run, step, stored, users};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_prompt_begins_with_every_earlier_prompt_of_its_branch(
        acts in prop::collection::vec(plain(), 1..25),
        family in family(),
    ) {
        let mut strategy = strategy("turn-context", Options::default());
        let mut talk = Talk::new(family);
        let mut sent: HashMap<NodeId, String> = HashMap::new();
        for act in &acts {
            let prompt = step(&mut talk, &mut *strategy, act);
            let (Act::Send(_), Some(prompt)) = (act, prompt) else { continue };
            let now = flat(&prompt);
            let path = talk.path(talk.leaf);
            let ids: Vec<NodeId> = path
                .iter()
                .filter_map(|link| match link {
                    Link::User(turn) => Some(turn.id),
                    _ => None,
                })
                .collect();
            for before in ids.iter().filter_map(|id| sent.get(id)) {
                prop_assert!(now.starts_with(before.as_str()), "{before}\n-----\n{now}");
            }
            let rounds = talk.chain(ids.last().copied(), &Purpose::Send, |chain| {
                let at = |rounds| strategy.render(&Chain { rounds, ..chain.clone() }).map(|it| flat(&it));
                (0..=chain.rounds).map(at).collect::<Result<Vec<_>, _>>()
            });
            let rounds = rounds.unwrap();
            prop_assert!(rounds.is_sorted_by(|one, next| next.starts_with(one.as_str())));
            prop_assert_eq!(rounds.last(), Some(&now));
            sent.extend(ids.last().map(|id| (*id, now)));
        }
    }

    #[test]
    fn clock_zone_and_live_state_change_nothing_of_what_was_stored(
        acts in prop::collection::vec(any_act(), 1..25),
        family in family(),
        hours in -500..500i64,
        zone in 0..ZONES.len(),
    ) {
        let (mut talk, mut strategy, _) = run("turn-context", family, &acts);
        for turn in users(&talk) {
            talk.leaf = Some(turn.id);
            let before = talk.render(&mut *strategy, &Purpose::Regenerate);
            let world = talk.now.clone();
            change(&mut talk, &Act::Wait(hours));
            change(&mut talk, &Act::Zone(zone));
            for which in 0..5 {
                change(&mut talk, &Act::Source { which, version: 3 });
            }
            change(&mut talk, &Act::Fact { key: 9, value: 9 });
            change(&mut talk, &Act::Stamps(true));
            let after = talk.render(&mut *strategy, &Purpose::Regenerate);
            prop_assert_eq!(&before, &after);
            let fresh = talk.render(&mut *super::properties::strategy("turn-context", Options::default()), &Purpose::Regenerate);
            prop_assert_eq!(&before, &fresh, "what is remembered changes nothing");
            talk.now = world;
        }
    }

    #[test]
    fn the_lever_off_builds_the_same_prompts_as_before_the_lever(
        acts in prop::collection::vec(any_act(), 1..25),
        family in family(),
    ) {
        let (_, _, dev) = run("dev", family, &acts);
        let (_, _, off) = run("lever-off", family, &acts);
        prop_assert_eq!(dev, off);
    }

    #[test]
    fn what_was_flipped_and_flipped_back_leaves_no_trace(
        acts in prop::collection::vec(any_act(), 0..20),
        flips in prop::collection::vec(any_act(), 0..10),
        family in family(),
    ) {
        let (mut talk, mut strategy, _) = run("turn-context", family, &acts);
        talk.now.timestamps = false;
        talk.send(&mut *strategy, "One.");
        talk.reply("Answer.");
        let world = talk.now.clone();
        for act in &flips {
            change(&mut talk, act);
        }
        talk.now = world;
        // Back at an instant of the same day.
        talk.now.at = users(&talk).last().unwrap().sent.clone();
        talk.now.at.at -= jiff::SignedDuration::from_secs(60);
        talk.send(&mut *strategy, "Two.");
        prop_assert_eq!(&talk.plan.message, &None);
        prop_assert_eq!(&talk.plan.anchor, &None);
    }

    #[test]
    fn regenerating_and_resuming_write_nothing(
        acts in prop::collection::vec(any_act(), 1..25),
        family in family(),
    ) {
        let writes = |act: &Act| !matches!(act, Act::Regenerate | Act::Resume | Act::Subagent | Act::Summarise);
        let (with, ..) = run("turn-context", family, &acts);
        let without: Vec<Act> = acts.into_iter().filter(|act| writes(act)).collect();
        let (without, ..) = run("turn-context", family, &without);
        prop_assert_eq!(&with.anchor, &without.anchor);
        let links = |talk: &Talk| talk.nodes().map(|(_, link)| link.clone()).collect::<Vec<_>>();
        prop_assert_eq!(links(&with), links(&without));
    }

    #[test]
    fn the_fold_at_every_message_is_what_was_sampled_for_it(
        acts in prop::collection::vec(any_act(), 1..30),
        family in family(),
    ) {
        let (talk, ..) = run("turn-context", family, &acts);
        let phrases = Phrases::default();
        let producer = Producer { phrases: &phrases, form: MemoryForm::default() };
        for turn in users(&talk) {
            let known = talk.chain(Some(turn.id), &Purpose::Send, |chain| planned::known(chain, None));
            let mut sampled = producer.state(&turn.sample);
            let known = known.unwrap();
            prop_assert!(known.date >= sampled.date);
            // A date that went back is not announced.
            sampled.date.clone_from(&known.date);
            prop_assert!(known.says_the_same_as(&sampled), "{known:?}\n{sampled:?}");
        }
    }

    #[test]
    fn the_first_message_behind_a_compaction_announces_nothing(
        acts in prop::collection::vec(any_act(), 1..20),
        changes in prop::collection::vec(any_act(), 0..10),
        extras in extras(),
        family in family(),
        keep in 0..3usize,
    ) {
        let (mut talk, mut strategy, _) = run("turn-context", family, &acts);
        talk.send(&mut *strategy, "One.");
        talk.reply("Answer.");
        talk.compact(keep, CompactionMode::Coverage);
        for act in &changes {
            change(&mut talk, act);
        }
        step(&mut talk, &mut *strategy, &Act::Send(extras));
        prop_assert!(talk.plan.anchor.is_some());
        let turn = users(&talk).pop().unwrap();
        let announced = stored(&turn).is_some_and(|it| it.date.is_some() || !it.changes.is_empty());
        prop_assert!(!announced);
    }

    #[test]
    fn nothing_but_the_strategy_opens_or_closes_a_block(
        acts in prop::collection::vec(any_act(), 1..20),
        family in family(),
        name in select(vec!["parts", "turn-context"]),
    ) {
        let (_, _, prompts) = run(name, family, &acts);
        for message in prompts.iter().flat_map(|prompt| &prompt.messages) {
            let [first, ..] = message.blocks.as_slice() else { continue };
            let (Role::User, Content::Text(spans)) = (message.role, &first.content) else { continue };
            let text = text(spans).to_lowercase().replace(' ', "");
            let count = |tag: &str| text.matches(tag).count();
            let blocks = usize::from(text.starts_with("<context_update>\n"));
            // The tail is no message of the person, and not escaped.
            if spans.iter().any(|span| span.origin.as_str() == "user") {
                prop_assert_eq!(count("<context_update"), blocks, "{}", text);
                prop_assert_eq!(count("</context_update"), blocks, "{}", text);
            }
        }
    }

    #[test]
    fn memory_that_is_off_is_nowhere_in_a_request(
        acts in prop::collection::vec(any_act(), 1..25),
        family in family(),
        name in select(vec!["dev", "lever-off", "parts", "turn-context"]),
    ) {
        let mut strategy = strategy(name, Options::default());
        let mut talk = Talk::new(family);
        for act in &acts {
            let prompt = step(&mut talk, &mut *strategy, act);
            if let Some(prompt) = prompt.filter(|_| !talk.now.memory.on) {
                prop_assert!(!flat(&prompt).contains("value"));
            }
        }
    }

    #[test]
    fn a_key_that_no_registry_knows_leaves_the_stable_text_alone(
        acts in prop::collection::vec(prop_oneof![3 => plain(), 1 => other()], 1..25),
        family in select(vec![Family::Anthropic, Family::Openrouter, Family::Bedrock]),
    ) {
        let mut strategy = strategy("turn-context", Options::default());
        let mut talk = Talk::new(family);
        let mut stable = None;
        for act in &acts {
            let prompt = step(&mut talk, &mut *strategy, act);
            let (Act::Send(_), Some(prompt)) = (act, prompt) else { continue };
            let first = prompt.system.into_iter().next();
            prop_assert_eq!(stable.get_or_insert_with(|| first.clone()), &first);
        }
    }
}
