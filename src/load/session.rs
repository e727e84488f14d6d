//! One conversation: its turns one after the other, its attempts as records.

use super::cell::{Cell, CellEnd, RunnerSetup};
use super::isolation::Isolation;
use super::target::Target;
use super::writer::ToWriter;
use crate::chat::{PlacedMessage, Prompt, Text, UsageOrigin};
use crate::context::ContextError;
use crate::conversation::{Conversation, Next, Pending, Reply};
use crate::provider::{Body, RequestParams, finish_word};
use crate::record::request::RECORD_VERSION;
use crate::record::{IDLE_CUT, Outcome, RecordedMessage, RequestRecord};
use crate::transport::{Exchange, Outgoing};
use crate::units::{Bytes, Micros, Tokens};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
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

/// Turns of a conversation that may fail one after the other before it is given up.
const FAILING_TURNS: u32 = 5;

/// What all attempts of a conversation have in common.
pub(super) struct Session {
    pub(super) setup: Arc<RunnerSetup>,
    pub(super) cell: Arc<Cell>,
    pub(super) name: Arc<str>,
    pub(super) repeat: u32,
    pub(super) isolation: Isolation,
    pub(super) stop: CancellationToken,
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
        let counted = record.usage.origin == UsageOrigin::Reported;
        if record.turn == 1 && record.request == 1 && counted {
            self.first_read = record.usage.read;
        }
        self.attempts += 1;
    }
}

/// How a request ended, after its retries.
struct Answered {
    reply: Option<Reply>,
    outcome: Outcome,
    status: Option<u16>,
    error: Option<String>,
}

impl Session {
    pub(super) fn new(
        setup: Arc<RunnerSetup>,
        cell: Arc<Cell>,
        name: Arc<str>,
        repeat: u32,
        isolation: Isolation,
        stop: CancellationToken,
    ) -> Self {
        Self {
            setup,
            cell,
            name,
            repeat,
            isolation,
            stop,
            notes: Mutex::default(),
        }
    }

