//! `predict` with a fleet, as a person runs it.

#![expect(
    clippy::expect_used,
    reason = "output that cannot be read is a failed test"
)]

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

const SCENARIOS: &[&str] = &[
    "scenarios/smoke.yaml",
    "scenarios/s06-artifacts.yaml",
    "scenarios/s03-new-chat.yaml",
];

/// The lines that `predict --format jsonl` prints.
fn predicted(arguments: &[&str]) -> Vec<Value> {
    let output = cargo_bin_cmd!("prefixbench")
        .arg("predict")
        .args(SCENARIOS)
        .args(["--format", "jsonl", "--config", "dev,append-only"])
        .args(arguments)
        .output()
        .expect("it runs");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let parsed = text.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().expect("JSON lines")
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().expect(name)
}

/// Requests, tokens and bound of a configuration.
fn fleet(lines: &[Value], configuration: &str) -> [u64; 3] {
    let line = lines
        .iter()
        .find(|line| line["configuration"] == configuration);
    let total = &line.expect(configuration)["total"];
    ["requests", "total_tokens", "bound_tokens"].map(|name| count(total, name))
}

#[test]
fn an_endless_fleet_of_one_replica_is_the_sum_of_the_predictions() {
    let single = predicted(&[]);
    for (sessions, more) in [("1", vec![]), ("4", vec!["--seed", "9"])] {
        let lines = predicted(&[&["--sessions", sessions], more.as_slice()].concat());
        let copies: u64 = sessions.parse().expect("a number");
        for configuration in ["dev", "append-only"] {
            let own = single
                .iter()
                .filter(|line| line["configuration"] == configuration);
            let mut expected = [0; 3];
            for line in own {
                expected[0] += copies;
                expected[1] += copies * count(line, "total_tokens");
                expected[2] += copies * count(line, "bound_tokens");
            }
            assert_eq!(
                fleet(&lines, configuration),
                expected,
                "{sessions} {configuration}"
            );
        }
    }
}

#[test]
fn a_small_cache_evicts_and_routing_decides_how_much_is_found() {
    let with = |routing| {
        let sized = [
            "--sessions",
            "8",
            "--replicas",
            "3",
            "--capacity",
            "60000",
            "--routing",
        ];
        predicted(&[&sized[..], &[routing]].concat())
    };
    let (scattered, sticky) = (with("round-robin"), with("sticky"));
    for configuration in ["dev", "append-only"] {
        let [requests, total, found] = fleet(&sticky, configuration);
        let [same, all, less] = fleet(&scattered, configuration);
        assert_eq!((requests, total), (same, all));
        assert!(found > less, "{configuration}: {found} {less}");
    }
    assert!(count(&scattered[0]["total"], "evicted_blocks") > 0);
    let replicas = scattered[0]["replicas"].as_array().expect("replicas");
    let requests: u64 = replicas.iter().map(|one| count(one, "requests")).sum();
    assert_eq!((replicas.len(), requests), (3, fleet(&scattered, "dev")[0]));
}

#[test]
fn what_a_fleet_cannot_be_is_refused_with_a_hint() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["--cache-model", "radix", "--capacity", "1000"],
            "--cache-model blocks:16",
        ),
        (
            &["--cache-model", "breakpoints", "--sessions", "2"],
            "cache markers",
        ),
        (&["--capacity", "8"], "counts tokens"),
        (
            &["--capacity", "1000", "--lifetime", "60"],
            "cannot be used with",
        ),
        (&["--sessions", "0"], "--sessions"),
    ];
    for (arguments, expected) in cases {
        let output = cargo_bin_cmd!("prefixbench")
            .args(["predict", "scenarios/smoke.yaml"])
            .args(*arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
