//! The question before a run that costs money.

use super::Row;
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
    rows: &[Row],
    given: &Arguments,
    planned: &Planned,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let free = given.ask_above.map_or(USUAL, |Usd(money)| money);
    let most = most(rows, planned.load.max_usd);
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
fn most(rows: &[Row], limit: Option<Money>) -> Option<Money> {
    let mut hosted = rows.iter().filter(|row| row.hosted);
    let sum = hosted.try_fold(Money(0), |sum, row| {
        row.estimate.cost.map(|cost| sum + cost)
    });
    match (sum, limit) {
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
    use super::super::Estimate;
    use super::*;
    use std::sync::Arc;

    fn row(cost: Option<i128>, hosted: bool) -> Row {
        Row {
            scenario: Arc::from("s"),
            configuration: String::new(),
            target: String::new(),
            load: Arc::from("sessions=1"),
            conversations: Some(1),
            estimate: Estimate {
                cost: cost.map(Money),
                ..Estimate::default()
            },
            hosted,
        }
    }

    #[test]
    fn the_most_is_the_sum_of_what_is_paid_for_and_never_above_the_limit() {
        let cases: &[(&[Row], Option<i128>, Option<i128>)] = &[
            (&[], None, Some(0)),
            (&[row(Some(5), true), row(Some(7), true)], None, Some(12)),
            (&[row(Some(5), true), row(None, false)], None, Some(5)),
            (&[row(Some(5), true)], Some(3), Some(3)),
            (&[row(Some(5), true)], Some(9), Some(5)),
            (&[row(None, true)], Some(9), Some(9)),
            (&[row(None, true)], None, None),
        ];
        for (rows, limit, expected) in cases {
            assert_eq!(most(rows, limit.map(Money)), expected.map(Money));
        }
    }
}
