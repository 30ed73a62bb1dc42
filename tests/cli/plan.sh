#!/usr/bin/env bash
# A plan for a budget, and the run it writes down as `skein pretrain` reads it.
source "$(dirname "$0")/expect.sh"

expect 0 "The same budget at other sizes" "$bin/skein" plan --plan.budget=1e20 --machine.kind=h100 --machine.count=8 --machine.price=2.5 --machine.carbon=380 \
  --output.path=plan.json --plan.config=plan.ini
grep -qF "kWh" output || die "no energy"
python3 - <<'PY' || die "the numbers do not hold together"
import json
plan = json.load(open("plan.json"), parse_constant=lambda word: 1 / 0)
best, run = plan["proposal"], plan["layout"]
assert abs(best["tokens"] * best["flops_per_token"] / 1e20 - 1) < 1e-9
assert run["pipeline"] * run["data"] * run["tensor"] == 8 and run["fits"]
assert abs(plan["cost"]["seconds"]["value"] - 1e20 / (8 * 989.4e12 * 0.4)) < 1
assert all(other["penalty"]["value"] > 0 for other in plan["others"])
PY
expect 0 "n_layers" "$bin/skein" pretrain --config plan.ini --print-config
for key in "d_model = $(python3 -c 'import json; print(json.load(open("plan.json"))["proposal"]["d_model"])')" "device = cuda"; do
  grep -qF "$key" output || die "no \"$key\" in what pretrain makes of the plan"
done

expect 0 "counting" "$bin/skein" plan --plan.law=kaplan --plan.budget=8.64e19
expect 0 "Muennighoff" "$bin/skein" plan --plan.law=muennighoff --plan.gpu_hours=1000 --machine.kind=a100 --machine.count=64 --plan.tokens=1e9
expect 2 "no layout fits" "$bin/skein" plan --plan.budget=1e25 --machine.kind=h100 --plan.config=none.ini
expect 2 "one budget" "$bin/skein" plan
expect 2 "plan.fit" "$bin/skein" plan --plan.budget=1e20 --plan.law=kaplan --plan.fit=fit.json
expect 2 "model.n_layers" "$bin/skein" plan --plan.budget=1e20 --model.n_layers=12
expect 2 "missing.json" "$bin/skein" plan --plan.budget=1e20 --plan.fit=missing.json
[ ! -e none.ini ] || die "a refused plan left a file"
echo passed
