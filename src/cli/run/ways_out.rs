//! What a person is told of a cell that failed: what happened, and what to do.

use crate::load::{CellEnd, Lost};
use crate::record::Outcome;

/// A cell that ended early.
pub(super) fn of_end(cell: &str, end: &CellEnd) -> String {
    let help = match end {
        CellEnd::Refused { outcome, .. } | CellEnd::Failing { outcome, .. } => way_out(*outcome),
        CellEnd::Away(_) => Some("`run --resume` goes on with it when the server is back"),
        CellEnd::Context(_) => Some("the rest of this cell is skipped; other cells go on"),
        CellEnd::Reset(error) => Some(error.help()),
        CellEnd::Limit(_) => Some("raise --max-usd, or run less; what was measured is kept"),
        CellEnd::Stopped => None,
    };
    with_help(format!("{cell}: {end}"), help)
}

/// A cell that came to its end, some of its requests without an answer.
pub(super) fn of_lost(cell: &str, lost: &Lost) -> String {
    let Lost {
        requests,
        outcome,
        message,
        kinds: _,
    } = lost;
    let what = match requests {
        1 => "1 request failed".to_owned(),
        several => format!("{several} requests failed, the first"),
    };
    let told = format!("{cell}: {what} with {}: {message}", outcome.as_str());
    with_help(told, way_out(*outcome))
}

fn with_help(told: String, help: Option<&str>) -> String {
    match help {
        Some(help) => format!("{told}\n  help: {help}"),
        None => told,
    }
}

fn way_out(outcome: Outcome) -> Option<&'static str> {
    Some(match outcome {
        Outcome::Auth => {
            "the key is taken from the environment variable `PREFIXBENCH_API_KEY`, or the one \
             that --key-env names"
        }
        Outcome::NotFound => {
            "the URL must end in its version part (.../v1), and --model must be one that the \
             server lists"
        }
        Outcome::Connect => {
            "is the server up, are its host and port those of --target, and is its proxy right \
             where the targets file names one?"
        }
        Outcome::Http429 => "ask for less at once by --sessions, or try more often by --retries",
        Outcome::Http5xx => "the server's own log says more; --retries tries again",
        Outcome::Overflow => {
            "the prompt does not fit: choose a larger model, or shorten or compact the scenario"
        }
        Outcome::Timeout => "where the server only needs longer, give it more by --timeout",
        Outcome::Malformed | Outcome::Cut => "does --dialect name what the server speaks?",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_the_way_out() {
        let end = CellEnd::Refused {
            outcome: Outcome::Auth,
            status: Some(401),
            message: "HTTP 401: wrong key".to_owned(),
        };
        let told = of_end("small/dev", &end);
        assert!(told.starts_with("small/dev: auth (status 401): HTTP 401: wrong key\n"));
        assert!(told.contains("`PREFIXBENCH_API_KEY`"), "{told}");
    }

    #[test]
    fn lost_requests_are_counted_and_the_first_is_quoted() {
        let mut lost = Lost {
            requests: 1,
            outcome: Outcome::StreamError,
            message: "overloaded".to_owned(),
            kinds: std::collections::BTreeMap::from([(Outcome::StreamError, 1)]),
        };
        let one = of_lost("small/dev", &lost);
        assert_eq!(
            one,
            "small/dev: 1 request failed with stream_error: overloaded"
        );
        lost.requests = 3;
        let told = of_lost("small/dev", &lost);
        assert!(told.contains("3 requests failed, the first with"), "{told}");
    }
}
