//! Presets, targets files, prices, the probe and retries, through the library and
//! the real binary against the embedded server.
#![expect(
    clippy::expect_used,
    reason = "a server that does not start or a file that is not there is a failed test"
)]

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use prefixbench::analysis::cost::bill;
use prefixbench::analysis::prices::Catalogue;
use prefixbench::chat::{Usage, UsageOrigin};
use prefixbench::load::preset::{self, PRESETS};
use prefixbench::provider::{self, decode, usage};
use prefixbench::server::{Handle, Options, Server, Speed, TEMPLATES, find_profile};
use prefixbench::units::Money;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A usage object as the vendor documents or sends it, and what is read of it:
/// total, read, written, output.
type Shape = (&'static str, Value, [Option<u64>; 4]);

#[expect(clippy::too_many_lines, reason = "a table")]
fn shapes() -> Vec<Shape> {
    let openai = |prompt: u64, details: Value| {
        json!({"prompt_tokens": prompt, "completion_tokens": 9, "total_tokens": prompt + 9,
            "prompt_tokens_details": details})
    };
    vec![
        (
            "openai",
            openai(
                15_000,
                json!({"cached_tokens": 12_000, "cache_write_tokens": 3_000}),
            ),
            [Some(15_000), Some(12_000), Some(3_000), Some(9)],
        ),
        (
            "azure",
            openai(1_566, json!({"cached_tokens": 1_408})),
            [Some(1_566), Some(1_408), None, Some(9)],
        ),
        (
            "anthropic",
            json!({"input_tokens": 50, "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 300,
                "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100}, "output_tokens": 9}),
            [Some(1_350), Some(1_000), Some(300), Some(9)],
        ),
        (
            "bedrock",
            json!({"inputTokens": 50, "outputTokens": 9, "cacheReadInputTokens": 1_000, "cacheWriteInputTokens": 300}),
            [Some(1_350), Some(1_000), Some(300), Some(9)],
        ),
        (
            "gemini",
            json!({"promptTokenCount": 5_000, "cachedContentTokenCount": 4_096, "candidatesTokenCount": 9}),
            [Some(5_000), Some(4_096), None, Some(9)],
        ),
        (
            "deepseek",
            json!({"prompt_tokens": 300, "prompt_cache_hit_tokens": 256, "prompt_cache_miss_tokens": 44, "completion_tokens": 9}),
            [Some(300), Some(256), None, Some(9)],
        ),
        (
            "openrouter",
            openai(
                10_339,
                json!({"cached_tokens": 10_318, "cache_write_tokens": 0}),
            ),
            [Some(10_339), Some(10_318), Some(0), Some(9)],
        ),
        (
            "xai",
            json!({"prompt_tokens": 199, "completion_tokens": 1, "total_tokens": 208,
                "prompt_tokens_details": {"cached_tokens": 163}, "completion_tokens_details": {"reasoning_tokens": 8}}),
            [Some(199), Some(163), None, Some(9)],
        ),
        (
            "mistral",
            openai(800, json!({"cached_tokens": 768})),
            [Some(800), Some(768), None, Some(9)],
        ),
        (
            "groq",
            openai(4_641, json!({"cached_tokens": 4_608})),
            [Some(4_641), Some(4_608), None, Some(9)],
        ),
        (
            "fireworks",
            openai(700, json!({"cached_tokens": 640})),
            [Some(700), Some(640), None, Some(9)],
        ),
        (
            "moonshot",
            json!({"prompt_tokens": 600, "completion_tokens": 9, "cached_tokens": 512}),
            [Some(600), Some(512), None, Some(9)],
        ),
        (
            "qwen",
            openai(
                1_300,
                json!({"cached_tokens": 0, "cache_creation_input_tokens": 1_204}),
            ),
            [Some(1_300), Some(0), Some(1_204), Some(9)],
        ),
        (
            "litellm",
            json!({"prompt_tokens": 2_556, "completion_tokens": 9, "cache_creation_input_tokens": 2_528,
                "cache_read_input_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0,
                "cache_write_tokens": 2_528, "cache_creation_tokens": 2_528, "text_tokens": 28}}),
            [Some(2_556), Some(0), Some(2_528), Some(9)],
        ),
        (
            "vllm",
            openai(
                2_556,
                json!({"cached_tokens": 2_528, "created_cache_tokens": 0, "multimodal_tokens": null}),
            ),
            [Some(2_556), Some(2_528), Some(0), Some(9)],
        ),
        (
            "sglang",
            openai(400, Value::Null),
            [Some(400), None, None, Some(9)],
        ),
        (
            "llama-cpp",
            openai(1_564, json!({"cached_tokens": 1_563})),
            [Some(1_564), Some(1_563), None, Some(9)],
        ),
        (
            "tensorrt-llm",
            openai(412, json!({"cached_tokens": 408})),
            [Some(412), Some(408), None, Some(9)],
        ),
        (
            "ollama",
            json!({"prompt_tokens": 31, "completion_tokens": 9, "total_tokens": 40}),
            [Some(31), None, None, Some(9)],
        ),
    ]
}

/// A whole answer of the dialect around a usage object.
fn answer(dialect: &str, usage: &Value) -> Value {
    match dialect {
        "anthropic" => {
            json!({"id": "1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Hi"}], "usage": usage})
        }
        "gemini" => {
            json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
            "usageMetadata": usage})
        }
        "bedrock" => {
            json!({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
            "stopReason": "end_turn", "usage": usage})
        }
        _ => json!({"id": "1", "object": "chat.completion", "usage": usage,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]}),
    }
}

