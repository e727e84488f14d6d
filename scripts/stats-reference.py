"""Computes the reference values of the statistics' tests elsewhere: with numpy and scipy.

    python3 scripts/stats-reference.py > tests/data/stats-reference.json

Intervals that are drawn at random are drawn 400,000 times here, so that the
program's 2,000 draws are judged by how far theirs lie off.
"""

import json
import math

import numpy as np
from scipy import stats

LATENCIES = [812.0, 97.0, 105.5, 2300.0, 99.0, 101.0, 350.25]
UNITS = np.array(
    [
        (310, 1000),
        (820, 1400),
        (95, 700),
        (1500, 2100),
        (640, 900),
        (20, 650),
        (1100, 1300),
        (400, 1250),
    ],
    dtype=float,
)
TAILS = [0.025, 0.975]
Z = float(stats.norm.ppf(0.975))
DRAWS = 400_000
# Computed tokens and microseconds of six conversations, of unlike numbers of requests.
POINTS = [
    [(1024, 71_200), (180, 29_900), (311, 34_800)],
    [(2048, 120_400), (90, 25_100)],
    [(512, 46_000), (512, 44_700), (640, 52_900), (77, 24_000)],
    [(4096, 226_000), (130, 27_000), (155, 28_700)],
    [(1500, 96_500), (222, 30_100)],
    [(3000, 168_000), (401, 41_000), (95, 24_800)],
]

# Computed tokens and times of six conversations of four requests.
X = np.array([[1000 + 37 * u, 210 + 11 * u * u, 400 - 20 * u, 90 + 5 * u] for u in range(6)], dtype=float)
NOISE = np.array([[3, -9, 14, -2], [-7, 5, 1, 8], [12, 3, -6, -11], [0, 9, -4, 6], [-8, 2, 10, -5], [4, -12, 7, 1]])
Y = 20000 + 50 * X + 100 * NOISE


