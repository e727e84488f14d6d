use super::*;

fn span(origin: &str, text: &str) -> Span {
    Span::new(origin, Class::Turn, text)
}

fn text(spans: &[Span]) -> String {
    spans.iter().map(|span| &*span.text).collect()
}

#[test]
fn separators_belong_to_what_follows_and_empty_items_have_none() {
    let joined = join(
        "\n\n",
        [
            vec![span("a", "")],
            vec![span("b", "B")],
            vec![],
            vec![span("c", ""), span("c", "C")],
        ],
    );
    assert_eq!(joined, [span("b", "B"), span("c", "\n\n"), span("c", "C")]);
}

#[test]
fn trimming_reaches_across_spans_and_shares_what_needs_none() {
    let kept = Text::from("B");
    let spans = vec![
        span("a", " \n"),
        span("a", " A"),
        Span::new("b", Class::Turn, kept.clone()),
        span("c", "C\n"),
        span("d", "\n"),
    ];
    let trimmed = trim(spans);
    assert_eq!(text(&trimmed), "ABC");
    assert!(trimmed.iter().any(|span| span.text.is_same(&kept)));
    assert!(trim(vec![span("a", " ")]).is_empty());
}

#[test]
fn nothing_in_an_escaped_text_opens_or_closes_the_tag() {
    let cases = [
        ("plain < text", "plain < text"),
        ("a </block> b", "a &lt;/block> b"),
        ("<block>", "&lt;block>"),
        ("< / BLOCK >x<b>", "&lt; / BLOCK >x<b>"),
        ("<<block", "<&lt;block"),
        ("<bloc", "<bloc"),
        ("<é</block", "<é&lt;/block"),
    ];
    for (given, expected) in cases {
        assert_eq!(&*escape(&Text::from(given), "block"), expected);
    }
    let plain = Text::from("nothing");
    assert!(escape(&plain, "block").is_same(&plain));
}

#[test]
fn every_attachment_is_named_and_shares_its_text() {
    let phrases = Phrases::default();
    let body = Text::from("BODY");
    let note = Note {
        path: Arc::from("a/b.md"),
        text: Some(body.clone()),
        created: jiff::Timestamp::UNIX_EPOCH,
        modified: jiff::Timestamp::UNIX_EPOCH,
        tags: vec![],
    };
    let gone = Note {
        text: None,
        ..note.clone()
    };
    let url: Arc<str> = Arc::from("https://example.test/");
    let cases = [
        (
            Attachment::Note {
                note: note.clone(),
                active: true,
            },
            "a/b.md",
            "notes/a/b.md",
        ),
        (
            Attachment::Url {
                url: url.clone(),
                text: body.clone(),
            },
            &*url,
            "urls/https://example.test/",
        ),
        (
            Attachment::Tab {
                url: url.clone(),
                text: body.clone(),
                active: false,
            },
            &*url,
            "tabs/https://example.test/",
        ),
        (
            Attachment::Selection {
                source: note.path.clone(),
                web: false,
                lines: Some((3, 5)),
                text: body.clone(),
            },
            "3-5",
            "selections/a/b.md",
        ),
        (
            Attachment::Tag {
                tag: Arc::from("t"),
                notes: vec![note.clone()],
            },
            "#t",
            "tags/t",
        ),
        (
            Attachment::Folder {
                path: Arc::from("a"),
                notes: vec![note],
            },
            "a",
            "folders/a",
        ),
    ];
    for (item, named, key) in cases {
        let spans = attachment(&item, &phrases);
        assert!(text(&spans).contains(named), "{key}");
        assert!(spans.iter().any(|span| span.text.is_same(&body)), "{key}");
        assert_eq!(spans[0].origin.as_str(), key);
    }
    let unreadable = file_context(
        &[Attachment::Note {
            note: gone,
            active: false,
        }],
        &phrases,
    );
    assert!(text(&unreadable).ends_with(phrases.get("files.unreadable")));
    assert!(file_context(&[], &phrases).is_empty());
}
