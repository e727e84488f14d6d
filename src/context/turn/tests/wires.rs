//! One conversation on every wire.

use crate::chat::{
    Class, Family, MarkerRule, Prompt, Role, Span, SummaryPlace, TailPlace, Text, Tool, Ttl,
};
use crate::context::testing::{Talk, flat_with_markers, round, strategy};
use crate::context::view::{Attachment, CompactionMode, Purpose};
use crate::context::{Options, Phrases, Strategy};
use std::sync::Arc;

fn tool() -> Tool {
    Tool {
        name: Arc::from("search"),
        description: vec![],
        parameters: Span::new("tools", Class::Static, "{}"),
        marker: None,
    }
}

/// Two turns: web search, a project and memory are on; a fact changes and
/// something is retrieved with the second.
fn second(name: &str, family: Family, options: Options) -> (Talk, Box<dyn Strategy>, Prompt) {
    let mut it = strategy(name, options);
    let mut talk = Talk::new(family);
    talk.now.tools = Arc::from([tool()]);
    talk.now.web_search = Some("CITE".into());
    talk.now.project = Some("PROJECT".into());
    talk.remember("name", "Ada");
    talk.send(&mut *it, "One.");
    talk.reply("Yes.");
    talk.remember("name", "Bob");
    let prompt = talk.send_with(&mut *it, "Two.", |turn| {
        turn.retrieved = Some("FOUND".into());
        turn.rounds = vec![round(1)];
    });
    (talk, it, prompt)
}

fn shown(name: &str, family: Family) -> String {
    let (_, _, prompt) = second(name, family, Options::default());
    let words = Phrases::default();
    flat_with_markers(&prompt)
        .trim_start()
        .replace(words.get("turn.memory_intro"), "INTRO")
        .replace(words.get("turn.project"), "HEADING")
}