#[test]
fn a_body_in_the_shape_of_every_preset_is_read() {
    let shapes = shapes();
    for preset in PRESETS {
        assert!(
            shapes.iter().any(|(name, ..)| *name == preset.name),
            "{}",
            preset.name
        );
    }
    for (name, usage, expected) in shapes {
        let dialect = preset::find(name).expect(name).dialect;
        let body = answer(dialect, &usage).to_string();
        let decoded = decode(provider::find(dialect).expect(dialect), body.as_bytes());
        assert_eq!(decoded.text.as_deref(), Some("Hi"), "{name}");
        let counted = decoded.usage.expect(name);
        let parts = [counted.total, counted.read, counted.write, counted.output];
        assert_eq!(
            parts.map(|part| part.map(|tokens| tokens.0)),
            expected,
            "{name}"
        );
        assert_eq!(counted.raw, Some(usage), "{name}");
    }
}

#[test]
fn documented_usage_gives_the_documented_bill() {
    let prices = Catalogue::shipped();
    let anthropic = json!({"input_tokens": 50, "cache_read_input_tokens": 100_000,
        "cache_creation_input_tokens": 248, "output_tokens": 503});
    let openai = json!({"prompt_tokens": 15_000, "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 12_000, "cache_write_tokens": 3_000}});
    let deepseek = json!({"prompt_tokens": 1_000, "prompt_cache_hit_tokens": 900,
        "prompt_cache_miss_tokens": 100, "completion_tokens": 50});
    let gemini = json!({"promptTokenCount": 5_000, "cachedContentTokenCount": 4_000, "candidatesTokenCount": 100});
    let exclusive = |value: &Value| usage::exclusive(value.as_object().expect("a map"));
    let cases: [(&str, Option<Usage>, &str); 4] = [
        // 50 plain, 100,000 read at a twentieth, 248 written at 1.25, 503 out: 200 + 20,000 + 1,240 + 10,060 µ$.
        ("claude-opus-5.5", exclusive(&anthropic), "0.0315"),
        // OpenAI's guide, second turn: 12,000 read and 3,000 written, nothing plain.
        ("gpt-6.1-sol", usage::inclusive(&openai), "0.0087"),
        // 100 missed, 900 hit, 50 out: 15 + 2.7 + 30 µ$.
        ("deepseek-flash", usage::inclusive(&deepseek), "0.0000477"),
        // 1,000 plain, 4,000 read, 100 out: 2,000 + 400 + 1,000 µ$.
        ("gemini-4-argon", usage::gemini(&gemini), "0.0034"),
    ];
    for (model, usage, expected) in cases {
        let usage = usage.expect(model);
        assert_eq!(usage.origin, UsageOrigin::Reported);
        let price = prices.find(model, "2026-11-30").expect(model);
        assert_eq!(
            bill(price, &usage).map(Money::decimal).as_deref(),
            Some(expected),
            "{model}"
        );
    }
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let dir = tempfile::tempdir().expect("a folder");
        Self { runtime, dir }
    }

    fn server(&self, profile: &str, faults: &str) -> Handle {
        self.with(profile, faults, |_| {})
    }

    fn with(&self, profile: &str, faults: &str, change: impl FnOnce(&mut Options)) -> Handle {
        let mut options = Options {
            profile: find_profile(profile).expect(profile),
            speed: Speed::INSTANT,
            ..Options::default()
        };
        for fault in faults.split_whitespace() {
            options.faults = options.faults.with_written(fault).expect(fault);
        }
        change(&mut options);
        self.runtime
            .block_on(Server::start(options))
            .expect("a free port")
    }

    fn command(&self) -> Command {
        let mut command = cargo_bin_cmd!("prefixbench");
        command
            .current_dir(&self.dir)
            .env_clear()
            .env("NO_COLOR", "1");
        if let Some(path) = option_env!("PATH") {
            command.env("PATH", path);
        }
        command
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).expect(name);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).expect(name)
    }

    /// A scenario of so many short turns.
    fn scenario(&self, turns: usize) {
        let sends: String = (0..turns)
            .map(|turn| format!("  - user: {{text: Question {turn}., reply: Answer {turn}.}}\n"))
            .collect();
        self.write(
            "chat.yaml",
            &format!("scenario: chat\nsystem: Be brief.\nsteps:\n{sends}"),
        );
    }

    fn records(&self, run: &str) -> Vec<Value> {
        let lines = self.read(&format!("{run}/requests.jsonl"));
        lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record"))
            .collect()
    }

    /// What the probe found out about a profile.
    fn probed(&self, server: &Handle, dialect: &str, more: &[&str]) -> (Value, String) {
        let base = match dialect {
            "gemini" => "/v1beta",
            "bedrock" => "",
            _ => "/v1",
        };
        let url = format!("{}{base}", server.origin());
        let run = self
            .command()
            .args([
                "probe",
                &url,
                "--model",
                "m",
                "--dialect",
                dialect,
                "--out",
                "probe.json",
            ])
            .args(more)
            .assert()
            .success();
        let json = serde_json::from_str(&self.read("probe.json")).expect("JSON");
        (
            json,
            String::from_utf8_lossy(&run.get_output().stdout).into_owned(),
        )
    }
}

