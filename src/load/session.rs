//! One conversation: its turns one after the other, its attempts as records.
//!
//! Every request has a time at which it is due: the arrival of its conversation, the end
//! of the answer before it and the think time behind that, or the end of the wait before
//! a retry. Only the first message of a closed conversation is due when it is ready:
//! nobody has set it a time.

use super::arrivals::Thinking;
use super::cell::{Cell, CellEnd, RunnerSetup};
use super::health::may_pass;
use super::isolation::Isolation;
use super::limits::{Ask, Pass, Settled, Slot};
use super::target::Target;
use super::writer::ToWriter;
use crate::chat::{CacheAsked, PlacedMessage, Prompt, Text, Usage, UsageOrigin};
use crate::context::ContextError;
use crate::conversation::{Conversation, Next, Pending, Reply};
use crate::provider::{Body, RequestParams, finish_word, gateway};
use crate::record::request::{LONG_WAIT, RECORD_VERSION};
use crate::record::{IDLE_CUT, Outcome, RecordedMessage, RequestRecord, Stamps};
use crate::scenario::duration::shown;
use crate::transport::{Client, Exchange, Outgoing};
use crate::units::{Bytes, Micros, Tokens};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// An attempt that ended: its record and the texts that the record points to.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The record.
    pub record: RequestRecord,
    /// Texts of its spans and of its answer.
    pub texts: Vec<Text>,
    /// What strategies said about the request, on its first attempt.
    pub warnings: Vec<String>,
}

/// Turns of a conversation that fail one after the other before it is given up.
const FAILING_TURNS: u32 = 5;

/// How long a closed conversation rests behind a turn that found no connection: nobody
/// has set the next one a time, and all that are left would fail within a second.
const REST: Duration = Duration::from_secs(1);

/// What every request of a conversation says of it, written out once.
pub(super) struct Labels {
    /// The configuration's name.
    configuration: Arc<str>,
    /// The nonce as records have it.
    pub(super) nonce: Arc<str>,
    /// What pins this conversation to a server: another one in every run.
    unit: String,
}

impl Labels {
    pub(super) fn of(setup: &RunnerSetup, cell: &Cell, name: &str, isolation: &Isolation) -> Self {
        Self {
            configuration: Arc::from(cell.configuration.name.as_str()),
            nonce: Arc::from(isolation.nonce.to_string()),
            unit: [setup.nonce.to_string().as_str(), "/", name].concat(),
        }
    }
}

/// What all attempts of a conversation have in common.
pub(super) struct Session {
    pub(super) setup: Arc<RunnerSetup>,
    pub(super) cell: Arc<Cell>,
    pub(super) name: Arc<str>,
    pub(super) labels: Labels,
    pub(super) repeat: u32,
    pub(super) isolation: Isolation,
    /// When it arrives, where a schedule says so.
    pub(super) arrival: Option<Micros>,
    /// Ends what is in flight.
    pub(super) stop: CancellationToken,
    /// Keeps it from beginning.
    pub(super) begin: CancellationToken,
    pub(super) notes: Mutex<Notes>,
}

/// What the ledger wants to know of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// Attempts recorded.
    pub(super) attempts: u32,
    /// What the first request read.
    pub(super) first_read: Option<Tokens>,
    /// The longest time between an answer's end and the next request.
    pub(super) idle: Micros,
    /// When the last answer ended.
    done: Option<Micros>,
}

impl Notes {
    fn add(&mut self, record: &RequestRecord) {
        let stamps = &record.stamps;
        if let (Some(before), Some(sent)) = (self.done, stamps.sent_us) {
            self.idle = self.idle.max(Micros(sent.0.saturating_sub(before.0)));
        }
        self.done = stamps.done_us.or(self.done);
        let counted = record.usage.origin == UsageOrigin::Reported && !record.is_of_gateway();
        if record.turn == 1 && record.request == 1 && counted {
            self.first_read = record.usage.read;
        }
        self.attempts += 1;
    }
}

