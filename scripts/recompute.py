#!/usr/bin/env python3
"""Recomputes the figures of a run's report from its requests.csv alone.

    scripts/recompute.py RUN...

Shares no code with the program: Python's own library and the definitions in
docs/reading.md. Compared are, in each run folder,

* summary.csv and summary.json: every row, total, group, turn and break;
* report.html: every number in its tables, as its value and as it is written, and every
  number in its words (page_words.py): headline, what limits the numbers, breaks, what
  to change. How late the client was is read from requests.jsonl, where it stands.

Costs are billed here again, by the prices in manifest.json; after `report --prices`
give --other-prices, and those that need prices are left alone. Intervals are drawn at
random and not drawn again: they have to hold what they are of, and to be the same in
every file. Numbers inside pictures are not compared. Exit code 1 on any difference, 2
if a file cannot be read.
"""

import csv
import datetime
import html.parser
import json
import math
import pathlib
import re
import sys
from decimal import Decimal

from page_words import FORMS, check_words

CELL = ("group", "scenario", "configuration", "target", "model", "load")
TOTAL = ("configuration", "target", "model", "load")
GROUP = ("group",) + TOTAL
TURN = CELL + ("turn",)
BREAK = TOTAL + ("break_origin", "break_cause")
NOT_RECOMPUTED = {"cached_share_low", "cached_share_high", "slope_us_low", "slope_us_high"}
# What needs prices besides requests.csv.
PRICED = {"cost_uncached_usd", "cost_best_usd", "cost_least_usd", "cost_most_usd", "uncached_per_conversation",
          "best_per_conversation", "plain_usd", "read_usd", "write_usd", "write_long_usd", "output_usd",
          "storage_usd", "premium_usd", "break_even_turn", "cost_least", "cost_most"}


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
# Conversations begun of each scenario among the rows at hand, counted or not.
BEGUN = {}


def has(row, flag):
    return flag in row["flags"].split("; ")


def set_apart(row):
    """Whether the count says nothing of the layout."""
    return has(row, "beyond_lifetime") or has(row, "contaminated") or of_gateway(row)


def of_gateway(row):
    """Whether a gateway did not simply pass the answer on."""
    return any(has(row, flag) for flag in ("answer_cache", "gateway_retried", "gateway_fallback"))


def reported(row):
    return row["outcome"] == "ok" and row["usage_origin"] == "reported" \
        and row["total_tokens"] != "" and row["read_tokens"] != ""


def is_counted(row):
    return reported(row) and not set_apart(row)


def figures(rows):
    """All figures of some rows of requests.csv, under their names in the report."""
    answered = [row for row in rows if row["outcome"] == "ok"]
    counted = [row for row in answered if is_counted(row)]
    apart = [row for row in answered if set_apart(row) and (reported(row) or of_gateway(row))]
    first_tries = sum(row["attempt"] == "1" for row in rows)
    requests = max(first_tries, len(answered))
    broken = [row for row in answered if row["break_origin"]]
    found = {
        "requests": requests,
        "failed": requests - len(answered),
        "without_count": len(answered) - len(counted) - len(apart),
        "set_apart": len(apart) or None,
        "counted": len(counted),
        "conversations": len({row["conversation"] for row in counted}),
        "breaks": len(broken),
        "lost_tokens": all_or_none(whole(row["lost_tokens"]) for row in broken),
    }
    found |= latencies([row for row in answered if not of_gateway(row)], requests - len(answered))
    gateway = [row for row in apart if of_gateway(row)]
    late = [row for row in apart if has(row, "beyond_lifetime") and row not in gateway]
    rest = [row for row in apart if row not in late and row not in gateway]
    for name, some in (("beyond", late), ("contaminated", rest), ("gateway", gateway)):
        said = [row for row in some if reported(row)]
        tokens = sum(int(row["total_tokens"]) for row in said)
        read = sum(int(row["read_tokens"]) for row in said)
        found |= {f"{name}_requests": len(some) or None, f"{name}_total": tokens if some else None,
                  f"{name}_read": read if some else None, f"{name}_share": ratio(read, tokens)}
    BEGUN.clear()
    for name, scenario in {(row["conversation"], row["scenario"]) for row in rows}:
        BEGUN.setdefault(scenario, set()).add(name)
    return found | shares(counted) | costs(answered, counted)


