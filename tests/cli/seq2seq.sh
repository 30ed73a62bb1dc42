#!/usr/bin/env bash
# Pairs of texts are learnt, scored by what is written, and gone on with; denoised text comes before them.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

for i in $(seq 1 300); do
  a=$((i * 7 % 10)) b=$((i * 11 % 9))
  printf 'the dog %d sees %d cats\tder Hund %d sieht %d Katzen\n' $a $b $a $b
done >all.tsv
{ printf 'en\tde\n'; head -n 260 all.tsv; } >train.tsv
{ printf 'en\tde\n'; tail -n 40 all.tsv; } >valid.tsv
tr '\t' '\n' <all.tsv >text.txt
"$bin/skein-data" train-tokenizer --tokenizer.kind=word --data.vocab_size=60 --output.path=words.json text.txt 2>/dev/null
"$bin/skein-data" pairs --tokenizer.path=words.json --task.text=en --task.label=de --output.path=train.h5 --run.quiet=true train.tsv
model="--model.architecture=transformer --model.d_model=32 --model.n_layers=4 --model.n_heads=2 --model.context=16 --model.init_std=0.1"
how="--train.global_batch=16 --lr.lr=1e-2 --lr.warmup=10 --run.tensorboard=false"
pairs="--task.kind=seq2seq --task.text=en --task.label=de"
learn="$skein pretrain $pairs $model $how --data.validation=valid.tsv --task.metric=bleu --validation.decode=10"

# From a file and from the store of it: the same pairs, so the same bits.
expect 0 "10 decoded: bleu" $learn --tokenizer.path=words.json --data.train=train.tsv --train.steps=60 --checkpoint.every=20 \
  --checkpoint.keep=3 --run.dir=file
expect 0 "done: 60 steps" $learn --data.train=train.h5 --train.steps=60 --run.dir=store
! "$bin/skein-inspect" diff file store | grep "param/" || die "a store is learnt otherwise than its file"

# At another layout and batch: the same numbers, texts too.
judge="$skein eval --checkpoint.path=file --data.test=valid.tsv"
expect 0 "task.text=en" $judge --beam.size=2 --eval.output=one.json --eval.texts=one.jsonl
grep -qF "bleu: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" output || die "the signature is not told"
expect 0 "40 pairs decoded" mpirun -np 2 $judge --beam.size=2 --parallel.pipeline=2 --eval.batch=7 --eval.output=two.json \
  --eval.texts=two.jsonl
cmp one.json two.json || die "two stages judge otherwise"
cmp one.jsonl two.jsonl || die "two stages write otherwise"
python3 - <<'PY' || die "the result is not what was asked for"
import json
one = json.load(open("one.json"))
assert set("loss perplexity token_accuracy tokens pairs bleu chrf rouge1 rouge2 rougeL exact_match f1".split()) <= set(one), one
assert one["pairs"] == 40 and set(one["signatures"]) == {"bleu", "chrf", "rouge", "exact_match", "f1"}, one
lines = [json.loads(line) for line in open("one.jsonl")]
assert len(lines) == 40 and lines[0]["source"].startswith("the dog") and lines[0]["reference"].startswith("der Hund"), lines[0]
PY
expect 0 "bleu" "$bin/skein-data" score one.jsonl
expect 0 "perplexity" $judge --score.metrics= --eval.output=loss.json
! grep -q bleu loss.json || die "an empty list of metrics decodes"

# What it looks at: each of both halves at itself, and the decoder at what it reads.
expect 0 "pictures" $skein attend --checkpoint.path=file --attend.input=valid.tsv --task.text=en --task.label=de --attend.output=seen
expect 0 "pictures" $skein attend --checkpoint.path=file --attend.output=one "the dog 3 sees 4 cats" "der Hund 3 sieht 4 Katzen"
expect 2 "in twos" $skein attend --checkpoint.path=file "the dog 3 sees 4 cats"

# Means of checkpoints, and a run that begins with one.
expect 0 "the mean of 3 checkpoints" "$bin/skein-convert" --average file/checkpoints/step-* mean
expect 0 "chrf" $skein eval --checkpoint.path=mean --data.test=valid.tsv
expect 0 "done: 2 steps" $skein finetune $pairs --checkpoint.load=mean --data.train=train.h5 --train.steps=2 --run.dir=onward
expect 0 "done: 3 steps" mpirun -np 2 $skein finetune $pairs --checkpoint.load=mean --data.train=train.h5 --train.steps=5 --run.dir=onward

