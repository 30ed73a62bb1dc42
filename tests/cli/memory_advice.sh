#!/usr/bin/env bash
# Where memory is short a run says what it needs and what would need less.
source "$(dirname "$0")/expect.sh"
make_stores
short=(bash -c 'ulimit -v 1900000 && exec "$@"' short)

# Before anything is allocated: what no host has is refused at once.
expect 2 "the model does not fit: 1 rank keeps " "$bin/skein" pretrain --config "$SKEIN_TEST_SOURCE_DIR/configs/gpt3_175b.ini" --data.train=train.h5 \
  --model.context=64 --train.global_batch=2 --train.micro_batch=1 --train.steps=1 --run.dir=huge
grep -qF "can be taken on host " output && grep -qF "By formula a rank needs" output || { cat output >&2; die "no numbers"; }

# Before a step: GPT-2 124M, in less than its gradients take. Where it saves, the snapshot needs what activations would give back.
gpt2="$bin/skein pretrain --config $SKEIN_TEST_SOURCE_DIR/configs/gpt2_124m.ini --data.train=train.h5 --train.global_batch=8 --train.micro_batch=2 --train.steps=1"
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
