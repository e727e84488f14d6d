//! What a page must hold, and what may not be in it.

use super::*;
use crate::chart::share_by_group::{Bar, Group};
use crate::chart::{Note, ShareByGroup, Source};

const NASTY: &str = "<script>alert('x')</script> & \"quotes\" </pre></style>";

fn figure(configuration: &str) -> Picture {
    let bar = Bar {
        configuration: configuration.to_owned(),
        share: Some(0.5),
        low: None,
        high: None,
        achievable: Some(0.6),
        requests: 3,
        of: None,
    };
    let note = Note {
        requests: 3,
        without_count: 0,
        conversations: 1,
        date: "2026-10-16".to_owned(),
        source: Source::Simulated,
        model: String::new(),
        cache_model: String::new(),
    };
    let groups = vec![Group {
        name: String::new(),
        bars: vec![bar],
    }];
    Picture {
        figure: Figure::ShareByGroup(ShareByGroup { groups, note }),
        caption: NASTY.to_owned(),
        file: "charts/a.svg".to_owned(),
    }
}

fn table(title: &str) -> Table {
    let column = |name: &str, number| Column {
        key: name.to_owned(),
        name: name.to_owned(),
        help: String::new(),
        number,
    };
    Table {
        key: "totals".to_owned(),
        title: title.to_owned(),
        note: NASTY.to_owned(),
        columns: vec![
            column("configuration", false),
            column("cached share (%)", true),
        ],
        rows: vec![
            vec![
                Cell::text(NASTY),
                Cell::number(Some(62.37), |v| format!("{v:.1}")),
            ],
            vec![Cell::text("dev"), Cell::number(None, |v| v.to_string())],
        ],
    }
}

fn page() -> Page {
    let excerpt = |request: &str| Excerpt {
        request: request.to_owned(),
        text: NASTY.to_owned(),
    };
    Page {
        title: "quickstart".to_owned(),
        headline: NASTY.to_owned(),
        basis: vec!["120 requests".to_owned()],
        warnings: vec![NASTY.to_owned()],
        summary: table("Summary"),
        figures: vec![figure(NASTY)],
        figures_note: String::new(),
        breaks_note: NASTY.to_owned(),
        advice: vec![NASTY.to_owned()],
        breaks: vec![Break {
            lost: "3,100 tokens".to_owned(),
            title: NASTY.to_owned(),
            advice: NASTY.to_owned(),
            common: NASTY.to_owned(),
            earlier: excerpt("turn 2"),
            now: excerpt("turn 3"),
        }],
        tables: vec![table("By turn")],
        facts: vec![Fact {
            name: "seed".to_owned(),
            value: NASTY.to_owned(),
        }],
        downloads: vec![Download {
            name: "requests.csv".to_owned(),
            media_type: "text/csv",
            size: 12,
            content: Some("a,b\n1,\"<x>\"\n".to_owned()),
        }],
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let html = html(&page()).expect("page");
    assert!(!html.contains("<script>alert"));
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(
        html.matches("</style>").count(),
        2,
        "the page's own and the picture's"
    );
    // Fourteen fields of the page hold it, and the picture besides.
    assert!(html.matches("&lt;script&gt;alert").count() >= 14);
}

#[test]
fn a_page_names_no_address_to_load_from() {
    let html = html(&page()).expect("page");
    let inert = "http://www.w3.org/2000/svg";
    assert!(!html.replace(inert, "").contains("://"));
    for attribute in ["src=", "@import", "url("] {
        assert!(!html.contains(attribute), "{attribute}");
    }
    assert!(html.contains("href=\"data:text&#x2f;csv;charset=utf-8,a,b%0A1,%22%3Cx%3E%22%0A\""));
}

#[test]
fn a_number_is_sorted_by_its_value_and_an_unknown_one_is_empty() {
    let html = html(&page()).expect("page");
    assert!(html.contains("<td class=\"number\" data-value=\"62.37\">62.4</td>"));
    assert!(html.contains("<td class=\"number\"></td>"));
}

#[test]
fn an_empty_page_has_its_sentence_and_no_empty_sections() {
    let bare = Page {
        title: "nothing".to_owned(),
        headline: "No request was answered.".to_owned(),
        ..Page::default()
    };
    let html = html(&bare).expect("page");
    assert!(html.contains("<h1>No request was answered.</h1>"));
    for section in ["<section", "<figure", "<table", "<details"] {
        assert!(!html.contains(section), "{section}");
    }
}

#[test]
fn a_large_file_is_named_and_not_carried() {
    let mut page = page();
    page.downloads[0].content = Some("1,2\n".repeat(100_000));
    page.downloads[0].size = 400_000;
    let html = html(&page).expect("page");
    assert!(html.contains("requests.csv (400 kB) is beside this page"));
    assert!(html.len() < 100_000, "{} bytes", html.len());
}

#[test]
fn a_hundred_thousand_rows_are_some_hundreds_and_a_sentence() {
    let mut page = page();
    let row = page.tables[0].rows[1].clone();
    page.tables[0].rows = vec![row; 100_000];
    page.breaks = vec![page.breaks[0].clone(); 101];
    let html = html(&page).expect("page");
    assert!(html.contains("The first 400 of 100,000 rows"));
    assert!(html.contains("The first 50 of 101 breaks"));
    assert_eq!(html.matches("<details>").count(), 50);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

#[test]
fn the_same_page_gives_the_same_bytes() {
    assert_eq!(html(&page()).expect("page"), html(&page()).expect("page"));
}
