//! What a weight and an order do to levels.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    load: LoadArguments,
    #[arg(long)]
    repeat: Option<u32>,
}

fn load(flags: &[&str]) -> Load {
    let flags = Flags::try_parse_from([&["run"], flags].concat()).unwrap();
    let mut settings = Settings::of_run(&std::collections::BTreeMap::new());
    let load = Load::new(&flags.load, flags.repeat, &mut settings);
    load.map_err(|failure| failure.report.to_string()).unwrap()
}

#[test]
fn a_weight_multiplies_a_number_and_a_time_and_is_refused_where_neither_is_said() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (flags, expected) in [
        (&["--repeat", "4"][..], Some((12, None))),
        (&["--duration", "10s"], Some((1_000_000, seconds(30)))),
        (
            &["--duration", "10s", "--repeat", "4"],
            Some((12, seconds(30))),
        ),
        (
            &["--load", "open=1/s,constant", "--duration", "10s"],
            Some((30, seconds(30))),
        ),
        (
            &["--load", "ramp=1..4,over=20s", "--repeat", "4"],
            Some((12, seconds(20))),
        ),
        (&["--load", "ramp=1..4,over=20s"], None),
        (&["--load", "steps=1@5s,2@5s", "--duration", "4s"], None),
    ] {
        let load = load(flags);
        assert!(load.weighs("chat", 1).is_ok(), "{flags:?}");
        let weighs = load.weighs("chat", 3);
        let begin = load.beginning(&load.levels[0], 3, 1);
        if let Some(expected) = expected {
            assert!(weighs.is_ok(), "{flags:?}");
            assert_eq!((begin.conversations, begin.until), expected, "{flags:?}");
        } else {
            let said = weighs.err().unwrap().report.to_string();
            assert!(said.contains("ends by itself"), "{said}");
        }
    }
}

#[test]
fn that_a_schedule_is_not_interleaved_is_said() {
    for (flags, said) in [
        (&["--sessions", "2", "--duration", "10s"][..], false),
        (&["--load", "open=1/s", "--repeat", "3"], true),
        (&["--load", "ramp=1..4,over=20s"], true),
    ] {
        let mut load = load(flags);
        let beginnings = [load.beginning(&load.levels[0], 1, 1)];
        assert_eq!(load.warnings(&beginnings), [""; 0], "{flags:?}");
        load.shuffled = true;
        let warnings = load.warnings(&beginnings);
        assert_eq!(!warnings.is_empty(), said, "{flags:?} {warnings:?}");
    }
}

#[test]
fn one_conversation_is_the_default_of_levels_that_do_not_end_by_themselves_only() {
    let flags = ["--load", "sessions=2", "--load", "steps=5/s@10s,constant"];
    let load = load(&flags);
    let counts = load.levels.iter().map(|level| load.beginning(level, 1, 1));
    let counts: Vec<_> = counts.map(|begin| begin.conversations).collect();
    assert_eq!(counts, [1, 50]);
}
