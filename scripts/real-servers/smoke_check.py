#!/usr/bin/env python3
"""Checks a run against a real llama.cpp server: smoke_check.py RUN

Every request has a count, no count breaks the server's rule, every count is
within its bound, and append-only reads more than dev.
"""
import csv
import sys
from pathlib import Path


def main():
    with open(Path(sys.argv[1]) / "requests.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    faults = []
    reads = {}
    for row in rows:
        where = f"{row['configuration']} turn {row['turn']}.{row['request']}"
        if row["outcome"] != "ok":
            faults.append(f"{where}: outcome {row['outcome']}")
            continue
        if row["usage_origin"] != "reported" or not row["read_tokens"]:
            faults.append(f"{where}: no count")
            continue
        total, read = int(row["total_tokens"]), int(row["read_tokens"])
        # The last prompt token is always computed.
        if read > total - 1:
            faults.append(f"{where}: read {read} of {total}")
        if not row["bound_tokens"]:
            faults.append(f"{where}: no bound")
        elif read != int(row["bound_tokens"]):
            faults.append(f"{where}: read {read}, bound {row['bound_tokens']}")
        reads[row["configuration"]] = reads.get(row["configuration"], 0) + read
    if reads.get("append-only", 0) <= reads.get("dev", 0):
        faults.append(f"append-only reads {reads.get('append-only')}, dev {reads.get('dev')}")
    print(f"{len(rows)} requests, cached tokens: {reads}")
    for fault in faults:
        print("fault:", fault)
    sys.exit(1 if faults or not rows else 0)


main()
