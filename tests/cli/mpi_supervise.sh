#!/usr/bin/env bash
# launch/supervise: a run whose ranks and launchers are killed comes to the end of the undisturbed one, and nothing is left behind.
source "$(dirname "$0")/expect.sh"
supervise=$SKEIN_TEST_SOURCE_DIR/launch/supervise

# What it makes of codes; `+` after a code: that start has made a checkpoint.
cat >fake <<'SH'
#!/bin/bash
n=$(($(cat "$1/n" 2>/dev/null || echo 0) + 1))
echo $n >"$1/n"
mkdir -p "$1/checkpoints"
code=${@:n+1:1}
[[ $code != *+ ]] || mkdir "$1/checkpoints/step-$(printf %08d $n).g000001"
exit "${code%+}"
SH
chmod +x fake
# codes WANTED STARTS CODE...
codes() {
  rm -rf fakes && mkdir fakes
  "$supervise" --run fakes --wait 0 ./fake fakes "${@:3}" >output 2>&1 && got=0 || got=$?
  [ "$got" = "$1" ] || { cat output >&2; die "code $got instead of $1 for codes ${*:3}"; }
  [ "$(cat fakes/n)" = "$2" ] || die "$(cat fakes/n) starts instead of $2 for codes ${*:3}"
}
codes 0 1 0
for code in 2 70 76 85; do codes $code 1 $code; done
codes 0 3 137+ 75+ 0
codes 1 3 1 1 1 0
codes 205 5 1 137+ 1 1 205 0
grep -q "3 starts in a row without a new checkpoint (newest: step-00000002.g000001); given up" output || die "it does not say why it gives up"
# Whose checkpoints count: those of --run, else of the last --run.dir, else of the environment.
printf '#!/bin/bash\nexec ./fake fakes 1+ 1+ 1+ 1+ 85\n' >elsewhere
chmod +x elsewhere
follows() { # FOLDER CODE [ARGUMENT...]: of five starts, the first four with a checkpoint in fakes
  local folder=$1 want=$2 got=0
  shift 2
  rm -rf fakes && mkdir fakes
  SKEIN_RUN_DIR=$folder "$supervise" --wait 0 "$@" >output 2>&1 || got=$?
  [ "$got" = "$want" ] || { cat output >&2; die "code $got instead of $want with SKEIN_RUN_DIR=$folder and $*"; }
}
follows other 85 ./elsewhere --run.dir=fakes
follows other 85 ./elsewhere --run.dir=other --run.dir=fakes
follows other 85 ./elsewhere --run.dir fakes
follows other 85 --run fakes ./elsewhere --run.dir=other
follows fakes 85 ./elsewhere
follows fakes 1 ./elsewhere --run.dir=fakes --run.dir=other
# More new commits than a pipe holds.
(source "$SKEIN_TEST_SOURCE_DIR/launch/place.sh" && has_more "" "$(seq -w 20000)") || die "20000 new commits are none"

# Shared memory that nobody uses goes; what another job has open, or mapped, stays.
if unshare -rm true 2>/dev/null; then
  cat >holds.py <<'PY'
import mmap, os, subprocess, sys
segments = ["/dev/shm/vader_segment.%s.%d.1.%d" % (sys.argv[1], os.getuid(), i) for i in range(3)]
opened, mapped, left = (os.open(path, os.O_CREAT | os.O_RDWR) for path in segments)
for one in mapped, left:
    os.ftruncate(one, 4096)
memory = mmap.mmap(mapped, 4096)
os.close(mapped)
os.close(left)
subprocess.run(sys.argv[2:], check=True)
print("kept:", [os.path.exists(path) for path in segments])
PY
  in_own_memory() { mount -t tmpfs tmpfs /dev/shm && python3 holds.py "$(hostname -s)" "$@"; }
  export -f in_own_memory
  expect 0 "kept: [True, True, False]" unshare -rm bash -c 'in_own_memory "$@"' sh "$supervise" --run fakes --wait 0 true
