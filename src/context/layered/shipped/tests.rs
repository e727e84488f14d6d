mod history;

use super::*;
use crate::chat::{Block, Content};
use crate::context::layered::session::{Answer, Attach, Session, Settings};
use crate::context::testing::{Talk, flat, flat_with_markers, round, strategy, text};
use crate::context::view::{Attachment, Note, ToolOutput, Vault};
use jiff::Timestamp;

const BOTH: [&str; 2] = ["copilot-3.1", "copilot-4"];

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

fn start(name: &str) -> Box<dyn Strategy> {
    strategy(name, Options::default())
}

fn vault(notes: &[(&str, &str)]) -> Vault {
    let notes = notes.iter().map(|(path, body)| note(path, body));
    notes.map(|note| (note.path.clone(), note)).collect()
}

fn ask(talk: &mut Talk, it: &mut dyn Strategy, question: &str, notes: &[(&str, &str)]) -> Prompt {
    let attachments = notes.iter().map(|(path, body)| attached(path, body));
    let prompt = talk.send_with(it, question, |turn| {
        turn.attachments = attachments.collect();
    });
    talk.reply("ok");
    prompt
}

/// System and messages of a prompt as texts.
fn texts(prompt: &Prompt) -> Vec<String> {
    let content = |block: &Block| match &block.content {
        Content::Text(spans) => text(spans),
        _ => String::new(),
    };
    let system: String = prompt.system.iter().map(content).collect();
    let messages = prompt.messages.iter();
    let messages = messages.map(|message| message.blocks.iter().map(content).collect());
    std::iter::once(system).chain(messages).collect()
}

fn seen<T>(
    talk: &Talk,
    vault: &Vault,
    (rebuilt, reloaded): (usize, usize),
    see: impl FnOnce(&Chain<'_>) -> T,
) -> T {
    let links = talk.path(talk.leaf);
    see(&Chain {
        links: &links,
        live: &talk.now,
        vault,
        anchor: None,
        purpose: &Purpose::Send,
        rounds: 0,
        rebuilt,
        reloaded,
        wire: talk.wire,
    })
}

#[test]
fn a_strategy_sends_what_a_session_of_its_release_sends() {
    for (name, release) in [("copilot-3.1", Release::V31), ("copilot-4", Release::V4)] {
        let turns: [&[(&str, &str)]; 3] = [
            &[("a.md", "Alpha")],
            &[("a.md", "Alpha"), ("b.md", "Beta")],
            &[],
        ];
        let (mut talk, mut it) = (Talk::new(Family::Compatible), start(name));
        let settings = Settings::default();
        let phrases = Arc::new(Phrases::default());
        let mut session = Session::new(release, ChainKind::Llm, settings, phrases);
        session.system = "You help.".to_owned();
        let mut files = Vault::new();
        for (number, notes) in turns.iter().enumerate() {
            let question = format!("question {number}");
            for (path, body) in *notes {
                session.files.write(note(path, body));
                files.insert(Arc::from(*path), note(path, body));
            }
            talk.set_vault(files.clone());
            let prompt = ask(&mut talk, &mut *it, &question, notes);
            let attach = notes.iter().map(|(path, _)| Attach::Note {
                path: Arc::from(*path),
                active: false,
            });
            let answer = Answer {
                text: "ok".to_owned(),
                ..Answer::default()
            };
            let asked = session.send(&question, attach.collect(), &answer);
            let expected: Vec<String> = asked[0]
                .messages
                .iter()
                .map(|m| convert::concat(&m.spans))
                .collect();
            assert_eq!(texts(&prompt), expected, "{name}, turn {number}");
        }
    }
}

#[test]
fn memory_and_time_stand_in_front_and_l1_is_the_layer_of_the_envelope() {
    for name in BOTH {
        let (mut talk, mut it) = (Talk::new(Family::Compatible), start(name));
        talk.now.system = Text::from("Now {{current_datetime}}.\n");
        talk.now.project = Some(Text::from("PROJECT"));
        talk.now.web_search = Some(Text::from("WEB"));
        talk.now.other = vec![(Arc::from("strange"), Text::from("STRANGE"))];
        talk.remember("city", "Rome");
        let prompt = talk.send(&mut *it, "one");
        let l1 = &texts(&prompt)[0];
        let order = [
            "Rome",
            "T09:00:47",
            "Now 2026-10-16 09:00:47",
            "WEB",
            "STRANGE",
        ];
        let places: Vec<usize> = order.iter().map(|word| l1.find(word).unwrap()).collect();
        assert!(places.is_sorted(), "{l1}");
        assert_eq!(
            l1.contains("<project_system_prompt>\nPROJECT\n"),
            name == "copilot-3.1"
        );
        let Some(Stored::Copilot(built)) = &talk.plan.message else {
            panic!("a turn is stored");
        };
        assert_eq!(built.envelope.layer(LayerId::System).text().as_str(), l1);
        let json = serde_json::to_string(&talk.plan.message).unwrap();
        let read: Option<Stored> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, talk.plan.message);
    }
}