/// What is kept of a body once its bytes are the connection's.
struct Sent {
    messages: Vec<PlacedMessage>,
    cache: CacheAsked,
    params: RequestParams,
    bytes: Bytes,
}

/// Whether a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// After this wait.
    After(Duration),
    /// Not, since the server wants a longer wait than is waited.
    TooLong(Duration),
    /// Not.
    No,
}

/// How a request ended, after its retries.
struct Answered {
    reply: Option<Reply>,
    outcome: Outcome,
    status: Option<u16>,
    error: Option<String>,
    /// When it had ended.
    done: Micros,
}

impl Session {
    /// Sends a request once that counts nowhere, and keeps its record aside, flagged.
    /// One that limits do not allow is not sent, and has a record without counts.
    pub(super) async fn aside(&self, pending: &Pending, flag: &str) -> RequestRecord {
        let Ok(pass) = self.admitted(pending, None).await else {
            return self.blank(pending);
        };
        let limited = pass.limited.map(Micros::from);
        let due = self.setup.client.now();
        let (sent, body) = self.written(pending).await;
        let (mut exchange, ready) = self.send(&sent, body, &pending.prompt, due).await;
        let mut measured = self.measure(pending, sent, &mut exchange, 1);
        let stamps = &mut measured.record.stamps;
        (stamps.ready_us, stamps.limited_us) = (Some(ready), limited);
        let _heeded = self.settled(pass, &exchange, &measured.record);
        measured.record.flags.push(Arc::from(flag));
        let record = measured.record.clone();
        // A writer that is gone tells why by itself.
        let aside = ToWriter::Aside(Box::new(measured));
        let _gone = self.setup.records.send(aside).await;
        record
    }

