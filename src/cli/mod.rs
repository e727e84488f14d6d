//! The command line: one file per subcommand.
//!
//! A subcommand parses its own arguments, calls, and says how the program ends.
//! Only this module reads the environment and only `main` leaves the process.

mod assumed;
mod builder;
mod calibrate;
mod check;
mod choice;
mod compare;
mod counters;
mod decode;
mod exit;
mod explain;
mod fleet;
mod gate;
mod list;
mod measured;
mod merge;
mod output;
mod outputs;
mod planned;
mod predict;
mod predicted;
mod prices;
mod probe;
mod render;
mod report;
mod requests;
mod resources;
mod run;
mod schema;
mod serve;
mod settings;
mod target;
mod targets;
mod tokens;

pub use exit::{Exit, Failure};

use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// Measures, before rollout, how much of each request a model server takes from its prefix cache
/// under one prompt layout or another.
#[derive(Parser)]
#[command(name = "prefixbench", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Arguments>),
    Merge(merge::Arguments),
    Render(render::Arguments),
    Predict(predict::Arguments),
    Explain(explain::Arguments),
    Compare(compare::Arguments),
    Gate(Box<gate::Arguments>),
    Report(report::Arguments),
    Check(check::Arguments),
    Schema(schema::Arguments),
    List(list::Arguments),
    Serve(serve::Arguments),
    Decode(decode::Arguments),
    Probe(probe::Arguments),
    Calibrate(calibrate::Arguments),
}

/// Runs the program on these arguments and says with which code it ends.
///
/// Data goes to stdout, everything else to stderr.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let raw: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match Arguments::try_parse_from(&raw) {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error),
    };
    // What lower modules find worth a warning; a second call finds the first one's.
    let _already_set = tracing_subscriber::fmt()
        // Takes escape sequences out where a pipe or NO_COLOR says so.
        .with_writer(anstream::stderr)
        .with_max_level(tracing::Level::WARN)
        .without_time()
        .with_target(false)
        .try_init();
    let ended = match parsed.command {
        // Behind the names of program and subcommand.
        Command::Run(arguments) => run::run(*arguments, raw.get(2..).unwrap_or_default()),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Gate(arguments) => gate::run(*arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
    };
    match ended {
        Ok(exit) => exit.code(),
        Err(failure) => {
            output::failure(&failure);
            failure.exit.code()
        }
    }
}

/// Help goes to stdout and is no failure; a wrong argument is wrong input.
fn usage(error: &clap::Error) -> u8 {
    let _stream_is_gone = error.print();
    if error.use_stderr() {
        Exit::WrongInput.code()
    } else {
        Exit::Done.code()
    }
}
