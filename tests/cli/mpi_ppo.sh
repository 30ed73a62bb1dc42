#!/usr/bin/env bash
# Tuning by rewards from the command line: rules, programs and models score, kills lose nothing, and the proof proves.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"
mpi2="mpirun -np 2"

python3 - <<'PY'
import json, random
draw = random.Random(5)
with open("corpus.txt", "w") as out:
    for _ in range(600):
        out.write("say " + " ".join(draw.choice(["red", "green", "blue"]) for _ in range(draw.randint(1, 3))) + "\n\n")
with open("prompts.jsonl", "w") as out:
    for i in range(24):
        out.write(json.dumps({"prompt": "say" + " red" * (i % 3), "answer": "blue"}) + "\n")
with open("pairs.jsonl", "w") as out:
    for i in range(48):
        out.write(json.dumps({"prompt": "say", "chosen": " blue" * (1 + i % 2), "rejected": " red" * (1 + i % 3)}) + "\n")
PY
"$bin/skein-data" encode --tokenizer.path=bytes --data.blank_lines=1 --output.path=store.h5 corpus.txt 2>/dev/null
expect 0 "done: 60 steps" "$skein" pretrain --model.context=48 --model.d_model=32 --model.n_layers=2 --model.n_heads=4 --data.train=store.h5 \
  --train.global_batch=8 --train.steps=60 --lr.lr=5e-3 --run.dir=policy
ppo="$skein ppo --checkpoint.load=policy --data.prompts=prompts.jsonl --chat.template=none --ppo.iterations=4 --ppo.rollout_batch=16 --train.global_batch=8
  --train.micro_batch=2 --generate.max_tokens=12 --lr.lr=1e-3 --ppo.epochs=2 --parallel.reduction_groups=4 --checkpoint.every=2 --checkpoint.keep=5"

# Rules and a program, logged by source; a JSON line an iteration.
cat >length.py <<'PY'
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "score": min(len(asked["response"]), 10) / 10}), flush=True)
PY
sources='regex:blue; 0.5*process:python3 length.py'
expect 0 "iteration 4/4" $ppo --run.dir=rules "--reward.sources=$sources" --ppo.save_rollouts=true
grep -q "=> " output || die "no answer is shown"
python3 - <<'PY' || die "metrics.jsonl misses what an iteration says"
import json
lines = [json.loads(line) for line in open("rules/metrics.jsonl")]
assert [line["step"] for line in lines] == [1, 2, 3, 4]
wanted = {"score_regex", "score_process", "kl", "kl_beta", "entropy", "policy_loss", "critic_value_loss", "approx_kl", "ratio", "seconds",
          "generation_share", "scoring_share", "training_share", "generated_tokens_per_second", "answer_tokens", "ended"}
