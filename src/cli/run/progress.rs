//! What a person sees while a run goes on: a bar on a terminal, plain lines
//! elsewhere, nothing with `--quiet`.
//!
//! A line of a cell says what its tables will say: only counts that these take are in
//! its share, and what the server did not say is left out.

use crate::cli::output;
use crate::load::limits::Budget;
use crate::load::{Cell, Lost, Tally, Todo};
use crate::record::load::{LOAD_VERSION, Lateness, LoadRecord};
use crate::record::{RequestRecord, Run};
use crate::scenario::duration;
use crate::units::{Micros, Money, Share};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often the bar's message changes at most: to write it for every record
/// would cost more than the record.
const EVERY: Duration = Duration::from_millis(100);

/// How often a cell that takes long is told of in a plain line.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Positions of the bar.
const WHOLE: u64 = 1_000;

/// A cell, as far as it has come.
struct Seen {
    name: String,
    load: Arc<str>,
    conversations: u32,
    until: Option<Duration>,
    achievable: Option<Share>,
    tally: Tally,
    /// Of these, requests and answers of earlier sessions of the run.
    before: (u64, u64),
    /// Conversations that have begun.
    begun: u32,
    /// How long it has run in this session, without its current round.
    ran: Duration,
    /// How much of its own time had passed before.
    passed: Duration,
    done: bool,
    ended: Option<String>,
}

/// What is shown.
struct View {
    cells: Vec<Seen>,
    current: usize,
    budget: Arc<Budget>,
    started: Instant,
    /// When the current round began.
    round: Instant,
    shown: Option<Instant>,
}

/// Told of every record, on the writer's thread.
#[derive(Clone)]
pub(super) struct Progress {
    bar: ProgressBar,
    plain: bool,
    view: Arc<Mutex<View>>,
}

