#!/usr/bin/env bash
# The same stories as text (docs/memory.md): a decoder learns their answers as labels, and an encoder-decoder writes them.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data" skein="$bin/skein"

# Someone goes from room to room, and the last one is asked for.
mkdir en
python3 - <<'PY'
import random

random.seed(5)
names, rooms = ["Ann", "Ben", "Cleo"], ["hall", "attic", "garden"]
for part, count in [("train", 800), ("test", 60)]:
    with open(f"en/qa1_rooms_{part}.txt", "w") as file:
        for story in range(count):
            who, seen = random.choice(names), random.sample(rooms, 2)
            for line, room in enumerate(seen):
                file.write(f"{line + 1} {who} went to the {room}.\n")
            file.write(f"3 Where is {who}?\t{seen[-1]}\t2\n")
PY
for part in train test; do
  expect 0 "$part.tsv: " "$data" stories --stories.part=_$part --stories.form=text --output.path=$part.tsv en
done
tail -n +2 train.tsv | cut -f 1,2 | tr '\t' ' ' | sed G >told.txt
"$data" train-tokenizer --tokenizer.kind=word --data.vocab_size=40 --output.path=words.json told.txt 2>/dev/null
shape="--model.context=32 --model.d_model=32 --model.n_heads=2 --model.init_std=0.1 --train.global_batch=32 --lr.lr=5e-3 --lr.warmup=20
  --run.tensorboard=false"

# A decoder learns to tell stories, then which word answers.
"$data" encode --tokenizer.path=words.json --data.blank_lines=1 --run.quiet --output.path=told.h5 told.txt
expect 0 "done: 100 steps" "$skein" pretrain $shape --model.n_layers=2 --data.train=told.h5 --train.steps=100 --run.dir=decoder
expect 0 "accuracy" "$skein" finetune --checkpoint.load=decoder --data.train=train.tsv --data.validation=test.tsv --task.epochs=8 \
  --train.global_batch=32 --lr.lr=5e-3 --model.dropout=0 --run.tensorboard=false --run.dir=labels
expect 0 "accuracy" "$skein" eval --checkpoint.path=labels --data.test=test.tsv --eval.output=labels.json
expect 0 "60 texts labelled" "$skein" predict --checkpoint.path=labels --data.input=test.tsv --output.path=said.jsonl

# An encoder-decoder writes the answer.
columns="--task.text=text --task.label=label"
expect 0 "train.h5: 800 pairs" "$data" pairs --tokenizer.path=words.json $columns --output.path=train.h5 train.tsv
expect 0 "done: 300 steps" "$skein" pretrain $shape --model.architecture=transformer --model.n_layers=4 --task.kind=seq2seq --data.train=train.h5 \
  --train.steps=300 --run.dir=writer
expect 0 "60 pairs decoded" "$skein" eval --checkpoint.path=writer --data.test=test.tsv $columns --score.metrics=exact_match --eval.output=writer.json
python3 - <<'PY' || die "the stories are not learnt"
import json
labels, writer = json.load(open("labels.json")), json.load(open("writer.json"))
assert labels["accuracy"] > 0.9, labels
assert writer["exact_match"] > 90, writer
PY
