//! What engines print, and what is made of it.

use super::*;

const VLLM: &str = r#"# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 5112.0
vllm:prompt_tokens_total{engine="1",model_name="t}y"} 8.0
vllm:prompt_tokens_created{engine="0",model_name="tiny"} 1.796039160748037e+09
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_compute"} 2584.0
vllm:prompt_tokens_cached_total{engine="0",model_name="tiny"} 2528.0
vllm:prompt_tokens_cached_created{engine="0",model_name="tiny"} 1.796039160748143e+09
"#;

const LLAMA: &str = "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n\
    llamacpp:prompt_tokens_total 199\n\
    llamacpp:prompt_tokens_seconds 12.5\n\
    llamacpp:prompt_tokens_cached_total 390\n";

fn count(prompt: u64, cached: u64) -> Count {
    Count {
        prompt,
        cached,
        external: 0,
    }
}

#[test]
fn each_engine_counts_in_its_own_way() {
    assert_eq!(Count::read(VLLM), Some(count(5_120, 2_528)));
    assert_eq!(Count::read(LLAMA), Some(count(589, 390)));
    // What came from another engine's cache was read, and not from this one's.
    let sources = "vllm:prompt_tokens_by_source_total{source=\"local_compute\"} 100\n\
        vllm:prompt_tokens_by_source_total{source=\"local_cache_hit\"} 60\n\
        vllm:prompt_tokens_by_source_total{source=\"external_kv_transfer\"} 40\n\
        vllm:prompt_tokens_total 200\nvllm:prompt_tokens_cached_total 100\n";
    let expected = Count {
        external: 40,
        ..count(200, 100)
    };
    assert_eq!(Count::read(sources), Some(expected));
    let sglang = "sglang:prompt_tokens_total{model_name=\"m\"} 900.0\n\
        sglang:cached_tokens_total{model_name=\"m\",cache_source=\"device\"} 512.0\n";
    assert_eq!(Count::read(sglang), Some(count(900, 512)));
    for text in ["", "go_goroutines 7", "vllm:prompt_tokens_total{} x"] {
        assert_eq!(Count::read(text), None, "{text}");
    }
}

#[test]
fn a_disagreement_is_told_with_its_likely_reason() {
    let said = |without_count| Said {
        requests: 3,
        without_count,
        counts: count(100, 60),
    };
    let line = |engine, without_count| Line {
        cell: "all".to_owned(),
        engine,
        answers: said(without_count),
    };
    assert_eq!(line(Some(count(100, 60)), 0).disagreement(), None);
    let cases = [
        (line(Some(count(150, 60)), 0), "others used the server"),
        (line(Some(count(150, 60)), 1), "1 requests had no count"),
        (line(Some(count(90, 60)), 0), "behind"),
        (line(None, 0), "started again"),
    ];
    for (line, expected) in cases {
        let told = line.disagreement().unwrap_or_default();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_cell_is_what_came_between_two_marks() {
    let marks = Marks(vec![
        (String::new(), Some(count(10, 5))),
        ("quickstart/dev".to_owned(), Some(count(110, 65))),
        ("quickstart/inline".to_owned(), Some(count(90, 70))),
    ]);
    let cells = marks.cells(&Tally::default());
    assert_eq!(cells[0].engine, Some(count(100, 60)));
    assert_eq!(cells[1].engine, None, "a counter that fell says nothing");
    let total = marks.total(Said::default());
    assert_eq!(total.engine, Some(count(80, 65)));
}

#[test]
fn counters_that_could_not_be_read_say_nothing_of_the_next_cell() {
    let marks = Marks(vec![
        (String::new(), Some(count(0, 0))),
        ("chat/dev".to_owned(), None),
        ("chat/inline".to_owned(), Some(count(30, 5))),
    ]);
    let cells = marks.cells(&Tally::default());
    let engines: Vec<_> = cells.iter().map(|line| line.engine).collect();
    assert_eq!(engines, [None, None]);
    assert_eq!(marks.total(Said::default()).engine, Some(count(30, 5)));
}

#[test]
fn a_cell_in_several_rounds_is_their_sum() {
    let marks = Marks(vec![
        (String::new(), Some(count(0, 0))),
        ("chat/dev".to_owned(), Some(count(10, 5))),
        ("chat/inline".to_owned(), Some(count(30, 5))),
        ("chat/dev".to_owned(), Some(count(37, 9))),
    ]);
    let cells = marks.cells(&Tally::default());
    let engines: Vec<_> = cells.iter().map(|line| line.engine).collect();
    assert_eq!(engines, [Some(count(17, 9)), Some(count(20, 0))]);
}
