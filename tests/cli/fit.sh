#!/usr/bin/env bash
# The public Chinchilla points through `skein fit`: its numbers, its JSON, and what bad tables are told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
points="$SKEIN_TEST_SOURCE_DIR/tests/scaling/data/chinchilla_245.csv"
quick="--fit.resamples=20 --fit.conventions=false"

begin=$SECONDS
expect 0 "240 of 245 runs fitted" "$skein" fit "$points" --fit.drop_highest_losses=5 --fit.resamples=0 --output.path=point.json
[ $((SECONDS - begin)) -lt 60 ] || die "the point estimate took $((SECONDS - begin)) s"
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
