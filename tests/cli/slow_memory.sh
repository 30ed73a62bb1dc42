#!/usr/bin/env bash
# GPT-2 124M on two ranks stays within 8 GB, its checkpoint included, and does not grow from step to step.
source "$(dirname "$0")/expect.sh"
make_stores
expect 0 "done: 3 steps" mpirun -np 2 --bind-to none "$bin/skein" pretrain --config "$SKEIN_TEST_SOURCE_DIR/configs/gpt2_124m.ini" \
  --data.train=train.h5 --train.global_batch=2 --train.steps=3 --checkpoint.every=1 --run.dir=run
grep "124M parameters" output || die "another model"
# metrics.jsonl has the first rank's peak of each step; the second has as much.
mapfile -t peaks < <(sed -nE 's/.*"peak_memory_bytes":([0-9]+).*/\1/p' run/metrics.jsonl)
echo "peak of one rank after each step: ${peaks[*]} bytes"
[ "${#peaks[@]}" = 3 ] || die "${#peaks[@]} steps"
((2 * peaks[2] < 8000000000)) || die "two ranks take $((2 * peaks[2])) bytes"
((peaks[2] - peaks[1] < 30000000)) || die "memory grows: ${peaks[*]}"
echo passed
