//! Reports of whole run folders, usual and odd.

use super::*;
use crate::analysis::testing::{Said, counted, manifest, record, story};
use crate::chat::{Role, Text, Usage, UsageOrigin};
use crate::record::{Manifest, Outcome, RequestRecord, ScenarioFacts, StoredSpan};
use crate::units::{Bytes, Tokens};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

fn lines<T: Serialize>(path: PathBuf, values: impl IntoIterator<Item = T>) {
    let text: String = values
        .into_iter()
        .map(|value| serde_json::to_string(&value).expect("json") + "\n")
        .collect();
    fs::write(path, text).expect("writes");
}

fn folder(
    manifest: &Manifest,
    (records, bounds): &(Vec<RequestRecord>, Vec<BoundRecord>),
    texts: &[Text],
) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("folder");
    let path = |name: &str| dir.path().join(name);
    let text = serde_json::to_string(manifest).expect("json");
    fs::write(path(files::MANIFEST), text).expect("writes");
    lines(path(files::REQUESTS), records);
    lines(path(files::BOUNDS), bounds);
    let stored = texts.iter().map(|text| StoredSpan {
        sha256: text.digest(),
        bytes: Bytes(text.len() as u64),
        tokens: None,
        text: Some(text.clone()),
    });
    lines(path(files::SPANS), stored);
    dir
}

fn read(dir: &tempfile::TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).expect(name)
}

/// The story's first conversation of `dev` with texts: at turn 3 its system text changes.
fn told() -> ((Vec<RequestRecord>, Vec<BoundRecord>), Vec<Text>) {
    let chats: [Vec<Said>; 3] = [
        vec![
            (Role::System, vec![("system", "You help. Tone: formal.")]),
            (Role::User, vec![("user", "Hello")]),
        ],
        vec![
            (Role::System, vec![("system", "You help. Tone: formal.")]),
            (Role::User, vec![("user", "Hello")]),
            (Role::Assistant, vec![("reply", "Hi")]),
            (Role::User, vec![("user", "And now?")]),
        ],
        vec![
            (Role::System, vec![("system", "You help. Tone: brief.")]),
            (Role::User, vec![("user", "Hello")]),
        ],
    ];
    let (mut records, mut bounds) = story();
    records.truncate(3);
    bounds.truncate(3);
    let mut texts = Vec::new();
    for (told, chat) in records.iter_mut().zip(&chats) {
        told.prompt = record(chat).prompt;
        let parts = chat.iter().flat_map(|(_, parts)| parts);
        texts.extend(parts.map(|(_, text)| Text::from(*text)));
    }
    let broke = bounds[2].broke.as_mut().expect("dev breaks at turn 3");
    // `You help. Tone: ` is common; the body's spans begin at byte 100.
    broke.byte = 100 + 16;
    ((records, bounds), texts)
}

#[test]
fn a_report_is_whole_and_the_same_each_time() {
    let (run, texts) = told();
    let dir = folder(&manifest(), &run, &texts);
    let names = [
        files::REQUESTS_CSV,
        files::SUMMARY_CSV,
        files::SUMMARY_JSON,
        REPORT_MD,
        REPORT_HTML,
        "charts/share-by-group.svg",
        "charts/share-by-turn-quickstart.svg",
        "charts/prefix-map-quickstart-dev.svg",
    ];
    let made = || {
        rebuild(dir.path(), None).expect("report");
        names.map(|name| read(&dir, name))
    };
    assert_eq!(made(), made());
    let png = fs::read(dir.path().join("charts/share-by-group.png")).expect("png");
    assert!(png.starts_with(b"\x89PNG"));
    let drafts = fs::read_dir(dir.path()).expect("reads");
    let names = drafts.map(|entry| entry.expect("entry").file_name());
    assert!(
        names
            .into_iter()
            .all(|name| !name.to_string_lossy().ends_with(".new"))
    );
}

