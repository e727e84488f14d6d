//! Tests of the run folder as a whole.

use super::*;
use crate::chat::{Class, Origin, Part, Role, Text, Usage, UsageOrigin};
use crate::units::{Bytes, Micros, Money, Tokens};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub(super) fn record(turn: u32, text: &Text) -> RequestRecord {
    let name = |text: &str| Arc::<str>::from(text);
    RequestRecord {
        v: request::RECORD_VERSION,
        scenario: name("quickstart"),
        group: name("G1"),
        configuration: name("dev"),
        target: name("here"),
        model: name("m"),
        load: name("sessions=1"),
        repeat: 1,
        conversation: name("quickstart/dev/1"),
        turn,
        request: 1,
        attempt: 1,
        events: vec![EventLabel {
            label: name("artifacts on"),
            line: 3,
            rewrites: None,
        }],
        outcome: Outcome::Ok,
        status: Some(200),
        flags: vec![name("retried")],
        error: None,
        usage: Usage {
            total: Some(Tokens(100)),
            read: Some(Tokens(64)),
            origin: UsageOrigin::Reported,
            ..Usage::default()
        },
        stamps: Stamps {
            due_us: Micros(0),
            sent_us: Some(Micros(10)),
            ..Stamps::default()
        },
        bytes_sent: Bytes(400),
        salt: None,
        nonce: name("1 2 3 4 5 6 7 8"),
        epoch: 0,
        scenario_ms: 0,
        cache: crate::chat::CacheAsked::default(),
        prompt: vec![RecordedMessage {
            role: Role::User,
            spans: vec![RecordedSpan {
                origin: Origin::from("user"),
                class: Class::Turn,
                part: Part::Text,
                sha256: text.digest(),
                start: 10,
                end: 10 + text.len(),
            }],
            marks: Some(vec![1]),
            long_marks: vec![1],
        }],
        output_sha256: None,
        output_ids: None,
        finish: Some("stop".to_owned()),
        served_by: None,
        headers: std::collections::BTreeMap::new(),
    }
}

pub(super) fn bound(turn: u32) -> BoundRecord {
    BoundRecord {
        v: request::RECORD_VERSION,
        conversation: Arc::from("quickstart/dev/1"),
        turn,
        request: 1,
        attempt: 1,
        prompt: Some(Tokens(100)),
        eligible: Some(Tokens(70)),
        bound: Some(Tokens(64)),
        cache_model: Some(Arc::from("blocks:16")),
        tokenizer: Some(Arc::from("o200k")),
        broke: Some(Break {
            origin: Origin::from("artifacts"),
            cause: Arc::from("artifacts on"),
            byte: 17,
            lost: None,
        }),
        cost: Some(Money(3_000_000_000)),
        flags: vec![Arc::from("retried"), Arc::from("above_bound")],
    }
}

/// A run of two records in `dir`.
fn written(dir: &Path, keep_text: bool) -> Manifest {
    let manifest = Manifest::begin(7, "1 2 3 4 5 6 7 8");
    let mut writer = RunWriter::create(dir, &manifest, keep_text).expect("creates");
    let text = Text::from("häl\"lo");
    for turn in 1..=2 {
        writer
            .append(&record(turn, &text), &mut [&text].into_iter())
            .expect("appends");
    }
    writer.bounds(&[bound(1), bound(2)]).expect("appends");
    writer.finish(Ending::Complete).expect("finishes")
}

/// Goes on with the run in `dir`, with all that it has.
fn resumed(dir: &Path) -> Result<RunWriter, WriteError> {
    let unfinished = Unfinished::open(dir)?;
    let (begun, clock) = (unfinished.begun.clone(), unfinished.clock());
    unfinished.go_on(&begun, clock)
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let dir = tempfile::tempdir().expect("folder");
    let manifest = written(dir.path(), true);
    let run = Run::read(dir.path())
        .expect("opens")
        .contents()
        .expect("reads");
    let text = Text::from("häl\"lo");
    assert_eq!(run.manifest, manifest);
    assert_eq!(run.requests, [record(1, &text), record(2, &text)]);
    assert_eq!(run.bounds, [bound(1), bound(2)]);
    assert_eq!(
        run.spans.len(),
        1,
        "a text that two records share is stored once"
    );
    assert_eq!(run.spans.text(text.digest()), Some(&text));
    assert!(run.warnings.is_empty());
}

