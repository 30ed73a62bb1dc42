#!/usr/bin/env bash
# A rank whose processor is taken from it half of the time is named, and no other.
source "$(dirname "$0")/expect.sh"
make_stores
trap 'pkill -KILL -f "run.dir=slow$$\$" || true; rm -rf "$scratch"' EXIT
mpirun -np 2 timeout 120 $bin/skein pretrain $small --train.steps=1000000 --checkpoint.every=1000000 --run.dir=slow$$ >log 2>&1 &
await test -s slow$$/metrics.jsonl
for pid in $(pgrep -x skein); do
  if grep -qz "run.dir=slow$$" "/proc/$pid/cmdline" && grep -qzx "OMPI_COMM_WORLD_RANK=1" "/proc/$pid/environ"; then rank=$pid; fi
done
until grep -q "rank 1 (host .*) has computed [0-9]*% longer than the median of the ranks that do the same, for 300 steps" log; do
  kill -STOP "$rank" || { cat log >&2; die "the run has ended"; }
  sleep 0.05
  kill -CONT "$rank"
  sleep 0.03
done
! grep -q "rank 0 (host .*) has computed" log || { cat log >&2; die "rank 0 is named, too"; }
