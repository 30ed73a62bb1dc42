#!/usr/bin/env bash
# From a small pretrained decoder over preferences to a tuned policy that answers better, and what bad input is told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
mpi2="mpirun -np 2"

python3 - <<'PY'
import json, random
draw = random.Random(3)
with open("corpus.txt", "w") as out:
    for _ in range(300):
        out.write("ask " + draw.choice(["good", "bad"]) + "\n\n")
for name, count in (("train", 160), ("test", 48)):
    with open(name + ".jsonl", "w") as pairs, open(name + "-lists.jsonl", "w") as lists:
        for i in range(count):
            pairs.write(json.dumps({"prompt": "ask", "chosen": " good" + draw.choice(["", " good"]), "rejected": " bad" + draw.choice(["", " bad"])}) + "\n")
            lists.write(json.dumps({"prompt": "ask", "answers": [" good", " bad", " worse"], "ranks": [1, 2, 3]}) + "\n")
PY
xz -k train.jsonl
head -80 train.jsonl >half.jsonl
"$bin/skein-data" encode --tokenizer.path=bytes --output.path=bytes.h5 corpus.txt 2>/dev/null
expect 0 "done: 150 steps" "$skein" pretrain --model.context=32 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --train.global_batch=8 --train.steps=150 --lr.lr=3e-3 \
  --data.train=bytes.h5 --run.dir=policy
tune="$skein dpo --checkpoint.load=policy --lr.lr=3e-3 --train.global_batch=16"

# It begins at the reference and learns; what is compressed is read; lists give all their pairs.
expect 0 "nats a token of 640 training pairs" $tune --run.dir=one --data.train=train.jsonl.xz,train-lists.jsonl --data.validation=test.jsonl --train.steps=20
grep -q "accuracy 1.0000 of 48 pairs" output || die "preferences are not learnt"
python3 - <<'PY' || die "metrics are not as they should be"
import json, math
steps = [json.loads(line) for line in open("one/metrics.jsonl")]
first = [one for one in steps if "dpo_loss" in one][0]
assert first["chosen_reward"] == first["rejected_reward"] == first["reward_margin"] == 0, first
assert abs(first["dpo_loss"] - math.log(2)) < 1e-7, first
last = [one for one in steps if "validation_reward_margin" in one][-1]
assert last["validation_reward_margin"] > 0.5 and last["validation_loss"] < 0.6, last
PY
grep -q "^steps = 20" one/config.ini && grep -q "^warmup = 2" one/config.ini || die "the run's options are not told"

# The same bits at another layout, and after a break.
expect 0 "done: 12 steps" $tune --run.dir=two --data.train=train.jsonl.xz,train-lists.jsonl --train.steps=12 --lr.decay=constant --lr.warmup=0
expect 0 "done: 6 steps" $tune --run.dir=three --data.train=train.jsonl.xz,train-lists.jsonl --train.steps=6 --lr.decay=constant --lr.warmup=0
expect 0 "goes on from" $mpi2 $tune --run.dir=three --data.train=train.jsonl.xz,train-lists.jsonl --train.steps=12 --lr.decay=constant --lr.warmup=0 --parallel.pipeline=2
python3 - <<'PY' || die "layouts do not agree"
import json
def losses(run): return {one["step"]: one["loss"] for one in map(json.loads, open(run + "/metrics.jsonl")) if "loss" in one}
assert losses("two") == losses("three"), (losses("two"), losses("three"))
PY

# Its relatives: SimPO asks no reference, KTO learns from answers with labels and from pairs.
python3 - <<'PY'
import json
with open("labels.jsonl", "w") as out:
    for i in range(64):
        prompt, good = "ask" if i % 2 else "ask ask", i % 3 != 0
        out.write(json.dumps({"prompt": prompt, "completion": " good" if good else " bad", "label": good}) + "\n")
PY
expect 0 "done: 4 steps" $tune --run.dir=simpo --data.train=train.jsonl --dpo.loss=simpo --train.steps=4
! grep -q "the reference is" output || die "SimPO asks a reference"
grep -q "^beta = 2 .*dpo.loss=simpo" simpo/config.ini || die "the beta of SimPO is not told"
expect 0 "done: 4 steps" $tune --run.dir=ipo --data.train=train.jsonl --dpo.loss=ipo --dpo.token_mean --train.steps=4
expect 0 "of 224 training answers" $tune --run.dir=kto --data.train=labels.jsonl,half.jsonl --dpo.loss=kto --train.steps=2
expect 0 "goes on from" $mpi2 $tune --run.dir=kto --data.train=labels.jsonl,half.jsonl --dpo.loss=kto --train.steps=4
expect 2 "dpo.gamma=0.5 was given, but dpo.loss=dpo does not read it" $tune --run.dir=none --data.train=train.jsonl --dpo.gamma=0.5
expect 2 "no two answers of which one is better (labels alone are for dpo.loss=kto)" $tune --run.dir=none --data.train=labels.jsonl
expect 2 "was trained with dpo.loss=kto, now it is dpo" $tune --run.dir=kto --data.train=train.jsonl

# The tuned policy is a language model as any other.
expect 0 "good" "$skein" generate --checkpoint.path=one --sample.temperature=0 --generate.max_tokens=8 ask

# What is told of bad input.
expect 2 "checkpoint.load names no policy" "$skein" dpo --data.train=train.jsonl --run.dir=none
expect 2 "data.train names no file" $tune --run.dir=none
(head -1 train.jsonl; echo '{"prompt":"a","chosen":"b"}') >bad.jsonl
expect 2 'bad.jsonl:2: no field "rejected"' $tune --run.dir=none --data.train=bad.jsonl
expect 2 "model.d_model=64 was given" $tune --run.dir=none --data.train=train.jsonl --model.d_model=64
expect 2 "chatml" $tune --run.dir=none --data.train=train.jsonl --chat.template=chatml
expect 2 "dpo.beta=0" $tune --run.dir=none --data.train=train.jsonl --dpo.beta=0
expect 2 "is no run of skein dpo" $tune --run.dir=policy --data.train=train.jsonl
expect 2 "was trained against a reference" "$skein" dpo --checkpoint.load=one --run.dir=three --data.train=train.jsonl.xz,train-lists.jsonl --train.steps=13 --train.global_batch=16
[ ! -e none ] || die "a refused run has left a folder"
echo passed
