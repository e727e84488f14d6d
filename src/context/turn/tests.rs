use crate::chat::Family;
use crate::context::Options;
use crate::context::testing::{Talk, flat, strategy};

#[test]
fn smoke() {
    for name in ["dev", "lever-off", "parts", "turn-context"] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Anthropic);
        talk.now.artifacts = Some("ARTIFACTS".into());
        talk.now.web_search = Some("CITE".into());
        talk.remember("name", "Ada");
        println!("{name}: {}", flat(&talk.send(&mut *it, "One.")));
        talk.reply("Yes.");
        talk.now.artifacts = None;
        talk.remember("name", "Bob");
        talk.wait(30);
        println!(
            "{name}: {}",
            flat(&talk.send_with(&mut *it, "Two.", |turn| turn.retrieved = Some("RAG".into())))
        );
    }
}
