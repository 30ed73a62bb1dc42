#!/usr/bin/env bash
# Every part of skein bench on a small model, and the figures it leaves.
source "$(dirname "$0")/expect.sh"
bench="$bin/skein bench --model.context=32 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --model.vocab_size=300
  --train.global_batch=4 --bench.samples=2 --bench.prompt=4 --bench.new_tokens=4 --bench.batches=1,3"

for precision in f32 bf16; do
  expect 0 "% of the whole" $bench --train.precision=$precision --bench.output=$precision.json --bench.trace=trace.json
done
python3 - <<'EOF' || die "the figures do not hold together"
import json
for name in ("f32", "bf16"):
    made = json.load(open(name + ".json"))
    figures = made["figures"]
    assert made["precision"] == name and made["unit"]
    assert {"gemm", "attention", "fused", "step", "breakdown", "decode"} <= {f["group"] for f in figures}
    assert all(f.get("seconds", 0) > 0 or f["group"] == "memory" for f in figures)
    assert all(f["bytes"] > 0 for f in figures if f["group"] == "memory")
    assert all(0 < f["share_of_peak"] < 1.5 for f in figures if f["group"] in ("gemm", "attention"))
    step = [i for i, f in enumerate(figures) if f["name"] == "whole"][0]
    whole = figures[step + 1]
    assert whole["name"] == "counting all of causal attention" and whole["flops"] > figures[step]["flops"]
    parts = []
    for f in figures[step + 2:]:
        if f["group"] != "breakdown":
            break
        parts.append(f["share_of_whole"])
    assert abs(sum(parts) - 1) < 1e-6, sum(parts)
    assert {f["name"] for f in figures if f["group"] == "decode"} == {"batch 1", "batch 3"}
assert json.load(open("trace.json"))["traceEvents"]
EOF
expect 0 "blocks backward" $bench --bench.what=attention --bench.attention=band,documents,blocks,prefix,marked --bench.reach=8 --bench.output=structures.json --bench.plots=structures
python3 - <<'EOF' || die "a structure is missing"
import json
names = [f["name"] for f in json.load(open("structures.json"))["figures"]]
assert names == [f"{s} {way}" for s in ("band", "documents", "blocks", "prefix", "marked") for way in ("forward", "backward")], names
EOF
for name in band documents blocks prefix marked; do grep -q ">$name</text>" structures/attention-$name.svg || die "no picture of $name"; done
expect 0 "grow with the length to the power of" $bench --bench.what=attention --bench.attention=model --attention.kind=window --attention.window=8 --bench.lengths=32,64 --bench.output=lengths.json --bench.plots=lengths
python3 - <<'EOF' || die "a length is missing, or windows do not count as what they are"
import json
figures = json.load(open("lengths.json"))["figures"]
ways = ("forward", "forward and backward")
assert [f["name"] for f in figures] == [f"{n} tokens {way}" for n in (32, 64) for way in ways], figures
# A token more costs the projections and its window, less what the first ones do not see.
flops = [f["flops"] for f in figures]
assert flops[3] < 2.1 * flops[1] and flops[1] == 3 * flops[0], flops
EOF
[ -s lengths/attention-lengths.svg ] || die "no plot over lengths"
expect 0 "attention.kind=full,window" $bench --bench.what=attention --attention.kind=full,window --attention.window=8,8,16 --model.n_layers=3 --bench.samples=1 --bench.output=blocks.json
python3 - <<'EOF' || die "the blocks of the model are not what is measured"
import json
figures = json.load(open("blocks.json"))["figures"]
names = [f["name"] for f in figures]
assert names == [f"32 tokens in block {b} {way}" for b in (0, 1) for way in ("forward", "forward and backward")], names
assert figures[2]["flops"] < figures[0]["flops"], figures
EOF
expect 0 "full attention, 1 sequences of 32 tokens" $bench --bench.what=attention --model.architecture=bert --model.norm_placement=post --bench.samples=1
expect 0 "attention over 300 links of 50 nodes" $bench --bench.what=links --bench.nodes=50 --bench.links=300 --bench.output=links.json
python3 -c "import json; assert [f['name'] for f in json.load(open('links.json'))['figures']] == ['products', 'softmax', 'sums', 'forward and backward']" ||
  die "figures of links are missing"
