use super::*;
use proptest::prelude::*;

fn begin(level: &str, count: Option<u32>, seconds: Option<u64>, seed: u64) -> Beginning {
    let level: Level = level.parse().unwrap();
    beginning(&level, count, seconds.map(Duration::from_secs), &[], seed)
}

fn times(level: &str, count: u32, seed: u64) -> Vec<f64> {
    match begin(level, Some(count), None, seed).opening {
        Opening::Open(times) => times.iter().map(Duration::as_secs_f64).collect(),
        Opening::Closed(_) => panic!("{level} is open"),
    }
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Mean and coefficient of variation.
fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance.sqrt() / mean)
}

#[test]
fn arrivals_have_the_mean_and_the_variation_that_their_level_says() {
    // 20,000 gaps: standard errors are below 1 % for a variation of 1, and about 3 % for 3.
    for (level, mean, variation) in [
        ("open=10/s,constant", 0.1, 0.0),
        ("open=10/s,poisson", 0.1, 1.0),
        ("open=600/min,poisson", 0.1, 1.0),
        ("open=10/s,gamma=0.5", 0.1, 0.5),
        ("open=10/s,gamma=1", 0.1, 1.0),
        ("open=2/s,gamma=3", 0.5, 3.0),
    ] {
        let (found, spread) = moments(&gaps(&times(level, 20_001, 7)));
        assert!(
            (found / mean - 1.0).abs() < 0.06,
            "{level}: mean gap {found}"
        );
        assert!(
            (spread - variation).abs() < 0.05 * variation.max(0.001) * 2.0,
            "{level}: {spread}"
        );
    }
}

#[test]
fn an_even_spread_begins_at_once_and_keeps_its_distance() {
    assert_eq!(times("open=4/s,constant", 4, 1), [0.0, 0.25, 0.5, 0.75]);
}

#[test]
fn arrivals_follow_from_level_and_seed_alone() {
    let first = times("open=3/s", 50, 1);
    assert_eq!(first, times("open=3/s", 50, 1));
    assert_ne!(first, times("open=3/s", 50, 2));
    // More of them are the same and then further ones.
    assert_eq!(first, times("open=3/s", 80, 1)[..50]);
}

#[test]
fn the_arrivals_of_a_seed_stay_what_they_are() {
    let micros: Vec<u128> = match begin("open=1/s", Some(3), None, 1).opening {
        Opening::Open(times) => times.iter().map(Duration::as_micros).collect(),
        Opening::Closed(_) => Vec::new(),
    };
    assert_eq!(micros, [820_485, 2_310_092, 2_318_762]);
}

#[test]
fn a_ramp_has_as_many_arrivals_as_the_area_under_it() {
    let up = times("ramp=0/s..100/s,over=100s,constant", 1_000_000, 1);
    assert_eq!(up.len(), 5_000);
    let first_half = up.iter().filter(|at| **at < 50.0).count();
    assert_eq!(first_half, 1_250, "a quarter of the area");
    let down = times("ramp=100/s..0/s,over=100s,poisson", 1_000_000, 1);
    let first_half = down.iter().filter(|at| **at < 50.0).count() as f64;
    assert!((first_half / 3_750.0 - 1.0).abs() < 0.06, "{first_half}");
    assert!(down.iter().all(|at| *at <= 100.0));
}

#[test]
fn steps_hold_their_rate_for_their_time() {
    let times = times("steps=10/s@10s,0/s@10s,50/s@10s,constant", 1_000_000, 1);
    let within = |from: f64, to: f64| times.iter().filter(|at| (from..to).contains(*at)).count();
    assert_eq!(
        (within(0.0, 10.0), within(10.0, 20.0), within(20.0, 30.0)),
        (100, 0, 500)
    );
}

#[test]
fn closed_levels_change_at_even_distances_and_end_when_they_say() {
    let ramp = begin("ramp=1..4,over=30s", None, None, 1);
    let at = |seconds, sessions| (Duration::from_secs(seconds), sessions);
    let changes = [at(0, 1), at(10, 2), at(20, 3), at(30, 4)];
    assert_eq!(ramp.opening, Opening::Closed(Arc::from(changes)));
    assert_eq!(ramp.until, Some(Duration::from_secs(30)));
    let down = begin("ramp=2..0,over=10s", None, None, 1);
    let changes = [at(0, 2), at(5, 1), at(10, 0)];
    assert_eq!(down.opening, Opening::Closed(Arc::from(changes)));
    let steps = begin("steps=1@30s,8@1m", Some(5), Some(60), 1);
    let changes = [at(0, 1), at(30, 8)];
    assert_eq!(steps.opening, Opening::Closed(Arc::from(changes)));
    assert_eq!(
        (steps.conversations, steps.until),
        (5, Some(Duration::from_mins(1)))
    );
}

#[test]
fn a_count_and_a_duration_both_end_a_schedule() {
    for (count, seconds, expected) in [
        (Some(10), None, 10),
        (None, Some(5), 20),
        (Some(10), Some(5), 10),
        (Some(100), Some(5), 20),
    ] {
        let found = begin("open=4/s,constant", count, seconds, 1).conversations;
        assert_eq!(found, expected, "{count:?} {seconds:?}");
    }
    assert_eq!(
        begin("sessions=2", None, Some(5), 1).conversations,
        MOST_CONVERSATIONS
    );
}

#[test]
fn a_trace_is_replayed_at_its_speed_in_its_order() {
    let level: Level = "trace=x.csv,speed=2".parse().unwrap();
    let recorded = [0, 3, 3, 10].map(Duration::from_secs);
    let found = beginning(&level, Some(3), None, &recorded, 1);
    let expected = [0, 1_500, 1_500].map(Duration::from_millis);
    assert_eq!(found.opening, Opening::Open(Arc::from(expected)));
}

#[test]
fn think_times_have_the_mean_of_their_distribution_and_follow_from_the_seed() {
    for text in [
        "2s",
        "uniform=1s..5s",
        "exponential=2s",
        "lognormal=2s,sigma=0.5",
    ] {
        let think: Think = text.parse().unwrap();
        let draw = |seed, repeat| {
            let mut thinking = Thinking::new(think, "chat", repeat, seed);
            (0..20_000)
                .map(|_| thinking.draw().as_secs_f64())
                .collect::<Vec<f64>>()
        };
        let sample = draw(1, 1);
        let mean = sample.iter().sum::<f64>() / 20_000.0;
        assert!(
            (mean / think.mean().as_secs_f64() - 1.0).abs() < 0.05,
            "{text}: {mean}"
        );
        assert_eq!(sample, draw(1, 1));
        if text != "2s" {
            assert_ne!(sample, draw(1, 2));
            assert_ne!(sample, draw(2, 1));
        }
    }
}

proptest! {
    #[test]
    fn times_ascend_whatever_the_level(
        from in 0.0_f64..50.0,
        to in 0.1_f64..50.0,
        over in 1_u64..100,
        variation in 0.1_f64..5.0,
        seed: u64,
    ) {
        let level = format!("ramp={from}/s..{to}/s,over={over}s,gamma={variation}");
        let times = times(&level, 500, seed);
        prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert!(times.iter().all(|at| (0.0..=over as f64 + 1e-6).contains(at)));
    }
}
