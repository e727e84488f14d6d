//! What the engine itself counted while a run went on, beside what its answers
//! said: `counters.json`.
//!
//! Counters are read before the first cell and after each one, never while a
//! cell runs. They also count the requests of others: where they went further
//! than the answers of this run, somebody else was there, or an answer was lost.

use super::output;
use crate::load::{Engine, Target};
use crate::record::{PublicUrl, RequestRecord};
use crate::transport::{Client, Header};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The file in the run folder.
const FILE: &str = "counters.json";

/// Counters may be a moment behind the answers.
const TRIES: u32 = 4;
const BETWEEN: Duration = Duration::from_millis(250);

/// Prompt tokens, cached ones included, and of these the cached ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Count {
    prompt: u64,
    cached: u64,
    /// Of the cached ones, those that were fetched from outside the engine.
    #[serde(skip_serializing_if = "is_zero")]
    external: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Count {
    /// `None` where the text holds no counters that are known.
    ///
    /// vLLM and SGLang count whole prompts, llama.cpp leaves the cached part out. Of
    /// vLLM's counters those by source come first: each token is in one of them, once,
    /// and they tell apart what came from outside the engine. Its queries and hits are
    /// never read, since they count a waiting request again at each try to admit it.
    fn read(text: &str) -> Option<Self> {
        let whole = |prompt: &str, cached: &str| {
            Some(Self {
                prompt: sum(text, prompt)?,
                cached: sum(text, cached)?,
                external: 0,
            })
        };
        Self::by_source(text)
            .or_else(|| {
                whole(
                    "vllm:prompt_tokens_total",
                    "vllm:prompt_tokens_cached_total",
                )
            })
            .or_else(|| whole("sglang:prompt_tokens_total", "sglang:cached_tokens_total"))
            .or_else(|| {
                let found = whole(
                    "llamacpp:prompt_tokens_total",
                    "llamacpp:prompt_tokens_cached_total",
                )?;
                Some(Self {
                    prompt: found.prompt + found.cached,
                    ..found
                })
            })
    }

    fn by_source(text: &str) -> Option<Self> {
        let of = |source: &str| {
            sum_where(text, "vllm:prompt_tokens_by_source_total", |labels| {
                labels.contains(&format!("source=\"{source}\""))
            })
        };
        let computed = of("local_compute")?;
        let external = of("external_kv_transfer").unwrap_or(0);
        let cached = of("local_cache_hit")? + external;
        Some(Self {
            prompt: computed + cached,
            cached,
            external,
        })
    }

    /// What came since `earlier`; `None` where a counter fell, since the server
    /// was started again.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            prompt: self.prompt.checked_sub(earlier.prompt)?,
            cached: self.cached.checked_sub(earlier.cached)?,
            external: self.external.checked_sub(earlier.external)?,
        })
    }
}

impl std::ops::Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            prompt: self.prompt + other.prompt,
            cached: self.cached + other.cached,
            external: self.external + other.external,
        }
    }
}

/// The sum of a counter over its labels (engines, models); `None` where it is
/// not there.
fn sum(text: &str, name: &str) -> Option<u64> {
    sum_where(text, name, |_labels| true)
}

/// The same, of those lines whose labels will do.
fn sum_where(text: &str, name: &str, wanted: impl Fn(&str) -> bool) -> Option<u64> {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(labels) => labels.rsplit_once('}')?,
            None => ("", rest.strip_prefix(' ')?),
        };
        if !wanted(labels) {
            return None;
        }
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counters are whole, not negative and below 2^53"
        )]
        let value = (0.0..9e15).contains(&value).then_some(value as u64);
        value
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0) + value))
}

/// What the answers said, over the same requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Said {
    requests: u64,
    /// Requests that may have been computed and whose answer had no counts.
    without_count: u64,
    counts: Count,
}

impl Said {
    fn add(&mut self, record: &RequestRecord) {
        if record.stamps.sent_us.is_none() {
            return;
        }
        self.requests += 1;
        match (record.usage.total, record.usage.read) {
            (Some(total), Some(read)) => {
                self.counts.prompt += total.0;
                self.counts.cached += read.0;
            }
            _ => self.without_count += 1,
        }
    }
}

/// What the answers of a target said, cell by cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    all: Said,
    cells: HashMap<String, Said>,
}

impl Tally {
    /// Adds what an answer of the target said.
    pub(super) fn add(&mut self, record: &RequestRecord) {
        self.all.add(record);
        // A conversation is called by its cell and its number.
        let name = &*record.conversation;
        let cell = name.rsplit_once('/').map_or(name, |(cell, _)| cell);
        if let Some(said) = self.cells.get_mut(cell) {
            return said.add(record);
        }
        self.cells.entry(cell.to_owned()).or_default().add(record);
    }

    fn cell(&self, name: &str) -> Said {
        self.cells.get(name).copied().unwrap_or_default()
    }
}

/// One cell, or the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    cell: String,
    engine: Option<Count>,
    answers: Said,
}

impl Line {
    /// What a person should know; `None` where the two agree.
    fn disagreement(&self) -> Option<String> {
        let (Some(engine), said) = (self.engine, self.answers) else {
            return Some(
                "the engine's counters fell or were gone: it was started again during the run"
                    .into(),
            );
        };
        // Answers do not tell from where a token was read.
        let engine = Count {
            external: 0,
            ..engine
        };
        if engine == said.counts {
            return None;
        }
        let more = engine.since(said.counts);
        let explained = match more {
            Some(_) if said.without_count > 0 => {
                format!("{} requests had no count", said.without_count)
            }
            Some(_) => "others used the server, or an answer was lost".to_owned(),
            None => "its counters are behind, or leave something out".to_owned(),
        };
        Some(format!(
            "the engine counted {} prompt tokens, {} of them cached; the answers said {} and {}: {explained}",
            engine.prompt, engine.cached, said.counts.prompt, said.counts.cached
        ))
    }
}

