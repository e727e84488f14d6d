//! `decode`: what would be read from a response.

use super::exit::{Exit, Failure};
use super::output;
use super::requests::dialect;
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
    let decoded = crate::provider::decode(dialect, &bytes);
    let mut json = serde_json::to_string(&decoded).unwrap_or_default();
    json.push('\n');
    output::data(&json)?;
    Ok(Exit::Done)
}
