//! Names, numbers and strings, appended to a line.

/// The name of a field or of a variant.
#[inline]
pub(super) fn name(out: &mut Vec<u8>, name: &'static str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// The digits of a number.
pub(super) fn digits(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        // Most are.
        return out.push(b'0' + (number % 10) as u8);
    }
    // As many as the largest has.
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Whether a byte cannot stand in a string as it is.
#[inline]
fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// A string, its quotes and escapes included.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escaped(out, bytes);
    }
    out.push(b'"');
}

/// Whether nothing has to be escaped. What is left behind the last eight whole ones is
/// seen with some of the bytes in front of it, where there are any.
fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk() else {
        return !bytes.iter().any(|&byte| is_special(byte));
    };
    let (words, _) = bytes.as_chunks();
    for word in words {
        if !are_plain(*word) {
            return false;
        }
    }
    are_plain(*last)
}

/// The same of eight bytes, in as many steps as of one: what a byte borrows shows in its
/// highest bit, and in none where no byte is special.
#[inline]
fn are_plain(bytes: [u8; 8]) -> bool {
    const EACH: u64 = u64::MAX / 255;
    const HIGHEST: u64 = EACH << 7;
    let word = u64::from_ne_bytes(bytes);
    let below = |word: u64, least: u8| word.wrapping_sub(EACH * u64::from(least)) & !word;
    let equal = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (below(word, b' ') | equal(b'"') | equal(b'\\')) & HIGHEST == 0
}

fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| is_special(byte)) {
        let byte = rest[at];
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let short = match byte {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            b'"' | b'\\' => byte,
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', HEX[high], HEX[low]]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.extend_from_slice(rest);
}
