mod growth;

use super::*;
use crate::chat::{Content, Family, Text};
use crate::context::testing::{Talk, flat, flat_with_markers, moment, round, strategy, text};
use crate::context::view::{
    Attachment, CompactionMode, Link, NodeId, Note, Subagent, ToolOutput, Vault,
};
use jiff::Timestamp;

fn note(path: &str, body: &str) -> Note {
    Note {
        path: Arc::from(path),
        text: Some(Text::from(body)),
        created: Timestamp::UNIX_EPOCH,
        modified: Timestamp::UNIX_EPOCH,
        tags: vec![],
    }
}

fn attached(path: &str, body: &str) -> Attachment {
    Attachment::Note {
        note: note(path, body),
        active: false,
    }
}

fn layered() -> Box<dyn Strategy> {
    strategy(NAME, Options::default())
}

fn ask(
    talk: &mut Talk,
    layered: &mut dyn Strategy,
    question: &str,
    attachments: Vec<Attachment>,
) -> Prompt {
    let prompt = talk.send_with(layered, question, |turn| turn.attachments = attachments);
    talk.reply("ok");
    prompt
}

fn system(prompt: &Prompt) -> String {
    let blocks = prompt.system.iter();
    let spans = blocks.map(|block| match &block.content {
        Content::Text(spans) => text(spans),
        _ => String::new(),
    });
    spans.collect()
}

fn newest(prompt: &Prompt) -> String {
    match &prompt.messages.last().unwrap().blocks[0].content {
        Content::Text(spans) => text(spans),
        _ => String::new(),
    }
}

/// Renders the leaf with another vault, as a chat of which the first
/// `reloaded` questions were loaded.
fn loaded<T>(talk: &Talk, vault: &Vault, reloaded: usize, see: impl FnOnce(&Chain<'_>) -> T) -> T {
    let links = talk.path(talk.leaf);
    see(&Chain {
        links: &links,
        live: &talk.now,
        vault,
        anchor: None,
        purpose: &Purpose::Send,
        rounds: 0,
        rebuilt: reloaded,
        reloaded,
        wire: talk.wire,
    })
}

fn vault(notes: &[(&str, &str)]) -> Vault {
    let notes = notes.iter().map(|(path, body)| note(path, body));
    notes.map(|note| (note.path.clone(), note)).collect()
}

#[test]
fn sources_stand_in_l1_in_registry_order_and_the_present_goes_with_the_question() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.now.system = Text::from("Today is {{current_date}}.");
    talk.now.project = Some(Text::from("PROJECT"));
    talk.now.memory_guard = Some(Text::from("GUARD"));
    talk.now.artifacts = Some(Text::from("ARTIFACTS"));
    talk.now.skills = vec![(Arc::from("skill"), Text::from("SKILL"))];
    talk.now.web_search = Some(Text::from("WEB"));
    talk.now.other = vec![(Arc::from("strange"), Text::from("STRANGE"))];
    talk.remember("city", "Rome");
    let first = talk.send_with(&mut *it, "one", |turn| {
        turn.retrieved = Some(Text::from("FOUND"));
        turn.queued_files = vec![Arc::from("data.csv")];
        turn.tool_outputs = vec![ToolOutput {
            tool: Arc::from("calc"),
            output: Text::from("</calc> 42"),
        }];
    });
    talk.reply("ok");
    let l1 = system(&first);
    let order = [
        "Today is",
        "WEB",
        "PROJECT",
        "GUARD",
        "ARTIFACTS",
        "SKILL",
        "Rome",
    ];
    let places: Vec<usize> = order.iter().map(|word| l1.find(word).unwrap()).collect();
    assert!(places.is_sorted(), "{l1}");
    assert!(l1.starts_with("Today is 2026-10-16 (Friday)."));
    let said = newest(&first);
    for word in [
        "FOUND",
        "data.csv",
        "<calc>\n&lt;/calc> 42\n</calc>",
        "STRANGE",
        "2026-10-16 09:00:47",
    ] {
        assert!(said.contains(word) && !l1.contains(word), "{word}: {said}");
    }
    talk.wait(26);
    let second = ask(&mut talk, &mut *it, "two", vec![]);
    assert_eq!(system(&second), l1);
    assert!(newest(&second).contains("2026-10-17"));
    assert!(!newest(&second).contains("FOUND"));
    assert!(talk.plan.warnings.is_empty());
}

