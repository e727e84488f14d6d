//! What a person sees who gets a scenario wrong.

use super::{parsed, shown};

fn refusal(text: &str) -> String {
    shown(&parsed(text).expect_err("the scenario is faulty"))
}

#[test]
fn an_unknown_key_is_shown_with_the_one_that_was_meant() {
    let text = "scenario: chat\nstpes: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_key

      × unknown key `stpes`
       ╭─[chat.yaml:2:1]
     1 │ scenario: chat
     2 │ stpes: []
       · ──┬──
       ·   ╰── nothing reads this key
       ╰────
      help: did you mean `steps`?
    "#);
}

#[test]
fn an_unknown_key_of_a_step_is_shown() {
    let text = "scenario: chat\nsteps:\n  - user: {text: Hi, replay: Ho}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_key

      × unknown key `replay`
       ╭─[chat.yaml:3:22]
     2 │ steps:
     3 │   - user: {text: Hi, replay: Ho}
       ·                      ───┬──
       ·                         ╰── nothing reads this key
       ╰────
      help: did you mean `reply`?
    "#);
}

#[test]
fn an_unknown_step_is_shown() {
    let text = "scenario: chat\nsteps:\n  - usr: {text: Hi}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_step

      × unknown step `usr`
       ╭─[chat.yaml:3:5]
     2 │ steps:
     3 │   - usr: {text: Hi}
       ·     ─┬─
       ·      ╰── no step has this name
       ╰────
      help: did you mean `user`?
    "#);
}

#[test]
fn a_wrong_type_is_shown() {
    let text = "scenario: chat\nsteps:\n  - user: {text: [1, 2]}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::wrong_type

      × expected a text, `{file: ...}` or `{generate: ...}`, found a list
       ╭─[chat.yaml:3:12]
     2 │ steps:
     3 │   - user: {text: [1, 2]}
       ·            ──┬─
       ·              ╰── here
       ╰────
    "#);
}

#[test]
fn a_wrong_number_is_shown() {
    let text = "scenario: chat\nsystem: {generate: {tokens: many}}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::wrong_type

      × expected a whole number, found `many`
       ╭─[chat.yaml:2:29]
     1 │ scenario: chat
     2 │ system: {generate: {tokens: many}}
       ·                             ──┬─
       ·                               ╰── here
     3 │ steps: []
       ╰────
    "#);
}

#[test]
fn a_bare_word_is_no_step() {
    let text = "scenario: chat\nsteps:\n  - reload\n  - user: {text: Hi}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::wrong_type

      × expected a step like `user: {...}`, found string "reload"
       ╭─[chat.yaml:3:5]
     2 │ steps:
     3 │   - reload
       ·     ───┬──
       ·        ╰── here
     4 │   - user: {text: Hi}
       ╰────
    "#);
}

#[test]
fn a_duplicate_key_is_shown_where_it_stands_again() {
    let text = "scenario: chat\nnotes:\n  a.md: x\n  a.md: y\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::duplicate_key

      × duplicate key `a.md`
       ╭─[chat.yaml:4:3]
     3 │   a.md: x
     4 │   a.md: y
       ·   ──┬─
       ·     ╰── stands here a second time
     5 │ steps: []
       ╰────
    "#);
}

#[test]
fn a_missing_key_is_named() {
    let text = "scenario: chat\nsteps:\n  - user: {reply: Ho}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::missing

      × `text` is missing
       ╭─[chat.yaml:3:12]
     2 │ steps:
     3 │   - user: {reply: Ho}
       ·            ──┬──
       ·              ╰── not in this map
       ╰────
    "#);
}

#[test]
fn a_step_of_two_kinds_is_refused() {
    let text = "scenario: chat\nsteps:\n  - user: {text: Hi}\n    set: {artifacts: on}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::two_kinds

      × a step has one kind
       ╭─[chat.yaml:4:5]
     3 │   - user: {text: Hi}
     4 │     set: {artifacts: on}
       ·     ─┬─
       ·      ╰── a second kind
       ╰────
      help: begin the next step with `-`
    "#);
}

