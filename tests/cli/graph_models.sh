#!/usr/bin/env bash
# Models of graphs, from data to answers: classes of graphs, numbers, nodes of one graph, and what is refused.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data" skein="$bin/skein"
small=(--model.architecture=graph --model.d_model=16 --model.n_layers=2 --model.n_heads=2 --model.init_std=0.1 --lr.lr=5e-3 --lr.warmup=5
  --optimizer.beta2=0.999 --run.tensorboard=false)

# Circles that links alone do not tell apart, and walks do.
"$data" graphs --graphs.make=skip-links --graphs.count=5 --graphs.walks=8 --graphs.folds=5 --run.quiet --output.path=skips.h5
expect 0 "(10 graphs)" "$skein" pretrain "${small[@]}" --data.train=skips.h5 --graph.fold=2 --train.steps=300 --train.global_batch=10 \
  --train.micro_batch=5 --run.dir=skips
cp output skips.log
expect 0 "(10 graphs)" "$skein" eval --checkpoint.path=skips --data.test=skips.h5 --graph.fold=2 --eval.output=found.json
python3 - <<'PY' || die "walks do not tell the circles apart"
import json
found = json.load(open("found.json"))
assert found["accuracy"] > 0.5 and found["samples"] == 10, found
# 41 nodes and 164 links of each of ten graphs a step
last = [json.loads(line) for line in open("skips/metrics.jsonl") if "grad_norm" in line][-1]
assert abs(last["links_per_second"] * last["seconds"] - 1640) < 1, last
PY
grep -q " tokens/s  .* links/s  " skips.log || die "the log does not tell links"
expect 0 "(10 graphs)" "$skein" pretrain "${small[@]}" --data.train=skips.h5 --graph.fold=2 --graph.inputs=one --train.steps=60 \
  --train.global_batch=10 --train.micro_batch=5 --run.dir=blind
expect 0 "accuracy 0.1000" "$skein" eval --checkpoint.path=blind --data.test=skips.h5 --graph.fold=2
# By distances, in which two of the ten are alike, and of which the first store has none.
expect 2 "skips.h5 has no distances of nodes (its column pair_distance), which this model reads" "$skein" pretrain "${small[@]}" \
  --model.graph_form=graphormer --data.train=skips.h5 --graph.fold=2 --train.steps=1 --run.dir=none
"$data" graphs --graphs.make=skip-links --graphs.count=5 --graphs.distances=true --graphs.folds=5 --run.quiet --output.path=far.h5
expect 0 "(10 graphs)" "$skein" pretrain "${small[@]}" --model.graph_form=graphormer --model.virtual_node=true --model.farthest=10 \
  --data.train=far.h5 --graph.fold=2 --train.steps=20 --train.global_batch=10 --train.micro_batch=5 --run.dir=far
expect 0 "(10 graphs)" "$skein" eval --checkpoint.path=far --data.test=far.h5 --graph.fold=2 --eval.output=found.json
python3 - <<'PY' || die "distances tell what they cannot"
import json
found = json.load(open("found.json"))
assert found["accuracy"] <= 0.9 and found["samples"] == 10, found
PY
expect 2 "skips.h5 has no distances of nodes" "$skein" eval --checkpoint.path=far --data.test=skips.h5 --graph.fold=2
expect 0 "50 graphs labelled" "$skein" predict --checkpoint.path=skips --data.input=skips.h5 --output.path=said.jsonl
python3 - <<'PY' || die "predict does not say a class of each graph"
import json
lines = [json.loads(line) for line in open("said.jsonl")]
assert len(lines) == 50 and lines[7]["graph"] == "skips.h5, graph 7" and len(lines[7]["scores"]) == 10, lines[7]
PY
expect 2 "is split in 5 folds" "$skein" pretrain "${small[@]}" --data.train=skips.h5 --train.steps=1 --run.dir=none
expect 2 "no store of graphs" "$skein" pretrain "${small[@]}" --run.dir=none
expect 2 "is for graphs, but model.architecture=gpt reads texts" "$skein" pretrain --graph.random=2 --run.dir=none --data.train=skips.h5
expect 2 "is for texts, but model.architecture=graph reads graphs" "$skein" pretrain "${small[@]}" --data.train=skips.h5 --graph.fold=1 \
  --data.stride=3 --run.dir=none
expect 2 "reads graphs, and this is for texts" "$skein" generate --checkpoint.path=skips a