#[test]
fn the_probe_finds_the_rule_of_each_profile() {
    let bench = Bench::new();
    let (inclusive, exclusive) = (json!("inclusive"), json!("exclusive"));
    let cases = [
        ("vllm", "openai-chat", "blocks:16", "reported", &inclusive),
        ("vllm", "anthropic", "blocks:16", "reported", &exclusive),
        (
            "vllm-1600",
            "openai-chat",
            "blocks:1600,drop=1",
            "reported",
            &inclusive,
        ),
        (
            "litellm",
            "openai-chat",
            "blocks:16",
            "reported",
            &inclusive,
        ),
        (
            "openai-old",
            "openai-chat",
            "steps:128,min=1024",
            "reported",
            &inclusive,
        ),
        (
            "openai",
            "openai-chat",
            "message-ends",
            "reported",
            &inclusive,
        ),
        (
            "anthropic",
            "anthropic",
            "breakpoints",
            "reported",
            &exclusive,
        ),
        (
            "gemini",
            "gemini",
            "steps:1,min=2048",
            "left_out_when_zero",
            &inclusive,
        ),
        (
            "sglang",
            "openai-chat",
            "radix:1",
            "left_out_when_zero",
            &inclusive,
        ),
        ("deepseek", "openai-chat", "units", "reported", &inclusive),
        (
            "vllm-small",
            "openai-chat",
            "blocks:32,capacity=130",
            "reported",
            &inclusive,
        ),
        (
            "vllm-align",
            "openai-chat",
            "align:1600",
            "reported",
            &inclusive,
        ),
        (
            "llama-cpp",
            "openai-chat",
            "slots:2",
            "reported",
            &inclusive,
        ),
        (
            "anthropic",
            "bedrock",
            "breakpoints",
            "reported",
            &exclusive,
        ),
    ];
    for (profile, dialect, model, counts, convention) in cases {
        let server = bench.server(profile, "");
        let (found, text) = bench.probed(&server, dialect, &[]);
        let findings = &found["findings"];
        assert_eq!(
            findings["cache_model"], model,
            "{profile} {dialect}\n{text}"
        );
        assert_eq!(findings["counts"], counts, "{profile} {dialect}\n{text}");
        assert_eq!(
            &findings["convention"], convention,
            "{profile} {dialect}\n{text}"
        );
        assert_eq!(
            findings["unexplained"],
            Value::Null,
            "{profile} {dialect}\n{text}"
        );
        assert!(
            findings["explained"].as_u64() >= Some(12),
            "{profile} {dialect}\n{text}"
        );
        assert_eq!(findings["delay_ms"], 0, "{profile} {dialect}");
        assert_eq!(findings["answer_cache"], Value::Null, "{profile} {dialect}");
        let requests = found["requests"].as_array().map_or(0, Vec::len);
        assert!(requests < 60, "{profile}: {requests} requests");
        bench.runtime.block_on(server.shutdown());
    }
}

