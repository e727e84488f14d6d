//! Snapshots of reports over small runs.

use super::*;
use crate::analysis::testing::{counted, manifest, repeated, story};
use crate::analysis::{RankedBy, Results, Samples};
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, Ending, Outcome, RequestRecord};
use crate::units::Money;

fn results((records, bounds): &(Vec<RequestRecord>, Vec<BoundRecord>)) -> Results {
    let manifest = manifest();
    let samples = Samples::of(&manifest, records, bounds);
    Results::new(&manifest, &samples, Vec::new())
}

fn markdown(results: &Results) -> String {
    markdown::markdown(results, &excerpts::Excerpts::default())
}

fn shown(results: &Results) -> String {
    terminal(results, Look::default())
}

#[test]
fn a_run_is_understood_at_once() {
    insta::assert_snapshot!(shown(&results(&story())), @r"
    In this run append-only left the fewest tokens to compute: 3,874 per conversation, with 36.0 % of
    its prompt tokens read from the cache (2 conversations: too few for an interval). dev left the most:
    4,898, with 19.0 % read. Which configuration leaves the fewest tokens to compute in general cannot
    be told from 2 conversations of each (it takes 6). Simulated: measured on the embedded server.

    Measured on here (embedded server, simulated), model m, cache model blocks:16, tokens by o200k,
      2026-11-30, 6 conversations.

    configuration  requests  computed per  cached  achiev-    effi-     TTFT  breaks  main break
                             conversation   share     able   ciency      p50
    ─────────────────────────────────────────────────────────────────────────────────────────────────
    dev                   6         4,898  19.0 %   19.0 %  100.0 %  72.5 ms       2  artifacts on
    layered               6         4,474  28.4 %   28.4 %  100.0 %  72.5 ms       2  L2
                                                                                      (library grew)
    append-only           6         3,874  36.0 %   36.2 %   99.3 %  72.5 ms       0  -

    Differences: cannot tell (2 of 6 conversations); `--repeat` runs more.

    append-only tells the model every fact of the sources in every request. dev and layered may lack
        what was retrieved for an earlier message (as found over the scenarios that come with the
        program).

    quickstart on here: % of prompt tokens read from the cache, by turn
      turn           1     2     3^
      dev            0    79     4*
      layered        0    35*   33
      append-only    0    79    31
      * the prefix broke
      ^ before turn 3: artifacts on
    ");
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_no_longer_lines() {
    let results = results(&story());
    for width in [40, 60, 72, 80, 100, 140] {
        let look = Look {
            width,
            colour: false,
        };
        let text = terminal(&results, look);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(
            text.contains("computed per"),
            "{width}: the main column stays"
        );
    }
}

#[test]
fn colour_adds_nothing_that_is_said() {
    let results = results(&story());
    let coloured = terminal(
        &results,
        Look {
            colour: true,
            ..Look::default()
        },
    );
    assert!(coloured.starts_with("\x1b[1m"));
    let bare = coloured.replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert_eq!(bare, shown(&results));
}

#[test]
fn one_request_is_reported_as_what_it_is() {
    let run = [counted("dev", 1, 1, (1_000, 0, 0))].into_iter().unzip();
    insta::assert_snapshot!(shown(&results(&run)), @r"
    dev leaves 1,000 tokens to compute per conversation and reads 0.0 % of its prompt tokens from the
    cache (1 conversation: too few for an interval), where 0.0 % was achievable. Simulated: measured on
    the embedded server.

    Measured on here (embedded server, simulated), model m, cache model blocks:16, tokens by o200k,
      2026-11-30, 1 conversation.

    configuration  requests  computed per  cached  achiev-   effi-     TTFT  breaks  main break
                             conversation   share     able  ciency      p50
    ────────────────────────────────────────────────────────────────────────────────────────────
    dev                   1         1,000   0.0 %    0.0 %       -  70.0 ms       0  -

    append-only tells the model every fact of the sources in every request. dev and layered may lack
        what was retrieved for an earlier message (as found over the scenarios that come with the
        program).

    quickstart on here: % of prompt tokens read from the cache, by turn
      turn    1
      dev     0
    ");
}

#[test]
fn a_run_without_an_answer_says_so() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.outcome = Outcome::Connect;
        record.usage = crate::chat::Usage::default();
        record.stamps.first_text_us = None;
    }
    let text = shown(&results(&(records, bounds)));
    assert!(
        text.starts_with("Nothing can be said: none of 18 requests was answered."),
        "{text}"
    );
    assert!(
        text.contains("! 18 of 18 attempts failed (100.0 %): connect 18"),
        "{text}"
    );
    assert!(!text.contains(" 0.0 %"), "{text}");
}

#[test]
fn a_run_without_counts_says_so() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let text = shown(&results(&(records, bounds)));
    assert!(text.starts_with("No share can be given"), "{text}");
    assert!(
        text.contains("18 requests (100.0 %) without any count"),
        "{text}"
    );
    assert!(!text.contains(" 0.0 %"), "{text}");
}