#[test]
fn the_history_is_what_was_typed_live_and_rebuilt_alike() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.now.timestamps = true;
    ask(
        &mut talk,
        &mut *it,
        " one {x} ",
        vec![attached("a.md", "Alpha")],
    );
    let live = talk.send(&mut *it, "two");
    let history = text_of(&live, 0);
    assert_eq!(history, "[2026-10-16 09:00]\n one {x} ");
    let again = loaded(&talk, &vault(&[("a.md", "Alpha")]), 1, |chain| {
        it.render(chain)
    })
    .unwrap();
    assert_eq!(flat(&again), flat(&live));
}

fn text_of(prompt: &Prompt, at: usize) -> String {
    match &prompt.messages[at].blocks[0].content {
        Content::Text(spans) => text(spans),
        _ => String::new(),
    }
}

#[test]
fn asking_again_sends_the_same_and_memory_that_is_off_is_withheld() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.remember("city", "Rome");
    let sent = talk.send(&mut *it, "one");
    talk.now.artifacts = Some(Text::from("LATER"));
    talk.wait(30);
    assert_eq!(
        flat(&talk.render(&mut *it, &Purpose::Regenerate)),
        flat(&sent)
    );
    assert_eq!(flat(&talk.render(&mut *it, &Purpose::Resume)), flat(&sent));
    talk.now.memory.on = false;
    assert!(!flat(&talk.render(&mut *it, &Purpose::Regenerate)).contains("Rome"));
}

/// Stores a plan on the leaf by adding the message again behind its parent.
fn store(talk: &mut Talk, plan: Plan) {
    let links = talk.path(talk.leaf);
    let Some(Link::User(turn)) = links.last() else {
        panic!("the leaf is a question");
    };
    let turn = UserTurn {
        stored: plan.message,
        id: NodeId(turn.id.0),
        ..(**turn).clone()
    };
    talk.replace_leaf(Link::User(Arc::new(turn)));
}

#[test]
fn what_is_stored_is_written_out_and_read_back() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.send(&mut *it, "one");
    let json = serde_json::to_string(&talk.plan.message).unwrap();
    let read: Option<Stored> = serde_json::from_str(&json).unwrap();
    assert_eq!(read, talk.plan.message);
}

#[test]
fn at_most_four_blocks_are_marked_and_l1_and_l2_are_two_of_them() {
    for (family, marked) in [
        (Family::Anthropic, 4),
        (Family::Openrouter, 4),
        (Family::Bedrock, 4),
        (Family::Openai, 0),
        (Family::Compatible, 0),
        (Family::Google, 0),
    ] {
        let (mut talk, mut it) = (Talk::new(family), layered());
        ask(&mut talk, &mut *it, "one", vec![attached("a.md", "Alpha")]);
        let prompt = ask(&mut talk, &mut *it, "two", vec![]);
        let all = flat_with_markers(&prompt);
        assert_eq!(all.matches('|').count(), marked, "{family:?}: {all}");
        assert_eq!(prompt.system.len(), if marked > 0 { 2 } else { 1 });
    }
}

#[test]
fn a_tool_loop_grows_and_is_gone_with_the_next_question() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    let prompt = talk.send_with(&mut *it, "one", |turn| {
        turn.rounds = vec![round(1), round(2)];
    });
    assert_eq!(prompt.messages.len(), 5);
    talk.reply("done");
    let next = talk.send(&mut *it, "two");
    assert_eq!(next.messages.len(), 3);
}

#[test]
fn a_helper_and_a_summary_see_what_they_should() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    ask(&mut talk, &mut *it, "one", vec![attached("a.md", "Alpha")]);
    let helper = Purpose::Subagent(Subagent {
        task: Text::from("TASK"),
        skills: vec![(Arc::from("s"), Text::from("BODY"))],
        retrieved: Some(Text::from("FOUND")),
    });
    let isolated = flat(&talk.render(&mut *it, &helper));
    assert!(
        ["You help.", "TASK", "BODY", "FOUND"]
            .iter()
            .all(|word| isolated.contains(word))
    );
    assert!(!isolated.contains("Alpha") && !isolated.contains("one\n"));
    let summary = talk.render(&mut *it, &Purpose::Summarise);
    assert!(system(&summary).contains("Alpha"));
    assert_eq!(summary.messages.len(), 3);
}

