//! What the compared layouts leave out: a layout may compute less because the
//! model is told less, and whoever compares them must see that.

use crate::analysis::Results;
use crate::context::keeps::{Keeps, keeps};

/// Sentences about the configurations of a run; none where nothing is known.
pub(super) fn layouts(results: &Results) -> Vec<String> {
    let mut whole = Vec::new();
    let mut lacking: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in &results.configurations {
        match keeps(&note.base) {
            Some(Keeps::All) => whole.push(&*note.name),
            Some(Keeps::Not(what)) => match lacking.iter_mut().find(|(known, _)| *known == what) {
                Some((_, names)) => names.push(&note.name),
                None => lacking.push((what, vec![&note.name])),
            },
            Some(Keeps::Yours) | None => {}
        }
    }
    let mut said = Vec::new();
    if !lacking.is_empty() {
        let all = if whole.is_empty() {
            String::new()
        } else {
            let verb = if whole.len() == 1 { "tells" } else { "tell" };
            let whole = listed(&whole);
            format!("{whole} {verb} the model every fact of the sources in every request. ")
        };
        let less = lacking
            .iter()
            .map(|(what, names)| format!("{} may lack {what}", listed(names)));
        let less = less.collect::<Vec<_>>().join("; ");
        said.push(format!(
            "{all}{less} (as found over the scenarios that come with the program)."
        ));
    }
    let filled: Vec<&str> = results
        .configurations
        .iter()
        .filter(|note| note.base.starts_with("copilot-"))
        .map(|note| &*note.name)
        .collect();
    if !filled.is_empty() {
        said.push(format!(
            "{}: the wording around content is this program's own, and passages whose wording is \
             not public are filler of about their length.",
            listed(&filled)
        ));
    }
    said
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Samples;
    use crate::analysis::testing::{manifest, story};
    use crate::record::ConfigurationFacts;
    use std::sync::Arc;

    fn said(bases: &[&str]) -> Vec<String> {
        let (records, bounds) = story();
        let mut manifest = manifest();
        let facts = |base: &&str| ConfigurationFacts {
            name: Arc::from(*base),
            base: Arc::from(*base),
            options: serde_json::Value::Null,
        };
        manifest.configurations = bases.iter().map(facts).collect();
        let samples = Samples::of(&manifest, &records, &bounds);
        layouts(&Results::new(&manifest, &samples, Vec::new()))
    }

    #[test]
    fn what_a_layout_leaves_out_is_said() {
        let said = said(&["inline", "dev", "layered", "append-only", "external"]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("inline and append-only tell the model every fact"));
        assert!(
            said[0].contains("dev and layered may lack what was retrieved"),
            "{said:?}"
        );
    }

    #[test]
    fn nothing_is_said_where_nothing_is_lacking_or_known() {
        assert_eq!(
            said(&["append-only", "external", "raw"]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn fillers_are_told() {
        let said = said(&["copilot-4"]);
        assert!(said.iter().any(|line| line.contains("filler")), "{said:?}");
    }
}