expect 2 "bench.nodes=0 and bench.links=4000000 must be from 1 to 2147483647" $bench --bench.what=links --bench.nodes=0
expect 2 "bench.nodes=200000 and bench.links=9000000000 must be from 1 to" $bench --bench.what=links --bench.links=9000000000
expect 2 "bench.lengths=0 must be above 0" $bench --bench.what=attention --bench.lengths=0
expect 2 "bench.lengths=16,32 is for the model's layer, but bench.attention=causal is measured at model.context=32; give bench.attention=model" $bench --bench.what=attention --bench.lengths=16,32
expect 0 "training step" $bench --model.architecture=transformer --bench.what=step,decode --bench.output=two.json
pictures="$bin/skein bench --bench.samples=1 --bench.what=step --bench.peak_size=64 --bench.stream_mib=1 --train.global_batch=4 --model.d_model=32 --model.n_layers=2
  --model.n_heads=4 --model.image_height=8 --model.image_width=8 --model.channels=1 --model.patch_height=2"
expect 0 "4 sequences of 17 tokens" $pictures --model.architecture=vit
expect 0 "4 sequences of 5 tokens" $pictures --model.architecture=mae --model.positions=sinusoidal
expect 2 "pictures of 7 x 8 pixels (height, width) do not divide into patches of 2 x 2" $pictures --model.architecture=vit --model.image_height=7
expect 2 "skein bench has no graphs for model.architecture=graph to learn from" $bin/skein bench --bench.what=step --model.architecture=graph --train.global_batch=4 --model.node_ids=3 --model.labels=2 --model.head=token
expect 2 "bench.attention has 'rings'; it may name causal, full, band, documents, blocks, prefix, marked and model" $bench --bench.attention=rings
expect 2 "bench.reach=0 must be at least 1 token" $bench --bench.reach=0
expect 2 "bench.trace=/dev/null is a device" $bench --bench.what=gemm --bench.trace=/dev/null
expect 2 "bench.output=none/x.json cannot be written" $bench --bench.output=none/x.json
expect 0 "were not finished" $bench --bench.what=rollout --bench.new_tokens=16 --bench.output=rollout.json
python3 - <<'EOF' || die "the rollouts do not hold together"
import json
figures = json.load(open("rollout.json"))["figures"]
assert [(f["group"], f["name"]) for f in figures] == [("rollout", "batch 1"), ("rollout", "batch 3")], figures
# Lengths are geometric of mean 4: of 8 answers and of 24.
assert all(1.5 < f["tokens_per_second"] * f["seconds"] / answers < 8 for f, answers in zip(figures, (8, 24)))
EOF
expect 0 "no layer grows" $bench --bench.what=coordinates --bench.widths=32,64 --bench.steps=3 --model.mup_base_width=32 --lr.lr=0.003 --bench.output=coordinates.json --bench.plots=plots
python3 - <<'END' || die "the coordinates do not hold together"
import json
(made,) = json.load(open("coordinates.json"))["figures"]
assert made["group"] == "coordinates" and made["name"] == "muP" and made["widths"] == [32, 64] and len(made["losses"]) == 2
assert [layer["name"] for layer in made["layers"]] == ["embedding", "block.0", "block.1", "logits"]
assert all(len(layer["sizes"]) == len(layer["exponents"]) == 4 and not layer["grows"] for layer in made["layers"])
END
for kind in png svg csv; do [ -s plots/coordinates.$kind ] || die "no plots/coordinates.$kind"; done
[ "$(grep -c "^without\|^muP: after 3 steps,block.1," plots/coordinates.csv)" = 2 ] || die "the plot's numbers are not there"
expect 2 "bench.plots=plots" $bench --bench.what=gemm --bench.plots=plots
expect 2 "bench.what has 'gem'" $bench --bench.what=gem
expect 2 "bench.samples=0" $bench --bench.samples=0
echo passed
