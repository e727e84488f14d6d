//! Targets files, read and refused.

use super::*;
use crate::load::Affinity;
use crate::transport::Header;
use miette::Diagnostic as _;

fn read_all(text: &str) -> Result<Vec<Entry>, TargetsError> {
    parse("targets.yaml", text.to_owned(), Path::new("deploy")).map_err(TargetsError::from)
}

fn only(body: &str) -> Entry {
    let indented: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let mut entries = read_all(&format!("targets:\n  mine:\n{indented}")).unwrap();
    entries.pop().unwrap()
}

fn resolved(
    entry: &Entry,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<crate::load::Target, Failure> {
    let mut target = crate::load::Target::at("x", &entry.url, entry.dialect);
    entry.before(&mut target, environment)?;
    entry.after(&mut target);
    Ok(target)
}

#[test]
fn every_field_is_read() {
    let entry = only(
        "url: https://gateway.example/v1\nmodel: big\ndialect: anthropic\nwire: anthropic\n\
         key_command: get-token\nkey_ttl_s: 600\nheaders: {X-Team: bench, X-Token: {env: TEAM_TOKEN}}\n\
         body: {temperature: 0, stop: [a, b]}\nca: ca.pem\nproxy: http://proxy:3128\n\
         cache_model: breakpoints\nlifetime: 5m\n\
         prices: {input: 2.00, read: \"0.10\", write: 2.50, output: 10}\n\
         limits: {requests_per_minute: 60, tokens_per_minute: 100000}\n\
         metrics: [http://worker:9/metrics]\ntools_first: false\nsalt: true\n\
         affinity: {header: X-Session}\ntolerance: 5\nunreliable: it said so\n\
         absent_means_zero: true\nevidence: a warm control request",
    );
    let environment = |name: &str| (name == "TEAM_TOKEN").then(|| "sk-planted".to_owned());
    let target = resolved(&entry, &environment).ok().unwrap();
    assert_eq!(&*target.name, "mine");
    assert_eq!(target.dialect.name(), "anthropic");
    assert_eq!(
        target.headers(),
        [
            Header::plain("x-team", "bench"),
            Header::secret("x-token", "sk-planted")
        ]
    );
    assert_eq!(target.extra["stop"][1], "b");
    assert_eq!(entry.ca.as_deref(), Some(Path::new("deploy/ca.pem")));
    assert_eq!(entry.lifetime, Some(std::time::Duration::from_mins(5)));
    assert_eq!(target.rates.requests_per_minute, Some(60));
    assert_eq!(target.metrics, ["http://worker:9/metrics"]);
    assert!(target.salted && !target.tools_first);
    assert_eq!(target.affinity, Some(Affinity::Header("x-session".into())));
    assert_eq!(target.tolerance.tokens.0, 5);
    assert!(target.unreliable.is_some() && target.absent_is_zero.is_some());
    let Some(Prices::Amounts(price)) = entry.prices() else {
        panic!("amounts")
    };
    assert_eq!(price.tiers[0].read.map(|money| money.0), Some(100_000));
}

#[test]
fn the_cache_rule_is_that_of_the_model_and_none_is_guessed() {
    let cases = [
        (
            "openai",
            "gpt-5.4",
            Some(("steps:128,min=1024", Some(86_400))),
        ),
        ("openai", "gpt-6.1-sol", Some(("message-ends", Some(1_800)))),
        ("azure", "gpt-6.1-sol", Some(("message-ends", Some(1_800)))),
        (
            "anthropic",
            "claude-haiku-4-5",
            Some(("breakpoints,min=4096", Some(300))),
        ),
        (
            "anthropic",
            "claude-fable-5.1",
            Some(("breakpoints,min=512", Some(300))),
        ),
        (
            "gemini",
            "gemini-2.5-flash",
            Some(("steps:1,min=2048", None)),
        ),
        ("sglang", "any", Some(("radix:1", None))),
        ("openai", "gpt-9", None),
        ("openrouter", "anthropic/claude-opus-5", None),
    ];
    for (preset, model, expected) in cases {
        let mut target = crate::load::Target::at("t", "http://h/v1", provider::DIALECTS[0]);
        target.model = model.into();
        let entry = only(&format!("preset: {preset}\nurl: http://h/v1"));
        entry.after(&mut target);
        let found = target.cache.as_ref().map(ToString::to_string);
        let found = found.map(|cache| (cache, target.lifetime.map(|span| span.as_secs())));
        let expected = expected.map(|(cache, lives)| (cache.to_owned(), lives));
        assert_eq!(found, expected, "{preset} {model}");
        let noted = entry
            .cache_note(model)
            .is_some_and(|note| note.starts_with("nothing is known"));
        assert_eq!(noted, model == "gpt-9", "{preset} {model}");
    }
    let stated = only("preset: openai\ncache_model: steps:64");
    assert_eq!(
        stated.cache_note("gpt-9"),
        None,
        "the entry says how it works"
    );
}

#[test]
fn a_preset_fills_in_what_is_left_open() {
    let environment = |name: &str| (name == "DEEPSEEK_API_KEY").then(|| "sk".to_owned());
    let target = resolved(&only("preset: deepseek"), &environment)
        .ok()
        .unwrap();
    assert_eq!(target.url, "https://api.deepseek.com/v1");
    assert_eq!(
        target.cache, None,
        "nothing is assumed of a model without a name"
    );
    assert_eq!(
        (target.tolerance.tokens.0, target.tolerance.permille),
        (64, 10)
    );
    assert_eq!(
        target.headers()[0],
        Header::secret("authorization", "Bearer sk")
    );

    let azure =
        only("preset: azure\nurl: https://mine.openai.azure.com/openai/v1\nbody: {temperature: 1}");
    let environment = |name: &str| (name == "AZURE_OPENAI_API_KEY").then(|| "sk".to_owned());
    let target = resolved(&azure, &environment).ok().unwrap();
    assert_eq!(target.headers(), [Header::secret("api-key", "sk")]);
    assert_eq!(target.limit_field.as_deref(), Some("max_completion_tokens"));
    assert_eq!(target.extra["temperature"], 1);

    let plain = |body: &str| resolved(&only(body), &|_| None).ok().unwrap();
    assert!(plain("preset: xai").affinity.is_some());
    assert_eq!(plain("preset: xai\naffinity: off").affinity, None);
    let responses = plain("preset: xai\ndialect: openai-responses").affinity;
    assert_eq!(responses, Some(Affinity::Field("prompt_cache_key".into())));

    let litellm = only("preset: litellm\ndialect: anthropic");
    let target = resolved(&litellm, &|_| None).ok().unwrap();
    assert!(target.unreliable.is_some());
    assert_eq!(
        target.extra["cache"]["no-cache"], true,
        "its cache of answers is off in each of its dialects"
    );
    let openrouter = only("preset: openrouter\ndialect: anthropic");
    let target = resolved(&openrouter, &|_| None).ok().unwrap();
    assert!(
        target.extra.is_empty(),
        "other fields are those of the preset's own dialect"
    );
}

#[test]
fn a_variable_that_is_named_and_not_set_is_told() {
    let entry = only("preset: openai\nkey_env: NO_SUCH");
    let said = resolved(&entry, &|_| None)
        .err()
        .unwrap()
        .report
        .to_string();
    assert!(
        said.contains("`NO_SUCH`") && said.contains("`mine`"),
        "{said}"
    );
    assert!(
        resolved(&only("preset: openai"), &|_| None).is_ok(),
        "a preset's variable may be missing"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
fn mistakes_are_told_with_their_place() {
    let cases = [
        (
            "preset: deepsek",
            "unknown preset `deepsek`",
            "did you mean `deepseek`?",
        ),
        (
            "urll: http://h/v1",
            "unknown key `urll`",
            "did you mean `url`?",
        ),
        ("model: m", "`url` is missing", ""),
        (
            "preset: azure",
            "`url` differs by account and must be given",
            "it has the form https://{resource}",
        ),
        ("url: h/v1", "is no address of a target", ""),
        (
            "url: http://h/v1\ndialect: openai",
            "unknown dialect `openai`",
            "known: openai-chat",
        ),
        (
            "url: http://h/v1\nkey_env: sk-abc.def",
            "the name of an environment variable",
            "not the key",
        ),
        (
            "url: http://h/v1\nkey_env: A\nkey_command: b",
            "`key_command` cannot stand beside `key_env`",
            "",
        ),
        ("url: http://h/v1\nkey_ttl_s: 5", "`key_ttl_s` says", ""),
        (
            "url: http://h/v1\nheaders: {Authorization: Bearer x}",
            "would keep a key in this file",
            "use `key_env`",
        ),
        (
            "url: http://h/v1\nheaders: {\"a b\": x}",
            "is no name of a header",
            "",
        ),
        (
            "url: http://h/v1\ncache_model: block:16",
            "`cache_model` cannot be read",
            "list cache-models",
        ),
        (
            "url: http://h/v1\nlifetime: 5",
            "`lifetime` has no unit",
            "",
        ),
        (
            "url: http://h/v1\nprices: {input: x, output: 1}",
            "`prices` cannot be read: `x` of `mine`",
            "",
        ),
        (
            "url: http://h/v1\nprices: {inptu: 1}",
            "unknown key `inptu`",
            "did you mean `input`?",
        ),
        (
            "url: http://h/v1\nlimits: {requests_per_minute: 0}",
            "a limit of 0",
            "",
        ),
        (
            "url: http://h/v1\nabsent_means_zero: true",
            "`absent_means_zero` needs `evidence`",
            "probe",
        ),
        (
            "url: http://h/v1\nevidence: none",
            "`evidence` says what",
            "",
        ),
        (
            "url: http://h/v1\nheaders: {x: {evn: A}}",
            "unknown key `evn`",
            "did you mean `env`?",
        ),
    ];
    for (body, message, help) in cases {
        let indented: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let error = read_all(&format!("targets:\n  mine:\n{indented}"))
            .err()
            .unwrap();
        assert!(error.to_string().contains(message), "{body}: {error}");
        let helped = error
            .help()
            .map(|help| help.to_string())
            .unwrap_or_default();
        assert!(helped.contains(help), "{body}: {helped}");
        assert!(
            error.code().unwrap().to_string().starts_with("targets::"),
            "{body}"
        );
        let label = error.labels().and_then(|mut labels| labels.next());
        assert!(label.is_some_and(|label| label.offset() > 0), "{body}");
    }
}

#[test]
fn no_input_makes_the_loader_panic() {
    use proptest::prelude::*;
    proptest!(|(text in "(?s).{0,200}")| {
        let _any = read_all(&text);
    });
    proptest!(|(key in "[a-z_]{1,18}", value in "(?s).{0,40}")| {
        let _any = read_all(&format!("targets:\n  a:\n    url: http://h/v1\n    {key}: {value}\n"));
    });
}

#[test]
fn what_is_listed_shows_where_keys_are_and_no_key() {
    let entry = only(
        "url: http://u.example/v1\nproxy: http://u:sk-planted@p:1\nkey_env: MINE\nheaders: {X-T: {env: T}}",
    );
    let text = show::text(&[entry]);
    assert!(text.starts_with("mine (of the targets file)"), "{text}");
    assert!(
        text.contains("in MINE") && !text.contains("sk-planted"),
        "{text}"
    );
    for preset in preset::PRESETS {
        assert!(
            text.contains(&format!("\n{}: ", preset.name)),
            "{}",
            preset.name
        );
        assert!(text.contains(preset.as_of), "{}", preset.name);
    }
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let page = include_str!("../../../docs/targets.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let entries = read_all(example).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["production", "gateway"]);
    assert_eq!(entries[1].metrics.len(), 2);
    assert!(entries[1].variables().contains(&"TEAM_SECRET".to_owned()));
}