def latencies(answered, failed):
    """Quantiles in microseconds; with failures as infinite, None where they are."""
    def passed(row, start, end):
        return int(row[end]) - int(row[start]) if row[start] and row[end] else None
    ttft = [passed(row, "sent_us", "first_text_us") for row in answered]
    due = [passed(row, "first_due_us", "first_text_us") for row in answered]
    took = [passed(row, "sent_us", "done_us") for row in answered]
    between = [(end - first) * 1000 // (int(row["output_tokens"]) - 1) / 1000
               for row, first, end in zip(answered, ttft, took)
               if first is not None and end is not None and (whole(row["output_tokens"]) or 0) > 1]
    found = {}
    for q in (50, 90, 99):
        for name, sample in (("ttft", ttft), ("ttft_from_due", due), ("took", took),
                             ("between", between)):
            sample = [value for value in sample if value is not None]
            found[f"{name}_p{q}_us"] = quantile(sample, q / 100)
            value = quantile(sample + [math.inf] * failed, q / 100)
            found[f"{name}_failing_p{q}_us"] = value if value is None or math.isfinite(value) else None
    return found


def shares(counted):
    if not counted:
        return dict.fromkeys((
            "total_tokens", "read_tokens", "computed_tokens", "computed_per_conversation", "bound", "cached_share",
            "cached_share_after_first", "achievable_share", "achievable_after_first", "efficiency", "prompt_reuse",
            "reply_reuse", "reply_share", "full_hits", "hit_chances", "new_tokens", "written_tokens",
            "write_amplification", "reads_per_written"))

    def total(some, name="total_tokens"):
        return sum(int(row[name]) for row in some)
    later = [row for row in counted if (row["turn"], row["request"]) != ("1", "1")]
    bound = all_or_none(whole(row["bound_tokens"]) for row in counted)
    later_bound = all_or_none(whole(row["bound_tokens"]) for row in later)
    read = total(counted, "read_tokens")
    reply = sum(max(0, int(row["read_tokens"]) - row["previous"]) for row in counted if row["previous"])
    chances = [row for row in counted if int(row["bound_tokens"] or 0) > 0]
    said = [row for row in counted if row["write_tokens"] or row["write_long_tokens"]]
    written = sum(int(row["write_tokens"] or 0) + int(row["write_long_tokens"] or 0) for row in said)
    new = sum(max(0, int(row["total_tokens"]) - row["previous"]) for row in said)
    return {
        "total_tokens": total(counted),
        "read_tokens": read,
        "computed_tokens": total(counted) - read,
        "computed_per_conversation": per_conversation(
            counted, lambda row: int(row["total_tokens"]) - int(row["read_tokens"])),
        "bound": bound,
        "cached_share": ratio(read, total(counted)),
        "cached_share_after_first": ratio(total(later, "read_tokens"), total(later)),
        "achievable_share": ratio(bound, total(counted)),
        "achievable_after_first": ratio(later_bound, total(later)),
        "efficiency": ratio(read, bound),
        "prompt_reuse": read - reply,
        "reply_reuse": reply,
        "reply_share": ratio(reply, read),
        "hit_chances": len(chances) or None,
        "full_hits": sum(int(row["read_tokens"]) >= int(row["bound_tokens"]) for row in chances) if chances else None,
        "new_tokens": new if said else None,
        "written_tokens": written if said else None,
        "write_amplification": ratio(written, new) if said else None,
        "reads_per_written": ratio(sum(int(row["read_tokens"]) for row in said), written) if said else None,
    }


def per_conversation(counted, value):
    """Mean of the conversations that have as many counts as the longest conversation of their
    scenario has requests, where a scenario weighs by its conversations that were begun; None where
    a scenario has no such conversation, or a value of one of them is not known."""
    whole = {}
    for found in by(counted, ["conversation"]).values():
        scenario = found[0]["scenario"]
        if len(found) >= LONGEST.get(scenario, 0):
            whole.setdefault(scenario, []).append(all_or_none(map(value, found)))
    if not BEGUN or set(whole) != set(BEGUN) or any(None in some for some in whole.values()):
        return None
    begun = sum(len(names) for names in BEGUN.values())
    return sum(sum(some) * len(BEGUN[scenario]) / len(some) for scenario, some in whole.items()) / begun


# Prices of the run's targets in pico-dollars, and when the run began in milliseconds since 1970.
PRICES, STARTED = {}, []


