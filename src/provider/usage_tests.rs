//! Usage objects in the shapes that vendors document and servers send.

use super::*;
use proptest::prelude::*;
use serde_json::json;

type Expected = (
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    UsageOrigin,
);

const REPORTED: UsageOrigin = UsageOrigin::Reported;
const ABSENT: UsageOrigin = UsageOrigin::Absent;
const CONTRADICTORY: UsageOrigin = UsageOrigin::Contradictory;

fn parts(usage: &Usage) -> Expected {
    (
        usage.total.map(|t| t.0),
        usage.read.map(|t| t.0),
        usage.written().map(|t| t.0),
        usage.output.map(|t| t.0),
        usage.origin,
    )
}

#[test]
fn names_that_a_gateway_has_and_leaves_at_0_say_nothing() {
    let object = json!({"prompt_tokens": 100, "completion_tokens": 4, "total_tokens": 104,
        "prompt_tokens_details": {"cached_tokens": 64}, "input_tokens": 0, "output_tokens": 0});
    let usage = inclusive(&object).expect("usage");
    assert_eq!(
        parts(&usage),
        (Some(100), Some(64), None, Some(4), REPORTED)
    );
}

#[test]
fn shapes_of_the_inclusive_convention_are_read() {
    let cases: &[(&str, Value, Expected)] = &[
        (
            "OpenAI with a write count",
            json!({"prompt_tokens": 15000, "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 12000, "cache_write_tokens": 3000}}),
            (Some(15000), Some(12000), Some(3000), Some(9), REPORTED),
        ),
        (
            "vLLM, a null detail",
            json!({"prompt_tokens": 2556, "completion_tokens": 24, "prompt_tokens_details":
                {"cached_tokens": 0, "created_cache_tokens": null, "multimodal_tokens": null}}),
            (Some(2556), Some(0), None, Some(24), REPORTED),
        ),
        (
            "vLLM without its flag",
            json!({"prompt_tokens": 2556, "completion_tokens": 17, "prompt_tokens_details": null}),
            (Some(2556), None, None, Some(17), ABSENT),
        ),
        (
            "LiteLLM states the same counts several times",
            json!({"prompt_tokens": 2556, "completion_tokens": 17,
                "cache_creation_input_tokens": 2528, "cache_read_input_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 2528,
                    "cache_creation_tokens": 2528, "text_tokens": 28}}),
            (Some(2556), Some(0), Some(2528), Some(17), REPORTED),
        ),
        (
            "DeepSeek",
            json!({"prompt_tokens": 300, "prompt_cache_hit_tokens": 256,
                "prompt_cache_miss_tokens": 44, "completion_tokens": 5}),
            (Some(300), Some(256), None, Some(5), REPORTED),
        ),
        (
            "DeepSeek whose parts do not add up",
            json!({"prompt_tokens": 300, "prompt_cache_hit_tokens": 256,
                "prompt_cache_miss_tokens": 43}),
            (Some(300), Some(256), None, None, CONTRADICTORY),
        ),
        (
            "xAI: reasoning beside the completion",
            json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 40}}),
            (Some(100), Some(64), None, Some(50), REPORTED),
        ),
        (
            "OpenAI: reasoning within the completion",
            json!({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 40}}),
            (Some(100), None, None, Some(50), ABSENT),
        ),
        (
            "Qwen's explicit cache",
            json!({"prompt_tokens": 1300, "completion_tokens": 7, "prompt_tokens_details":
                {"cached_tokens": 0, "cache_creation_input_tokens": 1204,
                 "cache_creation": {"ephemeral_5m_input_tokens": 1204}}}),
            (Some(1300), Some(0), Some(1204), Some(7), REPORTED),
        ),
        (
            "Ollama and SGLang on a miss: no details",
            json!({"prompt_tokens": 31, "completion_tokens": 8, "total_tokens": 39,
                "prompt_tokens_details": null}),
            (Some(31), None, None, Some(8), ABSENT),
        ),
        (
            "names for one number are never added up",
            json!({"prompt_tokens": 100, "cached_tokens": 40, "cache_read_input_tokens": 40,
                "prompt_tokens_details": {"cached_tokens": 40}}),
            (Some(100), Some(40), None, None, REPORTED),
        ),
        (
            "more read than there was",
            json!({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 110}}),
            (Some(100), Some(110), None, None, CONTRADICTORY),
        ),
        (
            "a negative count",
            json!({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": -5}}),
            (Some(100), None, None, None, CONTRADICTORY),
        ),
        (
            "a count beyond all measure",
            json!({"prompt_tokens": u64::MAX, "completion_tokens": 1}),
            (None, None, None, Some(1), CONTRADICTORY),
        ),
        (
            "Responses",
            json!({"input_tokens": 2556, "output_tokens": 24,
                "input_tokens_details": {"cached_tokens": 2528, "cache_write_tokens": 0}}),
            (Some(2556), Some(2528), Some(0), Some(24), REPORTED),
        ),
    ];
    for (case, object, expected) in cases {
        let usage = inclusive(object).expect(case);
        assert_eq!(parts(&usage), *expected, "{case}");
        assert_eq!(usage.raw.as_ref(), Some(object), "{case}: raw is kept");
    }
    assert_eq!(inclusive(&json!({})), None, "an empty object says nothing");
    assert_eq!(inclusive(&json!({"prompt_tokens": null})), None);
}

