//! Every row as it was published, and what it gives for a prompt.

use super::*;
use crate::cache::{Cache, Query, Wishes};

#[test]
fn every_row_reads_and_says_where_and_when_it_was_read() {
    for rule in RULES {
        let name = format!("{:?} {:?}", rule.vendors, rule.models);
        assert!(rule.cache.parse::<Model>().is_ok(), "{name}");
        assert!(
            !rule.vendors.is_empty() && !rule.models.is_empty(),
            "{name}"
        );
        assert!(!rule.source.is_empty() && rule.as_of.len() == 10, "{name}");
        for vendor in rule.vendors {
            let earlier = rules(vendor).take_while(|earlier| *earlier != rule);
            let hidden = earlier
                .flat_map(|earlier| earlier.models)
                .any(|model| rule.models.iter().any(|own| own == model) || *model == "*");
            assert!(!hidden, "{name}: a row before it names the same models");
        }
    }
}

/// What a second request of the same `tokens` can read, marked at its end.
fn repeat(rule: &Rule, tokens: usize) -> u64 {
    let ids: Vec<u32> = (0..u32::try_from(tokens).expect("small")).collect();
    let model: Model = rule.cache.parse().expect(rule.cache);
    let mut cache = Cache::new(&model, rule.lifetime);
    let query = Query {
        ids: &ids,
        ends: &[tokens],
        roles: &[crate::chat::Role::User],
        markers: &[tokens],
        salt: None,
        at_ms: 0,
        wishes: Wishes::default(),
    };
    let first = cache.admit(&query);
    cache.finish(first.handle, &[]);
    cache.admit(&query).bound
}

#[test]
fn each_model_has_the_rule_of_its_row() {
    // Vendor, model, tokens sent twice, tokens that can be read, seconds that an entry lives.
    let cases: &[(&str, &str, usize, u64, Option<u64>)] = &[
        ("anthropic", "claude-haiku-4-5", 2_556, 0, Some(300)),
        (
            "anthropic",
            "claude-haiku-4-5-20251001",
            4_096,
            4_096,
            Some(300),
        ),
        ("anthropic", "claude-fable-5.1", 600, 600, Some(300)),
        ("anthropic", "claude-fable-5.1", 511, 0, Some(300)),
        ("anthropic", "claude-opus-5", 512, 512, Some(300)),
        ("anthropic", "claude-opus-4-8", 1_023, 0, Some(300)),
        (
            "anthropic",
            "claude-sonnet-4-20250514",
            1_024,
            1_024,
            Some(300),
        ),
        ("anthropic", "claude-opus-4-7", 2_047, 0, Some(300)),
        (
            "anthropic",
            "claude-3-5-haiku-20241022",
            2_048,
            2_048,
            Some(300),
        ),
        ("anthropic", "claude-opus-4-6", 4_095, 0, Some(300)),
        ("anthropic", "claude-opus-5.5", 400, 400, Some(300)),
        (
            "bedrock",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            4_000,
            0,
            Some(300),
        ),
        (
            "bedrock",
            "anthropic.claude-opus-5-v1:0",
            512,
            512,
            Some(300),
        ),
        (
            "bedrock",
            "us.amazon.nova-pro-v1:0",
            1_000,
            1_000,
            Some(300),
        ),
        ("openai", "gpt-6.1-sol", 3_000, 3_000, Some(1_800)),
        ("openai", "gpt-6-luna", 1_023, 0, Some(1_800)),
        ("openai", "gpt-5.6-codex", 3_000, 3_000, Some(1_800)),
        ("openai", "gpt-5.5", 3_000, 2_048, Some(86_400)),
        ("openai", "gpt-5.5-pro", 5_000, 4_096, Some(86_400)),
        ("openai", "gpt-5.4", 3_000, 2_944, Some(86_400)),
        (
            "openai",
            "gpt-4o-mini-2024-07-18",
            3_000,
            2_944,
            Some(86_400),
        ),
        ("openai", "gpt-5.4", 1_000, 0, Some(86_400)),
        ("azure", "gpt-6.2-sol", 3_000, 3_000, Some(1_800)),
        ("azure", "gpt-5.5", 3_000, 2_048, Some(86_400)),
        ("azure", "gpt-5.4-mini", 3_000, 2_944, Some(3_600)),
        ("gemini", "gemini-2.5-flash", 2_048, 2_048, None),
        ("gemini", "gemini-2.5-pro", 2_047, 0, None),
        ("gemini", "gemini-3.8-flash", 4_095, 0, None),
        ("gemini", "gemini-4-argon", 4_096, 4_096, None),
        ("gemini", "gemini-3.1-pro-preview", 4_095, 0, None),
        ("gemini", "gemini-4-neon", 100, 100, None),
        ("deepseek", "deepseek-v4-pro", 100, 100, None),
        ("deepseek", "deepseek-flash", 100, 100, None),
        ("xai", "grok-4.7", 300, 256, None),
        ("groq", "openai/gpt-oss-120b", 300, 300, Some(7_200)),
        ("mistral", "mistral-large-2512", 300, 300, None),
        ("fireworks", "accounts/fireworks/models/any", 300, 300, None),
        ("qwen", "qwen4-max", 1_023, 0, Some(300)),
        ("qwen", "qwen3-max", 1_024, 1_024, None),
    ];
    for &(vendor, model, tokens, read, lives) in cases {
        let rule = rule(vendor, model).unwrap_or_else(|| panic!("{vendor} {model} has no row"));
        assert_eq!(repeat(rule, tokens), read, "{vendor} {model} of {tokens}");
        let lifetime = rule.lifetime.map(|span| span.as_secs());
        assert_eq!(lifetime, lives, "{vendor} {model}");
    }
}

#[test]
fn of_a_model_that_no_row_names_nothing_is_assumed() {
    let cases = [
        ("openai", "gpt-5.7"),
        ("openai", "gpt-7"),
        ("openai", "o3"),
        ("openai", ""),
        ("azure", "my-deployment"),
        ("anthropic", "claude-opus-6"),
        ("bedrock", "meta.llama4-70b-v1:0"),
        ("gemini", "gemini-5"),
        ("deepseek", "deepseek-chat"),
        ("groq", "moonshotai/kimi-k3"),
        ("moonshot", "kimi-k3.1-pro"),
        ("openrouter", "anthropic/claude-opus-5.5"),
        ("nobody", "gpt-6.1-sol"),
    ];
    for (vendor, model) in cases {
        assert_eq!(rule(vendor, model), None, "{vendor} {model}");
    }
}

#[test]
fn a_minimum_that_is_not_published_is_none() {
    let least = |vendor, model| rule(vendor, model).and_then(Rule::minimum);
    assert_eq!(least("anthropic", "claude-opus-5.5"), None);
    assert_eq!(least("anthropic", "claude-opus-4.1"), Some(1_024));
    assert_eq!(least("openai", "gpt-5.5"), Some(1_024));
    assert_eq!(least("xai", "grok-4.7"), None);
    assert_eq!(least("deepseek", "deepseek-flash"), None);
}
