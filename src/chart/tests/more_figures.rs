//! Usual and extreme figures of the charts of causes, costs, times, lengths, targets and loads.

use super::figures::{FIVE, LONG, nine, note};
use crate::analysis::points::quantile_with_endless;
use crate::chart::Figure;
use crate::chart::cost_by_part::{self, CostByPart};
use crate::chart::lost_by_cause::{self, Cause, LostByCause};
use crate::chart::share_by_length::{self, Grain, ShareByLength};
use crate::chart::share_by_load::{self, ShareByLoad};
use crate::chart::share_by_target::{self, Configuration, ShareByTarget};
use crate::chart::ttft_by_computed::{self, Band, Fit, TtftByComputed};
use crate::chart::ttft_distribution::{self, Strip, TtftDistribution};

/// Names that were not thought of: another script, from right to left, a face, markup, nothing.
pub(super) fn hostile() -> Vec<String> {
    [
        "größe-Ünïcode",
        "前缀缓存配置",
        "שלום",
        "🙂🙂",
        "<b>&\"'</b>",
        "\u{202e}x\u{1}",
        "",
    ]
    .map(str::to_owned)
    .to_vec()
}

pub(super) fn lost(causes: &[(&str, &str)], bars: &[(&str, &[u64], u64)]) -> LostByCause {
    let cause = |&(source, step): &(&str, &str)| Cause {
        source: source.to_owned(),
        step: step.to_owned(),
    };
    let bar = |&(name, lost, uncounted): &(&str, &[u64], u64)| lost_by_cause::Bar {
        configuration: name.to_owned(),
        lost: lost.to_vec(),
        breaks: lost.iter().filter(|lost| **lost > 0).count() as u64 + uncounted,
        uncounted,
        conversations: 4,
    };
    LostByCause {
        place: String::new(),
        causes: causes.iter().map(cause).collect(),
        bars: bars.iter().map(bar).collect(),
        note: note(),
    }
}

fn lost_figures() -> Vec<(&'static str, Figure)> {
    let usual = lost(
        &[
            ("memory", "memory changed tone"),
            ("artifacts", "artifacts on"),
            ("L2", "library grew"),
        ],
        &[
            ("inline", &[0, 0, 0], 0),
            ("dev", &[12_400, 8_160, 0], 0),
            ("layered", &[0, 4_100, 9_300], 0),
            ("turn-context", &[0, 0, 0], 0),
            ("append-only", &[40, 0, 0], 1),
        ],
    );
    let names = nine();
    let causes: Vec<(&str, &str)> = (0..12)
        .map(|index| {
            if index == 11 {
                ("", "other causes")
            } else {
                (LONG, LONG)
            }
        })
        .collect();
    let many: Vec<u64> = (0..12).map(|index| 10_u64.pow(index)).collect();
    let huge = [u64::MAX / 16; 12];
    let bars: Vec<(&str, &[u64], u64)> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            (
                &**name,
                if index == 3 { &huge[..] } else { &many[..] },
                index as u64,
            )
        })
        .collect();
    vec![
        ("usual", Figure::LostByCause(usual)),
        (
            "one",
            Figure::LostByCause(lost(&[("memory", "memory")], &[("dev", &[1], 0)])),
        ),
        (
            "extreme",
            Figure::LostByCause(LostByCause {
                place: LONG.to_owned(),
                ..lost(&causes, &bars)
            }),
        ),
        (
            "unbroken",
            Figure::LostByCause(lost(&[], &[("dev", &[], 0)])),
        ),
        (
            "uncounted",
            Figure::LostByCause(lost(&[("memory", "")], &[("dev", &[0], 7)])),
        ),
        ("none", Figure::LostByCause(lost(&[], &[]))),
    ]
}

pub(super) fn cost(bars: &[(&str, Option<[f64; 5]>, bool)]) -> CostByPart {
    let bar = |&(name, parts, interval): &(&str, Option<[f64; 5]>, bool)| {
        let sum = parts.map(|parts| parts.iter().sum::<f64>());
        cost_by_part::Bar {
            configuration: name.to_owned(),
            parts: parts.map(|[a, b, c, d, e]| [a, b, c, d, e, 0.0]),
            low: sum.filter(|_| interval).map(|sum| sum * 0.9),
            high: sum.filter(|_| interval).map(|sum| sum * 1.2),
            uncached: sum.map(|sum| sum * 2.5),
            conversations: if parts.is_some() { 15 } else { 0 },
            incomplete: if interval { 0 } else { 3 },
        }
    };
    CostByPart {
        untold: false,
        place: String::new(),
        prices: "a price list, read on 2026-11-30".to_owned(),
        bars: bars.iter().map(bar).collect(),
        note: note(),
    }
}

