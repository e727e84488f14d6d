//! Runs the shards of a run as processes, merges them, and looks for a difference to
//! the whole; and reads what runs them on Kubernetes.
#![cfg(unix)]
#![expect(
    clippy::expect_used,
    reason = "a file, a process or a line that is not there is a failed test"
)]

use prefixbench::record::load::read_load;
use prefixbench::record::{Run, RunContents};
use prefixbench::server::{Handle, Options, Server, Speed};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PLAN: &str = "\
plan: shards
scenarios: [{file: chat.yaml, weight: 2}, other.yaml]
config: [dev, append-only]
repeat: 3
";

const CHAT: &str = "\
scenario: chat
system: {generate: {tokens: 200, seed: 1}}
steps:
  - user: {text: One., reply: Fine.}
  - set: {artifacts: on}
  - user: {text: Two., reply: Good.}
";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect(name);
    write("plan.yaml", PLAN);
    write("chat.yaml", CHAT);
    write(
        "other.yaml",
        &CHAT
            .replacen("chat", "other", 1)
            .replacen("Two.", "Three.", 1),
    );
    dir
}

fn program(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefixbench"));
    command.current_dir(dir).env_clear().env("NO_COLOR", "1");
    command.args(arguments).stdin(Stdio::null());
    command
}

#[track_caller]
fn ended(output: std::io::Result<Output>, code: i32, said: &str) {
    let output = output.expect("the program starts");
    let err = String::from_utf8_lossy(&output.stderr).replace('│', " ");
    let joined = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(code), "{err}");
    assert!(joined.contains(said), "`{said}` is not in:\n{err}");
}

fn contents(dir: &Path, run: &str) -> RunContents {
    let run = Run::read(&dir.join(run));
    run.and_then(Run::contents).expect("a run that reads")
}

/// A table without the columns that hold times, and without a price of nothing.
fn timeless(dir: &Path, table: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(dir.join(table)).expect(table);
    let names = reader.headers().expect("names").clone();
    let kept: Vec<usize> = (0..names.len())
        .filter(|&column| !names[column].ends_with("_us"))
        .collect();
    let mut rows = vec![
        kept.iter()
            .map(|&column| names[column].to_owned())
            .collect(),
    ];
    for row in reader.records() {
        let row = row.expect("a row");
        rows.push(kept.iter().map(|&column| row[column].to_owned()).collect());
    }
    rows
}

/// The report without its times and dates: the numbers of the tables.
fn shares(dir: &Path, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(dir.join(run).join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let rows = summary["rows"].as_array().expect("rows").clone();
    rows.into_iter().map(untimed).collect()
}

fn untimed(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| !name.contains("ttft") && !name.contains("_us") && name != "late")
            .map(|(name, value)| (name, untimed(value)))
            .collect(),
        Value::Array(values) => values.into_iter().map(untimed).collect(),
        other => other,
    }
}

#[test]
fn four_shards_as_processes_merge_into_the_tables_of_one_run() {
    for target in [None, Some(Served::start())] {
        let dir = folder();
        let dir = dir.path();
        let aim: Vec<&str> = match &target {
            None => Vec::new(),
            Some(server) => vec!["--target", &server.url],
        };
        let fixed = ["run", "plan.yaml", "--quiet"];
        // The same server would know the whole's prompts by its nonce.
        let whole = ["--nonce", "87654321", "--out", "whole"];
        ended(
            program(dir, &[&fixed[..], &aim, &whole].concat()).output(),
            0,
            "",
        );
        let mut shards = Vec::new();
        for index in 1..=4 {
            let (shard, out) = (format!("{index}/4"), format!("shard-{index}"));
            let own = [
                "--nonce",
                "12345678",
                "--no-report",
                "--shard",
                &shard,
                "--out",
                &out,
            ];
            let mut command = program(dir, &[&fixed[..], &aim, &own].concat());
            let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
            shards.push(child.expect("the program starts"));
        }
        for shard in shards {
            ended(shard.wait_with_output(), 0, "");
        }
        // A part lacks what others have, and is whole all the same.
        for shard in ["shard-1", "shard-4"] {
            let report = program(dir, &["report", shard]).output().expect("runs");
            let said = String::from_utf8_lossy(&report.stdout);
            assert!(!said.contains("is said to be complete"), "{said}");
        }
        let merge = [
            "merge", "shard-3", "shard-1", "shard-4", "shard-2", "--out", "merged",
        ];
        ended(program(dir, &merge).output(), 0, "records: merged");
        for table in ["summary.csv", "requests.csv"] {
            let whole = timeless(dir, &format!("whole/{table}"));
            assert_eq!(timeless(dir, &format!("merged/{table}")), whole, "{table}");
        }
        assert_eq!(shares(dir, "merged"), shares(dir, "whole"));
        assert_eq!(loads(dir, "merged"), loads(dir, "whole"));
        spread_and_apart(dir);
    }
}

