#!/usr/bin/env python3
"""Count less bound for every request of the runs in a folder: differences.py [FOLDER]

A row per run and configuration, a column per class of requests: the first of a conversation, those
whose prefix went on, those whose prefix broke. Then, for the requests that `library` and
`library-file` have in common, whether the server's /tokenize and the tokenizer file gave the same
tokens. Needs nothing but the `requests.csv` files.
"""
import csv
import sys
from collections import Counter
from pathlib import Path

CLASSES = ("first", "went on", "broke")


def kind(row):
    if row["turn"] == "1" and row["request"] == "1":
        return "first"
    return "broke" if row["break_origin"] else "went on"


def tell(differences):
    """`30 × 0`, or each difference that occurs with how often it does."""
    if not differences:
        return "-"
    return ", ".join(f"{count} × {what}" for what, count in sorted(differences.items()))


def rows_of(folder):
    table, order = {}, []
    with open(folder / "requests.csv", newline="") as file:
        for row in csv.DictReader(file):
            name = row["configuration"]
            if name not in table:
                order.append(name)
            cells = table.setdefault(name, {one: Counter() for one in CLASSES})
            if row["outcome"] != "ok":
                what = row["outcome"]
            elif row["usage_origin"] != "reported":
                what = "no count"
            elif not row["bound_tokens"]:
                what = "no bound"
            else:
                what = str(int(row["read_tokens"]) - int(row["bound_tokens"]))
            cells[kind(row)][what] += 1
    return [(name, table[name]) for name in order]


def counts_of(folder):
    names = ("total_tokens", "eligible_tokens", "bound_tokens", "read_tokens")
    with open(folder / "requests.csv", newline="") as file:
        return {
            (row["conversation"], row["turn"], row["request"]): [row[name] for name in names]
            for row in csv.DictReader(file)
        }


def tokenizers(base):
    served, local = base / "library", base / "library-file"
    if not all((run / "requests.csv").exists() for run in (served, local)):
        return
    served, local = counts_of(served), counts_of(local)
    both = served.keys() & local.keys()
    differ = sum(served[one] != local[one] for one in both)
    print(f"\n/tokenize and tokenizer.json: {len(both)} requests in common, {differ} differ")


def main():
    base = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    runs = sorted(path.parent for path in base.glob("*/requests.csv"))
    total = Counter()
    print("| run | configuration | " + " | ".join(CLASSES) + " |")
    print("| --- | --- |" + " --- |" * len(CLASSES))
    for run in runs:
        for name, cells in rows_of(run):
            print(f"| {run.name} | {name} | " + " | ".join(tell(cells[one]) for one in CLASSES) + " |")
            for differences in cells.values():
                total.update(differences)
    print(f"\nAll requests (requests × difference in tokens): {tell(total)}")
    tokenizers(base)


main()
