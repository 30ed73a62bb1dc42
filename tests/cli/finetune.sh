#!/usr/bin/env bash
# From a small pretrained encoder and decoder over fine-tuning to labels, numbers, tags and vectors, and what bad input is told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
mpi2="mpirun -np 2"

# A vocabulary of whole words, and texts of them.
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a b c d e f good bad anna rome , . '##s' >vocab.txt
python3 - <<'PY'
import json, random
draw = random.Random(3)
def filler(words):
    words = list(words)
    for _ in range(draw.randint(1, 4)):
        words.insert(draw.randint(0, len(words)), draw.choice("abcdef"))
    return words
with open("corpus.txt", "w") as out:
    for _ in range(400):
        out.write(" ".join(filler([draw.choice(["good", "bad", "anna", "rome"])])) + " .\n\n")
for name, count in (("train", 96), ("test", 32)):
    with open(name + ".csv", "w") as single, open(name + ".jsonl", "w") as pairs, open(name + ".conll", "w") as tags, open(name + ".tsv", "w") as numbers:
        single.write("id,text,category\n")
        for i in range(count):
            label = draw.choice(["good", "bad"])
            other = "bad" if label == "good" else "good"
            single.write('%d,"%s , .",%s\n' % (i, " ".join(filler([label])), label))
            pairs.write(json.dumps({"one": " ".join(filler([other])), "two": " ".join(filler([label])), "gold": label == "good"}) + "\n")
            numbers.write(" ".join(filler([label])) + "\t" + ("4.5" if label == "good" else "-1") + "\n")
            for word in filler(draw.sample(["anna", "rome", "good"], 2)):
                tags.write(word + "\t_\t" + {"anna": "B-PER", "rome": "B-LOC"}.get(word, "O") + "\n")
            tags.write("\n")
PY
"$bin/skein-data" encode --tokenizer.path=vocab.txt --output.path=store.h5 corpus.txt 2>/dev/null
shape="--model.context=24 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --train.global_batch=8 --data.train=store.h5 --train.steps=20
  --lr.lr=3e-3 --model.init_std=0.1"
expect 0 "done: 20 steps" "$skein" pretrain $shape --model.architecture=bert --model.norm_placement=post --model.activation=gelu_erf \
  --model.token_types=2 --model.embedding_norm --run.dir=encoder
expect 0 "done: 20 steps" "$skein" pretrain $shape --run.dir=decoder
tune="$skein finetune --lr.lr=3e-3 --task.epochs=12 --train.seed=4"

# Each kind of label, with early stopping, at two layouts.
expect 0 "tensors that begin anew: classifier.bias, classifier.weight, pooler.bias, pooler.weight" $tune --checkpoint.load=encoder --run.dir=classes \
  --data.train=train.csv --data.validation=test.csv --task.label=category --validation.patience=6
grep -q "accuracy 1.0000" output || die "classes are not learnt"
expect 0 "F1 1.0000" $mpi2 $tune --checkpoint.load=decoder --run.dir=tags --data.train=train.conll --data.validation=test.conll --task.kind=tag \
  --parallel.pipeline=2
expect 0 "tensors that begin anew" $mpi2 $tune --checkpoint.load=encoder --run.dir=pairs --data.train=train.jsonl --task.text=one --task.pair=two \
  --task.label=gold --train.frozen_layers=0
expect 0 "Pearson" $tune --checkpoint.load=decoder --run.dir=numbers --data.train=train.tsv --data.validation=test.tsv --task.kind=regress --task.text=1 \
  --task.label=2
expect 0 "accuracy 1.0000" $mpi2 $tune --checkpoint.load=encoder --run.dir=means --data.train=train.csv --data.validation=test.csv --task.label=category \
  --model.pool=mean
