#!/usr/bin/env bash
# Two processes on one run's folder: only one writes it, and the other says so with exit code 76.
source "$(dirname "$0")/expect.sh"
make_stores
endless="$bin/skein pretrain $small --train.steps=1000000 --checkpoint.every=50 --run.tensorboard=false"

committed() { ls -d "$1"/checkpoints/step-*.g"$2"; }

# A start finds an older one at work, waits, and takes over; the older one ends at its next checkpoint.
$endless --run.dir=run >older 2>&1 &
older=$!
await committed run 000001
grep -q "\"process\":$older" run/checkpoints/heartbeat-000001.* || die "no heartbeat of process $older"
$endless --run.dir=run --run.takeover=1 >newer 2>&1 &
newer=$!
code=0
wait $older || code=$?
[ "$code" = 76 ] || { cat older >&2; die "exit code $code of the superseded process instead of 76"; }
grep -q "generation 2 of this run (host $(uname -n), process $newer) has started" older || { cat older >&2; die "it does not say why"; }
[ "$(grep -c "error: " older)" = 1 ] || die "it goes on after a refused commit"
grep -q "generation 1 of this run (host $(uname -n), process $older) seems to be at work" newer || { cat newer >&2; die "no word of waiting"; }
grep -q "takes the run over" newer || die "it does not say that it takes over"
await committed run 000002

# Killed: the next start needs no patience, and the folder keeps one id.
kill -KILL $newer
code=0
wait $newer 2>/dev/null || code=$?
[ "$code" = 137 ] || die "exit code $code after kill -9"
expect 0 "done" $endless --run.dir=run --train.steps=50
! grep -q "at work" output || die "it waits for a process that is dead"
id=$("$bin/skein-inspect" config run | sed -nE 's/.*"run\.id": "([0-9a-f]{32})".*/\1/p')
[ -n "$id" ] || die "no run.id in the checkpoint"
expect 2 "this run is another" $endless --run.dir=run --run.id=another
expect 0 "done already" $endless --run.dir=run --train.steps=50 --run.id="$id"
[ "$(find run/checkpoints -name 'heartbeat-*' | wc -l)" = 0 ] || die "an ended run has left its heartbeat"
(($(find run/checkpoints -name 'generation-*' | wc -l) <= 3)) || die "$(ls run/checkpoints): generation files pile up"

echo passed
