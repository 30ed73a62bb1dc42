#!/usr/bin/env bash
# A command that trains is asked to stop, at any time and by any signal: 85 where there is something to go on from, else 143
# (130 after INT), within two seconds while it loads; and nothing that becomes of its log ends it.
source "$(dirname "$0")/expect.sh"
make_stores
train="$bin/skein pretrain $small --train.steps=100000 --checkpoint.every=500 --run.log_every=1"
export OMP_NUM_THREADS=1

# ended CODE WORD [SECONDS]: the job ends with that within SECONDS, else in the two of a job that loads and as much for a
# machine with other work; and it says WORD.
ended() {
  local code=0 since
  since=$(date +%s%N)
  for _ in $(seq 200); do
    if ! kill -0 "$job" 2>/dev/null; then break; fi
    sleep 0.05
  done
  local taken=$((($(date +%s%N) - since) / 1000000))
  kill -KILL "$job" 2>/dev/null || true
  wait "$job" || code=$?
  [ "$code" = "$1" ] || { cat output >&2; die "exit code $code instead of $1"; }
  ((taken < ${3:-4} * 1000)) || die "it took $taken ms to end"
  grep -qF -- "$2" output || { cat output >&2; die "no \"$2\""; }
}

# Before the ranks have met, of which one never comes.
waiting() {
  SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANK=0 SKEIN_RANKS=2 $train --run.dir="$1" >output 2>&1 &
  job=$!
  await test -e meet
}
for signal in USR2 TERM HUP USR1 INT; do
  rm -f meet
  waiting none
  kill -$signal $job
  ended "$([ $signal = INT ] && echo 130 || echo 143)" "asked to stop ($signal) before "
  [ ! -e none ] || die "a run was begun that was asked to stop before"
done

# While it makes steps; whatever comes once more changes nothing.
for signal in USR2 TERM HUP USR1 INT; do
  $train --run.dir=run >output 2>&1 &
  job=$!
  await grep -q "step .*/100000" output
  kill -$signal $job
  for late in TERM INT USR2 HUP; do
    sleep 0.02
    kill -$late $job 2>/dev/null || true
  done
  ended 85 "stopped as asked" 10
done
[ "$("$bin/skein-inspect" list run | grep -c good)" -ge 1 ] || die "no checkpoint"

# Before the first step again, with a checkpoint now, where TERM may be for the failure of another rank; and while it reads its data, here from a pipe that stays empty.
rm -f meet
waiting run
kill -USR2 $job
ended 85 "asked to stop (USR2) while no step was under way; the same command goes on from what run holds"
rm -f meet
waiting run
kill -TERM $job
ended 143 "asked to stop (TERM) before the ranks had met"
sft="$bin/skein sft --checkpoint.load=run --run.dir=chat --chat.template=none --train.steps=2"
for i in $(seq 16); do echo "{\"prompt\": \"the quick $i\", \"completion\": \" fox\"}"; done >pairs.jsonl
expect 0 "done: 2 steps" $sft --data.train=pairs.jsonl
mkfifo data.jsonl
reads_data() { ls -l /proc/$job/fd | grep -q data.jsonl; }
for folder in chat fresh; do
  $sft --data.train=data.jsonl --run.dir=$folder >output 2>&1 &
  job=$!
  sleep 60 >data.jsonl &
  writer=$!
  await reads_data
  kill -TERM $job
  if [ $folder = chat ]; then ended 85 "goes on from what chat holds"; else ended 143 "before there was anything"; fi
  kill $writer
done

# Where nobody reads its log, which is full.
mkfifo full.pipe
sleep 60 <full.pipe &
reader=$!
dd if=/dev/zero of=full.pipe bs=4096 oflag=nonblock 2>/dev/null || true
rm -f meet
echo begun >output
SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANK=0 SKEIN_RANKS=2 $train --run.dir=run >>output 2>full.pipe &
job=$!
await test -e meet
kill -USR2 $job
ended 85 begun

# One rank of two whose log is full tells the other all the same.
rm -f meet
ranks="env SKEIN_RENDEZVOUS=file://$scratch/meet SKEIN_RANKS=2"
sleep 60 >data.jsonl &
writer=$!
SKEIN_RANK=1 $ranks $sft --data.train=data.jsonl --run.dir=chat 2>full.pipe &
other=$!
SKEIN_RANK=0 $ranks $sft --data.train=data.jsonl --run.dir=chat >output 2>&1 &
job=$!
for _ in $(seq 600); do
  if reads_data && (job=$other && reads_data); then break; fi
  sleep 0.05
done
kill -USR2 $other
ended 85 "was asked to stop, and the job ends with it"
code=0
wait $other || code=$?
[ $code = 85 ] || die "exit code $code of a rank whose log is full"
[ -z "$(ls chat/checkpoints | grep heartbeat)" ] || die "rank 0 leaves its sign of life"
kill $writer $reader

# As nohup leaves it, HUP means nothing.
(trap '' HUP; exec $train --run.dir=hup) >output 2>&1 &
job=$!
await grep -q "step .*/100000" output
kill -HUP $job
sleep 0.3
kill -0 $job || die "HUP ended a run that was told to ignore it"
kill -USR1 $job
ended 85 "stopped as asked" 10

# A log whose reader has gone, and one that may not grow.
short="$bin/skein pretrain $small --train.steps=20 --run.log_every=1"
{ $short --run.dir=unread 2>&1 && echo 0 >code || echo $? >code; } | head -n 1 >/dev/null || true
[ "$(cat code)" = 0 ] || die "exit code $(cat code) with a log that nobody reads"
truncate -s 64M full.log
(ulimit -f 65536 && exec $short --run.dir=full 2>>full.log) || die "exit code $? with a log that may not grow"
for run in unread full; do
  "$bin/skein-inspect" list $run | grep -q good || die "no checkpoint in $run"
done

# Commands that only tell something end as others do.
set +o pipefail
"$bin/skein" pretrain --help 2>errors | head -n 1 | grep -q "^Pretrains" || die "no help"
set -o pipefail
[ ! -s errors ] || { cat errors >&2; die "a reader that leaves is an error of --help"; }
echo passed
