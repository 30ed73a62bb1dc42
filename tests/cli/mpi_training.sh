#!/usr/bin/env bash
# A run from stores to text, as a user drives it: mpirun, a kill, another layout, evaluation, inspection.
source "$(dirname "$0")/expect.sh"
make_stores
skein="$bin/skein"
train="$skein pretrain $small --data.validation=valid.h5 --train.steps=60 --checkpoint.every=10 --checkpoint.keep=20"

expect 0 "done: 60 steps" $train --run.dir=whole
grep -q "ETA" output || die "no ETA in the progress lines"
grep -q "bits per byte" output || die "no validation"

# Killed hard in the middle, then on at two other layouts: the same bits.
mpirun -np 2 $train --run.dir=killed >output 2>&1 &
launcher=$!
await compgen -G "killed/checkpoints/step-00000010*"
pkill -KILL -P $launcher || true
wait $launcher && killed=0 || killed=1
expect 0 "done" mpirun -np 4 $train --run.dir=killed --parallel.pipeline=2 --parallel.zero
last=$(cd whole/checkpoints && ls -d step-00000060.*)
expect 0 "" "$bin/skein-inspect" diff whole/checkpoints/"$last" "$(ls -d killed/checkpoints/step-00000060.*)"
echo "the first job was killed: $killed"

# Any number of ranks that divides the batch: the bits of one, with a power of two of the groups each, or in turn by a power of two of ranks.
twelve="$train --train.steps=10 --train.global_batch=12 --train.micro_batch=1 --parallel.reduction_groups=12"
expect 0 "gradients of 12 groups added as by one rank" $twelve --run.dir=one
for ranks in 2 3 6; do
  expect 0 "x data $ranks x tensor 1" mpirun -np $ranks $twelve --run.dir=by$ranks --parallel.zero
  expect 0 "" "$bin/skein-inspect" diff one/checkpoints/step-00000010.* by$ranks/checkpoints/step-00000010.*
done
expect 0 "gradients of 12 groups added as by 2 data-parallel ranks" mpirun -np 2 $twelve --run.dir=neighbours \
  --parallel.group_order=contiguous
expect 2 "train.global_batch=12 does not divide by the 5 data-parallel ranks; the nearest that does is 10" mpirun -np 5 $twelve --run.dir=by5

# Asked to stop: a checkpoint, exit code 85, and on.
mpirun -np 2 $train --train.steps=100000 --run.dir=asked >output 2>&1 &
launcher=$!
await grep -q "step *10/" output
if [ "$(nproc)" -ge 2 ]; then
  mapfile -t cores < <(for pid in $(pgrep -P $launcher); do grep Cpus_allowed_list "/proc/$pid/status"; done)
  [ "${#cores[@]}" = 2 ] && [ "${cores[0]}" != "${cores[1]}" ] || die "two ranks may meet on a core: ${cores[*]}"
fi
kill -USR2 $launcher
wait $launcher && code=0 || code=$?
[ "$code" = 85 ] || { cat output >&2; die "exit code $code instead of 85 after USR2"; }
grep -q "stopped as asked" output || die "it does not say that it was stopped"
"$bin/skein-inspect" list asked | grep -q good || die "no checkpoint after USR2"

# What the run leaves, and that its resolved options can be fed back.
[ "$(wc -l <whole/metrics.jsonl)" = 61 ] || die "$(wc -l <whole/metrics.jsonl) metrics lines instead of 61"
mapfile -t peaks < <(sed -nE 's/.*"peak_memory_bytes":([0-9]+).*/\1/p' whole/metrics.jsonl)
((peaks[59] - peaks[25] < 3000000)) || die "memory grows: ${peaks[25]} bytes after 26 steps, ${peaks[59]} after 60"
ls whole/tensorboard/train/events.out.tfevents.* >/dev/null
grep -q "precision = f32  # auto on a CPU" whole/config.ini || die "config.ini does not say what train.precision=auto means"
expect 0 "# flag --train.steps" $train --run.dir=whole --print-config
cp output resolved.ini
expect 0 "steps = 60  # resolved.ini" "$skein" pretrain --config resolved.ini --print-config
expect 0 "step 60 of 60 is done already" "$skein" pretrain --config whole/config.ini
expect 0 "precision = bf16  # auto on a GPU" "$skein" pretrain --device=cuda --print-config
expect 0 "precision = bf16  # auto on a GPU" "$skein" generate --device=cuda --print-config

