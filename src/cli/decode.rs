//! `decode`: what would be read from a response.

use super::exit::{Exit, Failure};
use super::output;
use super::requests::dialect;
use crate::provider::{self, CUT, DIALECTS, Decoded, MALFORMED};
use std::fs;
use std::path::PathBuf;

/// Print what would be read from a stored response or stream
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Wire format of the response
    #[arg(long, default_value = "openai-chat")]
    dialect: String,

    /// The body, as it came
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let dialect = dialect(&arguments.dialect)?;
    let bytes = fs::read(&arguments.file).map_err(|error| {
        let message = format!("cannot read `{}`: {error}", arguments.file.display());
        Failure::new(Exit::WrongInput, message, None)
    })?;
    let decoded = provider::decode(dialect, &bytes);
    let mut json = serde_json::to_string(&decoded).unwrap_or_default();
    json.push('\n');
    output::data(&json)?;
    if is_nothing(&decoded) {
        return Err(nothing(arguments, &bytes));
    }
    Ok(Exit::Done)
}

/// Whether nothing was found that a response has.
fn is_nothing(decoded: &Decoded) -> bool {
    let broken = |error: &String| error.starts_with(MALFORMED) || error.as_str() == CUT;
    decoded.text.is_none()
        && decoded.finish_reason.is_none()
        && decoded.first_text_event.is_none()
        && decoded.usage.is_none()
        && decoded.error.as_ref().is_none_or(broken)
}

/// Nothing was recognised; says which dialect would have.
fn nothing(arguments: &Arguments, bytes: &[u8]) -> Failure {
    let (file, name) = (arguments.file.display(), &arguments.dialect);
    let others = DIALECTS.iter().filter(|dialect| dialect.name() != name);
    let fits = others.filter(|dialect| !is_nothing(&provider::decode(**dialect, bytes)));
    let fits: Vec<&str> = fits.map(|dialect| dialect.name()).collect();
    let help = match fits.as_slice() {
        [] => "give a response's body, or its stream of events, as the server sent it".to_owned(),
        fits => format!("it reads as --dialect {}", fits.join(" or ")),
    };
    Failure::wrong(
        format!("nothing in `{file}` is a response in dialect `{name}`"),
        help,
    )
}
