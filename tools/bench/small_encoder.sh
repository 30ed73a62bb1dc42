#!/usr/bin/env bash
# A small encoder from nothing, and what it scores on three real tasks: tokenizer, pretraining, fine-tuning.
# usage: small_encoder.sh DATA OUT [STEPS]     DATA holds corpus/, classify/ and ner/; OUT is made; STEPS of pretraining, 4000
# The programs are those of $BIN (build/cpu/bin). tools/bench/bag_of_words.py scores a linear model on the same tasks.
set -euo pipefail

root=$(dirname "$(readlink -f "$0")")/../..
bin=$(readlink -f "${BIN:-$root/build/cpu/bin}")
data=$(readlink -f "$1") steps=${3:-4000}
mkdir -p "$2"
cd "$2"

books=("$data/corpus/children.train.jsonl.xz" "$data/corpus/classics.train.jsonl.xz")
if [[ ! -e valid.h5 ]]; then
  "$root/tools/bench/texts_of_today.py" "$data" > today.jsonl
  "$bin/skein-data" train-tokenizer --tokenizer.kind=wordpiece --tokenizer.lowercase=false --data.vocab_size=12288 --output.path=wp.json \
    --output.replace=true "${books[@]}" today.jsonl
  encode() { "$bin/skein-data" encode --tokenizer.path=wp.json --output.replace=true --output.path="$@"; }
  encode books.h5 "${books[@]}"
  encode today.h5 today.jsonl
  encode valid.h5 "$data/corpus/children.valid.jsonl.xz" "$data/corpus/classics.valid.jsonl.xz"
fi
"$bin/skein" pretrain --config "$root/configs/bert_small.ini" --run.dir=encoder --data.train=3:books.h5,2:today.h5 --data.validation=valid.h5 \
  --train.precision=bf16 --train.steps="$steps"

unpack() { xz -dc "$1" > "$2"; }
# In small letters, as the linear model has them: so few sentences show too few words in both forms.
for part in train test; do xz -dc "$data/classify/sentiment-sentences.$part.tsv.xz" | tr A-Z a-z > "sentiment.$part.tsv"; done
# A tenth of the training part is held out to choose when to stop: every tenth row, since rows are sorted by label.
for part in train test; do unpack "$data/classify/banking77.$part.csv.xz" "banking77.$part.csv"; done
python3 - << 'EOF'
import csv
with open("banking77.train.csv", newline="") as file:
    header, *rows = csv.reader(file)
for name, chosen in (("fit", [r for i, r in enumerate(rows) if i % 10]), ("valid", rows[::10])):
    with open(f"banking77.{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *chosen])
EOF
for part in train dev test; do unpack "$data/ner/wnut17.$part.conll.xz" "wnut17.$part.conll"; done

finetune() {
  local name=$1
  shift
  "$bin/skein" finetune --checkpoint.load=encoder --run.dir="$name" --train.precision=bf16 --run.log_every=100 "$@"
}
sentiment() {
  local name=$1
  shift
  finetune "$name" --task.text=2 --task.label=1 --model.pool=mean --lr.lr=5e-4 --task.epochs=3 "$@"
}
# The settings are those of the best of few cross-validations on the training part, of which these are the five folds.
for fold in 1 3 5 7 9; do
  awk -v fold=$fold 'NR % 10 == fold' sentiment.train.tsv > fold.valid.tsv
  awk -v fold=$fold 'NR % 10 != fold' sentiment.train.tsv > fold.train.tsv
  sentiment "sentiment.$fold" --data.train=fold.train.tsv --data.validation=fold.valid.tsv
done
sentiment sentiment --data.train=sentiment.train.tsv
finetune banking77 --validation.patience=20 --data.train=banking77.fit.csv --data.validation=banking77.valid.csv --task.text=text --task.label=category \
  --lr.lr=5e-4 --task.epochs=12 --train.global_batch=32
finetune wnut17 --validation.patience=5 --task.kind=tag --data.train=wnut17.train.conll --data.validation=wnut17.dev.conll --lr.lr=5e-4 --task.epochs=20
"$bin/skein" eval --checkpoint.path=sentiment --data.test=sentiment.test.tsv --eval.output=sentiment.json
"$bin/skein" eval --checkpoint.path=banking77 --data.test=banking77.test.csv --eval.output=banking77.json
"$bin/skein" eval --checkpoint.path=wnut17 --data.test=wnut17.test.conll --eval.output=wnut17.json
