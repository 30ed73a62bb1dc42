#!/usr/bin/env bash
# From a small pretrained decoder and encoder over preferences to reward models, their reports, and what bad input is told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
mpi2="mpirun -np 2"

printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a b c d e f good bad ask . >vocab.txt
python3 - <<'PY'
import json, random
draw = random.Random(3)
words = lambda: [draw.choice("abcdef") for _ in range(draw.randint(1, 4))]
with open("corpus.txt", "w") as out:
    for _ in range(300):
        out.write(" ".join(words() + [draw.choice(["good", "bad"])]) + " .\n\n")
def answers():
    texts = []
    for word in ("good", "bad"):
        text = words()
        text.insert(draw.randint(0, len(text)), word)
        texts.append(" ".join(text))
    return texts
for name, count in (("train", 160), ("test", 48)):
    with open(name + ".jsonl", "w") as pairs, open(name + "-hh.jsonl", "w") as dialogues, open(name + "-length.jsonl", "w") as lengths, open(name + "-lists.jsonl", "w") as lists:
        for i in range(count):
            good, bad = answers()
            pairs.write(json.dumps({"prompt": "ask " + "".join(words()), "chosen": good, "rejected": bad}) + "\n")
            dialogues.write(json.dumps({"chosen": "\n\nHuman: ask\n\nAssistant: " + good, "rejected": "\n\nHuman: ask\n\nAssistant: " + bad}) + "\n")
            lengths.write(json.dumps({"prompt": "ask", "chosen": "a b c d e f", "rejected": draw.choice("abc")}) + "\n")
            lists.write(json.dumps({"prompt": "ask", "answers": [good, bad, good + " good"], "ranks": [2, 3, 1]}) + "\n")
PY
xz -k train.jsonl
"$bin/skein-data" encode --tokenizer.path=vocab.txt --output.path=words.h5 corpus.txt 2>/dev/null
"$bin/skein-data" encode --tokenizer.path=bytes --output.path=bytes.h5 corpus.txt 2>/dev/null
shape="--model.context=96 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --train.global_batch=8 --train.steps=10 --lr.lr=3e-3 --model.init_std=0.1"
expect 0 "done: 10 steps" "$skein" pretrain $shape --data.train=words.h5 --model.architecture=bert --model.norm_placement=post --model.activation=gelu_erf \
  --model.token_types=2 --model.embedding_norm --model.pooler --run.dir=encoder
expect 0 "done: 10 steps" "$skein" pretrain $shape --data.train=bytes.h5 --run.dir=decoder
tune="$skein reward --lr.lr=3e-3 --reward.epochs=8 --train.global_batch=16 --validation.every=40"

# Pairs of a decoder and an encoder, at two layouts; what is compressed is read.
expect 0 "tensors that begin anew: classifier.weight" $tune --checkpoint.load=decoder --run.dir=pairs --data.train=train.jsonl.xz --data.validation=test.jsonl
grep -q "accuracy 1.0000 of 48 pairs" output || die "preferences are not learnt"
expect 0 "report.json" $mpi2 $tune --checkpoint.load=encoder --run.dir=encoded --data.train=train.jsonl --data.validation=test.jsonl --parallel.pipeline=2
grep -q "accuracy 1.0000 of 48 pairs" output || die "preferences are not learnt by an encoder"
grep -q "^head_std = 0.17407765595569785 .*decoder" pairs/config.ini || die "the head does not begin as it should"
# Dialogues take their own template; lists and pairs go together.
expect 0 "done: 20 steps" $tune --checkpoint.load=decoder --run.dir=dialogues --data.train=train-hh.jsonl,train-lists.jsonl --data.validation=test-hh.jsonl --train.steps=20 \
  --optimizer.ridge=1e-4 --reward.centring=0.01
expect 0 "is done already" $tune --run.dir=dialogues --data.train=train-hh.jsonl,train-lists.jsonl --data.validation=test-hh.jsonl --train.steps=20 --optimizer.ridge=1e-4 \
  --reward.centring=0.01