#[test]
fn the_probe_finds_what_a_chat_template_does() {
    let bench = Bench::new();
    for (name, template, _) in TEMPLATES {
        let server = bench.with("vllm", "", |options| options.template = *template);
        let (found, text) = bench.probed(&server, "openai-chat", &["--tokens", "300"]);
        let told = found["template"].to_string();
        let expected = match *name {
            "plain" => "nothing in it breaks a prefix",
            "system-last" => "the system text moves to the last user message",
            "drops-reasoning" => "reasoning of earlier turns is left out",
            _ => "a date is inserted (`Today Date: 16 Oct 2026`)",
        };
        assert!(told.contains(expected), "{name}: {told}");
        // The same by counts alone, where a server does not show its template.
        let dropped = &found["findings"]["reasoning_dropped"];
        assert_eq!(*dropped, *name == "drops-reasoning", "{name}\n{text}");
        let moved = text.contains("a repeat is read and another turn is not");
        assert_eq!(moved, *name == "system-last", "{name}\n{text}");
        bench.runtime.block_on(server.shutdown());
    }
}

#[test]
fn a_cache_of_answers_is_told_and_no_count_is_believed() {
    let bench = Bench::new();
    let server = bench.server("litellm", "answer-cache:1");
    let (found, text) = bench.probed(&server, "openai-chat", &["--tokens", "300"]);
    assert_eq!(
        found["findings"]["answer_cache"], "x-litellm-cache-key",
        "{text}"
    );
    assert!(text.contains("unreliable: "), "{text}");
}

#[test]
fn entries_that_cannot_be_read_at_once_are_waited_for() {
    let bench = Bench::new();
    let server = bench.with("openai", "", |options| {
        options.visible_after = std::time::Duration::from_millis(1_500);
    });
    let (found, text) = bench.probed(&server, "openai-chat", &["--tokens", "2000"]);
    let delay = found["findings"]["delay_ms"].as_u64();
    assert!(delay >= Some(1_000), "{text}");
}