#[test]
fn counts_that_cannot_be_are_told_from_odd_ones_that_can() {
    let cases: &[(&str, Value, Expected)] = &[
        (
            "names for one number that say different things",
            json!({"prompt_tokens": 100, "cache_read_input_tokens": 64,
                "prompt_tokens_details": {"cached_tokens": 0}}),
            (Some(100), Some(0), None, None, CONTRADICTORY),
        ),
        (
            "the same of what was written",
            json!({"prompt_tokens": 100, "cache_creation_input_tokens": 64,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 32}}),
            (Some(100), Some(0), Some(32), None, CONTRADICTORY),
        ),
        (
            "the same of what was generated",
            json!({"prompt_tokens": 100, "completion_tokens": 4, "output_tokens": 5}),
            (Some(100), None, None, Some(4), CONTRADICTORY),
        ),
        (
            "Anthropic's parts beside the prompt, as the sum says",
            json!({"prompt_tokens": 2000, "completion_tokens": 5, "total_tokens": 4005,
                "cache_read_input_tokens": 1500, "cache_creation_input_tokens": 500}),
            (Some(2000), Some(1500), Some(500), Some(5), CONTRADICTORY),
        ),
        (
            "a sum that is less than its parts",
            json!({"prompt_tokens": 2000, "completion_tokens": 5, "total_tokens": 500,
                "prompt_tokens_details": {"cached_tokens": 1500}}),
            (Some(2000), Some(1500), None, Some(5), CONTRADICTORY),
        ),
        (
            "reasoning that stands in the sum alone",
            json!({"prompt_tokens": 2000, "completion_tokens": 5, "total_tokens": 2705,
                "prompt_tokens_details": {"cached_tokens": 1500}}),
            (Some(2000), Some(1500), None, Some(5), REPORTED),
        ),
        (
            "both conventions' counts of one prompt",
            json!({"prompt_tokens": 2556, "input_tokens": 28, "cache_read_input_tokens": 2528}),
            (Some(2556), Some(2528), None, None, REPORTED),
        ),
        (
            "two counts of the prompt that no convention brings together",
            json!({"prompt_tokens": 2556, "input_tokens": 30, "cache_read_input_tokens": 2528}),
            (Some(2556), Some(2528), None, None, CONTRADICTORY),
        ),
        (
            "a prompt of no tokens, as of an answer out of a cache of answers",
            json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": 0}}),
            (Some(0), Some(0), None, Some(0), CONTRADICTORY),
        ),
        (
            "counts as texts",
            json!({"prompt_tokens": "100", "completion_tokens": "5",
                "prompt_tokens_details": {"cached_tokens": "64"}}),
            (None, None, None, None, CONTRADICTORY),
        ),
        (
            "one count as a text",
            json!({"prompt_tokens": 100, "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": "64"}}),
            (Some(100), None, None, Some(5), CONTRADICTORY),
        ),
        (
            "a prompt longer than any",
            json!({"prompt_tokens": 100_000_000_000_u64,
                "prompt_tokens_details": {"cached_tokens": 10}}),
            (None, Some(10), None, None, CONTRADICTORY),
        ),
        (
            "an object in which nothing is known",
            json!({"tokens": 12}),
            (None, None, None, None, ABSENT),
        ),
    ];
    for (case, object, expected) in cases {
        let usage = inclusive(object).expect(case);
        assert_eq!(parts(&usage), *expected, "{case}");
        assert_eq!(usage.raw.as_ref(), Some(object), "{case}: raw is kept");
    }
}

