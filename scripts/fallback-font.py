"""Makes src/chart/font/NotoSansSCKR-Regular.subset.ttf: the letters of Chinese, Japanese and Korean
that people use most, for names on PNG charts. Needs fonttools and brotli.

    npm pack @fontsource/noto-sans-sc@5.3.0 @fontsource/noto-sans-kr@5.3.0
    mkdir sc kr
    tar xzf fontsource-noto-sans-sc-5.3.0.tgz -C sc
    tar xzf fontsource-noto-sans-kr-5.3.0.tgz -C kr
    python3 scripts/fallback-font.py sc kr src/chart/font/NotoSansSCKR-Regular.subset.ttf

The packages hold the fonts in slices; what is wanted of each is taken, and all is put together.
"""

import sys
import tempfile
from pathlib import Path

from fontTools.merge import Merger
from fontTools.merge import Options as MergeOptions
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

LAYOUT = ["GSUB", "GPOS", "GDEF", "vhea", "vmtx", "VORG", "BASE", "STAT"]
NAMES = {
    0: "(c) 2014-2021 Adobe (http://www.adobe.com/), with Reserved Font Name 'Source'.",
    1: "Noto Sans SC KR Subset",
    2: "Regular",
    3: "2.004;NotoSansSCKRSubset-Regular",
    4: "Noto Sans SC KR Subset Regular",
    5: "Version 2.004",
    6: "NotoSansSCKRSubset-Regular",
    13: "This Font Software is licensed under the SIL Open Font License, Version 1.1.",
    14: "http://scripts.sil.org/OFL",
}


def rows(codec: str, first: int, last: int) -> set[int]:
    """The letters in these rows of a table of 94 by 94."""
    codes = (bytes([0xA0 + row, 0xA0 + cell]) for row in range(first, last + 1) for cell in range(1, 95))
    return {ord(letter) for code in codes for letter in code.decode(codec, "ignore")}


HAN = rows("gb2312", 16, 55) | rows("euc_jp", 16, 47)
SIGNS = {*range(0x3000, 0x3020), *range(0x3041, 0x3097), *range(0x30A0, 0x3100), *range(0xFF01, 0xFF5F)}
HANGUL = rows("euc_kr", 16, 40) | {*range(0x3131, 0x3164)}


def slices(folder: Path, wanted: set[int], out: Path) -> list[str]:
    """Writes what is wanted of each slice and takes it from `wanted`; gives the files."""
    files = []
    for path in sorted(folder.glob("package/files/*-400-normal.woff2")):
        font = TTFont(path)
        have = wanted & set(font.getBestCmap())
        if not have:
            continue
        wanted -= have
        options = Options(layout_features=[], hinting=False, recalc_timestamp=False)
        options.drop_tables += LAYOUT
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=have)
        subsetter.subset(font)
        font.flavor = None
        files.append(str(out / f"{folder.name}-{len(files)}.ttf"))
        font.save(files[-1])
    return files


def main() -> None:
    chinese, korean, target = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        files = slices(chinese, HAN | SIGNS, out) + slices(korean, set(HANGUL), out)
        font = Merger(MergeOptions(drop_tables=LAYOUT)).merge(files)
    font["name"].names = []
    for number, text in NAMES.items():
        font["name"].setName(text, number, 3, 1, 0x409)
    font.save(target)


if __name__ == "__main__":
    main()