    fn note(&self, record: &RequestRecord) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.add(record);
    }

    fn target(&self) -> &Target {
        &self.cell.target
    }

    /// The request's body and the parameters it was made with.
    fn body(&self, pending: &Pending) -> (Body, RequestParams) {
        let target = self.target();
        let params = target.params(
            &self.model(pending),
            self.setup.limits.max_tokens,
            target.dialect.streams(),
            self.isolation.salt.as_deref(),
            &self.labels.unit,
            &pending.prompt,
        );
        (target.dialect.body(&pending.prompt, &params), params)
    }

    /// The body as bytes, and what is kept of it.
    ///
    /// Written for each attempt and when there is room, so that nobody holds the bytes
    /// while an answer is waited for: those of ten thousand long prompts are gigabytes.
    async fn written(&self, pending: &Pending) -> (Sent, bytes::Bytes) {
        let room = self.setup.client.room(pending.prompt.bytes()).await;
        let (body, params) = self.body(pending);
        let Body {
            text,
            messages,
            cache,
        } = body;
        let sent = Sent {
            messages,
            cache,
            params,
            bytes: Bytes(text.len() as u64),
        };
        (sent, room.body(text))
    }

    /// The model that the prompt was laid out for; the target's where nobody named one.
    fn model(&self, pending: &Pending) -> Arc<str> {
        let model = pending.model.as_ref();
        Arc::clone(model.unwrap_or(&self.target().model))
    }

    /// Sends a request, again where it failed in a way that may pass, and hands
    /// every attempt to `record`.
    ///
    /// `inherited` are flags that what came before puts on each of them.
    async fn ask(
        &self,
        pending: &Pending,
        mut due: Micros,
        inherited: &[Arc<str>],
        mut slot: Option<Slot>,
    ) -> Result<Answered, CellEnd> {
        let (mut attempt, first_due) = (1, due);
        loop {
            let pass = self.admitted(pending, slot.take()).await?;
            let limited = pass.limited.map(Micros::from);
            let (sent, body) = self.written(pending).await;
            let (mut exchange, ready) = self.send(&sent, body, &pending.prompt, due).await;
            let mut measured = self.measure(pending, sent, &mut exchange, attempt);
            let stamps = &mut measured.record.stamps;
            (stamps.ready_us, stamps.limited_us) = (Some(ready), limited);
            stamps.first_due_us = Some(first_due).filter(|first| *first != due);
            let asked = self.settled(pass, &exchange, &measured.record);
            let retry = match self.retry_after(&exchange, attempt, asked) {
                Retry::After(wait) => Some(wait),
                Retry::No => None,
                Retry::TooLong(wait) => {
                    let told = self.too_long(wait, exchange.error.as_deref());
                    if self.setup.gate.is_first_long_wait() {
                        tracing::warn!("{}: {told}", self.target().name);
                    }
                    measured.record.error = Some(told.clone());
                    exchange.error = Some(told);
                    measured.record.flags.push(Arc::from(LONG_WAIT));
                    None
                }
            };
            let flags = &mut measured.record.flags;
            flags.extend(inherited.iter().cloned());
            if attempt > 1 {
                flags.push(Arc::from("retried"));
            }
            if retry.is_some() {
                flags.push(Arc::from("tried_again"));
            }
            self.hand_over(measured).await?;
            let done = exchange.stamps.done_us.unwrap_or(ready);
            let Some(wait) = retry else {
                return Ok(Answered::new(exchange, done));
            };
            due = Micros(done.0 + Micros::from(wait).0);
            if !on_time(&self.setup.client, due, &self.stop).await {
                return Ok(Answered::new(exchange, done));
            }
            attempt += 1;
        }
    }

    /// How long to rest where the scenario idles for `span`.
    fn rest(&self, span: Duration) -> Duration {
        let longest = self.setup.limits.longest_idle;
        longest.map_or(span, |longest| span.min(longest))
    }

    /// Waits for the limits of the target.
    async fn admitted(&self, pending: &Pending, slot: Option<Slot>) -> Result<Pass, CellEnd> {
        let ask = Ask {
            bytes: body_bytes(&pending.prompt),
            max_tokens: self.setup.limits.max_tokens,
        };
        let admit = self.setup.gate.admit(ask, slot);
        match self.stop.run_until_cancelled(admit).await {
            None => Err(CellEnd::Stopped),
            Some(Err(spent)) => Err(CellEnd::Limit(spent.0)),
            Some(Ok(pass)) => Ok(pass),
        }
    }

    /// Gives a pass back. Says how long the server wants to be left alone.
    fn settled(&self, pass: Pass, exchange: &Exchange, record: &RequestRecord) -> Option<Duration> {
        let ended = Settled {
            outcome: exchange.outcome,
            usage: Some(&record.usage),
            headers: &exchange.headers,
        };
        self.setup.gate.settle(pass, ended)
    }

    /// Hands a record to the writer; one that is gone ends the run.
    async fn hand_over(&self, measured: Measured) -> Result<(), CellEnd> {
        self.note(&measured.record);
        let told = ToWriter::Measured(Box::new(measured));
        let sent = self.setup.records.send(told).await;
        sent.map_err(|_gone| CellEnd::Stopped)
    }

    /// Gets a new key where that is due.
    async fn refresh_key(&self) {
        let target = self.target();
        let refreshed = self.stop.run_until_cancelled(target.refresh_key()).await;
        if let Some(Err(error)) = refreshed {
            // The key at hand may still do; where not, the server's refusal ends the run.
            tracing::warn!("{}: {error}", target.name);
        }
    }

    /// Sends an attempt; also says when it was ready for that.
    async fn send(
        &self,
        sent: &Sent,
        body: bytes::Bytes,
        prompt: &Prompt,
        due: Micros,
    ) -> (Exchange, Micros) {
        let target = self.target();
        if target.key.is_some() {
            Box::pin(self.refresh_key()).await;
        }
        let mut headers = target.headers();
        headers.extend(target.pinning(&self.labels.unit, prompt));
        let outgoing = Outgoing {
            url: target.endpoint_of(&sent.params.model, target.dialect.streams()),
            headers,
            body,
            dialect: target.dialect,
            stream: target.dialect.streams(),
            due,
        };
        let ready = self.setup.client.now();
        let exchange = self.setup.client.send(outgoing, &self.stop).await;
        (exchange, ready)
    }

    /// How long to wait before the next try; `None` where there is none.
    ///
    /// Only failures before the first byte of an answer are tried again: 429,
    /// 502, 503, 529, connections that did not come about, and connections that
    /// broke before anything of an answer came back. A server's own `Retry-After` goes
    /// before the doubling wait; one that is longer than the limit is not waited for.
    fn retry_after(&self, exchange: &Exchange, attempt: u32, asked: Option<Duration>) -> Retry {
        let passing = match exchange.outcome {
            Outcome::Http429 | Outcome::Connect => true,
            Outcome::Reset | Outcome::Cut => exchange.broke_before_answer(),
            Outcome::Http5xx => matches!(exchange.status, Some(502 | 503 | 529)),
            _ => false,
        };
        if !passing || attempt > self.setup.limits.retries || self.stop.is_cancelled() {
            return Retry::No;
        }
        let doubling = Duration::from_millis(250) * 2_u32.saturating_pow(attempt - 1);
        let longest = self.setup.limits.longest_wait;
        match asked {
            Some(wait) if wait > longest => Retry::TooLong(wait),
            None if doubling > longest => Retry::No,
            wait => Retry::After(wait.unwrap_or(doubling)),
        }
    }

    /// What is said of a wait that is too long.
    fn too_long(&self, wait: Duration, error: Option<&str>) -> String {
        let (wait, longest) = (shown(wait), shown(self.setup.limits.longest_wait));
        format!(
            "{}; the server asks to be left alone for {wait}, which is longer than the longest \
             wait ({longest}): not tried again, and nothing is sent to it for {longest}",
            error.unwrap_or("refused")
        )
    }

    /// What is recorded of an attempt. Takes out of its exchange what nobody else wants.
    fn measure(
        &self,
        pending: &Pending,
        sent: Sent,
        exchange: &mut Exchange,
        attempt: u32,
    ) -> Measured {
        let output = exchange.answer.text.as_deref().map(Text::from);
        let (prompt, mut texts) = recorded(sent.messages);
        texts.extend(output.clone());
        let mut usage = counted(exchange);
        usage.hold_to(sent.bytes, sent.params.max_tokens);
        let zero = self.target().weigh(&mut usage);
        let zero = zero.then(|| Arc::from("absent_means_zero"));
        let signs = gateway::signs(|name| exchange.header(name));
        let flags = zero
            .into_iter()
            .chain(words_flag(pending, exchange))
            .chain(signs.iter().map(|sign| Arc::from(sign.flag)))
            .collect();
        let headers = signs.into_iter();
        let headers = headers.map(|sign| (Arc::from(sign.header), sign.value));
        let record = RequestRecord {
            attempt,
            outcome: exchange.outcome,
            status: exchange.status,
            flags,
            error: exchange.error.clone(),
            usage,
            stamps: exchange.stamps.clone(),
            bytes_sent: if exchange.stamps.sent_us.is_some() {
                sent.bytes
            } else {
                Bytes(0)
            },
            cache: sent.cache,
            prompt,
            output_sha256: output.as_ref().map(Text::digest),
            output_ids: exchange.answer.output_ids.as_deref().map(Arc::from),
            finish: exchange
                .answer
                .finish
                .as_ref()
                .map(|reason| finish_word(reason).to_owned()),
            served_by: exchange.answer.served_by.take(),
            headers: headers.collect(),
            ..self.blank(pending)
        };
        let warnings = if attempt == 1 {
            pending.prompt.warnings.clone()
        } else {
            Vec::new()
        };
        Measured {
            record,
            texts,
            warnings,
        }
    }

    /// The record of a request that was not sent.
    fn blank(&self, pending: &Pending) -> RequestRecord {
        RequestRecord {
            v: RECORD_VERSION,
            scenario: Arc::clone(&self.cell.scenario.name),
            group: Arc::clone(&self.cell.scenario.group),
            configuration: Arc::clone(&self.labels.configuration),
            target: Arc::clone(&self.target().name),
            model: self.model(pending),
            load: Arc::clone(&self.cell.load),
            repeat: self.repeat,
            conversation: Arc::clone(&self.name),
            turn: pending.turn,
            request: pending.request,
            attempt: 1,
            events: pending.events.clone(),
            outcome: Outcome::Aborted,
            status: None,
            flags: Vec::new(),
            error: None,
            usage: Usage::default(),
            stamps: Stamps::default(),
            bytes_sent: Bytes(0),
            salt: self.isolation.salt.clone(),
            nonce: Arc::clone(&self.labels.nonce),
            epoch: self.isolation.epoch,
            scenario_ms: pending.scenario_ms,
            cache: CacheAsked::default(),
            prompt: Vec::new(),
            output_sha256: None,
            output_ids: None,
            finish: None,
            served_by: None,
            headers: BTreeMap::new(),
        }
    }

    /// Records an arrival for which there was no room in flight.
    async fn shed(&self, pending: &Pending, due: Micros) -> Result<(), CellEnd> {
        let limit = self.setup.gate.in_flight();
        let record = RequestRecord {
            outcome: Outcome::Shed,
            error: Some(format!(
                "{limit} requests were in flight, which is the limit"
            )),
            stamps: Stamps {
                due_us: due,
                done_us: Some(self.setup.client.now()),
                ..Stamps::default()
            },
            ..self.blank(pending)
        };
        self.hand_over(Measured {
            record,
            texts: Vec::new(),
            warnings: Vec::new(),
        })
        .await
    }

    /// How long this person thinks, where anybody does.
    fn thinking(&self) -> Option<Thinking> {
        let (scenario, seed) = (&self.cell.scenario.name, self.setup.seed);
        let think = self.setup.think?;
        Some(Thinking::new(think, scenario, self.repeat, seed))
    }

    /// Whether the cell goes on behind a request that failed, the last one of so many
    /// turns in a row; how the conversation ends where it was its last, if not as others.
    fn goes_on(&self, failed: Answered, in_row: u32) -> Result<Option<CellEnd>, CellEnd> {
        let health = &self.setup.health;
        let has_answered = health.has_answered();
        if let Some(end) = failed.end(has_answered) {
            return Err(end);
        }
        let passes = has_answered && may_pass(failed.outcome, failed.status);
        let gone =
            (failed.outcome == Outcome::Connect).then(|| failed.error.clone().unwrap_or_default());
        let outage = passes.then(|| health.failed(failed.done, gone.clone()));
        let outage = outage.flatten();
        if let Some(lasts) = outage {
            let lasts = Duration::from_secs(lasts.as_secs());
            let told = format!("; nothing has been answered for {}", shown(lasts));
            return Err(failed.failing(&told));
        }
        // An outage ends by itself; what else fails so often in one conversation would
        // in the others.
        if in_row >= FAILING_TURNS && !passes {
            return Err(failed.failing(""));
        }
        Ok(gone.map(CellEnd::Away))
    }

    /// Runs the conversation to its end, to its failure, or until the run stops.
    ///
    /// # Errors
    ///
    /// Why it ended early, where that concerns more than this conversation.
    pub(super) async fn run(&self, mut conversation: Box<Conversation>) -> Result<(), CellEnd> {
        let (mut failed_in_row, mut any_failed) = (0, false);
        let mut away = None;
        let mut idle_cut = false;
        let mut thinking = self.thinking();
        let (mut due, mut turn) = (self.arrival, None);
        let waits = self.cell.waits();
        loop {
            // Behind an answer what building takes is lateness of ours; a schedule knows
            // of an arrival before it is due.
            let next = if waits {
                let (next, built) = off_the_worker(conversation).await;
                conversation = built;
                next
            } else {
                conversation.next()
            };
            let pending = match next.map_err(|error| CellEnd::Context(error.to_string()))? {
                None => return away.map_or(Ok(()), Err),
                Some(Next::Idle(span)) => {
                    let rest = self.rest(span);
                    idle_cut |= rest < span;
                    self.stop.run_until_cancelled((self.setup.idle)(rest)).await;
                    due = turn.map(|_| self.setup.client.now()).or(self.arrival);
                    continue;
                }
                Some(Next::Request(pending)) => pending,
            };
            let mut at = due.unwrap_or_else(|| self.setup.client.now());
            if turn.is_some_and(|turn| turn != pending.turn) {
                let thought = thinking.as_mut().map(Thinking::draw).unwrap_or_default();
                at = Micros(at.0 + Micros::from(thought).0);
            }
            let first = turn.replace(pending.turn).is_none();
            let held = if first { &self.begin } else { &self.stop };
            let began = on_time(&self.setup.client, at, held).await;
            if self.stop.is_cancelled() {
                return Err(CellEnd::Stopped);
            }
            if !began {
                return Err(CellEnd::Stopped);
            }
            let mut slot = None;
            if first && self.arrival.is_some() {
                match self.setup.gate.try_enter() {
                    Ok(entered) => slot = Some(entered),
                    Err(_full) => return Box::pin(self.shed(&pending, at)).await,
                }
            }
            let mut inherited = Vec::new();
            inherited.extend(any_failed.then(|| Arc::from("after_failure")));
            inherited.extend(std::mem::take(&mut idle_cut).then(|| Arc::from(IDLE_CUT)));
            let answered = self.ask(&pending, at, &inherited, slot).await?;
            due = Some(answered.done);
            if let Some(reply) = answered.reply {
                (failed_in_row, away) = (0, None);
                self.setup.health.answered();
                conversation.answer(reply);
                continue;
            }
            away = self.goes_on(answered, failed_in_row + 1)?;
            if away.is_some() && self.arrival.is_none() {
                let rest = tokio::time::sleep(REST);
                self.stop.run_until_cancelled(rest).await;
                due = Some(self.setup.client.now());
            }
            failed_in_row += 1;
            any_failed = true;
            if failed_in_row == FAILING_TURNS || !conversation.fail() {
                return away.map_or(Ok(()), Err);
            }
        }
    }
}