#[test]
fn shapes_of_the_exclusive_convention_are_read() {
    let cases: &[(&str, Value, Expected)] = &[
        (
            "vLLM",
            json!({"input_tokens": 28, "output_tokens": 24,
                "cache_creation_input_tokens": 2528, "cache_read_input_tokens": 0}),
            (Some(2556), Some(0), Some(2528), Some(24), REPORTED),
        ),
        (
            "no cache fields: the input is the whole prompt",
            json!({"input_tokens": 2556, "output_tokens": 17}),
            (Some(2556), None, None, Some(17), ABSENT),
        ),
        (
            "only the read count",
            json!({"input_tokens": 1, "cache_read_input_tokens": 312, "output_tokens": 12}),
            (Some(313), Some(312), None, Some(12), REPORTED),
        ),
        (
            "Kimi's -1",
            json!({"input_tokens": -1, "cache_read_input_tokens": 400, "output_tokens": 2}),
            (Some(400), Some(400), None, Some(2), REPORTED),
        ),
        (
            "any other negative count",
            json!({"input_tokens": -2, "cache_read_input_tokens": 400, "output_tokens": 2}),
            (None, Some(400), None, Some(2), CONTRADICTORY),
        ),
        (
            "a prompt of no tokens",
            json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}),
            (Some(0), Some(0), None, Some(0), CONTRADICTORY),
        ),
        (
            "counts as texts",
            json!({"input_tokens": "10", "cache_read_input_tokens": "0"}),
            (None, None, None, None, CONTRADICTORY),
        ),
        (
            "the two lifetimes",
            json!({"input_tokens": 10, "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 30,
                "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10},
                "output_tokens": 2}),
            (Some(40), Some(0), Some(30), Some(2), REPORTED),
        ),
    ];
    for (case, object, expected) in cases {
        let usage = exclusive(object.as_object().expect("object")).expect(case);
        assert_eq!(parts(&usage), *expected, "{case}");
        assert_eq!(usage.raw.as_ref(), Some(object), "{case}: raw is kept");
    }
}

