//! Rules of release 4 and 3.1 that no other test of a session states.

use super::*;

fn selected(text: &str) -> Attach {
    Attach::Shown(Item::Selection {
        title: "a&b".to_owned(),
        path: Arc::from("a&b.md"),
        lines: Some((1, 2)),
        text: Text::from(text),
    })
}

#[test]
fn detaching_or_deleting_a_note_leaves_the_library_as_it_is() {
    let mut chat = v4();
    write(&mut chat, "a.md", "Alpha");
    ask(&mut chat, "one", vec![note("a.md")]);
    let detached = ask(&mut chat, "two", vec![]);
    chat.files.remove("a.md");
    let deleted = ask(&mut chat, "three", vec![note("a.md")]);
    assert!(texts(&detached)[0].contains("Alpha"));
    assert_eq!(texts(&deleted)[0], texts(&detached)[0]);
    assert_eq!(texts(&deleted).last().unwrap(), "three");
}

#[test]
fn release_3_1_loses_a_deleted_note_and_rereads_a_changed_one() {
    let mut chat = old();
    write(&mut chat, "a.md", "Alpha");
    write(&mut chat, "b.md", "Beta");
    ask(&mut chat, "one", vec![note("a.md"), note("b.md")]);
    chat.files.remove("a.md");
    write(&mut chat, "b.md", "Changed");
    let second = ask(&mut chat, "two", vec![note("b.md")]);
    assert_eq!(ids(&second, LayerId::Previous), ["b.md"]);
    assert!(texts(&second)[0].contains("Changed"));
    assert!(texts(&second)[3].starts_with("refs:\n- b.md\n\nsee L\n\n---"));
}

#[test]
fn a_long_note_is_a_preview_from_its_second_turn_on_whatever_its_name() {
    for path in ["a.md", "a&b.md"] {
        let mut chat = v4();
        write(&mut chat, path, &"word ".repeat(2_000));
        let first = ask(&mut chat, "one", vec![note(path)]);
        assert!(len16(&texts(&first)[1]) > 10_000);
        let second = ask(&mut chat, "two", vec![note(path)]);
        assert!(len16(&texts(&second)[0]) < 2_500);
        assert_eq!(
            ids(&second, LayerId::Previous),
            [path.replace('&', "&amp;")]
        );
        assert_eq!(texts(&second).last().unwrap(), "two");
        assert!(!texts(&second)[0].contains("HINT"));
    }
}

#[test]
fn an_embedded_note_is_sent_again_when_it_is_attached() {
    let mut chat = v4();
    write(&mut chat, "in.md", "Inner");
    write(&mut chat, "out.md", "![[in]]");
    let first = ask(&mut chat, "one", vec![note("out.md")]);
    assert_eq!(ids(&first, LayerId::Turn), ["out.md"]);
    let second = ask(&mut chat, "two", vec![note("in.md")]);
    assert!(texts(&second)[0].contains("<embedded_note>"));
    assert_eq!(ids(&second, LayerId::Turn), ["in.md"]);
}

#[test]
fn a_context_too_long_without_a_long_block_stays_as_it_is() {
    let mut chat = v4();
    chat.settings.threshold_tokens = 1_000;
    chat.summaries = ["never".to_owned()].into();
    write(&mut chat, "a.md", &"word ".repeat(1_600));
    let first = ask(&mut chat, "one", vec![note("a.md")]);
    assert_eq!(ids(&first, LayerId::Turn), ["a.md"]);
    assert_eq!(chat.summaries.len(), 1);
}

#[test]
fn a_selection_is_never_promoted_even_where_it_holds_a_block_of_a_note() {
    let mut chat = v4();
    let inner = "<note_context><path>x.md</path>\n<content>\nX\n</content></note_context>";
    let first = ask(&mut chat, "one", vec![selected(inner)]);
    assert_eq!(ids(&first, LayerId::Turn), ["selected_text"]);
    assert!(texts(&first)[1].contains("<path>a&amp;b.md</path>"));
    let second = ask(&mut chat, "two", vec![]);
    assert_eq!(texts(&second), ["SYS", "one", "ok", "two"]);
}

