#!/usr/bin/env bash
# From a small pretrained decoder over instruction tuning to answers, by several templates, and what bad input is told.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
mpi2="mpirun -np 2"

# Every colour has its thing; the user names a colour.
python3 - <<'PY'
import json, random
draw = random.Random(3)
things = {"red": "a rose", "blue": "the sea", "green": "grass", "white": "snow"}
with open("corpus.txt", "w") as out:
    for _ in range(400):
        colour = draw.choice(list(things))
        out.write("%s is %s.\n\n" % (things[colour], colour))
with open("chats.jsonl", "w") as chats, open("pairs.jsonl", "w") as pairs, open("tasks.jsonl", "w") as tasks, open("asked.jsonl", "w") as asked:
    for i in range(96):
        turns = [draw.choice(list(things)) for _ in range(1 + i % 3)]
        messages = []
        for colour in turns:
            messages += [{"role": "user", "content": colour}, {"role": "assistant", "content": things[colour]}]
        chats.write(json.dumps({"messages": messages}) + "\n")
        pairs.write(json.dumps({"prompt": turns[0], "completion": " " + things[turns[0]], "id": i}) + "\n")
        tasks.write(json.dumps({"instruction": turns[0], "input": "", "output": things[turns[0]]}) + "\n")
    for colours in (["red", "blue"], ["green"]):
        messages = []
        for colour in colours:
            messages += [{"role": "user", "content": colour}, {"role": "assistant", "content": things[colour]}]
        asked.write(json.dumps({"messages": messages[:-1]}) + "\n")
PY
gzip -k chats.jsonl
"$bin/skein-data" train-tokenizer --data.vocab_size=300 --tokenizer.special='<|endoftext|>,<|im_start|>,<|im_end|>' --output.path=tok.json corpus.txt 2>/dev/null
"$bin/skein-data" encode --tokenizer.path=tok.json --output.path=store.h5 corpus.txt 2>/dev/null
shape="--model.context=64 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --train.global_batch=8 --lr.lr=3e-3 --model.init_std=0.1"
expect 0 "done: 20 steps" "$skein" pretrain $shape --data.train=store.h5 --train.steps=20 --run.dir=base
tune="$skein sft --checkpoint.load=base --lr.lr=1e-2 --train.global_batch=4 --data.validation=chats.jsonl"

# Packed and by several templates; the same at two layouts.
expect 0 'by the template "plain"' $tune --data.train=chats.jsonl.gz --run.dir=plain --sft.epochs=12
grep -q "100.0% of .* answer tokens right" output || { cat output; die "answers are not learnt"; }
expect 0 "done" $mpi2 $tune --data.train=chats.jsonl --run.dir=plain2 --sft.epochs=12 --parallel.pipeline=2
expect 0 'by the template "chatml"' $mpi2 $tune --data.train=chats.jsonl --run.dir=chatml --sft.epochs=12 --chat.template=chatml --validation.patience=3
expect 0 'by the template "none"' "$skein" sft --checkpoint.load=base --run.dir=none --data.train=pairs.jsonl --chat.template=none --sft.pack=false --train.steps=3
expect 0 "done: 2 steps" "$skein" sft --checkpoint.load=base --run.dir=tasks --data.train=tasks.jsonl,pairs.jsonl --train.steps=2 --sft.length=40
grep -q "^steps = 2 " tasks/config.ini || die "config.ini does not tell the steps"
grep -q "^d_model = 32 .*base" tasks/config.ini || die "config.ini does not say where the model comes from"

# It goes on with its own checkpoint and template.
expect 0 "is done already" "$skein" sft --run.dir=plain --data.train=chats.jsonl.gz --data.validation=chats.jsonl --sft.epochs=12 --lr.lr=1e-2 --train.global_batch=4
expect 0 'by the template "chatml"' "$skein" sft --checkpoint.load=chatml --run.dir=more --data.train=chats.jsonl --train.steps=1

