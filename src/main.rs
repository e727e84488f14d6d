//! The command line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(prefixbench::cli::main(std::env::args_os()))
}
