#!/usr/bin/env python3
"""Checks that the documents for those who work on the sources say what is there.

  docs/tour.md, docs/how-to-add.md   every path in backticks or in a link is a file or a folder: of the
                                     repository, of include/skein, or beside the document; NAME in a path
                                     stands for a new one, and the folder of that is there; every C++ name
                                     in backticks stands somewhere in the sources
  SECURITY.md, docs/reliability.md   every test that holds a promise is there, in the repository or in tests
  all pages, launch, Dockerfile      every launch/NAME is there
  docs/README.md                     lists every page of docs once, with a sentence
  docs/troubleshooting.md            the sources say every message: in tables, the first cell under "message",
                                     where ... stands for what varies
  CONTRIBUTING.md                    the table has the floors and rooms of check_floors.py, and which room
                                     uses which

usage: check_docs.py REPOSITORY"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from check_floors import FLOORS, ROOMS, TOOLS, sources  # noqa: E402

DOCUMENTS = ("docs/tour.md", "docs/how-to-add.md")
PROMISES = ("SECURITY.md", "docs/reliability.md")
CONTENTS = "docs/README.md"
MESSAGES = "docs/troubleshooting.md"
NEW = "NAME"

QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:h|cpp|cu|cuh|py|sh|md|txt|ini)")
TEST = re.compile(r"tests/[\w./-]+|[\w./-]+(?:_test\.cpp|_fuzz\.cpp|\.sh)")
SCRIPT = re.compile(r"\blaunch/[A-Za-z][\w-]*(?:\.\w+)*")
ENTRY = re.compile(r"\d+\. \[[^\]]+\]\(([^)#]+)\)(: .+\.)?")
STRINGS = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
BETWEEN_STRINGS = re.compile(r'"\s*\n\s*"')
FIELD = re.compile(r"\{[^{}]*\}|%\w|\.\.\.")
CPP_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*(?:\(\))?")

ROW = re.compile(r"\|\s*(tools|\d+)\s*\|\s*`(\w+)`\s*\|[^|]*\|([^|]*)\|")


def is_there(name, document, root):
    parts = Path(name).parts
    new = next((i for i, part in enumerate(parts) if NEW in part), len(parts))
    known = Path(*parts[:new])
    return any((folder / known).exists() for folder in (root, root / "include/skein", document.parent))


def document_faults(document, words, root):
    if not document.is_file():
        yield f"{document.relative_to(root)}: missing"
        return
    paths = 0
    for number, line in enumerate(document.read_text().splitlines(), 1):
        where = f"{document.relative_to(root)}:{number}"
        quoted = [word.strip(",;") for span in QUOTED.findall(line) for word in span.split()]
        named = [word for word in quoted if PATH.fullmatch(word)] + LINK.findall(line)
        paths += len(named)
        for name in named:
            if not is_there(name, document, root):
                yield f"{where}: there is no {name}"
        for span in QUOTED.findall(line):
            name = span.removesuffix("()").split("::")
            if CPP_NAME.fullmatch(span) and NEW not in span and not words.issuperset(name):
                yield f"{where}: no source says {span}"
    if paths == 0:
        yield f"{document.relative_to(root)}: names no file"


def promise_faults(document, root):
    if not document.is_file():
        yield f"{document.relative_to(root)}: missing"
        return
    tests = 0
    for number, line in enumerate(document.read_text().splitlines(), 1):
        for name in (word for span in QUOTED.findall(line) for word in span.split()):
            if not TEST.fullmatch(name):
                continue
            tests += 1
            if not any((folder / name).exists() for folder in (root, root / "tests")):
                yield f"{document.relative_to(root)}:{number}: there is no test {name}"
    if tests == 0:
        yield f"{document.relative_to(root)}: names no test"


def script_faults(root):
    documents = [root / name for name in ("README.md", "CONTRIBUTING.md", "Dockerfile")]
    for document in documents + sorted(root.glob("docs/**/*.md")) + sorted(root.glob("launch/*")):
        for number, line in enumerate(document.read_text().splitlines() if document.is_file() else (), 1):
            for name in SCRIPT.findall(line):
                if not (root / name).exists():
                    yield f"{document.relative_to(root)}:{number}: there is no {name}"


def contents_faults(root):
    contents = root / CONTENTS
    pages = {str(page.relative_to(contents.parent)) for page in contents.parent.glob("**/*.md")} - {contents.name}
    listed = set()
    for number, line in enumerate(contents.read_text().splitlines() if contents.is_file() else (), 1):
        entry = ENTRY.match(line)
        if not entry:
            continue
        page, sentence = entry.groups()
        if page not in pages:
            yield f"{CONTENTS}:{number}: there is no page {page}"
        if page in listed:
            yield f"{CONTENTS}:{number}: {page} is listed again"
        if not sentence:
            yield f"{CONTENTS}:{number}: no sentence says what {page} holds"
        listed.add(page)
    for page in sorted(pages - listed):
        yield f"{CONTENTS}: docs/{page} is not listed"


def said_by(paths):
    """What strings of the sources say, without fields; one that goes on in the next line is one."""
    joined = (BETWEEN_STRINGS.sub("", path.read_text()) for path in paths)
    return "\n".join(part for text in joined for string in STRINGS.findall(text) for part in FIELD.split(string))


def message_faults(root, said):
    document = root / MESSAGES
    messages, inside = 0, False
    for number, line in enumerate(document.read_text().splitlines() if document.is_file() else (), 1):
        cells = line.split("|")
        inside = line.startswith("| message |") or inside and line.startswith("|")
        if not inside or len(cells) < 3 or not (message := QUOTED.search(cells[1])):
            continue
        messages += 1
        for part in FIELD.split(message[1]):
            if part.strip(" ;:,?") and part.strip() not in said:
                yield f"{MESSAGES}:{number}: no source says \"{part.strip()}\""
    if messages == 0:
        yield f"{MESSAGES}: tells no message"


def rooms_in(cell):
    """{room: rooms that it uses} of a cell of the table, where / is the floor's own folder."""
    rooms = {}
    for part in filter(str.strip, cell.split(";")):
        room, _, used = part.partition("→")
        for name in QUOTED.findall(room):
            rooms["" if name == "/" else name] = {"" if other == "/" else other for other in QUOTED.findall(used)}
    return rooms