# Vectors of graphs and of their nodes, and how alike these are.
expect 0 "50 vectors of 16 numbers" "$skein" embed --checkpoint.path=skips --data.input=skips.h5 --embed.output=graphs.npy
expect 0 "410 vectors of 16 numbers" "$skein" embed --checkpoint.path=skips --data.input=skips.h5 --embed.output=nodes.jsonl --embed.of=nodes \
  --graph.part=test --graph.fold=2
head -1 nodes.jsonl | grep -q '"node":"skips.h5, graph [0-9]*, node 0","embedding":\[' || die "a vector does not name its node"
expect 2 "embed.pool must be mean" "$skein" embed --checkpoint.path=skips --data.input=skips.h5 --embed.pool=first
expect 2 "embed.text is for texts, but the model reads graphs" "$skein" embed --checkpoint.path=skips --data.input=skips.h5 --embed.text=a
expect 2 "images.fit is for pictures, but the model reads graphs" "$skein" embed --checkpoint.path=skips --data.input=skips.h5 --images.fit=pad
expect 0 "cosine of linked nodes" "$skein" eval --checkpoint.path=skips --data.test=skips.h5 --graph.fold=2 --eval.smoothing --eval.output=alike.json
grep -q '"any_cosine_2"' alike.json || die "eval.output does not say how alike nodes are"

# What links weigh.
expect 0 "weights of 2 graphs in looks/attention.jsonl and 4 pictures" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 \
  --attend.texts=2 --graph.part=test --graph.fold=2 --attend.output=looks
expect 0 "layer 1, head 1: over 1 nodes with several links" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 \
  --attend.graph=7 --attend.node=40 --attend.output=node
python3 - <<'PY' || die "what links weigh does not hold together"
import json, xml.etree.ElementTree as tree
from collections import Counter
lines, sums = [json.loads(line) for line in open("looks/attention.jsonl")], Counter()
for one in lines:
    sums[one["graph"], one["layer"], one["head"], one["to"]] += one["weight"]
assert len(lines) == 2 * 41 * 4 * 4 and len(sums) == 2 * 41 * 4, len(lines)
assert all(abs(sum - 1) < 1e-4 for sum in sums.values())
tree.parse("looks/graph-2-layer-1.svg")
lines = [json.loads(line) for line in open("node/attention.jsonl")]
assert len(lines) == 4 * 4 and {(one["graph"], one["to"]) for one in lines} == {("skips.h5, graph 7", 40)}, lines
PY
expect 2 "attend.node=41, but skips.h5, graph 7 has 41 nodes" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 --attend.graph=7 \
  --attend.node=41
expect 2 "attend.graph=50, but that is none of the 50 graphs" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 --attend.graph=50
expect 2 "attend.node=-2 must be -1, or a number from 0 on" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 --attend.node=-2
expect 2 "give a store of them, attend.input, instead of arguments" "$skein" attend --checkpoint.path=skips text
expect 2 "attend.start is for texts, but the model reads graphs" "$skein" attend --checkpoint.path=skips --attend.input=skips.h5 --attend.start=a

# All folds, which go on where they were.
folds=("${small[@]}" --data.train=skips.h5 --train.steps=20 --train.global_batch=10 --train.micro_batch=5 --run.dir=folds)
expect 0 "folds     5 runs like this one" "$skein" folds "${folds[@]}" --dry-run
grep -qF "steps     0 to 20, of 10 samples" output || { cat output >&2; die "not what a fold would be"; }
[ ! -e folds ] || die "a dry run left a folder"
expect 0 "deviation" "$skein" folds "${folds[@]}"
cp folds/folds.json before.json
rm -r folds/fold-3/checkpoints folds/folds.json
expect 0 "fold 5 of 5" "$skein" folds "${folds[@]}"
cmp before.json folds/folds.json || die "the folds give something else in a second start"
python3 - <<'PY' || die "folds.json is not what the folds give"
import json
all = json.load(open("folds/folds.json"))
values = [fold["accuracy"] for fold in all["folds"]]
mean = sum(values) / 5
assert len(values) == 5 and abs(all["mean"]["accuracy"] - mean) < 1e-9, all
assert abs(all["deviation"]["accuracy"] ** 2 - sum((one - mean) ** 2 for one in values) / 4) < 1e-9, all
PY
expect 2 "all folds are the test in turn" "$skein" folds "${folds[@]}" --graph.fold=1
expect 2 "folds are those of stores of graphs" "$skein" folds --data.train=skips.h5 --run.dir=none

