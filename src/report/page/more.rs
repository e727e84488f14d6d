//! Further tables of the configurations: cost, reuse, latencies, and what was set apart.

use super::columns::{Of, Shown, amount, number, table};
use super::summed::{Summed, from_due, names, total_rows};
use super::tables::{PLACES, tokens};
use crate::analysis::cost::Buckets;
use crate::analysis::{Apart, Costs, Figures, Latency, Results};
use crate::report::html::Table;
use crate::units::Money;

/// What a conversation costs, and what the bill consists of; empty without prices.
pub(super) fn costs(results: &Results) -> Option<Table> {
    let rows = total_rows(results);
    let priced = |row: &Summed| {
        let costs = &row.figures.costs;
        row.figures.cost.is_some() || costs.most.is_some()
    };
    rows.iter().any(priced).then(|| {
        let note = "Every token is billed in one bucket; a write at its whole price, of which the \
                    premium is what it costs above plain input. The best possible bill is the one had \
                    the cache returned all of every bound. A range stands where counts are \
                    missing: the least and the most that all answers can have cost.";
        table(("costs", "Cost", note), &cost_columns(), PLACES, &rows)
    })
}

fn cost_columns() -> Vec<Of<Summed>> {
    let cost = |key, name, of: fn(&Costs) -> Option<Money>| {
        amount(key, name, move |row: &Summed| of(&row.figures.costs))
    };
    let bucket = |key, name, of: fn(&Buckets) -> Money| {
        let value = move |row: &Summed| row.figures.costs.buckets.as_ref().map(of);
        amount(key, name, value)
    };
    let mut columns = names();
    columns.extend([
        cost("cost_per_conversation", ("per conversation", ""), |costs| {
            costs.per_conversation
        }),
        cost(
            "cost_per_thousand",
            ("per thousand conversations", ""),
            |costs| costs.per_conversation.map(|each| Money(each.0 * 1_000)),
        ),
        cost(
            "uncached_per_conversation",
            (
                "without cache",
                "A conversation, had nothing been read from the cache",
            ),
            |costs| costs.uncached_per_conversation,
        ),
        cost(
            "best_per_conversation",
            (
                "best possible",
                "A conversation, had the cache returned all of its bounds",
            ),
            |costs| costs.best_per_conversation,
        ),
        amount(
            "cost_usd",
            ("whole bill", "Of the counted requests"),
            |row: &Summed| row.figures.cost,
        ),
        bucket("plain_usd", ("plain input", ""), |buckets| buckets.plain),
        bucket("read_usd", ("reads", ""), |buckets| buckets.read),
        bucket(
            "write_usd",
            ("writes", "For the short lifetime"),
            |buckets| buckets.write,
        ),
        bucket(
            "write_long_usd",
            ("long writes", "For the long lifetime"),
            |buckets| buckets.write_long,
        ),
        bucket("output_usd", ("output", ""), |buckets| buckets.output),
        bucket("storage_usd", ("storage", ""), |buckets| buckets.storage),
        bucket(
            "premium_usd",
            (
                "write premium",
                "What writes cost above plain input; a part of them",
            ),
            |buckets| buckets.premium,
        ),
        number(
            "break_even_turn",
            (
                "pays from turn",
                "First turn from which on caching has cost less, all turns so far together",
            ),
            Shown::Count,
            |row: &Summed| row.figures.writes.break_even_turn.map(f64::from),
        ),
        cost("cost_least", ("all answers, at least", ""), |costs| {
            costs.least
        }),
        cost("cost_most", ("at most", ""), |costs| costs.most),
    ]);
    columns
}

