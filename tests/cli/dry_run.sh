#!/usr/bin/env bash
# What a run would be, without a trace of it.
source "$(dirname "$0")/expect.sh"
make_stores
skein="$bin/skein"
train="$skein pretrain $small --train.steps=6 --checkpoint.every=3 --run.dir=run"

expect 0 "model     gpt, 2 blocks of width 32" $train --dry-run
for part in "steps     0 to 6, of" "layout    pipeline 1 x data 1 x tensor 1" "work      " "memory    " " are available on " "disk      " "time      at least "; do
  grep -qF -- "$part" output || { cat output >&2; die "no \"$part\""; }
done
[ ! -e run ] || die "a dry run left a folder"
expect 0 "each of ranks 0 to 1: " mpirun -np 2 $train --run.dry_run
expect 0 "rank 1: " mpirun -np 2 $train --dry-run --parallel.pipeline=2
[ "$(grep -c "^model" output)" = 1 ] || die "not one rank alone speaks"
# An odd vocabulary: the ranks need nearly as much.
expect 0 "memory    ranks 0 to 1, the fullest: " mpirun -np 2 "$skein" pretrain --config "$SKEIN_TEST_SOURCE_DIR/configs/gpt2_124m.ini" \
  --data.train=train.h5 --train.global_batch=8 --train.steps=1 --run.dir=odd --dry-run --parallel.tensor=2

# Beside a run: it goes on from what there is, and does not disturb it.
expect 0 "done: 6 steps" $train
before=$(find run -type f -exec sha256sum {} + | sort)
expect 0 "start     it goes on from run/checkpoints/step-00000006" $train --train.steps=9 --dry-run
grep -qF "steps     6 to 9" output || { cat output >&2; die "not the steps that are left"; }
next="$skein pretrain $small --checkpoint.load=run --run.dir=next --train.steps=9 --dry-run"
expect 0 "start     it goes on from run/checkpoints/step-00000006" $next
grep -qF "steps     6 to 9" output || { cat output >&2; die "not the steps that are left of another run"; }
expect 0 "start     it begins from run/checkpoints/step-00000006" $next --checkpoint.weights_only
grep -qF "steps     0 to 9" output || { cat output >&2; die "steps of weights alone"; }
[ "$before" = "$(find run -type f -exec sha256sum {} + | sort)" ] || die "a dry run changed the run's folder"

expect 2 "run/checkpoints/step-00000006.g000001 holds another model:" $train --train.steps=9 --model.n_kv_heads=2 --dry-run
expect 2 "was trained with train.frozen_layers=-1, now it is 1" $train --train.steps=9 --train.frozen_layers=1 --dry-run
expect 0 "  lr.lr: " $train --train.steps=9 --lr.lr=0.01 --dry-run

# Folders that the run could not have.
touch afile
for folder in afile afile/below; do
  expect 2 "run.dir=$folder: $PWD/afile exists and is not a directory" $train --run.dir=$folder --dry-run
done

# What would be refused is refused, with the numbers before it where memory is what lacks.
expect 2 "train.global_batch=9" mpirun -np 2 $train --train.global_batch=9 --dry-run
expect 2 "the model does not fit: 1 rank keeps " "$skein" pretrain --config "$SKEIN_TEST_SOURCE_DIR/configs/gpt3_175b.ini" --data.train=train.h5 \
  --model.context=64 --train.global_batch=2 --train.micro_batch=1 --train.steps=1 --run.dir=huge --dry-run
grep -qF "model     gpt, 96 blocks of width 12288" output || { cat output >&2; die "no numbers before the refusal"; }
expect 2 "this command makes several" "$skein" verify-resume $small --train.steps=6 --run.dir=twice --run.dry_run