assert all(line["peak_memory_bytes"] > line["peak_tensor_bytes"] > 0 for line in lines), lines[0]
assert wanted <= set(lines[0]), wanted - set(lines[0])
# The mean over the four updates of an iteration.
assert all(abs(line["lr"] - 1e-3 * (1 - (4 * i + 2.5) / 16)) < 1e-12 for i, line in enumerate(lines)), [line["lr"] for line in lines]
assert lines[0]["ratio_off"] < 1 and abs(lines[0]["score"] - lines[0]["score_regex"] - 0.5 * lines[0]["score_process"]) < 1e-6
PY
python3 - <<'PY' || die "rollouts.jsonl is not all answers with their scores"
import json
rows = [json.loads(line) for line in open("rules/rollouts.jsonl")]
assert [row["number"] for row in rows] == list(range(4 * 16)) and [row["step"] for row in rows] == [1 + i // 16 for i in range(4 * 16)]
metrics = [json.loads(line) for line in open("rules/metrics.jsonl")]
for step, line in enumerate(metrics):
    mine = rows[16 * step:16 * step + 16]
    for key in ("score", "kl", "reward"):
        assert abs(sum(row[key] for row in mine) / 16 - line[key]) < 1e-9, key
    assert abs(sum(row["scores"]["process"] for row in mine) / 16 - line["score_process"]) < 1e-9
assert all(row["prompt"].startswith("say") and row["scores"]["regex"] == ("blue" in row["answer"]) for row in rows)
PY
# The same bits over two ranks and after a kill.
# A checkpoint that cannot be written: said, survived, and given up after the third; what was there stays. A profile is of iterations.
cp -r rules full
limited() { (trap '' XFSZ && ulimit -f 100 && "$@"); }
export -f limited
expect 1 "the run goes on, the next attempt is 1 iterations away" bash -c \
  "limited $(echo $ppo) --run.dir=full '--reward.sources=$sources' --ppo.iterations=9 --checkpoint.every=1 --run.tensorboard=false"
[ "$(grep -c 'the run goes on' output)" = 2 ] || die "not two warnings before it gave up"
expect 0 "profile of 2 iterations" $ppo --run.dir=full "--reward.sources=$sources" --ppo.iterations=9 --run.profile=2
grep -q '"sample answers"' full/profile.json || die "no phase is in the profile"
expect 0 "data 2" $mpi2 $ppo --run.dir=ranks "--reward.sources=$sources" --ppo.save_rollouts=true
same_metrics rules ranks
cmp rules/rollouts.jsonl ranks/rollouts.jsonl || die "two ranks write other answers than one"
expect 0 "pipeline 2" $mpi2 $ppo --run.dir=stages --parallel.pipeline=2 "--reward.sources=$sources"
same_metrics rules stages
# In half precision losses are scaled; the line says what share of a peak the models reach.
expect 0 "% of peak)  ETA" $mpi2 $ppo --run.dir=half "--reward.sources=$sources" --train.precision=f16 --run.peak_flops=1e12 --checkpoint.weights_only=true
python3 - <<'PY' || die "metrics.jsonl misses the loss scale or the speed"
import json
for line in map(json.loads, open("half/metrics.jsonl")):
    assert line["loss_scale"] >= 1 and line["model_flops_per_second"] > 0, line
    assert abs(line["share_of_peak"] * 1e12 / line["model_flops_per_second"] - 1) < 1e-12, line
PY
# Texts beside the answers, and the mean of the policies on the way, which continues prompts like any.
expect 0 "beside/ema/step-00000004" $ppo --run.dir=beside "--reward.sources=$sources" --ptx.data=store.h5 --ptx.batch=4 --ppo.ema=0.9
expect 0 "data 2" $mpi2 $ppo --run.dir=beside-ranks "--reward.sources=$sources" --ptx.data=store.h5 --ptx.batch=4 --ppo.ema=0.9 --parallel.zero=true
same_metrics beside beside-ranks
grep -q ptx_loss beside/metrics.jsonl || die "metrics.jsonl misses the loss of texts"
expect 0 "from beside/ema/step-00000004" "$skein" generate --checkpoint.path=beside/ema --generate.max_tokens=4 say
cp -r rules killed
rm -r killed/checkpoints/step-00000004*
expect 0 "goes on from" $ppo --run.dir=killed "--reward.sources=$sources" --ppo.save_rollouts=true
same_metrics rules killed
cmp rules/rollouts.jsonl killed/rollouts.jsonl || die "a killed run lost answers, or has them twice"
# What else scores than before is told.
cp -r killed rescored
rm -r rescored/checkpoints/step-00000004*
expect 0 "reward.sources: $sources -> ended" $ppo --run.dir=rescored --reward.sources=ended --sample.ban_special=false --chat.kind=prompt
grep -q "sample.ban_special: true -> false" output && grep -q "chat.kind: auto -> prompt" output || die "other samples or prompts are not told"
expect 0 "is done already" $ppo --run.dir=killed "--reward.sources=$sources"
expect 0 "prompts, " "$skein" generate --checkpoint.path=rules --generate.max_tokens=4 "say"

# Prompts that are held out: the same answers at every evaluation and layout, and the best weights are kept and taken.
head -8 prompts.jsonl >held.jsonl
held="--data.validation_prompts=held.jsonl --validation.every=1 --reward.sources=regex:blue"
expect 0 "best at iteration" $ppo --run.dir=held $held
expect 0 "best at iteration" $mpi2 $ppo --run.dir=held-ranks $held --generate.batch=3
same_metrics held held-ranks
cp -r held held-killed
rm -r held-killed/checkpoints/step-00000004*
expect 0 "best at iteration" $ppo --run.dir=held-killed $held
same_metrics held held-killed
best=$(python3 - <<'PY'
import json, os
lines = [json.loads(line) for line in open("held/metrics.jsonl")]
found = [(line["step"], line["validation_reward"]) for line in lines if "validation_reward" in line]
assert [step for step, _ in found] == [1, 2, 3, 4], found
wanted = {"validation_score", "validation_kl", "validation_answer_tokens", "validation_ended"}
assert all(wanted <= set(line) for line in lines if "validation_reward" in line)
best = max(found, key=lambda one: one[1])[0]
for run in ("held", "held-ranks", "held-killed"):
    kept = [name[:13] for name in os.listdir(run + "/best") if name.startswith("step-")]
    assert kept == ["step-%08d" % best], (run, best, kept)
print(best)
PY
) || die "the evaluations or the best weights are not what they should be"
expect 0 "takes the best weights of the run, of step $best:" "$skein" generate --checkpoint.path=held --generate.max_tokens=4 say
# Nothing better comes where all scores are 0: patience ends the run.
expect 0 "best at iteration 1:" $ppo --run.dir=patient $held --reward.sources=0*ended --kl.beta=0 --validation.patience=1
[ "$(tail -1 patient/metrics.jsonl | cut -c1-9)" = '{"step":2' ] || die "patience did not end the run at its second evaluation"
expect 0 "raise validation.patience" $ppo --run.dir=patient $held --reward.sources=0*ended --kl.beta=0 --validation.patience=1
expect 2 "validation.patience=2 needs prompts to evaluate on" $ppo --run.dir=bad --reward.sources=ended --validation.patience=2

# A reward model, from which the critic begins too.
expect 0 "accuracy" "$skein" reward --checkpoint.load=policy --data.train=pairs.jsonl --data.validation=pairs.jsonl --run.log_every=1 --chat.template=none --train.global_batch=8 --train.micro_batch=2 \
  --lr.lr=3e-3 --reward.epochs=4 --run.dir=reward
expect 0 "the critic begins with the weights of" $mpi2 $ppo --run.dir=modelled --reward.sources=model:reward --critic.load=reward
expect 0 "accuracy" "$skein" reward --checkpoint.load=policy --data.train=pairs.jsonl --data.validation=pairs.jsonl --chat.template=none --train.global_batch=8 --train.micro_batch=2 \
  --train.steps=2 --reward.length=13 --run.dir=short
expect 2 "give generate.max_tokens=11 at most, not 12" $ppo --run.dir=bad --reward.sources=model:short
expect 2 "give generate.max_tokens=11 at most, not 20" "$skein" generate --checkpoint.path=policy --reward.sources=model:short --generate.max_tokens=20 say
expect 0 "iteration 4/4" $ppo --run.dir=group --ppo.algorithm=rloo --reward.sources=exact:field=answer
grep -q flat_groups group/metrics.jsonl || die "flat groups are not told"

expect 2 "lr.factor=2 is for lr.decay=noam" $ppo --run.dir=bad --reward.sources=ended --lr.factor=2
expect 2 "critic.clip=0.1 was given, but rloo has no critic" $ppo --run.dir=bad --ppo.algorithm=rloo --reward.sources=ended --critic.clip=0.1
expect 2 "ppo.whiten=false was given, but grpo has no critic" $ppo --run.dir=bad --ppo.algorithm=grpo --ppo.answers=4 --reward.sources=ended --ppo.whiten=false
expect 0 "done already" "$skein" ppo --config group/config.ini
# What another choice alone would read.
expect 2 "kl.target=3 was given, but kl.control=fixed keeps kl.beta" $ppo --run.dir=bad --reward.sources=ended --kl.target=3
expect 2 "kl.horizon=500 was given, but kl.control=fixed keeps kl.beta" $ppo --run.dir=bad --reward.sources=ended --kl.horizon=500
expect 2 "reward.missing_end_value=2 was given, but reward.missing_end=mask charges nothing" $ppo --run.dir=bad --reward.sources=ended \
  --reward.missing_end=mask --reward.missing_end_value=2
expect 2 "ptx.coefficient=27.8 was given, but ptx.data names no texts" $ppo --run.dir=bad --reward.sources=ended --ptx.coefficient=27.8
expect 2 "ppo.kl_loss_estimator=k3 was given, but there is no KL as a loss" $ppo --run.dir=bad --reward.sources=ended --ppo.kl_loss_estimator=k3
expect 2 "ppo.kl_loss_estimator=k3 was given, but there is no KL as a loss" $ppo --run.dir=bad --reward.sources=ended --ppo.kl_loss_estimator=k3 \
  --ppo.algorithm=grpo --ppo.kl_loss=0
expect 0 "model     gpt" $ppo --run.dir=bad --run.dry_run --ppo.algorithm=grpo --reward.sources=ended --ppo.kl_loss_estimator=k3
expect 2 "critic.lr=0.5 was given, but critic.kind=shared is a head" $ppo --run.dir=bad --reward.sources=ended --critic.kind=shared --critic.lr=0.5
expect 2 "reward.kl_estimator=k3 was given, but ppo.algorithm=grpo has the KL as a loss" $ppo --run.dir=bad --reward.sources=ended --ppo.algorithm=grpo \
  --reward.kl_estimator=k3

# Best of N: the best answer is kept, or all with their scores as data to tune on; the same bits whatever is decoded together.
draw="$skein generate --checkpoint.path=policy --generate.max_tokens=10 --sample.seed=7"
score="--reward.sources=regex:blue; 0.5*process:python3 length.py"
printf '%s\n' '{"prompt": "say", "answer": "blue"}' '{"prompt": "say red", "answer": "green"}' >asked.jsonl
json="$draw --generate.format=jsonl --generate.input=asked.jsonl"
expect 0 "2 prompts, 8 answers" $json --generate.answers=4 --generate.output=plain.jsonl
expect 0 "of the best to each prompt" $json --generate.answers=4 "$score" --generate.output=best.jsonl
expect 0 "2 prompts, 8 answers" $json --generate.answers=4 "$score" --generate.keep=all --generate.output=all.jsonl
expect 0 "2 prompts, 8 answers" $mpi2 $json --generate.answers=4 "$score" --generate.keep=all --generate.batch=3 --generate.output=all2.jsonl
cmp all.jsonl all2.jsonl || die "answers depend on what is decoded together"
expect 0 "2 prompts, 32 answers" $json --generate.answers=16 "$score" --generate.keep=ranked --generate.output=ranked.jsonl
expect 0 "2 prompts, " $json --generate.output=one.jsonl
expect 0 "2 prompts, 8 answers" $json --generate.answers=4 --reward.sources=exact:field=answer --generate.keep=all --generate.output=exact.jsonl
python3 - <<'PY' || die "the answers to a prompt are not what they should be"
import json
def rows(path): return [json.loads(line) for line in open(path)]
plain, best, whole, ranked, one = map(rows, ("plain.jsonl", "best.jsonl", "all.jsonl", "ranked.jsonl", "one.jsonl"))
assert len(plain) == len(whole) == 8 and len(best) == len(one) == 2
assert [row["tokens"] for row in plain] == [row["tokens"] for row in whole] and "score" not in plain[0]
assert len({tuple(row["tokens"]) for row in plain[:4]}) > 1, "all answers are the same"
assert [row["tokens"] for row in one] == [plain[0]["tokens"], plain[4]["tokens"]], "one answer is not the first of four"
for row in whole:
    assert row["score"] == row["scores"]["regex"] + 0.5 * row["scores"]["process"] and row["scores"]["regex"] == ("blue" in row["completion"])
for number, row in enumerate(best):
    mine = whole[4 * number:4 * number + 4]
    assert row == max(mine, key=lambda other: other["score"]) and row["prompt"] == ("say", "say red")[number]
for row in ranked:
    assert row["scores"] == sorted(row["scores"], reverse=True) and row["ranks"][0] == 1 and len(set(row["answers"])) == len(row["answers"]) > 1
assert ranked[0]["scores"][0] >= best[0]["score"], "four of sixteen are better than sixteen"
assert [row["score"] for row in rows("exact.jsonl")] == [float(row["completion"].strip().lower() == ("blue", "green")[i // 4]) for i, row in enumerate(plain)]
PY
# Text: all answers without scores, the best with them.
expect 0 "1 prompts, 3 answers" $draw --generate.answers=3 say
[ "$(grep -c '^---$' output)" = 3 ] || die "not three answers"
expect 0 "of the best to each prompt" $draw --generate.answers=3 --reward.sources=model:reward say
[ "$(grep -c '^---$' output)" = 1 ] || die "not one answer of three"
# What was kept is data for the next tuning.
expect 0 "done: 1 steps" "$skein" sft --checkpoint.load=policy --data.train=best.jsonl --chat.template=none --train.steps=1 --train.global_batch=2 --run.dir=sampled
expect 0 "done: 1 steps" "$skein" dpo --checkpoint.load=policy --data.train=ranked.jsonl --data.bad_records=2 --chat.template=none --train.steps=1 --train.global_batch=1 --run.dir=preferred
expect 2 "generate.keep=best compares scores, but reward.sources names nothing" $draw --generate.answers=2 --generate.keep=best say
expect 2 "generate.answers=2 would be the same answer 2 times, since sample.temperature=0" $draw --generate.answers=2 --sample.temperature=0 say
expect 2 "give generate.format=jsonl" $draw --generate.answers=2 --generate.keep=ranked --reward.sources=ended say
expect 2 "from 2 to 256 answers to a prompt, not generate.answers=1" $json --generate.keep=ranked --reward.sources=ended
expect 2 "there is no reward beauty" $draw --reward.sources=beauty: say

# Batches that nobody gave follow those that were given; given ones that do not fit are refused.
fitted="$skein ppo --checkpoint.load=policy --data.prompts=prompts.jsonl --chat.template=none --ppo.iterations=1 --ppo.epochs=1 --generate.max_tokens=4
  --reward.sources=ended"
expect 0 "10 answers an iteration, 10 a minibatch" $fitted --run.dir=fitted --ppo.rollout_batch=10
grep -q "^global_batch = 10  # divides ppo.rollout_batch=10" fitted/config.ini || die "config.ini does not say where the minibatch is from"
grep -q "^micro_batch = 5  # divides train.global_batch=10" fitted/config.ini || die "config.ini does not say where the micro-batch is from"
expect 0 "done already" "$skein" ppo --config fitted/config.ini
expect 2 "train.global_batch=4" $fitted --run.dir=bad --ppo.rollout_batch=10 --train.global_batch=4
expect 2 "train.micro_batch=4 must divide" $fitted --run.dir=bad --ppo.rollout_batch=10 --train.micro_batch=4
expect 0 "done: 1 steps" "$skein" reward --checkpoint.load=policy --data.train=pairs.jsonl --chat.template=none --train.global_batch=6 --train.steps=1 --run.dir=reward6
grep -q "^micro_batch = 3  #" reward6/config.ini || die "the micro-batch of a reward model does not follow its batch"

# What cannot be is told, and nothing is left behind.
expect 2 "checkpoint.load names no policy" "$skein" ppo --data.prompts=prompts.jsonl --reward.sources=ended
expect 2 "data.prompts names no file" "$skein" ppo --checkpoint.load=policy --reward.sources=ended
expect 2 "reward.sources names nothing" "$skein" ppo --checkpoint.load=policy --data.prompts=prompts.jsonl
expect 2 "there is no reward beauty" $ppo --run.dir=bad --reward.sources=beauty:
expect 0 "done: 1 steps" "$skein" pretrain --model.context=48 --model.d_model=16 --model.n_layers=1 --model.n_heads=2 --data.train=store.h5 --train.global_batch=2 \
  --train.steps=1 --run.dir=hashed --attention.kind=lsh --attention.same_bucket=false --attention.block=8
for task in "ppo --data.prompts=prompts.jsonl --reward.sources=ended" "dpo --data.train=pairs.jsonl"; do
  expect 2 "attention.same_bucket=false, where the probability of a token hangs on what follows it" "$skein" $task --checkpoint.load=hashed --chat.template=none --run.dir=bad
done
expect 2 "is no language model" "$skein" ppo --checkpoint.load=reward --data.prompts=prompts.jsonl --reward.sources=ended
printf '{"prompt":"a"}\n{"question":"b"}\n' >wrong.jsonl
expect 2 "wrong.jsonl:2" $ppo --run.dir=bad --reward.sources=ended --data.prompts=wrong.jsonl
expect 1 "process:exit 3" $mpi2 $ppo --run.dir=bad "--reward.sources=process:exit 3"
expect 1 "not-json" $ppo --run.dir=bad2 "--reward.sources=process:sed -u s/.*/not-json/"
expect 2 "another" $ppo --run.dir=rules --chat.template=plain "--reward.sources=$sources"

# The proof: a table of its own in a user's file, every response in the dump; too high a bar fails.
cat >language.txt <<'LANGUAGE'
alphabet A B
end </s>
separator <sep>
pad <pad>
initial A 0.5 B 0.5
from A A 0.2 B 0.5 </s> 0.3
from B A 0.4 B 0.2 </s> 0.4
prompts chain 1 2
response 3
reward table default=0
score 1 A B </s>
beta 0.5
closed 0.5
LANGUAGE
oracle="--oracle.pretraining=200 --oracle.d_model=16 --ppo.iterations=12 --ppo.rollout_batch=64 --train.global_batch=32 --train.micro_batch=8 --lr.lr=3e-3"
expect 0 "passed" $mpi2 "$skein" ppo --oracle=language.txt $oracle --run.dir=proof --dump=responses.tsv
python3 - <<'PY' || die "the dump is no distribution"
import math
rows = [line.rstrip("\n").split("\t") for line in open("responses.tsv") if not line.startswith("#")]
head, rows = rows[0], rows[1:]
assert len({(row[0], row[1]) for row in rows}) == len(rows) == 6 * 15, len(rows)
for prompt in {row[0] for row in rows}:
    assert abs(sum(math.exp(float(row[3])) for row in rows if row[0] == prompt) - 1) < 1e-4
PY
expect 0 "passed" "$skein" ppo --oracle=language.txt $oracle --run.dir=proof5 --ppo.algorithm=grpo --ppo.kl_in_reward=true --ppo.divide_by_std=false --ppo.aggregation=constant
sed -i 's/closed 0.5/closed 0.9999/' language.txt
expect 1 "is needed" "$skein" ppo --oracle=language.txt $oracle --run.dir=proof2 --ppo.iterations=1
expect 1 "give ppo.kl_in_reward=true and ppo.divide_by_std=false" "$skein" ppo --oracle=language.txt $oracle --run.dir=proof4 --ppo.iterations=1 --ppo.algorithm=grpo
sed 's/A 0.2/A 0.3/' language.txt >wrong.txt
expect 2 "wrong.txt:6" "$skein" ppo --oracle=wrong.txt $oracle --run.dir=proof3
expect 2 "kl.beta=7 was given, but --oracle" "$skein" ppo --oracle=language.txt --kl.beta=7
expect 2 "validation.every=5 was given, but --oracle" "$skein" ppo --oracle=language.txt --validation.every=5
expect 2 "reward.sources=ended was given, but --oracle" "$skein" ppo --oracle=language.txt --reward.sources=ended