fn cost_figures() -> Vec<(&'static str, Figure)> {
    let usual = FIVE.iter().enumerate().map(|(index, name)| {
        let more = 1.0 + index as f64 / 4.0;
        (
            *name,
            Some([0.004 * more, 0.002, 0.001_2, 0.0, 0.003]),
            true,
        )
    });
    let names = nine();
    let extreme: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let parts = match index {
                0 => None,
                1 => Some([0.0; 5]),
                2 => Some([1e9, 1e8, 1e9, 1e9, 1e9]),
                3 => Some([1e-9, 0.0, 0.0, 0.0, 0.0]),
                _ => Some([1e8 * index as f64; 5]),
            };
            (&**name, parts, index % 2 == 0)
        })
        .collect();
    vec![
        (
            "usual",
            Figure::CostByPart(cost(&usual.collect::<Vec<_>>())),
        ),
        (
            "one",
            Figure::CostByPart(cost(&[("dev", Some([0.01, 0.0, 0.0, 0.0, 0.0]), false)])),
        ),
        (
            "extreme",
            Figure::CostByPart(CostByPart {
                place: LONG.to_owned(),
                prices: [LONG; 4].join(" "),
                ..cost(&extreme)
            }),
        ),
        (
            "free",
            Figure::CostByPart(cost(&[("dev", Some([0.0; 5]), false)])),
        ),
        ("none", Figure::CostByPart(cost(&[("dev", None, false)]))),
    ]
}

pub(super) fn strip(name: &str, times: &[u64], failed: u64) -> Strip {
    let quantile = |level| quantile_with_endless(times, failed, level);
    Strip {
        configuration: name.to_owned(),
        quantiles_us: ttft_distribution::LEVELS.map(quantile),
        some_us: times.to_vec(),
        answered: times.len() as u64,
        failed,
    }
}

pub(super) fn distribution(strips: Vec<Strip>) -> TtftDistribution {
    TtftDistribution {
        place: String::new(),
        strips,
        note: note(),
    }
}

fn distribution_figures() -> Vec<(&'static str, Figure)> {
    let times = |middle: u64| -> Vec<u64> {
        (0..40)
            .map(|index| middle + index * index * middle / 400)
            .collect()
    };
    let usual = FIVE.iter().enumerate().map(|(index, name)| {
        strip(
            name,
            &times(60_000 + 20_000 * index as u64),
            if index == 2 { 3 } else { 0 },
        )
    });
    let names = nine();
    let extreme = names.iter().enumerate().map(|(index, name)| match index {
        0 => strip(name, &[], 12),
        1 => strip(name, &[], 0),
        2 => strip(name, &[1], 0),
        3 => strip(name, &[5; 60], 0),
        4 => strip(name, &[u64::MAX / 4], 5),
        5 => strip(name, &times(900), 1_000_000_000),
        _ => strip(name, &times(900_000_000), 0),
    });
    vec![
        (
            "usual",
            Figure::TtftDistribution(distribution(usual.collect())),
        ),
        (
            "one",
            Figure::TtftDistribution(distribution(vec![strip("dev", &[81_000], 0)])),
        ),
        (
            "extreme",
            Figure::TtftDistribution(TtftDistribution {
                place: LONG.to_owned(),
                ..distribution(extreme.collect())
            }),
        ),
        (
            "failed",
            Figure::TtftDistribution(distribution(vec![strip("dev", &[], 9)])),
        ),
        ("none", Figure::TtftDistribution(distribution(Vec::new()))),
    ]
}

fn fit(intercept_us: f64, us_per_token: f64, to: f64, apart: f64) -> Fit {
    let band = (0..=8).map(|step| {
        let computed = to * f64::from(step) / 8.0;
        let height = intercept_us + us_per_token * computed;
        Band {
            computed,
            low_us: height * (1.0 - apart),
            high_us: height * (1.0 + apart),
        }
    });
    Fit {
        intercept_us,
        us_per_token,
        low: Some(us_per_token * (1.0 - apart)),
        high: Some(us_per_token * (1.0 + apart)),
        band: band.collect(),
    }
}

pub(super) fn computed(panels: Vec<ttft_by_computed::Panel>, fit: Option<Fit>) -> TtftByComputed {
    TtftByComputed {
        place: String::new(),
        panels,
        fit,
        note: note(),
    }
}