# Denoising, then pairs.
"$bin/skein-data" train-tokenizer --tokenizer.special='<s>,<pad>,</s>,<unk>,<mask>' --data.vocab_size=300 --output.path=tok.json text.txt 2>/dev/null
"$bin/skein-data" encode --tokenizer.path=tok.json --data.sentences=lines --output.path=tokens.h5 text.txt 2>/dev/null
expect 0 "hidden tokens" $skein pretrain $model $how --data.train=tokens.h5 --data.validation=tokens.h5 --validation.windows=8 --train.steps=4 \
  --run.dir=denoised
expect 0 "noise.infill=0.3" $skein eval --checkpoint.path=denoised --data.validation=tokens.h5 --eval.windows=8 --eval.output=denoised.json
python3 - <<'PY' || die "an evaluation is not that of the run"
import json
lines = [json.loads(line) for line in open("denoised/metrics.jsonl") if "validation_loss" in line]
found = json.load(open("denoised.json"))
wanted = {key.removeprefix("validation_"): value for key, value in lines[-1].items() if key.startswith("validation_")}
assert wanted and wanted == {key: found[key] for key in wanted}, (wanted, found)
PY
expect 0 "done: 2 steps" $skein finetune $pairs --checkpoint.load=denoised --data.train=train.tsv --train.steps=2 --run.dir=tuned
expect 0 "task.start=</s>" $skein eval --checkpoint.path=tuned --data.test=valid.tsv --score.metrics=

# What cannot be.
expect 2 "task.prefix is for pairs of texts" $skein pretrain $model --data.train=tokens.h5 --task.prefix=x --run.dir=none
expect 2 "mlm.rate is for encoders that fill in masked tokens, but this model is an encoder-decoder" $skein pretrain $model --data.train=tokens.h5 \
  --mlm.rate=0.3 --run.dir=none
expect 2 "noise.span is for encoder-decoders that restore noised token stores, but task.kind is seq2seq" $learn --data.train=train.h5 --noise.span=5 \
  --run.dir=none
for option in validation.windows=3 validation.stride=7 data.tokenizer=nothere data.cross_document_attention=false data.mask_document_ends=true data.stride=3 lm.prefix=0.5; do
  expect 2 "${option%%=*} is for token stores, but task.kind is seq2seq; leave it out" $learn --data.train=train.h5 --$option --run.dir=none
done
expect 2 "model.head_std=0.1 is for heads of labels or values" $learn --data.train=train.h5 --model.head_std=0.1 --run.dir=none
expect 2 "attention.kind has 3 values, but there are model.n_layers=2 blocks" $skein pretrain --data.train=tokens.h5 --model.n_layers=2 \
  --attention.kind=window,full,window --attention.window=8 --run.dir=none
expect 2 "but this model continues text" $skein pretrain --data.train=tokens.h5 --noise.span=5 --run.dir=none
expect 2 "model.rope_theta=5000 is for model.positions=rotary" $skein pretrain --data.train=tokens.h5 --model.rope_theta=5000 --run.dir=none
expect 2 "model.labels=3 is for model.head=sequence and token" $skein pretrain --data.train=tokens.h5 --model.labels=3 --run.dir=none
expect 2 "lr.factor=2 is for lr.decay=noam" $skein pretrain --data.train=tokens.h5 --model.context=16 --lr.factor=2 --run.dir=none
expect 2 "give tokenizer.path" $skein pretrain $pairs $model --data.train=train.tsv --run.dir=none
expect 2 "reads no source" $skein pretrain $pairs --model.d_model=32 --model.context=16 --data.train=train.h5 --run.dir=none
expect 2 "task.source_length=17 must be from 1 to the 16 places" $learn --data.train=train.h5 --task.source_length=17 --run.dir=none
expect 2 "give task.kind=seq2seq" $skein finetune --checkpoint.load=file --data.train=train.tsv --task.text=en --task.label=de --run.dir=refused
expect 2 "no column \"fr\"" $learn --tokenizer.path=words.json --data.train=train.tsv --task.label=fr --run.dir=none
expect 2 "task.prefix=" $learn --tokenizer.path=words.json --data.train=train.tsv --train.steps=70 --task.prefix=x --run.dir=file
printf 'en\tde\nthe dog\t\n' >holes.tsv
expect 2 "evaluate it on pairs, data.test" $skein eval --checkpoint.path=file --data.validation=tokens.h5
expect 2 "the target is empty" $judge --data.test=holes.tsv
for option in eval.stride=7 task.pair=x chat.kind=prompt data.diverging=keep; do
  expect 2 "is evaluated on pairs of texts; leave it out" $judge --$option
done
[ ! -e none ] || die "a run that was refused left a folder"
echo "ok"
