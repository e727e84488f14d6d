use super::*;
use crate::chat::Text;
use crate::record::ledger::{ConversationFact, Ended, Start};
use crate::record::tests::{bound, record};
use crate::record::{Ending, Manifest, RunContents};
use std::fs;

/// A record of a conversation, with its turn as its place in time.
fn of(conversation: &str, turn: u32, text: &Text) -> RequestRecord {
    let mut record = record(turn, text);
    record.conversation = Arc::from(conversation);
    record.stamps.done_us = Some(Micros(u64::from(turn) * 1_000));
    record
}

fn ended(conversation: &str) -> LedgerLine {
    let fact = ConversationFact {
        conversation: Arc::from(conversation),
        session: 0,
        order: 1,
        salt: None,
        nonce: Arc::from("0"),
        epoch: 0,
        began_us: Micros(0),
        attempts: 1,
        idle_us: Micros(0),
        lifetime_us: None,
        start: Start::Cold,
        read: None,
        as_expected: None,
        ended: Ended::Complete,
    };
    LedgerLine::new(Micros(1), Fact::Conversation(Box::new(fact)))
}

/// A killed run: `a` came to its end, `b` did not, and the last line is torn.
fn killed(dir: &Path) {
    let mut writer = RunWriter::create(dir, &Manifest::begin(1, "0"), true).expect("creates");
    let text = Text::from("said");
    for (conversation, turn) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        let record = of(conversation, turn, &text);
        let texts = &mut [&text].into_iter();
        writer.append(&record, texts).expect("appends");
        if record.key().1 == 2 && conversation == "a" {
            writer.note(&ended("a")).expect("appends");
        }
    }
    writer.bounds(&[bound(1)]).expect("appends");
    drop(writer);
    let path = dir.join(files::REQUESTS);
    let whole = fs::read(&path).expect("reads");
    fs::write(&path, &whole[..whole.len() - 9]).expect("writes");
}

fn gone_on(dir: &Path) -> RunWriter {
    let unfinished = Unfinished::open(dir).expect("opens");
    let (kept, clock) = (unfinished.finished.clone(), unfinished.clock());
    unfinished.go_on(&kept, clock).expect("goes on")
}

fn contents(dir: &Path) -> RunContents {
    Run::read(dir).and_then(Run::contents).expect("reads")
}

fn places(records: &[RequestRecord]) -> Vec<String> {
    let place = |record: &RequestRecord| format!("{}{}", record.conversation, record.turn);
    records.iter().map(place).collect()
}

#[test]
fn what_is_not_finished_is_set_aside_and_marked_and_nothing_else_changes() {
    let dir = tempfile::tempdir().expect("folder");
    killed(dir.path());
    let unfinished = Unfinished::open(dir.path()).expect("opens");
    assert_eq!(unfinished.finished, BTreeSet::from([Arc::from("a")]));
    assert_eq!(unfinished.latest, Micros(2_000));
    assert!(unfinished.clock() > unfinished.latest);
    drop(unfinished);
    gone_on(dir.path()).finish(Ending::Complete).expect("ends");
    let run = contents(dir.path());
    assert_eq!(places(&run.requests), ["a1", "a2"]);
    assert_eq!(places(&run.aside), ["b1"]);
    assert!(run.aside.iter().all(RequestRecord::is_aside));
    assert!(run.bounds.is_empty(), "they are computed again");
    assert_eq!(run.manifest.resumed.len(), 1);
    assert!(run.warnings.is_empty());
}

#[test]
fn a_kill_while_lines_are_set_aside_loses_none_and_doubles_none() {
    let dir = tempfile::tempdir().expect("folder");
    killed(dir.path());
    let before = fs::read(dir.path().join(files::REQUESTS)).expect("reads");
    drop(gone_on(dir.path()));
    // As if it had been killed between the two files.
    fs::write(dir.path().join(files::REQUESTS), before).expect("writes");
    drop(gone_on(dir.path()));
    let run = contents(dir.path());
    assert_eq!(places(&run.requests), ["a1", "a2"]);
    assert_eq!(places(&run.aside), ["b1"]);
    assert_eq!(run.manifest.resumed.len(), 2);
}

#[test]
fn a_conversation_whose_texts_were_lost_is_run_again() {
    let dir = tempfile::tempdir().expect("folder");
    killed(dir.path());
    fs::write(dir.path().join(files::SPANS), "").expect("writes");
    let unfinished = Unfinished::open(dir.path()).expect("opens");
    assert!(unfinished.finished.is_empty());
}

#[test]
fn a_superseded_conversation_is_finished_again_only_by_its_next_end() {
    let dir = tempfile::tempdir().expect("folder");
    killed(dir.path());
    let unfinished = Unfinished::open(dir.path()).expect("opens");
    let writer = unfinished
        .go_on(&BTreeSet::new(), Micros(9_000))
        .expect("goes on");
    drop(writer);
    let unfinished = Unfinished::open(dir.path()).expect("opens");
    assert!(unfinished.finished.is_empty());
    assert!(unfinished.begun.is_empty());
    assert_eq!(unfinished.latest, Micros(9_000));
    drop(unfinished);
    let mut writer = gone_on(dir.path());
    let text = Text::from("said");
    writer
        .append(&of("a", 1, &text), &mut [&text].into_iter())
        .expect("appends");
    writer.note(&ended("a")).expect("appends");
    drop(writer);
    let unfinished = Unfinished::open(dir.path()).expect("opens");
    assert_eq!(unfinished.finished, BTreeSet::from([Arc::from("a")]));
}

#[test]
fn two_cannot_go_on_at_once() {
    let dir = tempfile::tempdir().expect("folder");
    killed(dir.path());
    let first = gone_on(dir.path());
    let second = Unfinished::open(dir.path()).expect_err("held");
    assert!(matches!(second, WriteError::Busy { .. }), "{second}");
    let other = RunWriter::create(dir.path(), &Manifest::begin(1, "0"), true);
    assert!(matches!(other, Err(WriteError::NotEmpty { .. })));
    drop(first);
    Unfinished::open(dir.path()).expect("free again");
}

#[test]
fn a_folder_without_a_run_stays_as_it_is() {
    let dir = tempfile::tempdir().expect("folder");
    let error = Unfinished::open(dir.path()).expect_err("no run");
    assert!(matches!(error, WriteError::Resume { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
}

#[test]
fn a_run_that_was_killed_as_it_began_goes_on() {
    let dir = tempfile::tempdir().expect("folder");
    let begun = RunWriter::create(dir.path(), &Manifest::begin(1, "0"), true).expect("creates");
    drop(begun);
    for name in files::ALL.iter().filter(|name| **name != files::MANIFEST) {
        fs::remove_file(dir.path().join(name)).expect("a file");
    }
    let mut writer = gone_on(dir.path());
    let text = Text::from("said");
    let texts = &mut [&text].into_iter();
    writer.append(&of("a", 1, &text), texts).expect("appends");
    writer.finish(Ending::Complete).expect("ends");
    assert_eq!(places(&contents(dir.path()).requests), ["a1"]);
}
