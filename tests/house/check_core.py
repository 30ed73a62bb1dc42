#!/usr/bin/env python3
"""Checks that the core stays open: what one architecture, one layout or one batch is made of is said in one place.

usage: check_core.py REPOSITORY [CHECK...]
Checks, all where none is named:
  architectures  sources outside models/X and convert name no architecture X, and none of its own options
  generate       decoding sends nothing and knows no stages: Pipeline does
  models         models call no collective and no kernel: ops do
  tensors        no name of a tensor is compared with text, outside of convert and checkpoint
  fields         the fields of a batch are listed once
  ops            the error text of every op is tested
  commands       cli holds a source a command, what all of them need, and no class
  notes          the sources whose invariants are hard to see begin with them"""
import re
import sys
from itertools import takewhile
from pathlib import Path

from check_floors import floor_of, sources
from check_style import LITERALS, blank_literals

WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"')

REGISTRY = ("models", "registry.cpp")  # the one source that names all architectures
# Tokenizers bear the names of the models that they were made for, speakers that of a product.
NAMED_IN_CODE, NAMED_IN_TEXT = {"models", "convert", "text"}, {"models", "convert", "text", "data"}

STAGES = re.compile(r"\b(?:send|recv|receive)\w*\s*\(|\bpp\s*\(|\b(?!share_last_stage\b)\w*[sS]tage\w*")
COLLECTIVE = re.compile(
    r"\b(?:all_reduce\w*|all_gather\w*|reduce_scatter\w*|broadcast\w*|send\w*|recv\w*)\s*\("
    r"|\bkernels::[a-z]\w*\s*\(|\bon_device\s*\(")
COLLECTIVE_HEADER = re.compile(r'#include "skein/(?:comm/\w+|ops/collective)\.h"')

TENSOR = (r'"(?!model\.)(?:(?:embedding|block|head|classifier|pooler|pair|value)\.[^"]*'
          r'|[^"]*\.(?:weight|bias|gain)|(?:final_norm|classifier|pooler)[^"]*)"')
SEARCH = r"(?:starts_with|ends_with|find|rfind|contains|compare)\s*\("
MATCHED = re.compile(
    rf"(?:[=!]=|{SEARCH})\s*(?:fmt::format\()?{TENSOR}|{TENSOR}\s*[=!]="
    rf'|(?:\btensor\(\)|\bparameter\.name)\s*(?:[=!]=\s*"|\.{SEARCH}|\.substr\()')

FIELD_LIST = "include/skein/data/samples/batch_fields.h"
FIELD = re.compile(r"&(?:Batch|Sequence)::(\w+)")

REFUSES_NOTHING = {"one_use"}  # takes any operand
OP = re.compile(r"^(?!using\b|typedef\b|struct\b|class\b|enum\b)\w[\w:<>,&* ]*?[ &*](\w+)\(", re.MULTILINE)

# What more than one command needs; it prepares and ends runs.
COMMANDS = {"command", "long_run"}

NOTED = [
    "src/parallel/pipeline.cpp", "src/parallel/buckets.cpp", "src/train/replica.cpp",
    "src/generate/decoding.cpp", "src/rlhf/policy/objective.cpp", "src/kernels/cpu/gemm.h",
    "src/kernels/cpu/attention_forward.cpp", "src/checkpoint/save.cpp",
]
NOTE_LINES = range(5, 16)


def without_comments(text):
    def kept(match):
        comment = match.group().startswith(("//", "/*"))
        return "\n" * match.group().count("\n") if comment else match.group()
    return LITERALS.sub(kept, text)


def found_in(root, files, pattern, text_of, why):
    for path in files:
        text = text_of(path.read_text())
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(root)}:{line}: {match.group().strip()} {why}"


def on_floors(root, *floors):
    return [path for path in sources(root) if floor_of(path, root) in floors]


def own_options(folder):
    bound = re.compile(r'\.add(?:_choice)?\(\s*"([\w.]+)"')
    return {key for path in sorted(folder.rglob("*.cpp")) for key in bound.findall(path.read_text())}


def named(path, names, texts, code, literals):
    """(line, what) of each architecture that a source names."""
    raw = path.read_text()
    if not any(word in raw.lower() for word in texts):
        return
    for number, line in enumerate(raw.splitlines(), 1):
        included = re.match(r'\s*#\s*include\s*["<]skein/models/(\w+)/', line)
        if included and included.group(1) in names:
            yield number, line.strip()
    for number, line in enumerate(blank_literals(raw).splitlines() if code else (), 1):
        for name in IDENTIFIER.findall(line):
            if names & {word.lower() for word in WORDS.findall(name)}:
                yield number, name
    for number, line in enumerate(without_comments(raw).splitlines() if literals else (), 1):
        for text in TEXT.findall(line):
            if text in texts:
                yield number, f'"{text}"'