    /// Sends a request once that counts nowhere, and keeps its record aside, flagged.
    pub(super) async fn aside(&self, pending: &Pending, flag: &str) -> RequestRecord {
        let (body, params) = self.body(pending);
        let due = self.setup.client.now();
        let exchange = self.send(&body, &pending.prompt, due).await;
        let mut measured = self.measure(pending, &body, &params, &exchange, 1);
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
            &self.unit(),
            &pending.prompt,
        );
        (target.dialect.body(&pending.prompt, &params), params)
    }

    /// What pins this conversation to a server: another one in every run.
    fn unit(&self) -> String {
        format!("{}/{}", self.setup.nonce, self.name)
    }

    /// The model that a scenario's `model` step names is a label on targets that
    /// serve one model; only the embedded server takes any name.
    fn model(&self, pending: &Pending) -> Arc<str> {
        match &pending.model {
            Some(model) if self.target().simulated() => Arc::clone(model),
            _ => Arc::clone(&self.target().model),
        }
    }

    /// Sends a request, again where it failed in a way that may pass, and hands
    /// every attempt to `record`.
    ///
    /// `inherited` are flags that what came before puts on each of them.
    async fn ask(&self, pending: &Pending, mut due: Micros, inherited: &[Arc<str>]) -> Answered {
        let (body, params) = self.body(pending);
        let mut attempt = 1;
        loop {
            let exchange = self.send(&body, &pending.prompt, due).await;
            let retry = self.retry_after(&exchange, attempt);
            let mut measured = self.measure(pending, &body, &params, &exchange, attempt);
            let flags = &mut measured.record.flags;
            flags.extend(inherited.iter().cloned());
            if attempt > 1 {
                flags.push(Arc::from("retried"));
            }
            if retry.is_some() {
                flags.push(Arc::from("tried_again"));
            }
            self.note(&measured.record);
            if self
                .setup
                .records
                .send(ToWriter::Measured(Box::new(measured)))
                .await
                .is_err()
            {
                return Answered::aborted();
            }
            let Some(wait) = retry else {
                return Answered::from(exchange);
            };
            let slept = self
                .stop
                .run_until_cancelled(tokio::time::sleep(wait))
                .await;
            if slept.is_none() {
                return Answered::from(exchange);
            }
            due = self.setup.client.now();
            attempt += 1;
        }
    }

    /// How long to rest where the scenario idles for `span`.
    fn rest(&self, span: Duration) -> Duration {
        let longest = self.setup.limits.longest_idle;
        longest.map_or(span, |longest| span.min(longest))
    }

    async fn send(&self, body: &Body, prompt: &Prompt, due: Micros) -> Exchange {
        let target = self.target();
        let refreshed = self.stop.run_until_cancelled(target.refresh_key()).await;
        if let Some(Err(error)) = refreshed {
            // The key at hand may still do; where not, the server's refusal ends the run.
            tracing::warn!("{}: {error}", target.name);
        }
        let mut headers = target.headers();
        headers.extend(target.pinning(&self.unit(), prompt));
        let outgoing = Outgoing {
            url: target.endpoint(target.dialect.streams()),
            headers,
            body: bytes::Bytes::from(body.text.clone()),
            dialect: target.dialect,
            stream: target.dialect.streams(),
            due,
        };
        self.setup.client.send(outgoing, &self.stop).await
    }

    /// How long to wait before the next try; `None` where there is none.
    ///
    /// Only failures before the first byte of an answer are tried again: 429,
    /// 502, 503, 529, connections that did not come about, and connections that
    /// broke before anything came back. A server's own `Retry-After` goes before
    /// the doubling wait; one that is longer than the limit is not waited for.
    fn retry_after(&self, exchange: &Exchange, attempt: u32) -> Option<Duration> {
        let passing = match exchange.outcome {
            Outcome::Http429 | Outcome::Connect => true,
            // A pooled connection that the server had closed meanwhile.
            Outcome::Reset => exchange.status.is_none(),
            Outcome::Http5xx => matches!(exchange.status, Some(502 | 503 | 529)),
            _ => false,
        };
        if !passing || attempt > self.setup.limits.retries || self.stop.is_cancelled() {
            return None;
        }
        let doubling = Duration::from_millis(250) * 2_u32.saturating_pow(attempt - 1);
        let wait = exchange.retry_after().unwrap_or(doubling);
        (wait <= self.setup.limits.longest_wait).then_some(wait)
    }

    fn measure(
        &self,
        pending: &Pending,
        body: &Body,
        params: &RequestParams,
        exchange: &Exchange,
        attempt: u32,
    ) -> Measured {
        let output = exchange.answer.text.as_deref().map(Text::from);
        let mut texts = texts_of(&body.messages);
        texts.extend(output.clone());
        let mut usage = exchange.answer.counted().unwrap_or_default();
        let zero = self.target().weigh(&mut usage);
        let zero = zero.then(|| Arc::from("absent_means_zero"));
        let flags = zero
            .into_iter()
            .chain(words_flag(pending, exchange))
            .collect();
        let record = RequestRecord {
            v: RECORD_VERSION,
            scenario: Arc::clone(&self.cell.scenario.name),
            group: Arc::clone(&self.cell.scenario.group),
            configuration: Arc::from(self.cell.configuration.name.as_str()),
            target: Arc::clone(&self.target().name),
            model: Arc::from(params.model.as_str()),
            load: Arc::clone(&self.cell.load),
            repeat: self.repeat,
            conversation: Arc::clone(&self.name),
            turn: pending.turn,
            request: pending.request,
            attempt,
            events: pending.events.clone(),
            outcome: exchange.outcome,
            status: exchange.status,
            flags,
            error: exchange.error.clone(),
            usage,
            stamps: exchange.stamps.clone(),
            bytes_sent: Bytes(body.text.len() as u64),
            salt: self.isolation.salt.clone(),
            nonce: Arc::from(self.isolation.nonce.to_string()),
            epoch: self.isolation.epoch,
            scenario_ms: pending.scenario_ms,
            prompt: body.messages.iter().map(RecordedMessage::from).collect(),
            output_sha256: output.as_ref().map(Text::digest),
            output_ids: exchange.answer.output_ids.as_deref().map(Arc::from),
            finish: exchange
                .answer
                .finish
                .as_ref()
                .map(|reason| finish_word(reason).to_owned()),
            served_by: exchange.answer.served_by.clone(),
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

    /// Runs the conversation to its end, to its failure, or until the run stops.
    ///
    /// # Errors
    ///
    /// Why it ended early, where that concerns more than this conversation.
    pub(super) async fn run(&self, mut conversation: Conversation) -> Result<(), CellEnd> {
        let (mut failed_in_row, mut any_failed, mut any_answered) = (0, false, false);
        let mut idle_cut = false;
        loop {
            // Due when the answer before it is there: what building takes is lateness of ours.
            let due = self.setup.client.now();
            let (next, built) = off_the_worker(conversation).await;
            conversation = built;
            let pending = match next.map_err(|error| CellEnd::Context(error.to_string()))? {
                None => return Ok(()),
                Some(Next::Idle(span)) => {
                    let rest = self.rest(span);
                    idle_cut |= rest < span;
                    self.stop.run_until_cancelled((self.setup.idle)(rest)).await;
                    continue;
                }
                Some(Next::Request(pending)) => pending,
            };
            if self.stop.is_cancelled() {
                return Err(CellEnd::Stopped);
            }
            let mut inherited = Vec::new();
            inherited.extend(any_failed.then(|| Arc::from("after_failure")));
            inherited.extend(std::mem::take(&mut idle_cut).then(|| Arc::from(IDLE_CUT)));
            let answered = self.ask(&pending, due, &inherited).await;
            if let Some(reply) = answered.reply {
                (failed_in_row, any_answered) = (0, true);
                conversation.answer(reply);
                continue;
            }
            if let Some(end) = answered.end(any_answered) {
                return Err(end);
            }
            failed_in_row += 1;
            any_failed = true;
            if failed_in_row == FAILING_TURNS {
                return Err(answered.failing());
            }
            if !conversation.fail() {
                return Ok(());
            }
        }
    }
}

/// Builds the next prompt where it may take its time: the user's own builder
/// waits for a process, and the workers that stamp answers must not.
async fn off_the_worker(
    mut conversation: Conversation,
) -> (Result<Option<Next>, ContextError>, Conversation) {
    let built = tokio::task::spawn_blocking(move || (conversation.next(), conversation)).await;
    match built {
        Ok(built) => built,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}

impl Answered {
    fn aborted() -> Self {
        Self {
            reply: None,
            outcome: Outcome::Aborted,
            status: None,
            error: None,
        }
    }

    /// Whether the failure ends more than its turn: nothing sent to this target
    /// with this key and model can succeed. A server that answered before may
    /// come back.
    fn end(&self, any_answered: bool) -> Option<CellEnd> {
        match self.outcome {
            Outcome::Aborted => Some(CellEnd::Stopped),
            Outcome::Connect if any_answered => None,
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
    fn failing(self) -> CellEnd {
        CellEnd::Failing {
            outcome: self.outcome,
            message: self.error.unwrap_or_default(),
        }
    }
}

impl From<Exchange> for Answered {
    fn from(exchange: Exchange) -> Self {
        let ok = exchange.outcome == Outcome::Ok;
        Self {
            reply: ok.then(|| Reply {
                reasoning: Some(exchange.answer.reasoning).filter(|text| !text.is_empty()),
                text: exchange.answer.text,
            }),
            outcome: exchange.outcome,
            status: exchange.status,
            error: exchange.error,
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

fn texts_of(messages: &[PlacedMessage]) -> Vec<Text> {
    let spans = messages.iter().flat_map(|message| &message.spans);
    spans.map(|placed| placed.span.text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
