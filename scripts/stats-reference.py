"""Prints the reference values of the statistics' tests. Needs numpy.

    python3 scripts/stats-reference.py
"""

import numpy as np

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
    return line, inverse @ (scores.T @ scores) @ inverse


def main() -> None:
    for q in (0.5, 0.9, 0.99):
        print("quantile", q, repr(float(np.quantile(LATENCIES, q))))
    random = np.random.default_rng(1)
    drawn = random.integers(0, len(UNITS), size=(400_000, len(UNITS)))
    sums = UNITS[drawn].sum(axis=1)
    ratios = sums[:, 0] / sums[:, 1]
    print("ratio", np.quantile(ratios, TAILS).tolist())
    other = UNITS[::-1][drawn].sum(axis=1)
    print("difference", np.quantile(other[:, 0] / other[:, 1] - ratios, TAILS).tolist())
    many = np.tile(UNITS, (300, 1))
    ratio = many[:, 0].sum() / many[:, 1].sum()
    spread = np.sum((many[:, 0] - ratio * many[:, 1]) ** 2) / (len(many) - 1)
    error = np.sqrt(spread / len(many)) / many[:, 1].mean()
    z = 1.959963984540054
    print("normal", [float(ratio - z * error), float(ratio + z * error)])
    turned = np.tile(UNITS[::-1], (300, 1))
    base = (many[:, 0] - ratio * many[:, 1]) / many[:, 1].mean()
    other_ratio = turned[:, 0].sum() / turned[:, 1].sum()
    candidate = (turned[:, 0] - other_ratio * turned[:, 1]) / turned[:, 1].mean()
    error = np.std(candidate - base, ddof=1) / np.sqrt(len(many))
    low, high = other_ratio - ratio - z * error, other_ratio - ratio + z * error
    print("normal difference", [float(low), float(high)])
    lines(random)


def lines(random: np.random.Generator) -> None:
    line, _ = robust(X, Y)
    print("line", line.tolist())
    drawn = random.integers(0, len(X), size=(400_000, len(X)))
    x, y = X[drawn].reshape(len(drawn), -1), Y[drawn].reshape(len(drawn), -1)
    mean_x, mean_y = x.mean(axis=1), y.mean(axis=1)
    slopes = ((x * y).mean(axis=1) - mean_x * mean_y) / ((x * x).mean(axis=1) - mean_x**2)
    print("slope", np.quantile(slopes, TAILS).tolist())
    print("height at 500", np.quantile(mean_y + slopes * (500 - mean_x), TAILS).tolist())
    line, spread = robust(np.tile(X, (400, 1)), np.tile(Y, (400, 1)))
    z = 1.959963984540054
    print("slope, 2,400", [float(line[1] + side * z * np.sqrt(spread[1, 1])) for side in (-1, 1)])
    at = np.array([1, 500.0])
    print("height, 2,400", [float(line @ at + side * z * np.sqrt(at @ spread @ at)) for side in (-1, 1)])


if __name__ == "__main__":
    main()