#[test]
fn text_that_is_no_yaml_is_shown() {
    let text = "scenario: chat\nsteps: [\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::yaml

      × not readable as YAML: unclosed bracket '['
       ╭─[chat.yaml:2:8]
     1 │ scenario: chat
     2 │ steps: [
       ·        ▲
       ·        ╰── here
       ╰────
    "#);
}

#[test]
fn a_missing_file_is_shown() {
    let text = "scenario: chat\nsystem: {file: nope.md}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::file

      × cannot read `nope.md`
       ╭─[chat.yaml:2:16]
     1 │ scenario: chat
     2 │ system: {file: nope.md}
       ·                ───┬───
       ·                   ╰── there is no such file
     3 │ steps: []
       ╰────
      help: files are looked for beside the file that names them
    "#);
}

#[test]
fn a_file_outside_the_folder_is_refused() {
    let text = "scenario: chat\nsystem: {file: ../secret.md}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::outside

      × `../secret.md` lies outside the scenario's folder
       ╭─[chat.yaml:2:16]
     1 │ scenario: chat
     2 │ system: {file: ../secret.md}
       ·                ──────┬─────
       ·                      ╰── here
     3 │ steps: []
       ╰────
      help: move it there, or allow files from elsewhere with `--outside-folder`
    "#);
}

#[test]
fn a_bad_zone_is_shown_with_the_one_that_was_meant() {
    let text = "scenario: chat\nclock: {zone: Europe/Berln}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_name

      × unknown time zone `Europe/Berln`
       ╭─[chat.yaml:2:15]
     1 │ scenario: chat
     2 │ clock: {zone: Europe/Berln}
       ·               ──────┬─────
       ·                     ╰── no time zone of this name here
     3 │ steps: []
       ╰────
      help: did you mean `Europe/Berlin`?
    "#);
}

#[test]
fn an_unknown_note_is_shown_with_the_one_that_was_meant() {
    let text = "scenario: chat\nnotes: {spec.md: x}\nsteps:\n  - user: {text: Hi, attach: [{note: sepc.md}]}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_name

      × unknown note `sepc.md`
       ╭─[chat.yaml:4:38]
     3 │ steps:
     4 │   - user: {text: Hi, attach: [{note: sepc.md}]}
       ·                                      ───┬───
       ·                                         ╰── no note of this name here
       ╰────
      help: did you mean `spec.md`?
    "#);
}

#[test]
fn a_note_is_unknown_once_it_is_deleted() {
    let text = "scenario: chat\nnotes: {spec.md: x, b.md: y}\nsteps:\n  - note: {spec.md: delete}\n  - user: {text: Hi, attach: [{note: spec.md}]}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_name

      × unknown note `spec.md`
       ╭─[chat.yaml:5:38]
     4 │   - note: {spec.md: delete}
     5 │   - user: {text: Hi, attach: [{note: spec.md}]}
       ·                                      ───┬───
       ·                                         ╰── no note of this name here
       ╰────
      help: notes at this point: b.md
    "#);
}

#[test]
fn an_unknown_base_is_shown_with_the_one_that_was_meant() {
    let text = "scenario: chat\nconfigurations:\n  mine: {base: turn_context}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_name

      × unknown configuration `turn_context`
       ╭─[chat.yaml:3:16]
     2 │ configurations:
     3 │   mine: {base: turn_context}
       ·                ──────┬─────
       ·                      ╰── no configuration of this name here
     4 │ steps: []
       ╰────
      help: did you mean `turn-context`?
    "#);
}

#[test]
fn an_option_that_the_base_does_not_read_is_refused() {
    let text = "scenario: chat\nconfigurations:\n  mine: {base: dev, drop_current_from_library: on}\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × `drop_current_from_library` is an option of layered only, not of `dev`
       ╭─[chat.yaml:3:48]
     2 │ configurations:
     3 │   mine: {base: dev, drop_current_from_library: on}
       ·                                                ─┬
       ·                                                 ╰── here
     4 │ steps: []
       ╰────
    "#);
}

#[test]
fn a_turn_that_has_not_happened_is_refused() {
    let text = "scenario: chat\nsteps:\n  - user: {text: Hi}\n  - regenerate: {turn: 2}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::no_such_turn

      × turn 2 has not happened yet: 1 so far, edits and regenerations counted
       ╭─[chat.yaml:4:24]
     3 │   - user: {text: Hi}
     4 │   - regenerate: {turn: 2}
       ·                        ┬
       ·                        ╰── here
       ╰────
    "#);
}

#[test]
fn a_memory_entry_that_is_not_there_cannot_change() {
    let text = "scenario: chat\nstart: {memory: {tone: formal}}\nsteps:\n  - memory: {change: {tnoe: brief}}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::unknown_name

      × unknown memory entry `tnoe`
       ╭─[chat.yaml:4:23]
     3 │ steps:
     4 │   - memory: {change: {tnoe: brief}}
       ·                       ──┬─
       ·                         ╰── no memory entry of this name here
       ╰────
      help: did you mean `tone`?
    "#);
}

#[test]
fn a_memory_entry_cannot_be_added_twice() {
    let text = "scenario: chat\nstart: {memory: {tone: formal}}\nsteps:\n  - memory: {add: {tone: brief}}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::exists

      × memory entry `tone` exists already
       ╭─[chat.yaml:4:20]
     3 │ steps:
     4 │   - memory: {add: {tone: brief}}
       ·                    ──┬─
       ·                      ╰── here
       ╰────
      help: use `change` for an entry that is there already
    "#);
}

#[test]
fn a_duration_needs_a_unit() {
    let text = "scenario: chat\nsteps:\n  - wait: 90\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × the duration `90` has no unit
       ╭─[chat.yaml:3:11]
     2 │ steps:
     3 │   - wait: 90
       ·           ─┬
       ·            ╰── here
       ╰────
      help: write it like `26h`, `90m`, `30s` or `1h 30m`
    "#);
}

#[test]
fn a_faulty_tool_is_named() {
    let text = "scenario: chat\ntools: '[{\"name\": \"search\", \"parametrs\": {}}]'\nsteps: []\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × the tools have a faulty entry: tool 1 `search` has an unknown key `parametrs`; did you mean
      │ `parameters`?
       ╭─[chat.yaml:2:8]
     1 │ scenario: chat
     2 │ tools: '[{"name": "search", "parametrs": {}}]'
       ·        ───────────────────┬───────────────────
       ·                           ╰── here
     3 │ steps: []
       ╰────
    "#);
}

#[test]
fn nothing_is_sent_while_a_turn_waits() {
    let text = "scenario: chat\nsteps:\n  - user: {text: Hi, tool_calls: [{calls: [{name: x, result: y}]}]}\n  - approve:\n      while:\n        - user: {text: And?}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × this step cannot happen while a turn waits for approval
       ╭─[chat.yaml:6:11]
     5 │       while:
     6 │         - user: {text: And?}
       ·           ▲
       ·           ╰── here
       ╰────
      help: only sources, notes, pages, the clock, tools and the model can change then
    "#);
}

#[test]
fn approval_needs_a_tool_loop() {
    let text = "scenario: chat\nsteps:\n  - user: {text: Hi}\n  - approve: {turn: last}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::no_such_turn

      × turn `last` has no `tool_calls` that could wait for approval
       ╭─[chat.yaml:4:21]
     3 │   - user: {text: Hi}
     4 │   - approve: {turn: last}
       ·                     ──┬─
       ·                       ╰── here
       ╰────
    "#);
}

#[test]
fn a_scenario_sends_something() {
    let text = "scenario: chat\nsteps:\n  - wait: 1h\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × `steps` send nothing
       ╭─[chat.yaml:3:3]
     2 │ steps:
     3 │   - wait: 1h
       ·   ▲
       ·   ╰── here
       ╰────
      help: a scenario needs at least one `user` step
    "#);
}

#[test]
fn a_project_needs_a_text() {
    let text = "scenario: chat\nsteps:\n  - set: {project: on}\n";
    insta::assert_snapshot!(refusal(text), @r#"
    scenario::value

      × `project` cannot be just `on`
       ╭─[chat.yaml:3:20]
     2 │ steps:
     3 │   - set: {project: on}
       ·                    ─┬
       ·                     ╰── here
       ╰────
      help: give a text, `{file: ...}` or `{generate: ...}`
    "#);
}

#[test]
fn a_key_that_names_another_source_is_refused_where_it_stands() {
    for key in [
        "project",
        "memory",
        "tools",
        "notes/a.md",
        "user",
        "tool_runtime.x",
    ] {
        let text = format!(
            "scenario: chat\nsteps:\n  - set: {{other: {{{key}: FAKE}}}}\n  - user: {{text: Hi}}\n"
        );
        let said = parsed(&text).err().map(|error| shown(&error));
        let taken = said
            .as_deref()
            .is_some_and(|said| said.contains("is no key of its own"));
        // A family is taken with every name in it that the registry has; this one has few.
        assert_eq!(taken, key != "tool_runtime.x", "{key}: {said:?}");
    }
    let text = "scenario: chat\nsteps:\n  - set: {other: {weather: W, configured_additional: A, \
                agent_context_files: F, additional_instructions: D}}\n  - user: {text: Hi}\n";
    assert!(parsed(text).is_ok());
    insta::assert_snapshot!(
        refusal("scenario: chat\nsteps:\n  - set: {other: {project: FAKE}}\n"),
        @r"
    scenario::value

      × `project` is no key of its own: it names something else
       ╭─[chat.yaml:3:19]
     2 │ steps:
     3 │   - set: {other: {project: FAKE}}
       ·                   ───┬───
       ·                      ╰── `project` is no key of its own: it names something else
       ╰────
      help: `other` is for keys that no registry knows, and for
            `configured_additional` and `agent_context_files`; `prefixbench list
            sources` shows the rest
    "
    );
}
