#!/usr/bin/env bash
# The example of docs/finetune.md as it stands there gives the numbers that stand there. They are those of mawk's draws.
source "$(dirname "$0")/expect.sh"
page=$SKEIN_TEST_SOURCE_DIR/docs/finetune.md
export PATH=$bin:$PATH
mkdir awk && ln -s "$(command -v mawk || die "there is no mawk")" awk/awk

sed -n '/^## An example/,/^## Tasks/s/^    //p' "$page" | grep -v '^{"text"' >commands
PATH=$PWD/awk:$PATH bash -euo pipefail commands >said 2>output || { cat output >&2; die "the example"; }
grep -qF "accuracy 1.0000" output || { cat output >&2; die "another accuracy"; }
python3 - "$page" <<'PY'
import json, sys
line = next(line for line in open(sys.argv[1]) if line.startswith('    {"text"'))
told, made = json.loads(line), json.loads(open("said").readline())
for record in (told, made):
    record["scores"] = {label: round(score, 3) for label, score in record["scores"].items()}
    record["score"] = round(record["score"], 3)
if told != made:
    sys.exit(f"FAILED: the page says {told}, and it is {made}")
PY
