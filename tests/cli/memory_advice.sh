#!/usr/bin/env bash
# Where memory is short a run says what it needs and what would need less.
source "$(dirname "$0")/expect.sh"
make_stores
short=(bash -c 'ulimit -v 1900000 && exec "$@"' short)

# Before anything is allocated: what no host has is refused at once.
expect 2 "the model does not fit: 1 rank keeps " "$bin/skein" pretrain --config "$SKEIN_TEST_SOURCE_DIR/configs/gpt3_175b.ini" --data.train=train.h5 \
  --model.context=64 --train.global_batch=2 --train.micro_batch=1 --train.steps=1 --run.dir=huge
grep -qF "can be taken on host " output && grep -qF "By formula a rank needs" output || { cat output >&2; die "no numbers"; }

gpt2="$bin/skein pretrain --config $SKEIN_TEST_SOURCE_DIR/configs/gpt2_124m.ini --data.train=train.h5 --train.global_batch=8 --train.micro_batch=2 --train.steps=1"

# in_group LIMIT COMMAND...: the command in a control group of so much memory. make_group fails where none can be made.
make_group() {
  group=/sys/fs/cgroup/memory/skein-$$ limit=memory.limit_in_bytes
  [ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/skein-$$ limit=memory.max
  mkdir "$group" && [ -w "$group/$limit" ]
}
in_group() { echo "$1" >"$group/$limit" && (echo "$BASHPID" >"$group/cgroup.procs" && exec "${@:2}"); }

# The limit of a control group, which the ranks of a host share.
trap 'rmdir "${group:-none}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
if make_group 2>/dev/null; then
  export -f in_group
  export group limit
  expect 2 "1 rank keeps 3.2 GiB from step to step, activations left out, and 2.0 GiB can be taken on host" bash -c 'in_group 2G "$@"' sh $gpt2 --run.dir=group
  grep -qF "where a cgroup ends who takes more than 2.0 GiB" output || { cat output >&2; die "the group is not named"; }
  expect 2 "2 ranks keep 4.3 GiB" bash -c 'in_group 4G "$@"' sh mpirun -np 2 $gpt2 --run.dir=group
  expect 0 "steps" bash -c 'in_group 5G "$@"' sh $gpt2 --run.dir=group --dry-run
  [ ! -e group ] || die "a refused run made its folder"
else
  echo "no control groups: $(mkdir "$group" 2>&1 || echo "$group has no $limit")"
fi

# Before a step: GPT-2 124M, in less than its gradients take. Where it saves, the snapshot needs what activations would give back.
expect 1 "or in place of these two a snapshot of 1.4 GiB. It would need " "${short[@]}" $gpt2 --run.dir=run
if grep -qF "with parallel.recompute" output; then die "what a save needs is not counted"; fi
expect 1 "out of memory" "${short[@]}" $gpt2 --run.dir=
for part in "By formula a rank needs" "values 474.7 MiB, gradients 621.9 MiB, sums of groups 1.2 GiB, optimizer 949.4 MiB" \
  "with parallel.reduction_groups=1" "with parallel.recompute=full" "with train.micro_batch=1"; do
  grep -qF -- "$part" output || { cat output >&2; die "no \"$part\""; }
done

# In a step: the activations of a large micro-batch.
expect 1 "It would need" "${short[@]}" "$bin/skein" pretrain $small --model.n_layers=8 --train.global_batch=32768 --train.micro_batch=8192 --train.steps=1 --run.dir=rows
grep -qF "with train.micro_batch=4096" output || { cat output >&2; die "the micro-batch is not named"; }
echo passed