pub(super) fn computed_panel(
    name: &str,
    points: &[(u64, u64)],
    fit: Option<Fit>,
) -> ttft_by_computed::Panel {
    let point = |&(computed, ttft_us): &(u64, u64)| ttft_by_computed::Point { computed, ttft_us };
    ttft_by_computed::Panel {
        configuration: name.to_owned(),
        points: points.iter().map(point).collect(),
        requests: points.len() as u64,
        fit,
    }
}

fn computed_figures() -> Vec<(&'static str, Figure)> {
    let points = |from: u64| -> Vec<(u64, u64)> {
        (0..40)
            .map(|index| {
                (
                    from + index * 37,
                    20_000 + (from + index * 37) * 50 + (index * 7_919) % 9_000,
                )
            })
            .collect()
    };
    let usual = FIVE.iter().enumerate().map(|(index, name)| {
        computed_panel(
            name,
            &points(100 * index as u64),
            Some(fit(24_000.0, 50.0, 2_000.0, 0.06)),
        )
    });
    let names = nine();
    let extreme = names.iter().enumerate().map(|(index, name)| match index {
        0 => computed_panel(name, &[], None),
        1 => computed_panel(name, &[(0, 0)], None),
        2 => computed_panel(name, &[(u64::MAX, u64::MAX)], None),
        3 => ttft_by_computed::Panel {
            requests: 1_000_000_000_000,
            ..computed_panel(name, &points(7), Some(fit(-1e9, 1e12, 1e19, 0.9)))
        },
        4 => computed_panel(
            name,
            &points(9),
            Some(Fit {
                low: None,
                high: None,
                band: Vec::new(),
                ..fit(1.0, -3.0, 1.0, 0.0)
            }),
        ),
        _ => computed_panel(name, &points(1), Some(fit(24_000.0, 50.0, 2_000.0, 0.5))),
    });
    let one = computed_panel("dev", &[(1_200, 81_000)], None);
    vec![
        (
            "usual",
            Figure::TtftByComputed(computed(
                usual.collect(),
                Some(fit(24_000.0, 50.0, 0.0, 0.06)),
            )),
        ),
        ("one", Figure::TtftByComputed(computed(vec![one], None))),
        (
            "extreme",
            Figure::TtftByComputed(TtftByComputed {
                place: LONG.to_owned(),
                ..computed(extreme.collect(), Some(fit(0.0, -1.0, 0.0, 0.0)))
            }),
        ),
        ("none", Figure::TtftByComputed(computed(Vec::new(), None))),
    ]
}

pub(super) fn length(panels: &[(&str, &[(u64, u64)])], grain: Option<Grain>) -> ShareByLength {
    let panel = |&(name, points): &(&str, &[(u64, u64)])| share_by_length::Panel {
        configuration: name.to_owned(),
        points: points
            .iter()
            .map(|&(total, read)| share_by_length::Point { total, read })
            .collect(),
        requests: points.len() as u64,
    };
    ShareByLength {
        place: String::new(),
        panels: panels.iter().map(panel).collect(),
        grain,
        note: note(),
    }
}

fn length_figures() -> Vec<(&'static str, Figure)> {
    let grain = Grain {
        step: 128,
        minimum: 1_024,
        dropped: 0,
        spared: 0,
    };
    let points: Vec<(u64, u64)> = (1..40)
        .map(|index| (index * 61, grain.most(index * 61)))
        .collect();
    let usual: Vec<(&str, &[(u64, u64)])> = FIVE.iter().map(|name| (*name, &points[..])).collect();
    let names = nine();
    let odd: Vec<(u64, u64)> = vec![(0, 0), (1, 5), (u64::MAX, u64::MAX), (7, 0)];
    let extreme: Vec<(&str, &[(u64, u64)])> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (&**name, if index == 2 { &[][..] } else { &odd[..] }))
        .collect();
    let coarse = Grain {
        step: 1_600,
        minimum: 0,
        dropped: 1,
        spared: 1,
    };
    let whole = Grain {
        step: u64::MAX,
        minimum: u64::MAX,
        dropped: u64::MAX,
        spared: u64::MAX,
    };
    vec![
        ("usual", Figure::ShareByLength(length(&usual, Some(grain)))),
        (
            "one",
            Figure::ShareByLength(length(&[("dev", &[(1_200, 0)])], None)),
        ),
        (
            "coarse",
            Figure::ShareByLength(length(&usual[..2], Some(coarse))),
        ),
        (
            "extreme",
            Figure::ShareByLength(ShareByLength {
                place: LONG.to_owned(),
                ..length(&extreme, Some(whole))
            }),
        ),
        ("none", Figure::ShareByLength(length(&[], Some(grain)))),
    ]
}

