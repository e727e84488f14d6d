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


if __name__ == "__main__":
    main()
