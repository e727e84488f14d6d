//! The two ways out: data to stdout, everything else to stderr.
//!
//! A closed pipe (`prefixbench … | head`) is no failure: what was asked for has
//! been read.

use super::exit::{Exit, Failure};
use std::io::{self, Write};

/// Writes data to stdout.
///
/// # Errors
///
/// [`Exit::NotWritten`] where stdout cannot be written; a closed pipe is not an
/// error.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(
            Exit::NotWritten,
            format!("cannot write to stdout: {error}"),
            None,
        )),
        _ => Ok(()),
    }
}

/// Tells a person something, on stderr. A stderr that is gone is not an error.
pub(super) fn tell(text: &str) {
    let mut err = anstream::stderr().lock();
    let _gone = writeln!(err, "{text}");
}

/// Tells a person of something to act on, on stderr.
pub(super) fn warn(text: &str) {
    tell(&format!("warning: {text}"));
}

/// Tells why the program ends.
pub(super) fn failure(failure: &Failure) {
    tell(format!("{:?}", failure.report).trim_end());
}