#[test]
fn release_4_leaves_a_known_note_out_and_shares_its_library() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), start("copilot-4"));
    ask(&mut talk, &mut *it, "one", &[("a.md", "Alpha")]);
    let second = ask(&mut talk, &mut *it, "two", &[("a.md", "Changed")]);
    assert!(texts(&second)[0].contains("Alpha"));
    assert_eq!(texts(&second)[3], "two");
    let third = ask(&mut talk, &mut *it, "three", &[]);
    let alpha = |prompt: &Prompt| match &prompt.system[0].content {
        Content::Text(spans) => {
            let found = spans.iter().find(|span| span.text.contains("Alpha"));
            found.unwrap().text.clone()
        }
        _ => Text::default(),
    };
    assert!(alpha(&second).is_same(&alpha(&third)));
}

#[test]
fn release_3_1_reads_its_library_again_and_keeps_context_in_the_history() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), start("copilot-3.1"));
    ask(&mut talk, &mut *it, "one", &[("a.md", "Alpha")]);
    talk.set_vault(vault(&[("a.md", "Changed")]));
    let second = ask(&mut talk, &mut *it, "two", &[]);
    assert!(texts(&second)[0].contains("Changed"));
    assert!(texts(&second)[1].starts_with("one\n\n\n\n<note_context>"));
    assert!(texts(&second)[1].contains("Alpha"));
}

#[test]
fn an_agent_is_guided_behind_the_library_and_its_tools_are_forgotten() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), start("copilot-4"));
    ask(&mut talk, &mut *it, "zero", &[("a.md", "Alpha")]);
    let prompt = talk.send_with(&mut *it, "one", |turn| turn.rounds = vec![round(1)]);
    let system = &texts(&prompt)[0];
    let guidance = Phrases::default().get("agent_guidance").to_owned();
    assert!(system.ends_with(&format!("</note_context>\n\n{guidance}")));
    assert_eq!(prompt.messages.len(), 5);
    talk.reply("done");
    let next = talk.send(&mut *it, "two");
    let comment = Phrases::default().get("agent_reasoning").to_owned();
    assert_eq!(texts(&next)[4], format!("{comment}\n\ndone"));
    assert_eq!(next.messages.len(), 5);
}

#[test]
fn tools_in_front_double_a_question_without_context() {
    let label = Phrases::default().get("query_label").to_owned();
    for name in BOTH {
        let (mut talk, mut it) = (Talk::new(Family::Compatible), start(name));
        let prompt = talk.send_with(&mut *it, "one", |turn| {
            turn.tool_outputs = vec![ToolOutput {
                tool: Arc::from("calc"),
                output: Text::from("42"),
            }];
        });
        let said = &texts(&prompt)[1];
        assert!(
            said.ends_with(&format!("<calc>\n42\n</calc>\n\none\n\n{label}\none")),
            "{said}"
        );
        let found = talk.send_with(&mut *it, "two", |turn| {
            turn.retrieved = Some(Text::from("FOUND"));
        });
        assert!(texts(&found).last().unwrap().contains("FOUND\n\ntwo"));
    }
}

