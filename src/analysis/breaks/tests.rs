//! Tests of breaks over small prompts.

use super::*;
use crate::analysis::testing::{Said, record, store};
use crate::chat::Role::{Assistant, System, User};

/// Breaks of requests that are sent one after the other.
fn breaks(requests: &[Vec<Said>]) -> Vec<Option<(usize, String, usize)>> {
    let spans = store(requests);
    let records: Vec<_> = requests.iter().map(|said| record(said)).collect();
    let mut finder = Breaks::new(&spans);
    records
        .iter()
        .map(|record| finder.next(record, true))
        .map(|place| place.map(|at| (at.predecessor, at.origin.to_string(), at.byte)))
        .collect()
}

fn said(role: crate::chat::Role, parts: &[(&'static str, &'static str)]) -> Said {
    (role, parts.to_vec())
}

#[test]
fn a_request_that_only_goes_on_has_no_break() {
    let first = vec![
        said(System, &[("agent", "be kind")]),
        said(User, &[("user", "hi")]),
    ];
    let mut second = first.clone();
    second.push(said(Assistant, &[("reply", "hello")]));
    second.push(said(User, &[("user", "more")]));
    let shorter = first.clone();
    assert_eq!(breaks(&[first, second, shorter]), [None, None, None]);
}

#[test]
fn the_borders_of_spans_do_not_matter() {
    let first = vec![said(User, &[("notes", "ab"), ("user", "cd")])];
    let second = vec![
        said(User, &[("user", "abcd")]),
        said(Assistant, &[("reply", "x")]),
    ];
    assert_eq!(breaks(&[first, second]), [None, None]);
}

#[test]
fn a_break_has_the_source_and_the_byte_of_what_differs() {
    let first = vec![
        said(
            System,
            &[("agent", "be kind. "), ("memory", "tone: \"formal\"")],
        ),
        said(User, &[("user", "hi")]),
    ];
    let second = vec![
        said(
            System,
            &[("agent", "be kind. "), ("memory", "tone: \"brief\"")],
        ),
        said(User, &[("user", "hi")]),
    ];
    // The body begins at byte 100; the quote in front of the place is escaped.
    let place = 100 + "be kind. ".len() + "tone: \\\"".len();
    assert_eq!(
        breaks(&[first, second]),
        [None, Some((0, "memory".to_owned(), place))]
    );
}

#[test]
fn a_message_that_ends_early_breaks_in_the_earlier_ones_source() {
    let first = vec![said(User, &[("user", "hi"), ("artifacts", " [on]")])];
    let second = vec![
        said(User, &[("user", "hi")]),
        said(Assistant, &[("reply", "yes")]),
    ];
    assert_eq!(
        breaks(&[first, second]),
        [None, Some((0, "artifacts".to_owned(), 102))]
    );
}

#[test]
fn a_message_that_grew_breaks_where_it_grew() {
    let first = vec![said(User, &[("user", "hi")])];
    let second = vec![said(User, &[("user", "hi"), ("artifacts", " [on]")])];
    assert_eq!(
        breaks(&[first, second]),
        [None, Some((0, "artifacts".to_owned(), 102))]
    );
}

#[test]
fn another_role_breaks_at_the_message() {
    let first = vec![
        said(System, &[("agent", "a")]),
        said(User, &[("user", "hi")]),
    ];
    let second = vec![
        said(System, &[("agent", "a")]),
        said(Assistant, &[("reply", "hi")]),
    ];
    assert_eq!(
        breaks(&[first, second]),
        [None, Some((0, "reply".to_owned(), 101))]
    );
}