/// About what a body of `prompt` has in bytes, since what may be spent is reckoned by it:
/// its texts, and room for the fields around each of them. Of escapes, which cost no
/// tokens, nothing is reckoned.
fn body_bytes(prompt: &Prompt) -> u64 {
    const FIELDS: usize = 512;
    const AROUND: usize = 64;
    let parts = prompt.messages.len() + prompt.tools.len();
    (prompt.bytes() + FIELDS + parts * AROUND) as u64
}

/// Waits until `due`; false where `held` came first.
///
/// Timers are no finer than a millisecond, so the last one is waited out by giving way
/// to other tasks again and again.
async fn on_time(client: &Client, due: Micros, held: &CancellationToken) -> bool {
    const FINE: Micros = Micros(1_500);
    loop {
        let left = due.0.saturating_sub(client.now().0);
        if held.is_cancelled() {
            return false;
        }
        if left == 0 {
            return true;
        }
        if left > FINE.0 {
            let most = Duration::from_micros(left - FINE.0);
            if held
                .run_until_cancelled(tokio::time::sleep(most))
                .await
                .is_none()
            {
                return false;
            }
            continue;
        }
        let before = Instant::now();
        tokio::task::yield_now().await;
        if Instant::now() == before {
            // A clock that stands still is a paused one: only a timer moves it on.
            tokio::time::sleep(Duration::from_micros(left)).await;
        }
    }
}