#[test]
fn a_run_of_which_all_is_set_apart_says_so_and_what_it_cost_or_nothing() {
    for (flag, headline, note) in [
        (
            "contaminated",
            "18 of conversations that began on a cache that was not empty (set apart).",
            "18 requests (100.0 %) of conversations that began on a cache that was not empty (contaminated)",
        ),
        (
            "beyond_lifetime",
            "18 behind a wait that the cache would not have survived (set apart).",
            "after a wait that the cache would not survive",
        ),
        (
            "answer_cache",
            "18 from a gateway's own cache of answers, or behind its retries or fallbacks (set apart).",
            "18 requests (100.0 %) that a gateway answered from its own cache of whole answers",
        ),
    ] {
        let (mut records, bounds) = story();
        for record in &mut records {
            record.flags.push(std::sync::Arc::from(flag));
        }
        let text = shown(&results(&(records, bounds)));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("No share can be given of 18 answers: {headline}");
        assert!(flat.starts_with(&expected), "{flat}");
        assert!(flat.contains(note), "{flat}");
        assert!(
            !flat.contains("$0") && !flat.contains("no usable"),
            "{flat}"
        );
    }
}

#[test]
fn an_empty_run_says_so() {
    let text = shown(&results(&(Vec::new(), Vec::new())));
    assert!(
        text.starts_with("Nothing was measured: no request was sent."),
        "{text}"
    );
}

#[test]
fn what_was_left_out_is_said() {
    let (mut records, bounds) = story();
    records[0].outcome = Outcome::Http429;
    records[1].usage.origin = UsageOrigin::Contradictory;
    let mut results = results(&(records, bounds));
    results.ending = Some(Ending::Interrupted);
    results.warnings = vec!["the last line of `requests.jsonl` was cut off".to_owned()];
    let text = shown(&results);
    for part in [
        "Left out: 2 requests of 18",
        "! the run was interrupted",
        "! 1 of 18 attempts failed (5.6 %): http_429 1",
        "! 1 request (5.9 %) with a count that cannot be",
        "! counts that cannot be, kept raw in the records: ",
        "! the last line of `requests.jsonl` was cut off",
    ] {
        let flat = text.replace('\n', " ");
        assert!(flat.contains(part), "{part}\n{text}");
    }
}

#[test]
fn one_conversation_each_cannot_tell() {
    let (records, bounds) = story();
    let one = records
        .into_iter()
        .filter(|record| record.repeat == 1)
        .collect();
    let text = shown(&results(&(one, bounds)));
    let flat = text.replace('\n', " ");
    assert!(
        flat.contains(
            "Which configuration leaves the fewest tokens to compute in general cannot be told \
             from 1 conversation of each (it takes 6)."
        ),
        "{text}"
    );
    assert!(
        text.contains("cannot tell (1 of 6 conversations)"),
        "{text}"
    );
    assert!(
        text.contains("1 conversation: too few for an interval"),
        "{text}"
    );
}

