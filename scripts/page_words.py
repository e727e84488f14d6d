"""The numbers in the words of a report's page, against those that follow from its records.

Used by recompute.py. Nothing here reads how a sentence is built: each number in it, as it is
written, has to be one that follows for the places and configurations that the sentence names, and
none may be used twice. So the program may say things in another way, but not other things.
"""

import collections
import html.parser
import json
import math
import re

# Above this a request counts as late, in microseconds.
LATE_ABOVE = 10_000
# Conversations that an interval takes.
FEWEST = "6"
# What a page looks into: scenes, configurations and requests of a conversation.
SCENES, CONFIGURATIONS, REQUESTS = 12, 10, 80

NUMBER = re.compile(r"(?<![\w.,])[<>]?[-+]?\$?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)(?: (?:%|µs|ms|s\b|points))?")


def grouped(number):
    return f"{number:,}"


def rounded(value):
    """To the nearest whole number, halves away from 0."""
    return math.floor(value + 0.5)


def percent(value):
    if value is None:
        return "-"
    if 0 < value < 0.0005:
        return "<0.1 %"
    if 0.9995 <= value < 1:
        return ">99.9 %"
    return f"{value * 100:.1f} %"


def dollars(value):
    """Three significant digits."""
    if value is None:
        return "-"
    if value == 0:
        return "$0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"${value:.{places}f}"


def latency(us):
    """Three significant digits, rounded once, from the number as it is."""
    for below, form in ((999.5, f"{us:.0f} µs"), (9_995, f"{us / 1e3:.2f} ms"),
                        (99_950, f"{us / 1e3:.1f} ms"), (999_500, f"{us / 1e3:.0f} ms")):
        if us < below:
            return form
    return f"{us / 1e6:.2f} s"


def signed(value, form):
    return ("-" if value < 0 else "+") + form(abs(value))


def points(value):
    return f"{value * 100:+.1f} points"


FORMS = {
    "cost_usd": lambda value: signed(value, lambda value: dollars(rounded(value * 1e12) / 1e12)),
    "computed": lambda value: signed(value, lambda value: grouped(rounded(value))),
    "cached_share": points,
    "ttft_us": lambda value: signed(value, latency),
}


class Words(html.parser.HTMLParser):
    """The words of a page: its headline, what stands below that, what limits the numbers, what to
    change, and the breaks as (lost, title, advice)."""

    def __init__(self):
        super().__init__()
        self.headline, self.basis, self.limits, self.changes, self.breaks = [], [], [], [], []
        self.open, self.section = None, ""

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "section":
            self.section = attributes.get("aria-labelledby", "")
        elif tag == "details":
            self.breaks.append({"summary": "", "lost": "", "p": ""})
        into = None
        if tag == "h1":
            into = self.headline
        elif tag == "p" and attributes.get("class") == "basis":
            into = self.basis
        elif tag == "li" and self.section == "evidence":
            into = self.limits
        elif tag == "li" and self.section == "breaks":
            into = self.changes
        if into is not None:
            into.append("")
            self.open = (tag, into)
        elif self.section == "breaks" and self.breaks and tag in ("summary", "p", "span"):
            if "class" not in attributes or tag == "span":
                self.open = (tag, self.breaks[-1])

    def handle_data(self, data):
        if not self.open:
            return
        tag, into = self.open
        if isinstance(into, dict):
            into["lost" if tag == "span" else tag] += data
        else:
            into[-1] += data

    def handle_endtag(self, tag):
        if not self.open:
            return
        if tag == "span" and self.open[0] == "span":
            self.open = ("summary", self.open[1])
        elif tag == self.open[0]:
            self.open = None


def names_in(text, names):
    """Those of `names` that the text has as a whole word, the longest first."""
    found = []
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        whole = rf"(?<![\w=.-]){re.escape(name)}(?![\w=-])(?!\.\w)"
        if re.search(whole, text):
            found.append(name)
            text = re.sub(whole, " ", text)
    return found, text


def numbers(text):
    """Every number of a text, as it is written."""
    return [found.strip() for found in NUMBER.findall(text)]


def told(text, facts, anything):
    """Numbers of the text that no fact is left for. Those in `anything` may stand anywhere."""
    left = collections.Counter(facts)
    unknown = []
    for number in numbers(text):
        if number in anything:
            continue
        if left[number] > 0:
            left[number] -= 1
        else:
            unknown.append(number)
    return unknown


