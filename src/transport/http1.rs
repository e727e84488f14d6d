//! HTTP/1.1 as it is on the wire: the head of an answer, and where its body ends.
//!
//! Pure: bytes that came go in, and what they mean comes out, however they were cut
//! into reads. The rules are those of RFC 9112, sections 6 and 7; where it leaves a
//! choice, what cannot be told apart from an attack or a mistake is refused.

use bytes::{Buf as _, BytesMut};
use std::borrow::Cow;
use std::mem::MaybeUninit;
use thiserror::Error;

/// Longest head, longest line before a chunk, and longest trailer.
const LONGEST: usize = 64 << 10;

/// Most headers of one answer.
const MOST: usize = 100;

/// Bytes that are no HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum NoHttp {
    /// The head, or what stands behind the last chunk.
    #[error(transparent)]
    Head(#[from] httparse::Error),
    /// The head is longer than anyone's.
    #[error("headers of more than {LONGEST} bytes")]
    TooLong,
    /// Two lengths, or one that is no number.
    #[error("invalid content-length")]
    Length,
    /// The line before a chunk.
    #[error("invalid chunk size")]
    ChunkSize,
    /// The line behind a chunk.
    #[error("a chunk that does not end where it said")]
    ChunkEnd,
    /// Another protocol from here on, which nobody asked for.
    #[error("status 101 without having been asked for it")]
    Switched,
}

/// Names and values of headers.
type Headers<'a> = Vec<(&'a str, Cow<'a, [u8]>)>;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) status: u16,
    pub(super) headers: Headers<'a>,
    /// How its body ends.
    pub(super) body: Body,
    /// Whether the connection may be used again.
    pub(super) keep: bool,
    /// Its own length in bytes.
    pub(super) length: usize,
}

impl Head<'_> {
    /// The first of the headers of that name (lowercase) as text, as far as it is some.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter();
        let (_, value) = named.find(|(is, _)| is.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// The header that says that the body is packed, where one does.
    pub(super) fn coding(&self) -> Option<String> {
        ["Content-Encoding", "Transfer-Encoding"]
            .into_iter()
            .find_map(|name| {
                let mut said = list(&self.headers, name);
                said.find(|coding| packs(coding) && coding != "chunked")
                    .map(|coding| format!("{name}: {coding}"))
            })
    }
}

/// Whether a body of this coding is not as it is.
pub(super) fn packs(coding: &str) -> bool {
    let coding = coding.trim();
    !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")
}

/// The head of the answer at the beginning of `bytes`, once all of it is there.
/// Interim answers (1xx) are heads like others, of no body.
///
/// # Errors
///
/// [`NoHttp`] where it can no longer become one.
pub(super) fn head(bytes: &[u8]) -> Result<Option<Head<'_>>, NoHttp> {
    let mut slots = [const { MaybeUninit::uninit() }; MOST];
    let mut response = httparse::Response::new(&mut []);
    let mut parser = httparse::ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = parser.parse_response_with_uninit_headers(&mut response, bytes, &mut slots)?;
    let httparse::Status::Complete(length) = parsed else {
        let grows = bytes.len() <= LONGEST;
        return grows.then_some(None).ok_or(NoHttp::TooLong);
    };
    let status = response.code.unwrap_or_default();
    let is_new = response.version == Some(1);
    let pairs = response.headers.iter();
    let headers: Headers<'_> = pairs
        .map(|header| (header.name, unfolded(header.value)))
        .collect();
    let (body, may_keep) = framing(status, &headers)?;
    // What is older than HTTP/1.1 knows no pieces, and may have handed them on unread
    // (section 6.1).
    let is_strange = !is_new && matches!(body, Body::Chunked(_));
    let keep = may_keep && body != Body::UntilClosed && !is_strange && is_kept(is_new, &headers);
    Ok(Some(Head {
        status,
        headers,
        body,
        keep,
        length,
    }))
}

/// A value that goes over several lines as one of a single line (RFC 9112, section 5.2).
fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\r', b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let lines = value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    Cow::Owned(lines.join(&b' '))
}

/// The parts of a list-valued header, in lowercase.
fn list<'a>(
    headers: &'a [(&str, Cow<'_, [u8]>)],
    name: &'static str,
) -> impl Iterator<Item = String> + 'a {
    let values = headers
        .iter()
        .filter(move |(is, _)| is.eq_ignore_ascii_case(name));
    values.flat_map(|(_, value)| {
        let parts = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        parts.map(|part| String::from_utf8_lossy(part).to_ascii_lowercase())
    })
}

