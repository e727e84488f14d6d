//! Runs `calibrate` as a person would, with sizes that take a moment.
#![expect(
    clippy::expect_used,
    reason = "a process or a field that is not there is a failed test"
)]

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = cargo_bin_cmd!();
    let output = program
        .env_clear()
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .args(arguments)
        .output()
        .expect("it runs");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    let left_by_run = usize::from(arguments.contains(&"run"));
    assert!(left <= left_by_run, "{left} files are left behind");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

const SHORT: [&str; 4] = [
    "--seconds=1",
    "--first-token-ms=5",
    "--tokens=2",
    "--rate=200",
];

#[test]
fn levels_and_ceiling_are_measured_and_printed_as_json() {
    let fixed = ["calibrate", "--streams=1,3", "--format=json"];
    let (code, out, err) = ended(&[&fixed[..], &SHORT].concat());
    assert_eq!(code, Some(0), "{err}");
    let found: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(found["first_token_us"], 5_000);
    let levels = found["levels"].as_array().expect("levels");
    let streams: Vec<_> = levels
        .iter()
        .map(|level| level["streams"].as_u64())
        .collect();
    assert_eq!(streams, [Some(1), Some(3)]);
    for level in levels {
        assert!(level["requests"].as_u64() > Some(0), "{level}");
        assert_eq!(level["failed"], 0, "{level}");
        let quantile = |name: &str| level[name].as_u64().expect(name);
        assert!(quantile("added_p50_us") <= quantile("added_p99_us"));
        assert!(quantile("late_p50_us") <= quantile("late_p99_us"));
    }
    let ceiling = &found["ceiling"];
    assert!(ceiling["requests"].as_u64() > Some(0), "{ceiling}");
    assert!(ceiling["requests_per_s"].as_f64() > Some(0.0), "{ceiling}");
    if cfg!(target_os = "linux") {
        assert!(
            ceiling["cpu_us_per_request"].as_f64() > Some(0.0),
            "{ceiling}"
        );
    }
}

#[test]
fn a_person_gets_a_table_and_a_sentence() {
    let (code, out, err) = ended(&[&["calibrate", "--streams=2"][..], &SHORT].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("added p99"), "{out}");
    assert!(out.contains("ceiling: "), "{out}");
}

#[test]
fn a_level_of_no_streams_is_wrong_input() {
    let (code, _, err) = ended(&["calibrate", "--streams=0"]);
    assert_eq!(code, Some(2), "{err}");
}
