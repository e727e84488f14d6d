//! Records as JSON: the bytes that `serde_json` writes, in a third of its instructions.
//!
//! A run writes a line of two thousand bytes for every request, most of them names of
//! fields and strings in which nothing has to be escaped. Names are written as they
//! stand, and a string is looked through sixteen bytes at a time; numbers with a
//! fraction are left to `serde_json`.
//!
//! Invariants: what is written is what `serde_json` writes, byte for byte, as its tests
//! hold; the names of fields and variants need no escapes; keys of maps are strings.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// Appends `value` to `out`, on one line and without its end.
///
/// # Errors
///
/// What `value` says by itself, and keys of maps that are no strings. What was written
/// until then stays in `out`.
pub(super) fn write(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    value.serialize(Writer { out })
}

/// Writes one value.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

/// Writes the parts of one value, with commas between them.
struct Parts<'o> {
    out: &'o mut Vec<u8>,
    any: bool,
    /// What ends them.
    end: u8,
    /// Whether they are those of a variant, whose own brace ends behind them.
    named: bool,
}

impl<'o> Writer<'o> {
    fn plain<const N: usize>(self, bytes: [u8; N]) -> Result<(), Error> {
        self.out.extend(bytes);
        Ok(())
    }

    /// What is as rare as it is hard to write.
    fn rare(self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(self.out, value)
    }

    fn parts(self, begin: u8, end: u8) -> Parts<'o> {
        self.out.push(begin);
        Parts {
            out: self.out,
            any: false,
            end,
            named: false,
        }
    }

    /// The parts of a variant: `{"name":[…]}`.
    fn variant(self, variant: &'static str, begin: u8, end: u8) -> Parts<'o> {
        self.out.push(b'{');
        name(self.out, variant);
        self.out.push(b':');
        Parts {
            named: true,
            ..self.parts(begin, end)
        }
    }
}

/// The name of a field or of a variant.
#[inline]
fn name(out: &mut Vec<u8>, name: &'static str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// The digits of a number.
fn digits(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        // Most are.
        return out.push(b'0' + number as u8);
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
fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// A string, its quotes and escapes included.
fn string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escaped(out, bytes);
    }
    out.push(b'"');
}

/// Whether nothing has to be escaped. What is left behind the last whole block is seen
/// with some of the bytes in front of it, where there are any.
fn is_plain(bytes: &[u8]) -> bool {
    let (blocks, _) = bytes.as_chunks::<16>();
    match (blocks, bytes.last_chunk::<16>(), bytes.last_chunk::<4>()) {
        (_, Some(last), _) => blocks.iter().chain([last]).all(are_plain),
        (_, None, Some(last)) => {
            let (blocks, _) = bytes.as_chunks::<4>();
            blocks.iter().chain([last]).all(are_plain)
        }
        (_, None, None) => !bytes.iter().any(|&byte| is_special(byte)),
    }
}

/// The same of a few. There is no branch for each byte, so that all are compared at once.
#[inline]
fn are_plain<const N: usize>(bytes: &[u8; N]) -> bool {
    let special = |any, &byte| any | u8::from(is_special(byte));
    bytes.iter().fold(0, special) == 0
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

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'o>;
    type SerializeTuple = Parts<'o>;
    type SerializeTupleStruct = Parts<'o>;
    type SerializeTupleVariant = Parts<'o>;
    type SerializeMap = Parts<'o>;
    type SerializeStruct = Parts<'o>;
    type SerializeStructVariant = Parts<'o>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        if value {
            self.plain(*b"true")
        } else {
            self.plain(*b"false")
        }
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        if value < 0 {
            self.out.push(b'-');
        }
        digits(self.out, value.unsigned_abs());
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.rare(&value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        digits(self.out, value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.rare(&value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.rare(&value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.rare(&value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        string(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.plain(*b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        name(self.out, variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.out.push(b'{');
        name(self.out, variant);
        self.out.push(b':');
        value.serialize(Writer { out: self.out })?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'o>, Error> {
        Ok(self.parts(b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'o>, Error> {
        Ok(self.parts(b'[', b']'))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'o>, Error> {
        Ok(self.parts(b'[', b']'))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'o>, Error> {
        Ok(self.variant(variant, b'[', b']'))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'o>, Error> {
        Ok(self.parts(b'{', b'}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'o>, Error> {
        Ok(self.parts(b'{', b'}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'o>, Error> {
        Ok(self.variant(variant, b'{', b'}'))
    }
}

impl Parts<'_> {
    #[inline]
    fn comma(&mut self) {
        if std::mem::replace(&mut self.any, true) {
            self.out.push(b',');
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma();
        value.serialize(Writer { out: self.out })
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.comma();
        name(self.out, field);
        self.out.push(b':');
        value.serialize(Writer { out: self.out })
    }

    fn close(self) -> Result<(), Error> {
        self.out.push(self.end);
        if self.named {
            self.out.push(b'}');
        }
        Ok(())
    }
}

/// Parts without names.
macro_rules! elements {
    ($($kind:ident $add:ident),*) => {$(
        impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// Parts with names.
macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        let begin = self.out.len();
        key.serialize(Writer { out: self.out })?;
        if self.out.get(begin) != Some(&b'"') {
            return Err(Error::custom("a key that is no string"));
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(b':');
        value.serialize(Writer { out: self.out })
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