def tier_of(price, row, total):
    tiers, peak = price["tiers"], price.get("peak")
    if peak and row["sent_us"]:
        at = datetime.datetime.fromtimestamp(STARTED[0] / 1000 + int(row["sent_us"]) / 1e6, datetime.timezone.utc)
        if at.isoweekday() in peak["days"] and any(low <= at.hour < high for low, high in peak["hours"]):
            tiers = peak["tiers"]
    return [tier for tier in tiers if total > tier["above"] or tier["above"] == 0][-1]


def bill(row, read, write=0, write_long=0, written=True):
    """The bill of a request with these counts, bucket by bucket; None where a price is not known.

    `written` is None where the server said nothing of it, False where there is no cache to write to."""
    price, total, output = PRICES.get(row["target"]), whole(row["total_tokens"]), whole(row["output_tokens"])
    if not price or None in (total, read, output):
        return None
    tier = tier_of(price, row, total)
    plain = total - read - write - write_long
    each = {"plain": tier["input"], "read": tier["read"], "output": tier["output"],
            "write": tier["input"] if tier["write"] is None else tier["write"],
            "write_long": tier["input"] if tier["write"] is None and tier["write_long"] is None
            else tier["write_long"]}
    tokens = {"plain": plain, "read": read, "write": write, "write_long": write_long, "output": output}
    if plain < 0 or any(tokens[name] and each[name] is None for name in tokens):
        return None
    found = {name: tokens[name] * (each[name] or 0) for name in tokens}
    found["storage"] = 0
    if price.get("storage_hour") is not None and written is not False:
        # Unknown where it is charged and the server does not say what it wrote, or nobody how long that is kept.
        if written is None or (write + write_long and price["kept_ms"] is None):
            return None
        found["storage"] = price["storage_hour"] * (price["kept_ms"] or 0) * (write + write_long) // 3_600_000
    found["premium"] = found["write"] + found["write_long"] - (write + write_long) * tier["input"]
    return found


def amount(found):
    return None if found is None else sum(value for name, value in found.items() if name != "premium")


def said_written(row):
    return True if row["write_tokens"] or row["write_long_tokens"] else None


def bill_of(row):
    return bill(row, whole(row["read_tokens"]), int(row["write_tokens"] or 0), int(row["write_long_tokens"] or 0),
                said_written(row))


def best_of(row):
    if not row["bound_tokens"]:
        return None
    total = int(row["total_tokens"])
    read = min(int(row["bound_tokens"]), total)
    write = min(int(row["write_tokens"] or 0), total - read)
    write_long = min(int(row["write_long_tokens"] or 0), total - read - write)
    return amount(bill(row, read, write, write_long, said_written(row)))


def range_of(row):
    """The least and the most that a request without a count can have cost."""
    if not row["total_tokens"]:
        return None, None
    total = int(row["total_tokens"])
    least = amount(bill(row, min(int(row["bound_tokens"] or total), total)))
    most = amount(bill(row, 0, total))
    if least is None or most is None:
        return None, None
    return min(least, most), max(most, amount(bill(row, 0, written=False)))


def usd(pico):
    return None if pico is None else pico / 1e12


def costs(answered, counted):
    """A cost is the CSV's own, and is compared with the bill that is made here."""
    said = {id(row): int(Decimal(row["cost_usd"]) * 10**12) if row["cost_usd"] else None for row in counted}
    cost = lambda row: said[id(row)]
    uncached = lambda row: amount(bill(row, 0, written=False))
    names = ("plain", "read", "write", "write_long", "output", "storage", "premium")
    bills = [bill_of(row) for row in counted]
    missing = [row for row in answered if not is_counted(row)]
    ranges = [(cost(row), cost(row)) for row in counted] + [missing_range(row) for row in missing]
    whole_sum = all_or_none(map(cost, counted)) if counted else None
    each = per_conversation(counted, cost) if counted else None
    found = {
        "cost_usd": usd(whole_sum),
        "cost_uncached_usd": usd(all_or_none(map(uncached, counted))) if counted else None,
        "cost_best_usd": usd(all_or_none(map(best_of, counted))) if counted else None,
        "cost_per_conversation": usd(each),
        "cost_per_thousand": None if each is None else usd(each * 1000),
        "uncached_per_conversation": usd(per_conversation(counted, uncached)),
        "best_per_conversation": usd(per_conversation(counted, best_of)),
        "cost_least": usd(all_or_none(low for low, _ in ranges)) if missing else None,
        "cost_most": usd(all_or_none(high for _, high in ranges)) if missing else None,
        "break_even_turn": break_even(counted, cost, uncached),
    }
    for name in names:
        known = counted and None not in bills
        found[f"{name}_usd"] = usd(sum(one[name] for one in bills)) if known else None
    return found