#[test]
fn a_run_can_probe_its_target_first_and_keeps_what_was_found() {
    let bench = Bench::new();
    bench.scenario(2);
    let server = bench.server("gemini", "");
    let url = server.url();
    bench.write(
        "targets.yaml",
        &format!("targets:\n  mine: {{url: '{url}', model: m}}\n"),
    );
    let run = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--target",
        "mine",
        "-q",
        "--out",
    ];
    bench.command().args(run).arg("without").assert().success();
    assert_eq!(bench.records("without")[0]["usage"]["origin"], "absent");
    assert!(server.reset());
    bench
        .command()
        .args(run)
        .args(["with", "--probe"])
        .assert()
        .success();
    let probed: Value = serde_json::from_str(&bench.read("with/probe.json")).expect("JSON");
    assert_eq!(probed["findings"]["counts"], "left_out_when_zero");
    let records = bench.records("with");
    assert_eq!(records[0]["usage"]["read"], 0, "{}", records[0]);
    assert_eq!(records[0]["flags"], json!(["absent_means_zero"]));
}

#[test]
fn what_the_probe_offers_is_a_targets_file() {
    let bench = Bench::new();
    let server = bench.server("sglang", "");
    let (_, text) = bench.probed(&server, "openai-chat", &["--tokens", "600"]);
    let (_, entry) = text.split_once("for targets.yaml:\n\n").expect("an entry");
    assert!(entry.contains("absent_means_zero: true"), "{entry}");
    bench.write("targets.yaml", entry);
    assert!(server.reset());
    bench.scenario(2);
    let name = server
        .origin()
        .replace("http://", "")
        .replace(['.', ':'], "-");
    let run = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--target",
        &name,
        "--out",
        "run",
        "-q",
    ];
    bench.command().args(run).assert().success();
    let records = bench.records("run");
    assert_eq!(records[0]["usage"]["read"], 0, "{}", records[0]);
    assert_eq!(records[0]["usage"]["origin"], "reported");
    assert_eq!(records[0]["flags"], json!(["absent_means_zero"]));
    assert!(
        records[1]["usage"]["read"]
            .as_u64()
            .is_some_and(|read| read > 0)
    );
}

#[test]
fn a_server_that_does_not_count_is_told_from_one_that_reads_nothing() {
    let bench = Bench::new();
    let cases = [
        ("no-usage", "nothing", "--enable-prompt-tokens-details"),
        ("no-details", "no_reads", "--enable-prompt-tokens-details"),
    ];
    for (fault, counts, advice) in cases {
        let server = bench.server("vllm", fault);
        let (found, text) = bench.probed(&server, "openai-chat", &["--tokens", "300"]);
        assert_eq!(found["findings"]["counts"], counts);
        assert_eq!(found["findings"]["cache_model"], Value::Null);
        assert!(text.contains(advice), "{text}");
        bench.runtime.block_on(server.shutdown());
    }
}

#[test]
fn the_probe_compares_a_gateway_with_the_server_behind_it() {
    let bench = Bench::new();
    let (gateway, direct) = (bench.server("vllm", "no-details"), bench.server("vllm", ""));
    let url = direct.url();
    let (found, text) = bench.probed(
        &gateway,
        "openai-chat",
        &["--tokens", "300", "--direct", &url],
    );
    let told = found["direct"].to_string();
    assert!(
        told.contains("for what was read the gateway says nothing, the server"),
        "{told}"
    );
    assert!(text.contains("direct "), "{text}");
}

#[test]
fn a_target_that_refuses_the_probe_ends_it_with_4() {
    let bench = Bench::new();
    let server = bench.server("vllm", "401");
    let run = bench
        .command()
        .args(["probe", &server.url(), "--model", "m"])
        .assert()
        .code(4)
        .stdout("");
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(said.contains("model `m`: auth: HTTP 401"), "{said}");
}

