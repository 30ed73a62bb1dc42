#!/usr/bin/env bash
# What a machine is like for runs: alone, by ranks over TCP, and where something is wrong.
source "$(dirname "$0")/expect.sh"

expect 0 "rename, flock, fsync and mmap work" "$bin/skein" doctor --run.dir=runs/not-yet
for about in ranks processors products memory /dev/shm "open files" GPUs NCCL space files; do
  grep -qE "^(good|note) +$about " output || { cat output >&2; die "no line about $about"; }
done
[ ! -e runs ] || die "something stays behind"

expect 0 "set OMP_NUM_THREADS to" env OMP_NUM_THREADS=900 "$bin/skein" doctor --run.dir=.
expect 1 "bad   files" "$bin/skein" doctor --run.dir=/proc/runs
grep -qF -- "-> give a folder with run.dir" output || die "no advice: $(cat output)"
touch afile
for folder in afile afile/below; do
  expect 1 "/afile exists and is not a directory" "$bin/skein" doctor --run.dir=$folder
done
expect 2 "run.dir is empty; give the folder" "$bin/skein" doctor --run.dir=
# Ranks that cannot find each other are told of, and the rest is looked at all the same.
expect 1 "SKEIN_RENDEZVOUS is not" env SKEIN_RANK=0 SKEIN_RANKS=2 "$bin/skein" doctor --run.dir=.
grep -q "^good  memory" output || die "the host was not looked at: $(cat output)"

meeting="file://$scratch/meeting"
SKEIN_RENDEZVOUS=$meeting SKEIN_RANKS=2 SKEIN_RANK=1 "$bin/skein" doctor --run.dir=. >second 2>&1 &
expect 0 "2 ranks (without MPI), on 1 host: met within" env SKEIN_RENDEZVOUS="$meeting" SKEIN_RANKS=2 SKEIN_RANK=0 "$bin/skein" doctor --run.dir=.
wait $!
[ "$(grep -c " memory " output)" = 1 ] && [ ! -s second ] || { cat output second >&2; die "one block of lines a host, by rank 0"; }