#[test]
fn every_output_file_exists_before_the_first_request() {
    let dir = tempfile::tempdir().expect("folder");
    let manifest = Manifest::begin(7, "0");
    let _writer = RunWriter::create(dir.path(), &manifest, true).expect("creates");
    for name in files::ALL {
        assert!(dir.path().join(name).exists(), "{name}");
    }
}

#[test]
fn without_texts_only_their_lengths_are_stored() {
    let dir = tempfile::tempdir().expect("folder");
    written(dir.path(), false);
    let run = Run::read(dir.path()).expect("opens");
    let spans: Vec<StoredSpan> = run
        .spans()
        .expect("opens")
        .map(|s| s.expect("reads"))
        .collect();
    assert_eq!(spans.len(), 1);
    assert_eq!((spans[0].bytes, &spans[0].text), (Bytes(7), &None));
    let whole = fs::read_to_string(dir.path().join(files::REQUESTS)).expect("reads");
    assert!(!whole.contains("häl"), "no text in the records either");
}

#[test]
fn a_folder_that_holds_something_is_refused() {
    let dir = tempfile::tempdir().expect("folder");
    fs::write(dir.path().join("notes.txt"), "mine").expect("writes");
    let error = RunWriter::create(dir.path(), &Manifest::begin(1, "0"), true)
        .expect_err("must not mix with a person's files");
    assert!(matches!(error, WriteError::NotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("is not empty"));
    assert!(error.help().contains("--out"));
    assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 1);
}

#[test]
fn a_folder_below_a_file_cannot_be_made() {
    let dir = tempfile::tempdir().expect("folder");
    let file = dir.path().join("file");
    fs::write(&file, "").expect("writes");
    let error = RunWriter::create(&file.join("run"), &Manifest::begin(1, "0"), true)
        .expect_err("a file is no folder");
    assert!(matches!(error, WriteError::Io { .. }), "{error}");
}

#[test]
fn what_the_system_says_decides_the_kind_of_the_error() {
    use std::io::{Error, ErrorKind};
    let kind = |kind| WriteError::new(Path::new("x"), Error::from(kind));
    assert!(matches!(
        kind(ErrorKind::StorageFull),
        WriteError::Full { .. }
    ));
    assert!(matches!(
        kind(ErrorKind::QuotaExceeded),
        WriteError::Full { .. }
    ));
    assert!(matches!(
        kind(ErrorKind::PermissionDenied),
        WriteError::Denied { .. }
    ));
    assert!(matches!(
        kind(ErrorKind::ReadOnlyFilesystem),
        WriteError::Denied { .. }
    ));
    assert!(matches!(
        kind(ErrorKind::Interrupted),
        WriteError::Io { .. }
    ));
}

#[test]
fn a_torn_last_line_is_left_out_and_said_and_cut_off_when_the_run_goes_on() {
    let dir = tempfile::tempdir().expect("folder");
    written(dir.path(), true);
    let path = dir.path().join(files::REQUESTS);
    let whole = fs::read(&path).expect("reads");
    fs::write(&path, &whole[..whole.len() - 20]).expect("writes");

    let run = Run::read(dir.path())
        .expect("opens")
        .contents()
        .expect("reads");
    assert_eq!(run.requests.len(), 1);
    assert_eq!(
        run.warnings,
        ["the last line of `requests.jsonl` was cut off and is left out"]
    );

    let mut writer = resumed(dir.path()).expect("goes on");
    let text = Text::from("häl\"lo");
    writer
        .append(&record(2, &text), &mut [&text].into_iter())
        .expect("appends");
    writer.finish(Ending::Complete).expect("finishes");
    let run = Run::read(dir.path())
        .expect("opens")
        .contents()
        .expect("reads");
    assert_eq!(run.requests.len(), 2);
    assert_eq!(run.spans.len(), 1);
    assert!(run.warnings.is_empty());
}

