//! Fields of JSON values, of which any may be missing or something else.

use serde_json::{Map, Value};

/// Objects of no more fields are looked through: to hash a name costs more than to
/// compare it with so many.
const FEW: usize = 24;

/// A field of an object; none of what is no object. The same as [`Value::get`].
pub(super) fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    named(value.as_object()?, name)
}

/// The field of that name. The same as [`Map::get`].
pub(super) fn named<'v>(fields: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    if fields.len() > FEW {
        return fields.get(name);
    }
    let mut fields = fields.iter();
    fields.find_map(|(known, value)| (known == name).then_some(value))
}

/// A text field, if it is one.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    field(value, name).and_then(Value::as_str)
}

/// An index field; 0 where it is missing.
pub(super) fn index(value: &Value, name: &str) -> usize {
    let index = field(value, name).and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The elements of an array field; none where it is no array.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = field(value, name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// JSON arguments as text: a string as it is, an object as compact JSON.
pub(super) fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_among_few_and_among_many() {
        for count in [0, 1, FEW, FEW + 1, 100] {
            let names: Vec<_> = (0..count).map(|at| format!("name {at}")).collect();
            let fields = names.iter().cloned().zip((0_u64..).map(Value::from));
            let object = Value::Object(fields.collect());
            for name in names.iter().map(String::as_str).chain(["name", ""]) {
                assert_eq!(field(&object, name), object.get(name), "{name} of {count}");
            }
        }
        for other in [Value::Null, Value::from(1), Value::from(vec![1])] {
            assert_eq!(field(&other, "name 0"), None, "{other}");
        }
    }
}