#[test]
fn keys_of_a_targets_file_reach_the_server_and_nothing_else() {
    let bench = Bench::new();
    let server = bench.with("vllm", "", |options| {
        options.api_key = Some("sk-planted-1".to_owned());
    });
    let url = server.url();
    bench.write("targets.yaml", &format!(
        "targets:\n  by-command: {{url: \"{url}\", model: m, key_command: \"echo sk-planted-1\", key_ttl_s: 60, \
         headers: {{X-Team: {{env: TEAM}}}}, prices: {{input: 2.00, read: 0.20, output: 8.00}}}}\n  \
         by-variable: {{url: \"{url}\", model: m, key_env: MY_KEY, unreliable: it was seen to lie}}\n"
    ));
    bench.scenario(2);
    for (name, origin) in [("by-command", "reported"), ("by-variable", "unreliable")] {
        let run = [
            "run",
            "chat.yaml",
            "--config",
            "dev,append-only",
            "--target",
            name,
            "--out",
            name,
        ];
        let ended = bench
            .command()
            .env("TEAM", "sk-planted-2")
            .env("MY_KEY", "sk-planted-1")
            .args(run)
            .assert()
            .success();
        let output = ended.get_output();
        let mut everything = [output.stdout.clone(), output.stderr.clone()].concat();
        for entry in fs::read_dir(bench.dir.path().join(name)).expect("run folder") {
            let path = entry.expect("entry").path();
            if path.is_file() {
                everything.extend(fs::read(path).expect("a file"));
            }
        }
        let everything = String::from_utf8_lossy(&everything);
        assert!(!everything.contains("sk-planted"), "{name}");
        for record in bench.records(name) {
            assert_eq!(record["target"], name);
            assert_eq!(record["usage"]["origin"], origin);
        }
    }
    let manifest: Value =
        serde_json::from_str(&bench.read("by-command/manifest.json")).expect("JSON");
    assert_eq!(
        manifest["targets"][0]["price"]["source"],
        "the targets file"
    );
    let missing = [
        "run",
        "chat.yaml",
        "--target",
        "by-variable",
        "--out",
        "none",
    ];
    let ended = bench.command().args(missing).assert().code(2);
    assert!(String::from_utf8_lossy(&ended.get_output().stderr).contains("`MY_KEY`"));
}

#[test]
fn an_unknown_target_is_told_with_the_one_that_was_meant() {
    let bench = Bench::new();
    bench.scenario(1);
    let cases = [
        ("depseek", "did you mean `deepseek`?"),
        ("azure", "an address that differs by account"),
        ("nobody-here", "there is no targets.yaml here"),
    ];
    for (name, expected) in cases {
        let ended = bench
            .command()
            .args(["run", "chat.yaml", "--target", name])
            .assert()
            .code(2);
        let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(expected), "{said}");
    }
}

#[test]
fn targets_are_listed_with_the_date_of_their_facts() {
    let bench = Bench::new();
    let listed = bench.command().args(["list", "targets"]).assert().success();
    let text = String::from_utf8_lossy(&listed.get_output().stdout).into_owned();
    for preset in PRESETS {
        assert!(
            text.contains(preset.name) && text.contains(preset.as_of),
            "{}",
            preset.name
        );
    }
    bench.write("targets.yaml", "targets:\n  mine:\n    ulr: http://h/v1\n");
    let ended = bench.command().args(["list", "targets"]).assert().code(2);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(
        said.contains("targets::unknown_key") && said.contains("targets.yaml:3:5"),
        "{said}"
    );
}

#[test]
fn a_report_can_be_billed_by_other_prices() {
    let bench = Bench::new();
    bench.scenario(2);
    let run = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--model",
        "my-model",
        "--out",
        "run",
        "-q",
    ];
    bench.command().args(run).assert().success();
    let price = json!({"model": "Mine", "ids": ["my-model"], "source": "a contract", "certainty": "good",
        "tiers": [{"above": 0, "input": "1000", "read": "0", "output": "0"}]});
    let file = json!({"version": 1, "collected": "2026-11-30", "prices": [price]});
    bench.write("prices.json", &file.to_string());
    let reported = bench
        .command()
        .args(["report", "run", "--prices", "prices.json"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&reported.get_output().stdout).into_owned();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("prices: a contract"), "{text}");
    bench.write("bad.json", "{}");
    bench
        .command()
        .args(["report", "run", "--prices", "bad.json"])
        .assert()
        .code(2);
}