#[test]
fn a_newer_format_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().expect("folder");
    written(dir.path(), true);
    fs::write(
        dir.path().join(files::MANIFEST),
        r#"{"format": 99, "new": true}"#,
    )
    .expect("writes");
    let error = Run::read(dir.path()).expect_err("must not guess");
    assert!(
        matches!(
            error,
            ReadError::Newer {
                found: 99,
                known: MANIFEST_VERSION,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.help().contains("newer"));

    let dir = tempfile::tempdir().expect("folder");
    written(dir.path(), true);
    fs::write(
        dir.path().join(files::REQUESTS),
        "{\"v\": 99, \"later\": []}\n",
    )
    .expect("writes");
    let error = Run::read(dir.path())
        .expect("opens")
        .contents()
        .expect_err("newer");
    assert!(
        matches!(
            error,
            ReadError::Newer {
                found: 99,
                known: request::RECORD_VERSION,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_folder_without_a_run_says_so() {
    let dir = tempfile::tempdir().expect("folder");
    let error = Run::read(dir.path()).expect_err("empty");
    assert!(matches!(error, ReadError::NoRun { .. }), "{error}");
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let dir = tempfile::tempdir().expect("folder");
    written(dir.path(), true);
    let path = dir.path().join(files::REQUESTS);
    let whole = fs::read_to_string(&path).expect("reads");
    fs::write(&path, whole.replacen('\n', "\nnonsense\n", 1)).expect("writes");
    let error = Run::read(dir.path())
        .expect("opens")
        .contents()
        .expect_err("nonsense");
    assert!(
        matches!(error, ReadError::Malformed { line: 2, .. }),
        "{error}"
    );
}

#[test]
fn the_table_has_an_empty_cell_for_what_is_not_known() {
    let text = Text::from("hi");
    let mut failed = record(2, &text);
    failed.usage = Usage::default();
    failed.outcome = Outcome::Timeout;
    failed.status = None;
    failed.events.clear();
    failed.flags.clear();
    let mut out = Vec::new();
    write_requests(&mut out, &[record(1, &text), failed], &[bound(1)]).expect("writes");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"), @r"
    scenario,group,configuration,target,model,load,repeat,conversation,turn,request,attempt,events,outcome,status,flags,total_tokens,read_tokens,write_tokens,write_long_tokens,output_tokens,reasoning_tokens,usage_origin,eligible_tokens,bound_tokens,cache_model,break_origin,break_cause,break_byte,lost_tokens,bytes_sent,due_us,sent_us,headers_us,first_event_us,first_text_us,first_answer_us,done_us,cost_usd,served_by,ready_us,limited_us,late_us,ttft_us,ttft_from_due_us,first_due_us
    quickstart,G1,dev,here,m,sessions=1,1,quickstart/dev/1,1,1,1,artifacts on,ok,200,retried; above_bound,100,64,,,,,reported,70,64,blocks:16,artifacts,artifacts on,17,,400,0,10,,,,,,0.003,,,,10,,,0
    quickstart,G1,dev,here,m,sessions=1,1,quickstart/dev/1,2,1,1,,timeout,,,,,,,,,absent,,,,,,,,400,0,10,,,,,,,,,,10,,,0
    ");
}

use super::inert;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_bytes_give_records_or_an_error_but_never_a_panic(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        at in 0usize..2000,
        in_file in 0usize..4,
    ) {
        let dir = tempfile::tempdir().expect("folder");
        written(dir.path(), true);
        let name = [files::MANIFEST, files::REQUESTS, files::SPANS, files::BOUNDS][in_file];
        let path = dir.path().join(name);
        let mut bytes = fs::read(&path).expect("reads");
        let at = at.min(bytes.len());
        bytes.splice(at..(at + noise.len() / 2).min(bytes.len()), noise);
        fs::write(&path, bytes).expect("writes");
        if let Ok(contents) = Run::read(dir.path()).and_then(Run::contents) {
            prop_assert!(contents.requests.len() <= 2 + 200);
        }
        let _goes_on = resumed(dir.path());
    }

    #[test]
    fn a_file_cut_anywhere_loses_only_what_stood_behind_the_cut(cut in 0usize..5000) {
        let dir = tempfile::tempdir().expect("folder");
        written(dir.path(), true);
        let path = dir.path().join(files::REQUESTS);
        let bytes = fs::read(&path).expect("reads");
        let kept = &bytes[..cut.min(bytes.len())];
        fs::write(&path, kept).expect("writes");
        let run = Run::read(dir.path()).expect("opens").contents().expect("reads");
        let lines = kept.split(|&byte| byte == b'\n').count() - 1;
        prop_assert_eq!(run.requests.len(), lines);
        prop_assert_eq!(run.warnings.is_empty(), kept.is_empty() || kept.ends_with(b"\n"));
    }
}

/// Lines of `text` as numbers, read in blocks by `threads` threads.
fn numbers(text: &str, threads: usize) -> Result<(Vec<u64>, bool), ReadError> {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("numbers.jsonl");
    fs::write(&path, text).expect("writes");
    let mut found = Vec::new();
    let torn = Blocks::open(path)?.each(
        threads,
        || (),
        |(), numbers: &mut Vec<u64>, line| {
            let number = serde_json::from_slice(line.bytes).map_err(LineError::Malformed)?;
            numbers.push(number);
            Ok(())
        },
        |numbers| found.extend(numbers),
    )?;
    Ok((found, torn))
}

#[test]
fn blocks_give_every_line_once_and_in_order_whatever_the_threads() {
    // Several blocks, and lines of many lengths.
    let text: String = (0..600_000_u64)
        .map(|number| format!("{number}\n"))
        .collect();
    assert!(text.len() > 3 << 20);
    let expected: Vec<u64> = (0..600_000).collect();
    for threads in [0, 1, 2, 7] {
        assert_eq!(
            numbers(&text, threads).expect("reads"),
            (expected.clone(), false),
            "{threads}"
        );
    }
    assert_eq!(numbers("", 2).expect("reads"), (Vec::new(), false));
    assert_eq!(
        numbers("12", 2).expect("reads"),
        (Vec::new(), true),
        "a torn line"
    );
    assert_eq!(numbers("12\n3", 2).expect("reads"), (vec![12], true));
}

#[test]
fn a_line_longer_than_a_block_is_one_line() {
    let blank = " ".repeat(3 << 20);
    let text = format!("1\n{blank}2\n3\n");
    assert_eq!(numbers(&text, 2).expect("reads"), (vec![1, 2, 3], false));
}

#[test]
fn a_line_that_cannot_be_read_is_named_by_its_number() {
    let mut text: String = (0..600_000_u64)
        .map(|number| format!("{number}\n"))
        .collect();
    let at = text.find("\n400000\n").expect("there") + 1;
    text.replace_range(at..=at, "x");
    let error = numbers(&text, 2).expect_err("line 400,001");
    assert!(error.to_string().contains("line 400001 of"), "{error}");
}

#[test]
fn a_lean_record_is_the_record_without_its_prompt() {
    use super::lines::VersionedLine as _;
    let text = Text::from("häl\"lo");
    let mut whole = record(3, &text);
    whole.error = Some("line\nend".to_owned());
    whole.usage.raw = Some(serde_json::json!({"a": [1, {"b": null}]}));
    whole.events[0].label = Arc::from("a \"quoted\" label\n");
    let line = serde_json::to_vec(&whole).expect("json");
    let lean = lean::LeanRecord::of(&line).expect("reads");
    assert_eq!(
        format!("{lean:?}"),
        format!("{:?}", lean::LeanRecord::from(&whole))
    );
    whole.usage.raw = Some(serde_json::json!({"a": 1, "prompt": [{"b": "],\"output_sha256\":"}]}));
    whole.error = Some(",\"prompt\":[".to_owned());
    let odd = serde_json::to_vec(&whole).expect("json");
    let mut short = lean::Shortened::default();
    let found = format!("{:?}", short.record(&odd).expect("reads"));
    assert_eq!(found, format!("{:?}", lean::LeanRecord::from(&whole)));
    whole.v = 9;
    let newer = serde_json::to_string(&whole).expect("json");
    let newer = newer.replacen("\"turn\":", "\"round\":", 1);
    let error = lean::LeanRecord::of(newer.as_bytes()).expect_err("newer");
    assert!(
        matches!(error, LineError::Newer { found: 9, .. }),
        "{error:?}"
    );
}

#[test]
fn a_line_of_a_newer_version_is_refused_although_it_reads_as_one_of_todays() {
    use super::lines::VersionedLine as _;
    let is_newer = |error: LineError| matches!(error, LineError::Newer { found: 99, .. });
    let mut whole = record(3, &Text::from("x"));
    whole.v = 99;
    let line = serde_json::to_vec(&whole).expect("json");
    assert!(is_newer(RequestRecord::of(&line).expect_err("newer")));
    assert!(is_newer(lean::LeanRecord::of(&line).expect_err("newer")));
    let mut short = lean::Shortened::default();
    assert!(is_newer(short.record(&line).expect_err("newer")));
    let mut computed = bound(1);
    computed.v = 99;
    let line = serde_json::to_vec(&computed).expect("json");
    assert!(is_newer(BoundRecord::of(&line).expect_err("newer")));
    assert!(is_newer(lean::LeanBound::of(&line).expect_err("newer")));
}

#[test]
fn a_count_above_its_prompt_is_contradictory_however_its_record_is_read() {
    use super::lines::VersionedLine as _;
    use crate::chat::UsageOrigin::{Contradictory, Reported};
    let mut whole = record(3, &Text::from("x"));
    whole.usage.origin = Reported;
    whole.usage.read = whole.usage.total.map(|total| total + Tokens(1));
    let line = serde_json::to_vec(&whole).expect("json");
    let read = RequestRecord::of(&line).expect("reads");
    assert_eq!(read.usage.origin, Contradictory);
    let lean = lean::LeanRecord::of(&line).expect("reads");
    assert_eq!(lean.usage.origin, Contradictory);
    let mut short = lean::Shortened::default();
    let found = short.record(&line).expect("reads").usage.origin;
    assert_eq!(found, Contradictory);
    let found = lean::LeanRecord::from(&whole).usage.origin;
    assert_eq!(found, Contradictory);
}

#[test]
fn of_several_bounds_of_an_attempt_the_newest_holds() {
    let mut newer = bound(2);
    newer.bound = Some(Tokens(7));
    let table = ComputedTable::from(&[bound(2), bound(1), newer][..]);
    let found = |turn| table.get("quickstart/dev/1", (turn, 1, 1));
    assert_eq!(found(2).and_then(|found| found.bound), Some(Tokens(7)));
    assert_eq!(found(1).and_then(|found| found.bound), Some(Tokens(64)));
    assert_eq!(found(3), None);
    assert_eq!(table.get("another", (1, 1, 1)), None);
    let text = Text::from("x");
    let mut whole = found(1).expect("there").record(&record(1, &text));
    whole.tokenizer.clone_from(&bound(1).tokenizer);
    assert_eq!(whole, bound(1));
}

proptest! {
    #[test]
    fn any_text_comes_back_from_a_cell(label in "\\PC*[\",\n\r]?\\PC*", served in ".*") {
        let mut record = record(1, &Text::from("x"));
        record.events[0].label = Arc::from(label.as_str());
        record.served_by = Some(served.clone());
        let mut out = Vec::new();
        write_requests(&mut out, [&record], &[]).expect("writes");
        let mut reader = ::csv::Reader::from_reader(out.as_slice());
        let row = reader.records().next().expect("a row").expect("reads");
        let at = |name| REQUEST_COLUMNS.iter().position(|column| *column == name).expect("a column");
        prop_assert_eq!(&row[at("events")], &*inert(&label));
        prop_assert_eq!(&row[at("served_by")], &*inert(&served));
    }
}

#[test]
fn no_cell_is_taken_for_a_formula() {
    let cases = [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("a=1", "a=1"),
        ("'quoted", "'quoted"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(inert(text), expected, "{text:?}");
    }
}