fn is_kept(is_new: bool, headers: &[(&str, Cow<'_, [u8]>)]) -> bool {
    let mut kept = is_new;
    for option in list(headers, "connection") {
        match option.as_str() {
            "close" => return false,
            "keep-alive" => kept = true,
            _ => {}
        }
    }
    kept
}

/// Where the body ends (RFC 9112, section 6.3), and whether what comes behind it can be
/// trusted to be the next answer.
fn framing(status: u16, headers: &[(&str, Cow<'_, [u8]>)]) -> Result<(Body, bool), NoHttp> {
    if status == 101 {
        return Err(NoHttp::Switched);
    }
    if matches!(status, 100..200 | 204 | 304) {
        return Ok((Body::Sized(0), true));
    }
    let mut length = None;
    for text in list(headers, "content-length") {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|_| digits);
        match (number, length) {
            (Some(number), None) => length = Some(number),
            (Some(number), Some(before)) if number == before => {}
            _ => return Err(NoHttp::Length),
        }
    }
    let codings = list(headers, "transfer-encoding");
    // Lists may have parts that are empty (RFC 9110, section 5.6.1).
    let coding = codings.filter(|coding| !coding.is_empty()).last();
    Ok(match (coding.as_deref(), length) {
        (Some("chunked"), length) => (Body::Chunked(Chunk::Size), length.is_none()),
        (Some(_), _) | (None, None) => (Body::UntilClosed, false),
        (None, Some(length)) => (Body::Sized(length), true),
    })
}

/// How a body ends, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes are to come.
    Sized(u64),
    /// In pieces that say how long they are.
    Chunked(Chunk),
    /// With the connection.
    UntilClosed,
}

/// What comes next of a body in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The line that says how long the next piece is.
    Size,
    /// So many bytes of a piece.
    Data(u64),
    /// The line end behind a piece.
    End,
    /// Headers behind the last piece, which nobody reads.
    Trailer,
    /// Nothing.
    Over,
}

impl Body {
    /// Whether all of it has come.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Sized(0) | Self::Chunked(Chunk::Over))
    }

    /// Takes what belongs to the body from the beginning of `unread` and adds its
    /// content to `content`; what belongs to nothing yet stays.
    ///
    /// # Errors
    ///
    /// [`NoHttp`] where the body is not what it said it is; what came before is added.
    pub(super) fn take(
        &mut self,
        unread: &mut BytesMut,
        content: &mut Vec<u8>,
    ) -> Result<(), NoHttp> {
        content.reserve(unread.len());
        match self {
            Self::UntilClosed => {
                content.extend_from_slice(unread);
                unread.clear();
            }
            Self::Sized(left) => take(left, unread, content),
            Self::Chunked(chunk) => while chunk.step(unread, content)? {},
        }
        Ok(())
    }
}

/// Takes as much as there is of `left` bytes.
fn take(left: &mut u64, unread: &mut BytesMut, content: &mut Vec<u8>) {
    let there = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(unread.len());
    content.extend_from_slice(&unread[..there]);
    unread.advance(there);
    *left -= there as u64;
}

impl Chunk {
    /// Takes one thing; whether there may be more to take.
    fn step(&mut self, unread: &mut BytesMut, content: &mut Vec<u8>) -> Result<bool, NoHttp> {
        match self {
            Self::Size => {
                let Some((line, size)) = size(unread)? else {
                    return Ok(false);
                };
                unread.advance(line);
                *self = if size == 0 {
                    Self::Trailer
                } else {
                    Self::Data(size)
                };
            }
            Self::Data(left) => {
                take(left, unread, content);
                if *left > 0 {
                    return Ok(false);
                }
                *self = Self::End;
            }
            Self::End => match unread.get(..2) {
                Some(b"\r\n") => {
                    unread.advance(2);
                    *self = Self::Size;
                }
                Some(_) => return Err(NoHttp::ChunkEnd),
                None => return Ok(false),
            },
            Self::Trailer => {
                let Some(end) = trailer(unread)? else {
                    return Ok(false);
                };
                unread.advance(end);
                *self = Self::Over;
            }
            Self::Over => return Ok(false),
        }
        Ok(true)
    }
}

/// The length of the line before a chunk, and of the chunk; `None` as long as it is not
/// whole.
fn size(bytes: &[u8]) -> Result<Option<(usize, u64)>, NoHttp> {
    // The parser would take a line without a number for a last one.
    if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) {
        return Err(NoHttp::ChunkSize);
    }
    match httparse::parse_chunk_size(bytes) {
        Ok(httparse::Status::Complete(found)) => Ok(Some(found)),
        Ok(httparse::Status::Partial) if bytes.len() <= LONGEST => Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::InvalidChunkSize) => Err(NoHttp::ChunkSize),
    }
}

/// The length of the headers behind the last chunk, with the empty line that ends them.
fn trailer(bytes: &[u8]) -> Result<Option<usize>, NoHttp> {
    let mut slots = [httparse::EMPTY_HEADER; MOST];
    match httparse::parse_headers(bytes, &mut slots)? {
        httparse::Status::Complete((end, _)) => Ok(Some(end)),
        httparse::Status::Partial if bytes.len() <= LONGEST => Ok(None),
        httparse::Status::Partial => Err(NoHttp::TooLong),
    }
}

#[cfg(test)]
#[path = "http1_tests.rs"]
mod tests;