grep -q "^pool = mean" means/config.ini || die "config.ini does not say what the pooler reads"
expect 0 "takes the weights" $tune --checkpoint.load=means --run.dir=more --data.train=train.csv --task.label=category --train.steps=1
grep -q "^pool = mean" more/config.ini || die "the pooler of the checkpoint is forgotten"
grep -q "^head = sequence .*decoder" numbers/config.ini || die "config.ini does not say where the head comes from"
expect 0 "is done already" $tune --run.dir=numbers --data.train=train.tsv --data.validation=test.tsv --task.kind=regress --task.text=1 --task.label=2

# An encoder that has learnt short texts becomes one of long texts, which is pretrained further and tuned.
expect 0 "context of 64 tokens instead of 24, attention.kind=global" "$bin/skein-convert" --to-context=64 --attention.window=16 encoder longer
expect 0 "done: 3 steps" "$skein" pretrain $shape --model.context=64 --train.steps=3 --model.architecture=bert --model.norm_placement=post \
  --model.activation=gelu_erf --model.token_types=2 --model.embedding_norm --attention.kind=global --attention.window=16 --attention.mark_first=0 \
  --checkpoint.load=longer --checkpoint.weights_only --run.dir=further
expect 0 "accuracy 1.0000" $tune --checkpoint.load=longer --run.dir=longer-classes --attention.mark_first=1 --task.length=64 --data.train=train.csv \
  --data.validation=test.csv --task.label=category --loss.label_smoothing=0.1

# Attention by structure: which tokens see all may be said anew.
expect 0 "done: 3 steps" "$skein" pretrain $shape --train.steps=3 --model.architecture=bert --model.norm_placement=post --model.embedding_norm --run.dir=long \
  --attention.kind=global --attention.window=4 --attention.mark_first=0
expect 0 "takes the weights" $tune --checkpoint.load=long --run.dir=marked --data.train=train.csv --task.label=category --train.steps=2 --attention.mark_first=1 \
  --attention.mark_every=8
grep -q "^mark_first = 1" marked/config.ini && grep -q "^mark_every = 8" marked/config.ini || die "config.ini does not say what is marked"
expect 0 "good" "$skein" predict --checkpoint.path=marked --data.input=test.csv
expect 2 "such attention cannot be shown" "$skein" attend --checkpoint.path=marked "good a b"
expect 2 "attention.window=6 was given" $tune --checkpoint.load=long --run.dir=other --data.train=train.csv --task.label=category --attention.window=6
expect 0 "attention.kind=window sees no less than full attention does in model.context=24 (attention.window=24)" "$skein" pretrain $shape --train.steps=3 \
  --run.dir=wide --attention.kind=window,fixed --attention.window=24,24 --attention.block=2 --attention.stretch=2
expect 0 "" "$skein" generate --checkpoint.path=wide --generate.max_tokens=4 "good a"

# Evaluation: the columns are those of the training.
expect 0 "takes the best weights of the run, of step" "$skein" eval --checkpoint.path=classes --data.test=test.csv --eval.output=classes.json
expect 0 "accuracy" $mpi2 "$skein" eval --checkpoint.path=pairs --data.test=test.jsonl --eval.output=pairs.json
expect 0 "F1 1.0000" $mpi2 "$skein" eval --checkpoint.path=tags --data.test=test.conll --eval.output=tags.json --parallel.pipeline=2
expect 0 "Spearman" "$skein" eval --checkpoint.path=numbers --data.test=test.tsv --eval.output=numbers.json

expect 0 "accuracy 1.0000" "$skein" eval --checkpoint.path=means --data.test=test.csv

# Predictions: in the order of the input, the same bytes at every layout.
predict="$skein predict --predict.batch=5"
expect 0 "32 texts labelled" $predict --checkpoint.path=classes --data.input=test.csv --output.path=classes.jsonl
expect 0 "32 texts labelled" $mpi2 $predict --checkpoint.path=classes --data.input=test.csv --output.path=classes2.jsonl --parallel.pipeline=2
cmp classes.jsonl classes2.jsonl
expect 0 "32 texts labelled" $mpi2 $predict --checkpoint.path=pairs --data.input=test.jsonl --output.path=pairs.out
expect 0 "32 texts labelled" $predict --checkpoint.path=numbers --data.input=test.tsv --output.path=numbers.out
cut -f1 test.conll >words.conll
expect 0 "32 sentences labelled" $predict --checkpoint.path=tags --data.input=words.conll --output.path=tagged.conll
expect 0 "32 sentences labelled" $mpi2 $predict --checkpoint.path=tags --data.input=words.conll --output.path=tagged2.conll
cmp tagged.conll tagged2.conll

