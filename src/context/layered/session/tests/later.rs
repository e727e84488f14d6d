//! Going back in a chat: deleting, editing, asking again, loading.

use super::*;

#[test]
fn deleting_a_question_takes_its_notes_and_deleting_an_answer_does_not() {
    for (answer, library) in [(false, vec!["b.md"]), (true, vec!["a.md", "b.md"])] {
        let mut chat = v4();
        write(&mut chat, "a.md", "Alpha");
        write(&mut chat, "b.md", "Beta");
        ask(&mut chat, "one", vec![note("a.md")]);
        ask(&mut chat, "two", vec![note("b.md")]);
        chat.delete(1, answer);
        let next = ask(&mut chat, "three", vec![]);
        assert_eq!(ids(&next, LayerId::Previous), library);
        assert_eq!(texts(&next)[1..], ["two", "ok", "three"]);
    }
}

#[test]
fn asking_again_sends_the_same_and_a_loaded_question_is_built_first() {
    let mut chat = v4();
    write(&mut chat, "a.md", "Alpha");
    let first = ask(&mut chat, "one", vec![note("a.md")]);
    write(&mut chat, "a.md", "Changed");
    let again = chat.regenerate(1, &says("other"));
    assert_eq!(texts(&again[0]), texts(&first));
    chat.reload(None);
    let built = chat.regenerate(1, &says("third"));
    assert!(texts(&built[0])[1].contains("Changed"));
    let mut old = old();
    ask(&mut old, "one", vec![]);
    old.reload(None);
    assert!(old.regenerate(1, &says("x")).is_empty());
}

#[test]
fn an_edit_reads_again_with_the_present_selection() {
    let mut chat = v4();
    let selected = |text: &str| {
        Attach::Shown(Item::Selection {
            title: "s".to_owned(),
            path: Arc::from("s.md"),
            lines: Some((1, 2)),
            text: Text::from(text),
        })
    };
    write(&mut chat, "a.md", "Alpha");
    ask(&mut chat, "one", vec![note("a.md"), selected("first")]);
    ask(&mut chat, "two", vec![selected("second")]);
    write(&mut chat, "a.md", "Changed");
    let edited = chat.edit(1, "uno", &says("si"));
    let said = &texts(&edited[0])[1];
    assert!(said.contains("Changed") && said.contains("second") && said.ends_with("uno"));
    assert_eq!(edited[0].messages.len(), 2);
}

#[test]
fn a_moved_note_is_not_found_after_a_load() {
    let mut chat = chat(Release::V31, ChainKind::Llm);
    write(&mut chat, "old/a.md", "Alpha");
    write(&mut chat, "b.md", "Beta");
    ask(&mut chat, " one ", vec![note("old/a.md"), note("b.md")]);
    chat.reload(Some(("old/a.md", "new/a.md")));
    let next = ask(&mut chat, "two", vec![]);
    assert_eq!(ids(&next, LayerId::Previous), ["b.md"]);
    assert_eq!(texts(&next)[1], "one");
}
