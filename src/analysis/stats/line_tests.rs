//! Against numpy: see `scripts/stats-reference.py`.

use super::*;

/// The points of the script: six conversations of four requests.
fn units() -> Vec<LineSums> {
    let noise: [[f64; 4]; 6] = [
        [3.0, -9.0, 14.0, -2.0],
        [-7.0, 5.0, 1.0, 8.0],
        [12.0, 3.0, -6.0, -11.0],
        [0.0, 9.0, -4.0, 6.0],
        [-8.0, 2.0, 10.0, -5.0],
        [4.0, -12.0, 7.0, 1.0],
    ];
    let unit = |(u, noise): (f64, [f64; 4])| {
        let xs = [
            1_000.0 + 37.0 * u,
            210.0 + 11.0 * u * u,
            400.0 - 20.0 * u,
            90.0 + 5.0 * u,
        ];
        let mut sums = LineSums::default();
        for (x, noise) in xs.into_iter().zip(noise) {
            sums.add(x, 20_000.0 + 50.0 * x + 100.0 * noise);
        }
        sums
    };
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        .into_iter()
        .zip(noise)
        .map(unit)
        .collect()
}

fn close(found: f64, expected: f64, by: f64, case: &str) {
    assert!(
        (found - expected).abs() < by,
        "{case}: {found}, not {expected}"
    );
}

#[test]
fn a_line_and_its_drawn_interval_agree_with_numpy() {
    let found = line(&units(), 1).expect("a line");
    let band = band(&found, &units(), 1, &[500.0]);
    close(found.intercept, 20_093.036_870_734_737, 1e-6, "intercept");
    close(found.slope, 49.988_066_017_275_84, 1e-9, "slope");
    let slope = found.interval.expect("six conversations");
    close(slope.low, 49.143_8, 0.06, "low");
    close(slope.high, 50.939_4, 0.06, "high");
    assert_eq!((slope.n, slope.method), (6, "bootstrap"));
    close(band[0].low, 45_006.3, 8.0, "band");
    close(band[0].high, 45_174.8, 8.0, "band");
}

#[test]
fn the_closed_form_agrees_with_numpy() {
    let many: Vec<LineSums> = std::iter::repeat_n(units(), 400).flatten().collect();
    let found = line(&many, 1).expect("a line");
    let band = band(&found, &many, 1, &[500.0]);
    let slope = found.interval.expect("many");
    close(slope.low, 49.943_276_161_998_725, 1e-7, "low");
    close(slope.high, 50.032_855_872_552_744, 1e-7, "high");
    assert_eq!((slope.n, slope.method), (2_400, "normal"));
    close(band[0].low, 45_082.767_447_529_484, 1e-5, "band");
    close(band[0].high, 45_091.372_311_215_93, 1e-5, "band");
}

#[test]
fn too_few_points_or_all_at_one_place_are_no_line() {
    let of = |points: &[(f64, f64)]| {
        let mut sums = LineSums::default();
        for &(x, y) in points {
            sums.add(x, y);
        }
        line(&[sums], 1)
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[(1.0, 1.0), (2.0, 2.0)]), None);
    assert_eq!(of(&[(1e6, 1.0); 50]), None);
    let exact = of(&[(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).expect("a line");
    close(exact.intercept, 1.0, 1e-9, "intercept");
    close(exact.slope, 2.0, 1e-9, "slope");
    assert_eq!(
        (exact.n, exact.r_squared, exact.interval),
        (3, Some(1.0), None)
    );
}

#[test]
fn the_same_points_and_seed_give_the_same_interval_in_any_order() {
    let mut turned = units();
    turned.reverse();
    let at = |units: &[LineSums], seed| {
        let line = line(units, seed).expect("a line");
        (line.interval, band(&line, units, seed, &[500.0]))
    };
    assert_eq!(at(&units(), 5), at(&units(), 5));
    assert_ne!(at(&units(), 5), at(&units(), 6));
    assert_eq!(at(&units(), 5), at(&turned, 5));
}