/// What `load.jsonl` says of each cell, without times.
fn loads(dir: &Path, run: &str) -> Vec<(String, u64, u64, u64, Option<u64>)> {
    let lines = read_load(&dir.join(run)).expect("lines that read");
    let lines = lines.into_iter().map(|line| {
        let lateness = line.lateness.map(|late| late.buckets);
        let counted = lateness.map(|buckets| buckets.iter().map(|(_, count)| count).sum());
        (
            line.cell,
            line.attempts,
            line.requests,
            line.failed,
            counted,
        )
    });
    lines.collect()
}

/// Every conversation in exactly one shard, no shard with all of them, no nonce or salt
/// in two conversations.
fn spread_and_apart(dir: &Path) {
    let mut shards: BTreeMap<String, usize> = BTreeMap::new();
    let mut units = BTreeSet::new();
    for index in 1..=4 {
        let names: BTreeSet<String> = contents(dir, &format!("shard-{index}"))
            .requests
            .iter()
            .map(|record| record.conversation.to_string())
            .collect();
        assert!(names.len() < 18, "shard {index}: {names:?}");
        for name in names {
            assert_eq!(shards.insert(name, index), None);
        }
    }
    assert_eq!(shards.len(), 18);
    for record in contents(dir, "merged").requests {
        let unit = (record.salt.clone(), record.nonce.clone());
        units.insert((unit, record.conversation));
    }
    let apart: BTreeSet<_> = units.iter().map(|(unit, _)| unit).collect();
    assert_eq!((apart.len(), units.len()), (18, 18));
}

#[test]
fn the_index_of_a_pod_and_the_variables_of_a_job_choose_the_shard() {
    let dir = folder();
    let dir = dir.path();
    let fixed = ["run", "plan.yaml", "--no-report", "--quiet", "--out"];
    let mut pod = program(dir, &[&fixed[..], &["pod"]].concat());
    pod.env("JOB_COMPLETION_INDEX", "1");
    pod.env("PREFIXBENCH_SHARDS", "3")
        .env("PREFIXBENCH_NONCE_FROM", "job-1");
    ended(pod.output(), 0, "");
    let own = ["flag", "--shard", "2/3", "--nonce-from", "job-1"];
    let mut flag = program(dir, &[&fixed[..], &own].concat());
    // A flag goes before what the pod says.
    flag.env("JOB_COMPLETION_INDEX", "0")
        .env("PREFIXBENCH_SHARDS", "9");
    ended(flag.output(), 0, "");
    let (pod, flag) = (contents(dir, "pod"), contents(dir, "flag"));
    let shard = pod.manifest.shard.expect("a shard");
    assert_eq!((shard.index, shard.count), (2, 3));
    assert_eq!(pod.manifest.nonce, flag.manifest.nonce);
    let salts = |run: &RunContents| -> Vec<_> {
        run.requests
            .iter()
            .map(|r| (r.conversation.clone(), r.salt.clone()))
            .collect()
    };
    assert!(!pod.requests.is_empty());
    assert_eq!(salts(&pod), salts(&flag));
}

