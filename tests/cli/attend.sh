#!/usr/bin/env bash
# What a model looks at: numbers and pictures of attention, of a decoder and of one that reads prompts both ways.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
make_stores

expect 0 "done: 4 steps" "$skein" pretrain $small --run.dir=plain --train.steps=4
expect 0 "done: 4 steps" "$skein" pretrain $small --run.dir=both --train.steps=4 --lm.prefix=0.5 --data.validation=valid.h5
expect 0 "block 1, self, head 3: of " "$skein" attend --checkpoint.path=plain --attend.output=out "the quick brown fox" "a lazy dog"
expect 0 "weights of 2 texts" "$skein" attend --checkpoint.path=plain --attend.output=two --attend.texts=2 "the quick brown fox" "a lazy dog"
expect 0 "weights of 1 texts" "$skein" attend --checkpoint.path=both --attend.output=whole "the quick brown fox"
python3 - <<'PY' || die "the weights do not hold together"
import json
for name, texts, causal in (("out", 1, True), ("two", 2, True), ("whole", 1, False)):
    made = json.load(open(name + "/attention.json"))
    assert made["step"] == 4 and len(made["texts"]) == texts and len(made["heads"]) == 8, made["heads"]
    text = made["texts"][0]
    assert "".join(text["tokens"]) == "the quick brown fox" and len(text["layers"]) == 2
    for layer in text["layers"]:
        assert layer["keys"] == "self" and len(layer["weights"]) == 4
        for head in layer["weights"]:
            for query, row in enumerate(head):
                assert abs(sum(row) - 1) < 1e-4 and len(row) == len(text["tokens"])
                assert all((weight > 0) == (not causal or key <= query) for key, weight in enumerate(row)), row
PY
for picture in out/text-1-block-0-self.svg out/text-1-block-1-self.svg two/text-2-block-1-self.svg; do
  python3 -c "import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])" $picture || die "$picture is no XML"
done
[ ! -e out/text-2-block-0-self.svg ] || die "more texts are drawn than were asked for"

# A file of texts says what its lines say as arguments.
printf 'the quick brown fox\na lazy dog\n' >texts.txt
expect 0 "weights of 2 texts" "$skein" attend --checkpoint.path=plain --attend.output=file --attend.texts=2 --attend.input=texts.txt
cmp file/attention.json two/attention.json || die "a file says something else than its lines"

expect 2 "there is neither" "$skein" attend --checkpoint.path=plain
expect 2 "there are both" "$skein" attend --checkpoint.path=plain --attend.input=texts.txt more
expect 2 "attend.texts=0 must be at least 1" "$skein" attend --checkpoint.path=plain --attend.texts=0 text
expect 2 "but the model sees at most 32 of one" "$skein" attend --checkpoint.path=plain "$(head -c 400 corpus.txt)"
expect 2 "attend.node is for graphs, but the model reads texts" "$skein" attend --checkpoint.path=plain --attend.node=3 text
for option in attend.start=zzz task.prefix=x task.label=2 data.bad_records=3; do
  expect 2 "is for models that map sources, but plain/" "$skein" attend --checkpoint.path=plain --$option text
done
expect 2 "the folder attend.output=corpus.txt/x cannot be made: Not a directory" "$skein" attend --checkpoint.path=plain --attend.output=corpus.txt/x text

# The model remembers how it reads prompts, and who would have it read otherwise is told.
expect 0 "perplexity" "$skein" eval --checkpoint.path=both --data.validation=valid.h5 --eval.output=both.json
python3 - <<'PY' || die "an evaluation is not that of the run"
import json
lines = [json.loads(line) for line in open("both/metrics.jsonl") if "validation_loss" in line]
assert lines[-1]["validation_loss"] == json.load(open("both.json"))["loss"]
PY
expect 0 "" "$skein" generate --checkpoint.path=both --generate.max_tokens=4 "the quick"
echo '{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}' >chats.jsonl
expect 2 "was trained with lm.prefix and reads prompts in both directions; skein sft" "$skein" sft --checkpoint.load=both \
  --data.train=chats.jsonl --run.dir=tuned
expect 2 "holds another model" "$skein" pretrain $small --run.dir=both --train.steps=8
echo passed
