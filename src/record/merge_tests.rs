use super::*;
use crate::chat::Text;
use crate::record::WallTime;
use crate::record::tests::{bound, record};
use crate::record::{Fact, RunContents, ledger};

fn shard(index: u32, count: u32) -> Shard {
    Shard { index, count }
}

fn manifest(shard: Shard) -> Manifest {
    let mut manifest = Manifest::begin(7, "1 2 3 4 5 6 7 8");
    manifest.started = WallTime::parse("2026-11-30T10:00:00Z").expect("a time");
    manifest.shard = Some(shard);
    manifest
}

/// A shard with one conversation for each of `repeats`, every record with a text that
/// all share and one of its own.
fn write(dir: &Path, manifest: &Manifest, repeats: &[u32]) {
    let mut writer = RunWriter::create(dir, manifest, true).expect("creates");
    let shared = Text::from("shared");
    for &repeat in repeats {
        let own = Text::from(format!("own {repeat}").as_str());
        let mut record = record(1, &own);
        record.repeat = repeat;
        record.conversation = Arc::from(format!("quickstart/dev/{repeat}"));
        let texts = &mut [&shared, &own].into_iter();
        writer.append(&record, texts).expect("appends");
        let computed = BoundRecord {
            conversation: Arc::clone(&record.conversation),
            ..bound(1)
        };
        writer.bounds(&[computed]).expect("appends");
    }
    let superseded = ledger::Superseded {
        session: 1,
        conversations: Vec::new(),
    };
    let line = LedgerLine::new(Micros(5), Fact::Superseded(superseded));
    writer.note(&line).expect("appends");
    let mut ended = manifest.clone();
    ended.ending = Some(Ending::Complete);
    ended.ended = Some(manifest.started);
    writer.finish_as(ended).expect("ends");
}

/// Folders `0`, `1`, ... below one that goes with the test.
fn folders(shards: &[(Manifest, &[u32])]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().expect("folder");
    let mut paths = Vec::new();
    for (number, (manifest, repeats)) in shards.iter().enumerate() {
        let path = dir.path().join(number.to_string());
        write(&path, manifest, repeats);
        paths.push(path);
    }
    (dir, paths)
}

fn contents(dir: &Path) -> RunContents {
    Run::read(dir).and_then(Run::contents).expect("reads")
}

#[test]
fn records_are_joined_in_the_order_of_what_was_run() {
    let mut late = manifest(shard(2, 2));
    late.started = WallTime::parse("2026-11-30T10:00:03Z").expect("a time");
    let (dir, mut paths) = folders(&[(manifest(shard(1, 2)), &[2, 4]), (late, &[3, 1])]);
    paths.reverse();
    let out = dir.path().join("out");
    let merged = merge(&paths, &out, false).expect("merges");
    assert_eq!(merged.shard, None);
    assert_eq!(merged.merged.len(), 2);
    assert_eq!(merged.ending, Some(Ending::Complete));
    let run = contents(&out);
    let repeats: Vec<u32> = run.requests.iter().map(|record| record.repeat).collect();
    assert_eq!(repeats, [1, 2, 3, 4]);
    let sent: Vec<_> = run
        .requests
        .iter()
        .map(|record| record.stamps.sent_us)
        .collect();
    let at = |us| Some(Micros(us));
    assert_eq!(sent, [at(3_000_010), at(10), at(3_000_010), at(10)]);
    let bounds: Vec<_> = run
        .bounds
        .iter()
        .map(|bound| &*bound.conversation)
        .collect();
    assert_eq!(bounds[0], "quickstart/dev/1");
    assert_eq!(bounds.len(), 4);
    assert_eq!(run.spans.len(), 5, "what shards share is stored once");
    assert_eq!(run.ledger.len(), 2);
    assert_eq!(run.ledger[1].at_us, Micros(3_000_005));
}