/// `counters.json`
#[derive(Serialize)]
struct File<'a> {
    v: u32,
    urls: Vec<PublicUrl>,
    agree: bool,
    total: &'a Line,
    cells: &'a [Line],
}

/// Where counters are read.
struct Source {
    urls: Vec<String>,
    headers: Vec<Header>,
    client: Arc<Client>,
}

impl Source {
    /// The sum over all engines.
    ///
    /// # Errors
    ///
    /// The first address at which there are no counters, and why.
    async fn read(&self) -> Result<Count, String> {
        let mut sum = Count::default();
        for url in &self.urls {
            let shown = PublicUrl::new(url);
            let replied = self.client.get(url, &self.headers).await;
            let reply = replied.map_err(|error| format!("`{shown}`: {error}"))?;
            if reply.status != 200 {
                return Err(format!("`{shown}`: HTTP {}", reply.status));
            }
            let count = Count::read(&reply.text());
            sum = sum + count.ok_or_else(|| format!("`{shown}`: nothing that is known"))?;
        }
        Ok(sum)
    }
}

/// The counters of a target's engines, as a run goes on.
pub(super) struct Watch {
    source: Source,
    marks: Marks,
}

/// Sum over the engines before the first cell, and behind each named one; `None`
/// where it could not be read.
struct Marks(Vec<(String, Option<Count>)>);

impl Watch {
    /// Reads the counters for the first time. `given` are the addresses that a flag
    /// named; else those of the targets file or the preset; else the target's own are
    /// looked for where its engine is known to have them. `None` where there are none.
    pub(super) async fn begin(
        target: &Target,
        given: &[String],
        client: &Arc<Client>,
    ) -> Option<Self> {
        let own = matches!(
            target.engine,
            Engine::Vllm | Engine::LlamaCpp | Engine::Embedded
        );
        let named = if given.is_empty() {
            &target.metrics
        } else {
            given
        };
        let beside = target.at_root("/metrics");
        let urls = match named {
            [] if own => vec![beside.clone()],
            named => named.to_vec(),
        };
        if urls.is_empty() {
            return None;
        }
        // A key is for its target, and for nobody else.
        let headers = if urls == [beside.as_str()] {
            target.headers()
        } else {
            Vec::new()
        };
        let source = Source {
            urls,
            headers,
            client: Arc::clone(client),
        };
        match source.read().await {
            Ok(start) => Some(Self {
                marks: Marks(vec![(String::new(), Some(start))]),
                source,
            }),
            Err(why) => {
                if !named.is_empty() {
                    output::warn(&format!("no counters at {why}"));
                }
                None
            }
        }
    }

    /// A cell has ended.
    pub(super) async fn mark(&mut self, cell: &str) {
        let count = self.source.read().await.ok();
        self.marks.0.push((cell.to_owned(), count));
    }

    /// Compares with what the answers said, tells it, and writes `counters.json`,
    /// or where a run has several targets `counters-2.json` for the second.
    pub(super) async fn end(mut self, tally: &Tally, dir: &Path, number: Option<usize>) {
        let name = match number {
            Some(number) => format!("counters-{number}.json"),
            None => FILE.to_owned(),
        };
        let said = tally.all;
        let mut total = self.marks.total(said);
        for _ in 0..TRIES {
            if total.disagreement().is_none() {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
            let Ok(now) = self.source.read().await else {
                break;
            };
            if let Some((_, last)) = self.marks.0.last_mut().filter(|(cell, _)| !cell.is_empty()) {
                *last = Some(now);
            }
            total = self.marks.total(said);
        }
        let cells = self.marks.cells(tally);
        tell(&total);
        let file = File {
            v: 1,
            urls: self
                .source
                .urls
                .iter()
                .map(|url| PublicUrl::new(url))
                .collect(),
            agree: total.disagreement().is_none(),
            total: &total,
            cells: &cells,
        };
        let written = serde_json::to_vec_pretty(&file).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|bytes| std::fs::write(dir.join(&name), bytes)) {
            output::warn(&format!("cannot write `{name}`: {error}"));
        }
    }
}

impl Marks {
    fn total(&self, said: Said) -> Line {
        let first = self.0.first().and_then(|(_, count)| *count);
        let last = self.0.last().and_then(|(_, count)| *count);
        Line {
            cell: "all".to_owned(),
            engine: first.zip(last).and_then(|(first, last)| last.since(first)),
            answers: said,
        }
    }

    /// A line for each cell, in the order in which they were begun; a cell that
    /// came in several rounds is their sum.
    fn cells(&self, tally: &Tally) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for pair in self.0.windows(2) {
            let ((_, before), (cell, after)) = (&pair[0], &pair[1]);
            let engine = after
                .zip(*before)
                .and_then(|(after, before)| after.since(before));
            if let Some(line) = lines.iter_mut().find(|line| line.cell == *cell) {
                line.engine = line.engine.zip(engine).map(|(sum, more)| sum + more);
                continue;
            }
            lines.push(Line {
                cell: cell.clone(),
                engine,
                answers: tally.cell(cell),
            });
        }
        lines
    }
}

fn tell(total: &Line) {
    match (total.disagreement(), total.engine) {
        (Some(disagreement), _) => output::warn(&disagreement),
        (None, Some(engine)) => output::tell(&format!(
            "the engine's own counters agree: {} prompt tokens, {} of them cached",
            engine.prompt, engine.cached
        )),
        (None, None) => {}
    }
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