# Length alone.
expect 0 "the longer answer is better" $tune --checkpoint.load=decoder --run.dir=lengths --data.train=train-length.jsonl --data.validation=test-length.jsonl --train.steps=5

# The same report from the checkpoint, at any layout.
expect 0 "accuracy 1.0000 of 48 pairs" "$skein" eval --checkpoint.path=pairs --data.test=test.jsonl --eval.output=one.json
expect 0 "accuracy 1.0000 of 48 pairs" $mpi2 "$skein" eval --checkpoint.path=pairs --data.test=test.jsonl --eval.output=two.json --parallel.pipeline=2
cmp one.json two.json
expect 0 "pairs" "$skein" eval --checkpoint.path=dialogues --data.test=test-hh.jsonl --eval.output=centred.json
python3 - <<'PY' || die "reports do not agree"
import json
report, evaluated = json.load(open("pairs/report.json")), json.load(open("one.json"))
assert report["accuracy"] == 1 and report["pairs"] == 48 and len(report["by_confidence"]) == 10 and not report["length_explains"], report
assert sum(bin["pairs"] for bin in report["by_length_difference"]) == 48
assert all(abs(report[key] - evaluated[key]) < 1e-9 for key in ("loss", "pair_loss", "margin", "longer_is_better")), evaluated
assert json.load(open("lengths/report.json"))["length_explains"] is True
# The loss is that of the training, what draws scores to 0 included.
report, evaluated = json.load(open("dialogues/report.json")), json.load(open("centred.json"))
assert abs(report["loss"] - evaluated["loss"]) < 1e-9, (report["loss"], evaluated["loss"])
assert report["loss"] - report["pair_loss"] > 1e-6, report
PY

# Which records count is as in the training, unless it is said; what the training has settled, or others read, is refused.
judge="$skein eval --checkpoint.path=pairs --data.test=test.jsonl"
expect 0 "was trained: data.layout=auto, data.diverging=drop, reward.long_prompts=cut" $judge
expect 0 "48 pairs" $judge --data.layout=pairs --reward.long_prompts=drop
for option in chat.template=none sft.pack=false task.text=one task.prefix=x task.pair=x beam.size=2 score.metrics=bleu eval.texts=said.jsonl; do
  expect 2 "is evaluated on preferences; leave it out" $judge --$option
done
expect 2 "eval.windows is for token stores and data.text, but pairs/" $judge --eval.windows=3
expect 2 "graph.part is for graphs, but the model reads texts" $judge --graph.part=train
[ ! -e said.jsonl ] || die "a refused evaluation has left a file"
(cat test.jsonl; echo '{"prompt":"a","chosen":"b"}') >holes.jsonl
expect 2 "data.bad_records=N leaves out up to N such records" "$skein" eval --checkpoint.path=pairs --data.test=holes.jsonl
expect 0 "48 pairs" "$skein" eval --checkpoint.path=pairs --data.test=holes.jsonl --data.bad_records=1

# What is told of bad input.
expect 2 "checkpoint.load names no pretrained model" "$skein" reward --data.train=train.jsonl --run.dir=none
expect 2 "data.train names no file" "$skein" reward --checkpoint.load=decoder --run.dir=none
(head -1 train.jsonl; echo '{"prompt":"a","chosen":"b"}') >bad.jsonl
expect 2 'bad.jsonl:2: no field "rejected"' "$skein" reward --checkpoint.load=decoder --run.dir=none --data.train=bad.jsonl
expect 2 "model.d_model=64 was given" "$skein" reward --checkpoint.load=decoder --run.dir=none --data.train=train.jsonl --model.d_model=64
expect 2 "chatml" "$skein" reward --checkpoint.load=decoder --run.dir=none --data.train=train.jsonl --chat.template=chatml
expect 2 "is no run of a reward model" "$skein" reward --run.dir=decoder --data.train=train.jsonl
expect 2 "optimizer.ridge=-1" "$skein" reward --checkpoint.load=decoder --run.dir=none --data.train=train.jsonl --optimizer.ridge=-1
expect 2 "reward models" "$skein" eval --checkpoint.path=decoder --data.test=test.jsonl
[ ! -e none ] || die "a refused run has left a folder"
echo passed
