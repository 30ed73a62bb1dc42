#!/usr/bin/env bash
# Bad input of `skein`: one clear message with both values, the exit code of docs/exit-codes.md, and never a hang.
source "$(dirname "$0")/expect.sh"
make_stores
skein="$bin/skein"
train="$skein pretrain $small --train.steps=4 --run.dir=run"
mpi2="mpirun -np 2"

# The command line.
expect 2 "did you mean 'pretrain'" "$skein" pretrian
expect 2 "did you mean 'train.steps'" $train --train.stesp=3
expect 2 "train.steps = 'many' (flag --train.steps)" $train --train.steps=many
expect 2 "model.norm = 'batch'" $train --model.norm=batch
expect 2 "none.ini" $train --config none.ini
printf '[train]\nsteps = 4\nglobal_batsch = 8\n' >bad.ini
expect 2 "bad.ini:3" $train --config bad.ini
expect 2 "SKEIN_TRAIN_STEP" env SKEIN_TRAIN_STEP=3 $train

# The model and its layout.
expect 2 "model.vocab_size=100" $train --model.vocab_size=100
expect 2 "n_heads" $train --model.d_model=30
expect 2 "3" $train --model.n_heads=4 --model.n_kv_heads=3
expect 2 "train.global_batch=9" $mpi2 $train --train.global_batch=9
expect 2 "train.micro_batch=3" $train --train.micro_batch=3
expect 2 "train.steps=9000000000000000000 and spikes.leave_out=0" $train --train.steps=9000000000000000000 --dry-run
expect 2 "parallel.reduction_groups=3" $train --parallel.reduction_groups=3
expect 2 "model.n_layers=1 is fewer than the 2" $mpi2 $train --model.n_layers=1 --parallel.pipeline=2
expect 2 "parallel.layers sums to 3, but model.n_layers is 2" $mpi2 $train --parallel.pipeline=2 --parallel.layers=2,1
expect 2 "model.n_heads=1" $mpi2 $train --model.n_heads=1 --parallel.tensor=2
expect 2 "2 ranks" $mpi2 $train --parallel.pipeline=3
expect 2 "parallel.chunks=2" $train --parallel.chunks=2
[ "$(grep -c 'parallel.chunks=2' output)" = 1 ] || die "the message is not told once"
expect 2 "did you mean" $mpi2 $train --train.stesp=3
[ "$(grep -c 'did you mean' output)" = 1 ] || die "under mpirun the message is not told once"

# The data.
expect 2 "data.train names no token store" "$skein" pretrain --run.dir=run
expect 2 "none.h5" $train --data.train=none.h5
: >empty.h5
expect 2 "empty.h5 is empty" $train --data.train=empty.h5
head -c 3000 train.h5 >cut.h5
expect 2 "cut.h5 is truncated" $mpi2 $train --data.train=cut.h5
expect 2 "corpus.txt is not an HDF5 file" $train --data.train=corpus.txt
expect 2 "takes 100001" $train --model.context=100000

[ ! -e run ] || die "a refused run has left a folder"

# The run folder.
: >file
expect 2 "run.dir=file/run" $mpi2 $train --run.dir=file/run
expect 2 "checkpoint.load=empty_folder" $train --checkpoint.load=empty_folder

# A store whose tokens are others than its sum is of, and other data under the name of those that a run has learnt from.
"$bin/skein-data" convert --output.format=nanogpt --output.path=plain.bin train.h5 2>convert.log || { cat convert.log >&2; die "no plain tokens"; }
python3 - <<'PY'
store, tokens = bytearray(open("train.h5", "rb").read()), open("plain.bin", "rb").read()
place = store.find(tokens) + next(i for i in range(2000, 4000, 2) if tokens[i : i + 2] != tokens[i + 2 : i + 4])
store[place : place + 4] = store[place + 2 : place + 4] + store[place : place + 2]
open("wrong.h5", "wb").write(store)
PY
expect 1 "wrong.h5 is damaged: the XXH3 sum of its tokens is" $mpi2 $train --data.train=wrong.h5 --run.dir=wrong --checkpoint.every=1
[ -z "$(ls wrong/checkpoints 2>/dev/null | grep '^step-')" ] || die "a run has committed what it learnt from a damaged store"
expect 1 "wrong.h5 is damaged: the XXH3 sum of its tokens is" "$bin/skein-data" inspect --store.verify=true wrong.h5
cp train.h5 mine.h5
expect 0 "done: 4 steps" $train --data.train=mine.h5 --run.dir=known
cp valid.h5 mine.h5
expect 2 "data.train: mine.h5 was " $mpi2 $train --data.train=mine.h5 --run.dir=known --train.steps=5
expect 0 "goes on from" $mpi2 $train --data.train=mine.h5 --run.dir=known --train.steps=5 --checkpoint.other_data

