//! Asking the model: the requests of a turn, and what is kept of the answer.

use super::Session;
use super::model::{Answer, Message, Reply, Request, Spoken};
use crate::chat::{Class, Origin, Role, Span, Text};
use crate::context::layered::chains;
use crate::context::layered::chatfile::{Names, Sender};
use crate::context::layered::envelope::Envelope;
use crate::context::layered::release::Release;
use crate::context::view::ChainKind;

impl Session {
    /// Asks the model and keeps its answer.
    pub(super) fn ask(&mut self, at: usize, answer: &Answer) -> Vec<Request> {
        let message = &self.messages[at];
        let Some(envelope) = message.envelope.clone() else {
            return Vec::new();
        };
        let question = match self.release {
            Release::V4 => chains::question(&envelope),
            Release::V31 => Text::from(message.processed.as_str()),
        };
        let (requests, text) = match self.chain {
            ChainKind::Agent => self.agent(&envelope, &question, answer),
            _ => (
                vec![self.plain(&envelope, &question, answer)],
                answer.text.clone(),
            ),
        };
        if !text.is_empty() {
            let kept = self.kept(&text);
            self.history.push((question, kept));
            let id = self.next_id();
            self.messages.push(Message {
                id,
                sender: Sender::Ai,
                text,
                names: Names::default(),
                envelope: None,
                processed: String::new(),
            });
        }
        requests
    }

    /// System, history and question of every chain.
    fn opening(&self, system: Option<Vec<Span>>, user: Vec<Span>) -> Vec<Spoken> {
        let shown = self.settings.context_turns * 2;
        let from = self.history.len().saturating_sub(shown);
        let history = self.history[from..].iter().flat_map(|(question, answer)| {
            [
                Spoken::new(
                    Role::User,
                    vec![Span::new(Origin::USER, Class::Turn, question.clone())],
                ),
                Spoken::new(
                    Role::Assistant,
                    vec![Span::new(Origin::REPLY, Class::Turn, answer.clone())],
                ),
            ]
        });
        let system = system.map(|spans| Spoken::new(Role::System, spans));
        let user = (!user.is_empty()).then(|| Spoken::new(Role::User, user));
        system.into_iter().chain(history).chain(user).collect()
    }

    fn plain(&self, envelope: &Envelope, question: &str, answer: &Answer) -> Request {
        let (system, user) = chains::base(envelope, &self.phrases);
        let user = if self.chain == ChainKind::Plus {
            let cite = self.settings.inline_citations;
            chains::with_tools(user, question, &answer.outputs, cite, &self.phrases)
        } else {
            user
        };
        Request {
            messages: self.opening(system, user),
            envelope: Some(envelope.clone()),
        }
    }

    /// The requests of a tool loop, and the answer as it is kept.
    fn agent(
        &self,
        envelope: &Envelope,
        question: &str,
        answer: &Answer,
    ) -> (Vec<Request>, String) {
        let (system, user) = chains::base(envelope, &self.phrases);
        let system = chains::agent_system(system, &[], &self.phrases);
        let mut messages = self.opening(Some(system), user);
        let mut requests = vec![Request {
            messages: messages.clone(),
            envelope: Some(envelope.clone()),
        }];
        let asked = chains::question(envelope);
        let asked = if asked.is_empty() { question } else { &asked };
        let mut last = Text::from(answer.text.as_str());
        for (index, reply) in answer.script.iter().enumerate() {
            last = reply.text.clone();
            if reply.calls.is_empty() {
                break;
            }
            messages.extend(self.round(reply, asked));
            if index + 1 < answer.script.len() {
                requests.push(Request {
                    messages: messages.clone(),
                    envelope: None,
                });
            }
        }
        let text = match (last.is_empty(), self.phrases.get("agent_reasoning")) {
            (true, _) => String::new(),
            (false, comment) => format!("{comment}\n\n{last}"),
        };
        (requests, text)
    }

    /// A reply with calls, and the results.
    fn round(&self, reply: &Reply, question: &str) -> Vec<Spoken> {
        let text = vec![Span::new(Origin::REPLY, Class::Turn, reply.text.clone())];
        let mut said = vec![Spoken {
            calls: reply.calls.clone(),
            ..Spoken::new(Role::Assistant, text)
        }];
        said.extend(reply.calls.iter().map(|call| {
            let result = chains::tool_result(&call.name, &call.result, question, &self.phrases);
            Spoken {
                answers: Some((call.id.clone(), call.name.clone())),
                ..Spoken::new(
                    Role::Tool,
                    vec![Span::new(Origin::TOOL_RESULT, Class::Turn, result)],
                )
            }
        }));
        said
    }
}