#[test]
fn what_cannot_be_a_shard_is_refused_with_the_way_out() {
    let dir = folder();
    let dir = dir.path();
    let cases: [(&[&str], Option<&str>, &str); 9] = [
        (&["--shard", "1/2"], None, "need one nonce"),
        (&["--shard", "0/2"], None, "counted from 1"),
        (&["--shard", "3/2"], None, "no shard 3 of 2"),
        (&["--shard", "two"], None, "3/16"),
        (
            &["--shards", "2", "--nonce", "12345678"],
            None,
            "JOB_COMPLETION_INDEX",
        ),
        (
            &["--shards", "2", "--nonce", "12345678"],
            Some("2"),
            "counts from 0 to 1",
        ),
        (
            &[
                "--shard",
                "1/2",
                "--nonce",
                "12345678",
                "--sweep",
                "sessions=1..4,x2",
            ],
            None,
            "a shard knows only its own part",
        ),
        (
            &["--shard", "1/2", "--nonce", "12345678", "--isolate", "run"],
            None,
            "--isolate run",
        ),
        (&["--shard", "1/2", "--nonce-from", " "], None, "is empty"),
    ];
    for (more, index, expected) in cases {
        let mut command = program(dir, &[&["run", "plan.yaml", "--out", "no"], more].concat());
        if let Some(index) = index {
            command.env("JOB_COMPLETION_INDEX", index);
        }
        ended(command.output(), 2, expected);
        assert!(!dir.join("no").exists(), "{more:?}");
    }
    ended(
        program(dir, &["merge", "plan.yaml", "--out", "no"]).output(),
        2,
        "cannot read",
    );
    ended(
        program(dir, &["merge", "--out", "no"]).output(),
        2,
        "required",
    );
}

#[test]
fn merging_needs_all_shards_of_one_run_and_one_of_nothing_is_one_too() {
    let dir = folder();
    let dir = dir.path();
    let run = |shard: &str, out: &str, more: &[&str]| {
        let fixed = [
            "run",
            "chat.yaml",
            "--config",
            "dev",
            "--no-report",
            "--quiet",
        ];
        let own = ["--nonce", "12345678", "--shard", shard, "--out", out];
        ended(
            program(dir, &[&fixed[..], &own, more].concat()).output(),
            0,
            "",
        );
    };
    // One conversation in three shards: two of them have nothing to do.
    for index in 1..=3 {
        run(&format!("{index}/3"), &format!("s{index}"), &[]);
    }
    run("2/3", "twice", &["--repeat", "2"]);
    let merge = |runs: &[&str], code, said| {
        let arguments = [&["merge"], runs, &["--out", "merged"]].concat();
        ended(program(dir, &arguments).output(), code, said);
    };
    merge(&["s1", "s3"], 2, "of 3 shards, 2 is missing");
    merge(&["s1", "s1", "s2", "s3"], 2, "shard 1/3 is in");
    merge(&["s1", "twice", "s3"], 2, "the setting `repeat` differs");
    assert!(!dir.join("merged").exists());
    merge(&["s1", "s2", "s3"], 0, "records: merged");
    merge(&["s1", "s2", "s3"], 2, "is not empty");
    assert_eq!(contents(dir, "merged").requests.len(), 2);
    ended(
        program(dir, &["run", "--resume", "merged"]).output(),
        0,
        "is finished",
    );
}

/// An embedded server of this process.
struct Served {
    runtime: Option<tokio::runtime::Runtime>,
    handle: Option<Handle>,
    url: String,
}

impl Served {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let options = Options {
            speed: Speed::INSTANT,
            ..Options::default()
        };
        let handle = runtime.block_on(Server::start(options)).expect("a server");
        Self {
            url: handle.url(),
            runtime: Some(runtime),
            handle: Some(handle),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.handle.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

/// A YAML file of `deploy/`, as data.
fn yaml(name: &str) -> Value {
    let text = fs::read_to_string(deploy().join(name)).expect(name);
    serde_saphyr::from_str(&text).expect(name)
}

/// A variable of a container.
fn variable<'a>(container: &'a Value, name: &str) -> &'a Value {
    let mut all = container["env"].as_array().expect("variables").iter();
    all.find(|entry| entry["name"] == name).expect(name)
}

#[test]
fn the_job_runs_as_many_shards_as_it_has_completions() {
    let job = yaml("job.yaml");
    assert_eq!(
        (&job["apiVersion"], &job["kind"]),
        (&"batch/v1".into(), &"Job".into())
    );
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    let shards = &variable(container, "PREFIXBENCH_SHARDS")["value"];
    assert_eq!(shards.as_str(), Some(&*spec["completions"].to_string()));
    let nonce = variable(container, "PREFIXBENCH_NONCE_FROM");
    let field = &nonce["valueFrom"]["fieldRef"]["fieldPath"];
    assert_eq!(
        *field,
        "metadata.labels['batch.kubernetes.io/controller-uid']"
    );
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    let volumes = pod["volumes"].as_array().expect("volumes");
    let names = |list: &[Value]| -> BTreeSet<String> {
        list.iter().map(|entry| entry["name"].to_string()).collect()
    };
    assert_eq!(names(mounts), names(volumes));
    let merge = yaml("merge/merge.yaml");
    let container = &merge["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"][0], "merge");
}

