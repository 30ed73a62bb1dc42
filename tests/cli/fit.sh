#!/usr/bin/env bash
# The public Chinchilla points through `skein fit`: its numbers, its JSON, and what bad tables are told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
points="$SKEIN_TEST_SOURCE_DIR/tests/scaling/data/chinchilla_245.csv"
quick="--fit.resamples=20 --fit.conventions=false"

begin=$SECONDS
expect 0 "240 of 245 runs fitted" "$skein" fit "$points" --fit.drop_highest_losses=5 --fit.resamples=0 --output.path=point.json
[ $((SECONDS - begin)) -lt 60 ] || die "the point estimate took $((SECONDS - begin)) s"
tail -1 output | grep -q "fits in point.json" || die "the log speaks before the fits are shown"
grep -q "5 runs (ch000, " output || die "the excluded runs are not listed"
grep -q "Converged: objective 0.0010182740" output || die "the convergence is not shown"
grep -q "with the excluded runs" output || die "no fit with the excluded runs beside"
python3 - <<'PY'
import json
fit = json.load(open("point.json"))["main"]["parametric"]
wanted = {"A": 477.826, "B": 2143.42, "E": 1.817218, "alpha": .347311, "beta": .367172}
for key, value in wanted.items():
    assert abs(fit[key] / value - 1) < 1e-4, (key, fit[key])
assert fit["intervals"]["A"]["low"] is None
PY

# Neither the order of rows, nor repeated rows, nor threads, nor a launcher change a digit.
expect 0 "Approach 3" "$skein" fit "$points" $quick --fit.threads=1 --output.path=one.json
{ head -1 "$points"; tail -n +2 "$points" | tac; tail -5 "$points"; } >other.csv
expect 0 "say again" "$skein" fit other.csv $quick --fit.threads=2 --output.path=two.json
mpirun -np 2 "$skein" fit "$points" $quick --output.path=- >three.json 2>log || { cat log; die "under mpirun"; }
python3 - <<'PY'
import json
one, two, three = (json.load(open(name + ".json")) for name in ("one", "two", "three"))
for key in ("main", "target", "comparison", "draws"):
    assert one[key] == two[key] == three[key], key
PY

# threads_seen OMP_NUM_THREADS ENOUGH LOOKS: as many threads as OMP_NUM_THREADS says.
threads_seen() {
  OMP_NUM_THREADS=$1 "$skein" fit "$points" --fit.resamples=500000 --fit.conventions=false --fit.approach=parametric >/dev/null 2>&1 &
  local pid=$! most=0 now
  for _ in $(seq "$3"); do
    now=$(ls "/proc/$pid/task" | wc -l)
    [ "$now" -le "$most" ] || most=$now
    [ "$most" -lt "$2" ] || break
    sleep 0.02
  done
  kill "$pid"
  wait "$pid" 2>/dev/null || true
  echo "$most"
}
seen=$(threads_seen 3 3 2000)
[ "$seen" = 3 ] || die "$seen threads where OMP_NUM_THREADS=3"
seen=$(threads_seen 1 2 100)
[ "$seen" = 1 ] || die "$seen threads where OMP_NUM_THREADS=1"

# A table of one ratio of tokens to parameters says nothing of N*, and all the same how the loss falls along it.
python3 - <<'PY'
import csv
beta = .36 * .45 / .55
with open("ratio.csv", "w", newline="") as one, open("size.csv", "w", newline="") as other:
    ratio, size = csv.writer(one), csv.writer(other)
    for table in ratio, size:
        table.writerow("run n_params tokens flops loss".split())
    for i in range(12):
        for table, n, d in (ratio, 1e7 * 1.6**i, 2e8 * 1.6**i), (size, 1e8, 1e9 * 2**i):
            table.writerow([f"r{i}", n, d, 6 * n * d, 1.7 + 400 / n**.36 + 900 / d**beta])
PY
expect 2 "by last losses, 0 of 12 budgets" "$skein" fit ratio.csv
expect 2 "bounds nothing" "$skein" fit ratio.csv --fit.approach=envelope
expect 0 "L(C) of the lowest loss of each budget" "$skein" fit ratio.csv --fit.law=loss_of_c --fit.resamples=0
expect 2 "fit.law=loss_of_d cannot be fitted" "$skein" fit ratio.csv --fit.law=loss_of_d
expect 0 "L(D) of runs within a factor of 2 of the largest N" "$skein" fit size.csv --fit.law=loss_of_d --fit.resamples=0
expect 2 "loss_of_n, loss_of_d, loss_of_c" "$skein" fit size.csv --fit.law=n
expect 2 "fit.curves=4 asks for points of learning curves" "$skein" fit "$points" --fit.curves=4

# Least absolute is the published replication.
expect 0 "least absolute" "$skein" fit "$points" --fit.drop_highest_losses=5 --fit.loss=absolute --fit.resamples=0 --fit.conventions=false --output.path=absolute.json
python3 -c 'import json; fit = json.load(open("absolute.json"))["main"]["parametric"]; assert abs(fit["A"] - 482.01) < .05 and abs(fit["beta"] - .3658) < 1e-4, fit'

expect 2 "no table is named; give one" "$skein" fit
expect 2 "missing.csv" "$skein" fit missing.csv
expect 2 "did you mean" "$skein" fit "$points" --fit.resample=3
expect 2 "huber, absolute, squared" "$skein" fit "$points" --fit.loss=mean
printf 'a,b\n1,2\n' >columns.csv
expect 2 "there are no columns n_params (numbers of parameters; n_blocks and n_all do as well), tokens (training tokens; flops with n_params do as well) and loss" "$skein" fit columns.csv
printf 'n_params,tokens,loss\n1e6,1e8,3\n1e6,2e8,2.9\n' >thin.csv
expect 2 "none of the three approaches" "$skein" fit thin.csv
printf 'n_params,tokens,loss\n1e6,1e8,low\n' >text.csv
expect 2 'text.csv:2: "low" in column loss' "$skein" fit text.csv
expect 2 "output.path=no/where.json cannot be written" "$skein" fit "$points" $quick --fit.approach=envelope --output.path=no/where.json
expect 0 "data.curves" "$skein" fit --help

# A result goes into a pipe or a device, which stays what it is; a link stays one.
mkfifo pipe
ln -s kept.json link.json
short="$quick --fit.approach=envelope"
cat pipe >piped.json &
expect 0 "fits in pipe" "$skein" fit "$points" $short --output.path=pipe
wait
expect 0 "fits in link.json" "$skein" fit "$points" $short --output.path=link.json
cmp piped.json kept.json || die "the pipe got another result"
expect 0 "fits in /dev/null" "$skein" fit "$points" $short --output.path=/dev/null
[ -p pipe ] && [ -L link.json ] && [ -c /dev/null ] || die "a pipe, a link or a device was replaced"
mkdir folder
expect 2 "output.path=folder is a folder" "$skein" fit "$points" $short --output.path=folder
