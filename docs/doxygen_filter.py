#!/usr/bin/env python3
"""Shows doxygen the comments of a header as documentation (INPUT_FILTER of docs/Doxyfile). Lines keep their numbers.

  the comment at the beginning of the file   is of the file
  // lines right above a declaration         are of the declaration
  // behind a declaration, and what goes on  are of what stands before it
  below it in the same column
  any other comment                          stays a comment

A specialisation of another library's template is left out. What is indented by two spaces or more, and is no list, keeps its lines. No character has a meaning for doxygen.

usage: doxygen_filter.py HEADER"""
import re
import sys

COMMENT = re.compile(r"(\s*)//(?!/) ?(.*)")
BEHIND = re.compile(r'((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*\S)(\s+)// ?(.*)')
ITEM = re.compile(r"\s*(?:-|\d+\.) ")
SPECIAL = re.compile(r"[\\@<>&#%$~\"]|::")
ONCE = "#pragma once"  # stands below the comment of the file, and leaves its line to a word for doxygen
FOREIGN = re.compile(r"struct (?:fmt|std)::")  # under `template <>`
# What documentation may not stand above: nothing, ends, preprocessor lines, namespaces, labels.
NO_DECLARATION = re.compile(r"\s*(?:$|[})#]|namespace\b|(?:public|private|protected):)")


def escaped(text):
    return SPECIAL.sub(lambda found: "\\" + found[0], text)


def block(texts, lead):
    """The texts of a comment's lines, as documentation that begins each line by `lead`."""
    lines, kept, item = [], False, False
    for text in texts:
        if ITEM.match(text) or not text.strip():
            item = bool(text.strip())
        elif not text.startswith("  "):
            item = False
        keep = text.startswith("  ") and not item
        before = ("\\verbatim " if keep else "\\endverbatim ") if keep != kept else ""
        kept = keep
        line = text if keep else escaped(text)
        lines.append(f"{lead} {before}{line}")
    if kept:
        lines[-1] += " \\endverbatim"
    return lines


def without_foreign(lines):
    """The lines, where what specialises another library's template stands between marks that doxygen skips."""
    result, inside = list(lines), False
    for number, line in enumerate(lines):
        if line == "template <>" and number + 1 < len(lines) and FOREIGN.match(lines[number + 1]):
            result[number], inside = "/// \\cond", True
        elif inside and line == "};":
            result[number], inside = "/// \\endcond", False
    return result


def documented(lines):
    result, at = [], 0
    while at < len(lines):
        whole, behind = COMMENT.fullmatch(lines[at]), BEHIND.fullmatch(lines[at])
        end = at + 1
        if whole:
            while end < len(lines) and COMMENT.fullmatch(lines[end]):
                end += 1
            follows = lines[end] if end < len(lines) else ""
            texts = [COMMENT.fullmatch(line)[2] for line in lines[at:end]]
            if at == 0 and follows == ONCE:
                result += [*block(texts, "///"), "/// \\file"]
                end += 1
            elif NO_DECLARATION.match(follows):
                result += lines[at:end]
            else:
                result += block(texts, whole[1] + "///")
        elif behind and not NO_DECLARATION.match(lines[at]) and not behind[1].endswith("{"):
            column = len(behind[1] + behind[2])
            while end < len(lines) and (more := COMMENT.fullmatch(lines[end])) and len(more[1]) == column:
                end += 1
            result.append(f"{behind[1]}{behind[2]}///< {escaped(behind[3])}")
            result += [f"{' ' * column}///< {escaped(COMMENT.fullmatch(line)[2])}" for line in lines[at + 1:end]]
        else:
            result.append(lines[at])
        at = end
    return result


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        print("\n".join(documented(without_foreign(header.read().split("\n")))), end="")