#[test]
fn one_router_gets_one_marker_and_nobody_else() {
    for (family, marked) in [
        (Family::Openrouter, 1),
        (Family::Anthropic, 0),
        (Family::Bedrock, 0),
        (Family::Openai, 0),
        (Family::Google, 0),
    ] {
        // The marker came after release 3.1.
        for (name, marked) in [("copilot-4", marked), ("copilot-3.1", 0)] {
            let (mut talk, mut it) = (Talk::new(family), start(name));
            let prompt = talk.send(&mut *it, "one");
            assert_eq!(
                flat_with_markers(&prompt).matches('|').count(),
                marked,
                "{family:?}, {name}"
            );
        }
    }
}

#[test]
fn models_that_take_no_system_message_get_it_in_the_persons_name() {
    use crate::chat::Role;
    let cases = [
        ("copilot-4", "o3-mini", ChainKind::Plus, true),
        ("copilot-4", "openai/o1", ChainKind::VaultQa, true),
        ("copilot-4", "o4-mini", ChainKind::Llm, false),
        ("copilot-4", "gpt-5.5", ChainKind::Plus, false),
        ("copilot-4", "o30", ChainKind::Plus, false),
        ("copilot-3.1", "o3-mini", ChainKind::Plus, false),
    ];
    for (name, model, kind, human) in cases {
        let (mut talk, mut it) = (Talk::new(Family::Openai), start(name));
        talk.now.model = Some(Arc::from(model));
        let prompt = talk.send_with(&mut *it, "one", |turn| turn.chain = Some(kind));
        assert_eq!(prompt.system.is_empty(), human, "{name}, {model}");
        assert_eq!(prompt.messages.len(), if human { 2 } else { 1 });
        assert_eq!(prompt.messages[0].role, Role::User);
        assert!(text_of(&prompt, human).starts_with("You help."));
    }
}

/// The text of the system message, wherever it stands.
fn text_of(prompt: &Prompt, human: bool) -> String {
    texts(prompt)[usize::from(human)].clone()
}

#[test]
fn every_source_reaches_the_request() {
    for name in BOTH {
        let (mut talk, mut it) = (Talk::new(Family::Compatible), start(name));
        let prompt = talk.send_with(&mut *it, "ASKED", |turn| {
            turn.queued_files = vec![Arc::from("data.csv")];
            turn.attachments = vec![
                Attachment::Url {
                    url: Arc::from("https://e.org"),
                    text: Text::from("PAGE"),
                },
                Attachment::Tab {
                    url: Arc::from("https://t.org"),
                    text: Text::from("TAB"),
                    active: true,
                },
                Attachment::Selection {
                    source: Arc::from("s.md"),
                    web: false,
                    lines: Some((1, 2)),
                    text: Text::from("SELECTED"),
                },
                Attachment::Tag {
                    tag: Arc::from("t"),
                    notes: vec![note("t.md", "TAGGED")],
                },
                Attachment::Folder {
                    path: Arc::from("f"),
                    notes: vec![note("f/x.md", "BELOW"), note("t.md", "TAGGED")],
                },
            ];
        });
        let all = flat(&prompt);
        for word in [
            "data.csv", "PAGE", "TAB", "SELECTED", "TAGGED", "BELOW", "ASKED",
        ] {
            assert_eq!(all.matches(word).count(), 1, "{name}, {word}: {all}");
        }
        let summary = talk.render(&mut *it, &Purpose::Summarise);
        assert!(texts(&summary).last().unwrap().contains("summary"));
        let helper = Purpose::Subagent(Subagent {
            task: Text::from("TASK"),
            skills: vec![],
            retrieved: None,
        });
        assert_eq!(
            texts(&talk.render(&mut *it, &helper)),
            ["You help.", "TASK"]
        );
    }
}

#[test]
fn a_long_context_is_summarised_by_its_openings_and_says_so() {
    let options = Options {
        window: Some(1_000),
        ..Options::default()
    };
    let (mut talk, mut it) = (
        Talk::new(Family::Compatible),
        strategy("copilot-4", options),
    );
    let long = "word ".repeat(12_000);
    let prompt = ask(&mut talk, &mut *it, "one", &[("a.md", &long)]);
    let mark = Phrases::default().get("summarised_mark").to_owned();
    assert!(texts(&prompt)[1].contains(&format!("<content>{mark}\n")));
    assert!(texts(&prompt)[1].len() < 3_000);
    assert_eq!(talk.plan.warnings.len(), 1);
}
