//! What a `user` step attaches.

use super::Check;
use crate::chat::Text;
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::image;
use crate::scenario::load::steps::{AttachFile, SelectionFile};
use crate::scenario::load::yaml::At;
use crate::scenario::model::Attach;
use crate::scenario::names::nearest;
use std::ops::Range;
use std::sync::Arc;

impl Check {
    /// One attachment; what it names must exist now.
    pub(super) fn attach(&mut self, at: &At<AttachFile>) -> Result<Attach, ScenarioError> {
        let AttachFile {
            note,
            url,
            tab,
            active,
            selection,
            tag,
            folder,
            image,
        } = &at.value;
        if let (Some(active), None, None) = (active, note, tab) {
            let mistake = Mistake::value("`active`", "is for notes and tabs only");
            return Err(self.error(&active.place, mistake));
        }
        let active = active.as_ref().is_some_and(|active| active.value);
        match (note, url, tab, selection, tag, folder, image) {
            (Some(path), None, None, None, None, None, None) => Ok(Attach::Note {
                path: self.existing_note(path)?,
                active,
            }),
            (None, Some(url), None, None, None, None, None) => {
                self.page(url, false).map(Attach::Url)
            }
            (None, None, Some(url), None, None, None, None) => Ok(Attach::Tab {
                url: self.page(url, true)?,
                active,
            }),
            (None, None, None, Some(selection), None, None, None) => self.selection(selection),
            (None, None, None, None, Some(tag), None, None) => self.tagged(tag),
            (None, None, None, None, None, Some(folder), None) => self.folder(folder),
            (None, None, None, None, None, None, Some(image)) => self.image(image),
            _ => {
                let mistake = Mistake::value("an attachment", "needs exactly one kind")
                    .helped("kinds: note, url, tab, selection, tag, folder, image");
                Err(self.error(&at.place, mistake))
            }
        }
    }

    /// The path of a note that can be read now.
    pub(super) fn existing_note(&self, at: &At<String>) -> Result<Arc<str>, ScenarioError> {
        let notes = &self.world.notes;
        if let Some((path, _)) = notes.get_key_value(at.value.as_str()) {
            return Ok(Arc::clone(path));
        }
        let help = if notes.is_empty() {
            "write it under `notes`, or by a `note` step before this one".to_owned()
        } else {
            let known: Vec<&str> = notes.keys().take(8).map(|path| &**path).collect();
            format!("notes at this point: {}", known.join(", "))
        };
        let mistake = Mistake::UnknownName {
            what: "note",
            name: at.value.clone(),
            nearest: nearest(&at.value, notes.keys().map(|path| &**path)).map(str::to_owned),
            help,
        };
        Err(self.error(&at.place, mistake))
    }

    fn page(&self, at: &At<String>, tab: bool) -> Result<Arc<str>, ScenarioError> {
        let (known, what, help) = if tab {
            (
                &self.world.tabs,
                "tab",
                "give its text under `tabs` or by a `tab` step",
            )
        } else {
            (
                &self.world.urls,
                "page",
                "give its text under `urls` or by a `url` step",
            )
        };
        if let Some(url) = known.get(at.value.as_str()) {
            return Ok(Arc::clone(url));
        }
        let mistake = Mistake::UnknownName {
            what,
            name: at.value.clone(),
            nearest: nearest(&at.value, known.iter().map(|url| &**url)).map(str::to_owned),
            help: help.to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn selection(&mut self, at: &At<SelectionFile>) -> Result<Attach, ScenarioError> {
        let SelectionFile {
            note,
            url,
            lines,
            text,
        } = &at.value;
        let (source, web) = match (note, url) {
            (Some(note), None) => (self.existing_note(note)?, false),
            (None, Some(url)) => (self.filled(url, "`url`")?, true),
            _ => {
                let mistake =
                    Mistake::value("a selection", "needs exactly one of `note` and `url`");
                return Err(self.error(&at.place, mistake));
            }
        };
        if let Some(lines) = lines
            && (lines.value.0 == 0 || lines.value.0 > lines.value.1)
        {
            let mistake = Mistake::value(
                "`lines`",
                "must begin at 1 or later and not end before that",
            );
            return Err(self.error(&lines.place, mistake));
        }
        let lines_of = lines.as_ref().map(|lines| (lines.value.0, lines.value.1));
        let text = match (text, lines_of) {
            (Some(text), _) => self.texts.text(text)?,
            (None, Some(lines)) if !web => self.lines(&source, lines, &at.place)?,
            (None, _) => return Err(self.error(&at.place, Mistake::Missing { name: "text" })),
        };
        Ok(Attach::Selection {
            source,
            web,
            lines: lines_of,
            text,
        })
    }

    /// Lines of a note as it is now.
    fn lines(
        &mut self,
        note: &str,
        (first, last): (u32, u32),
        place: &Range<usize>,
    ) -> Result<Text, ScenarioError> {
        let text = self
            .world
            .notes
            .get(note)
            .map(|(text, _)| text.clone())
            .unwrap_or_default();
        let wanted: Vec<&str> = text
            .lines()
            .skip(first as usize - 1)
            .take((last - first) as usize + 1)
            .collect();
        if wanted.len() != (last - first) as usize + 1 {
            let mistake = Mistake::value(
                format_args!("`{note}`"),
                format!(
                    "has no line {last}: it ends at line {}",
                    text.lines().count()
                ),
            );
            return Err(self.error(place, mistake));
        }
        let selected = wanted.join("\n");
        self.texts.count(selected.len(), place)?;
        Ok(Text::from(selected))
    }

    fn tagged(&self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let tag = self.tag(at)?;
        let known: Vec<&Arc<str>> = self
            .world
            .notes
            .values()
            .flat_map(|(_, tags)| tags)
            .collect();
        if known.contains(&&tag) {
            return Ok(Attach::Tag(tag));
        }
        let mistake = Mistake::UnknownName {
            what: "tag",
            name: tag.to_string(),
            nearest: nearest(&tag, known.iter().map(|tag| &***tag)).map(str::to_owned),
            help: "give it to a note: `notes: {a.md: {text: ..., tags: [...]}}`".to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn folder(&self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let folder = at.value.trim_end_matches('/');
        let within = |path: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if !folder.is_empty() && self.world.notes.keys().any(|path| within(path)) {
            return Ok(Attach::Folder(Arc::from(folder)));
        }
        let folders = self
            .world
            .notes
            .keys()
            .filter_map(|path| Some(path.rsplit_once('/')?.0));
        let mistake = Mistake::UnknownName {
            what: "folder",
            name: at.value.clone(),
            nearest: nearest(folder, folders).map(str::to_owned),
            help: "no note lies in it".to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn image(&mut self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let bytes = self
            .texts
            .files
            .bytes(&at.value)
            .map_err(|mistake| self.error(&at.place, mistake))?;
        let Some(media_type) = image::media_type(&bytes) else {
            let mistake = Mistake::value(
                format_args!("`{}`", at.value),
                "is no PNG, JPEG, GIF or WebP",
            );
            return Err(self.error(&at.place, mistake));
        };
        let data = image::base64(&bytes);
        self.texts.count(data.len(), &at.place)?;
        let name = at.value.rsplit(['/', '\\']).next().unwrap_or(&at.value);
        Ok(Attach::Image {
            name: Arc::from(name),
            media_type: Arc::from(media_type),
            data: Text::from(data),
        })
    }
}