pub(super) fn target(
    configurations: &[(&str, &[(&str, Option<f64>, Option<f64>)])],
) -> ShareByTarget {
    let bar =
        |&(name, share, achievable): &(&str, Option<f64>, Option<f64>)| share_by_target::Bar {
            target: name.to_owned(),
            share,
            low: share.map(|share| (share - 0.03).max(0.0)),
            high: share.map(|share| (share + 0.03).min(1.0)),
            achievable,
            requests: 24,
            counted: if share.is_some_and(|share| share < 0.7) {
                1_024
            } else {
                24
            },
        };
    ShareByTarget {
        place: String::new(),
        configurations: configurations
            .iter()
            .map(|(name, bars)| Configuration {
                name: (*name).to_owned(),
                bars: bars.iter().map(bar).collect(),
            })
            .collect(),
        note: note(),
    }
}

fn target_figures() -> Vec<(&'static str, Figure)> {
    let three: &[(&str, Option<f64>, Option<f64>)] = &[
        ("vllm", Some(0.84), Some(0.86)),
        ("openai", Some(0.61), Some(0.79)),
        ("anthropic", Some(0.78), Some(0.8)),
    ];
    let usual: Vec<_> = FIVE.iter().map(|name| (*name, three)).collect();
    let odd: &[(&str, Option<f64>, Option<f64>)] = &[
        (LONG, None, None),
        ("x", Some(0.0), Some(1.0)),
        ("", Some(1.0), None),
    ];
    let names = nine();
    let extreme: Vec<_> = names.iter().map(|name| (&**name, odd)).collect();
    vec![
        ("usual", Figure::ShareByTarget(target(&usual))),
        (
            "one",
            Figure::ShareByTarget(target(&[("dev", &[("vllm", Some(0.5), None)])])),
        ),
        (
            "extreme",
            Figure::ShareByTarget(ShareByTarget {
                place: LONG.to_owned(),
                ..target(&extreme)
            }),
        ),
        ("none", Figure::ShareByTarget(target(&[]))),
    ]
}

pub(super) type Level = (Option<f64>, Option<f64>, Option<f64>);

pub(super) fn load(levels: &[&str], series: &[(&str, Vec<Option<Level>>)]) -> ShareByLoad {
    let point = |(share, p50_us, p90_us): Level| share_by_load::Point {
        share,
        low: share.map(|share| (share - 0.04).max(0.0)),
        high: share.map(|share| (share + 0.04).min(1.0)),
        p50_us,
        p90_us,
        failed: 0,
        requests: 24,
    };
    ShareByLoad {
        place: String::new(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        series: series
            .iter()
            .map(|(name, points)| share_by_load::Series {
                configuration: (*name).to_owned(),
                points: points.iter().map(|level| level.map(point)).collect(),
            })
            .collect(),
        note: note(),
    }
}

fn load_figures() -> Vec<(&'static str, Figure)> {
    let levels = ["sessions=1", "sessions=4", "sessions=16", "sessions=64"];
    let line = |top: f64, slow: f64| -> Vec<Option<Level>> {
        let point = |at: u32| {
            let load = f64::from(4_u32.pow(at));
            Some((
                Some(top - load / 200.0),
                Some(slow * load.sqrt()),
                Some(slow * load),
            ))
        };
        (0..4).map(point).collect()
    };
    let usual: Vec<_> = FIVE
        .iter()
        .enumerate()
        .map(|(index, name)| {
            (
                *name,
                line(0.9 - index as f64 / 9.0, 60_000.0 + 9_000.0 * index as f64),
            )
        })
        .collect();
    let names = nine();
    let extreme: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let points = match index {
                0 => vec![None, None, None, None],
                1 => vec![
                    None,
                    Some((None, None, None)),
                    None,
                    Some((Some(1.0), None, Some(5.0))),
                ],
                2 => vec![Some((Some(0.0), Some(0.0), Some(1e18))), None, None, None],
                _ => line(0.9, 60_000.0),
            };
            (&**name, points)
        })
        .collect();
    let long = [LONG, "sessions=2", LONG, ""];
    vec![
        ("usual", Figure::ShareByLoad(load(&levels, &usual))),
        (
            "one",
            Figure::ShareByLoad(load(
                &levels[..1],
                &[("dev", vec![Some((Some(0.5), Some(8e4), Some(9e4)))])],
            )),
        ),
        (
            "extreme",
            Figure::ShareByLoad(ShareByLoad {
                place: LONG.to_owned(),
                ..load(&long, &extreme)
            }),
        ),
        ("none", Figure::ShareByLoad(load(&levels, &[]))),
    ]
}

