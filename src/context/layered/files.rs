//! The vault as the modelled program sees it: files in the order in which they
//! were created, found by path, title, folder, tag or link.

use crate::chat::Text;
use crate::context::view::{Note, Vault};
use std::sync::Arc;

/// Files in order of creation. A rewritten file keeps its place; one that was
/// deleted or renamed comes back at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(Vec<Note>);

impl From<&Vault> for Files {
    fn from(vault: &Vault) -> Self {
        let readable = vault.values().filter(|note| note.text.is_some());
        Self(readable.cloned().collect())
    }
}

impl Files {
    /// Writes a file, in place of the one of that path where there is one.
    pub fn write(&mut self, note: Note) {
        match self.0.iter_mut().find(|file| file.path == note.path) {
            Some(file) => *file = note,
            None => self.0.push(note),
        }
    }

    /// Removes a file and gives it back; nothing where there is none.
    pub fn remove(&mut self, path: &str) -> Option<Note> {
        let at = self.0.iter().position(|file| file.path.as_ref() == path)?;
        Some(self.0.remove(at))
    }

    /// Renames a file; nothing where there is none.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(note) = self.remove(from) {
            self.0.push(Note {
                path: Arc::from(to),
                ..note
            });
        }
    }

    /// The file of that path.
    pub fn get(&self, path: &str) -> Option<&Note> {
        self.0.iter().find(|file| file.path.as_ref() == path)
    }

    /// The file of that path, or one that cannot be read.
    pub fn read(&self, path: &str) -> Note {
        self.get(path).cloned().unwrap_or_else(|| Note {
            path: Arc::from(path),
            text: None,
            created: jiff::Timestamp::UNIX_EPOCH,
            modified: jiff::Timestamp::UNIX_EPOCH,
            tags: Vec::new(),
        })
    }

    fn markdown(&self) -> impl Iterator<Item = &Note> {
        self.0.iter().filter(|file| extension(&file.path) == "md")
    }

    /// Markdown files with any of the tags, in order. A tag may begin with `#`.
    pub fn tagged<'a>(&'a self, tags: &[&str]) -> Vec<&'a Note> {
        let wanted: Vec<&str> = tags.iter().map(|tag| bare(tag)).collect();
        self.markdown()
            .filter(|file| file.tags.iter().any(|tag| wanted.contains(&bare(tag))))
            .collect()
    }

    /// Markdown files in whose path the parts of `folder` stand in that order,
    /// case ignored; all of them for `/`.
    pub fn below(&self, folder: &str) -> Vec<&Note> {
        if folder == "/" {
            return self.markdown().collect();
        }
        let wanted = folder.to_lowercase();
        let wanted = wanted.strip_prefix('/').unwrap_or(&wanted);
        let wanted = wanted.strip_suffix('/').unwrap_or(wanted);
        self.markdown()
            .filter(|file| holds_in_order(&file.path.to_lowercase(), wanted))
            .collect()
    }

    /// The file of that path, else the only Markdown file of that title.
    pub fn titled(&self, title: &str) -> Option<&Note> {
        self.get(title).or_else(|| {
            let mut matching = self.markdown().filter(|file| file.title() == title);
            matching.next().filter(|_| matching.next().is_none())
        })
    }

    /// The file that a saved chat means by `name`: that path, else the only
    /// Markdown file whose title equals its last part, extension included.
    pub fn recalled(&self, name: &str) -> Option<&Note> {
        self.get(name).or_else(|| {
            let title = name.rsplit('/').next().unwrap_or(name);
            let mut matching = self.markdown().filter(|file| file.title() == title);
            matching.next().filter(|_| matching.next().is_none())
        })
    }

    /// The file that a link means: its path with or without `.md`, else the
    /// first file whose path ends with it.
    pub fn linked(&self, link: &str) -> Option<&Note> {
        let names = [link.to_owned(), format!("{link}.md")];
        names.iter().find_map(|name| self.get(name)).or_else(|| {
            self.0.iter().find(|file| {
                names
                    .iter()
                    .any(|name| file.path.ends_with(&format!("/{name}")))
            })
        })
    }
}

fn bare(tag: &str) -> &str {
    tag.strip_prefix('#').unwrap_or(tag).trim()
}

/// Whether the parts of `wanted` stand among those of `path` in that order; one
/// part may answer for several equal ones.
fn holds_in_order(path: &str, wanted: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let mut from = 0;
    wanted.split('/').all(
        |want| match parts[from..].iter().position(|part| *part == want) {
            Some(offset) => {
                from += offset;
                true
            }
            None => false,
        },
    )
}

/// What stands behind the last dot of the file name; empty without a dot.
pub(super) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// The note's text; empty where it cannot be read.
pub(super) fn text_of(note: &Note) -> Text {
    note.text.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn files(paths: &[(&str, &[&str])]) -> Files {
        let mut files = Files::default();
        for (path, tags) in paths {
            files.write(Note {
                path: Arc::from(*path),
                text: Some(Text::from("x")),
                created: Timestamp::UNIX_EPOCH,
                modified: Timestamp::UNIX_EPOCH,
                tags: tags.iter().map(|tag| Arc::from(*tag)).collect(),
            });
        }
        files
    }

    fn paths(notes: &[&Note]) -> Vec<String> {
        notes.iter().map(|note| note.path.to_string()).collect()
    }

    #[test]
    fn folders_match_by_parts_in_order_and_without_case() {
        let files = files(&[
            ("A/b/c.md", &[]),
            ("b/a.md", &[]),
            ("a/b.pdf", &[]),
            ("ab/c.md", &[]),
        ]);
        let cases: &[(&str, &[&str])] = &[
            ("a", &["A/b/c.md"]),
            ("/A/b/", &["A/b/c.md"]),
            ("b", &["A/b/c.md", "b/a.md"]),
            ("b/a.md", &["b/a.md"]),
            ("c/a", &[]),
            ("/", &["A/b/c.md", "b/a.md", "ab/c.md"]),
        ];
        for (folder, expected) in cases {
            assert_eq!(paths(&files.below(folder)), *expected, "{folder}");
        }
    }

    #[test]
    fn tags_match_with_and_without_their_sign() {
        let files = files(&[("a.md", &["x"]), ("b.md", &["#y", "z"]), ("c.md", &["X"])]);
        assert_eq!(paths(&files.tagged(&["#x", "y"])), ["a.md", "b.md"]);
    }

    #[test]
    fn a_title_must_be_unique_and_a_moved_file_comes_last() {
        let mut files = files(&[("a.md", &[]), ("d/a.md", &[]), ("e/b.md", &[])]);
        assert_eq!(files.titled("a"), None);
        assert_eq!(files.titled("b").map(|n| n.path.as_ref()), Some("e/b.md"));
        assert_eq!(files.recalled("x/b.md"), None);
        assert_eq!(files.linked("b").map(|n| n.path.as_ref()), Some("e/b.md"));
        files.rename("a.md", "z/a.md");
        assert_eq!(paths(&files.below("/")), ["d/a.md", "e/b.md", "z/a.md"]);
    }
}
