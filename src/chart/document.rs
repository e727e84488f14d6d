//! What makes an SVG of shapes a document: name, description, and its colours on
//! a dark page.
//!
//! Invariant: nothing of a figure's text becomes markup.

use super::colour::DARK;
use super::scene::Scene;
use std::fmt::Write as _;

/// Gives the document a name, a description, a role, and its colours on a dark page.
pub(super) fn accessible(svg: &str, scene: &Scene) -> String {
    let mut dark = String::new();
    for (light, dark_one) in DARK {
        for property in ["fill", "stroke"] {
            let _infallible = write!(
                dark,
                "svg.prefixbench [{property}=\"{}\"]{{{property}:{}}}",
                light.hex(),
                dark_one.hex()
            );
        }
    }
    let head = format!(
        "<svg class=\"prefixbench\" role=\"img\" aria-label=\"{}\" ",
        escaped(&scene.title)
    );
    let style = format!(
        "<title>{}</title>\n<desc>{}</desc>\n<style>svg.prefixbench rect,svg.prefixbench line\
         {{shape-rendering:crispEdges}}@media screen and (prefers-color-scheme:dark){{{dark}}}</style>\n",
        escaped(&scene.title),
        escaped(&scene.description)
    );
    let body = svg.replacen("<svg ", &head, 1);
    match body.split_once(">\n") {
        Some((open, rest)) => format!("{open}>\n{style}{rest}"),
        None => body,
    }
}

/// Text as it may stand in XML, in an attribute too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