/// Builds the next prompt where it may wait for a process, as the workers that
/// stamp answers must not.
async fn off_the_worker(
    mut conversation: Box<Conversation>,
) -> (Result<Option<Next>, ContextError>, Box<Conversation>) {
    let built = tokio::task::spawn_blocking(move || (conversation.next(), conversation)).await;
    match built {
        Ok(built) => built,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}

impl Answered {
    /// Whether the failure ends more than its turn: nothing sent to this target
    /// with this key and model can succeed. A server that answered any request of the
    /// run may come back.
    fn end(&self, has_answered: bool) -> Option<CellEnd> {
        match self.outcome {
            Outcome::Aborted => Some(CellEnd::Stopped),
            Outcome::Connect if has_answered => None,
            Outcome::Auth | Outcome::NotFound | Outcome::Connect => Some(CellEnd::Refused {
                outcome: self.outcome,
                status: self.status,
                message: self.error.clone().unwrap_or_default(),
            }),
            _ => None,
        }
    }
}

impl Answered {
    fn failing(self, why: &str) -> CellEnd {
        CellEnd::Failing {
            outcome: self.outcome,
            message: self.error.unwrap_or_default() + why,
        }
    }

    fn new(exchange: Exchange, done: Micros) -> Self {
        let ok = exchange.outcome == Outcome::Ok;
        Self {
            reply: ok.then(|| Reply {
                reasoning: Some(exchange.answer.reasoning).filter(|text| !text.is_empty()),
                text: exchange.answer.text,
            }),
            outcome: exchange.outcome,
            status: exchange.status,
            error: exchange.error,
            done,
        }
    }
}

/// Whether the answer of a turn that is asked for a fact holds it:
/// `expected_words`, or `missing_words`. `None` where nothing was expected, the
/// reply is scripted, or nothing was answered.
fn words_flag(pending: &Pending, exchange: &Exchange) -> Option<Arc<str>> {
    if !pending.live || pending.expect.is_empty() || exchange.outcome != Outcome::Ok {
        return None;
    }
    let answer = exchange.answer.text.as_deref().unwrap_or_default();
    let flag = if holds_all(answer, &pending.expect) {
        "expected_words"
    } else {
        "missing_words"
    };
    Some(Arc::from(flag))
}

/// Whether `answer` holds every word, in whatever case.
fn holds_all(answer: &str, words: &[String]) -> bool {
    let answer = answer.to_lowercase();
    let held = |word: &String| answer.contains(&word.to_lowercase());
    words.iter().all(held)
}

/// The prompt as it is recorded, and its texts.
fn recorded(messages: Vec<PlacedMessage>) -> (Vec<RecordedMessage>, Vec<Text>) {
    // One more: the answer comes behind them.
    let spans = messages
        .iter()
        .map(|message| message.spans.len())
        .sum::<usize>();
    let mut texts = Vec::with_capacity(spans + 1);
    let recorded = messages
        .into_iter()
        .map(|message| RecordedMessage::of(message, |text| texts.push(text)))
        .collect();
    (recorded, texts)
}

/// What the answer counts. The server's own object is not copied but moved.
fn counted(exchange: &mut Exchange) -> Usage {
    let usage = exchange.answer.usage.as_mut();
    let raw = usage.and_then(|usage| usage.raw.take());
    let counted = exchange.answer.counted().unwrap_or_default();
    Usage { raw, ..counted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Class, Message, Origin, Role, Span};
    use crate::provider;

    #[test]
    fn an_answer_holds_words_in_whatever_case_and_all_of_them() {
        let words = ["Bluebird".to_owned(), "March".to_owned()];
        for (answer, expected) in [
            ("It is called bluebird, due 1 March.", true),
            ("It is called Bluebird.", false),
            ("", false),
        ] {
            assert_eq!(holds_all(answer, &words), expected, "{answer}");
        }
    }

    #[test]
    fn a_body_is_reckoned_no_smaller_than_it_is_written() {
        let dialect = provider::find("openai-chat").expect("a dialect");
        for messages in [0, 1, 30] {
            let user = || {
                let said = Span::new(Origin::from("user"), Class::Turn, "hi");
                Message::text(Role::User, vec![said])
            };
            let prompt = Prompt {
                messages: (0..messages).map(|_| user()).collect(),
                ..Prompt::default()
            };
            let written = dialect.body(&prompt, &RequestParams::default()).text.len() as u64;
            let reckoned = body_bytes(&prompt);
            assert!(reckoned >= written, "{messages}: {reckoned} for {written}");
            assert!(
                reckoned < 2 * written + 600,
                "{messages}: {reckoned} for {written}"
            );
        }
    }
}