fn flags(record: &Value) -> Vec<&str> {
    let flags = record["flags"].as_array().map_or(&[][..], Vec::as_slice);
    flags.iter().filter_map(Value::as_str).collect()
}

/// A run of one configuration against a server with faults: its exit code and records.
fn faulty(faults: &str, turns: usize, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let bench = Bench::new();
    let server = bench.server("vllm", faults);
    bench.scenario(turns);
    let url = server.url();
    let run = [
        "run",
        "chat.yaml",
        "--target",
        &url,
        "--model",
        "m",
        "--out",
        "run",
        "-q",
    ];
    let ended = bench
        .command()
        .args(run)
        .args(more)
        .output()
        .expect("it runs");
    let records = bench.records("run");
    bench.runtime.block_on(server.shutdown());
    (ended.status.code(), records)
}

#[test]
fn a_request_that_may_pass_is_tried_again_and_says_so() {
    for (fault, outcome, least_wait_us) in [
        ("503:2", "http_5xx", 200_000),
        ("529:2", "http_5xx", 200_000),
        ("429:2", "http_429", 1_000_000),
    ] {
        let (code, records) = faulty(fault, 3, &["--config", "dev"]);
        assert_eq!(code, Some(0), "{fault}");
        let attempts: Vec<(u64, u64)> = records
            .iter()
            .map(|record| {
                (
                    record["turn"].as_u64().unwrap_or(0),
                    record["attempt"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        assert_eq!(
            attempts,
            [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)],
            "{fault}"
        );
        for pair in records.windows(2) {
            let [first, again] = pair else { continue };
            if again["attempt"] != 2 {
                continue;
            }
            assert_eq!(first["outcome"], outcome);
            assert_eq!(flags(first), ["tried_again"]);
            assert_eq!(flags(again), ["retried"]);
            let done = first["stamps"]["done_us"].as_u64().expect("an end");
            let due = again["stamps"]["due_us"].as_u64().expect("a due time");
            assert!(
                due >= done + least_wait_us,
                "{fault}: the wait is not part of the second attempt"
            );
        }
    }
}

#[test]
fn a_failure_that_will_not_pass_is_not_tried_again() {
    let (code, records) = faulty("500:2", 3, &["--config", "dev"]);
    assert_eq!(code, Some(0));
    assert_eq!(records.len(), 3, "one attempt a turn");
    assert_eq!(records[1]["outcome"], "http_5xx");
    assert_eq!(flags(&records[2]), ["after_failure"]);
}

#[test]
fn retries_are_bounded() {
    let (code, records) = faulty("503", 1, &["--config", "dev", "--retries", "1"]);
    assert_eq!(code, Some(4));
    assert_eq!(records.len(), 2);
    assert_eq!(flags(&records[1]), ["retried"]);
}

#[test]
fn a_first_refusal_stops_the_run_before_it_wastes_a_cell() {
    let (code, records) = faulty("401", 3, &["--config", "dev,append-only"]);
    assert_eq!(code, Some(4));
    assert_eq!(records.len(), 1, "one request, and no second cell");
    assert_eq!(records[0]["outcome"], "auth");
    let bench = Bench::new();
    let server = bench.with("vllm", "", |options| options.strict_model = true);
    bench.scenario(3);
    let url = server.url();
    let run = [
        "run",
        "chat.yaml",
        "--config",
        "dev,append-only",
        "--target",
        &url,
        "--model",
        "nope",
        "--out",
        "run",
    ];
    let ended = bench.command().args(run).assert().code(4);
    assert_eq!(bench.records("run").len(), 1);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(
        said.contains("not_found (status 404)") && said.contains("`nope`"),
        "{said}"
    );
}

#[test]
fn a_cell_that_fails_turn_after_turn_is_given_up_and_the_next_one_runs() {
    let (code, records) = faulty("500", 8, &["--config", "dev,append-only"]);
    assert_eq!(code, Some(4));
    let of = |name: &str| {
        records
            .iter()
            .filter(|record| record["configuration"] == name)
            .count()
    };
    assert_eq!((of("dev"), of("append-only")), (5, 5));
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let bench = Bench::new();
    let server = bench.server("vllm", "");
    let url = server.url();
    bench.runtime.block_on(server.shutdown());
    bench.scenario(3);
    let run = [
        "run",
        "chat.yaml",
        "--target",
        &url,
        "--model",
        "m",
        "--out",
        "run",
        "--retries",
        "1",
    ];
    bench.command().args(run).assert().code(4);
    let records = bench.records("run");
    assert_eq!(records.len(), 2, "one request and its retry, in one cell");
    assert!(records.iter().all(|record| record["outcome"] == "connect"));
}

#[test]
fn every_dialect_runs_against_the_embedded_server_and_its_count_is_the_bound() {
    let bench = Bench::new();
    bench.scenario(3);
    for dialect in provider::DIALECTS {
        let name = dialect.name();
        // Each dialect on the usual server, and those of their own vendors.
        let own = match name {
            "bedrock" => "anthropic",
            name => name,
        };
        for profile in ["vllm", own] {
            if find_profile(profile).is_none() {
                continue;
            }
            let out = format!("{name}-{profile}");
            let run = [
                "run",
                "chat.yaml",
                "--config",
                "dev",
                "-q",
                "--dialect",
                name,
                "--profile",
                profile,
                "--out",
                &out,
            ];
            bench.command().args(run).assert().success();
            let csv = bench.read(&format!("{out}/requests.csv"));
            let mut rows = csv::Reader::from_reader(csv.as_bytes());
            let rows: Vec<std::collections::HashMap<String, String>> =
                rows.deserialize().collect::<Result<_, _>>().expect("rows");
            assert_eq!(rows.len(), 3, "{out}");
            for row in rows {
                assert_eq!(row["outcome"], "ok", "{out}");
                // A count of nothing is left out on the Gemini wire.
                if profile == "vllm" && row["usage_origin"] == "reported" {
                    assert_eq!(row["read_tokens"], row["bound_tokens"], "{out}");
                }
                assert_eq!(row["first_text_us"].is_empty(), name == "bedrock", "{out}");
            }
        }
    }
}

#[test]
fn counters_are_read_where_the_targets_file_says() {
    let bench = Bench::new();
    bench.scenario(2);
    let (server, idle) = (bench.server("vllm", ""), bench.server("vllm", ""));
    let (url, at, beside) = (server.url(), server.origin(), idle.origin());
    bench.write(
        "targets.yaml",
        &format!(
            "targets:\n  fleet: {{url: '{url}', model: m, metrics: ['{at}/metrics', '{beside}/metrics']}}\n  \
             lost: {{url: '{url}', model: m, metrics: ['{at}/metrics', '{beside}/nothing']}}\n"
        ),
    );
    let run = |target: &str| {
        let run = [
            "run",
            "chat.yaml",
            "--config",
            "dev",
            "-q",
            "--target",
            target,
            "--out",
            target,
        ];
        let done = bench.command().args(run).assert().success();
        String::from_utf8_lossy(&done.get_output().stderr).into_owned()
    };
    run("fleet");
    let counters: Value = serde_json::from_str(&bench.read("fleet/counters.json")).expect("JSON");
    assert_eq!(counters["agree"], true, "{counters}");
    assert_eq!(counters["urls"].as_array().map(Vec::len), Some(2));
    let said = run("lost");
    assert!(said.contains("/nothing`: HTTP 404"), "{said}");
    assert!(!bench.dir.path().join("lost/counters.json").exists());
}
