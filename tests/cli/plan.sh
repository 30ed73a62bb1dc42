#!/usr/bin/env bash
# A plan for a budget, and the run it writes down as `skein pretrain` reads it.
source "$(dirname "$0")/expect.sh"

expect 0 "The same budget at other sizes" "$bin/skein" plan --plan.budget=1e20 --machine.kind=h100 --machine.count=8 --machine.price=2.5 --machine.carbon=380 \
  --output.path=plan.json --plan.config=plan.ini
grep -qF "kWh" output || die "no energy"
cp output first
python3 - <<'PY' || die "the numbers do not hold together"
import json
plan = json.load(open("plan.json"), parse_constant=lambda word: 1 / 0)
best, run = plan["proposal"], plan["layout"]
assert abs(best["tokens"] * best["flops_per_token"] / 1e20 - 1) < 1e-9
assert run["pipeline"] * run["data"] * run["tensor"] == 8 and run["fits"]
assert abs(plan["cost"]["seconds"]["value"] - 1e20 / (8 * 989.4e12 * 0.4)) < 1
assert all(other["penalty"]["value"] > 0 for other in plan["same_flops"])
assert best["loss"]["low"] < best["loss"]["value"] < best["loss"]["high"]
for other in plan["same_loss"] + plan["same_tokens"]:
    hours = other["flops"] / (989.4e12 * 0.4) / 3600
    cost = {unit: other["cost"][unit]["value"] for unit in ("device_hours", "price", "kwh", "co2_kg")}
    for unit, each in (("device_hours", 1), ("price", 2.5), ("kwh", .7), ("co2_kg", .7 * .38)):
        assert abs(cost[unit] / (hours * each) - 1) < 1e-9, (unit, cost)
PY
expect 0 "n_layers" "$bin/skein" pretrain --config plan.ini --print-config
for key in "d_model = $(python3 -c 'import json; print(json.load(open("plan.json"))["proposal"]["d_model"])')" "device = cuda"; do
  grep -qF "$key" output || die "no \"$key\" in what pretrain makes of the plan"
done

expect 0 "counting" "$bin/skein" plan --plan.law=kaplan --plan.budget=8.64e19
expect 0 "Muennighoff" "$bin/skein" plan --plan.law=muennighoff --plan.gpu_hours=1000 --machine.kind=a100 --machine.count=64 --plan.tokens=1e9
expect 2 "no layout fits" "$bin/skein" plan --plan.budget=1e25 --machine.kind=h100 --plan.config=none.ini
for head in "The same loss at other sizes" "The same tokens at other sizes" "What other published laws make of the budget"; do
  grep -qF "$head" first || die "no table: $head"
done
[ "$(grep -c "run time .*device hours .*price .*kWh .*kg CO2" first)" = 2 ] || die "the tables of sizes lack a unit that was given"
expect 0 "none published but for the exponent" "$bin/skein" plan --plan.law=chinchilla --plan.budget=1e20
grep -qF "price" output && die "a price is told without one" || true
expect 0 "of 100003 devices" "$bin/skein" plan --plan.budget=1e24 --machine.kind=h100 --machine.count=100003
grep -qF "machine.count=100003:" output || die "nothing is said of the devices that are left over"
expect 0 "The cost on 16384 devices" "$bin/skein" plan --plan.budget=1e24 --machine.kind=h100 --machine.count=16384
expect 2 "one budget" "$bin/skein" plan
expect 2 "one budget above 0: plan.budget in FLOPs, plan.gpu_hours, or plan.train_tokens of a given model, not none" "$bin/skein" plan --plan.budget=0
expect 2 "one budget above 0: plan.budget in FLOPs, plan.gpu_hours, or plan.train_tokens of a given model, not several" "$bin/skein" plan --plan.budget=1e20 --plan.gpu_hours=5
expect 2 "give machine.kind or machine.peak" "$bin/skein" plan --plan.gpu_hours=5

# A model that is given: GPT-3 on 300 B tokens, in 3.14e23 FLOPs by its authors (table D.1), who count no attention scores.
gpt3="$bin/skein plan --config $SKEIN_TEST_SOURCE_DIR/configs/gpt3_175b.ini --plan.train_tokens=300e9"
expect 0 "96 layers, width 12288, 96 heads of 128" $gpt3 --machine.kind=h100 --machine.count=512 --machine.price=2.5 --output.path=gpt3.json
grep -qF "values " output && grep -qF "What other published laws make of the budget" output || { cat output; die "no memory by category"; }
python3 - <<'PY' || die "the plan of a given model does not hold together"
import json
plan = json.load(open("gpt3.json"), parse_constant=lambda word: 1 / 0)
best, memory = plan["proposal"], plan["layout"]["memory"]
assert abs(plan["flops"] / 3.14e23 - 1) < 0.03 and best["tokens"] == 300e9, plan["flops"]
assert abs(best["parameters"] / 174.6e9 - 1) < 0.01, best
assert plan["layout"]["fits"] and abs(sum(memory.values()) / plan["layout"]["bytes"] - 1) < 1e-9, memory
assert abs(plan["cost"]["seconds"]["value"] - plan["flops"] / (512 * 989.4e12 * 0.4)) < 1
assert any(other["loss"]["value"] < best["loss"]["value"] for other in plan["same_flops"]), "half of it on more tokens is better, by the law"
PY
expect 0 "no layout fits" $gpt3 --machine.kind=h100 --machine.count=8
expect 2 "plan.train_tokens=-3" "$bin/skein" plan --plan.train_tokens=-3
expect 2 "plan.gpu_hours=-5" "$bin/skein" plan --plan.gpu_hours=-5 --machine.kind=h100
expect 0 "7.124e+21 FLOPs" "$bin/skein" plan --plan.budget=5000gpu-hours --machine.kind=h100
expect 2 'plan.budget="5000 days off" is no budget; give FLOPs as 1e22' "$bin/skein" plan "--plan.budget=5000 days off" --machine.kind=h100
expect 2 "machine.count=0" "$bin/skein" plan --plan.budget=1e20 --machine.count=0
expect 2 "machine.price=-1" "$bin/skein" plan --plan.budget=1e20 --machine.price=-1
expect 2 "plan.fit" "$bin/skein" plan --plan.budget=1e20 --plan.law=kaplan --plan.fit=fit.json
expect 2 "model.n_layers" "$bin/skein" plan --plan.budget=1e20 --model.n_layers=12
expect 2 "missing.json" "$bin/skein" plan --plan.budget=1e20 --plan.fit=missing.json
[ ! -e none.ini ] || die "a refused plan left a file"
echo passed