/// Whether somebody looks on: stderr is a terminal and may be written to.
pub(super) fn is_watched(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

impl Progress {
    /// For a run of these cells; `achievable` are their shares, in the same order, as
    /// far as they are known.
    pub(super) fn new(
        cells: &[Arc<Cell>],
        achievable: &[Option<Share>],
        budget: Arc<Budget>,
        quiet: bool,
    ) -> Self {
        let watched = is_watched(quiet);
        let bar = ProgressBar::new(WHOLE);
        if !watched {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {msg}") {
            bar.set_style(style);
        }
        let seen = cells.iter().enumerate().map(|(at, cell)| Seen {
            name: cell.name(),
            load: Arc::clone(&cell.load),
            conversations: cell.repeats,
            until: cell.until,
            achievable: achievable.get(at).copied().flatten(),
            tally: Tally::default(),
            before: (0, 0),
            begun: 0,
            ran: Duration::ZERO,
            passed: Duration::ZERO,
            done: false,
            ended: None,
        });
        let now = Instant::now();
        Self {
            bar,
            plain: !quiet && !watched,
            view: Arc::new(Mutex::new(View {
                cells: seen.collect(),
                current: 0,
                budget,
                started: now,
                round: now,
                shown: None,
            })),
        }
    }

    /// Takes in what earlier sessions of the run recorded in `dir` and what is left to do
    /// of its cells, so that cells are told of, and judged, as wholes.
    pub(super) fn go_on(&self, dir: &Path, todos: &[Todo]) {
        let mut view = self.view();
        let cells = &mut view.cells;
        let positions = cells.iter().enumerate();
        let positions: HashMap<String, usize> = positions
            .map(|(at, seen)| (seen.name.clone(), at))
            .collect();
        // What does not read was told of when the run was opened.
        let records = Run::read(dir).and_then(|run| run.requests());
        for record in records.into_iter().flatten().flatten() {
            // A conversation is called by its cell and its number.
            let cell = record.conversation.rsplit_once('/').map(|(cell, _)| cell);
            if let Some(&at) = cell.and_then(|cell| positions.get(cell)) {
                cells[at].add(&record);
            }
        }
        for (seen, todo) in cells.iter_mut().zip(todos) {
            seen.before = (seen.tally.requests, seen.tally.answered);
            seen.passed = todo.passed;
        }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A round of the cell at this position begins.
    pub(super) fn begin(&self, cell: usize) {
        let mut view = self.view();
        view.current = cell;
        view.round = Instant::now();
        view.shown = Some(view.round);
        self.show(&view);
    }

    /// An attempt ended.
    pub(super) fn record(&self, record: &RequestRecord) {
        let mut view = self.view();
        view.seen_mut().add(record);
        let now = Instant::now();
        let every = if self.plain { PLAIN_EVERY } else { EVERY };
        let due = view.shown.is_none_or(|shown| now - shown >= every);
        if !due || (self.bar.is_hidden() && !self.plain) {
            return;
        }
        view.shown = Some(now);
        if self.plain {
            output::tell(&view.line());
        } else {
            self.show(&view);
        }
    }

    fn show(&self, view: &View) {
        if !self.bar.is_hidden() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a thousand"
            )]
            self.bar.set_position((view.share() * WHOLE as f64) as u64);
            self.bar.set_message(view.lines().join("\n"));
        }
    }

    /// Whether the running cell has had an answer in this session.
    pub(super) fn any_ok(&self) -> bool {
        let view = self.view();
        let seen = view.seen();
        seen.tally.answered > seen.before.1
    }

    /// What the running cell has lost, if anything.
    pub(super) fn lost(&self) -> Option<Lost> {
        self.view().seen().tally.lost.clone()
    }

    /// What is known of the running cell.
    pub(super) fn tally(&self) -> Tally {
        self.view().seen().tally.clone()
    }

    /// What is known of the cell at this position.
    pub(super) fn tally_of(&self, cell: usize) -> Tally {
        self.view().cells[cell].tally.clone()
    }

    /// A round ended; all of its records have been told of. `last` is the cell's last one.
    pub(super) fn end(&self, last: bool) {
        let mut view = self.view();
        let ran = view.round.elapsed();
        let seen = view.seen_mut();
        seen.ran += ran;
        seen.done |= last;
        view.round = Instant::now();
        if self.plain && last {
            output::tell(&view.line());
        }
    }

    /// The cell at this position goes no further.
    pub(super) fn give_up(&self, cell: usize, why: &str) {
        let mut view = self.view();
        let seen = &mut view.cells[cell];
        seen.done = true;
        seen.ended.get_or_insert_with(|| why.to_owned());
    }

    /// The run ended: the bar goes.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// What `load.jsonl` says of every cell.
    pub(super) fn loads(&self) -> Vec<LoadRecord> {
        self.view().cells.iter().map(load_of).collect()
    }
}

fn load_of(seen: &Seen) -> LoadRecord {
    load_record(&seen.name, &seen.load, &seen.tally, seen.ended.clone())
}

/// What `load.jsonl` says of a cell; `ended` is why it ended before its end.
pub(in crate::cli) fn load_record(
    cell: &str,
    load: &str,
    tally: &Tally,
    ended: Option<String>,
) -> LoadRecord {
    let at = |q| tally.late(q).unwrap_or_default();
    LoadRecord {
        v: LOAD_VERSION,
        cell: cell.to_owned(),
        load: load.to_owned(),
        attempts: tally.attempts,
        requests: tally.requests,
        failed: tally.failed(),
        shed: tally.shed,
        limited: tally.limited,
        limited_us: tally.limited_for,
        lateness: tally.late(0.5).map(|p50_us| Lateness {
            p50_us,
            p90_us: at(0.9),
            p99_us: at(0.99),
            max_us: at(1.0),
            buckets: tally.lateness(),
        }),
        ttft_p50_us: tally.ttft(0.5),
        late: tally.is_late(),
        ended,
    }
}

impl View {
    fn seen(&self) -> &Seen {
        &self.cells[self.current]
    }

    fn seen_mut(&mut self) -> &mut Seen {
        let current = self.current;
        &mut self.cells[current]
    }

