//! Events of the shapes that streams are made of.
//!
//! Most events of most streams are a piece of text and nothing else, and the rest of
//! them say why it ended and what was counted. To build the whole value of each would
//! cost more than everything else that a client does. So an event whose every field is
//! one that a dialect expects there is read into borrowed fields; any other is left to
//! the reader of values, which knows every shape.

use crate::chat::{ChatEvent, FinishReason, Usage};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What an event says that has one of the usual shapes.
#[derive(Debug, Default)]
pub(super) struct Usual<'d> {
    /// A piece of text.
    pub(super) text: Option<Cow<'d, str>>,
    /// Why the answer ended.
    pub(super) finish: Option<FinishReason>,
    /// What was counted.
    pub(super) usage: Option<Usage>,
}

impl<'d> Usual<'d> {
    /// The text, where the event says nothing else.
    pub(super) fn piece(&self) -> Option<&str> {
        let alone = self.finish.is_none() && self.usage.is_none();
        self.text.as_deref().filter(|_| alone)
    }

    /// The same as events, in the order in which the readers of values tell them.
    pub(super) fn events(self) -> impl Iterator<Item = ChatEvent> + use<'d> {
        let text = self.text.map(|text| ChatEvent::Text(text.into_owned()));
        let finish = self.finish.map(ChatEvent::Finish);
        let usage = self.usage.map(ChatEvent::Usage);
        text.into_iter().chain(finish).chain(usage)
    }
}

/// A struct out of an object. By itself it would be read out of a list as well.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// The element of a list that has one or none.
pub(super) struct AtMostOne<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AtMostOne<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(AtMostOneVisitor(PhantomData))
            .map(Self)
    }
}

struct AtMostOneVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMostOneVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of one or none")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<T>, A::Error> {
        let first = list.next_element()?;
        if first.is_some() && list.next_element::<T>()?.is_some() {
            return Err(A::Error::custom("more than one"));
        }
        Ok(first)
    }
}

/// A text that may be absent. Within an option, serde copies a bare [`Cow`].
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Piece<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[cfg(test)]
#[path = "usual_tests.rs"]
pub(super) mod tests;