# Answers: they end by themselves, and do not depend on the layout.
answer="$skein generate --generate.chat --sample.temperature=0 --generate.max_tokens=12"
expect 0 "the sea" $answer --checkpoint.path=plain blue
expect 0 "the sea" $mpi2 $answer --checkpoint.path=plain2 --parallel.pipeline=2 blue
expect 0 "takes the best weights of the run" $answer --checkpoint.path=chatml blue red
$answer --checkpoint.path=chatml blue red 2>/dev/null >answers.txt
printf 'the sea\n---\na rose\n---\n' | cmp - answers.txt || { cat answers.txt; die "answers by ChatML are not right"; }
$answer --checkpoint.path=plain --generate.input=asked.jsonl --generate.format=jsonl --generate.output=answers.jsonl 2>/dev/null
$mpi2 $answer --checkpoint.path=plain2 --generate.input=asked.jsonl --generate.format=jsonl --generate.output=answers2.jsonl 2>/dev/null
cmp answers.jsonl answers2.jsonl
python3 - <<'PY' || die "answers to whole conversations are not right"
import json
found = [json.loads(line) for line in open("answers.jsonl")]
assert [row["completion"] for row in found] == ["the sea", "grass"], found
assert [turn["content"] for turn in found[0]["messages"]] == ["red", "a rose", "blue"] and found[1]["prompt"] == "green"
PY

# A conversation: a line a turn, what was said before counts, and a stop text cuts.
talk="$skein chat --sample.temperature=0 --generate.max_tokens=12 --checkpoint.path=plain"
printf 'blue\n\n/new\n/huh\nred\ngreen\n/exit\nwhite\n' | $talk 2>talk.log >talk.txt
printf 'the sea\na rose\ngrass\n' | cmp - talk.txt || { cat talk.txt talk.log; die "the conversation is not right"; }
grep -qF "/huh is no command here" talk.log || die "a wrong command is not named"
printf 'blue\n' | $mpi2 $talk --parallel.pipeline=2 2>/dev/null | cmp - <(echo "the sea") || die "two ranks talk otherwise"
spaced="--sample.temperature=0 --generate.max_tokens=12 --checkpoint.path=none"
printf ' blue \n' | $skein chat $spaced 2>/dev/null >spaced.txt
$skein generate --generate.chat $spaced ' blue ' 2>/dev/null | grep -v '^---$' | cmp - spaced.txt || die "a turn of conversation loses its spaces"
printf 'blue\n' | $talk --generate.stop='\x20s' 2>/dev/null | cmp - <(echo "the") || die "a stop text does not end an answer"
printf 'red %.0s' {1..100} | $talk 2>talk.log >talk.txt || die "a turn that is too long ends the conversation"
grep -qF "are more than the 52 that the model's context has beside an answer" talk.log || { cat talk.log; die "a turn that is too long is not told"; }
printf 'red\n%.0s' {1..9} | $talk 2>talk.log >talk.txt
grep -qF "turns are forgotten: the context is full" talk.log && [ "$(sort -u talk.txt)" = "a rose" ] || { cat talk.log talk.txt; die "a full context"; }
# Typed at a terminal, and ended by its end of file.
{ printf 'blue\n'; sleep 2; printf '\004'; } | TERM=xterm script -qec "$talk" /dev/null >typed.txt || die "a terminal ends the conversation: $(cat -v typed.txt)"
tr -d '\r' <typed.txt | grep -qx "> the sea" || die "no answer at a terminal: $(cat -v typed.txt)"
# Where nobody says how long an answer may be, it has half of a short context.
talk=${talk/ --generate.max_tokens=12/}
printf 'blue\n' | $talk 2>/dev/null | cmp - <(echo "the sea") || die "no answer without generate.max_tokens"
printf 'red %.0s' {1..100} | $talk 2>talk.log >talk.txt || die "a turn that is too long ends the conversation"
grep -qF "are more than the 32 that the model's context has beside an answer" talk.log || { cat talk.log; die "an answer has not half of the context"; }
expect 2 "generate.max_tokens=64 leaves no room in the model's context of 64" $talk --generate.max_tokens=64
expect 2 "knows no chat template" "$skein" chat --checkpoint.path=base

# What a run writes of its options is one file of a project: other commands leave what is not theirs alone.
expect 0 "plain/config.ini: left alone, for other commands than \`skein generate\`: " $answer --checkpoint.path=plain --config plain/config.ini blue
grep -q "the sea" output || { cat output >&2; die "the options of the run change the answer"; }