# A profile of three steps, by rank, that a trace viewer can read.
expect 0 "profile of 3 steps" mpirun -np 2 $train --run.dir=profiled --train.steps=6 --run.profile=3 --train.precision=bf16
python3 - <<'EOF' || die "profile.json is no trace"
import json
events = json.load(open("profiled/profile.json"))["traceEvents"]
assert {e["pid"] for e in events} == {0, 1}
steps = [e for e in events if e["name"] == "step" and e["pid"] == 0]
assert len(steps) == 3
assert any(e["name"] == "matmul" and e["args"]["flops"] > 0 for e in events)
for e in events:
    if e["pid"] == 0 and e["name"] == "matmul":
        assert any(s["ts"] - 1 <= e["ts"] and e["ts"] + e["dur"] <= s["ts"] + s["dur"] + 1 for s in steps)
EOF

# Evaluation: the same number at any layout, from a store or from its text.
expect 0 "bits per byte" "$skein" eval --checkpoint.path=whole --data.validation=valid.h5 --eval.output=a.json
expect 0 "bits per byte" mpirun -np 4 "$skein" eval --checkpoint.path=whole --data.validation=valid.h5 --parallel.pipeline=2 --eval.output=b.json
expect 0 "bits per byte" "$skein" eval --checkpoint.path=whole --data.text=heldout.txt --eval.output=c.json
cmp a.json b.json || die "evaluation depends on the layout"
cmp a.json c.json || die "evaluation of a store and of its text differ"

# Text: the same at any layout, in both formats, from arguments, a file with \r\n, bytes that are no UTF-8.
generate="$skein generate --checkpoint.path=whole --generate.max_tokens=8 --sample.seed=5"
expect 0 "Paragraph" $generate "Paragraph 7" "the quick"
cp output whole.txt
printf 'Paragraph 7\r\n\r\nthe quick\r\n' >prompts.txt
expect 0 "" mpirun -np 2 $generate --generate.input=prompts.txt --generate.output=two.txt
[ "$(grep -c -- --- two.txt)" = 2 ] || die "not two results"
while read -r line; do grep -qF -- "$line" whole.txt || die "\"$line\" depends on the layout"; done <two.txt
printf '{"prompt": "a \\u00e9"}\n{"prompt": ""}\n' >prompts.jsonl
expect 0 '"completion":' $generate --generate.format=jsonl --generate.input=prompts.jsonl
expect 0 "" $generate --generate.precision=bf16 "Paragraph"
printf 'caf\351 \377\n' >latin.txt
expect 0 "" mpirun -np 2 $generate --generate.input=latin.txt
expect 2 "prompts.txt:1:" $generate --generate.format=jsonl --generate.input=prompts.txt
! grep -q "fills the model's context" whole.txt || die "a short answer is said to fill the context"
expect 0 "2 of 2 answers stop before generate.max_tokens=100, for with its prompt each fills the model's context of 32 tokens" \
  $generate --generate.max_tokens=100 --generate.stop_at_end=false "Paragraph 7" "the quick"
expect 2 "cannot be written" $generate --generate.output=no/such/file "Paragraph"

# Beams: the best answers with their scores, the same at any layout; what cannot stand together is refused.
beams="$skein generate --checkpoint.path=whole --generate.max_tokens=8 --beam.size=4 --beam.best=2 --beam.no_repeat_ngram=3"
for ranks in "" "mpirun -np 2" "mpirun -np 2 --parallel.pipeline=2"; do
  read -r -a words <<<"$ranks"
  expect 0 "2 prompts, 4 answers" "${words[@]:0:3}" $beams "${words[@]:3}" --generate.format=jsonl --generate.input=prompts.jsonl --generate.output=beams.jsonl
  [ "$(grep -c '"score":-' beams.jsonl)" = 4 ] || die "not four answers with scores"
  if [ -e first.jsonl ]; then cmp beams.jsonl first.jsonl || die "beams depend on the layout"; fi
  cp beams.jsonl first.jsonl
done
expect 0 "--- -" $beams "Paragraph 7"
expect 2 "sample.top_k=3 is about sampling, and beam.size=4 searches" $beams --sample.top_k=3 "Paragraph"
expect 2 "beam.best=2 needs beams" $generate --beam.best=2 "Paragraph"
expect 2 "beam.best=5 must be from 1 to beam.size=4" $beams --beam.best=5 "Paragraph"
expect 2 "generate.answers=2 samples answers" $beams --generate.answers=2 "Paragraph"
expect 2 "beam.size=301 is more than the" $beams --beam.size=301 "Paragraph"
expect 2 "forces a token that is banned" $beams --beam.first_token=9 --sample.banned=9 "Paragraph"

echo passed
