//! Blocks as the two releases write them into a context text.
//!
//! Each begins with a blank line. What is escaped and what is not is theirs:
//! titles are, paths and note texts are not.

use super::release::Release;
use super::units::escape;
use crate::context::view::Note;
use jiff::{Timestamp, tz::TimeZone};

/// A time as these blocks write it: UTC with milliseconds.
fn stamp(at: Timestamp) -> String {
    at.to_zoned_datetime(TimeZone::UTC)
        .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
        .to_string()
}

/// A note whose text is `body`.
pub(super) fn note(tag: &str, title: &str, note: &Note, body: &str) -> String {
    let path = &note.path;
    let (created, modified) = (stamp(note.created), stamp(note.modified));
    format!(
        "<{tag}>\n<title>{title}</title>\n<path>{path}</path>\n<ctime>{created}</ctime>\n\
         <mtime>{modified}</mtime>\n<content>\n{body}\n</content>\n</{tag}>"
    )
}

/// A note that could not be read, and what is said of it.
pub(super) fn unreadable(tag: &str, title: &str, note: &Note, error: &str) -> String {
    let path = &note.path;
    format!(
        "\n\n<{tag}_error>\n<title>{title}</title>\n<path>{path}</path>\n\
         <error>{error}</error>\n</{tag}_error>"
    )
}

/// A fetched page, video or post; `None` for a video that could not be fetched.
///
/// A page that could not be fetched is sent with its address as its text.
pub(super) fn url(release: Release, url: &str, text: Option<&str>) -> Option<String> {
    let kind = UrlKind::of(url);
    let body = match (kind, text) {
        (_, Some(text)) => text,
        (UrlKind::Video, None) => return None,
        (_, None) => url,
    };
    let (tag, inner) = match (release, kind) {
        (Release::V4, UrlKind::Video) => ("youtube_video_context", "content"),
        (Release::V31, UrlKind::Video) => ("youtube_transcript", "transcript"),
        (Release::V4, UrlKind::Post) => ("twitter_content", "content"),
        _ => ("url_content", "content"),
    };
    Some(format!(
        "\n\n<{tag}>\n<url>{url}</url>\n<{inner}>\n{body}\n</{inner}>\n</{tag}>"
    ))
}

/// What a URL leads to, as far as it decides the block's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrlKind {
    Page,
    Video,
    Post,
}

impl UrlKind {
    fn of(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let rest = rest.strip_prefix("www.").unwrap_or(rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        match host {
            "youtube.com" | "m.youtube.com"
                if path.starts_with("watch?v=") || path.starts_with("shorts/") =>
            {
                Self::Video
            }
            "youtu.be" => Self::Video,
            "x.com" | "twitter.com" | "mobile.twitter.com" if path.contains("/status/") => {
                Self::Post
            }
            _ => Self::Page,
        }
    }
}

/// A selection in a note; lines only where the first is above 0. Release 3.1
/// does not escape title and path yet.
pub(super) fn selection(
    release: Release,
    title: &str,
    path: &str,
    lines: Option<(u32, u32)>,
    text: &str,
) -> String {
    let shown = |text: &str| match release {
        Release::V31 => text.to_owned(),
        Release::V4 => escape(text),
    };
    let lines = match lines {
        Some((first, last)) if first > 0 => {
            format!("\n<start_line>{first}</start_line>\n<end_line>{last}</end_line>")
        }
        _ => String::new(),
    };
    format!(
        "\n\n<selected_text>\n<title>{}</title>\n<path>{}</path>{lines}\n\
         <content>\n{text}\n</content>\n</selected_text>",
        shown(title),
        shown(path)
    )
}

/// A selection in a page; everything escaped.
pub(super) fn web_selection(title: &str, url: &str, text: &str) -> String {
    format!(
        "\n\n<web_selected_text>\n<title>{}</title>\n<url>{}</url>\n\
         <content>\n{}\n</content>\n</web_selected_text>",
        escape(title),
        escape(url),
        escape(text)
    )
}

/// Names of files staged for the sandbox, which the releases have no block for.
pub(super) fn queued(names: &[std::sync::Arc<str>]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("- {}", escape(name)))
        .collect();
    format!(
        "\n\n<queued_code_files>\n{}\n</queued_code_files>",
        names.join("\n")
    )
}

/// A browser tab; everything escaped.
pub(super) fn tab(active: bool, title: &str, url: &str, mode: Option<&str>, text: &str) -> String {
    let tag = if active {
        "active_web_tab"
    } else {
        "web_tab_context"
    };
    let mode = mode
        .filter(|mode| !mode.is_empty())
        .map(|mode| format!("\n<mode>{}</mode>", escape(mode)))
        .unwrap_or_default();
    format!(
        "\n\n<{tag}>\n<title>{}</title>\n<url>{}</url>{mode}\n<content>\n{}\n</content>\n</{tag}>",
        escape(title),
        escape(url),
        escape(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_url_follows_from_where_it_leads() {
        let cases = [
            ("https://example.org/p", "<url_content>"),
            (
                "https://www.youtube.com/watch?v=abcdefghijk",
                "<youtube_video_context>",
            ),
            ("https://youtu.be/abcdefghijk", "<youtube_video_context>"),
            ("https://www.youtube.com/about", "<url_content>"),
            ("https://x.com/a/status/1", "<twitter_content>"),
            ("https://x.com/a", "<url_content>"),
        ];
        for (url, tag) in cases {
            let block = super::url(Release::V4, url, Some("t")).unwrap();
            assert!(block.trim_start().starts_with(tag), "{url}");
        }
    }

    #[test]
    fn a_failed_page_holds_its_address_and_a_failed_video_is_left_out() {
        let page = url(Release::V4, "https://e.org/?a&b", None).unwrap();
        assert!(page.contains("<content>\nhttps://e.org/?a&b\n</content>"));
        assert_eq!(url(Release::V4, "https://youtu.be/abcdefghijk", None), None);
    }

    #[test]
    fn a_tab_is_escaped_and_names_its_mode() {
        assert_eq!(
            tab(
                true,
                "A & B",
                "https://e.org/?a&b",
                Some("reader"),
                "<x> 'y'"
            ),
            "\n\n<active_web_tab>\n<title>A &amp; B</title>\n<url>https://e.org/?a&amp;b</url>\n\
             <mode>reader</mode>\n<content>\n&lt;x&gt; &apos;y&apos;\n</content>\n</active_web_tab>"
        );
    }
}
