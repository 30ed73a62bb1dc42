#!/usr/bin/env bash
# Other programs' models to checkpoints and back, what begins from them, and the exit codes of mistakes.
source "$(dirname "$0")/expect.sh"
convert="$bin/skein-convert"
golden="$SKEIN_TEST_SOURCE_DIR/tests/convert/golden"

expect 0 "SOURCE DESTINATION" "$convert" --help
tr -s '[:space:]' ' ' <output | sed -E 's/.*with a model_type of ([^)]*)\).*/\1/; s/, /\n/g' | sort >listed
sed -n 's/^ *"model_type": "\([a-z0-9_-]*\)".*/\1/p' "$golden"/*/config.json | sort -u | cmp - listed ||
  die "the help lists other models than there are: $(tr '\n' ' ' <listed)"
expect 2 "give SOURCE and DESTINATION" "$convert" "$golden/gpt2"
expect 2 "there is no nowhere" "$convert" nowhere out
expect 2 "convert in two steps" "$convert" --to=llmc "$golden/gpt2" out
expect 2 "bf16" "$convert" --dtype=f8 "$golden/gpt2" out
expect 0 "transformer.h.0.attn.c_attn.weight transposed = block.0.attention.q.weight, block.0.attention.k.weight" "$convert" --dry-run "$golden/gpt2"
expect 0 "relative_attention_bias.weight transposed = encoder_distances.weight" "$convert" --dry-run "$golden/t5"
[ ! -e out ] || die "a dry run or a mistake left something"

for model in gpt2 llama llama_biased gpt2_sequence bert bert_sequence bert_token roberta roberta_sequence; do
  expect 0 "is allowed" "$convert" --verify "$golden/$model" "run-$model"
  expect 0 "is good" "$bin/skein-inspect" verify "run-$model"
  expect 0 "parameters" "$convert" "run-$model" "back-$model"
  for file in "$golden/$model"/model*.safetensors "$golden/$model"/config.json; do
    cmp "$file" "back-$model/$(basename "$file")" || die "$model came back otherwise"
  done
done
expect 2 "holds a model already" "$convert" "$golden/gpt2" run-gpt2
expect 2 "exists already" "$convert" run-gpt2 back-gpt2

# Encoders of longer texts, and models of other pictures.
expect 0 "context of 64 tokens instead of 16, attention.kind=global: its learned positions are copied again and again" \
  "$convert" --to-context=64 --attention.window=32 run-roberta run-long
expect 0 "\"attention.window\": \"32\"" "$bin/skein-inspect" config run-long
expect 0 "parameters" "$convert" run-long back-long
grep -q '"LongformerForMaskedLM"' back-long/config.json || die "an encoder of long texts came back otherwise"
expect 0 "attention.kind=bigbird" "$convert" --to-context=64 --attention.kind=bigbird --attention.block=8 "$golden/bert" run-blocks
expect 2 "makes a checkpoint of Skein" "$convert" --to-context=64 --to=huggingface run-roberta refused
expect 2 "more than the 16 tokens" "$convert" --to-context=16 run-roberta refused
expect 2 "leave out --to-context" "$convert" --verify --to-context=64 "$golden/roberta" refused
expect 2 "attention.kind is for --to-context" "$convert" --attention.kind=window "$golden/roberta" refused
expect 0 "from a grid of 2 x 3 patches to one of 4 x 5" "$convert" --model.image_height=16 --model.image_width=20 "$golden/vit" run-vit-large
expect 2 "are for imports" "$convert" --model.image_height=8 run-vit-large refused
# An option that another way has a use for changes nothing here.
for option in --convert.tokenizer=bytes --convert.allow_missing=true --convert.allow_unexpected=true --convert.seed=3; do
  expect 2 "${option#--} is for imports, but what is asked for is an export to such a folder; leave it out" "$convert" $option run-gpt2 refused
  expect 2 "${option#--} is for imports, but what is asked for is an export to one file; leave it out" "$convert" --to=llmc $option run-gpt2 refused
  expect 2 "${option#--} is for imports, but what is asked for is a longer context" "$convert" --to-context=64 $option run-roberta refused
done
expect 2 "attention.kind=window is for --to-context" "$convert" --attention.kind=window run-roberta refused
expect 2 "convert.dry_run=true is for models of other programs" "$convert" --to-context=64 --dry-run run-roberta refused
for what in "$golden/gpt2" "--to=llmc run-gpt2" "--to-context=64 run-roberta"; do
  expect 2 "convert.file_bytes=10 is for exports to a folder of Hugging Face's" "$convert" --convert.file_bytes=10 $what refused
done
[ ! -e refused ] || die "a mistake left something"

# Values that are not finite are kept, and told.
cp -r "$golden/gpt2" broken
break_weights broken transformer.wte.weight
expect 0 "1 value in 1 tensor is not finite: embedding.tokens.weight (1)" "$convert" broken run-broken
expect 0 "1 value in 1 tensor is not finite: transformer.wte.weight (1)" "$convert" run-broken back-broken
cmp broken/model.safetensors back-broken/model.safetensors || die "a value that is not finite came back otherwise"
expect 0 "parameters" "$convert" "$golden/gpt2" run-whole
! grep -q "finite" output || die "finite weights are called otherwise"

# A folder of Hugging Face given as a checkpoint.
for command in "generate --checkpoint.path=$golden/gpt2 hello" "sft --data.train=x.jsonl --run.dir=refused --checkpoint.load=$golden/gpt2"; do
  expect 2 "a model of Hugging Face; make a checkpoint of it and give that: \`skein-convert $golden/gpt2 runs/gpt2\`" "$bin/skein" $command
done

expect 2 "import it again with a tokenizer that is read: \`skein-convert --tokenizer=FILE $golden/gpt2 FOLDER\`" \
  "$bin/skein" generate --checkpoint.path=run-gpt2 hello

# Numbers of another model.
cp -r "$golden/gpt2" other
sed -i 's/"layer_norm_epsilon": 1e-05/"layer_norm_epsilon": 0.5/' other/config.json
expect 1 "differ by at most" "$convert" --verify other run-other

# From here on it is a model like any other: text is measured and continued, and training goes on from it.
make_stores
"$bin/skein" pretrain $small --train.steps=3 --checkpoint.every=0 --run.dir=trained 2>/dev/null
expect 0 "parameters" "$convert" trained exported
grep -q '"<|endoftext|>"' exported/tokenizer.json || die "the tokenizer was not written"
expect 0 "parameters" "$convert" --tokenizer=tok.json exported imported
expect 1 "tensors differ" "$bin/skein-inspect" diff trained imported
! grep "param/" output || die "the weights came back otherwise"
"$bin/skein" eval --checkpoint.path=trained --data.validation=valid.h5 --eval.output=a.json 2>/dev/null
"$bin/skein" eval --checkpoint.path=imported --data.validation=valid.h5 --eval.output=b.json 2>/dev/null
[ "$(grep '"loss"' a.json)" = "$(grep '"loss"' b.json)" ] || die "the imported model judges text otherwise"
"$bin/skein" generate --checkpoint.path=trained --generate.max_tokens=8 "The quick" >a.txt 2>/dev/null
"$bin/skein" generate --checkpoint.path=imported --generate.max_tokens=8 "The quick" >b.txt 2>/dev/null
cmp a.txt b.txt || die "the imported model continues text otherwise"
# What its tokenizer puts before a text is fed to it until it is trained here: the first token is the same of all.
cp -r exported begun
python3 - <<'PY'
import json
tokenizer = json.load(open("begun/tokenizer.json"))
end = next(token["id"] for token in tokenizer["added_tokens"] if token["content"] == "<|endoftext|>")
text = {"Sequence": {"id": "A", "type_id": 0}}
tokenizer["post_processor"] = {
    "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, text], "pair": [text, text],
    "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [end], "tokens": ["<|endoftext|>"]}}}
json.dump(tokenizer, open("begun/tokenizer.json", "w"))
PY
echo '{{ messages }}' >begun/chat_template.jinja
expect 0 "its chat template, in Jinja, is kept for the way back and not read here" "$convert" begun run-begun
printf 'The quick\nbrown fox\n' >begun.txt
"$bin/skein" embed --checkpoint.path=run-begun --data.input=begun.txt --embed.pool=first 2>/dev/null | sed 's/.*embedding//' | uniq -c | grep -q "^ *2 " ||
  die "texts begin otherwise than the tokenizer asks"
# It is not guessed: the first token of a text is the one that counts more.
printf '{"text":"The quick"}\n{"text":"brown fox"}\n' >begun.jsonl
judged() {
  "$bin/skein" eval --checkpoint.path=$1 --data.text=begun.jsonl --eval.output=judged.json 2>/dev/null
  grep -o '"tokens": [0-9]*' judged.json | grep -o '[0-9]*'
}
[ "$(judged run-begun)" = $(($(judged imported) + 1)) ] || die "what texts begin with is guessed"
expect 0 "begins with the weights of" "$bin/skein" pretrain $small --train.steps=1 --checkpoint.load=imported --run.dir=further
expect 0 "parameters" "$convert" further further_out
expect 0 "parameters" "$convert" --to=llmc --dtype=bf16 trained model.bin
expect 0 "parameters" "$convert" --tokenizer=tok.json model.bin from_llmc
expect 0 "prompts" "$bin/skein" generate --checkpoint.path=from_llmc --generate.max_tokens=4 "The quick"

# For llama.cpp and Ollama.
expect 0 "F32      [32,32]        blk.0.attn_output.weight" "$convert" --to=gguf --dry-run trained
expect 0 "parameters" "$convert" --to=gguf trained model.gguf
[ "$(head -c 4 model.gguf)" = GGUF ] || die "model.gguf is no GGUF file"
grep -q "^FROM ./model.gguf$" model.Modelfile || die "the Modelfile is another"
expect 0 "parameters" "$convert" --to=gguf --dtype=q8_0 trained small.gguf
[ "$(stat -c %s small.gguf)" -lt "$(stat -c %s model.gguf)" ] || die "blocks of 8 bits are no smaller"
expect 2 "exists already" "$convert" --to=gguf trained model.gguf
expect 2 "give --to=gguf with it" "$convert" --dtype=q8_0 trained out
expect 2 "--tokenizer" "$convert" --to=gguf run-gpt2 out.gguf
expect 2 "decoders that are known as gpt2, gpt_neox, llama" "$convert" --to=gguf run-bert out.gguf

# A tokenizer with more ids than the model: given by name it is an error; the model's own is kept, and a text that needs one of the others refused.
expect 2 "the model knows 61; give the tokenizer that it was trained with" "$convert" --tokenizer=tok.json "$golden/gpt2" run-small
mkdir odd && cp "$golden/gpt2"/*.safetensors "$golden/gpt2/config.json" exported/tokenizer*.json odd
expect 0 "ids, but the model knows 61: texts that hold one of the others are refused" "$convert" odd run-odd
printf 'zzz\n' >odd.txt
expect 2 "but the model knows 61 ids" "$bin/skein" eval --checkpoint.path=run-odd --data.text=odd.txt
expect 2 "but the model knows 61 ids" "$bin/skein" embed --checkpoint.path=run-odd --data.input=odd.txt --embed.output=odd.npy

# The mean of a run's checkpoints is a model like any other.
"$bin/skein" pretrain $small --train.steps=6 --checkpoint.every=2 --checkpoint.keep=3 --run.dir=kept 2>/dev/null
expect 0 "the mean of 3 checkpoints" "$convert" --average kept/checkpoints/step-* averaged
expect 0 "is good" "$bin/skein-inspect" verify averaged
expect 0 "loss" "$bin/skein" eval --checkpoint.path=averaged --data.validation=valid.h5
expect 0 "" "$bin/skein" generate --checkpoint.path=averaged --generate.max_tokens=4 "The quick"
expect 0 "begins with the weights" "$bin/skein" pretrain $small --train.steps=1 --checkpoint.load=averaged \
  --checkpoint.weights_only --run.dir=onward
expect 2 "two checkpoints at least" "$convert" --average kept out
expect 2 "is named twice" "$convert" --average kept kept out
expect 2 "leave it out with --average" "$convert" --average --dtype=bf16 kept trained out
expect 2 "holds a model already" "$convert" --average kept trained averaged
"$bin/skein" pretrain $small --model.d_ff=48 --train.steps=1 --run.dir=wider 2>/dev/null
expect 2 "model.d_ff=" "$convert" --average kept wider out
[ ! -e out ] || die "a mean that was refused left something"

# A model that does not say which token its decoder is fed is asked for it by whoever feeds one.
cp -r "$golden/t5" silent
sed -i '/decoder_start_token_id/d' silent/*.json
printf 'ein Hund\ta dog\neine Katze\ta cat\n' >pairs.tsv
tr '\t' '\n' <pairs.tsv >words.txt
"$bin/skein-data" train-tokenizer --tokenizer.kind=word --data.min_frequency=1 --data.vocab_size=20 --output.path=words.json words.txt 2>/dev/null
expect 0 "parameters" "$convert" --tokenizer=words.json silent run-silent
silent="does not say which token its decoder is fed before an answer; name it in"
from="--checkpoint.path=run-silent" pairs="--task.text=1 --task.label=2"
expect 2 "$silent generate.start" "$bin/skein" generate $from Hund
expect 2 "$silent attend.start" "$bin/skein" attend $from Hund dog
expect 2 "$silent task.start" "$bin/skein" eval $from $pairs --data.test=pairs.tsv
tune="finetune --checkpoint.load=run-silent --task.kind=seq2seq $pairs --data.train=pairs.tsv --train.steps=1 --train.global_batch=2 --run.dir=tuned"
expect 2 "$silent task.start" "$bin/skein" $tune
expect 0 "done: 1 steps" "$bin/skein" $tune --task.start="<pad>"
expect 0 "task.start=<pad>" "$bin/skein" eval --checkpoint.path=tuned --data.test=pairs.tsv --score.metrics=

# How a model's authors decode it is told as options that can be given.
cp -r "$golden/t5" asked
printf '{"decoder_start_token_id": 0, "num_beams": 2, "length_penalty": 0.5, "max_length": 6, "no_repeat_ngram_size": 2, "bad_words_ids": [[5], [6]],
  "repetition_penalty": 1.2}' >asked/generation_config.json
expect 0 "asked/generation_config.json also asks for repetition_penalty=1.2, which skein generate does not do" "$convert" --tokenizer=words.json asked run-asked
options=$(sed -n 's/.*asks for: skein generate //p' output)
[ "$options" = "--beam.size=2 --beam.length_penalty=0.5 --generate.max_tokens=5 --beam.no_repeat_ngram=2 --sample.banned=5,6" ] || die "asked for '$options'"
expect 0 "prompts" "$bin/skein" generate --checkpoint.path=run-asked $options Hund

echo "ok"