#[test]
fn one_entry_names_the_image_of_both_jobs() {
    let image = yaml("image/kustomization.yaml");
    assert_eq!(image["kind"], "Component");
    for (kustomization, component, job) in [
        ("kustomization.yaml", "image", "job.yaml"),
        ("merge/kustomization.yaml", "../image", "merge/merge.yaml"),
    ] {
        let all = yaml(kustomization);
        assert_eq!(all["components"][0], component, "{kustomization}");
        assert_eq!(all["namespace"], "prefixbench", "{kustomization}");
        let resources = all["resources"].as_array().expect("resources");
        let name = Path::new(job).file_name().and_then(|name| name.to_str());
        assert!(resources.iter().any(|one| one.as_str() == name), "{job}");
        let container = &yaml(job)["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], image["images"][0]["name"], "{job}");
    }
}

#[test]
fn what_the_kustomization_names_is_there_and_its_plan_is_one() {
    let kustomization = yaml("kustomization.yaml");
    for resource in kustomization["resources"].as_array().expect("resources") {
        let name = resource.as_str().expect("a name");
        assert!(deploy().join(name).exists(), "{name}");
    }
    let map = &kustomization["configMapGenerator"][0];
    let job = yaml("job.yaml");
    let volumes = job["spec"]["template"]["spec"]["volumes"].as_array();
    let mut volumes = volumes.expect("volumes").iter();
    assert!(volumes.any(|volume| volume["configMap"]["name"] == map["name"]));
    // As the kubelet lays a ConfigMap out: links to a folder that it can exchange.
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (data, plan) = (
        dir.path().join("plan/..2026_11_30"),
        dir.path().join("plan"),
    );
    fs::create_dir_all(&data).expect("a folder");
    std::os::unix::fs::symlink("..2026_11_30", plan.join("..data")).expect("a link");
    for file in map["files"].as_array().expect("files") {
        let file = Path::new(file.as_str().expect("a path"));
        let name = file.file_name().expect("a name");
        fs::copy(deploy().join(file), data.join(name)).expect("a copy");
        let link = Path::new("..data").join(name);
        std::os::unix::fs::symlink(link, plan.join(name)).expect("a link");
    }
    // The script of the pod, with a server and folders of this test.
    let server = Served::start();
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let script = container["args"][0].as_str().expect("a script");
    let place = |text: &str| {
        text.replace("/results", "results")
            .replace("/plan/", "plan/")
    };
    let bin = Path::new(env!("CARGO_BIN_EXE_prefixbench"));
    let bin = bin.parent().expect("a folder").to_str().expect("text");
    for twice in 0..2 {
        let mut pod = Command::new("/bin/sh");
        pod.current_dir(dir.path()).env_clear().stdin(Stdio::null());
        pod.env("PATH", format!("{bin}:/usr/bin:/bin"))
            .env("NO_COLOR", "1");
        pod.env("JOB_COMPLETION_INDEX", "0")
            .env("PREFIXBENCH_SHARDS", "4");
        pod.env("PREFIXBENCH_NONCE_FROM", "a job")
            .env("PREFIXBENCH_TARGET", &server.url);
        fs::create_dir_all(dir.path().join("results")).expect("a folder");
        let said = if twice == 0 {
            "records: "
        } else {
            "is finished"
        };
        ended(pod.args(["-ec", &place(script)]).output(), 0, said);
    }
    let shard = contents(dir.path(), "results/shard-1").manifest.shard;
    assert_eq!(shard.map(|shard| (shard.index, shard.count)), Some((1, 4)));
}

#[test]
fn the_image_is_built_in_two_stages_and_does_not_run_as_root() {
    let text = fs::read_to_string(deploy().join("Containerfile")).expect("Containerfile");
    let words = |keyword: &str| -> Vec<&str> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(keyword));
        lines.map(str::trim).collect()
    };
    assert_eq!(words("FROM ").len(), 2);
    assert!(words("COPY --from=build").len() == 1, "{text}");
    let user: u32 = words("USER ")[0]
        .parse()
        .expect("a number, which Kubernetes can check");
    assert_ne!(user, 0);
    assert_eq!(words("ENTRYPOINT "), [r#"["prefixbench"]"#]);
}
