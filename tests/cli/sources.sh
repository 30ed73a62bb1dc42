#!/usr/bin/env bash
# Sources are mapped to answers, with what stood around those of the training, the same at any layout and batch.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

for i in $(seq 1 200); do
  a=$((i * 7 % 10)) b=$((i * 11 % 9))
  printf 'the dog %d sees %d cats\tder Hund %d sieht %d Katzen\n' $a $b $a $b
done >pairs.tsv
{ printf 'en\tde\n'; cat pairs.tsv; } >train.tsv
tr '\t' '\n' <pairs.tsv >text.txt
"$bin/skein-data" train-tokenizer --tokenizer.kind=word --data.vocab_size=60 --output.path=words.json text.txt 2>/dev/null
expect 0 "done: 40 steps" "$skein" pretrain --task.kind=seq2seq --task.text=en --task.label=de --task.prefix="sees " --data.train=train.tsv \
  --tokenizer.path=words.json --model.architecture=transformer --model.d_model=32 --model.n_layers=4 --model.n_heads=2 --model.context=16 \
  --model.init_std=0.1 --train.global_batch=16 --lr.lr=1e-2 --lr.warmup=10 --train.steps=40 --run.tensorboard=false --run.dir=run

generate="$skein generate --checkpoint.path=run --generate.max_tokens=12"
expect 0 "2 prompts, 6 answers" $generate --beam.size=3 --beam.best=3 "the dog 1 sees 2 cats" "the dog 3 sees 4 cats"
! grep -q "the dog" output || die "a source stands before its answer"
printf '{"prompt": "the dog %d sees 2 cats"}\n' 1 2 3 4 5 >asked.jsonl
printf '{"prompt": "cats"}\n{"prompt": "the dog 1 sees 2 cats the dog 3"}\n' >>asked.jsonl
files="--generate.format=jsonl --generate.input=asked.jsonl"
for how in "" "--generate.batch=1" "--generate.batch=2 --parallel.chunks=2" "mpirun -np 2" "mpirun -np 2 --parallel.pipeline=2" \
  "mpirun -np 3 --parallel.pipeline=3 --generate.batch=3"; do
  read -r -a words <<<"$how"
  ranks=0
  [ "${words[0]:-}" != mpirun ] || ranks=3
  for kind in "--beam.size=4 --beam.best=2 --beam.no_repeat_ngram=2" "--sample.seed=3"; do
    expect 0 "7 prompts" "${words[@]:0:$ranks}" $generate "${words[@]:$ranks}" $kind $files --generate.output=made.jsonl
    name=${kind//[^a-z]/}
    [ -e "$name" ] || cp made.jsonl "$name"
    cmp made.jsonl "$name" || die "$how changes what $kind finds"
  done
done
[ "$(grep -c '"score":-' beamsizebeambestbeamnorepeatngram)" = 14 ] || die "not two answers with scores to each source"

expect 2 "prompt 2 is empty" $generate "cats" " "
expect 2 "more than the 16 places of the model's source" $generate "$(yes cats | head -n 20 | tr '\n' ' ')"
expect 2 "generate.chat is for models that continue text" $generate --generate.chat "cats"
expect 2 "is no token" $generate --generate.start="<none>" "cats"
expect 0 "1 prompts" $generate --generate.start="the" "cats"
echo "ok"