    /// How much of the run is done, from 0 to 1; every cell counts alike.
    fn share(&self) -> f64 {
        let now = self.round.elapsed();
        let parts = self.cells.iter().enumerate().map(|(at, seen)| {
            let running = if at == self.current {
                now
            } else {
                Duration::ZERO
            };
            seen.share(seen.ran + running)
        });
        parts.sum::<f64>() / self.cells.len().max(1) as f64
    }

    fn left(&self) -> Option<Duration> {
        let share = self.share();
        (share > 0.01).then(|| {
            let left = self.started.elapsed().as_secs_f64() * (1.0 - share) / share;
            Duration::from_secs_f64(left.round().min(1e9))
        })
    }

    /// Everything in one line, where lines are kept.
    fn line(&self) -> String {
        let seen = self.seen();
        let ran = seen.ran + self.round.elapsed();
        let parts = [seen.counts(ran), seen.troubles(), self.course()];
        format!("{}: {}", seen.name, parts.concat().join(", "))
    }

    /// The same for a terminal, which would cut one line that long.
    fn lines(&self) -> Vec<String> {
        let seen = self.seen();
        let ran = seen.ran + self.round.elapsed();
        let first = format!("{}: {}", seen.name, self.course().join(", "));
        let others = [seen.counts(ran), seen.troubles()];
        let others = others.iter().filter(|parts| !parts.is_empty());
        std::iter::once(first)
            .chain(others.map(|parts| format!("  {}", parts.join(", "))))
            .collect()
    }

    /// Where the run as a whole stands.
    fn course(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let spent = self.budget.spent();
        if spent > Money(0) {
            parts.push(format!("{} USD so far", cents(spent)));
        }
        let done = self.cells.iter().filter(|seen| seen.done).count();
        let at = done + usize::from(!self.seen().done);
        parts.push(format!("cell {at} of {}", self.cells.len()));
        if let Some(left) = self.left().filter(|_| done < self.cells.len()) {
            parts.push(format!("{} left", duration::shown(left)));
        }
        parts
    }
}

/// To a hundredth of a cent: more says nothing to a person who looks on.
fn cents(money: Money) -> String {
    format!("{:.4}", money.usd())
}

impl Seen {
    fn add(&mut self, record: &RequestRecord) {
        self.tally.record(record);
        self.begun += u32::from((record.turn, record.request, record.attempt) == (1, 1, 1));
    }

    fn share(&self, ran: Duration) -> f64 {
        if self.done {
            return 1.0;
        }
        let by_count = f64::from(self.begun) / f64::from(self.conversations.max(1));
        let by_time = self.until.map_or(0.0, |until| {
            (self.passed + ran).as_secs_f64() / until.as_secs_f64()
        });
        by_count.max(by_time).min(1.0)
    }

    fn counts(&self, ran: Duration) -> Vec<String> {
        let tally = &self.tally;
        let mut parts = vec![format!("{} requests", tally.requests)];
        if ran >= Duration::from_secs(1) {
            let rate = (tally.requests - self.before.0) as f64 / ran.as_secs_f64();
            parts.push(format!("{rate:.1}/s"));
        }
        let of = match self.achievable {
            Some(achievable) => format!(" of {achievable} achievable"),
            None => String::new(),
        };
        parts.push(format!("{} cached{of}", tally.cached));
        if let (Some(p50), Some(p90)) = (tally.ttft(0.5), tally.ttft(0.9)) {
            parts.push(format!("first token {p50} (p90 {p90})"));
        }
        parts
    }

    fn troubles(&self) -> Vec<String> {
        let tally = &self.tally;
        let mut parts = Vec::new();
        if let Some(lost) = &tally.lost {
            parts.push(format!("{} failed ({})", lost.requests, lost.shown()));
        }
        if tally.shed > 0 {
            parts.push(format!("{} shed", tally.shed));
        }
        if let Some(each) = tally.limited_for.0.checked_div(tally.limited) {
            let waited = Micros(each);
            parts.push(format!(
                "{} waited for a limit, {waited} each",
                tally.limited
            ));
        }
        if let Some(late) = tally.late(0.99) {
            let mark = if tally.is_late() { " (late)" } else { "" };
            parts.push(format!("client late p99 {late}{mark}"));
        }
        parts
    }
}
