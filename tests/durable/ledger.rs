//! What the ledger says of caches, and what becomes of conversations that found one
//! that was not as it should be.

use crate::folder::{Folder, Served};
use prefixbench::record::ledger::{Held, Start, WarmUp};
use prefixbench::record::{Fact, RunContents};
use prefixbench::server::{Options, Speed};

fn flags(run: &RunContents, flag: &str) -> usize {
    let mut bounds = run.bounds.iter();
    let has = |flags: &[std::sync::Arc<str>]| flags.iter().any(|other| &**other == flag);
    bounds.by_ref().filter(|bound| has(&bound.flags)).count()
}

fn starts(run: &RunContents) -> Vec<(Start, Option<bool>)> {
    let facts = run.ledger.iter().filter_map(|line| match &line.fact {
        Fact::Conversation(fact) => Some((fact.start, fact.as_expected)),
        _ => None,
    });
    facts.collect()
}

fn warm_ups(run: &RunContents) -> Vec<WarmUp> {
    let facts = run.ledger.iter().filter_map(|line| match &line.fact {
        Fact::WarmUp(fact) => Some(fact.clone()),
        _ => None,
    });
    facts.collect()
}

fn probes(run: &RunContents) -> Vec<Held> {
    let facts = run.ledger.iter().filter_map(|line| match &line.fact {
        Fact::Probe(fact) => Some(fact.held),
        _ => None,
    });
    facts.collect()
}

#[test]
fn a_cache_that_another_run_warmed_is_noticed_and_its_conversations_count_nowhere() {
    for by in ["salt", "nonce"] {
        let server = Served::instant();
        let folder = Folder::new();
        let fixed = ["run", "chat.yaml", "--config", "dev", "--repeat", "2"];
        let by = [
            "--target",
            &server.url,
            "--isolate-by",
            by,
            "--nonce",
            "12345678",
        ];
        let run = |out: &str| {
            let ended = folder.run(&[&fixed[..], &by, &["--out", out]].concat());
            ended.ended_with(0, &[]);
            folder.contents(out)
        };
        let cold = run("cold");
        assert_eq!(flags(&cold, "contaminated"), 0);
        assert_eq!(starts(&cold), [(Start::Cold, Some(true)); 2]);
        let warm = run("warm");
        assert_eq!(flags(&warm, "contaminated"), 6, "every request of both");
        assert_eq!(starts(&warm), [(Start::Cold, Some(false)); 2]);
        let summary = folder.read("warm/summary.csv");
        let mut rows = summary
            .lines()
            .map(|row| row.split(',').collect::<Vec<_>>());
        let names = rows.next().expect("names");
        let row = rows.next().expect("a row");
        let cell = |name: &str| row[names.iter().position(|other| *other == name).expect(name)];
        assert_eq!((cell("requests"), cell("set_apart")), ("6", "6"));
        assert_eq!(
            cell("without_count"),
            "0",
            "they were counted, only not trusted"
        );
        assert_eq!((cell("cached_share"), cell("total_tokens")), ("", ""));
        assert!(folder.read("warm/report.md").contains("contaminated"));
    }
}

#[test]
fn with_nothing_done_a_warm_cache_is_no_contamination() {
    let server = Served::instant();
    let folder = Folder::new();
    for out in ["first", "second"] {
        let fixed = ["run", "chat.yaml", "--config", "dev", "--isolate", "none"];
        let more = ["--target", &server.url, "--out", out];
        folder.run(&[&fixed[..], &more].concat()).ended_with(0, &[]);
    }
    let second = folder.contents("second");
    assert_eq!(flags(&second, "contaminated"), 0);
    assert_eq!(flags(&second, "above_bound"), 3, "what the first run left");
    assert_eq!(starts(&second), [(Start::Unknown, None)]);
    assert_eq!(
        probes(&second),
        [],
        "nothing is asked that others could find"
    );
}

#[test]
fn a_primed_unit_begins_warm_and_an_isolated_warm_up_leaves_it_cold() {
    let cases = [
        (
            "prime",
            "conversation",
            2,
            vec![(Start::Warm, Some(true)); 2],
        ),
        ("prime", "cell", 1, vec![(Start::Warm, Some(true)); 2]),
        (
            "isolate",
            "conversation",
            1,
            vec![(Start::Cold, Some(true)); 2],
        ),
    ];
    for (mode, isolate, warmed, expected) in cases {
        for by in ["salt", "nonce"] {
            let folder = Folder::new();
            let fixed = ["run", "chat.yaml", "--config", "dev", "--repeat", "2"];
            let how = ["--warm-up", mode, "--isolate", isolate, "--isolate-by", by];
            let ended = folder.run(&[&fixed[..], &how, &["--out", "run"]].concat());
            ended.ended_with(0, &[]);
            let run = folder.contents("run");
            assert_eq!(starts(&run), expected, "{mode} {isolate} {by}");
            assert_eq!(run.requests.len(), 6, "what warms is not counted");
            let warm_ups = warm_ups(&run);
            assert_eq!(warm_ups.len(), warmed, "{mode} {isolate}");
            let prime = mode == "prime";
            assert!(
                warm_ups
                    .iter()
                    .all(|fact| fact.readable == prime.then_some(true))
            );
            assert_eq!(flags(&run, "contaminated") + flags(&run, "above_bound"), 0);
            // What warmed is known to the bounds.
            for bound in run.bounds.iter().filter(|bound| bound.turn == 1) {
                let shared = bound.bound > Some(prefixbench::units::Tokens(0));
                assert_eq!(shared, prime, "{mode} {isolate} {by}");
            }
        }
    }
}

#[test]
fn the_probe_at_a_cells_end_tells_whether_its_first_prompt_was_still_held() {
    for (capacity, expected) in [(4_000, Held::Whole), (30, Held::Nothing)] {
        let model = format!("blocks:16,capacity={capacity}");
        let server = Served::start(Options {
            speed: Speed::INSTANT,
            cache_model: Some(model.parse().expect("a model")),
            ..Options::default()
        });
        let folder = Folder::new();
        let fixed = ["run", "chat.yaml", "--config", "dev", "--repeat", "4"];
        let more = ["--target", &server.url, "--out", "run"];
        folder.run(&[&fixed[..], &more].concat()).ended_with(0, &[]);
        let run = folder.contents("run");
        assert_eq!(probes(&run), [expected], "{capacity} blocks");
        assert_eq!(run.aside.len(), 1);
        assert_eq!(run.requests.len(), 12);
        assert!(!folder.read("run/requests.csv").contains("probe"));
        let off = [
            "--eviction-probe",
            "off",
            "--target",
            &server.url,
            "--out",
            "off",
        ];
        folder.run(&[&fixed[..], &off].concat()).ended_with(0, &[]);
        assert_eq!(folder.contents("off").aside.len(), 0);
    }
}