def missing_range(row):
    """Between what the bill of an answer lies that is in no other cost."""
    if of_gateway(row) or row["usage_origin"] == "contradictory":
        return None, None
    if reported(row):
        own = int(Decimal(row["cost_usd"]) * 10**12) if row["cost_usd"] else None
        return own, own
    return range_of(row)


def break_even(counted, cost, uncached):
    """First turn from which on all turns so far have cost less than they would have without a cache."""
    turns, with_cache, without, since = by(counted, ["turn"]), 0, 0, None
    for turn in sorted(turns, key=lambda turn: int(turn[0])):
        one, other = all_or_none(map(cost, turns[turn])), all_or_none(map(uncached, turns[turn]))
        if one is None or other is None:
            return None
        with_cache, without = with_cache + one, without + other
        since = (since or int(turn[0])) if with_cache < without else None
    return since


def by(rows, names):
    """Rows in groups with the same values under `names`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def pairs(rows, base, candidate):
    """Differences of two configurations over the requests that both answered with a count."""
    sides = []
    for name in (base, candidate):
        side = {}
        for row in rows:
            if row["configuration"] == name and is_counted(row):
                unit = (row["group"], row["scenario"], row["repeat"])
                side.setdefault(unit, {})[row["turn"], row["request"]] = row
        sides.append(side)
    both = []
    for unit in sides[0].keys() & sides[1].keys():
        places = sides[0][unit].keys() & sides[1][unit].keys()
        if places:
            both.append([(sides[0][unit][place], sides[1][unit][place]) for place in places])

    def share(side):
        rows = [pair[side] for unit in both for pair in unit]
        return sum(int(row["read_tokens"]) for row in rows) / sum(int(row["total_tokens"]) for row in rows)

    def mean(of):
        units = [of(unit) for unit in both]
        units = [unit for unit in units if unit != "none"]
        return sum(units) / len(units) if units and None not in units else None

    def less(unit, of):
        # Of whole conversations only: as in every number per conversation.
        if len(unit) < LONGEST.get(unit[0][0]["scenario"], 0):
            return "none"
        return all_or_none(None if None in (of(old), of(new)) else of(new) - of(old) for old, new in unit)

    def ttft(unit):
        first = lambda row: int(row["first_text_us"]) - int(row["sent_us"]) if row["first_text_us"] else None
        timed = [first(new) - first(old) for old, new in unit if None not in (first(old), first(new))]
        return sum(timed) / len(timed) if timed else "none"
    return {
        "pairs": len(both),
        "computed_difference": mean(lambda unit: less(
            unit, lambda row: int(row["total_tokens"]) - int(row["read_tokens"]))),
        "cost_difference": mean(lambda unit: less(
            unit, lambda row: float(row["cost_usd"]) if row["cost_usd"] else None)),
        "share_difference": share(1) - share(0) if both else None,
        "ttft_difference": mean(ttft),
    }


def fit(rows):
    """Least squares: times to first token against computed tokens."""
    points = [(int(row["total_tokens"]) - int(row["read_tokens"]), int(row["first_text_us"]) - int(row["sent_us"]))
              for row in rows if is_counted(row) and row["first_text_us"] and row["sent_us"]]
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    slope = xy / xx
    return {"slope_us": slope * 1000, "intercept_us": mean_y - slope * mean_x,
            "r_squared": slope * xy / yy if yy else None, "points": n}


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


def bracketed(check, where, value, low, high):
    """An interval holds what it is of."""
    check.compared += 1
    if (low is None) != (high is None) or low is not None and not low - 1e-12 <= value <= high + 1e-12:
        check.wrong.append(f"{where}: {value} is not between {low} and {high}")


CSV_NAMES = {
    "cost_per_conversation_usd": "cost_per_conversation", "cost_least_usd": "cost_least",
    "cost_most_usd": "cost_most", "write_tokens": "written_tokens", "prompt_reuse_tokens": "prompt_reuse",
    "reply_reuse_tokens": "reply_reuse",
}


def check_csv(check, path, rows):
    cells = by(rows, CELL)
    with open(path, newline="", encoding="utf-8") as file:
        said = list(csv.DictReader(file))
    check.equal(f"{path}: rows", len(said), len(cells))
    for line in said:
        key = tuple(as_named(line[name]) for name in CELL)
        found = figures(cells.get(key, []))
        bracketed(check, f"{path}: {key}", found["cached_share"], *(
            float(line[name]) if line[name] else None for name in ("cached_share_low", "cached_share_high")))
        for name in line.keys() - set(CELL) - NOT_RECOMPUTED:
            ours = found[CSV_NAMES.get(name, name)]
            if name in ("full_hits", "hit_chances", "set_apart"):
                ours = ours or 0
            check.same(f"{path}: {key}: {name}", float(line[name]) if line[name] else None, ours)


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
            ends = numbers["cached_interval"] or {"low": None, "high": None}
            bracketed(check, f"{where}: cached share", found["cached_share"], ends["low"], ends["high"])
            for name in ("p50_us", "p90_us", "p99_us"):
                for latency, ours in (("ttft", "ttft"), ("ttft_from_due", "ttft_from_due"),
                                      ("between_tokens", "between"), ("took", "took")):
                    times = numbers[latency]
                    check.same(f"{where}: {latency} {name}", times[name], found[f"{ours}_{name}"])
                    check.same(f"{where}: {latency} with failures {name}", times["with_failures"][name],
                               found[f"{ours}_failing_{name}"])
                    # Three significant digits, and a value of the sample rather than one between two.
                    check.compared += 1
                    if (times["histogram"][name] is None) != (times[name] is None):
                        check.wrong.append(f"{where}: {latency}: histogram {name}")

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
    found = re.fullmatch(r"([-+]?)\$?([\d,]+(?:\.(\d+))?) ?([^\d\[(]*)(?: ?[\[(].*)?", text)
    if not found or found[4].strip() not in UNITS:
        return None
    unit = UNITS[found[4].strip()]
    value = float(found[2].replace(",", "")) * unit
    return -value if found[1] == "-" else value, 0.5 * 10 ** -len(found[3] or "") * unit


def check_html(check, path, rows):
    page = Tables()
    page.feed(path.read_text(encoding="utf-8"))
    ends = intervals(path.parent / "summary.json")
    places = {"totals": TOTAL, "groups": GROUP, "scenarios": CELL, "turns": TURN, "breaks": BREAK,
              "costs": TOTAL, "reuse": TOTAL, "latencies": TOTAL, "apart": TOTAL, "fits": TOTAL,
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
            elif name == "fits":
                everywhere = place["configuration"] == "all together"
                found = fit([row for row in rows if all(
                    row[key] == value for key, value in place.items()
                    if not (everywhere and key == "configuration"))])
            else:
                found = figures(mine)
            check_ends(check, where, line, place, name, ends)
            for key, (text, value) in line.items():
                if key in place or key in NOT_RECOMPUTED or key in ("events", "break"):
                    continue
                if text == "∞":
                    check.equal(f"{where}: {key} is infinite", found[key], None)
                    continue
                check.same(f"{where}: {key}", value, found[key])
                written = as_written(text)
                if written and value is not None:
                    check.compared += 1
                    if abs(written[0] - value) > written[1] * (1 + 1e-9):
                        check.wrong.append(f"{where}: {key}: {text} is written for {value}")
                elif text and value is not None and not text.startswith(("<", ">", "cannot tell")):
                    check.wrong.append(f"{where}: {key}: {text} cannot be read")


# Columns of the table of differences, by their names in summary.json.
DIFFERENCES = {"cost_difference": "cost_usd", "computed_difference": "computed",
               "share_difference": "cached_share", "ttft_difference": "ttft_us"}


def intervals(path):
    """The intervals of summary.json: what they are of, and each line of a table that has them."""
    said = json.loads(path.read_text(encoding="utf-8"))
    found = []
    for table, part in (("totals", "totals"), ("groups", "groups"), ("scenarios", "rows")):
        for one in said[part]:
            place = dict(one.get("key") or one["cell"])
            if "group" in one:
                place["group"] = one["group"]
            found.append((table, place, {"cached_share": one["figures"]["cached_interval"]}))
    for one in said["differences"]:
        place = one["candidate"] | {"base": one["base"]["configuration"]}
        found.append(("differences", place, {column: one.get(name) for column, name in DIFFERENCES.items()}))
    for one in said["fits"]:
        place = {name: one[name] for name in ("target", "model", "load")}
        place["configuration"] = one["configuration"] or "all together"
        found.append(("fits", place, {"slope_us": one["line"]["interval"]}))
    return found


def check_ends(check, where, line, place, table, found):
    """The intervals of a line are those of summary.json, and hold what they are of."""
    mine = [ends for name, of, ends in found if name == table
            and all(of.get(key) == value for key, value in place.items())]
    if table not in ("totals", "groups", "scenarios", "differences", "fits"):
        return
    check.equal(f"{where}: lines of summary.json", len(mine), 1)
    for column, interval in (mine[0] if mine else {}).items():
        if table == "differences":
            check_difference(check, f"{where}: {column}", line.get(column), interval, DIFFERENCES[column])
            continue
        scale = 1e3 if table == "fits" else 1
        low, high = (line.get(f"{column}_{end}", ("", None))[1] for end in ("low", "high"))
        for end, said in (("low", low), ("high", high)):
            check.same(f"{where}: {column} {end}", said, interval[end] * scale if interval else None)
        if low is not None:
            bracketed(check, f"{where}: {column}", line[column][1], low, high)


def check_difference(check, where, cell, said, name):
    """A difference is written with its interval, or without a number where that holds 0."""
    text = cell[0] if cell else ""
    if not said or not said["interval"]:
        check.equal(where, "[" in text, False)
        return
    low, high = said["interval"]["low"], said["interval"]["high"]
    bracketed(check, where, said["difference"], low, high)
    check.equal(where, text[text.find("["):], f"[{FORMS[name](low)}, {FORMS[name](high)}]")
    check.equal(f"{where} is told", text.startswith("cannot tell"), low <= 0 <= high and (low, high) != (0, 0))


def as_named(text):
    """A text as it was before it was kept from being taken for a formula."""
    return text[1:] if text[:1] == "'" and text[1:2] in tuple("=+-@\t\r") else text


def read_rows(folder):
    """The rows of requests.csv, each with how long the conversation's previous answered prompt was."""
    with open(folder / "requests.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update((name, as_named(text)) for name, text in row.items())
    for found in by(rows, ["conversation"]).values():
        previous = 0
        for row in sorted(found, key=lambda row: [int(row[name]) for name in ("turn", "request", "attempt")]):
            row["previous"] = previous
            believed = row["usage_origin"] != "contradictory" and not of_gateway(row)
            if row["outcome"] == "ok" and row["total_tokens"] and believed:
                previous = int(row["total_tokens"])
    LONGEST.clear()
    for (scenario, _), found in by([row for row in rows if row["attempt"] == "1"],
                                   ["scenario", "conversation"]).items():
        requests = sum(not has(row, "beyond_lifetime") for row in found)
        LONGEST[scenario] = max(LONGEST.get(scenario, 0), requests)
    return rows


def read_prices(folder):
    PRICES.clear()
    path = folder / "manifest.json"
    if not path.exists():
        return
    manifest = json.loads(path.read_text(encoding="utf-8"))
    started = datetime.datetime.fromisoformat(manifest["started"].replace("Z", "+00:00"))
    STARTED[:] = [started.timestamp() * 1000]
    for target in manifest["targets"]:
        if target["price"]:
            PRICES[target["name"]] = target["price"] | {"kept_ms": target["lifetime_ms"]}


def check_bills(check, path, rows):
    """Every bill of requests.csv, by the prices of the manifest."""
    for row in rows:
        if PRICES.get(row["target"]):
            found = amount(bill_of(row)) if row["usage_origin"] == "reported" else None
            said = float(row["cost_usd"]) if row["cost_usd"] else None
            check.same(f"{path}: {row['conversation']} turn {row['turn']}: cost", said, usd(found))


def main(folders):
    if "--other-prices" in folders:
        folders.remove("--other-prices")
        NOT_RECOMPUTED.update(PRICED)
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    check = Check()
    try:
        for folder in map(pathlib.Path, folders):
            rows = read_rows(folder)
            read_prices(folder)
            if not NOT_RECOMPUTED & PRICED:
                check_bills(check, folder / "requests.csv", rows)
            if not (folder / "manifest.json").exists():
                NOT_RECOMPUTED.update(PRICED)
            check_csv(check, folder / "summary.csv", rows)
            check_json(check, folder / "summary.json", rows)
            check_html(check, folder / "report.html", rows)
            totals = by(rows, TOTAL)
            of_total = lambda key: figures(totals.get(tuple(key[name] for name in TOTAL), []))
            check_words(check, folder / "report.html", rows, of_total, quantile, not NOT_RECOMPUTED & PRICED)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    for what in check.wrong:
        print(what, file=sys.stderr)
    print(f"{check.compared} figures compared, {len(check.wrong)} differ")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