# What rank 0 is to take is within a tenth of what it then takes.
foresees() {
  local run="$skein pretrain --model.context=128 --model.d_model=128 --model.n_layers=4 --model.n_heads=4 --data.train=train.h5
    --train.global_batch=8 --train.micro_batch=4 --train.steps=1 --run.dir=taken $*"
  rm -rf taken
  expect 0 "memory    " mpirun -np 2 $run --dry-run
  cp output outlook
  expect 0 "done: 1 steps" mpirun -np 2 $run
  python3 - "$*" <<'PY'
import json, pathlib, re, sys
foreseen = float(re.search(r"^memory .*?ranks? 0.*?: ([\d.]+) MiB", open("outlook").read(), re.M)[1])
found = json.loads(open("taken/metrics.jsonl").readlines()[-1])["peak_tensor_bytes"] / 2**20
if not 0.9 < foreseen / found < 1.1:
    sys.exit(f"FAILED: {sys.argv[1]} was to take {foreseen} MiB and takes {found:.1f}")
foreseen = float(re.search(r"^disk +([\d.]+) MiB a checkpoint", open("outlook").read(), re.M)[1])
found = sum(one.stat().st_size for one in pathlib.Path("taken/checkpoints").glob("step-*/*")) / 2**20
if not 0.9 < foreseen / found < 1.1:
    sys.exit(f"FAILED: a checkpoint of {sys.argv[1]} was to take {foreseen} MiB and takes {found:.1f}")
PY
}
foresees --parallel.data=2
foresees --parallel.data=2 --parallel.zero=false
foresees --parallel.tensor=2
foresees --parallel.pipeline=2
foresees --parallel.data=2 --train.frozen_layers=3
foresees --parallel.data=2 --train.frozen_layers=3 --train.precision=bf16
foresees --parallel.pipeline=2 --train.micro_batch=1 --parallel.schedule=gpipe
foresees --parallel.pipeline=2 --train.micro_batch=1 --parallel.schedule=interleaved --parallel.chunks=2

# Of runs that begin from another model.
python3 - <<'PY'
import json
with open("chats.jsonl", "w") as out:
    for text in ("one", "two", "three", "four"):
        out.write(json.dumps({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}]}) + "\n")
PY
expect 0 "start     it begins from run/" "$skein" sft --checkpoint.load=run --data.train=chats.jsonl --chat.template=plain --run.dir=tuned --train.steps=2 --train.global_batch=2 --dry-run
tune="$skein ppo --checkpoint.load=run --data.prompts=chats.jsonl --chat.template=plain --reward.sources=length:target=3 --ppo.iterations=3"
tune+=" --ppo.rollout_batch=8 --train.global_batch=4 --generate.max_tokens=8 --run.dir=tuned --checkpoint.every=2 --validation.every=0"
expect 0 "steps     iteration 0 to 3, of 8 answers of at most 8 tokens" $tune --dry-run
for part in "policy and reference" "critic: gpt, 2 blocks" "start     it begins from run/" " to make and judge answers, " "+ other models " "s an iteration and "; do
  grep -qF -- "$part" output || { cat output >&2; die "no \"$part\""; }
done
expect 0 "each of ranks 0 to 1: " mpirun -np 2 $tune --dry-run --ppo.algorithm=rloo
if grep -q critic output; then die "a critic where there is none"; fi
expect 0 "steps     iteration 0 to 3" $tune --dry-run --reward.sources="process:touch started"
expect 2 "there is no reward lenght, did you mean length?" $tune --dry-run --reward.sources=lenght:target=3
expect 2 "has no field answer that the reward \"exact\" compares with" $tune --dry-run --reward.sources=exact
[ ! -e tuned ] && [ ! -e started ] || die "a dry run left something"
expect 0 "done: 3 iterations" $tune
expect 0 "start     it goes on from tuned/checkpoints/" $tune --dry-run --ppo.iterations=5
grep -qF "steps     iteration 3 to 5" output || { cat output >&2; die "not the iterations that are left"; }
expect 0 "  kl.beta: " $tune --dry-run --ppo.iterations=5 --kl.beta=0.2
expect 2 "was tuned with ppo.rollout_batch=8, now it is 16" $tune --dry-run --ppo.rollout_batch=16