# Stop texts and log-probabilities of answers.
expect 0 "" $answer --checkpoint.path=plain --generate.format=jsonl --generate.logprobs --generate.stop='e\x20,xyz' --generate.output=logprobs.jsonl blue green
python3 - <<'PY' || die "log-probabilities or stop texts are not right"
import json
blue, green = [json.loads(line) for line in open("logprobs.jsonl")]
assert blue["completion"] == "th" and blue["finish"] == "stop", blue
assert green["completion"] == "grass" and green["finish"] == "end", green
for row in (blue, green):
    assert len(row["logprobs"]) == len(row["tokens"]) and all(-0.7 < x <= 0 for x in row["logprobs"]), row
PY
expect 2 "generate.stop holds ' x', with a space at an end; write \\x20 where the text has it" $answer --checkpoint.path=plain --generate.stop='e, x' blue
printf 'blue\n\nred\n' >asked.txt
expect 0 "generate.input=asked.txt: 1 of 3 lines are empty, and get no answer" $answer --checkpoint.path=plain --generate.input=asked.txt
expect 2 "generate.stop holds 'a\\q'" $answer --checkpoint.path=plain --generate.stop='a\q' blue
expect 2 "generate.logprobs writes numbers" $answer --checkpoint.path=plain --generate.logprobs blue
expect 2 "generate.logprobs is for tokens that are drawn" "$skein" generate --checkpoint.path=plain --generate.format=jsonl --generate.logprobs --beam.size=2 blue
expect 2 "generate.stop is for answers that are drawn" "$skein" generate --checkpoint.path=plain --generate.stop=x --beam.size=2 blue

# Instructions under Alpaca's headings: the checkpoint knows, so prompts get them by themselves.
expect 0 "done: 20 steps" "$skein" pretrain $shape --model.context=192 --data.train=store.h5 --train.steps=20 --run.dir=wide
expect 0 "done" $tune --checkpoint.load=wide --data.train=tasks.jsonl --data.validation=tasks.jsonl --run.dir=alpaca --chat.template=none --sft.epochs=3 --sft.pack=false
drawn="$answer --sample.temperature=9 --checkpoint.path=alpaca"
asked=$'Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n### Instruction:\nblue\n\n### Response:'
$drawn --chat.instructions=turn "$asked" 2>/dev/null >wanted.txt
$drawn --chat.instructions=turn blue 2>/dev/null >bare.txt
! cmp -s wanted.txt bare.txt || die "the headings make no difference"
$drawn blue 2>/dev/null | cmp - wanted.txt || die "a prompt has got no headings"
$drawn "$asked" 2>/dev/null | cmp - wanted.txt || die "a prompt has got headings twice"
completions() { python3 -c 'import json, sys; print([json.loads(line)["completion"] for line in open(sys.argv[1])])' "$1"; }
echo '{"instruction": "blue", "input": ""}' >record.jsonl
echo '{"question": "blue"}' >question.jsonl
$drawn --generate.format=jsonl --generate.input=record.jsonl 2>/dev/null >record.out
$drawn --generate.format=jsonl --generate.input=question.jsonl --chat.prompt=question 2>/dev/null >question.out
$drawn --generate.format=jsonl --generate.output=wanted.out blue 2>/dev/null
for name in record question; do
  [ "$(completions $name.out)" = "$(completions wanted.out)" ] || die "a record has got no headings"
done

