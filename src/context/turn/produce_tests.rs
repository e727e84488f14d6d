use super::*;
use crate::chat::Family;
use crate::context::testing::{Talk, moment, text};

fn shown(sample: &Sample, clock: Clock, form: MemoryForm, key: &str) -> String {
    let phrases = Phrases::default();
    let producer = Producer {
        phrases: &phrases,
        form,
    };
    let parts = producer.parts(sample, clock);
    let part = parts.iter().find(|part| &*part.key == key);
    part.map_or_else(String::new, |part| text(&producer.part(part)))
}

#[test]
fn a_changed_memory_entry_moves_to_the_end_and_the_rest_is_numbered_anew() {
    let mut talk = Talk::new(Family::Openai);
    for (key, value) in [("name", "Ada"), ("city", "Rome"), ("tone", "formal")] {
        talk.remember(key, value);
    }
    let values = |talk: &Talk| shown(&talk.now, Clock::Turn, MemoryForm::Values, key::MEMORY);
    let before = values(&talk);
    assert!(before.ends_with(
        "# Facts remembered of this user:\n\
         1. [2026-10-16] Ada\n\n2. [2026-10-16] Rome\n\n3. [2026-10-16] formal"
    ));
    talk.wait(24);
    talk.remember("name", "Bob");
    assert!(
        values(&talk)
            .ends_with("\n1. [2026-10-16] Rome\n\n2. [2026-10-16] formal\n\n3. [2026-10-17] Bob")
    );
    let keyed = shown(&talk.now, Clock::Turn, MemoryForm::Keyed, key::MEMORY);
    assert!(keyed.ends_with(
        "\n\n2. [2026-10-16] tone (2 tokens): formal\n\n3. [2026-10-17] name (1 tokens): Bob"
    ));
    talk.now.memory.on = false;
    assert_eq!(values(&talk), "");
    talk.now.memory.on = true;
    talk.now.memory.entries.clear();
    assert_eq!(values(&talk), "", "no heading without entries");
}

#[test]
fn web_search_tells_the_turns_instant_or_the_minute_of_the_start() {
    let mut talk = Talk::new(Family::Openai);
    talk.now.web_search = Some("CITE".into());
    talk.now.started = moment("2026-10-16T21:59:59.999Z", "Europe/Berlin");
    talk.now.at = moment("2026-10-17T08:00:47.313Z", "UTC");
    let time = |clock| shown(&talk.now, clock, MemoryForm::Values, key::WEB_SEARCH_TIME);
    assert!(time(Clock::Turn).ends_with(" 2026-10-17T08:00:47.313Z"));
    assert!(time(Clock::Start).ends_with(" 2026-10-16 23:59 (Europe/Berlin)"));
    let start = prompt_time(&talk.now, Clock::Start);
    assert_eq!(start.datetime(), "2026-10-16 23:59:00 +02:00 (Friday)");
    assert_eq!(prompt_time(&talk.now, Clock::Turn), talk.now.at);
}

#[test]
fn the_catalogue_is_capped_in_entries_and_characters() {
    let mut talk = Talk::new(Family::Openai);
    let long = "ä".repeat(300);
    talk.now.skills = (0..120)
        .map(|it| (Arc::from(format!("s{it}")), Text::from(long.as_str())))
        .collect();
    let catalogue = shown(&talk.now, Clock::Turn, MemoryForm::Values, key::SKILLS);
    let lines: Vec<&str> = catalogue
        .lines()
        .filter(|line| line.starts_with("- s"))
        .collect();
    assert_eq!(lines.len(), 100);
    assert_eq!(lines[0], format!("- s0: {}", "ä".repeat(250)));
}

#[test]
fn a_source_without_text_is_off() {
    let mut talk = Talk::new(Family::Openai);
    talk.now.project = Some(" \n".into());
    talk.now.artifacts = Some(Text::default());
    let phrases = Phrases::default();
    let producer = Producer {
        phrases: &phrases,
        form: MemoryForm::Values,
    };
    let parts = producer.parts(&talk.now, Clock::Turn);
    let keys: Vec<&str> = parts.iter().map(|part| &*part.key).collect();
    assert_eq!(keys, [key::MEMORY]);
    assert!(producer.queued(&[]).is_empty());
    assert!(agent(&Text::from(" "), &talk.now.at).is_empty());
}
