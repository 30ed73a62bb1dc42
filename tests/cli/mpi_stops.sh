#!/usr/bin/env bash
# Jobs of two ranks that are asked to stop: while they load, make steps, validate, and wait for scores.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
make_stores
train="$skein pretrain $small --data.validation=valid.h5 --validation.every=3 --train.steps=100000 --run.log_every=1"
export OMP_NUM_THREADS=1

# started COMMAND...: a job of two ranks; ./output is what it says.
started() {
  mpirun -np 2 "$@" >output 2>&1 &
  job=$!
}

# ended CODE SECONDS
ended() {
  local code=0 begin=$SECONDS
  for _ in $(seq 300); do
    if ! kill -0 "$job" 2>/dev/null; then break; fi
    sleep 0.1
  done
  kill -KILL "$job" 2>/dev/null || true
  wait "$job" || code=$?
  [ "$code" = "$1" ] || { cat output >&2; die "exit code $code instead of $1"; }
  ((SECONDS - begin <= $2)) || die "it took $((SECONDS - begin)) s to end"
}

# Each way to ask, at any moment of the run; USR2 also while TERM comes to every rank again and again, as from a launcher
# that has seen the first one leave: tried until one of them has come after the agreement.
asked=0 reached=0
for how in launcher one late late late late late; do
  if ((reached > 0)); then break; fi
  started $train --run.dir=run
  await grep -q "step .*/100000" output
  sleep 0.$((RANDOM % 10))
  mapfile -t ranks < <(pgrep -P $job)
  case $how in
    launcher) kill -USR2 $job ;;
    one) kill -TERM "${ranks[1]}" ;;
    late)
      kill -USR2 $job
      agreed=0
      while kill -TERM "${ranks[@]}" 2>/dev/null; do
        reached=$((reached + agreed))
        if grep -q "stopped as asked" output; then agreed=1; fi
        sleep 0.002
      done
      ;;
  esac
  ended 85 10
  grep -q "stopped as asked" output || { cat output >&2; die "it does not say that it was stopped"; }
  asked=$((asked + 1))
done
[ "$asked" -ge 3 ] || die "not all ways were tried"
((reached > 0)) || die "no TERM came after the agreement"

# While it reads data that never come: on from what there is, or nothing to go on from.
for i in $(seq 16); do echo "{\"prompt\": \"the quick $i\", \"completion\": \" fox\"}"; done >pairs.jsonl
sft="$skein sft --checkpoint.load=run --chat.template=none --train.steps=2"
expect 0 "done: 2 steps" $sft --data.train=pairs.jsonl --run.dir=chat
mkfifo data.jsonl
reads_data() {
  local rank
  mapfile -t ranks < <(pgrep -P $job)
  [ "${#ranks[@]}" = 2 ] || return
  for rank in "${ranks[@]}"; do ls -l "/proc/$rank/fd" | grep -q data.jsonl || return; done
}
for folder in chat fresh; do
  started $sft --data.train=data.jsonl --run.dir=$folder
  sleep 60 >data.jsonl &
  writer=$!
  await reads_data
  if [ $folder = chat ]; then kill -USR2 $job; else kill -HUP "${ranks[1]}"; fi
  ended "$([ $folder = chat ] && echo 85 || echo 143)" 5
  told=$([ $folder = chat ] && echo "asked to stop (USR2) while" || echo "rank 1: asked to stop (HUP) before")
  grep -qF "$told" output || { cat output >&2; die "no \"$told\""; }
  kill $writer
done

# PPO whose reward process takes its time: the answers are sampled and scored again, and the result is the same.
cat >length.py <<'PY'
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if os.path.exists("slow") and asked["id"] >= 16:
        open("scoring", "w").close()
        time.sleep(60)
    print(json.dumps({"id": asked["id"], "score": min(len(asked["response"]), 10) / 10}), flush=True)
PY
for i in $(seq 16); do echo "{\"prompt\": \"the quick $i\"}"; done >prompts.jsonl
ppo="$skein ppo --checkpoint.load=run --data.prompts=prompts.jsonl --chat.template=none --ppo.iterations=3 --ppo.rollout_batch=16 --train.global_batch=8
  --train.micro_batch=2 --generate.max_tokens=8 --parallel.reduction_groups=4 --checkpoint.every=100 --ppo.shown=0"
reward="process:exec python3 $scratch/length.py"
expect 0 "iteration 3/3" mpirun -np 2 $ppo --run.dir=whole "--reward.sources=$reward"
touch slow
started $ppo --run.dir=parts "--reward.sources=$reward"
await test -e scoring
kill -USR2 $job
ended 85 12
none_left "$scratch/length.py"
rm slow
expect 0 "goes on from" mpirun -np 2 $ppo --run.dir=parts "--reward.sources=$reward"
same_metrics whole parts
[ "$(wc -l <parts/metrics.jsonl)" = 3 ] || die "a tuning that was stopped while it waited for scores has other lines"
whole=$(ls -d whole/checkpoints/step-00000003.*)
expect 0 "" "$bin/skein-inspect" diff "$whole" "$(ls -d parts/checkpoints/step-00000003.*)"
echo passed
