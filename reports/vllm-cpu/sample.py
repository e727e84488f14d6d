#!/usr/bin/env python3
"""A tenth of the library, drawn by a seed: sample.py SEED FOLDER

Prints the paths of as many scenario files as make a tenth of those in FOLDER, in the order of
their names. The same seed and folder give the same files.
"""
import math
import random
import sys
from pathlib import Path


def main():
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    files = sorted(folder.glob("*.yaml"))
    chosen = random.Random(seed).sample(files, math.ceil(len(files) / 10))
    print("\n".join(str(path) for path in sorted(chosen)))


main()
