#!/usr/bin/env python3
"""Recomputes the figures of a run's report from its requests.csv alone.

    scripts/recompute.py RUN...

Shares no code with the program: Python's own library and the definitions in
docs/reading.md. Compared are, in each run folder,

* summary.csv and summary.json: every row, total, group, turn and break;
* report.html: every number in its tables, as its value and as it is written.

Not recomputed: intervals (they are drawn at random), the cost without a cache
(it needs prices), and the counts of flags. Exit code 1 on any difference, 2 if
a file cannot be read.
"""

import csv
import html.parser
import json
import math
import pathlib
import re
import sys
from decimal import Decimal

CELL = ("group", "scenario", "configuration", "target", "model", "load")
TOTAL = ("configuration", "target", "model", "load")
GROUP = ("group",) + TOTAL
TURN = CELL + ("turn",)
BREAK = TOTAL + ("break_origin", "break_cause")
NOT_RECOMPUTED = {"cached_share_low", "cached_share_high", "cost_uncached_usd"}


def whole(text):
    """A cell as a whole number; None where it is empty."""
    return int(text) if text else None


def all_or_none(values):
    """The sum, or None where a part is not known."""
    values = list(values)
    return None if None in values else sum(values)


def ratio(part, whole_):
    return part / whole_ if part is not None and whole_ else None


def quantile(sample, q):
    """Linear interpolation between order statistics (Hyndman and Fan, definition 7)."""
    if not sample:
        return None
    ordered = sorted(sample)
    rank = q * (len(ordered) - 1)
    below = math.floor(rank)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * (rank - below)


# Requests of the longest conversation of each scenario of the run at hand.
LONGEST = {}


def trusted(row):
    """Whether shares may be computed from an answered request."""
    return row["usage_origin"] == "reported" and row["total_tokens"] and row["read_tokens"] \
        and "contaminated" not in row["flags"].split("; ")


def figures(rows):
    """All figures of some rows of requests.csv, under their names in the report."""
    answered = [row for row in rows if row["outcome"] == "ok"]
    counted = [row for row in answered if trusted(row)]
    first_tries = sum(row["attempt"] == "1" for row in rows)
    requests = max(first_tries, len(answered))
    found = {
        "requests": requests,
        "failed": requests - len(answered),
        "without_count": len(answered) - len(counted),
        "counted": len(counted),
        "conversations": len({row["conversation"] for row in counted}),
    }
    firsts = [int(row["first_text_us"]) - int(row["sent_us"]) for row in answered
              if row["first_text_us"] and row["sent_us"]]
    for name, q in (("ttft_p50_us", 0.5), ("ttft_p90_us", 0.9), ("ttft_p99_us", 0.99)):
        found[name] = quantile(firsts, q)
    broken = [row for row in answered if row["break_origin"]]
    found["breaks"] = len(broken)
    found["lost_tokens"] = all_or_none(whole(row["lost_tokens"]) for row in broken)
    sums = ("total_tokens", "read_tokens", "computed_tokens", "computed_per_conversation", "bound",
            "cached_share", "cached_share_after_first", "achievable_share", "efficiency", "cost_usd")
    if not counted:
        return found | dict.fromkeys(sums)
    total = sum(int(row["total_tokens"]) for row in counted)
    read = sum(int(row["read_tokens"]) for row in counted)
    later = [row for row in counted if (row["turn"], row["request"]) != ("1", "1")]
    bound = all_or_none(whole(row["bound_tokens"]) for row in counted)
    costs = [row["cost_usd"] for row in counted]
    return found | {
        "total_tokens": total,
        "read_tokens": read,
        "computed_tokens": total - read,
        "computed_per_conversation": per_conversation(counted),
        "bound": bound,
        "cached_share": ratio(read, total),
        "cached_share_after_first": ratio(sum(int(row["read_tokens"]) for row in later),
                                          sum(int(row["total_tokens"]) for row in later)),
        "achievable_share": ratio(bound, total),
        "efficiency": ratio(read, bound),
        "cost_usd": float(sum(map(Decimal, costs))) if all(costs) else None,
    }


