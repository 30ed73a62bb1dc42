#!/usr/bin/env bash
# Ranks without a launcher: the losses of one rank, one message when a rank is killed, what a wrong start is told, and
# strangers who come to the meeting.
source "$(dirname "$0")/expect.sh"
make_stores
train="$bin/skein pretrain $small --train.steps=12 --checkpoint.every=100"
export OMP_NUM_THREADS=1 SKEIN_RENDEZVOUS_TIMEOUT=60

# rank N OF COMMAND...: one rank of a job that meets at ./meet.
rank() {
  local number=$1 ranks=$2
  shift 2
  env SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANK="$number" SKEIN_RANKS="$ranks" timeout 120 "$@"
}

losses() { sed -nE 's/.*"loss":([^,}]+).*/\1/p' "$1/metrics.jsonl"; }

expect 0 "done: 12 steps" $train --run.dir=one
for layout in --parallel.zero --parallel.pipeline=2; do
  rm -rf two
  rank 1 2 $train --run.dir=two $layout >other 2>&1 &
  other=$!
  rank 0 2 $train --run.dir=two $layout >output 2>&1 || { cat output other >&2; die "rank 0 failed with $layout"; }
  wait $other || { cat other >&2; die "rank 1 failed with $layout"; }
  [ ! -s other ] || { cat other >&2; die "rank 1 speaks although all is well"; }
  [ "$(losses one | wc -l)" = 12 ] || die "no losses in metrics.jsonl"
  cmp <(losses one) <(losses two) || die "the losses of two ranks differ from one's with $layout"
done
[ ! -e meet ] || die "the rendezvous file is left"

# The variables that other programs of the field begin with.
export MASTER_ADDR=127.0.0.1 WORLD_SIZE=2
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
MASTER_PORT=$(free_port)
export MASTER_PORT
RANK=1 $train --run.dir=field >other 2>&1 &
other=$!
RANK=0 expect 0 "done: 12 steps" $train --run.dir=field
wait $other || { cat other >&2; die "rank 1 failed with MASTER_ADDR"; }
cmp <(losses one) <(losses field) || die "the losses differ with MASTER_ADDR"
unset MASTER_ADDR MASTER_PORT WORLD_SIZE

# A job that other hosts can reach needs a secret; who knows none, or another, and who talks nonsense, keeps nobody out.
port=$(free_port)
export SKEIN_RENDEZVOUS="0.0.0.0:$port" SKEIN_RANKS=2
SKEIN_RANK=0 expect 2 "can be reached from other hosts" $train --run.dir=wrong
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key)
cp key open-key
chmod 644 open-key
SKEIN_RANK=0 SKEIN_RENDEZVOUS_SECRET_FILE="$scratch/open-key" expect 2 "has mode 0644" $train --run.dir=wrong
SKEIN_RANK=0 SKEIN_RENDEZVOUS_SECRET_FILE="$scratch/key" timeout 120 $train --run.dir=secret >zero 2>&1 &
zero=$!
python3 - "$port" <<'PY'
import socket, struct, sys, time
def call():
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit("rank 0 does not listen")
frame = lambda content, version=2: struct.pack("<QII", 0x5043546E69656B53, version, len(content)) + content
hello = b"hello 2 1 0 6000 nowhere"
silent = [call() for _ in range(400)]
for words in [b"GET / HTTP/1.0\r\n\r\n", frame(hello, 1), frame(hello), frame(bytes(64) + hello), b"\xff" * 4096]:
    stranger = call()
    stranger.sendall(words)
    heard = b""
    try:
        while part := stranger.recv(4096):
            heard += part
    except ConnectionResetError:
        pass
    if b"welcome" in heard or len(heard) > 96:
        sys.exit(f"a stranger was told {heard}")
PY
SKEIN_RANK=1 expect 2 "has another secret, or only one of the two has one" env SKEIN_RENDEZVOUS_OPEN=1 $train --run.dir=secret
SKEIN_RANK=1 SKEIN_RENDEZVOUS_SECRET=of-another-job-0 expect 2 "has another secret" $train --run.dir=secret
SKEIN_RANK=1 SKEIN_RENDEZVOUS_SECRET=$(cat key) timeout 120 $train --run.dir=secret >other 2>&1 || { cat other >&2; die "rank 1 failed with a secret"; }
wait $zero || { cat zero >&2; die "rank 0 failed with a secret"; }
grep -q "was refused: it does not know the secret of this job" zero || { cat zero >&2; die "nobody was refused"; }
if grep -qF -e "$(cat key)" zero other; then die "the secret is in the log"; fi
cmp <(losses one) <(losses secret) || die "the losses differ with a secret"
unset SKEIN_RENDEZVOUS SKEIN_RANKS

# One rank is killed: the other ends soon, with its name.
export SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANKS=2
SKEIN_RANK=1 $train --train.steps=1000000 --run.dir=dies >other 2>&1 &
other=$!
SKEIN_RANK=0 $train --train.steps=1000000 --run.dir=dies >output 2>&1 &
zero=$!
await grep -q "step *10/" output
kill -KILL $other
wait $other 2>/dev/null || true
killed=$SECONDS
for _ in $(seq 150); do
  if ! kill -0 $zero 2>/dev/null; then break; fi
  sleep 0.1
done
((SECONDS - killed < 12)) || kill -KILL $zero
wait $zero && code=0 || code=$?
[ "$code" = 1 ] || { cat output >&2; die "exit code $code instead of 1 after a rank was killed"; }
grep -q "error: rank 1 (.*) is gone; look for the first error of the job" output || { cat output >&2; die "the lost rank is not named"; }

# A rank that cannot go on ends the others, with its exit code.
SKEIN_RANK=1 $train --run.dir=file/run >other 2>&1 &
other=$!
: >file
SKEIN_RANK=0 expect 2 "run.dir=file/run" $train --run.dir=file/run
wait $other && code=0 || code=$?
[ "$code" = 2 ] || { cat other >&2; die "exit code $code instead of 2 on the other rank"; }
[ "$(cat output other | grep -c 'run.dir=file/run')" = 1 ] || { cat output other >&2; die "the message is not told once"; }

# Wrong starts.
expect 2 "SKEIN_RANK is not" $train --run.dir=wrong
SKEIN_RANK=2 expect 2 "SKEIN_RANK=2 is not below SKEIN_RANKS=2" $train --run.dir=wrong
SKEIN_RANK=0 SKEIN_RENDEZVOUS=node7 expect 2 "SKEIN_RENDEZVOUS=node7 is no rendezvous" $train --run.dir=wrong
SKEIN_RANK=0 SKEIN_RENDEZVOUS_TIMEOUT=1 expect 1 "rank 1 has not" $train --run.dir=wrong
[ ! -e wrong ] || die "a refused run has left a folder"

echo passed
