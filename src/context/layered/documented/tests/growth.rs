//! How the library grows, and what it survives.

use super::*;

#[test]
fn an_unchanged_note_is_referred_to_and_stands_once_in_the_library() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    let first = ask(&mut talk, &mut *it, "one", vec![attached("a.md", "Alpha")]);
    assert!(!system(&first).contains("Alpha"));
    assert!(newest(&first).starts_with("<note_context>\n<path>a.md</path>"));
    let touched = Attachment::Note {
        note: Note {
            modified: Timestamp::MAX,
            ..note("a.md", "Alpha")
        },
        active: true,
    };
    let second = ask(
        &mut talk,
        &mut *it,
        "two",
        vec![touched, attached("b.md", "Beta")],
    );
    assert_eq!(system(&second).matches("Alpha").count(), 1);
    let said = newest(&second);
    assert!(said.contains("\n- a.md\n") && said.contains("Beta") && !said.contains("Alpha"));
    let third = ask(&mut talk, &mut *it, "three", vec![]);
    assert!(system(&third).starts_with(&system(&second)));
    assert_eq!(newest(&third), "three");
}

#[test]
fn a_changed_note_comes_as_a_new_version_and_the_library_stays() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    ask(&mut talk, &mut *it, "one", vec![attached("a.md", "Alpha")]);
    let before = ask(&mut talk, &mut *it, "two", vec![]);
    let changed = ask(
        &mut talk,
        &mut *it,
        "three",
        vec![attached("a.md", "Other")],
    );
    assert_eq!(system(&changed), system(&before));
    assert!(newest(&changed).contains("<version>2</version>\n<content>\nOther"));
    let back = ask(&mut talk, &mut *it, "four", vec![attached("a.md", "Alpha")]);
    assert!(system(&back).starts_with(&system(&before)));
    assert!(system(&back).contains("Other"));
    assert!(newest(&back).contains("- a.md\n"));
    let again = ask(&mut talk, &mut *it, "five", vec![attached("a.md", "Other")]);
    assert!(newest(&again).contains("- a.md (version 2)\n"));
    assert!(talk.plan.warnings.is_empty());
}

#[test]
fn the_fault_of_2025_takes_what_is_attached_out_of_the_library() {
    let mut talk = Talk::new(Family::Compatible);
    let options = Options {
        drop_current_from_library: Some(true),
        ..Options::default()
    };
    let mut it = strategy(NAME, options);
    ask(
        &mut talk,
        &mut *it,
        "one",
        vec![attached("a.md", "Alpha"), attached("b.md", "Beta")],
    );
    ask(&mut talk, &mut *it, "two", vec![]);
    let third = ask(
        &mut talk,
        &mut *it,
        "three",
        vec![attached("a.md", "Alpha")],
    );
    assert!(!system(&third).contains("Alpha") && system(&third).contains("Beta"));
    assert!(newest(&third).contains("Alpha"));
    assert_eq!(talk.plan.warnings.len(), 1);
    assert!(talk.plan.warnings[0].starts_with("L2 has changed"));
}

#[test]
fn notes_with_pictures_are_not_promoted() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    let picture = || vec![attached("p.md", "see ![[x.png]] here")];
    ask(&mut talk, &mut *it, "one", picture());
    let second = ask(&mut talk, &mut *it, "two", picture());
    assert!(!system(&second).contains("x.png"));
    assert!(newest(&second).contains("x.png"));
}

#[test]
fn a_compaction_replaces_history_and_leaves_the_library() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    for n in 0..4 {
        let piece = attached(&format!("n{n}.md"), &format!("Body {n}"));
        ask(&mut talk, &mut *it, &format!("question {n}"), vec![piece]);
    }
    talk.compact(1, CompactionMode::Coverage);
    let prompt = ask(&mut talk, &mut *it, "go on", vec![]);
    let all = flat(&prompt);
    assert!(text_of(&prompt, 0).contains("They talked."));
    assert!(all.contains("question 3") && !all.contains("question 2"));
    assert!((0..4).all(|n| system(&prompt).contains(&format!("Body {n}"))));
}

#[test]
fn a_loaded_chat_is_recovered_from_the_vault_once() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    let sent = ["same.md", "new.md", "old/moved.md", "old/two.md", "gone.md"];
    let pieces = sent
        .iter()
        .map(|path| attached(path, &format!("text of {path}")));
    ask(&mut talk, &mut *it, "one", pieces.collect());
    let now = vault(&[
        ("same.md", "text of same.md"),
        ("new.md", "changed"),
        ("elsewhere/moved.md", "text of old/moved.md"),
        ("x/two.md", "X"),
        ("y/two.md", "Y"),
    ]);
    talk.send(&mut *it, "two");
    let plan = loaded(&talk, &now, 1, |chain| it.plan(chain)).unwrap();
    let said = plan.warnings.join("\n");
    assert_eq!(plan.warnings.len(), 4, "{said}");
    for part in [
        "`new.md` has changed",
        "`old/moved.md` was moved to `elsewhere/moved.md`",
        "its name is ambiguous (`x/two.md`, `y/two.md`)",
        "`gone.md` is gone",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    store(&mut talk, plan);
    let first = loaded(&talk, &now, 1, |chain| it.render(chain)).unwrap();
    let library = system(&first);
    assert!(library.contains("text of same.md") && library.contains("changed"));
    assert!(library.contains("<path>elsewhere/moved.md</path>"));
    assert!(!library.contains("gone") && !library.contains("two.md"));
    let later = vault(&[("same.md", "changed later")]);
    let second = loaded(&talk, &later, 1, |chain| it.render(chain)).unwrap();
    assert_eq!(flat(&second), flat(&first));
}

#[test]
fn without_instructions_the_library_is_sent_all_the_same() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), layered());
    talk.now.system = Text::default();
    ask(&mut talk, &mut *it, "one", vec![attached("a.md", "Alpha")]);
    let second = ask(&mut talk, &mut *it, "two", vec![attached("a.md", "Alpha")]);
    let heading = Phrases::default().get("library_heading").to_owned();
    assert!(system(&second).starts_with(&heading) && system(&second).contains("Alpha"));
}