def per_conversation(counted):
    """Mean computed tokens of the conversations that have as many counts as the longest
    conversation of their scenario has requests."""
    whole_ones = [found for found in by(counted, ["conversation"]).values()
                  if len(found) >= LONGEST.get(found[0]["scenario"], 0)]
    computed = [sum(int(row["total_tokens"]) - int(row["read_tokens"]) for row in found)
                for found in whole_ones]
    return sum(computed) / len(computed) if computed else None


def by(rows, names):
    """Rows in groups with the same values under `names`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def pairs(rows, base, candidate):
    """Differences of two configurations over the conversations that both ran."""
    sums = {}
    for row in rows:
        if row["outcome"] == "ok" and trusted(row):
            unit = sums.setdefault(row["configuration"], {}).setdefault(
                (row["group"], row["scenario"], row["repeat"]), [0, 0])
            unit[0] += int(row["total_tokens"])
            unit[1] += int(row["read_tokens"])
    both = [(sums[base][place], sums[candidate][place])
            for place in sums[base] if place in sums[candidate]]
    if not both:
        return {"pairs": 0, "computed_difference": None, "share_difference": None}
    share = [sum(pair[side][1] for pair in both) / sum(pair[side][0] for pair in both) for side in (0, 1)]
    computed = [(new[0] - new[1]) - (old[0] - old[1]) for old, new in both]
    return {"pairs": len(both), "computed_difference": sum(computed) / len(computed),
            "share_difference": share[1] - share[0]}


class Check:
    """Counts what was compared, and keeps what differs."""

    def __init__(self):
        self.compared = 0
        self.wrong = []

    def same(self, where, said, found):
        """Compares a number; sums of floats may differ in their last digits."""
        self.compared += 1
        if said is None or found is None:
            good = said is None and found is None
        else:
            good = math.isclose(float(said), float(found), rel_tol=1e-9, abs_tol=1e-12)
        if not good:
            self.wrong.append(f"{where}: says {said}, recomputed {found}")

    def equal(self, where, said, found):
        self.compared += 1
        if said != found:
            self.wrong.append(f"{where}: says {said}, recomputed {found}")


def check_csv(check, path, rows):
    cells = by(rows, CELL)
    with open(path, newline="", encoding="utf-8") as file:
        said = list(csv.DictReader(file))
    check.equal(f"{path}: rows", len(said), len(cells))
    for line in said:
        key = tuple(line[name] for name in CELL)
        found = figures(cells.get(key, []))
        for name in line.keys() - set(CELL) - NOT_RECOMPUTED:
            check.same(f"{path}: {key}: {name}", float(line[name]) if line[name] else None, found[name])


JSON_NAMES = {
    "requests": "requests", "failed": "failed", "without_count": "without_count", "counted": "counted",
    "conversations": "conversations", "total": "total_tokens", "read": "read_tokens",
    "computed": "computed_tokens", "computed_per_conversation": "computed_per_conversation",
    "bound": "bound", "cached_share": "cached_share",
    "cached_share_after_first": "cached_share_after_first", "achievable_share": "achievable_share",
    "efficiency": "efficiency",
}


def check_json(check, path, rows):
    with open(path, encoding="utf-8") as file:
        said = json.load(file)

    def compared(part, names, key_of):
        groups = by(rows, names)
        check.equal(f"{path}: {part}: rows", len(said[part]), len(groups))
        for one in said[part]:
            key = tuple(key_of(one)[name] for name in names)
            found, numbers = figures(groups.get(key, [])), one["figures"]
            where = f"{path}: {part}: {key}"
            for name, ours in JSON_NAMES.items():
                check.same(f"{where}: {name}", numbers[name], found[ours])
            for name in ("p50_us", "p90_us", "p99_us"):
                check.same(f"{where}: {name}", numbers["ttft"][name], found["ttft_" + name])

    compared("rows", CELL, lambda one: one["cell"])
    compared("totals", TOTAL, lambda one: one["key"])
    compared("groups", GROUP, lambda one: one["key"] | {"group": one["group"]})
    turns = by(rows, TURN)
    check.equal(f"{path}: turns: rows", len(said["turns"]), len(turns))
    for one in said["turns"]:
        key = tuple(one["cell"][name] for name in CELL) + (str(one["turn"]),)
        found = figures(turns.get(key, []))
        for name, ours in (("counted", "counted"), ("total", "total_tokens"), ("read", "read_tokens"),
                           ("bound", "bound"), ("cached_share", "cached_share"),
                           ("achievable_share", "achievable_share"), ("breaks", "breaks")):
            check.same(f"{path}: turns: {key}: {name}", one[name], found[ours])
    broken = by([row for row in rows if row["outcome"] == "ok" and row["break_origin"]], BREAK)
    check.equal(f"{path}: breaks: rows", len(said["breaks"]), len(broken))
    for one in said["breaks"]:
        key = tuple(one["key"][name] for name in TOTAL) + (one["origin"], one["cause"])
        found = figures(broken.get(key, []))
        check.same(f"{path}: breaks: {key}: breaks", one["breaks"], found["breaks"])
        check.same(f"{path}: breaks: {key}: lost", one["lost"], found["lost_tokens"])


class Tables(html.parser.HTMLParser):
    """The tables of a page: by name, each row as text and value under each column's name."""

    def __init__(self):
        super().__init__()
        self.tables, self.cell = {}, None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.columns, self.rows = [], []
            self.tables[attributes["data-table"]] = self.rows
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            if "data-key" in attributes:
                self.columns.append(attributes["data-key"])
                return
            self.cell = ""
            self.value = attributes.get("data-value")

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.row.append((self.cell, None if self.value is None else float(self.value)))
            self.cell = None
        elif tag == "tr" and self.row:
            self.rows.append(dict(zip(self.columns, self.row)))