#[test]
fn what_is_not_ranked_by_its_cost_is_not_said_to_cost_least() {
    let mut results = results(&story());
    let bills = [3, 2, 1].map(|dollars| Some(Money(dollars * 1_000_000_000_000)));
    for (total, bill) in results.totals.iter_mut().zip(bills) {
        total.figures.costs.per_conversation = bill;
    }
    let first = |results: &Results| shown(results).lines().next().map(str::to_owned);
    assert!(
        results
            .rankings
            .iter()
            .all(|one| one.by == RankedBy::ComputedTokens)
    );
    let said = first(&results).expect("a line");
    assert!(said.contains("left the fewest tokens to compute"), "{said}");
    results.rankings[0].by = RankedBy::Cost;
    let said = first(&results).expect("a line");
    assert!(said.contains("cost least: $1.00"), "{said}");
}

#[test]
fn markdown_says_the_same() {
    insta::assert_snapshot!(markdown(&results(&story())), @r"
    # Prefix cache report

    **In this run append-only left the fewest tokens to compute: 3,874 per conversation, with 36.0 % of its prompt tokens read from the cache (2 conversations: too few for an interval). dev left the most: 4,898, with 19.0 % read. Which configuration leaves the fewest tokens to compute in general cannot be told from 2 conversations of each (it takes 6). Simulated: measured on the embedded server.**

    Measured on here (embedded server, simulated), model m, cache model blocks:16, tokens by o200k, 2026-11-30, 6 conversations.

    ## Configurations

    | configuration | requests | prompt tokens | read | computed per conversation | cached share | achievable | efficiency | TTFT p50 | breaks | main break |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
    | dev | 6 | 12,100 | 2,304 | 4,898 | 19.0 % | 19.0 % | 100.0 % | 72.5 ms | 2 | artifacts on |
    | layered | 6 | 12,500 | 3,552 | 4,474 | 28.4 % | 28.4 % | 100.0 % | 72.5 ms | 2 | L2 (library grew) |
    | append-only | 6 | 12,100 | 4,352 | 3,874 | 36.0 % | 36.2 % | 99.3 % | 72.5 ms | 0 | - |

    append-only tells the model every fact of the sources in every request. dev and layered may lack what was retrieved for an earlier message (as found over the scenarios that come with the program).

    ## Differences, conversation by conversation

    | configuration | against | pairs | computed per conversation | cached share |
    | --- | --- | ---: | ---: | ---: |
    | layered | dev | 2 | cannot tell (2 of 6 conversations) | cannot tell (2 of 6 conversations) |
    | append-only | dev | 2 | cannot tell (2 of 6 conversations) | cannot tell (2 of 6 conversations) |

    ## Where the prefix broke

    | configuration | source | cause | breaks | tokens lost |
    | --- | --- | --- | ---: | ---: |
    | dev | artifacts | artifacts on | 2 | 2,080 |
    | layered | L2 | library grew | 2 | 1,040 |

    ## quickstart on here: % of prompt tokens read from the cache, by turn

    | configuration | 1 | 2 | 3 |
    | --- | ---: | ---: | ---: |
    | dev | 0 | 79 | 4\* |
    | layered | 0 | 35\* | 33 |
    | append-only | 0 | 79 | 31 |

    \* the prefix broke

    - before turn 3: artifacts on
    ");
}

#[test]
fn an_open_load_shows_both_times_to_first_token_and_who_waited() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.load = std::sync::Arc::from("open=2/s,poisson");
        record.stamps.first_due_us = Some(crate::units::Micros(record.stamps.due_us.0 - 500_000));
        record.stamps.limited_us = Some(crate::units::Micros(500_000));
    }
    let results = results(&(records, bounds));
    let table = markdown(&results);
    assert!(
        table.contains("| TTFT p50 | from due p50 | TTFT p99 | from due p99 |"),
        "{table}"
    );
    assert!(
        table.contains("| 72.5 ms | 572 ms | 202 ms | 702 ms |"),
        "{table}"
    );
    let text = shown(&results);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "18 requests (100.0 %) waited for a limit before they were sent: half of them up to \
                500 ms, the longest 500 ms;";
    assert!(flat.contains(note), "{text}");
    let (plain, bounds) = story();
    let closed = shown(&self::results(&(plain, bounds)));
    assert!(!closed.contains("from due"), "{closed}");
}