echo '{"messages": [{"role": "user", "content": "x"}]}' >open.jsonl
# Evaluation: what the run itself found, whatever the layout and the number of rows at once.
judge="$skein eval --data.test=chats.jsonl"
expect 0 'by the template "plain"' $judge --checkpoint.path=plain --eval.output=eval.json
expect 0 "100.0% of" $mpi2 $judge --checkpoint.path=plain --parallel.pipeline=2 --eval.batch=1 --eval.output=eval2.json
cmp eval.json eval2.json || die "an evaluation depends on its layout"
expect 0 'by the template "chatml"' $judge --checkpoint.path=base --chat.template=chatml --eval.output=base.json
python3 - <<'PY' || die "evaluations of answers are not right"
import json
tuned, base = json.load(open("eval.json")), json.load(open("base.json"))
last = [json.loads(line) for line in open("plain/metrics.jsonl") if "validation_loss" in line][-1]
assert tuned["loss"] == last["validation_loss"] and tuned["token_accuracy"] == 1 and tuned["conversations"] == 96, (tuned, last)
assert base["loss"] > 10 * tuned["loss"] and base["tokens"] > 0, base
PY
expect 2 "open.jsonl:1: the conversation has no answer" $judge,open.jsonl --checkpoint.path=plain
# Rows are those of the training, unless others are asked for.
expect 0 "done: 3 steps" $tune --data.train=chats.jsonl --run.dir=short --sft.length=40 --sft.longer=cut --train.steps=3
expect 0 "was trained: sft.length=40, sft.longer=cut, sft.pack=true" $judge --checkpoint.path=short --eval.output=short.json
expect 0 "sft.length=64 is given; short/" $judge --checkpoint.path=short --sft.length=64 --eval.output=long.json
echo '{"prompt": "", "completion": ""}' >blank.jsonl
expect 2 'the 1 conversations of data.train are empty: by the chat template "none" no token stands before' $tune --run.dir=bad --data.train=blank.jsonl --chat.template=none
expect 2 "sft.length=65 must be from 1 to model.context=64" $judge --checkpoint.path=short --sft.length=65
python3 - <<'PY' || die "an evaluation is not of the rows of its training"
import json
short, long = json.load(open("short.json")), json.load(open("long.json"))
last = [json.loads(line) for line in open("short/metrics.jsonl") if "validation_loss" in line][-1]
assert short["loss"] == last["validation_loss"], (short, last)
assert long["tokens"] > short["tokens"] and long["loss"] != short["loss"], (short, long)
PY

# What is told of bad input.
expect 2 "checkpoint.load names no pretrained model" "$skein" sft --data.train=chats.jsonl --run.dir=bad
expect 2 "data.train names no file of conversations" "$skein" sft --checkpoint.load=base --run.dir=bad
expect 2 "llama3" $tune --run.dir=bad --data.train=chats.jsonl --chat.template=llama
expect 2 "needs the special token <|begin_of_text|>" $mpi2 $tune --run.dir=bad --data.train=chats.jsonl --chat.template=llama3
expect 2 "corpus.txt:1" $tune --run.dir=bad --data.train=corpus.txt
expect 2 "open.jsonl:1: the conversation has no answer" $tune --run.dir=bad --data.train=open.jsonl
expect 2 "sft.length=65 must be from 1 to model.context=64" $tune --run.dir=bad --data.train=chats.jsonl --sft.length=65
expect 2 'but chat.template is "chatml"' "$skein" sft --run.dir=plain --data.train=chats.jsonl --chat.template=chatml --train.steps=1000
expect 2 "parallel.cuda_graph records pretraining only" $tune --run.dir=bad --data.train=chats.jsonl --parallel.cuda_graph=true
expect 2 "model.d_model=64 was given, but the model of base" $tune --run.dir=bad --data.train=chats.jsonl --model.d_model=64
[ ! -e bad ] || die "a refused run has left a folder"
expect 2 "base/checkpoints" $answer --checkpoint.path=base blue
grep -q "knows no chat template" output || die "it is not said that the model knows no template"
expect 2 "give generate.chat too" "$skein" generate --checkpoint.path=plain --generate.system=x blue
expect 2 "chat.instructions is for conversations; give generate.chat too" "$skein" generate --checkpoint.path=plain --chat.instructions=alpaca blue
printf '[chat]\nprompt = x\n' >of_a_run.ini
expect 0 "prompts" "$skein" generate --config of_a_run.ini --checkpoint.path=plain blue
expect 2 "chat.prompt is for records of conversations; give generate.chat, generate.format=jsonl and generate.input too" \
  "$skein" generate --checkpoint.path=plain --generate.chat --chat.prompt=x blue
expect 2 "has no place for a turn of the system" $answer --checkpoint.path=base --generate.template=none --generate.system=x blue
echo passed