def usd(pico):
    return None if pico is None else int(pico) / 1e12


def arena_facts(arena, configurations, summary, figures_of, with_prices):
    """What can be said of configurations at a target, a model and a load level."""
    facts = []
    own = {"requests": 0, "answered": 0, "missing": 0}
    for total in summary["totals"]:
        key = total["key"]
        if (key["target"], key["model"], key["load"]) != arena:
            continue
        found = figures_of(key)
        own["requests"] += found["requests"]
        own["answered"] += found["requests"] - found["failed"]
        own["missing"] += found["requests"] - found["counted"] - (found["set_apart"] or 0)
        if key["configuration"] not in configurations:
            continue
        costs = [found["cost_per_conversation"]] + [
            found[name] if with_prices else usd(total["figures"]["costs"][name])
            for name in ("uncached_per_conversation", "best_per_conversation")]
        facts += [dollars(cost) for cost in costs if cost is not None]
        if found["computed_per_conversation"] is not None:
            facts.append(grouped(rounded(found["computed_per_conversation"])))
        facts += [percent(found["cached_share"]), percent(found["achievable_share"]),
                  grouped(found["conversations"])]
        interval = total["figures"]["cached_interval"]
        if interval:
            facts += [percent(interval["low"]), percent(interval["high"])]
    # What was sent is told with and without a mark of thousands.
    facts += [grouped(own["requests"]), grouped(own["answered"]), grouped(own["missing"])]
    if own["requests"] > 999:
        facts.append(str(own["requests"]))
    for one in summary["differences"]:
        key = one["candidate"]
        if (key["target"], key["model"], key["load"]) == arena and \
                {key["configuration"], one["base"]["configuration"]} <= set(configurations):
            facts.append(grouped(one["pairs"]))
            facts += difference_facts(one)
    return facts


def difference_facts(one):
    facts = []
    for name, form in FORMS.items():
        if not one.get(name):
            continue
        interval = one[name]["interval"]
        values = [one[name]["difference"]] + ([interval["low"], interval["high"]] if interval else [])
        # With its sign, and where words say which way it goes, without.
        facts += [form(value) for value in values] + [form(value).lstrip("+-") for value in values]
    return facts


def check_words(check, path, rows, figures_of, quantile, with_prices):
    """Every number in the words of the page. Without prices, what needs them is taken from summary.json."""
    page = Words()
    page.feed(path.read_text(encoding="utf-8"))
    summary = json.loads((path.parent / "summary.json").read_text(encoding="utf-8"))
    check_head(check, path, page, summary, figures_of, with_prices)
    check_limits(check, path, page, summary, rows, figures_of, quantile)
    check_breaks(check, path, page, rows)


def check_head(check, path, page, summary, figures_of, with_prices):
    arenas = [tuple(one["key"][name] for name in ("target", "model", "load")) for one in summary["totals"]]
    arenas = list(dict.fromkeys(arenas))
    configurations = [one["name"] for one in summary["configurations"]]
    said_of_target = [str(one[name]) for one in summary["targets"] for name in (
        "url", "dialect", "cache_model", "tokenizer", "price_source") if one[name]] + [summary["date"]]
    everything = [name for arena in arenas for name in arena] + configurations + said_of_target
    conversations = {}
    for total in summary["totals"]:
        key = total["key"]
        conversations.setdefault(key["target"], []).append(figures_of(key)["conversations"])
    scenes = len({tuple(one["cell"][name] for name in ("group", "scenario", "target", "model", "load"))
                  for one in summary["rows"]})
    check.equal(f"{path}: headline", len(page.headline), 1)
    for sentence in page.headline + page.basis:
        named, rest = names_in(sentence, everything)
        here = [arena for arena in arenas if all(
            name in named or not name or len({other[at] for other in arenas}) == 1
            for at, name in enumerate(arena))]
        about = [name for name in configurations if name in named] or configurations
        # What is said of all is said of one of them.
        facts = [fact for arena in here for fact in arena_facts(
            arena, about, summary, figures_of, with_prices)]
        facts += [grouped(sum(conversations.get(name, []))) for name in named if name in conversations]
        facts += [grouped(scenes)] * 2 + [str(SCENES)]
        unknown = told(rest, facts, {"95 %", FEWEST})
        check.compared += len(numbers(rest))
        if unknown:
            check.wrong.append(f"{path}: {', '.join(unknown)} in the words {sentence!r}")


