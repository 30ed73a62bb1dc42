#!/usr/bin/env bash
# A rank that stands still, without a word and without an end: the others end the job with code 75 and say what they wait for.
source "$(dirname "$0")/expect.sh"
make_stores
trap 'kill -KILL $(jobs -p) 2>/dev/null || true; rm -rf "$scratch"' EXIT
train="$bin/skein pretrain $small --train.steps=1000000 --checkpoint.every=1000000 --parallel.timeout=2"

# stop PID NAME: it stands still once the run makes steps.
stop() {
  await test -s "$2/metrics.jsonl"
  kill -STOP "$1"
}
# rank_of NAME NUMBER: the process of that rank under mpirun.
rank_of() {
  for pid in $(pgrep -f "run.dir=$1\$"); do
    if grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ"; then echo "$pid"; fi
  done
}
# ended CODE NAME STOPPED PROCESS: what the rank that could still speak has said.
ended() {
  [ "$1" = 75 ] || { cat "$2.log" >&2; die "exit code $1 instead of 75"; }
  [ "$(grep -c "error: rank" "$2.log")" = 1 ] || { cat "$2.log" >&2; die "not one message"; }
  grep -qE "error: rank [0-9] \(host [^)]*\): the job stands still: .*rank $3 \(host [^,]*, process $4\) is stopped, by a signal" "$2.log" ||
    { cat "$2.log" >&2; die "rank $3 is not named"; }
  grep -qE "rank $((1 - $3)) \(host [^,]*, process [0-9]*\) waits [0-9]+ s for [a-z-]+ .* \((step [0-9]+|training|between steps|outside of steps)" "$2.log" || { cat "$2.log" >&2; die "it is not said what waits for it"; }
  grep -q "raise parallel.timeout=2" "$2.log" || die "no word of the option"
  local record=$2/standstill/rank-0000$((1 - $3)).txt
  [ "$(grep -cE "^ +[0-9]+ +[0-9]+  .* in the .* group \(" "$record")" = 32 ] || { cat "$record" >&2; die "the last 32 exchanges are not there"; }
  grep -q " under way\$" "$record" || die "what is under way is not there"
  [ "$3" = 0 ] || grep -q "rank $3 .* is stopped" "$2/standstill/all-ranks.txt" || die "no record of all ranks"
}

# Before there is a run: a process of the job that does not come.
began=$SECONDS
expect 75 "has waited 2 s in MPI_Init: another rank has ended or stands still" \
  env SKEIN_RENDEZVOUS_TIMEOUT=2 mpirun -np 2 $train --run.dir=start : -np 1 sh -c 'kill -STOP $$; : never'
[ $((SECONDS - began)) -lt 30 ] || die "the start took $((SECONDS - began)) s to end"
[ "$(grep -c "error: rank" output)" = 1 ] || { cat output >&2; die "not one message"; }
grep -q "raise SKEIN_RENDEZVOUS_TIMEOUT" output || die "no word of the variable"
none_left "run.dir=start\$"
none_left ": never\$"
expect 2 "SKEIN_RENDEZVOUS_TIMEOUT=soon is no whole number" env SKEIN_RENDEZVOUS_TIMEOUT=soon mpirun -np 2 $train --run.dir=start

for number in 0 1; do
  name=mpi$number
  timeout 60 mpirun -np 2 $train --run.dir=$name >$name.log 2>&1 &
  launcher=$!
  await test -s $name/metrics.jsonl
  rank=$(rank_of $name $number)
  stop "$rank" $name
  wait $launcher && code=0 || code=$?
  ended $code $name $number "$rank"
  for _ in $(seq 100); do kill -0 "$rank" 2>/dev/null || break; sleep 0.1; done
  ! kill -0 "$rank" 2>/dev/null || die "rank $number is still there: $(grep State "/proc/$rank/status")"
done

for number in 0 1; do
  SKEIN_RENDEZVOUS="file://$scratch/meet$number" SKEIN_RANKS=2 SKEIN_RANK=$number timeout 60 $train --run.dir=tcp$number >stopped.log 2>&1 &
  guard=$!
  SKEIN_RENDEZVOUS="file://$scratch/meet$number" SKEIN_RANKS=2 SKEIN_RANK=$((1 - number)) timeout 60 $train --run.dir=tcp$number >tcp$number.log 2>&1 &
  other=$!
  await test -s tcp$number/metrics.jsonl
  rank=$(pgrep -P $guard)
  stop "$rank" tcp$number
  wait $other && code=0 || code=$?
  ended $code tcp$number $number "$rank"
  kill -KILL "$rank"
  wait $guard || true
done