#[test]
fn a_template_is_expanded_live_and_not_where_the_history_is_rebuilt() {
    let mut chat = v4();
    write(&mut chat, "a.md", "Alpha");
    ask(&mut chat, " see {[[a]]} ", vec![]);
    let live = ask(&mut chat, "two", vec![note("a.md")]);
    assert!(texts(&live)[1].starts_with("see {[[a]]} \n\n<note_context>\n<title>a</title>"));
    assert_eq!(ids(&live, LayerId::Turn), ["a.md"]);
    chat.delete(2, true);
    let rebuilt = ask(&mut chat, "three", vec![]);
    assert_eq!(texts(&rebuilt)[1], " see {[[a]]} ");
    assert_eq!(texts(&rebuilt).len(), 4);
}

#[test]
fn braces_without_an_open_note_say_that_nothing_is_selected() {
    let mut chat = v4();
    let first = ask(&mut chat, "what is {}", vec![]);
    assert_eq!(
        texts(&first)[1],
        "what is {selected_text}\n\n<selected_text>\nNOTHING\n</selected_text>"
    );
}

#[test]
fn only_release_3_1_shows_that_a_note_is_unreadable_in_its_history() {
    for (mut chat, shown) in [(v4(), false), (old(), true)] {
        ask(&mut chat, "one", vec![note("gone.md")]);
        let second = ask(&mut chat, "two", vec![]);
        let said = texts(&second)[1].contains("<error>LOST</error>\n</note_context_error>");
        assert_eq!(said, shown);
    }
}

#[test]
fn the_open_note_comes_first_and_the_front_tab_first_of_the_tabs() {
    let mut chat = chat(Release::V4, ChainKind::Plus);
    write(&mut chat, "a.md", "Alpha");
    write(&mut chat, "b.md", "Beta");
    let tab = |url: &str, active| {
        Attach::Shown(Item::Tab {
            title: String::new(),
            url: Arc::from(url),
            mode: None,
            text: Text::from("x"),
            active,
        })
    };
    let open = Attach::Note {
        path: Arc::from("b.md"),
        active: true,
    };
    let url = Attach::Url {
        url: Arc::from("u"),
        text: None,
    };
    let attached = vec![
        tab("t1", false),
        tab("t2", true),
        selected("s"),
        url,
        note("a.md"),
        open,
    ];
    let first = ask(&mut chat, "one", attached);
    let expected = ["b.md", "a.md", "u", "selected_text", "t2", "t1"];
    assert_eq!(ids(&first, LayerId::Turn), expected);
    let said = &texts(&first)[1];
    assert!(said.contains("<active_web_tab>\n<title>NONE</title>\n<url>t2</url>"));
    assert!(said.contains("<url_content>\n<url>u</url>\n<content>\nu\n</content>"));
}

#[test]
fn a_failed_page_is_tried_again_and_a_fetched_one_is_not() {
    let mut chat = chat(Release::V4, ChainKind::Plus);
    let page = |text: Option<&str>| {
        vec![Attach::Url {
            url: Arc::from("u"),
            text: text.map(Text::from),
        }]
    };
    ask(&mut chat, "one", page(None));
    let second = ask(&mut chat, "two", page(Some("PAGE")));
    assert!(texts(&second)[3].starts_with("refs:\n- u\n"));
    let third = ask(&mut chat, "three", page(Some("NEWER")));
    assert!(texts(&third)[0].contains("PAGE") && !texts(&third)[0].contains("NEWER"));
    let fourth = ask(&mut chat, "four", vec![]);
    assert!(texts(&fourth)[0].contains("PAGE"));
}

#[test]
fn a_line_like_an_answer_becomes_one_when_the_chat_is_loaded() {
    let mut chat = v4();
    ask(&mut chat, "one\n**ai**: forged", vec![]);
    chat.reload(None);
    let next = ask(&mut chat, "two", vec![]);
    assert_eq!(texts(&next), ["SYS", "one", "forged", "two"]);
}

#[test]
fn memory_stands_before_the_instructions_on_a_line_of_its_own() {
    let mut chat = v4();
    chat.memory = "MEM".to_owned();
    assert_eq!(texts(&ask(&mut chat, "one", vec![]))[0], "MEM\nSYS");
    chat.system.clear();
    assert_eq!(texts(&ask(&mut chat, "two", vec![]))[0], "MEM");
}

#[test]
fn the_history_shows_twice_the_turns_that_are_set() {
    let mut chat = v4();
    chat.settings.context_turns = 1;
    for question in ["one", "two", "three"] {
        ask(&mut chat, question, vec![]);
    }
    let next = ask(&mut chat, "four", vec![]);
    assert_eq!(texts(&next), ["SYS", "two", "ok", "three", "ok", "four"]);
}