def table_faults(root):
    table = root / "CONTRIBUTING.md"
    rows = {folder: (floor, rooms) for floor, folder, rooms in ROW.findall(table.read_text())} if table.is_file() else {}
    for folder, level in {**FLOORS, "tools": TOOLS}.items():
        floor, rooms = rows.pop(folder, (None, ""))
        wanted = "tools" if level == TOOLS else str(level)
        if floor != wanted:
            yield f"CONTRIBUTING.md: {folder} is of floor {wanted}, the table has {floor or 'none'}"
        if rooms_in(rooms) != ROOMS.get(folder, {}):
            yield f"CONTRIBUTING.md: the rooms of {folder} are others than those of check_floors.py"
    for folder in rows:
        yield f"CONTRIBUTING.md: there is no folder {folder}"


def main(argv):
    root = Path(argv[1]).resolve()
    words = set(re.findall(r"\w+", "\n".join(path.read_text() for path in sources(root))))
    faults = [fault for name in DOCUMENTS for fault in document_faults(root / name, words, root)]
    faults += [fault for name in PROMISES for fault in promise_faults(root / name, root)]
    faults += script_faults(root)
    faults += contents_faults(root)
    faults += message_faults(root, said_by(sources(root)))
    faults += table_faults(root)
    for fault in faults:
        print(fault)
    print(f"{len(DOCUMENTS) + len(PROMISES) + 3} documents, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
