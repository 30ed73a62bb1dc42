#!/usr/bin/env bash
# Every option that a document names, as `--section.key` or `section.key`, is one of a program; on pages for those who come from other programs,
# whose text names others' options too, every one in a column "here".
source "$(dirname "$0")/expect.sh"
root=$SKEIN_TEST_SOURCE_DIR

# The options of all commands: section.key, one a line.
commands() { "$1" --help | sed -nE 's/^  ([a-z][a-z-]+)  .*/\1/p'; }
known() {
  "$bin/skein-convert" --help
  for program in skein skein-data skein-inspect; do
    for command in $(commands "$bin/$program"); do "$bin/$program" "$command" --help; done
  done
}
known | sed -nE 's/^  --([a-z_]+\.[a-z0-9_]+).*/\1/p' | sort -u >options
[ "$(wc -l <options)" -gt 500 ] || die "only $(wc -l <options) options are known"

cat >check.py <<'PY'
import re
import sys

SPAN = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?:--)?([a-z_]+\.[a-z0-9_]+)(?:=.*)?,?")
FLAG = re.compile(r"(?<![\w-])--([a-z_]+\.[a-z0-9_]+)")
# What follows a dot in the names of files; options of other programs stand in the other columns.
FILES = {"ini", "json", "jsonl", "h5", "txt", "md", "h", "cpp", "tsv", "csv", "bin", "gz", "idx", "png", "py", "html", "pt", "key", "log", "sh", "svg"}
OTHERS = {"model.safetensors", "tokenizer.model", "tokenizer.eos_token", "score.weight",  # files and tensors of other programs
          "model.window"}  # of earlier versions
PEERS = ("from-trl.md", "coming-from.md")

options = set(open("options").read().split())
sections = {option.partition(".")[0] for option in options}
told = faults = 0


def here_columns(line, heads):
    """The cells of a row that stand under "here"; all of another line."""
    cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else None
    if cells is None:
        return [line], []
    names = [cell.strip() for cell in cells]
    if "here" in names:
        return [], names
    return [cell for cell, name in zip(cells, heads or names) if not heads or name == "here"], heads


for path in sys.argv[1:]:
    peers, heads = path.endswith(PEERS), []
    for number, line in enumerate(open(path).read().splitlines(), 1):
        parts, heads = here_columns(line.replace("\\|", "/"), heads) if peers else ([line], [])
        for part in parts if not peers or heads else []:
            names = FLAG.findall(part)
            for span in SPAN.findall(part):
                names += [found[1] for word in span.split() if (found := OPTION.fullmatch(word))]
            for name in names:
                section, _, key = name.partition(".")
                if section not in sections and not peers or key in FILES or name in OTHERS:
                    continue
                told += 1
                if name not in options:
                    faults += 1
                    print(f"{path}:{number}: no program has an option {name}")
print(f"{told} options, {faults} of them unknown")
sys.exit(1 if faults or not told else 0)
PY

expect 0 " 0 of them unknown" python3 check.py "$root"/README.md "$root"/docs/*.md
cat output
printf '| there | here | what differs |\n|---|---|---|\n| `train.most` | `train.steps` | `lr.peak` there |\n' >coming-from.md
expect 0 "1 options, 0 of them" python3 check.py coming-from.md
printf '| there | here |\n|---|---|\n| `a.b` | `train.steps=3`, `traim.stepz=4` |\n' >coming-from.md
expect 1 "coming-from.md:3: no program has an option traim.stepz" python3 check.py coming-from.md
printf 'a `train.stepz`\n\n    skein pretrain --lr.lrr=3 --config train.ini\n' >other.md
expect 1 "other.md:1: no program has an option train.stepz" python3 check.py other.md
grep -q "other.md:3: no program has an option lr.lrr" output || die "a flag is not looked at"
echo passed