# A run's own checkpoint comes before the model that it began from. No reference is asked for what it holds of the data.
python3 - <<'PY'
import json
with open("pairs.jsonl", "w") as pairs, open("labels.csv", "w") as labels:
    labels.write("text,category\n")
    for text, other in (("one", "two"), ("three", "four"), ("five", "six"), ("seven", "eight")):
        pairs.write(json.dumps({"prompt": "say", "chosen": text, "rejected": other}) + "\n")
        labels.write(text + ",odd\n" + other + ",even\n")
PY
goes_on() { # COMMAND OPTIONS...: --checkpoint.load of the dry run is $again
  local start="$skein $* --run.dir=own-$1 --train.global_batch=2"
  expect 0 "done: 1 steps" $start --checkpoint.load=run --train.steps=1
  before=$(find "own-$1" -type f -exec sha256sum {} + | sort)
  expect 0 "start     it goes on from own-$1/checkpoints/step-00000001" $start $again --train.steps=3 --dry-run
  grep -qF "steps     1 to 3" output || { cat output >&2; die "not the steps that are left of $1"; }
  if grep -q "the reference is" output; then die "a dry run asks the reference"; fi
  [ "$before" = "$(find "own-$1" -type f -exec sha256sum {} + | sort)" ] || die "a dry run changed the folder of $1"
}
again=
goes_on sft --data.train=chats.jsonl --chat.template=plain
goes_on reward --data.train=pairs.jsonl --chat.template=none
goes_on finetune --data.train=labels.csv --task.label=category
again=--checkpoint.load=run
goes_on dpo --data.train=pairs.jsonl --chat.template=none
# The whole process takes what is foreseen and what the program itself takes, with the commit after its first step, within a tenth.
holds() { # COMMAND...
  rm -rf held
  expect 0 "memory    " "$@" --run.dir=held --checkpoint.every=1 --dry-run
  cp output outlook
  expect 0 "done: 2 " "$@" --run.dir=held --checkpoint.every=1
  python3 - "$*" <<'PY'
import json, re, sys
outlook = open("outlook").read()
foreseen = float(re.search(r"^memory .*?([\d.]+) MiB = ", outlook, re.M)[1]) + float(re.search(r"the program itself takes some (\d+) MiB", outlook)[1])
found = max(json.loads(line).get("peak_memory_bytes", 0) for line in open("held/metrics.jsonl")) / 2**20
if not 0.9 < foreseen / found < 1.1:
    sys.exit(f"FAILED: {sys.argv[1]} was to take {foreseen} MiB and takes {found:.1f}")
PY
}
steps="--train.global_batch=8 --train.micro_batch=4"
wide="$skein pretrain --model.context=128 --model.d_model=256 --model.n_layers=6 --model.n_heads=4 --data.train=train.h5 --train.steps=2 $steps"
holds $wide --checkpoint.async=false
holds $wide --train.precision=bf16
holds mpirun -np 2 $wide --checkpoint.async=true
holds $wide --checkpoint.async=true
mv held wide
holds "$skein" sft --checkpoint.load=wide --data.train=chats.jsonl --chat.template=plain --train.steps=2 $steps
holds "$skein" dpo --checkpoint.load=wide --data.train=pairs.jsonl --chat.template=none --train.steps=2 $steps
holds "$skein" ppo --checkpoint.load=wide --data.prompts=chats.jsonl --chat.template=plain --reward.sources=length:target=3 --ppo.iterations=2 \
  --ppo.rollout_batch=8 --generate.max_tokens=32 $steps
holds "$skein" ppo --checkpoint.load=wide --data.prompts=chats.jsonl --chat.template=plain --reward.sources=length:target=3 --ppo.iterations=2 \
  --ppo.rollout_batch=8 --generate.max_tokens=32 --ppo.algorithm=rloo --ptx.data=train.h5 $steps
expect 2 "cannot open token store none.h5" $tune --run.dir=none --dry-run --ptx.data=none.h5

expect 2 "--oracle makes several" "$skein" ppo --oracle=identity --run.dir=proof --dry-run
echo passed