def robust(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least squares line and its covariance, robust to clusters (the rows)."""
    design = np.stack([np.ones(x.size), x.ravel()], axis=1)
    line, *_ = np.linalg.lstsq(design, y.ravel(), rcond=None)
    residuals = (y.ravel() - design @ line).reshape(x.shape)
    scores = np.stack([residuals.sum(axis=1), (x * residuals).sum(axis=1)], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    correction = len(x) / (len(x) - 1)
    return line, correction * (inverse @ (scores.T @ scores) @ inverse)


def bounds(values):
    return [float(value) for value in values]


def scattered(n):
    """Whole numbers that look random, and are the same in every language."""
    return (np.arange(n, dtype=np.int64) * 7919) % 1_000_003


def quantiles():
    samples = {
        "one value": [7.0],
        "equal": [5.0] * 9,
        "two": [1.0, 2.0],
        "latencies": LATENCIES,
    }
    cases = [{"case": name, "sample": sample, "q": q, "value": float(np.quantile(sample, q))}
             for name, sample in samples.items() for q in (0.0, 0.5, 0.9, 0.99, 1.0)]
    huge = scattered(1_000_000)
    cases += [{"case": "a million", "scattered": len(huge), "q": q, "value": float(np.quantile(huge, q))}
              for q in (0.0, 0.5, 0.9, 0.99, 1.0)]
    return cases


def with_failures():
    """Quantiles of milliseconds 1 to n with failures as infinite; null: infinite."""
    cases = []
    for answered, failed in ((90, 10), (9, 0), (1, 1), (0, 3), (1000, 9), (1000, 11)):
        sample = np.array([1000.0 * (1 + at) for at in range(answered)] + [math.inf] * failed)
        for q in (0.5, 0.9, 0.99):
            with np.errstate(invalid="ignore"):
                value = float(np.quantile(sample, q))
            cases.append({"answered": answered, "failed": failed, "q": q,
                          "value": value if math.isfinite(value) else None})
    return cases


def drawn(units, random):
    return units[random.integers(0, len(units), size=(DRAWS, len(units)))]


def ratios(random):
    sums = drawn(UNITS, random).sum(axis=1)
    drawn_ratio = bounds(np.quantile(sums[:, 0] / sums[:, 1], TAILS))
    both = drawn(np.concatenate([UNITS, UNITS[::-1]], axis=1), random).sum(axis=1)
    drawn_difference = bounds(np.quantile(both[:, 2] / both[:, 3] - both[:, 0] / both[:, 1], TAILS))
    means = drawn(UNITS[:, 0], random).mean(axis=1)
    many = np.tile(UNITS, (300, 1))
    ratio = many[:, 0].sum() / many[:, 1].sum()
    base = (many[:, 0] - ratio * many[:, 1]) / many[:, 1].mean()
    error = base.std(ddof=1) / math.sqrt(len(many))
    turned = np.tile(UNITS[::-1], (300, 1))
    other = turned[:, 0].sum() / turned[:, 1].sum()
    candidate = (turned[:, 0] - other * turned[:, 1]) / turned[:, 1].mean()
    paired = (candidate - base).std(ddof=1) / math.sqrt(len(many))
    return {
        "units": UNITS.tolist(),
        "ratio": drawn_ratio,
        "difference_to_reversed": drawn_difference,
        "mean_of_parts": bounds(np.quantile(means, TAILS)),
        "repeated": 300,
        "ratio_closed": [float(ratio - Z * error), float(ratio + Z * error)],
        "difference_closed": [float(other - ratio - Z * paired), float(other - ratio + Z * paired)],
    }


def sums(group):
    x, y = np.array(group, dtype=float).T
    return [len(x), x.sum(), y.sum(), (x * x).sum(), (x * y).sum()]


def lines(random):
    flat = np.array([point for group in POINTS for point in group], dtype=float)
    fit = stats.linregress(flat[:, 0], flat[:, 1])
    n, x, y, xx, xy = drawn(np.array([sums(group) for group in POINTS]), random).sum(axis=1).T
    slopes = (n * xy - x * y) / (n * xx - x * x)
    # Liang and Zeger's variance of the slope, groups repeated 400 times.
    times = 400
    centred = flat[:, 0].mean()
    scores = [sum((px - centred) * (py - fit.intercept - fit.slope * px) for px, py in group) for group in POINTS]
    groups = times * len(POINTS)
    spread = times * ((flat[:, 0] - centred) ** 2).sum()
    error = math.sqrt(times * sum(score**2 for score in scores) * groups / (groups - 1)) / spread
    return {
        "groups": POINTS,
        "slope": float(fit.slope),
        "intercept": float(fit.intercept),
        "r_squared": float(fit.rvalue**2),
        "interval": bounds(np.quantile(slopes, TAILS)),
        "repeated": times,
        "interval_closed": [float(fit.slope - Z * error), float(fit.slope + Z * error)],
    }


def band(random):
    """The line of `X` and `Y`, and where it may lie at 500 computed tokens."""
    line, _ = robust(X, Y)
    picked = random.integers(0, len(X), size=(DRAWS, len(X)))
    x, y = X[picked].reshape(DRAWS, -1), Y[picked].reshape(DRAWS, -1)
    mean_x, mean_y = x.mean(axis=1), y.mean(axis=1)
    slopes = ((x * y).mean(axis=1) - mean_x * mean_y) / ((x * x).mean(axis=1) - mean_x**2)
    many, spread = robust(np.tile(X, (400, 1)), np.tile(Y, (400, 1)))
    at = np.array([1, 500.0])
    error, height_error = math.sqrt(spread[1, 1]), math.sqrt(at @ spread @ at)
    return {
        "intercept_and_slope": line.tolist(),
        "slope": bounds(np.quantile(slopes, TAILS)),
        "height_at_500": bounds(np.quantile(mean_y + slopes * (500 - mean_x), TAILS)),
        "repeated": 400,
        "slope_closed": [float(many[1] - Z * error), float(many[1] + Z * error)],
        "height_closed": [float(many @ at - Z * height_error), float(many @ at + Z * height_error)],
    }


def main():
    random = np.random.default_rng(1)
    print(json.dumps({
        "about": "made by scripts/stats-reference.py",
        "quantiles": quantiles(),
        "with_failures": with_failures(),
        "ratios": ratios(random),
        "line": lines(random),
        "band": band(random),
    }, indent=1))


if __name__ == "__main__":
    main()