# Another program's classifiers say their labels, of pairs where a column names the second text.
expect 0 "parameters" "$bin/skein-convert" pairs pairs_out
expect 0 "parameters" "$bin/skein-convert" pairs_out pairs_back
expect 0 "32 texts labelled" $predict --checkpoint.path=pairs_back --data.input=test.jsonl --task.text=one --task.pair=two --output.path=pairs_back.out
cmp pairs.out pairs_back.out
expect 0 "accuracy" "$skein" eval --checkpoint.path=pairs_back --data.test=test.jsonl --task.text=one --task.pair=two --task.label=gold --eval.output=pairs_back.json
python3 -c 'import json; a, b = (json.load(open(n)) for n in ("pairs.json", "pairs_back.json")); assert a["accuracy"] == b["accuracy"] and a["loss"] == b["loss"], (a, b)'
cp -r pairs_out broken
break_weights broken classifier.weight
expect 0 "1 value in 1 tensor is not finite: classifier.weight (1)" "$bin/skein-convert" broken broken_back
expect 1 "is not finite: classifier.weight (1)" "$skein" eval --checkpoint.path=broken_back --data.test=test.jsonl --task.text=one --task.pair=two --task.label=gold
grep -q "loss is NaN" output || die "it is not said that the loss is NaN"
expect 1 "is not finite: classifier.weight (1); take an earlier checkpoint" $predict --checkpoint.path=broken_back --data.input=test.jsonl --task.text=one --task.pair=two \
  --output.path=made.jsonl
expect 0 "32 texts labelled" $predict --checkpoint.path=pairs_back --data.input=test.jsonl --task.text=one --output.path=singles.out
! grep -q '"pair"' singles.out || die "single texts were taken for pairs"
$tune --checkpoint.load=decoder --run.dir=said --data.train=train.csv --task.label=category 2>/dev/null
expect 0 "parameters" "$bin/skein-convert" said said_out
expect 0 "parameters" "$bin/skein-convert" said_out said_back
expect 0 "32 texts labelled" $predict --checkpoint.path=said_back --data.input=test.csv --task.text=text --output.path=said.out
grep -q '"label":"good"' said.out || die "a decoder's labels have no names"
printf 'good a\n\nbad b\n' | "$skein" predict --checkpoint.path=classes --data.input=- 2>/dev/null >stdin.jsonl
python3 - <<'PY' || die "predictions and evaluations do not agree"
import csv, json
lines = lambda name: [json.loads(line) for line in open(name)]
truth = list(csv.DictReader(open("test.csv")))
found = lines("classes.jsonl")
assert [row["text"] for row in truth] == [row["text"] for row in found]
assert all(abs(sum(row["scores"].values()) - 1) < 1e-9 and row["score"] == max(row["scores"].values()) for row in found)
right = sum(a["category"] == b["label"] for a, b in zip(truth, found))
assert right == 32 and json.load(open("classes.json"))["accuracy"] == right / 32
pairs = lines("pairs.out")
right = sum(json.dumps(a["gold"]) == b["label"] for a, b in zip(lines("test.jsonl"), pairs))
assert json.load(open("pairs.json"))["accuracy"] == right / 32 and pairs[0]["pair"]
truth = [float(line.split("\t")[1]) for line in open("test.tsv")]
mse = sum((a - b["value"]) ** 2 for a, b in zip(truth, lines("numbers.out"))) / 32
assert abs(mse - json.load(open("numbers.json"))["mse"]) < 1e-6, mse
tags = [line.split()[1] if line.strip() else "" for line in open("tagged.conll")]
assert tags == [line.split()[2] if line.strip() else "" for line in open("test.conll")]
assert [row["label"] for row in lines("stdin.jsonl")][::2] == ["good", "bad"] and [row["text"] for row in lines("stdin.jsonl")] == ["good a", "", "bad b"]
PY