# Another head: the circles' classes by a model that has learnt something else of walks.
"$data" graphs --graphs.make=skip-links --graphs.count=5 --graphs.walks=8 --graphs.fractions=0.6,0.2,0.2 --run.quiet --output.path=parts.h5
tune=("$skein" finetune --checkpoint.load=skips --data.train=parts.h5 --run.tensorboard=false)
expect 0 "(10 graphs)" "${tune[@]}" --task.epochs=2 --train.global_batch=10 --run.dir=tuned
expect 0 "(10 graphs)" "$skein" eval --checkpoint.path=tuned --data.test=parts.h5
expect 2 "graph.inputs and graph.random are those of the model to begin from" "${tune[@]}" --graph.random=2 --run.dir=none
expect 2 "task.text is for texts, but the model reads graphs" "${tune[@]}" --task.text=a --run.dir=none
expect 2 "task.metric is for texts and pictures" "${tune[@]}" --task.metric=macro_f1 --run.dir=none
expect 2 "augment.shift is for pictures, but model.architecture=graph reads graphs" "${tune[@]}" --augment.shift=0.1 --run.dir=none
expect 2 "reads graphs, and this is for texts" "$skein" sft --checkpoint.load=skips --data.train=parts.h5 --run.dir=none

# Sets, which are graphs without links: whether one holds a c. By the largest number of each a member that is there twice says nothing new.
python3 - <<'PY'
import json, random
random.seed(1)
with open("sets.jsonl", "w") as out:
    for i in range(120):
        members = random.choices("abc", [4, 4, 1], k=random.randint(1, 8)) if i < 116 else ["a", "b", *"cab"[: 3 * (i % 2)]] * (1 + i // 118)
        print(json.dumps({"nodes": members, "edges": [], "y": "yes" if "c" in members else "no", "split": ["train", "test"][i >= 90]}), file=out)
PY
"$data" graphs --run.quiet --output.path=sets.h5 sets.jsonl
sets=("${small[@]}" --model.hops=1 --model.teleport=1 --model.n_layers=1 --data.train=sets.h5 --train.steps=120 --train.global_batch=30)
expect 0 "done: 120 steps" "$skein" pretrain "${sets[@]}" --model.graph_pool=max --run.dir=sets
expect 0 "accuracy 1.0000, macro F1" "$skein" eval --checkpoint.path=sets --data.test=sets.h5
expect 0 "120 graphs labelled" "$skein" predict --checkpoint.path=sets --data.input=sets.h5 --output.path=said.jsonl
python3 - <<'PY' || die "a set is not read as one"
import json
said = [json.loads(line) for line in open("said.jsonl")][-4:]
assert [one["label"] for one in said] == ["no", "yes", "no", "yes"], said
assert said[0]["scores"] == said[2]["scores"] and said[1]["scores"] == said[3]["scores"], said
PY
# Other sets, by the names of those that were learnt.
printf '{"nodes":["c","b"],"edges":[]}\n' >new.jsonl
"$data" graphs --run.quiet --output.path=new.h5 new.jsonl
expect 2 "new.h5 has 2 of node_category, but sets/checkpoints/" "$skein" predict --checkpoint.path=sets --data.input=new.h5
grep -qF "make it with graphs.vocabulary" output || { cat output >&2; die "not what to do"; }
"$data" graphs --run.quiet --graphs.vocabulary=sets.h5 --output.replace --output.path=new.h5 new.jsonl
expect 0 "1 graphs labelled" "$skein" predict --checkpoint.path=sets --data.input=new.h5 --output.path=said.jsonl
grep -qF '"label":"yes"' said.jsonl || die "a set with a c is not told"
expect 2 "one of mean, sum, max, attention was expected" "$skein" pretrain "${sets[@]}" --model.graph_pool=most --run.dir=none

# Nodes of one graph: a path whose halves are two classes.
python3 - <<'PY'
import json
with open("nodes.jsonl", "w") as nodes, open("links.tsv", "w") as links:
    for node in range(30):
        split = ["train", "validation", "test"][node % 3]
        print(json.dumps({"id": node, "x": [node // 15, 2 + node % 4], "y": "ab"[node // 15], "split": split}), file=nodes)
        if node:
            print(node - 1, node, sep="\t", file=links)
PY
"$data" graphs --graphs.edges=links.tsv --graphs.feature_kind=bag --graphs.self_loops=add --run.quiet --output.path=path.h5 nodes.jsonl
expect 0 "(10 nodes)" "$skein" pretrain "${small[@]}" --model.graph_form=plain --model.link_score=gat --data.train=path.h5 --train.steps=60 \
  --train.global_batch=1 --train.micro_batch=1 --run.dir=path
expect 0 "(10 nodes)" "$skein" eval --checkpoint.path=path --data.test=path.h5
expect 0 "30 nodes labelled" "$skein" predict --checkpoint.path=path --data.input=path.h5 --output.path=said.jsonl
grep -q '"node":29,"label":"b"' said.jsonl || die "the last node is not said to be of the second half"
# What changes nothing in a model is refused.
for option in d_ff=64 norm=rms norm_placement=post norm_epsilon=0.001 activation=relu; do
  expect 2 "model.$option is for model.graph_form=blocks and graphormer; leave it out" "$skein" pretrain "${small[@]}" --model.graph_form=plain \
    --model.link_score=gat --data.train=path.h5 --model.$option --run.dir=none
done
while IFS=: read -r option use; do
  expect 2 "model.$option is for $use; leave it out" "$skein" pretrain "${small[@]}" --data.train=path.h5 --model.$option --run.dir=none
done <<'END'
teleport=0.3:model.hops above 0
graph_pool=sum:labels of whole graphs
link_numbers_are=multiplied:links with categories or numbers
tie_embeddings=false:models with a vocabulary, but model.architecture=graph reads graphs
END
# The same by neighbours that are drawn.
expect 0 "(10 nodes)" "$skein" pretrain "${small[@]}" --graph.neighbours=1,1 --data.train=path.h5 --train.steps=60 --train.global_batch=10 \
  --train.micro_batch=5 --run.dir=drawn
expect 0 "(10 nodes)" "$skein" eval --checkpoint.path=drawn --data.test=path.h5
cp output whole
expect 0 "(10 nodes)" "$skein" eval --checkpoint.path=drawn --data.test=path.h5 --graph.neighbours=2,2 --eval.batch=3
[ "$(grep -o 'accuracy.*' output)" = "$(grep -o 'accuracy.*' whole)" ] || die "all neighbours are not the whole graph"
expect 0 "30 nodes labelled" "$skein" predict --checkpoint.path=drawn --data.input=path.h5 --graph.neighbours=1,1 --output.path=said.jsonl
expect 2 "graph.neighbours=2 draws neighbours of nodes" "$skein" eval --checkpoint.path=skips --data.test=skips.h5 --graph.fold=2 --graph.neighbours=2
# A mean of all neighbours has nothing that learns in its first layer.
expect 0 "done: 2 steps" "$skein" pretrain "${small[@]}" --model.graph_form=plain --model.link_score=mean --model.bias=false --data.train=path.h5 \
  --train.steps=2 --train.global_batch=1 --train.micro_batch=1 --run.dir=means
expect 2 "path.h5 has no folds" "$skein" folds "${small[@]}" --data.train=path.h5 --run.dir=none

# Which nodes are linked: a grid, of which a part of the links is hidden.
"$data" graphs --graphs.make=grid --graphs.link_fractions=0.8,0.1,0.1 --graphs.walks=2 --run.quiet --output.path=grid.h5
links=("${small[@]}" --graph.target=links --data.train=grid.h5 --train.global_batch=1 --train.micro_batch=1 --graph.random=8)
expect 0 "hits@20" "$skein" pretrain "${links[@]}" --train.steps=30 --run.dir=links
expect 0 "AUC" "$skein" eval --checkpoint.path=links --data.test=grid.h5
expect 0 "22 pairs labelled" "$skein" predict --checkpoint.path=links --data.input=grid.h5 --graph.part=test --output.path=said.jsonl
[ "$(grep -c '"linked":true' said.jsonl)" = 11 ] || die "predict does not say which pairs are linked"
expect 0 "64 vectors" "$skein" embed --checkpoint.path=links --data.input=grid.h5 --embed.output=vectors.npy
expect 2 "is made of all links" "$skein" pretrain "${links[@]}" --graph.inputs=node_walk --train.steps=1 --run.dir=none
expect 2 "since model.vector_width is 0" "$skein" pretrain "${links[@]}" --model.graph_form=plain --train.steps=1 --run.dir=none --dry-run
expect 2 "does not say which links are for training" "$skein" pretrain "${small[@]}" --graph.target=links --data.train=path.h5 --run.dir=none
expect 2 "is no fraction" "$data" graphs --graphs.make=grid --graphs.link_fractions=a,0.1,0.1 --output.path=none.h5
