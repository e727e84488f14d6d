//! What all cells of a run come to: amounts, money and time.

use super::one::Amounts;
use super::pace::Course;
use super::rows::Row;
use crate::units::Money;
use std::time::Duration;

/// A run, or the part of it that one process does.
pub(super) struct Whole {
    pub(super) rows: Vec<Row>,
    /// Probing the targets before the run, each with whether a provider is paid for it.
    pub(super) probing: Vec<(bool, Amounts)>,
    /// At least this long.
    pub(super) at_least: Duration,
    /// About this long, where the targets' speed is known.
    pub(super) about: Option<Duration>,
}

impl Whole {
    /// Of these cells, and of probing their targets.
    pub(super) fn of(rows: Vec<Row>, probing: Vec<(bool, Amounts)>) -> Self {
        let (at_least, about) = spans(&rows);
        Self {
            rows,
            probing,
            at_least,
            about,
        }
    }

    /// Whether as many conversations run in a cell as the target gets through.
    pub(super) fn is_open_ended(&self) -> bool {
        self.rows.iter().any(|row| row.conversations.is_none())
    }

    /// The first target of which it is not known what a request costs.
    pub(super) fn unpriced(&self) -> Option<&str> {
        let row = self.rows.iter().find(|row| !row.priced)?;
        Some(&row.target)
    }

    /// All that is measured.
    pub(super) fn measured(&self) -> Amounts {
        let rows = self.rows.iter().map(|row| row.measured);
        rows.fold(Amounts::NONE, Amounts::and)
    }

    /// All that is sent beside it, at most.
    pub(super) fn beside(&self) -> Amounts {
        let rows = self.rows.iter().map(|row| row.beside);
        let probing = self.probing.iter().map(|(_, amounts)| *amounts);
        rows.chain(probing).fold(Amounts::NONE, Amounts::and)
    }

    /// What providers are paid at most; `None`: nobody knows.
    pub(super) fn paid(&self) -> Option<Money> {
        let rows = self.rows.iter().filter(|row| row.hosted);
        let mut rows = rows.map(|row| row.measured.and(row.beside).cost);
        rows.try_fold(self.paid_for_probing(), |sum, cost| Some(sum + cost?))
    }

    /// What of that is paid before the first conversation.
    pub(super) fn paid_for_probing(&self) -> Money {
        let paid = self.probing.iter().filter(|(hosted, _)| *hosted);
        paid.filter_map(|(_, amounts)| amounts.cost).sum()
    }

    /// All that is sent, at most.
    pub(super) fn most(&self) -> Amounts {
        self.measured().and(self.beside())
    }
}

/// At least and about how long the cells take, one after the other.
fn spans(rows: &[Row]) -> (Duration, Option<Duration>) {
    let (mut least, mut about) = (Course::default(), Course::default());
    for Row { target, span, .. } in rows {
        let quotas = span.quotas;
        least.cell(target, quotas, span.at_least, span.least);
        about.cell(target, quotas, span.about.unwrap_or_default(), span.usual);
    }
    let known = rows.iter().all(|row| row.span.about.is_some());
    let at_least = least.end();
    (at_least, known.then(|| about.end().max(at_least)))
}