# Checkpoints: a flipped byte, a truncated shard, a missing one, and those that do not fit.
expect 0 "done: 4 steps" $mpi2 $train
newest=$(ls -d run/checkpoints/step-*)
damage() { # NAME COMMAND: a copy of the run in which COMMAND has spoilt $victim
  rm -rf "$1"
  cp -r run "$1"
  victim="$1/checkpoints/$(basename "$newest")/rank-00001.h5"
  eval "$2"
}
damage flipped 'printf "\377" | dd of="$victim" bs=1 seek=4321 conv=notrunc status=none'
expect 2 "rank-00001.h5" $mpi2 $train --run.dir=flipped
expect 2 "rank-00001.h5" "$bin/skein-inspect" verify flipped
damage truncated 'truncate --size=5000 "$victim"'
expect 2 "rank-00001.h5" $train --run.dir=truncated
damage missing 'rm "$victim"'
expect 2 "rank-00001.h5" $train --run.dir=missing
expect 2 "rank-00001.h5" "$skein" eval --checkpoint.path=missing --data.validation=valid.h5
expect 2 "Or give --run.restart" $train --run.dir=missing
expect 0 "run.restart: the run begins anew" $train --run.dir=missing --run.restart
expect 0 "is done already" $train --run.dir=missing --run.restart
expect 2 "model.n_layers: 2 -> 3" $train --model.n_layers=3
expect 2 "holds no checkpoint" "$skein" eval --checkpoint.path=nothing --data.validation=valid.h5
expect 2 "checkpoint.path is empty" "$skein" eval --data.validation=valid.h5
expect 2 "preferences or conversations); none is given" "$skein" eval --checkpoint.path=run
"$bin/skein-data" encode --tokenizer.path=bytes --output.path=bytes.h5 heldout.txt 2>/dev/null
expect 2 "bytes.h5 was made with another tokenizer than train.h5" $train --run.dir=other --data.validation=bytes.h5
expect 2 "another tokenizer" "$skein" eval --checkpoint.path=run --data.validation=bytes.h5

# A checkpoint that cannot be written: said, survived, and given up after the third; the earlier one stays.
cp -r run full
limited() { (trap '' XFSZ && ulimit -f 100 && "$@"); }
export -f limited
expect 1 "the run goes on" bash -c "limited $train --run.dir=full --train.steps=20 --checkpoint.every=2 --run.tensorboard=false"
[ "$(grep -c 'the run goes on' output)" = 2 ] || die "not two warnings before it gave up"
expect 0 "good" "$bin/skein-inspect" list full

# A file system with too little room: the message says how much of what is free is kept so, which is
# no more than a quarter of the checkpoint.
if unshare -rm true 2>/dev/null; then
  mkdir small
  in_small() { mount -t tmpfs -o size=$1 none small && $2 --run.dir=small/run --run.tensorboard=false; }
  export -f in_small
  expect 1 " KiB stay free for the manifest" unshare -rm bash -c "in_small 500k '$train'"
  expect 0 "done: 4 steps" unshare -rm bash -c "in_small 1200k '$train'"
fi

# One rank that dies takes the job with it.
mpirun -np 2 $train --train.steps=1000000 --run.dir=dies >output 2>&1 &
launcher=$!
await grep -q "step *10/" output
kill -KILL "$(pgrep -n -f 'run.dir=dies')"
for _ in $(seq 100); do
  if ! kill -0 $launcher 2>/dev/null; then break; fi
  sleep 0.1
done
wait $launcher && die "the job ended well although a rank was killed"
none_left 'run.dir=dies'

# A job whose run another has taken: its first refused checkpoint ends it, with one message and one code.
mpirun -np 2 $train --train.steps=1000000 --checkpoint.every=10 --run.dir=taken >output 2>&1 &
launcher=$!
await compgen -G "taken/checkpoints/step-*"
cp taken/checkpoints/generation-000001 copied && mv copied taken/checkpoints/generation-000002
wait $launcher && code=0 || code=$?
[ "$code" = 76 ] || { cat output >&2; die "exit code $code of a superseded job instead of 76"; }
[ "$(grep -c "error: .*generation 2 of this run (host $(uname -n), process" output)" = 1 ] || { cat output >&2; die "not one message"; }
! grep -q "no checkpoint at step" output || die "a refused checkpoint counts as a failed one"
[ "$(find taken/checkpoints -name "heartbeat-*")" = "" ] || die "its heartbeat is left"

echo passed