# Vectors: of one text the same whatever it is padded to, whatever the layout and the file.
cut -f1 test.tsv >texts.txt
for model in encoder decoder classes tags; do
  for pool in mean first last; do
    expect 0 "32 vectors of 32 numbers" "$skein" embed --checkpoint.path=$model --data.input=texts.txt --embed.pool=$pool --embed.output=$model.$pool.jsonl
  done
  expect 0 "32 vectors" $mpi2 "$skein" embed --checkpoint.path=$model --data.input=texts.txt --embed.output=$model.npy --parallel.pipeline=2 --embed.batch=3
done
python3 - <<'PY' || die "vectors do not agree"
import json, struct
for model in ("encoder", "decoder", "classes", "tags"):
    data = open(model + ".npy", "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00" and struct.unpack("<H", data[8:10])[0] == 118 and b"'shape': (32, 32)" in data[:128] and data[127:128] == b"\n"
    rows = [json.loads(line)["embedding"] for line in open(model + ".mean.jsonl")]
    assert [x for row in rows for x in row] == list(struct.unpack("<%df" % (32 * 32), data[128:])), model
    others = [[json.loads(line)["embedding"] for line in open(f"{model}.{pool}.jsonl")] for pool in ("first", "last")]
    assert rows != others[0] != others[1]
PY
head -1 texts.txt >one.txt
expect 0 "1 vectors" "$skein" embed --checkpoint.path=decoder --data.input=one.txt --embed.output=one.jsonl
python3 - <<'PY' || die "padding changes a vector"
import json
one, many = (json.loads(open(name).readline())["embedding"] for name in ("one.jsonl", "decoder.mean.jsonl"))
assert max(abs(a - b) for a, b in zip(one, many)) < 1e-5
PY

# What is told of bad input.
expect 2 "checkpoint.load names no pretrained model" "$skein" finetune --data.train=train.csv --run.dir=none
expect 2 "data.train names no file" "$skein" finetune --checkpoint.load=encoder --run.dir=none
expect 2 "no column \"label\"" $tune --checkpoint.load=encoder --run.dir=none --data.train=train.csv
expect 2 "model.d_model=64 was given, but the model of encoder" $tune --checkpoint.load=encoder --run.dir=none --data.train=train.csv --task.label=category \
  --model.d_model=64
expect 2 "model.pool=mean was given" $tune --checkpoint.load=encoder --run.dir=none --data.train=train.conll --task.kind=tag --model.pool=mean
expect 2 "bert needs model.pool=first" "$bin/skein-convert" means means_out
expect 2 "holds another model" $tune --run.dir=means --data.train=train.csv --data.validation=test.csv --task.label=category --model.pool=first
expect 2 "task.length=100 must be from 1 to model.context=24" $tune --checkpoint.load=encoder --run.dir=none --data.train=train.csv --task.length=100
expect 2 "train.frozen_layers=3" $tune --checkpoint.load=encoder --run.dir=none --data.train=train.csv --task.label=category --train.frozen_layers=3
expect 2 "but here are task.kind=regress" $tune --run.dir=classes --data.train=train.tsv --task.kind=regress --task.text=1 --task.label=2
[ ! -e none ] || die "a refused run has left a folder"
expect 2 "give one of data.validation" "$skein" eval --checkpoint.path=classes
expect 2 "was not fine-tuned on labels" "$skein" eval --checkpoint.path=encoder --data.test=test.csv
expect 2 "gives labels; evaluate it on examples" "$skein" eval --checkpoint.path=classes --data.text=corpus.txt
sed 's/good$/great/' test.csv >other.csv
expect 2 'the label "great" is none of the 2 known ones' "$skein" eval --checkpoint.path=classes --data.test=other.csv
for option in eval.windows=3 data.bad_records=9 chat.template=none task.prefix=x eval.texts=said.jsonl; do
  expect 2 "is evaluated on labels; leave it out" "$skein" eval --checkpoint.path=classes --data.test=test.csv --$option
done
expect 2 "task.pair is for pairs, but classes/" $predict --checkpoint.path=classes --data.input=test.csv --task.pair=text
expect 2 "task.word_column is for tags of words, but classes/" $predict --checkpoint.path=classes --data.input=test.csv --task.word_column=2
expect 2 "task.text is for texts and pairs, but tags/" $predict --checkpoint.path=tags --data.input=words.conll --task.text=2
expect 2 "was not fine-tuned" "$skein" predict --checkpoint.path=decoder --data.input=texts.txt
expect 2 "the model judges pairs" $mpi2 "$skein" predict --checkpoint.path=pairs --data.input=texts.txt
expect 2 "none.txt" "$skein" predict --checkpoint.path=classes --data.input=none.txt
: >empty.txt
expect 2 "holds nothing to label" "$skein" predict --checkpoint.path=classes --data.input=empty.txt --output.path=made.jsonl
expect 2 "output.path=none/made.jsonl cannot be written" $mpi2 "$skein" predict --checkpoint.path=classes --data.input=texts.txt --output.path=none/made.jsonl
expect 2 "embed.output=made.h5 must end in" "$skein" embed --checkpoint.path=encoder --data.input=texts.txt --embed.output=made.h5
expect 2 "embed.length=99 must be" "$skein" embed --checkpoint.path=encoder --data.input=texts.txt --embed.length=99
# Nor does a command that is killed leave one.
mkfifo slow
(printf 'good\n'; exec sleep 60) >slow &
writer=$!
"$skein" predict --checkpoint.path=classes --data.input=slow --output.path=made.jsonl >output 2>&1 &
predicting=$!
sleep 3
kill -9 $predicting $writer || true
! ls made* *.partial 2>/dev/null || die "a failed command has left a file"

# A file system without files that have no name: what a killed command leaves there, the next one writes over.
cat >named.py <<'PY'
import ctypes, os, sys
class Filter(ctypes.Structure): _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]
# openat with O_TMPFILE says EOPNOTSUPP: load nr, is it openat, load flags, keep O_TMPFILE, is all of it there.
steps = [(0x20, 0, 0, 0), (0x15, 0, 4, 257), (0x20, 0, 0, 32), (0x54, 0, 0, 0x410000), (0x15, 0, 1, 0x410000), (0x06, 0, 0, 0x5005f), (0x06, 0, 0, 0x7fff0000)]
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Program(len(steps), (Filter * len(steps))(*[Filter(*step) for step in steps]))), 0, 0):
    sys.exit(3)
os.execv(sys.argv[1], sys.argv[1:])
PY
rm slow && mkfifo slow  # the killed reader may still hold the other one
(for i in $(seq 2000); do echo good; done; exec sleep 60) >slow &
writer=$!
python3 named.py "$skein" predict --checkpoint.path=classes --data.input=slow --output.path=made.jsonl >output 2>&1 &
predicting=$!
for i in $(seq 500); do [ -s made.jsonl.partial ] && break; sleep 0.1; done
kill -9 $predicting $writer || true
wait $predicting 2>/dev/null || true
[ -s made.jsonl.partial ] || { cat output; die "no file without a name, and none with one"; }
for where in "" "python3 named.py"; do
  cp classes.jsonl made.jsonl.partial && cat classes.jsonl >>made.jsonl.partial
  expect 0 "32 texts labelled" $where $predict --checkpoint.path=classes --data.input=test.csv --output.path=made.jsonl
  cmp classes.jsonl made.jsonl
  [ ! -e made.jsonl.partial ] || die "what was left before has stayed"
done
echo passed