/// Where read tokens had come from, and what writing paid.
pub(super) fn reuse(results: &Results) -> Table {
    let of = |key, name, shown, value: fn(&Figures) -> Option<f64>| {
        number(key, name, shown, move |row: &Summed| value(&row.figures))
    };
    let mut columns = names();
    columns.extend([
        of(
            "prompt_reuse",
            (
                "read of a prompt",
                "Read tokens within the length of the previous prompt",
            ),
            Shown::Count,
            |figures| tokens(figures.reuse.prompt),
        ),
        of(
            "reply_reuse",
            (
                "read of a reply",
                "Read tokens behind the previous prompt: generated before",
            ),
            Shown::Count,
            |figures| tokens(figures.reuse.reply),
        ),
        of(
            "reply_share",
            ("replies' share", "Of the tokens read"),
            Shown::Share,
            |figures| figures.reuse.reply_share,
        ),
        of(
            "full_hits",
            ("full hits", "Requests that read all of their bound"),
            Shown::Count,
            |figures| (figures.hit_chances > 0).then_some(figures.full_hits as f64),
        ),
        of(
            "hit_chances",
            ("of", "Requests with a bound above 0"),
            Shown::Count,
            |figures| (figures.hit_chances > 0).then_some(figures.hit_chances as f64),
        ),
        of(
            "achievable_after_first",
            (
                "achievable after first",
                "Without each conversation's first request",
            ),
            Shown::Share,
            |figures| figures.achievable_share_after_first,
        ),
        of(
            "new_tokens",
            (
                "new tokens",
                "By which prompts were longer than the previous one",
            ),
            Shown::Count,
            |figures| tokens(figures.writes.new_tokens),
        ),
        of(
            "written_tokens",
            ("written", "Newly cached, as far as the server says so"),
            Shown::Count,
            |figures| tokens(figures.written),
        ),
        of(
            "write_amplification",
            ("written per new token", "1: every token is written once"),
            Shown::Ratio,
            |figures| figures.writes.amplification,
        ),
        of(
            "reads_per_written",
            ("read per written token", ""),
            Shown::Ratio,
            |figures| figures.writes.reads_per_written,
        ),
    ]);
    let note = "A token behind the previous prompt can only have been generated, or computed for \
                another conversation: reading it back is a gift of engines that cache replies.";
    table(
        ("reuse", "Reuse and writes", note),
        &columns,
        PLACES,
        &total_rows(results),
    )
}

/// Quantiles of latencies, the plain ones and those with failures.
pub(super) fn latencies(results: &Results) -> Table {
    type Of3 = [fn(&Latency) -> Option<f64>; 3];
    let plain: Of3 = [|of| of.p50_us, |of| of.p90_us, |of| of.p99_us];
    let failing: Of3 = [
        |of| of.with_failures.p50_us,
        |of| of.with_failures.p90_us,
        |of| of.with_failures.p99_us,
    ];
    let ttft: fn(&Figures) -> &Latency = |figures| &figures.ttft;
    let between: fn(&Figures) -> &Latency = |figures| &figures.between_tokens;
    let took: fn(&Figures) -> &Latency = |figures| &figures.took;
    let column = |key, name, which: fn(&Figures) -> &Latency, of: fn(&Latency) -> Option<f64>| {
        number(key, (name, ""), Shown::Latency, move |row: &Summed| {
            of(which(&row.figures))
        })
    };
    let rows = total_rows(results);
    let failed = rows.iter().any(|row| row.figures.failed > 0);
    let mut columns = names();
    columns.extend([
        column("ttft_p50_us", "TTFT p50", ttft, plain[0]),
        column("ttft_p90_us", "TTFT p90", ttft, plain[1]),
        column("ttft_p99_us", "TTFT p99", ttft, plain[2]),
    ]);
    let due = results.shows_due();
    if due {
        columns.extend(from_due());
    }
    columns.extend([
        column("between_p50_us", "between tokens p50", between, plain[0]),
        column("between_p90_us", "between tokens p90", between, plain[1]),
        column("between_p99_us", "between tokens p99", between, plain[2]),
        column("took_p50_us", "whole answer p50", took, plain[0]),
        column("took_p90_us", "whole answer p90", took, plain[1]),
        column("took_p99_us", "whole answer p99", took, plain[2]),
    ]);
    if failed {
        let endless = |key, name, of: fn(&Latency) -> Option<f64>| {
            number(key, (name, ""), Shown::Endless, move |row: &Summed| {
                of(&row.figures.ttft)
            })
        };
        columns.extend([
            endless("ttft_failing_p50_us", "TTFT p50 with failures", failing[0]),
            endless("ttft_failing_p90_us", "TTFT p90 with failures", failing[1]),
            endless("ttft_failing_p99_us", "TTFT p99 with failures", failing[2]),
        ]);
    }
    let note = [
        "Of answered requests",
        if failed {
            "; `with failures` counts each request that was never answered as one that took for ever."
        } else {
            "; every request was answered."
        },
        if due {
            " Time to first token counts from when the request was sent, which is the server's, and \
             `from due` from when somebody wanted the answer: with waits for limits, earlier tries, \
             and the client's own lateness."
        } else {
            ""
        },
    ]
    .concat();
    table(("latencies", "Latencies", &note), &columns, PLACES, &rows)
}