def architectures(root):
    folders = [path for path in sorted((root / "src/models").glob("*")) if path.is_dir()]
    if not folders:
        yield "src/models: no architecture has a folder"
    names = {folder.name for folder in folders}
    texts = names | {key for folder in folders for key in own_options(folder)}
    for path in sources(root):
        floor, parts = floor_of(path, root), path.relative_to(root).parts
        shared = floor == "models"
        if floor == "convert" or (shared and (parts[-2] in names or parts[-2:] == REGISTRY)):
            continue
        for line, what in named(path, names, texts, shared or floor not in NAMED_IN_CODE,
                                shared or floor not in NAMED_IN_TEXT):
            yield f"{path.relative_to(root)}:{line}: {what} names an architecture: ask Architecture what it can do"


def generate(root):
    return found_in(root, on_floors(root, "generate"), STAGES, blank_literals, "is Pipeline's work")


def models(root):
    files = on_floors(root, "models")
    yield from found_in(root, files, COLLECTIVE, blank_literals, "is called by a model: an op does that")
    yield from found_in(root, files, COLLECTIVE_HEADER, without_comments, "is not for models")


def tensors(root):
    files = [path for path in sources(root) if floor_of(path, root) not in ("convert", "checkpoint")]
    return found_in(root, files, MATCHED, without_comments, "matches a tensor's name: ask for its part")


def fields(root):
    table = root / FIELD_LIST
    names = FIELD.findall(table.read_text()) if table.is_file() else []
    if not names:
        yield f"{FIELD_LIST}: lists no field of a batch"
        return
    one = rf"&?\b\w+(?:\.|->)(?:source\.)?(?:{'|'.join(names)})\b(?!\s*[(.=])"
    several = re.compile(rf"{FIELD.pattern}|{one}(?:\s*,\s*{one}){{3,}}")
    others = [path for path in sources(root) if path != table]
    yield from found_in(root, others, several, blank_literals, f"is a list of fields beside {FIELD_LIST}")


def ops(root):
    """A test tells the text, "name: ...", or spoils the operands of a case, {"name", ..., one at a time."""
    tests = [*(root / "tests/ops").glob("*.cpp"), root / "tests/support/op_cases.h"]
    tested = "".join(path.read_text() for path in tests if path.is_file())
    headers = sorted((root / "include/skein/ops").glob("*.h"))
    if not headers:
        yield "include/skein/ops: no op found"
    for path in headers:
        text = blank_literals(path.read_text())
        if "namespace skein::ops {" not in text:
            continue
        for name in sorted(set(OP.findall(text)) - REFUSES_NOTHING):
            if not re.search(rf'"{name}: |\{{"{name}",', tested):
                yield f"{path.relative_to(root)}: no test in tests/ops tells what {name} refuses"


def commands(root):
    folder = root / "src/cli"
    for path in sorted(folder.glob("*")):
        shared = path.stem in COMMANDS or path.name == "main.cpp"
        text = blank_literals(path.read_text())
        if path.suffix == ".h" and not shared:
            yield f"{path.relative_to(root)}: a header: what commands share lies below, with unit tests"
        if path.suffix == ".cpp" and not shared and f"int {path.stem}_command(" not in text:
            yield f"{path.relative_to(root)}: makes no command {path.stem}"
        for match in re.finditer(r"^class (\w+)", text, re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(root)}:{line}: {match.group(1)} has no unit test here: move it below"


def notes(root):
    for name in NOTED:
        path = root / name
        lines = path.read_text().splitlines() if path.is_file() else []
        count = sum(line.strip("/ ") != "" for line in takewhile(lambda line: line.startswith("//"), lines))
        if count not in NOTE_LINES:
            yield (f"{name}: begins with {count} lines of comment; its invariants take "
                   f"{NOTE_LINES.start} to {NOTE_LINES.stop - 1}")


CHECKS = {check.__name__: check
          for check in (architectures, generate, models, tensors, fields, ops, commands, notes)}


def main(argv):
    root, wanted = Path(argv[1]).resolve(), argv[2:] or CHECKS
    faults = [fault for name in wanted for fault in CHECKS[name](root)]
    for fault in faults:
        print(fault)
    print(f"{', '.join(wanted)}: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