#[test]
fn a_split_that_is_older_than_the_flat_count_is_not_believed() {
    let object = json!({"input_tokens": 1, "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 0}});
    let usage = exclusive(object.as_object().expect("object")).expect("usage");
    assert_eq!((usage.write, usage.write_long), (Some(Tokens(9)), None));
}

#[test]
fn lifetimes_of_a_write_are_told_apart_wherever_they_stand() {
    let split = json!({"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 8000});
    let stale = json!({"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 0});
    let (short, long) = (Some(Tokens(1000)), Some(Tokens(8000)));
    let cases = [
        (
            "LiteLLM",
            json!({"prompt_tokens": 10000, "cache_creation_input_tokens": 9000,
                "cache_read_input_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0,
                "cache_write_tokens": 9000, "cache_creation_tokens": 9000, "text_tokens": 1000,
                "cache_creation_token_details": split}}),
            (short, long),
        ),
        (
            "LiteLLM, responses",
            json!({"input_tokens": 10000, "input_tokens_details": {"cached_tokens": 0,
                "cache_write_tokens": 9000, "cache_creation_token_details": split}}),
            (short, long),
        ),
        (
            "Qwen",
            json!({"prompt_tokens": 10000, "prompt_tokens_details": {"cached_tokens": 0,
                "cache_creation_input_tokens": 9000, "cache_creation": split}}),
            (short, long),
        ),
        (
            "Anthropic's own object on a chat route, without a count of both",
            json!({"prompt_tokens": 10000, "cache_creation": split}),
            (short, long),
        ),
        (
            "parts that do not add up to the count of both",
            json!({"prompt_tokens": 10000, "prompt_tokens_details": {"cached_tokens": 0,
                "cache_write_tokens": 9000, "cache_creation_token_details": stale}}),
            (Some(Tokens(9000)), None),
        ),
    ];
    for (case, object, expected) in cases {
        let usage = inclusive(&object).expect(case);
        assert_eq!((usage.write, usage.write_long), expected, "{case}");
    }
}

#[test]
fn the_last_value_of_each_field_wins_and_null_is_no_value() {
    let mut known = json!({"input_tokens": 2556, "cache_creation": {"a": 1, "b": 2}});
    let newer = json!({"input_tokens": 0, "cache_creation": {"b": 3}, "output_tokens": null});
    let (Value::Object(known), Value::Object(newer)) = (&mut known, &newer) else {
        panic!("objects");
    };
    overwrite(known, newer);
    let expected = json!({"input_tokens": 0, "cache_creation": {"a": 1, "b": 3}});
    assert_eq!(Value::Object(known.clone()), expected);
}

#[test]
fn the_other_shapes_are_read() {
    let gemini_usage = gemini(
        &json!({"promptTokenCount": 5000, "cachedContentTokenCount": 4096,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 30}),
    );
    let expected = (Some(5000), Some(4096), None, Some(50), REPORTED);
    assert_eq!(parts(&gemini_usage.expect("gemini")), expected);

    let no_hit = gemini(&json!({"promptTokenCount": 5000})).expect("gemini");
    assert_eq!(parts(&no_hit), (Some(5000), None, None, None, ABSENT));

    let converse = bedrock(&json!({"inputTokens": 10, "outputTokens": 3,
        "cacheReadInputTokens": 100, "cacheWriteInputTokens": 5}));
    let expected = (Some(115), Some(100), Some(5), Some(3), REPORTED);
    assert_eq!(parts(&converse.expect("bedrock")), expected);

    let llama = timings(&json!({"cache_n": 1563, "prompt_n": 1, "predicted_n": 16}));
    let expected = (Some(1564), Some(1563), None, Some(16), REPORTED);
    assert_eq!(parts(&llama.expect("llama.cpp")), expected);
}

/// Numbers as servers may send them, nonsense included.
fn count() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0u64..5_000).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!("12")),
        Just(json!({})),
    ]
}

proptest! {
    #[test]
    fn a_reported_count_is_never_more_than_its_prompt(counts in proptest::collection::vec(count(), 8)) {
        let [a, b, c, d, e, f, g, h] = <[Value; 8]>::try_from(counts).expect("eight");
        let object = json!({
            "prompt_tokens": a, "completion_tokens": b, "prompt_cache_hit_tokens": c,
            "prompt_cache_miss_tokens": d, "input_tokens": e, "output_tokens": f,
            "prompt_tokens_details": {"cached_tokens": g, "created_cache_tokens": h},
            "cache_read_input_tokens": g, "cache_creation_input_tokens": h,
            "promptTokenCount": a, "cachedContentTokenCount": c, "cache_n": c, "prompt_n": d,
            "inputTokens": a, "cacheReadInputTokens": b, "cacheWriteInputTokens": c,
        });
        let fields = object.as_object().expect("object");
        let read = [
            inclusive(&object), exclusive(fields), timings(&object), gemini(&object), bedrock(&object),
        ];
        for usage in read.into_iter().flatten() {
            let parts = usage.read.unwrap_or_default() + usage.written().unwrap_or_default();
            if let (UsageOrigin::Reported, Some(total)) = (usage.origin, usage.total) {
                prop_assert!(parts <= total, "{usage:?}");
            }
            prop_assert_eq!(usage.origin == UsageOrigin::Absent && usage.read.is_some(), false);
            prop_assert!(usage.raw.is_some());
        }
    }
}