UNITS = {"": 1, "%": 0.01, "µs": 1, "ms": 1e3, "s": 1e6, "points": 0.01}


def as_written(text):
    """A number as it is written, and half of its last digit; None for what is no plain number."""
    found = re.fullmatch(r"\$?([-+]?[\d,]+(?:\.(\d+))?) ?([^\d\[(]*)(?: ?[\[(].*)?", text)
    if not found or found[3].strip() not in UNITS:
        return None
    unit = UNITS[found[3].strip()]
    return float(found[1].replace(",", "")) * unit, 0.5 * 10 ** -len(found[2] or "") * unit


def check_html(check, path, rows):
    page = Tables()
    page.feed(path.read_text(encoding="utf-8"))
    places = {"totals": TOTAL, "groups": GROUP, "scenarios": CELL, "turns": TURN, "breaks": BREAK,
              "differences": ("configuration", "base") + TOTAL[1:]}
    check.equal(f"{path}: has a table of totals", "totals" in page.tables, bool(rows))
    for name, lines in page.tables.items():
        for line in lines:
            place = {key: line[key][0] for key in places[name] if key in line}
            where = f"{path}: {name}: {tuple(place.values())}"
            mine = [row for row in rows if name == "differences"
                    or all(row[key] == value for key, value in place.items())]
            if name == "differences":
                mine = [row for row in rows
                        if all(row[key] == value for key, value in place.items() if key in TOTAL[1:])]
                found = pairs(mine, place["base"], place["configuration"])
            else:
                found = figures(mine)
            for key, (text, value) in line.items():
                if key in place or key in NOT_RECOMPUTED or key in ("events", "break"):
                    continue
                check.same(f"{where}: {key}", value, found[key])
                written = as_written(text)
                if written and value is not None:
                    check.compared += 1
                    # A latency is rounded to whole microseconds first.
                    slack = 0.5 if key.endswith("_us") else 0
                    if abs(written[0] - value) > written[1] * (1 + 1e-9) + slack:
                        check.wrong.append(f"{where}: {key}: {text} is written for {value}")
                elif text and value is not None and not text.startswith(("<", ">")):
                    check.wrong.append(f"{where}: {key}: {text} cannot be read")


def main(folders):
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    check = Check()
    try:
        for folder in map(pathlib.Path, folders):
            with open(folder / "requests.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            LONGEST.clear()
            for found in by([row for row in rows if row["attempt"] == "1"],
                            ["scenario", "conversation"]).items():
                (scenario, _), requests = found
                LONGEST[scenario] = max(LONGEST.get(scenario, 0), len(requests))
            check_csv(check, folder / "summary.csv", rows)
            check_json(check, folder / "summary.json", rows)
            check_html(check, folder / "report.html", rows)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    for what in check.wrong:
        print(what, file=sys.stderr)
    print(f"{check.compared} figures compared, {len(check.wrong)} differ")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
