# Sourced by the scripts here: a scratch folder to work in, `expect`, `await` and `none_left`.
set -euo pipefail

bin="$SKEIN_TEST_BIN_DIR"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

die() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect CODE WORD COMMAND...: the command exits with CODE within two minutes and says WORD. Its output is in ./output.
expect() {
  local code=$1 word=$2 got=0
  shift 2
  timeout 120 "$@" >output 2>&1 || got=$?
  [ "$got" = "$code" ] || { cat output >&2; die "exit code $got instead of $code: $*"; }
  grep -qF -- "$word" output || { cat output >&2; die "no \"$word\" in the output of: $*"; }
}

# await COMMAND...: waits for it to succeed, about a minute at most.
await() {
  for _ in $(seq 1200); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  if [ -e output ]; then cat output >&2; fi
  die "in vain awaited: $*"
}

# none_left PATTERN: within 10 s no process has that in its command line (ranks may outlive mpirun for so long).
none_left() {
  for _ in $(seq 200); do
    if ! pgrep -f -- "$1" >/dev/null; then return; fi
    sleep 0.05
  done
  pgrep -a -f -- "$1" >&2
  die "processes are left over 10 s later"
}

# break_weights FOLDER TENSOR: the first value of that tensor of FOLDER/model.safetensors becomes NaN.
break_weights() {
  python3 - "$@" <<'PY'
import json, struct, sys
with open(sys.argv[1] + "/model.safetensors", "r+b") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    tensor = json.loads(file.read(size))[sys.argv[2]]
    file.seek(8 + size + tensor["data_offsets"][0])
    file.write({"F32": struct.pack("<f", float("nan")), "F16": b"\x00\x7e", "BF16": b"\xc0\x7f"}[tensor["dtype"]])
PY
}

# Two small stores, train.h5 and valid.h5, and the text of the second, heldout.txt.
make_stores() {
  for i in $(seq 1 600); do
    echo "Paragraph $i: the quick brown fox can't jump over ${i} lazy dogs; it counts $((i * 7 % 31)) of them."
    echo
  done >corpus.txt
  "$bin/skein-data" train-tokenizer --data.vocab_size=300 --output.path=tok.json corpus.txt 2>/dev/null
  "$bin/skein-data" encode --tokenizer.path=tok.json --output.path=train.h5 --output.validation=valid.h5 \
    --data.validation_fraction=0.05 corpus.txt 2>/dev/null
  "$bin/skein-data" decode valid.h5 >heldout.txt
}

small="--model.context=32 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --train.global_batch=8 --data.train=train.h5"

# same_metrics RUN RUN: metrics.jsonl of both says the same, but for what was measured.
same_metrics() {
  python3 - "$1" "$2" <<'PY' || die "$1 and $2 differ"
import json, sys
def lines(path):
    drop = lambda name: name == "seconds" or name.endswith(("_share", "_per_second")) or name.startswith("peak_")
    return [{k: v for k, v in json.loads(line).items() if not drop(k)} for line in open(path + "/metrics.jsonl")]
a, b = map(lines, sys.argv[1:])
assert a == b, [(x, y) for x, y in zip(a, b) if x != y][:1]
PY
}