#[test]
fn a_break_opens_to_the_texts_that_differ() {
    let (run, texts) = told();
    let dir = folder(&manifest(), &run, &texts);
    rebuild(dir.path(), None).expect("report");
    let page = read(&dir, REPORT_HTML);
    for part in [
        "dev, quickstart turn 3: in artifacts (artifacts on)",
        "<pre class=\"wide\" tabindex=\"0\">You help. Tone: </pre>",
        "<del>formal.</del>",
        "<ins>brief.</ins>",
        "turn 2, in the system message",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn without_texts_the_page_says_so() {
    let (run, _) = told();
    let dir = folder(&manifest(), &run, &[]);
    rebuild(dir.path(), None).expect("report");
    let page = read(&dir, REPORT_HTML);
    assert!(page.contains("The texts of the prompts were not kept"));
    assert!(page.contains("in proportion to their bytes"));
    assert!(!page.contains("<del>"));
}

#[test]
fn odd_runs_are_told_as_they_are() {
    type Change = fn(&mut RequestRecord);
    let nothing: Change = |_| {};
    let refused: Change = |record| {
        record.outcome = Outcome::Connect;
        record.usage = Usage::default();
        record.stamps.first_text_us = None;
    };
    let absent: Change = |record| {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    };
    let cases: [(&str, usize, Change, &str); 5] = [
        (
            "one request",
            1,
            nothing,
            "dev leaves 1,000 tokens to compute per conversation",
        ),
        (
            "no answer",
            3,
            refused,
            "Nothing can be said: none of 3 requests was answered.",
        ),
        (
            "no count",
            3,
            absent,
            "No share can be given: the server reported no usable count",
        ),
        (
            "one without count",
            1,
            absent,
            "of cached tokens in 1 answer.",
        ),
        (
            "no request",
            0,
            nothing,
            "Nothing was measured: no request was sent.",
        ),
    ];
    for (case, kept, change, said) in cases {
        let ((mut records, mut bounds), texts) = told();
        records.truncate(kept);
        bounds.truncate(kept);
        records.iter_mut().for_each(change);
        let dir = folder(&manifest(), &(records, bounds), &texts);
        rebuild(dir.path(), None).expect(case);
        let page = read(&dir, REPORT_HTML);
        assert!(page.contains(said), "{case}");
        assert!(read(&dir, REPORT_MD).contains(said), "{case}");
        if case.contains("no") {
            assert!(
                !page.contains("NaN") && !page.contains(">100.0 %<"),
                "{case}"
            );
        }
        let share = page.contains("data-key=\"cached_share\"");
        assert_eq!(
            share,
            case == "one request",
            "{case}: a share that nobody measured"
        );
    }
}

#[test]
fn a_run_that_was_killed_is_reported_from_what_there_is() {
    let ((records, _), texts) = told();
    let dir = folder(&manifest(), &(records, Vec::new()), &texts);
    fs::remove_file(dir.path().join(files::BOUNDS)).expect("removes");
    let path = dir.path().join(files::REQUESTS);
    let torn = read(&dir, files::REQUESTS) + "{\"v\":1,\"scen";
    fs::write(path, torn).expect("writes");
    let results = rebuild(dir.path(), None).expect("report");
    assert_eq!(results.totals[0].figures.requests, 3);
    assert!(
        results
            .breaks
            .iter()
            .any(|found| found.origin.as_str() == "system")
    );
    assert!(read(&dir, REPORT_HTML).contains("was cut off and is left out"));
}

#[test]
fn a_large_run_gives_a_page_of_bounded_size_that_says_what_it_leaves_out() {
    let mut manifest = manifest();
    manifest.scenarios = (0..60)
        .map(|at| ScenarioFacts {
            name: Arc::from(format!("scenario-with-a-long-name-{at}")),
            group: Arc::from(format!("group-{at}")),
            sha256: Text::from("").digest(),
        })
        .collect();
    let said = "A sentence of the prompt that is of some length. ".repeat(40);
    let system = Text::from(said.as_str());
    let mut run = (Vec::new(), Vec::new());
    for facts in &manifest.scenarios {
        for configuration in ["dev", "layered", "append-only"] {
            for turn in 1..=10 {
                let (mut record, mut bound) = counted(configuration, 1, turn, (2_000, 960, 960));
                record.scenario = Arc::clone(&facts.name);
                record.group = Arc::clone(&facts.group);
                record.conversation = format!("{}/{configuration}/1", facts.name).into();
                bound.conversation = Arc::clone(&record.conversation);
                bound.broke = story().1[2].broke.clone();
                record.prompt = (0..turn)
                    .map(|at| crate::record::RecordedMessage {
                        role: Role::User,
                        spans: vec![crate::record::RecordedSpan {
                            origin: format!("source-{}", at % 9).into(),
                            class: crate::chat::Class::Turn,
                            part: crate::chat::Part::Text,
                            sha256: system.digest(),
                            start: 100,
                            end: 2_000,
                        }],
                        marks: None,
                        long_marks: Vec::new(),
                    })
                    .collect();
                run.0.push(record);
                run.1.push(bound);
            }
        }
    }
    let dir = folder(&manifest, &run, &[system]);
    let results = rebuild(dir.path(), None).expect("report");
    assert_eq!(results.turns.len(), 1_800);
    let page = read(&dir, REPORT_HTML);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    for part in [
        "the first 12 of 60 are drawn",
        "Further groups are not drawn",
        "The first 400 of 1,800 rows",
        "For want of room these are beside the page",
        "requests.csv (",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let pictures = fs::read_dir(dir.path().join(CHARTS))
        .expect("reads")
        .count();
    // By group, turn by turn, four of causes, times and lengths, and the maps.
    assert_eq!(pictures, 2 * (1 + 12 + 4 + 12 * 3));
}

#[test]
fn a_cell_is_shown_by_its_first_repeat_and_by_the_last_try() {
    let (mut run, texts) = told();
    let mut again = run.0[2].clone();
    run.0[2].outcome = Outcome::Http5xx;
    again.attempt = 2;
    let mut bound = run.1[2].clone();
    bound.attempt = 2;
    run.0.push(again);
    run.1.push(bound);
    let mut second = run.0[0].clone();
    second.repeat = 2;
    second.conversation = Arc::from("quickstart/dev/2");
    second.usage.total = Some(Tokens(9_999));
    run.0.insert(0, second);
    let dir = folder(&manifest(), &run, &texts);
    rebuild(dir.path(), None).expect("report");
    let map = read(&dir, "charts/prefix-map-quickstart-dev.svg");
    assert!(map.contains("n = 3 requests · 1 conversation"), "{map}");
    assert!(!map.contains("9,999"));
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    let nowhere = rebuild(Path::new("no-such-run"), None).expect_err("no run");
    assert!(nowhere.to_string().contains("no-such-run"), "{nowhere}");
    let (run, texts) = told();
    let dir = folder(&manifest(), &run, &texts);
    fs::write(dir.path().join(CHARTS), "a file in the way").expect("writes");
    let blocked = rebuild(dir.path(), None).expect_err("no folder for charts");
    assert!(blocked.to_string().contains(CHARTS), "{blocked}");
}

#[test]
fn bounds_that_were_written_in_part_are_completed() {
    let (run, texts) = told();
    let whole = folder(&manifest(), &run, &texts);
    let wanted = rebuild(whole.path(), None).expect("report");
    assert_eq!(wanted.evidence.without_bound, 0);
    let (records, mut bounds) = run;
    bounds.truncate(1);
    // What is there stays as it is.
    bounds[0].flags.push(Arc::from("kept_as_it_is"));
    let dir = folder(&manifest(), &(records, bounds), &texts);
    let results = rebuild(dir.path(), None).expect("report");
    assert_eq!(results.evidence.without_bound, 0);
    let csv = read(&dir, files::REQUESTS_CSV);
    assert_eq!(csv.matches("kept_as_it_is").count(), 1);
    assert_eq!(csv.lines().count(), 4, "a head and each record once");
    let breaks: Vec<_> = results
        .breaks
        .iter()
        .map(|found| found.origin.as_str())
        .collect();
    assert_eq!(breaks, ["system"], "found again from the prompts");
}

#[test]
fn several_runs_stand_side_by_side_and_stay_as_they_are() {
    let (run, texts) = told();
    let first = folder(&manifest(), &run, &texts);
    let mut dearer = manifest();
    dearer.targets[0].name = Arc::from("there");
    dearer.targets[0].price = Catalogue::shipped().find("gpt-5.5", "2026-11-30").cloned();
    let mut other = run.clone();
    for record in &mut other.0 {
        record.target = Arc::from("there");
        record.usage.read = Some(Tokens(0));
    }
    let second = folder(&dearer, &other, &texts);
    let out = tempfile::tempdir().expect("folder");
    let out_dir = out.path().join("both");
    let dirs = [first.path().to_owned(), second.path().to_owned()];
    let results = side_by_side(&dirs, Some(&out_dir), None).expect("report");
    let names: Vec<_> = dirs
        .iter()
        .map(|dir| dir.file_name().expect("a name").to_string_lossy())
        .collect();
    let targets: Vec<_> = results
        .totals
        .iter()
        .map(|total| total.key.target.to_string())
        .collect();
    assert_eq!(
        targets,
        [
            format!("{}: here", names[0]),
            format!("{}: there", names[1])
        ]
    );
    assert_eq!(results.totals[1].figures.cached_share, Some(0.0));
    assert!(results.totals[0].figures.cost.is_none() && results.totals[1].figures.cost.is_some());
    assert_eq!(
        results.totals[1].figures.conversations, 1,
        "conversations of one name are two"
    );
    for name in [
        files::REQUESTS_CSV,
        files::SUMMARY_CSV,
        files::SUMMARY_JSON,
        REPORT_MD,
        REPORT_HTML,
    ] {
        let text = fs::read_to_string(out_dir.join(name)).expect(name);
        assert!(
            text.contains(&targets[0]) && text.contains(&targets[1]),
            "{name}"
        );
    }
    assert!(!first.path().join(REPORT_HTML).exists());
    let shown = side_by_side(&dirs, None, None).expect("results");
    assert_eq!(shown.totals, results.totals);
    let blocked = side_by_side(&dirs, Some(first.path()), None).expect_err("a run's own folder");
    assert!(blocked.to_string().contains("is a run folder"), "{blocked}");
}

#[test]
fn prices_of_another_file_bill_every_request_again() {
    let (run, texts) = told();
    let mut priced = manifest();
    priced.targets[0].model = Arc::from("gpt-5.5");
    let dir = folder(&priced, &run, &texts);
    assert_eq!(
        rebuild(dir.path(), None).expect("report").totals[0]
            .figures
            .cost,
        None
    );
    let results = rebuild(dir.path(), Some(&Catalogue::shipped())).expect("report");
    let cost = results.totals[0].figures.cost.expect("a bill");
    // 5 dollars a million plain, 0.50 read, 30 generated: 4,748 plain, 1,152 read, 12 generated.
    assert_eq!(cost.decimal(), "0.024676");
    let csv = read(&dir, files::REQUESTS_CSV);
    assert!(csv.contains(",0.00512,"), "{csv}");
}

#[test]
fn the_summary_fits_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(&crate::report::summary_schema()).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("compiles");
    let (run, texts) = told();
    let mut priced = manifest();
    priced.targets[0].price = Catalogue::shipped().find("gpt-5.5", "2026-11-30").cloned();
    for (manifest, run) in [(manifest(), (Vec::new(), Vec::new())), (priced, run)] {
        let dir = folder(&manifest, &run, &texts);
        rebuild(dir.path(), None).expect("report");
        let summary = serde_json::from_str(&read(&dir, files::SUMMARY_JSON)).expect("json");
        let faults: Vec<String> = validator
            .iter_errors(&summary)
            .map(|fault| format!("{fault} at {}", fault.instance_path()))
            .collect();
        assert_eq!(faults, Vec::<String>::new());
    }
}

#[test]
fn the_kept_schema_is_current() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/summary.schema.json");
    let kept = fs::read_to_string(kept).expect("docs/summary.schema.json");
    assert!(
        kept == crate::report::summary_schema(),
        "run `prefixbench schema --summary > docs/summary.schema.json`"
    );
}