#[test]
fn what_happened_to_requests_is_counted_by_request() {
    let (mut records, bounds) = story();
    let attempts: Vec<RequestRecord> = (1..=4)
        .map(|attempt| {
            let mut again = records[0].clone();
            again.attempt = attempt;
            again.flags.push(std::sync::Arc::from("after_failure"));
            if attempt < 4 {
                again.outcome = Outcome::Http429;
            }
            again
        })
        .collect();
    records.splice(..1, attempts);
    let text = markdown(&results(&(records, bounds)));
    for expected in [
        "3 of 21 attempts failed",
        "1 request (5.6 %) sent again after a failure",
        "1 request (5.6 %) that came after a failed turn",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn names_never_become_markup() {
    let run = [counted("a|b<script>", 1, 1, (1_000, 0, 0))]
        .into_iter()
        .unzip();
    let text = markdown(&results(&run));
    assert!(text.contains(r"a\|b&lt;script&gt;"), "{text}");
    assert!(!text.contains("<script>"), "{text}");
}

#[test]
fn the_summary_has_an_empty_cell_for_what_is_not_known() {
    let (mut records, bounds) = story();
    for record in records
        .iter_mut()
        .filter(|record| &*record.configuration == "layered")
    {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let mut out = Vec::new();
    summary_csv(&mut out, &results(&(records, bounds))).expect("writes");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"), @r"
    group,scenario,configuration,target,model,load,requests,failed,without_count,total_tokens,read_tokens,cached_share,cached_share_low,cached_share_high,cached_share_after_first,achievable_share,efficiency,computed_tokens,ttft_p50_us,ttft_p90_us,ttft_p99_us,cost_usd,cost_uncached_usd,cost_best_usd,cost_per_conversation_usd,cost_least_usd,cost_most_usd,computed_per_conversation,set_apart,write_tokens,prompt_reuse_tokens,reply_reuse_tokens,hit_chances,full_hits,breaks,lost_tokens,ttft_from_due_p50_us,ttft_from_due_p90_us,ttft_from_due_p99_us
    G1,quickstart,dev,here,m,sessions=1,6,0,0,12100,2304,0.19041322314049586,,,0.2304,0.19041322314049586,1,9796,72500,199500,201750,,,,,,,4898,0,,2304,0,4,4,2,2080,72500,199500,201750
    G1,quickstart,layered,here,m,sessions=1,6,0,6,,,,,,,,,,72500,147700,149950,,,,,,,,0,,,,0,0,2,1040,72500,147700,149950
    G1,quickstart,append-only,here,m,sessions=1,6,0,0,12100,4352,0.3596694214876033,,,0.4352,0.3623140495867769,0.9927007299270073,7748,72500,148300,150550,,,,,,,3874,0,,4352,0,4,2,0,0,72500,148300,150550
    ");
}

#[test]
fn the_summary_as_json_names_its_form() {
    let text = summary_json(&results(&story())).expect("writes");
    let value: serde_json::Value = serde_json::from_str(&text).expect("reads");
    assert_eq!(value["schema"], "prefixbench/results/1");
    assert_eq!(value["rows"][0]["figures"]["total"], 12_100);
    assert_eq!(value["rows"][0]["figures"]["cost"], serde_json::Value::Null);
    assert_eq!(value["targets"][0]["simulated"], true);
}

#[test]
fn many_turns_are_broken_into_blocks() {
    let run = (1..=40)
        .map(|turn| counted("append-only", 1, turn, (1_000 * u64::from(turn), 0, 0)))
        .unzip();
    let text = shown(&results(&run));
    assert_eq!(text.matches("  turn ").count(), 3, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn a_configuration_without_a_whole_conversation_is_not_ranked() {
    let (mut records, bounds) = story();
    records.retain(|record| &*record.configuration != "append-only" || record.turn < 3);
    let said = headline::headline(&results(&(records, bounds))).join(" ");
    assert!(!said.starts_with("append-only"), "{said}");
    assert!(
        said.contains(
            "Not ranked, for want of a whole conversation of a scenario: append-only (quickstart)"
        ),
        "{said}"
    );
}

#[test]
fn markdown_says_what_to_change_and_of_which_breaks_that_is() {
    use super::excerpts::Excerpts;
    use super::html::Break;
    use crate::analysis::advice::{Finding, Kept, Size, advised};
    use crate::chat::Origin;
    use crate::units::Tokens;
    use std::sync::Arc;

    let kept = Finding::Kept(Kept {
        moved: vec![Origin::from("memory")],
        before: None,
        size: Size::Tokens(Tokens(1_765)),
    });
    let dev = Arc::from("dev");
    let looked = Excerpts {
        breaks: vec![Break::default(); 40],
        all: 52,
        advised: advised([(&dev, &kept)]),
    };
    let text = markdown::markdown(&results(&story()), &looked);
    let (_, said) = text.split_once("## What to change\n\n").expect("a section");
    assert!(
        said.starts_with(
            "In the first conversation of each configuration and scenario: the 40 most expensive of \
             52 breaks. `explain RUN` looks into all conversations.\n\n\
             - dev: Move \\`memory\\` behind what did not change: keeps 1,765 tokens in 1 break.\n"
        ),
        "{said}"
    );
}

/// The story at three load levels, the heaviest in front.
fn loads() -> Results {
    let (records, bounds) = repeated(6);
    let (mut all, mut computed) = (Vec::new(), Vec::new());
    for load in ["sessions=16", "sessions=4", "sessions=1"] {
        for (record, bound) in records.iter().zip(&bounds) {
            let conversation: std::sync::Arc<str> =
                format!("{}@{load}", record.conversation).into();
            all.push(RequestRecord {
                load: load.into(),
                conversation: std::sync::Arc::clone(&conversation),
                ..record.clone()
            });
            computed.push(BoundRecord {
                conversation,
                ..bound.clone()
            });
        }
    }
    results(&(all, computed))
}

#[test]
fn load_levels_stand_in_the_order_of_their_numbers() {
    let results = loads();
    let mut levels: Vec<&str> = results
        .totals
        .iter()
        .map(|total| &*total.key.load)
        .collect();
    levels.dedup();
    assert_eq!(levels, ["sessions=1", "sessions=4", "sessions=16"]);
    let mut rows: Vec<&str> = results.rows.iter().map(|row| &*row.cell.load).collect();
    rows.dedup();
    assert_eq!(rows, levels);
    let mut csv = Vec::new();
    summary_csv(&mut csv, &results).expect("writes");
    let text = String::from_utf8(csv).expect("text");
    let place = |level: &str| text.find(&format!(",{level},")).expect("a row");
    assert!(place("sessions=4") < place("sessions=16"), "{text}");
}

#[test]
fn every_number_says_where_it_was_measured() {
    let results = loads();
    let text = markdown(&results);
    for line in [
        "| configuration | against | load | pairs |",
        "| configuration | load | source | cause |",
        "## quickstart on here, sessions=4: % of prompt tokens",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    let distinct: std::collections::BTreeSet<_> = heads.iter().collect();
    assert_eq!(heads.len(), distinct.len(), "{heads:?}");
    let text = shown(&results)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("quickstart on here, sessions=16: %"),
        "{text}"
    );
    let one = markdown(&self::results(&story()));
    assert!(one.contains("| configuration | against | pairs |"), "{one}");
}

#[test]
fn a_name_in_a_table_for_other_programs_is_no_formula() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.group = "=cmd|' /C calc'!A0".into();
    }
    let mut csv = Vec::new();
    summary_csv(&mut csv, &results(&(records, bounds))).expect("writes");
    let text = String::from_utf8(csv).expect("text");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert!(rows.iter().all(|row| row.starts_with("'=cmd|")), "{text}");
}
