//! The question before a run that costs money.

use super::of_all;
use super::whole::Whole;
use crate::cli::exit::{Exit, Failure};
use crate::cli::run::Arguments;
use crate::cli::run::levels::Usd;
use crate::cli::run::plan::Planned;
use crate::units::Money;
use std::io::{IsTerminal, Write as _};
use tokio_util::sync::CancellationToken;

/// What is spent without asking: one dollar.
const USUAL: Money = Money(1_000_000_000_000);

/// Asks where the run may cost more than is spent without asking.
///
/// # Errors
///
/// Wrong input where nobody can be asked or the answer is no: the run does not begin.
pub(super) async fn ask(
    all: &Whole,
    given: &Arguments,
    planned: &Planned,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let free = given.ask_above.map_or(USUAL, |Usd(money)| money);
    let limit = planned.load.max_usd.map(|limit| of_all(limit, planned));
    let most = most(all, limit);
    if most.is_some_and(|most| most <= free) {
        return Ok(());
    }
    let amount = match most {
        Some(most) => format!("up to {} USD", most.decimal()),
        None => "nobody knows how much".to_owned(),
    };
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::wrong(
            format!("the run may cost {amount}, and nobody can be asked"),
            format!(
                "--yes allows it, --max-usd bounds it, --ask-above raises what is spent without \
                 asking (now {} USD)",
                free.decimal()
            ),
        ));
    }
    let asked = tokio::task::spawn_blocking(move || answer(&amount));
    match stop.run_until_cancelled(asked).await {
        Some(Ok(true)) => Ok(()),
        Some(_) => Err(Failure::wrong(
            "the run was not begun",
            "--yes does not ask, and --dry-run shows what would be sent",
        )),
        None => Err(Failure::new(
            Exit::Interrupted,
            "interrupted before the first request",
            None,
        )),
    }
}

/// The most that the run can cost; `None`: nothing bounds it.
fn most(all: &Whole, limit: Option<Money>) -> Option<Money> {
    match (all.paid(), limit) {
        (Some(sum), Some(limit)) => Some(sum.min(limit)),
        (sum, limit) => sum.or(limit),
    }
}

fn answer(amount: &str) -> bool {
    let mut err = anstream::stderr();
    let _gone = write!(err, "the run may cost {amount}; go on? [y/N] ");
    let _gone = err.flush();
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::super::one::Amounts;
    use super::super::rows::{Row, Span};
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn amounts(cost: Option<i128>) -> Amounts {
        Amounts {
            cost: cost.map(Money),
            ..Amounts::NONE
        }
    }

    fn row(cost: Option<i128>, hosted: bool) -> Row {
        Row {
            scenario: Arc::from("s"),
            configuration: String::new(),
            target: String::new(),
            load: Arc::from("sessions=1"),
            conversations: Some(1),
            measured: amounts(cost),
            beside: amounts(Some(1)),
            achievable: None,
            hosted,
            priced: true,
            span: Span::default(),
        }
    }

    #[test]
    fn the_most_is_the_sum_of_what_is_paid_for_and_never_above_the_limit() {
        let cases: Vec<(Vec<Row>, Option<i128>, Option<i128>)> = vec![
            (vec![], None, Some(3)),
            (vec![row(Some(5), true), row(Some(7), true)], None, Some(17)),
            (vec![row(Some(5), true), row(None, false)], None, Some(9)),
            (vec![row(Some(5), true)], Some(3), Some(3)),
            (vec![row(Some(5), true)], Some(9), Some(9)),
            (vec![row(Some(5), true)], Some(10), Some(9)),
            (vec![row(None, true)], Some(9), Some(9)),
            (vec![row(None, true)], None, None),
        ];
        for (rows, limit, expected) in cases {
            let all = Whole {
                rows,
                probing: vec![(true, amounts(Some(3))), (false, amounts(None))],
                at_least: Duration::ZERO,
                about: None,
            };
            assert_eq!(most(&all, limit.map(Money)), expected.map(Money));
        }
    }
}
