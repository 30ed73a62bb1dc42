#!/usr/bin/env bash
# An evaluation measures as the run did that trained the model, and refuses to call NaN a result.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

# Short documents, so that it matters how their ends are treated.
python3 - <<'PY'
import json, random
draw = random.Random(5)
words = "the a red green blue white quick lazy brown dog fox sea rose grass snow jumps runs sleeps over under".split()
for name, count in (("docs", 400), ("held", 60)):
    with open(name + ".jsonl", "w") as out:
        for i in range(count):
            text = " ".join(draw.choice(words) for _ in range(draw.randint(2, 9)))
            out.write(json.dumps({"text": "%d %s." % (i * 7 % 31, text)}) + "\n")
PY
stores() {
  "$bin/skein-data" train-tokenizer "$@" --data.vocab_size=300 --output.path=tok.json --output.replace docs.jsonl 2>/dev/null
  "$bin/skein-data" encode --tokenizer.path=tok.json --output.path=train.h5 --output.replace docs.jsonl 2>/dev/null
  "$bin/skein-data" encode --tokenizer.path=tok.json --output.path=valid.h5 --output.replace held.jsonl 2>/dev/null
}
pretrain() {
  expect 0 "done: 12 steps" "$skein" pretrain $small --lr.lr=3e-3 --data.validation=valid.h5 --validation.windows=0 \
    --data.cross_document_attention=false --train.steps=12 --train.global_batch=4 "$@"
}
# same RUN RESULT...: the last validation of the run says what each result does, to the last digit.
same() {
  python3 - "$@" <<'PY' || die "an evaluation is not that of the run"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1] + "/metrics.jsonl") if "validation_loss" in line]
for name in sys.argv[2:]:
    found = json.load(open(name))
    wanted = {key: value for key, value in lines[-1].items() if key.startswith("validation_")}
    assert wanted == {key: found[key.removeprefix("validation_")] for key in wanted}, (wanted, found)
PY
}

# A decoder.
stores
pretrain --run.dir=trained --data.mask_document_ends --validation.stride=16
judge="$skein eval --checkpoint.path=trained"
taken="was trained: data.cross_document_attention=false, data.mask_document_ends=true, eval.stride=16"
expect 0 "$taken" $judge --data.validation=valid.h5 --eval.output=store.json
expect 0 "$taken" $judge --data.text=held.jsonl --eval.output=text.json
same trained store.json text.json
expect 2 "data.tokenizer=gpt2 is for stores, data.validation, that do not name theirs; data.text=held.jsonl" $judge --data.text=held.jsonl --data.tokenizer=gpt2
# What is planted under a name that could be guessed is not written through, and nothing of the text stays.
echo precious >victim
mkdir temporary
planted='for name in skein-eval-$$-0.h5 skein-eval-$$-0.h5.partial-$$-0; do ln -s ../victim temporary/$name; done'
expect 0 "$taken" bash -c "$planted; TMPDIR=\$PWD/temporary exec \"\$@\"" planted $judge --data.text=held.jsonl
[ "$(cat victim)" = precious ] || die "a link of another user was followed"
[ -z "$(find temporary -type f)" ] && [ "$(find temporary -type l | wc -l)" = 2 ] || die "left in TMPDIR: $(ls -l temporary)"
expect 0 "data.mask_document_ends=false is given; trained/checkpoints/" $judge --data.validation=valid.h5 --data.mask_document_ends=false \
  --eval.output=ends.json
grep -qF "was trained with data.mask_document_ends=true" output || die "it is not said how the run was trained"
grep -qF "was trained: data.cross_document_attention=false, eval.stride=16" output || die "the rest is not taken over"
expect 0 "was trained" $judge --data.validation=valid.h5 --data.cross_document_attention --eval.output=across.json
expect 0 "was trained" $judge --data.validation=valid.h5 --eval.stride=0 --eval.output=windows.json
python3 - <<'PY' || die "options that are given do not count"
import json
taken, ends, across, windows = (json.load(open(name + ".json")) for name in ("store", "ends", "across", "windows"))
assert ends["tokens"] > taken["tokens"] and ends["loss"] > taken["loss"], (taken, ends)
assert len({each["loss"] for each in (taken, across, windows)}) == 3, (taken, across, windows)
PY

# What only evaluations on something else read is refused.
for option in chat.template=none task.text=one task.prefix=x beam.size=2 eval.texts=said.jsonl data.bad_records=3 data.layout=pairs; do
  expect 2 "is evaluated on text; leave it out" $judge --data.validation=valid.h5 --$option
done
expect 2 "graph.fold is for graphs, but the model reads texts" $judge --data.validation=valid.h5 --graph.fold=2

# Its weights in another program, one of them no number.
convert="$bin/skein-convert"
expect 0 "parameters" "$convert" trained exported
expect 0 "parameters" "$convert" exported whole
expect 0 "loss" "$skein" eval --checkpoint.path=whole --data.text=held.jsonl
! grep -q "was trained" output || die "an import knows nothing of its training"
break_weights exported transformer.h.0.mlp.c_fc.weight
expect 0 "1 value in 1 tensor is not finite: block.0.mlp.up.weight (1)" "$convert" exported broken
nan="1 value in 1 tensor is not finite: block.0.mlp.up.weight (1); take an earlier checkpoint"
expect 1 "$nan" "$skein" embed --checkpoint.path=broken --data.input=held.jsonl --embed.output=none.jsonl
[ ! -e none.jsonl ] || die "vectors that are none were written"
expect 1 "$nan" "$skein" eval --checkpoint.path=broken --data.text=held.jsonl --eval.output=none.json
grep -q "loss is NaN, perplexity is NaN" output || die "it is not said what is not finite"
echo '{"messages": [{"role": "user", "content": "red"}, {"role": "assistant", "content": "a rose"}]}' >chats.jsonl
expect 1 "$nan" "$skein" eval --checkpoint.path=broken --data.test=chats.jsonl --chat.template=plain --eval.output=none.json
for option in eval.windows=3 task.text=one beam.size=2 eval.texts=said.jsonl reward.long_prompts=drop; do
  expect 2 "is evaluated on conversations; leave it out" "$skein" eval --checkpoint.path=broken --data.test=chats.jsonl --$option
done
[ ! -e none.json ] || die "a result that is none was written"

# An encoder.
stores --tokenizer.kind=wordpiece
pretrain --run.dir=encoder --model.architecture=bert --model.norm_placement=post --model.activation=gelu_erf --model.embedding_norm \
  --model.token_types=2 --mlm.rate=0.3 --mlm.unit=word
judge="$skein eval --checkpoint.path=encoder"
expect 0 "was trained: data.cross_document_attention=false" $judge --data.validation=valid.h5 --eval.output=store.json
grep -q "tokens are hidden as in encoder/.*mlm.rate=0.3.*mlm.unit=word" output || die "it is not said what is hidden"
expect 0 "masked tokens" $judge --data.text=held.jsonl --eval.output=text.json
same encoder store.json text.json
expect 0 "data.cross_document_attention=true is given" $judge --data.validation=valid.h5 --data.cross_document_attention
expect 2 "data.mask_document_ends is for decoders" $judge --data.validation=valid.h5 --data.mask_document_ends
expect 0 "parameters" "$convert" encoder masked
break_weights masked bert.encoder.layer.0.intermediate.dense.weight
expect 0 "is not finite" "$convert" masked broken_encoder
expect 1 "loss is NaN" "$skein" eval --checkpoint.path=broken_encoder --data.text=held.jsonl
echo passed
