#!/usr/bin/env bash
# Synopses of Debian's packages from their long descriptions: all pairs from a model that first learnt to restore the long texts, and 5,000 of
# them from that and from start values.
# usage: synopsis.sh OUT [SPLIT]     OUT is made; SPLIT: source (the default) or package, as launch/descriptions has it
# The programs are those of $BIN (build/cpu/bin). NOISE and ALL are steps of restoring and of all pairs; FEW of the few from start values, of
# which the restored model takes three quarters.
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
bin=$(readlink -f "${BIN:-$root/build/cpu/bin}")
mkdir -p "$1"
cd "$1"

if [[ ! -e valid.h5 ]]; then
  "$root/launch/descriptions" --dir . --languages none --split "${2:-source}"
  head -n 5001 synopsis.train.tsv >few.tsv  # rows stand in the order of a hash
  cut -f2 synopsis.train.tsv | tail -n +2 >synopses.txt
  "$bin/skein-data" train-tokenizer --tokenizer.special='<s>,<pad>,</s>,<unk>,<mask>' --data.vocab_size=8192 --output.path=tok.json \
    --output.replace texts.train.jsonl synopses.txt
  for part in train valid; do
    "$bin/skein-data" encode --tokenizer.path=tok.json --data.sentences=auto --output.replace --output.path=$part.part.h5 texts.$part.jsonl
    mv $part.part.h5 $part.h5
  done
fi

# One group: rows of a batch are sorted by length, and little of it is padding.
model=(--config "$root/configs/transformer_small.ini" --model.context=256 --train.precision=bf16 --parallel.reduction_groups=1)
# Words hidden in spans: all of the text is restored. Windows are short and sentences stay in order, so that the decoder soon finds what to copy.
"$bin/skein" pretrain "${model[@]}" --run.dir=restored --data.train=train.h5 --data.validation=valid.h5 --noise.samples=windows \
  --noise.length=64 --noise.permute=0 --train.global_batch=128 --train.micro_batch=32 --train.steps="${NOISE:-500}" --lr.warmup=100 \
  --validation.every=100 --loss.label_smoothing=0

pairs=(--task.kind=seq2seq --task.text=text --task.label=synopsis --task.start='</s>' --task.source_length=128 --task.target_length=64
  --data.validation=synopsis.valid.tsv --train.global_batch=64 --train.micro_batch=16)
from_restored() {
  local name=$1 file=$2 steps=$3 dropout=$4 lr=$5 warmup=$6
  "$bin/skein" finetune "${pairs[@]}" --checkpoint.load=restored --run.dir="$name" --data.train="$file" --train.steps="$steps" \
    --train.precision=bf16 --parallel.reduction_groups=1 --validation.every=$((steps / 4)) --model.dropout="$dropout" --loss.label_smoothing=0.1 \
    --lr.lr="$lr" --lr.min_lr=0 --lr.warmup="$warmup" --optimizer.beta2=0.98 --optimizer.epsilon=1e-9 --optimizer.weight_decay=0
}
few=${FEW:-800}
from_restored all-restored synopsis.train.tsv "${ALL:-1400}" 0.1 1e-3 100
"$bin/skein" pretrain "${model[@]}" "${pairs[@]}" --run.dir=few --tokenizer.path=tok.json --data.train=few.tsv --train.steps="$few" \
  --lr.warmup=100 --validation.every=$((few / 8)) --model.dropout=0.3
from_restored few-restored few.tsv $((few * 3 / 4)) 0.3 5e-4 50

rouge() { "$bin/skein-data" score --score.metrics=rouge "$@"; }
rouge test.sentence.txt test.synopsis.txt
for name in all-restored few few-restored; do
  "$bin/skein" eval --checkpoint.path=$name --data.test=synopsis.test.tsv --beam.size=4 --score.metrics=rouge --eval.batch=64 \
    --eval.output=$name.json --eval.texts=$name.jsonl
done
# Is the gain more than chance? Both are scored on the same draws.
rouge --score.bootstrap=1000 --score.baseline=few.jsonl few-restored.jsonl test.synopsis.txt