def of(part, whole):
    return percent(part / whole if whole else None)


def check_limits(check, path, page, summary, rows, figures_of, quantile):
    facts = evidence(rows, figures_of, summary, quantile) + lateness(check, path, summary, rows, quantile)
    names = {row[name] for row in rows for name in ("group", "scenario", "configuration", "target", "model",
                                                    "load", "conversation", "outcome")}
    ending = summary["ending"]
    why = list(ending.values()) if isinstance(ending, dict) else []
    told_by_run = {warning.replace("`", "") for warning in summary["warnings"]}
    left = collections.Counter(facts)
    for sentence in page.limits:
        # These are told by the run itself, word by word.
        if sentence in told_by_run or any(sentence.endswith(reason) for reason in why):
            check.compared += 1
            continue
        _, rest = names_in(sentence, names)
        for number in numbers(rest):
            check.compared += 1
            if number in ("0", "10 ms", "1 ms", "1 %"):
                continue
            if left[number] > 0:
                left[number] -= 1
            else:
                check.wrong.append(f"{path}: {number} in the words {sentence!r}")


def waits(rows):
    """What each request waited for limits, all its tries together; those that did."""
    found = {}
    for row in rows:
        if row["limited_us"]:
            place = tuple(row[name] for name in ("conversation", "turn", "request"))
            found[place] = found.get(place, 0) + int(row["limited_us"])
    return list(found.values())


def evidence(rows, figures_of, summary, quantile):
    """Counts and shares that limit the numbers."""
    answered = [row for row in rows if row["outcome"] == "ok"]
    has = lambda row, flag: flag in row["flags"].split("; ")
    number = lambda some, test: sum(1 for row in some if test(row))
    failed = len(rows) - len(answered)
    facts = [grouped(failed), grouped(len(rows)), of(failed, len(rows))]
    facts += [str(count) for outcome, count in collections.Counter(row["outcome"] for row in rows).items()
              if outcome != "ok"]
    counted = lambda row: row["usage_origin"] == "reported" and row["total_tokens"] and row["read_tokens"] \
        and not has(row, "beyond_lifetime") and not has(row, "contaminated")
    begun = [row for row in rows if row["attempt"] == "1"]
    cases = [number(answered, lambda row, origin=origin: row["usage_origin"] == origin)
             for origin in ("absent", "contradictory", "unreliable")]
    cases += [number(answered, lambda row, flag=flag: has(row, flag))
              for flag in ("contaminated", "answer_cache", "gateway_retried", "gateway_fallback", "above_bound", "off_step", "evicted",
                           "beyond_lifetime")]
    cases += [number(answered, lambda row: counted(row) and not row["bound_tokens"])]
    facts += [fact for count in cases for fact in (grouped(count), of(count, len(answered)))]
    sent = [number(begun, lambda row, flag=flag: has(row, flag)) for flag in ("after_failure", "idle_cut")]
    sent += [number(rows, lambda row: row["attempt"] == "2"), number(rows, lambda row: has(row, "long_wait"))]
    limited = waits(rows)
    facts += [fact for count in sent + [len(limited)] for fact in (grouped(count), of(count, len(begun)))]
    late = summary["evidence"]["late"]
    facts += [grouped(late), of(late, len(rows))]
    if limited:
        facts += [latency(rounded(quantile(limited, 0.5))), latency(max(limited))]
    beyond = [row for row in answered if has(row, "beyond_lifetime") and row["usage_origin"] == "reported"
              and row["total_tokens"] and row["read_tokens"]]
    read = sum(int(row["read_tokens"]) for row in beyond)
    total = sum(int(row["total_tokens"]) for row in beyond)
    facts += [grouped(read), grouped(total), of(read, total)]
    asked = number(answered, lambda row: has(row, "missing_words") or has(row, "expected_words"))
    facts += [grouped(asked), str(asked - number(answered, lambda row: has(row, "missing_words")))]
    named = [row for row in answered if row["usage_origin"] == "contradictory"][:3]
    facts += [row[name] for row in named for name in ("turn", "request")]
    for total in summary["totals"]:
        found = figures_of(total["key"])
        if found["cost_least"] is not None and found["cost_most"] is not None:
            facts += [dollars(found["cost_least"]), dollars(found["cost_most"])]
    return facts