/// Every figure whose names are not those of a program.
pub(super) fn strange() -> Vec<Figure> {
    let names = hostile();
    let bars: Vec<_> = names
        .iter()
        .map(|name| (&**name, Some([0.01; 5]), true))
        .collect();
    let causes: Vec<_> = names.iter().map(|name| (&**name, &**name)).collect();
    let losing: Vec<(&str, &[u64], u64)> = names
        .iter()
        .map(|name| (&**name, &[900, 90, 9, 90, 900, 9, 9][..], 0))
        .collect();
    let three: Vec<(&str, Option<f64>, Option<f64>)> = names
        .iter()
        .map(|name| (&**name, Some(0.4), Some(0.6)))
        .collect();
    let levels: Vec<&str> = names.iter().map(|name| &**name).collect();
    let on_targets: Vec<_> = names.iter().map(|name| (&**name, &three[..])).collect();
    let lines: Vec<(&str, Vec<Option<Level>>)> = names
        .iter()
        .map(|name| {
            (
                &**name,
                vec![Some((Some(0.5), Some(8e4), Some(9e4))); levels.len()],
            )
        })
        .collect();
    let lengths: Vec<(&str, &[(u64, u64)])> = names
        .iter()
        .map(|name| (&**name, &[(1_000, 400), (1_200, 990)][..]))
        .collect();
    let panels = names
        .iter()
        .map(|name| computed_panel(name, &[(400, 30_000), (900, 60_000)], None));
    vec![
        Figure::LostByCause(lost(&causes, &losing)),
        Figure::CostByPart(cost(&bars)),
        Figure::TtftDistribution(distribution(
            names
                .iter()
                .map(|name| strip(name, &[70_000, 90_000], 1))
                .collect(),
        )),
        Figure::TtftByComputed(computed(panels.collect(), None)),
        Figure::ShareByLength(length(&lengths, None)),
        Figure::ShareByTarget(target(&on_targets)),
        Figure::ShareByLoad(load(&levels, &lines)),
    ]
}

pub(super) fn more_figures() -> Vec<(&'static str, Figure)> {
    let all = [
        lost_figures(),
        cost_figures(),
        distribution_figures(),
        computed_figures(),
        length_figures(),
        target_figures(),
        load_figures(),
    ];
    all.concat()
}

/// What a figure says it is of, and the names that must stand on it.
pub(super) fn names(figure: &Figure) -> Vec<String> {
    let own = |names: Vec<&String>| names.into_iter().cloned().collect();
    match figure {
        Figure::LostByCause(figure) => {
            own(figure.bars.iter().map(|bar| &bar.configuration).collect())
        }
        Figure::CostByPart(figure) => {
            let any = figure.bars.iter().any(|bar| bar.parts.is_some());
            own(figure
                .bars
                .iter()
                .filter(|_| any)
                .map(|bar| &bar.configuration)
                .collect())
        }
        Figure::TtftDistribution(figure) => {
            let any = figure.strips.iter().any(|strip| strip.answered > 0);
            own(figure
                .strips
                .iter()
                .filter(|_| any)
                .map(|strip| &strip.configuration)
                .collect())
        }
        Figure::TtftByComputed(figure) => {
            let drawn = figure
                .panels
                .iter()
                .filter(|panel| !panel.points.is_empty());
            own(drawn.map(|panel| &panel.configuration).collect())
        }
        Figure::ShareByLength(figure) => {
            let drawn = figure
                .panels
                .iter()
                .filter(|panel| !panel.points.is_empty());
            own(drawn.map(|panel| &panel.configuration).collect())
        }
        Figure::ShareByTarget(figure) => {
            let bars = figure
                .configurations
                .iter()
                .flat_map(|one| &one.bars)
                .map(|bar| &bar.target);
            own(figure
                .configurations
                .iter()
                .map(|one| &one.name)
                .chain(bars)
                .collect())
        }
        Figure::ShareByLoad(figure) => {
            let levels = figure.levels.iter().filter(|_| !figure.series.is_empty());
            own(figure
                .series
                .iter()
                .map(|series| &series.configuration)
                .chain(levels)
                .collect())
        }
        Figure::ShareByGroup(_) | Figure::ShareByTurn(_) | Figure::PrefixMap(_) => Vec::new(),
    }
}