#[test]
fn an_l1_that_changes_without_its_sources_is_reported() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.now.system = Text::from("Since {{current_date}}.");
    ask(&mut talk, &mut *it, "one", vec![]);
    talk.now.started = moment("2026-11-01T09:00:00Z", "UTC");
    ask(&mut talk, &mut *it, "two", vec![]);
    assert!(talk.plan.warnings[0].starts_with("L1 has changed"));
    talk.now.project = Some(Text::from("P"));
    ask(&mut talk, &mut *it, "three", vec![]);
    assert!(talk.plan.warnings.is_empty());
}

#[test]
fn an_option_that_is_not_read_is_refused() {
    let setup = |options| Setup {
        options,
        phrases: Arc::new(Phrases::default()),
        builder: None,
        bodies: Arc::from([]),
    };
    let options = Options {
        prompt_prefix: Some(true),
        ..Options::default()
    };
    let error = LAYERED.begin(setup(options)).err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("`layered` cannot render the option `prompt_prefix`; it reads markers, "),
        "{error}"
    );
}

mod properties {
    use super::*;
    use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};
    use proptest::strategy::Strategy as Generator;

    /// What happens before a question: which notes are attached with which text,
    /// and which source changes.
    #[derive(Clone, Debug)]
    struct Step {
        notes: Vec<(u8, u8)>,
        memory: bool,
    }

    fn step() -> impl Generator<Value = Step> {
        let notes = prop::collection::vec((0..4_u8, 0..3_u8), 0..3);
        (notes, prop::bool::weighted(0.2)).prop_map(|(notes, memory)| Step { notes, memory })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_system_prompt_only_grows_unless_a_source_changes(
            steps in prop::collection::vec(step(), 1..9),
        ) {
            let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
            let mut before = String::new();
            for (number, step) in steps.iter().enumerate() {
                if step.memory {
                    talk.remember("turn", &number.to_string());
                }
                let notes = step.notes.iter().map(|(path, text)| {
                    attached(&format!("n{path}.md"), &format!("text {text}"))
                });
                let notes: Vec<Attachment> = notes.collect();
                let prompt = ask(&mut talk, &mut *it, &format!("q{number}"), notes.clone());
                let now = system(&prompt);
                prop_assert!(step.memory || now.starts_with(&before), "{now}");
                prop_assert!(talk.plan.warnings.is_empty(), "{:?}", talk.plan.warnings);
                let said = newest(&prompt);
                for note in &notes {
                    if let Attachment::Note { note, .. } = note {
                        prop_assert!(said.contains(&*note.path), "{said}");
                    }
                }
                before = now;
            }
        }
    }
}

#[test]
fn what_the_agents_author_wrote_and_its_files_are_of_the_first_layer() {
    let mut it = layered();
    let mut talk = Talk::new(Family::Openai);
    talk.now.project = Some("PROJECT".into());
    talk.now.other = vec![
        ("agent_context_files".into(), "FILES".into()),
        ("weather".into(), "RAIN".into()),
        ("configured_additional".into(), "AUTHOR".into()),
    ];
    let first = ask(&mut talk, &mut *it, "One.", vec![]);
    let second = ask(&mut talk, &mut *it, "Two.", vec![]);
    for prompt in [&first, &second] {
        let shown = system(prompt);
        let places = ["AUTHOR", "PROJECT", "FILES"].map(|word| shown.find(word));
        assert!(places.iter().all(Option::is_some), "{shown}");
        assert!(places.is_sorted(), "{shown}");
        assert!(!shown.contains("RAIN") && newest(prompt).contains("RAIN"));
        assert!(!newest(prompt).contains("AUTHOR") && !newest(prompt).contains("FILES"));
    }
    // A change of theirs is a reason for L1 to change.
    talk.now.other[2].1 = "ANOTHER".into();
    let third = ask(&mut talk, &mut *it, "Three.", vec![]);
    assert!(system(&third).contains("ANOTHER"));
    assert_eq!(third.warnings, Vec::<String>::new());
}
