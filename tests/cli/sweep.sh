#!/usr/bin/env bash
# A sweep as a user drives it: a forecast, a run, a kill in its middle, a request to stop, two processes on one folder, bad input.
source "$(dirname "$0")/expect.sh"
make_stores
configs="$(cd "$(dirname "$0")/../../configs/sweeps" && pwd)"
sweep="$bin/skein sweep --config $configs/tiny.ini --data.train=train.h5 --data.validation=valid.h5 --checkpoint.every=5"
export OMP_NUM_THREADS=1

# The rows without their seconds.
without_seconds() {
  python3 - "$1/results.csv" <<'PY'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    row.pop("seconds")
    print(row)
PY
}

expect 0 "N blocks" $sweep --run.dir=none --dry-run --sweep.flops_per_second=1e9
grep -Eq "4 cells, (1.99|2.00)[0-9]e.10 FLOPs" output || { cat output >&2; die "no total in the forecast"; }
expect 0 "as measured here" $sweep --run.dir=none --dry-run
for option in --dry-run=true --run.dry_run=true --sweep.dry_run; do
  expect 0 "N blocks" $sweep --run.dir=none $option --sweep.flops_per_second=1e9
done
[ ! -e none ] || die "a forecast has left a folder"

expect 0 "4 of 4 cells are done" $sweep --run.dir=whole
grep -q "4/4 .* 0.0% of the FLOPs left" output || die "no progress over the sweep"
cp whole/results.csv before.csv
expect 0 "0 of them in this start" $sweep --run.dir=whole
cmp before.csv whole/results.csv || die "a second start changes the results"
[ -z "$(ls -d whole/cells/*/checkpoints 2>/dev/null)" ] || die "finished cells keep their checkpoints"
python3 - <<'PY' || die "results.csv is not as it should be"
import csv
rows = list(csv.DictReader(open("whole/results.csv")))
assert len(rows) == 4
for row in rows:
    assert row["status"] == "done" and float(row["loss"]) > 0 and float(row["seconds"]) > 0, row
    assert abs(float(row["flops_6n"]) / (6 * float(row["n_all"]) * float(row["tokens"])) - 1) < 1e-9, row
assert abs(float(rows[0]["flops_exact"]) / 2e9 - 1) < 0.02 and abs(float(rows[3]["flops_exact"]) / 8e9 - 1) < 0.02
points = list(csv.DictReader(open("whole/curves.csv")))
assert len(points) > 40 and {point["run"] for point in points} == {row["run"] for row in rows}
PY
expect 0 "dir = whole/cells" "$bin/skein" pretrain --config "$(ls -d whole/cells/* | head -1)/config.ini" --print-config

# Killed hard in its middle, then on: the same results.
$sweep --run.dir=killed >killed.log 2>&1 &
job=$!
for _ in $(seq 1200); do
  if ls -d killed/cells/*/checkpoints/step-* >/dev/null 2>&1; then break; fi
  sleep 0.02
done
kill -KILL $job 2>/dev/null && wait $job 2>/dev/null || true
expect 0 "4 of 4 cells are done" $sweep --run.dir=killed
diff <(without_seconds whole) <(without_seconds killed) || die "a killed sweep ends in other results"

# Asked to stop: exit code 85, and on from the checkpoint.
long="$sweep --run.dir=asked --sweep.budgets=1e12 --sweep.shapes=1x16"
$long >output 2>&1 &
job=$!
for _ in $(seq 1200); do
  if ls asked/cells/*/metrics.jsonl >/dev/null 2>&1; then break; fi
  sleep 0.02
done
sleep 0.3
kill -TERM $job
wait $job && code=0 || code=$?
[ "$code" = 85 ] || { cat output >&2; die "exit code $code instead of 85 after TERM"; }
ls -d asked/cells/*/checkpoints/step-* >/dev/null || die "no checkpoint after TERM"
grep -q "unfinished" asked/results.csv || die "results.csv does not tell the unfinished cell"
grep -q "stopped as asked: .* the same command goes on" output || { cat output >&2; die "no word on how to go on"; }

# Two processes share a folder, and no cell is done twice.
$sweep --run.dir=shared >first.log 2>&1 &
job=$!
$sweep --run.dir=shared >second.log 2>&1
wait $job || die "the first of two processes failed"
[ "$(cat first.log second.log | grep -c "of the FLOPs left")" = 4 ] || { cat first.log second.log >&2; die "not four cells"; }
expect 0 "4 of 4 cells are done" $sweep --run.dir=shared
diff <(without_seconds whole) <(without_seconds shared) || die "two processes come to other results"

# What fails or diverges is told, and the exit code with it.
bad=$(ls whole/cells | head -1)
mkdir -p broken/cells/$bad/metrics.jsonl/x
expect 1 "1 failed" $sweep --run.dir=broken
grep -q "3 of 4 cells are done" output || die "a failed cell ends the sweep"
expect 1 "sweep.fail_fast" $sweep --run.dir=broken --sweep.fail_fast
expect 0 "1 diverged" $sweep --run.dir=wild --sweep.budgets=2e9 --sweep.shapes=1x16 --sweep.lr=1000 --optimizer.clip=0

# What cannot be.
expect 2 "optimizer.weight_decay=0, now it is 0.3" $sweep --run.dir=whole --optimizer.weight_decay=0.3
expect 2 "model.architecture=transformer: sweeps are of models that read one text, a picture, a graph" $sweep --run.dir=none --model.architecture=transformer

# Graphs go by what is theirs.
"$bin/skein-data" graphs --graphs.make=skip-links --graphs.walks=4 --graphs.folds=5 --graphs.count=30 --output.path=skips.h5 >/dev/null 2>&1
graphs="$bin/skein sweep --model.architecture=graph --model.d_model=16 --model.n_layers=1 --model.n_heads=2 --train.global_batch=4 --validation.points=2
  --sweep.tokens=2k --sweep.seeds=1,2 --data.train=skips.h5 --run.dir=graphs"
expect 2 "say which one is the test by graph.fold=1 to 5" $graphs
expect 2 "mlm.rate is for texts" $graphs --graph.fold=1 --mlm.rate=0.2
expect 0 "2 of 2 cells are done" $graphs --graph.fold=1
expect 2 "was begun with graph.fold=1, now it is 2" $graphs --graph.fold=2
expect 2 "data.validation is empty" $sweep --run.dir=none --data.validation=
expect 2 "sweep.budgets" $sweep --run.dir=none --sweep.budgets=many
expect 2 "did you mean" $sweep --run.dir=none --sweep.bugdets=1e9
expect 2 "train.steps=9" $sweep --run.dir=none --train.steps=9
[ ! -e none ] || die "a refused sweep has left a folder"
echo passed
