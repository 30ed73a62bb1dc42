#!/usr/bin/env bash
# A sweep under mpirun: the world divided into trainers, of one rank or of two, comes to what one process comes to.
source "$(dirname "$0")/expect.sh"
make_stores
configs="$(cd "$(dirname "$0")/../../configs/sweeps" && pwd)"
sweep="$bin/skein sweep --config $configs/tiny.ini --data.train=train.h5 --data.validation=valid.h5"
export OMP_NUM_THREADS=1

expect 0 "4 of 4 cells are done" $sweep --run.dir=one
expect 0 "2 trainers of 1 ranks" mpirun -np 2 $sweep --run.dir=two
[ "$(grep -c "of the FLOPs left" output)" = 4 ] || { cat output >&2; die "not one line a cell"; }
expect 0 "2 trainers of 2 ranks" mpirun -np 4 $sweep --run.dir=pairs --sweep.ranks_per_run=2
expect 0 "2 trainers of 2 ranks" mpirun -np 4 $sweep --run.dir=staged --sweep.ranks_per_run=2 --sweep.shapes=2x32,2x16 --parallel.pipeline=2
python3 - <<'PY' || die "ranks and trainers change the results"
import csv
def rows(run):
    made = list(csv.DictReader(open(run + "/results.csv")))
    for row in made: row.pop("seconds")
    return made
assert rows("one") == rows("two") == rows("pairs")
assert open("one/curves.csv").read() == open("two/curves.csv").read() == open("pairs/curves.csv").read()
assert rows("one")[1]["loss"] == rows("staged")[0]["loss"]
PY

# A failure that all ranks of a trainer meet leaves the others; one cell is broken here.
bad=$(ls one/cells | tail -1)
mkdir -p broken/cells/$bad/metrics.jsonl/x
expect 1 "1 failed" mpirun -np 4 $sweep --run.dir=broken --sweep.ranks_per_run=2
grep -q "3 of 4 cells are done" output || die "a failed cell ends the sweep"
expect 2 "does not divide the 3 ranks" mpirun -np 3 --oversubscribe $sweep --run.dir=none --sweep.ranks_per_run=2
expect 0 "on 2 trainers" mpirun -np 2 $sweep --run.dir=none --dry-run

# One rank alone meets a token that cannot be: the job ends with a word, the cell is marked, and the next start does the rest.
# The file carries no sum, and the token lies between the blocks that its fingerprint is of.
python3 - <<'PY'
import array, json
tokens = array.array("H", [(7 * i + i % 3) % 300 for i in range(600000)])
tokens.tofile(open("whole.bin", "wb"))
tokens[13900] = 60000
tokens.tofile(open("damaged.bin", "wb"))
for name in "whole", "damaged":
    json.dump({"vocab_size": 300}, open(name + ".meta.json", "w"))
PY
alone="$sweep --data.train=damaged.bin --data.validation=whole.bin --data.shuffle=false --validation.windows=20 --sweep.kind=grid --sweep.budgets= --sweep.shapes=1x16 --sweep.tokens=5k,20480"
expect 1 "alone: damaged.bin: token 13900 is 60000" mpirun -np 2 $alone --run.dir=alone --sweep.ranks_per_run=2
grep -q "1x16-80x256.*,failed,.*on rank . alone" alone/results.csv || { cat alone/results.csv >&2; die "the cell of a rank that failed alone is not marked"; }
cp whole.bin damaged.bin
expect 0 "2 of 2 cells are done" mpirun -np 2 $alone --run.dir=alone --sweep.ranks_per_run=2

# A request to stop reaches every trainer.
mpirun -np 2 $sweep --run.dir=asked --sweep.budgets=1e12 --sweep.shapes=1x16,1x32 >output 2>&1 &
launcher=$!
for _ in $(seq 1200); do
  if [ "$(ls asked/cells/*/metrics.jsonl 2>/dev/null | wc -l)" = 2 ]; then break; fi
  sleep 0.02
done
sleep 0.3
kill -USR2 $launcher
wait $launcher && code=0 || code=$?
[ "$code" = 85 ] || { cat output >&2; die "exit code $code instead of 85 after USR2"; }
[ "$(ls -d asked/cells/*/checkpoints/step-* | wc -l)" = 2 ] || die "not every trainer has committed"
echo passed