#[test]
fn the_longest_prefix_wins_and_then_the_newest() {
    let system = |text| said(System, &[("date", text)]);
    let hi = said(User, &[("user", "hi")]);
    let requests = [
        vec![system("day 1"), hi.clone()],
        vec![system("day 2"), hi.clone()],
        vec![system("other"), hi.clone()],
        vec![system("day 3"), hi.clone()],
        vec![system("day 1"), said(User, &[("user", "ho")])],
    ];
    let found: Vec<_> = breaks(&requests)
        .into_iter()
        .map(|at| at.map(|at| at.0))
        .collect();
    assert_eq!(found, [None, Some(0), Some(1), Some(1), Some(0)]);
}

#[test]
fn a_nonce_is_neither_compared_nor_a_cause() {
    let with = |nonce| vec![said(System, &[("nonce", nonce), ("agent", "be kind")])];
    assert_eq!(breaks(&[with("1 2 3"), with("4 5 6")]), [None, None]);
}

#[test]
fn requests_under_other_salts_are_not_compared() {
    let said = [
        vec![said(System, &[("agent", "a")])],
        vec![said(System, &[("agent", "b")])],
    ];
    let spans = store(&said);
    let mut records: Vec<_> = said.iter().map(|said| record(said)).collect();
    records[1].salt = Some(Arc::from("s"));
    let mut finder = Breaks::new(&spans);
    assert_eq!(finder.next(&records[0], true), None);
    assert_eq!(finder.next(&records[1], true), None);
}

#[test]
fn what_was_never_computed_is_not_compared_with() {
    let said = [
        vec![said(System, &[("agent", "a")])],
        vec![said(System, &[("agent", "b")])],
    ];
    let spans = store(&said);
    let records: Vec<_> = said.iter().map(|said| record(said)).collect();
    let mut finder = Breaks::new(&spans);
    assert_eq!(finder.next(&records[0], false), None);
    assert_eq!(finder.next(&records[1], true), None);
}

#[test]
fn without_texts_the_span_that_differs_is_still_found() {
    let said = [
        vec![said(System, &[("agent", "a"), ("memory", "x")])],
        vec![said(System, &[("agent", "a"), ("memory", "y")])],
    ];
    let records: Vec<_> = said.iter().map(|said| record(said)).collect();
    let nothing = SpanStore::default();
    let mut finder = Breaks::new(&nothing);
    assert_eq!(finder.next(&records[0], true), None);
    let place = finder.next(&records[1], true).expect("differs");
    assert_eq!((place.origin.as_str(), place.byte), ("memory", 101));
}

mod against_a_naive_search {
    use super::super::messages::Message;
    use super::super::tree::{Meeting, Tree};
    use crate::chat::Role;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Bytes that two messages share; texts are ASCII here.
    fn shared(a: &Message, b: &Message) -> usize {
        let same = |(a, b): &(u8, u8)| a == b;
        let count = a.1.bytes().zip(b.1.bytes()).take_while(same).count();
        if a.0 == b.0 { count } else { 0 }
    }

    /// Every earlier request against the new one, one by one.
    fn naive(earlier: &[Vec<Message>], new: &[Message]) -> Option<Meeting> {
        let place = |old: &Vec<Message>| {
            let whole = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            let part = old.get(whole).zip(new.get(whole));
            (whole, part.map_or(0, |(a, b)| shared(a, b)))
        };
        let ranked = earlier.iter().enumerate().map(|(at, old)| (place(old), at));
        let ((message, offset), predecessor) = ranked.max()?;
        let goes_on = message == new.len() || message == earlier[predecessor].len();
        (!goes_on).then_some(Meeting {
            predecessor,
            message,
            offset,
        })
    }

    fn message() -> impl Strategy<Value = Message> {
        let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
        (role, "[ab]{0,3}").prop_map(|(role, text)| (role, Arc::from(text)))
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_the_naive_search_finds(
            requests in prop::collection::vec(prop::collection::vec(message(), 0..5), 1..12),
        ) {
            let mut tree = Tree::default();
            for (index, request) in requests.iter().enumerate() {
                prop_assert_eq!(tree.meet(request), naive(&requests[..index], request));
                tree.insert(request, index);
            }
        }
    }
}