def lateness(check, path, summary, rows, quantile):
    """How late the client was, by cell, from the records themselves: the table does not have it."""
    records = path.parent / "requests.jsonl"
    said = summary["evidence"]["late_cells"]
    if not records.exists():
        return [grouped(len(said))] + [latency(one["late_p99"]) for one in said] + [str(len(said) - 3)]
    cells, many = {}, 0
    with open(records, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                continue
            record = json.loads(line)
            stamps = record["stamps"]
            ready = stamps.get("ready_us")
            at = ready if ready is not None else stamps.get("sent_us")
            late = None
            if at is not None:
                late = max(0, max(0, at - stamps["due_us"]) - (stamps.get("limited_us") or 0))
                many += late > LATE_ABOVE
            if ready is None:
                continue
            key = tuple(record[name] for name in ("group", "scenario", "configuration", "target", "model", "load"))
            lates, times = cells.setdefault(key, ([], []))
            lates.append(late)
            if record["outcome"] == "ok" and stamps.get("first_text_us") is not None:
                times.append(stamps["first_text_us"] - stamps["sent_us"])
    found = {}
    for key, (lates, times) in cells.items():
        worst = rounded(quantile(lates, 0.99))
        median = rounded(quantile(times, 0.5)) if times else None
        level, _, think = key[-1].partition(",think=")
        closed = level.startswith(("sessions=", "ramp=", "steps=")) and "/" not in level
        scheduled = not closed or think not in ("", "0s")
        if worst > 1_000 or scheduled and median is not None and worst * 100 > median:
            found[key] = worst
    check.equal(f"{path}: requests sent late", summary["evidence"]["late"], many)
    names = ("group", "scenario", "configuration", "target", "model", "load")
    check.equal(f"{path}: late cells", {tuple(one["cell"][name] for name in names): one["late_p99"]
                                        for one in said}, found)
    worst = [latency(max(found.values()))] if found else []
    return [grouped(len(found)), str(len(found) - 3)] + worst


def check_breaks(check, path, page, rows):
    """What each break lost, and what the advice on them adds up to."""
    broken = [row for row in rows if row["outcome"] == "ok" and row["break_origin"]]
    sums = {}
    configurations = sorted({row["configuration"] for row in broken}, key=len, reverse=True)
    for one in page.breaks:
        where = f"{path}: break {one['summary'].strip()}"
        named = "|".join(re.escape(name) for name in configurations)
        found = re.fullmatch(rf" ?({named}), .* turn (\d+)(?:, request (\d+))?: in (.*?) \((.*)\)", one["summary"])
        lost = one["lost"].split(" ")[0].replace(",", "")
        mine = [row for row in broken if found and (row["configuration"], row["turn"], row["request"]) == (
            found[1], found[2], found[3] or "1") and row["break_origin"] == found[4] and row["break_cause"] == found[5]]
        check.compared += 1
        if lost.replace("-", "") not in {row["lost_tokens"] for row in mine}:
            check.wrong.append(f"{where}: lost {lost}, which no such request did")
        kept = re.search(r"(.*?) stands? in front of .*?([\d,]+) (token|byte)s? that did not change", one["p"])
        if kept and found:
            size = int(kept[2].replace(",", ""))
            key = (found[1], kept[1], kept[3])
            breaks, most = sums.get(key, (0, 0))
            sums[key] = breaks + 1, most + size
            # A token at the seam may be another one.
            if kept[3] == "token" and lost.isdigit() and size > int(lost) + 3:
                check.wrong.append(f"{where}: a move would keep {size}, more than was lost")
    said = {}
    for sentence in page.changes:
        found = re.fullmatch(r"(.*?): Move (.*) behind what did not change: keeps ([\d,]+) (token|byte)s? in "
                             r"([\d,]+) breaks?(?:, ([\d,]+) each)?\.", sentence)
        if not found:
            continue
        size, breaks = int(found[3].replace(",", "")), int(found[5].replace(",", ""))
        said[found[1], found[2], found[4]] = breaks, size
        if breaks > 1:
            check.equal(f"{path}: {sentence}", found[6], grouped((size + breaks // 2) // breaks))
    check.equal(f"{path}: what to change", said, sums)
