#!/usr/bin/env python3
"""Checks that no line has more than 100 columns, but for texts in R"(...)", and that clang-format
leaves every source as it is. The version is that of the packages for tests: another one breaks lines
in other places.

usage: check_format.py REPOSITORY
Exit codes: 0 all is well, 1 a line is too long or a source not formatted, 77 there is no clang-format-14"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = "clang-format-14"
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
COLUMNS = 100
RAW_TEXT = re.compile(r'R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"', re.DOTALL)


def sources(root):
    for top in ("include", "src", "tests", "tools"):
        yield from sorted(path for path in (root / top).rglob("*") if path.suffix in SUFFIXES)


def long_lines(path):
    text = RAW_TEXT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text())
    return [f"{path}:{number}: a line of {len(line)} columns, above {COLUMNS}"
            for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS]


def main(arguments):
    root = Path(arguments[1])
    found = list(sources(root))
    if not found:
        print("no source found")
        return 1
    too_long = [fault for path in found for fault in long_lines(path)]
    if too_long:
        print("\n".join(too_long))
        return 1
    if not shutil.which(PROGRAM):
        print(f"skipped: there is no {PROGRAM}")
        return 77
    checked = subprocess.run(
        [PROGRAM, "--style=file", "--dry-run", "-Werror", *found], stderr=subprocess.PIPE, text=True)
    lines = checked.stderr.splitlines()
    unformatted = sorted({line.split(":")[0] for line in lines if ": error: " in line})
    for path in unformatted:
        print(f"{path}: run {PROGRAM} -i on it")
    print(f"{len(found)} files, {len(unformatted)} of them not formatted")
    return checked.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))
