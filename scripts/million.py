#!/usr/bin/env python3
"""Makes a large run folder out of copies of a small one, to measure `report` by.

    scripts/million.py RUN OUT [--records N] [--without-prompts]

Each copy has a repeat, conversation names and salts of its own (one salt for each
conversation), and latencies drawn anew (seeded); all else is as RUN has it. Of several
repeats in RUN the first of each conversation is copied, so that no record is there twice. Prompts make up nearly all of a
run's bytes: --without-prompts leaves them out.
"""

import argparse
import json
import pathlib
import random
import shutil
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def pieces(record, holes):
    """The line of a record in pieces, with a hole behind each but the last."""
    text = compact(record | {name: f"\0{at}\0" for at, name in enumerate(holes)})
    out = []
    for at in range(len(holes)):
        before, text = text.split(compact(f"\0{at}\0"), 1)
        out.append(before)
    return out + [text]


def stamps(old, start, rng):
    """The same request at another time, its first token later or sooner by half."""
    sent = start + rng.randrange(2_000)
    first = sent + max(1, int((old["first_text_us"] - old["sent_us"]) * rng.uniform(0.5, 1.5)))
    done = first + max(1, int((old["done_us"] - old["first_text_us"]) * rng.uniform(0.5, 1.5)))
    return compact({"due_us": start, "sent_us": sent, "headers_us": first, "first_event_us": first,
                    "first_text_us": first, "first_answer_us": first, "done_us": done})


def first_repeats(requests):
    """The records of the lowest repeat of each conversation."""
    lowest = {}
    for record in requests:
        name = record["conversation"].rsplit("/", 1)[0]
        lowest[name] = min(lowest.get(name, record["repeat"]), record["repeat"])
    return [record for record in requests
            if record["repeat"] == lowest[record["conversation"].rsplit("/", 1)[0]]]


def attempt(record):
    return tuple(record[name] for name in ("conversation", "turn", "request", "attempt"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--without-prompts", action="store_true")
    given = parser.parse_args()
    requests = first_repeats(lines(given.run / "requests.jsonl"))
    bounds = {attempt(bound): pieces(bound, ("conversation",)) for bound in lines(given.run / "bounds.jsonl")}
    if not all(record["outcome"] == "ok" for record in requests):
        print("every request of RUN must have been answered", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True)
    for name in ("manifest.json", "spans.jsonl"):
        shutil.copy(given.run / name, given.out / name)
    if given.without_prompts:
        requests = [record | {"prompt": []} for record in requests]
    cut = [(record, record["conversation"].rsplit("/", 1)[0], bounds.get(attempt(record)),
            pieces(record, ("repeat", "conversation", "stamps", "salt"))) for record in requests]
    rng, written = random.Random(7), 0
    with open(given.out / "requests.jsonl", "w", encoding="utf-8") as file, \
            open(given.out / "bounds.jsonl", "w", encoding="utf-8") as bound_file:
        repeat = 0
        while written < given.records:
            repeat += 1
            salts = {}
            for record, name, bound, part in cut[:given.records - written]:
                at = stamps(record["stamps"], written * 1_000, rng)
                if name not in salts:
                    salts[name] = f"{rng.getrandbits(96):024x}"
                file.write(f'{part[0]}{repeat}{part[1]}"{name}/{repeat}"{part[2]}{at}{part[3]}'
                           f'"{salts[name]}"{part[4]}\n')
                written += 1
                if bound:
                    bound_file.write(f'{bound[0]}"{name}/{repeat}"{bound[1]}\n')
    print(f"{written} records in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
