#!/usr/bin/env bash
# English to German from 16,635 pairs: tokenizer, training, translations by beam search and greedily, and the same model in PyTorch.
# usage: translation.sh DATA OUT [STEPS]     DATA holds seq2seq/; OUT is made; STEPS of 64 pairs, 6000
# The programs are those of $BIN (build/cpu/bin). $PYTHON, where it is set, runs the peer: it needs torch, tokenizers and sacrebleu.
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
bin=$(readlink -f "${BIN:-$root/build/cpu/bin}")
data=$(readlink -f "$1")/seq2seq steps=${3:-6000}
mkdir -p "$2"
cd "$2"

for part in train valid; do xz -dc "$data/tatoeba-en-de.$part.tsv.xz" >$part.tsv; done
if [[ ! -e tok.json ]]; then  # one vocabulary for both languages, of the training part alone
  tr '\t' '\n' <train.tsv >both.txt
  "$bin/skein-data" train-tokenizer --tokenizer.special='<pad>,</s>,<unk>' --data.vocab_size=8192 --output.path=tok.json both.txt
fi
"$bin/skein" pretrain --config "$root/configs/transformer_small.ini" --run.dir=run --task.kind=seq2seq --tokenizer.path=tok.json \
  --task.text=1 --task.label=2 --data.train=train.tsv --data.validation=valid.tsv --train.steps="$steps" --train.precision=bf16 \
  --train.global_batch=64 --parallel.reduction_groups=1 --model.dropout=0.3 --checkpoint.every=500

translate() {
  local name=$1
  shift
  "$bin/skein" eval --checkpoint.path=run --data.test=valid.tsv --eval.batch=64 --eval.output="$name.json" --eval.texts="$name.jsonl" "$@"
}
translate greedy
translate beam --beam.size=4 --beam.length_penalty=0.6

if [[ -n ${PYTHON:-} ]]; then
  GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184 "$PYTHON" \
    "$root/tools/bench/torch_translation.py" --tokenizer tok.json --train train.tsv --valid valid.tsv --output torch.txt \
    --batch 64 --micro 16 --steps "$steps" |
    tee torch.jsonl
fi