#[test]
fn what_does_not_belong_together_is_refused_with_the_reason() {
    let one = manifest(shard(1, 2));
    let two = manifest(shard(2, 2));
    let other = |change: fn(&mut Manifest)| {
        let mut manifest = two.clone();
        change(&mut manifest);
        manifest
    };
    let setting = |manifest: &mut Manifest| {
        let value = Setting {
            value: "8".into(),
            origin: crate::record::SettingOrigin::Flag,
        };
        manifest.settings.insert("repeat".to_owned(), value);
    };
    let cases: [(&str, Vec<Manifest>); 11] = [
        ("of 2 shards, 2 is missing", vec![one.clone()]),
        (
            "of 4 shards, 2, 3, 4 are missing",
            vec![manifest(shard(1, 4))],
        ),
        ("shard 1/2 is in", vec![one.clone(), one.clone()]),
        ("the seed differs", vec![one.clone(), other(|m| m.seed = 8)]),
        (
            "a file that decides what is sent differs",
            vec![
                one.clone(),
                other(|m| {
                    let files = [("--load trace=t.csv".to_owned(), Digest::of(b"at_s"))];
                    m.invocation = Some(crate::record::Invocation {
                        arguments: Vec::new(),
                        withheld: false,
                        folder: None,
                        files: files.into(),
                    });
                }),
            ],
        ),
        (
            "the nonce differs",
            vec![one.clone(), other(|m| m.nonce = "0".into())],
        ),
        (
            "the version of the program differs",
            vec![one.clone(), other(|m| m.program = "0".into())],
        ),
        (
            "the format differs",
            vec![one.clone(), other(|m| m.format = 1)],
        ),
        (
            "the number of shards differs",
            vec![
                one.clone(),
                other(|m| m.shard = Some(Shard { index: 2, count: 3 })),
            ],
        ),
        (
            "the setting `repeat` differs",
            vec![one.clone(), other(setting)],
        ),
        ("is no shard", vec![one.clone(), other(|m| m.shard = None)]),
    ];
    for (expected, manifests) in cases {
        let repeats: [&[u32]; 2] = [&[1], &[2]];
        let shards: Vec<(Manifest, &[u32])> = manifests.into_iter().zip(repeats).collect();
        let (dir, paths) = folders(&shards);
        let out = dir.path().join("out");
        let error = merge(&paths, &out, false).expect_err(expected);
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!out.exists(), "{expected}");
    }
    assert!(matches!(
        merge(&[], Path::new("out"), false),
        Err(MergeError::Nothing)
    ));
}

#[test]
fn a_conversation_that_two_shards_have_run_is_named() {
    let (dir, paths) = folders(&[(manifest(shard(1, 2)), &[1]), (manifest(shard(2, 2)), &[1])]);
    let error = merge(&paths, &dir.path().join("out"), false).expect_err("run twice");
    assert!(error.to_string().contains("`quickstart/dev/1`"), "{error}");
}

#[test]
fn a_shard_that_was_broken_off_is_refused() {
    let (dir, paths) = folders(&[(manifest(shard(1, 2)), &[1])]);
    let second = dir.path().join("broken");
    let broken = RunWriter::create(&second, &manifest(shard(2, 2)), true).expect("creates");
    drop(broken);
    let error =
        merge(&[paths[0].clone(), second], &dir.path().join("out"), false).expect_err("broken");
    assert!(
        error.to_string().contains("has not come to its end"),
        "{error}"
    );
    assert!(error.help().contains("--resume"));
}

#[test]
fn a_shard_that_can_be_gone_on_with_is_refused_unless_it_is_taken_as_it_is() {
    let why = "nothing has been answered for 1m".to_owned();
    for ending in [
        Ending::Partial(why.clone()),
        Ending::Limited(why.clone()),
        Ending::Failed(why.clone()),
    ] {
        let (dir, paths) = folders(&[(manifest(shard(1, 2)), &[1]), (manifest(shard(2, 2)), &[2])]);
        let path = paths[1].join("manifest.json");
        let mut part = Run::read(&paths[1]).expect("reads").manifest;
        part.ending = Some(ending.clone());
        let written = serde_json::to_string(&part).expect("writes");
        std::fs::write(&path, written).expect("writes");
        let out = dir.path().join("out");
        let error = merge(&paths, &out, false).expect_err("a part is missing");
        assert!(error.to_string().contains(&why), "{error}");
        assert!(error.help().contains("--resume"), "{}", error.help());
        assert!(!out.exists());
        let merged = merge(&paths, &out, true).expect("merges");
        assert_eq!(merged.ending, Some(ending));
        assert_eq!(contents(&out).requests.len(), 2);
    }
}