fi
# A clock that was set back: each start's checkpoint is older than the one before.
cat >older <<'SH'
#!/bin/bash
./fake "$@" || code=$?
n=$(cat "$1/n")
touch -d "2020-01-0$((9 - n))" "$1/checkpoints/step-$(printf %08d "$n").g000001"
exit "$code"
SH
chmod +x older
rm -rf fakes && mkdir fakes
"$supervise" --run fakes --wait 0 --without-commit 2 ./older fakes 1+ 1+ 1+ 1+ 85+ >output 2>&1 && got=0 || got=$?
[ "$got" = 85 ] || { cat output >&2; die "code $got where a clock was set back"; }

# Asked while it looks for checkpoints, which takes long on some file systems.
mkdir slow
printf '#!/bin/sh\nsleep 3\nexec /usr/bin/find "$@"\n' >slow/find
chmod +x slow/find
rm -rf fakes && mkdir fakes
PATH=$PWD/slow:$PATH "$supervise" --run fakes ./fake fakes 0 >output 2>&1 &
sleep 1
kill -TERM $!
wait $! && got=0 || got=$?
[ "$got" = 143 ] && [ ! -e fakes/n ] || { cat output >&2; die "code $got, and it began a start although it was asked to stop"; }
grep -q "stopped as asked (TERM) before start 1, newest checkpoint none" output || { cat output >&2; die "it does not say why"; }
expect 2 "which folder is the run's?" "$supervise" true
expect 2 "unknown option '--often'" "$supervise" --often true

# An mpirun that waits for a lock for ever once its processes have ended, one of them not waited for, the first time; else it is left alone. So, too, where a job of Slurm starts it.
cat >hang.py <<'PY'
import os, sys, threading, time
open("/proc/self/comm", "w").write("mpirun")
open(sys.argv[1] + "/config.ini", "w").close()
if os.path.exists(sys.argv[1] + "/hung"):
    time.sleep(12)
else:
    open(sys.argv[1] + "/hung", "w").close()
    if os.fork() == 0:
        os._exit(0)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
PY
mkdir job
SKEIN_STARTS=$PWD/job/starts timeout 60 "$supervise" --run job --wait 0 "$SKEIN_TEST_SOURCE_DIR/launch/slurm/start" python3 hang.py job >job/output 2>&1 &
job=$!
expect 0 "mpirun has had no process for 10 s and does not end: killed" "$supervise" --run fakes --wait 0 python3 hang.py fakes
wait $job || { cat job/output >&2; die "a job's mpirun that hangs was not ended"; }
[ "$(grep -c "does not end: killed" job/output)" = 1 ] || { cat job/output >&2; die "not one mpirun of a job was killed"; }
[ "$(grep -c "does not end: killed" output)" = 1 ] || { cat output >&2; die "an mpirun that only sleeps was killed"; }

make_stores
train="$bin/skein pretrain $small --train.steps=80 --checkpoint.every=10 --checkpoint.keep=100"
expect 0 "done: 80 steps" $train --run.dir=whole

committed() { compgen -G "killed/checkpoints/step-0000$1.g*" >/dev/null; }
"$supervise" --wait 0 mpirun -np 2 $train --run.dir=killed >log 2>&1 &
guard=$!
await committed 0010
pkill -KILL -f "run.dir=killed" -P "$(pgrep -f -n "^mpirun.*run.dir=killed")" || true
await committed 0040
pkill -KILL -o -f "^mpirun.*run.dir=killed" || true
wait $guard && code=0 || code=$?
[ "$code" = 0 ] || { cat log >&2; die "code $code of the supervised run"; }
expect 0 "" "$bin/skein-inspect" diff whole/checkpoints/step-00000080.* killed/checkpoints/step-00000080.*
none_left "run.dir=killed"
memory_is_used() { ! compgen -G "/dev/shm/vader_segment.*" || grep -qs vader_segment /proc/[0-9]*/maps; }
await memory_is_used
echo "starts: $(grep -c 'supervise: code' log)"

# Asked to stop: a commit, and no other start.
"$supervise" --wait 0 mpirun -np 2 $train --train.steps=1000000 --run.dir=asked >log 2>&1 &
guard=$!
await test -s asked/metrics.jsonl
kill -TERM $guard
wait $guard && code=0 || code=$?
[ "$code" = 85 ] || { cat log >&2; die "code $code instead of 85 after TERM"; }
grep -q "supervise: stopped as asked (TERM): code 85" log || die "it does not say that it was asked"
