//! Chat templates, rendered as `transformers` renders them.

use super::super::{ChatForm, EncodeError};
use super::python_json;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Serde};
use minijinja::{Environment, Error, ErrorKind, State, Value, context};
use serde_json::Value as Json;

/// What `strftime_now` says: a rendered prompt must not depend on the day.
const FIXED_DATE: &str = "26 Jul 2024";

/// A parsed chat template with the special tokens that it may name.
#[derive(Debug)]
pub(super) struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    /// Whether it renders a content that is a list of texts.
    lists: bool,
}

impl Template {
    /// The template of `config`, or `own` where a file of its own has it.
    ///
    /// A list of templates by name counts by its `default`. The error is a
    /// lowercase fragment.
    pub(super) fn new(config: &Json, own: Option<String>) -> Result<Self, String> {
        let source = match own {
            Some(source) => source,
            None => written(&config["chat_template"]).ok_or("`chat_template` is missing")?,
        };
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|error| error.to_string())?;
        environment.set_syntax(syntax);
        environment.set_unknown_method_callback(python_method);
        environment.add_function("raise_exception", |message: String| {
            Err::<Value, _>(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_function("strftime_now", |_format: String| FIXED_DATE);
        environment.add_filter("tojson", python_json::filter);
        environment
            .add_template_owned("chat", source)
            .map_err(|error| error.to_string())?;
        let mut template = Self {
            environment,
            bos: token(&config["bos_token"]),
            eos: token(&config["eos_token"]),
            lists: false,
        };
        template.lists = template.renders_lists();
        Ok(template)
    }

    /// The conversation as text; with `suffix`, ready for the answer.
    ///
    /// A template that never mentions tools renders none, as on a server.
    pub(super) fn render(&self, form: ChatForm, suffix: bool) -> Result<String, EncodeError> {
        let broken = |error: Error| EncodeError::Template {
            reason: error.to_string(),
        };
        let mut messages = form.messages;
        for message in &mut messages {
            self.adapt(message);
        }
        let template = self.environment.get_template("chat").map_err(broken)?;
        let tools = if form.tools.is_empty() {
            Value::from(())
        } else {
            Value::from(Serde(form.tools))
        };
        let values = context! {
            messages => Value::from(Serde(messages)),
            tools,
            add_generation_prompt => suffix,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
        };
        template.render(values).map_err(broken)
    }

    /// As servers hand messages to templates: arguments as objects, and several
    /// texts in lines where the template takes strings only.
    fn adapt(&self, message: &mut Json) {
        let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
        for call in calls.into_iter().flatten() {
            let arguments = &mut call["function"]["arguments"];
            let object = arguments
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
                .filter(Json::is_object);
            *arguments = object.unwrap_or_else(|| serde_json::json!({}));
        }
        if let Json::Array(parts) = &message["content"]
            && !self.lists
        {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            message["content"] = texts.join("\n").into();
        }
    }

    /// Tried out: a template of the string kind prints the list's own form, or fails.
    fn renders_lists(&self) -> bool {
        let parts = ["first-text", "second-text"]
            .map(|text| serde_json::json!({"type": "text", "text": text}));
        let message = serde_json::json!({"role": "user", "content": parts});
        let Ok(template) = self.environment.get_template("chat") else {
            return false;
        };
        let values = context! {
            messages => Value::from(Serde([message])),
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
        };
        template.render(values).is_ok_and(|text| {
            let printed = ["'text'", "\"text\""].iter().any(|key| text.contains(key));
            text.contains("first-text") && text.contains("second-text") && !printed
        })
    }
}

fn written(template: &Json) -> Option<String> {
    match template {
        Json::String(source) => Some(source.clone()),
        Json::Array(named) => {
            let default = named.iter().find(|entry| entry["name"] == "default")?;
            default["template"].as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// A special token is a string, or an object that holds it.
fn token(written: &Json) -> String {
    let text = written.as_str().or_else(|| written["content"].as_str());
    text.unwrap_or_default().to_owned()
}

/// The methods of Python's strings and dictionaries that templates use.
fn python_method(
    _state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        return string_method(text, method, args);
    }
    let unknown = || Error::from(ErrorKind::UnknownMethod);
    match method {
        "items" => {
            let pair = |key: Value| Ok(Value::from(vec![key.clone(), value.get_item(&key)?]));
            value
                .try_iter()?
                .map(pair)
                .collect::<Result<Value, Error>>()
        }
        "keys" => Ok(value.try_iter()?.collect()),
        "values" => {
            let keys = value.try_iter()?;
            keys.map(|key| value.get_item(&key)).collect()
        }
        "get" => {
            let key = args.first().ok_or_else(unknown)?;
            let found = value.get_item(key)?;
            let default = args.get(1).cloned().unwrap_or(Value::from(()));
            Ok(if found.is_undefined() { default } else { found })
        }
        _ => Err(unknown()),
    }
}

fn string_method(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (args, _kwargs): (Rest<Value>, Kwargs) = minijinja::value::from_args(args)?;
    let given = |index: usize| args.get(index).and_then(Value::as_str);
    let wanted = |index: usize| {
        given(index).ok_or_else(|| {
            Error::new(
                ErrorKind::MissingArgument,
                format!("`{method}` wants a string"),
            )
        })
    };
    let stripped = |character: char| match given(0) {
        Some(characters) => characters.contains(character),
        None => character.is_whitespace(),
    };
    Ok(match method {
        "strip" => text.trim_matches(stripped).into(),
        "lstrip" => text.trim_start_matches(stripped).into(),
        "rstrip" => text.trim_end_matches(stripped).into(),
        "startswith" => text.starts_with(wanted(0)?).into(),
        "endswith" => text.ends_with(wanted(0)?).into(),
        "replace" => text.replace(wanted(0)?, wanted(1)?).into(),
        "upper" => text.to_uppercase().into(),
        "lower" => text.to_lowercase().into(),
        "title" => capitalized(text).into(),
        "capitalize" => {
            let mut characters = text.chars();
            let first = characters.next().map(char::to_uppercase);
            let rest = characters.as_str().to_lowercase();
            let first: String = first.into_iter().flatten().collect();
            (first + &rest).into()
        }
        "find" => {
            let place = text.find(wanted(0)?);
            place
                .map_or(-1, |byte| {
                    i64::try_from(text[..byte].chars().count()).unwrap_or(-1)
                })
                .into()
        }
        "count" => text.matches(wanted(0)?).count().into(),
        "split" => split(text, given(0), args.get(1)),
        "splitlines" => text.lines().map(Value::from).collect(),
        "join" => {
            let parts = args.first().map(Value::try_iter).transpose()?;
            let parts = parts.into_iter().flatten().map(|part| part.to_string());
            parts.collect::<Vec<_>>().join(text).into()
        }
        _ => return Err(ErrorKind::UnknownMethod.into()),
    })
}

/// Python's `split`: without a separator at any white space, else at most `limit` times.
fn split(text: &str, separator: Option<&str>, limit: Option<&Value>) -> Value {
    let limit = limit
        .and_then(|limit| i64::try_from(limit.clone()).ok())
        .and_then(|limit| usize::try_from(limit).ok());
    match (separator, limit) {
        (None, _) => text.split_whitespace().map(Value::from).collect(),
        (Some(separator), None) => text.split(separator).map(Value::from).collect(),
        (Some(separator), Some(limit)) => {
            text.splitn(limit + 1, separator).map(Value::from).collect()
        }
    }
}

/// Each word's first letter large, the others small.
fn capitalized(text: &str) -> String {
    let mut inside = false;
    let letter = |character: char| {
        let lower = std::mem::replace(&mut inside, character.is_alphabetic());
        if lower {
            character.to_lowercase().collect::<String>()
        } else {
            character.to_uppercase().collect()
        }
    };
    text.chars().map(letter).collect()
}