#[test]
fn openai_has_one_system_text() {
    insta::assert_snapshot!(shown("dev", Family::Openai), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    # Current Setting
    Date and time now: 2026-10-16T09:01:34.626Z
    HEADING
    PROJECT

    FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>One.
    <<assistant>>Yes.
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.
    "#);
    insta::assert_snapshot!(shown("parts", Family::Openai), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    HEADING
    PROJECT
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)

    FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>One.
    <<assistant>>Yes.
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.
    "#);
    insta::assert_snapshot!(shown("turn-context", Family::Openai), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.
    "#);
}

#[test]
fn compatible_servers_and_google_have_what_openai_has() {
    for name in ["dev", "lever-off", "parts", "turn-context"] {
        let expected = shown(name, Family::Openai);
        assert_eq!(shown(name, Family::Compatible), expected, "{name}");
        assert_eq!(shown(name, Family::Google), expected, "{name}");
    }
    insta::assert_snapshot!(shown("turn-context", Family::Compatible), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.
    "#);
    insta::assert_snapshot!(shown("turn-context", Family::Google), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.
    "#);
}

#[test]
fn anthropic_moves_the_tail_in_front_of_the_newest_message() {
    insta::assert_snapshot!(shown("dev", Family::Anthropic), @r#"
    <<tool>>search {}|
    <<system>>CITE
    You help.|
    <<user>>One.
    <<assistant>>Yes.|
    <<user>># Current Setting
    Date and time now: 2026-10-16T09:01:34.626Z
    HEADING
    PROJECT

    FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
    insta::assert_snapshot!(shown("parts", Family::Anthropic), @r#"
    <<tool>>search {}|
    <<system>>CITE
    You help.

    HEADING
    PROJECT
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)|
    <<user>>One.
    <<assistant>>Yes.|
    <<user>>FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
    insta::assert_snapshot!(shown("turn-context", Family::Anthropic), @r#"
    <<tool>>search {}|
    <<system>>CITE
    You help.

    HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)|
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
}

#[test]
fn openrouter_does_so_too_but_leaves_the_first_message_first() {
    insta::assert_snapshot!(shown("dev", Family::Openrouter), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.|
    <<user>>One.
    <<assistant>>Yes.|
    <<user>># Current Setting
    Date and time now: 2026-10-16T09:01:34.626Z
    HEADING
    PROJECT

    FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
    insta::assert_snapshot!(shown("turn-context", Family::Openrouter), @r#"
    <<tool>>search {}
    <<system>>CITE
    You help.

    HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)|
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
    let mut it = strategy("dev", Options::default());
    let mut talk = Talk::new(Family::Openrouter);
    talk.now.project = Some("PROJECT".into());
    let first = talk.send(&mut *it, "One.");
    let flat = flat_with_markers(&first);
    assert!(flat.find("One.").unwrap() < flat.find("PROJECT").unwrap());
}

#[test]
fn bedrock_keeps_the_tail_in_the_system_prompt_behind_the_marker() {
    insta::assert_snapshot!(shown("dev", Family::Bedrock), @r#"
    <<tool>>search {}|
    <<system>>CITE
    You help.|# Current Setting
    Date and time now: 2026-10-16T09:01:34.626Z
    HEADING
    PROJECT

    FOUND

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Bob
    <<user>>One.
    <<assistant>>Yes.
    <<user>>Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
    insta::assert_snapshot!(shown("turn-context", Family::Bedrock), @r#"
    <<tool>>search {}|
    <<system>>CITE
    You help.|HEADING
    PROJECT

    INTRO

    # Facts remembered of this user:
    1. [2026-10-16] Ada
    # Current Setting
    This conversation began on: 2026-10-16 09:00 (UTC)
    <<user>>One.
    <<assistant>>Yes.
    <<user>><context_update>
    [memory]
    changed: Ada -> Bob
    [retrieved]
    FOUND
    </context_update>

    Two.
    <<assistant>>Looking, 1.[search {"q":"x"}]
    <<tool>>Result 1.|
    "#);
}

/// Roles of marked messages, with how many of the prompt's other places are.
fn marks(prompt: &Prompt) -> String {
    let tools = prompt.tools.iter().filter(|it| it.marker.is_some()).count();
    let system: String = prompt
        .system
        .iter()
        .map(|block| if block.marker.is_some() { '|' } else { '.' })
        .collect();
    let messages: String = prompt
        .messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::System => "s",
                Role::User => "u",
                Role::Assistant => "a",
                Role::Tool => "t",
                Role::Tools => "-",
            };
            let marked = message.blocks.iter().any(|block| block.marker.is_some());
            if marked {
                role.to_uppercase()
            } else {
                role.to_owned()
            }
        })
        .collect();
    format!("{tools} {system} {messages}")
}

#[test]
fn markers_stand_where_their_rule_puts_them() {
    use Family::{Anthropic, Bedrock, Openai, Openrouter};
    let rule = |markers| Options {
        markers: Some(markers),
        ..Options::default()
    };
    let cases = [
        (
            "newer rule, tail",
            "dev",
            Anthropic,
            Options::default(),
            "1 | uAuuaT",
        ),
        (
            "newer rule, no tail",
            "turn-context",
            Anthropic,
            Options::default(),
            "1 | uauaT",
        ),
        (
            "older rule, tail",
            "dev",
            Anthropic,
            rule(MarkerRule::AnthropicOld),
            "1 | uAuuat",
        ),
        (
            "older rule, no tail",
            "turn-context",
            Anthropic,
            rule(MarkerRule::AnthropicOld),
            "1 | uauaT",
        ),
        (
            "no place on tools",
            "dev",
            Openrouter,
            Options::default(),
            "0 | uAuuaT",
        ),
        ("bedrock", "dev", Bedrock, Options::default(), "1 |. uauaT"),
        (
            "none keeps the tail in place",
            "dev",
            Anthropic,
            rule(MarkerRule::None),
            "0 . uauat",
        ),
        (
            "explicit",
            "dev",
            Openai,
            rule(MarkerRule::OpenaiExplicit),
            "0 | uAuat",
        ),
        (
            "explicit, tail behind",
            "dev",
            Openai,
            Options {
                tail: Some(TailPlace::SecondSystem),
                ..rule(MarkerRule::OpenaiExplicit)
            },
            "0 | suAuat",
        ),
    ];
    for (case, name, family, options, expected) in cases {
        let explicit = options.markers == Some(MarkerRule::OpenaiExplicit);
        let (_, _, prompt) = second(name, family, options);
        assert_eq!(marks(&prompt), expected, "{case}");
        assert_eq!(prompt.hints.explicit_cache, explicit, "{case}");
    }
}

#[test]
fn the_opening_message_is_never_marked_on_its_own() {
    let cases = [
        (Family::Anthropic, false, "0 | u"),
        (Family::Anthropic, true, "0 | uU"),
        (Family::Openrouter, true, "0 | uu"),
        (Family::Bedrock, true, "0 |. U"),
    ];
    for (family, tail, expected) in cases {
        let mut it = strategy("dev", Options::default());
        let mut talk = Talk::new(family);
        talk.now.project = tail.then(|| Text::from("PROJECT"));
        assert_eq!(
            marks(&talk.send(&mut *it, "One.")),
            expected,
            "{family:?} {tail}"
        );
    }
}

#[test]
fn the_older_rule_marks_two_answers_and_a_summary_at_the_head_none() {
    let options = Options {
        markers: Some(MarkerRule::AnthropicOld),
        summary: Some(SummaryPlace::Head),
        ..Options::default()
    };
    let (mut talk, mut it, _) = second("dev", Family::Anthropic, options);
    talk.reply("Yes.");
    assert_eq!(marks(&talk.send(&mut *it, "Three.")), "1 | uauAtAuu");
    talk.reply("Yes.");
    talk.compact(1, CompactionMode::Coverage);
    assert_eq!(marks(&talk.send(&mut *it, "Four.")), "1 | uuAuu");
}

#[test]
fn entries_live_an_hour_but_where_the_model_or_the_options_say_otherwise() {
    let five = Options {
        marker_ttl: Some(Ttl::FiveMinutes),
        ..Options::default()
    };
    let cases = [
        (Family::Anthropic, None, Options::default(), Ttl::Hour, 1),
        (Family::Anthropic, None, five, Ttl::FiveMinutes, 1),
        (
            Family::Bedrock,
            Some("anthropic.claude-5"),
            Options::default(),
            Ttl::Hour,
            1,
        ),
        (
            Family::Bedrock,
            Some("amazon.nova-pro"),
            Options::default(),
            Ttl::FiveMinutes,
            0,
        ),
    ];
    for (family, model, options, ttl, tools) in cases {
        let (mut talk, mut it, _) = second("turn-context", family, options);
        talk.now.model = model.map(Arc::from);
        let prompt = talk.render(&mut *it, &Purpose::Send);
        assert_eq!(
            prompt.system[0].marker.map(|marker| marker.ttl),
            Some(ttl),
            "{model:?}"
        );
        let marked = prompt
            .tools
            .iter()
            .filter(|tool| tool.marker.is_some())
            .count();
        assert_eq!(marked, tools, "{model:?}");
    }
}

#[test]
fn with_nothing_stable_the_tail_is_plain_system_text() {
    for family in Family::ALL {
        let mut it = strategy("dev", Options::default());
        let mut talk = Talk::new(family);
        talk.now.system = Text::default();
        talk.now.project = Some("PROJECT".into());
        let prompt = talk.send(&mut *it, "One.");
        assert_eq!(
            (prompt.system.len(), prompt.messages.len()),
            (1, 1),
            "{family:?}"
        );
        assert_eq!(prompt.system[0].marker, None, "{family:?}");
        talk.now.project = None;
        let prompt = talk.render(&mut *it, &Purpose::Send);
        assert!(prompt.system.is_empty(), "{family:?}");
    }
}

#[test]
fn a_picture_can_be_marked_but_not_on_bedrock() {
    let image = Attachment::Image {
        name: Arc::from("a.png"),
        media_type: Arc::from("image/png"),
        data: Text::from("AAAA"),
    };
    for (family, marked) in [
        (Family::Anthropic, [false, true]),
        (Family::Bedrock, [true, false]),
    ] {
        let (mut talk, mut it, _) = second("turn-context", family, Options::default());
        talk.reply("Yes.");
        let prompt = talk.send_with(&mut *it, "See.", |turn| {
            turn.attachments = vec![image.clone()];
        });
        let blocks = &prompt.messages.last().unwrap().blocks;
        let marks: Vec<bool> = blocks.iter().map(|block| block.marker.is_some()).collect();
        assert_eq!(marks, marked, "{family:?}");
    }
}
