#!/usr/bin/env bash
# A Slurm array on one folder, its two tasks run by hand: both are told that their time is over, both are started again, and nothing is done twice.
source "$(dirname "$0")/expect.sh"
make_stores
sweep="$bin/skein sweep --config $SKEIN_TEST_SOURCE_DIR/configs/sweeps/tiny.ini --data.train=train.h5 --data.validation=valid.h5 --sweep.budgets=2e9,3e10 --checkpoint.every=50"
export OMP_NUM_THREADS=1

# start TURN: both tasks, as srun starts them; their logs are NUMBER-TURN.log.
start() {
  for number in 0 1; do
    (
      export SLURM_JOB_ID=7$number SLURM_ARRAY_JOB_ID=70 SLURM_ARRAY_TASK_ID=$number SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1
      exec $sweep --run.dir=array >"$number-$1.log" 2>&1
    ) &
    tasks[number]=$!
  done
}

# ended TURN CODE WORD: both have ended with CODE and say WORD.
ended() {
  for number in 0 1; do
    local code=0
    wait "${tasks[number]}" || code=$?
    [ "$code" = "$2" ] || { cat "$number-$1.log" >&2; die "task $number ends with $code instead of $2"; }
    grep -qF -- "$3" "$number-$1.log" || { cat "$number-$1.log" >&2; die "task $number does not say \"$3\""; }
  done
}

expect 0 "4 of 4 cells are done" $sweep --run.dir=whole

start first
for _ in $(seq 3000); do
  if [ "$(cat array/cells/*/metrics.jsonl 2>/dev/null | wc -l)" -gt 20 ]; then break; fi
  sleep 0.02
done
# What --signal=USR2@120 does.
kill -USR2 "${tasks[@]}" || die "a task has ended before its time was over"
ended first 85 "the same command goes on"
grep -q ",unfinished," array/results.csv || die "results.csv does not tell the unfinished cells"
ls -d array/cells/*/checkpoints/step-* >/dev/null || die "no checkpoint was committed"

# What --requeue does.
start second
ended second 0 "results.csv"
[ "$(cat ?-first.log ?-second.log | grep -c "of the FLOPs left")" = 4 ] || { cat ?-*.log >&2; die "not one line a cell"; }
expect 0 "4 of 4 cells are done, 0 diverged, 0 failed, 0 unfinished; 0 of them in this start" $sweep --run.dir=array
python3 - <<'PY' || die "the array comes to other results"
import csv
def rows(run):
    made = list(csv.DictReader(open(run + "/results.csv")))
    for row in made: row.pop("seconds")
    return made
assert rows("whole") == rows("array")
assert open("whole/curves.csv").read() == open("array/curves.csv").read()
PY
echo passed