/// Requests whose counts are in no share; `None` where there is none.
pub(super) fn apart(results: &Results) -> Option<Table> {
    let rows = total_rows(results);
    rows.iter().any(|row| row.figures.set_apart > 0).then(|| {
        let mut columns = apart_columns();
        if rows.iter().all(|row| row.figures.gateway.is_empty()) {
            columns.truncate(columns.len() - GATEWAY_COLUMNS);
        }
        let note = "Answered requests whose count says nothing of the layout. After a wait that \
                    only the scenario's clock took, the server's cache was still warm where the \
                    scenario wants it cold: by its bound, which is 0, nothing would have been \
                    read. Contaminated: somebody else had filled the cache. Gateway: answered \
                    from its own cache of answers, or behind its own retries or fallbacks.";
        table(("apart", "Set apart", note), &columns, PLACES, &rows)
    })
}

/// Those at the end of [`apart_columns`].
const GATEWAY_COLUMNS: usize = 3;

fn apart_columns() -> Vec<Of<Summed>> {
    let of = |key, name, shown, which: fn(&Figures) -> &Apart, value: fn(&Apart) -> Option<f64>| {
        number(key, (name, ""), shown, move |row: &Summed| {
            Some(which(&row.figures))
                .filter(|apart| apart.requests > 0)
                .and_then(value)
        })
    };
    let requests: fn(&Apart) -> Option<f64> = |apart| Some(apart.requests as f64);
    let total: fn(&Apart) -> Option<f64> = |apart| Some(apart.tokens.whole.0 as f64);
    let read: fn(&Apart) -> Option<f64> = |apart| Some(apart.tokens.part.0 as f64);
    let share: fn(&Apart) -> Option<f64> = |apart| apart.tokens.fraction();
    let late: fn(&Figures) -> &Apart = |figures| &figures.beyond_lifetime;
    let dirty: fn(&Figures) -> &Apart = |figures| &figures.contaminated;
    let gateway: fn(&Figures) -> &Apart = |figures| &figures.gateway;
    let mut columns = names();
    columns.extend([
        of(
            "beyond_requests",
            "beyond lifetime",
            Shown::Count,
            late,
            requests,
        ),
        of("beyond_total", "prompt tokens", Shown::Count, late, total),
        of("beyond_read", "read all the same", Shown::Count, late, read),
        of("beyond_share", "share", Shown::Share, late, share),
        of(
            "contaminated_requests",
            "contaminated",
            Shown::Count,
            dirty,
            requests,
        ),
        of(
            "contaminated_total",
            "prompt tokens",
            Shown::Count,
            dirty,
            total,
        ),
        of("contaminated_read", "read", Shown::Count, dirty, read),
        of("contaminated_share", "share", Shown::Share, dirty, share),
        of(
            "gateway_requests",
            "gateway",
            Shown::Count,
            gateway,
            requests,
        ),
        of(
            "gateway_total",
            "prompt tokens",
            Shown::Count,
            gateway,
            total,
        ),
        of("gateway_read", "read", Shown::Count, gateway, read),
    ]);
    columns
}
