#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2015,SC2016,SC2046,SC2086,SC2154
# The batch scripts of launch/slurm on a Slurm cluster of six nodes, which this script brings up and takes down again: jobs end, are preempted,
# run out of time, lose ranks and are cancelled. Needs root and Debian's slurm-wlm and munge; without them it says so and ends with 77.
#
# usage: tests/faults/slurm.sh [ROUNDS]
#
# A round preempts a job at a random moment: it commits within 10 seconds, is requeued once, and ends with the bytes of an undisturbed run.
# srun and mpirun take turns; in the first half Slurm requeues by RequeueExit=85, in the second the job must do it. The rest is done
# once; 2 rounds are the default. With SKEIN_TEST_KEEP=1 the logs stay.
source "$(dirname "$0")/one_machine_slurm.sh"
rounds=${1:-2}
[[ $rounds =~ ^[0-9]+$ ]] || { echo "usage: tests/faults/slurm.sh [ROUNDS]" >&2; exit 2; }
reason=$(cluster_missing)
[ -z "$reason" ] || { echo "skipped: $reason"; exit 77; }

source "$(dirname "$0")/../cli/expect.sh"
trap 'exit 130' INT
trap 'exit 143' TERM
trap clean_up EXIT
clean_up() {
  kill $(jobs -p) 2>/dev/null || true
  if [ -n "${SKEIN_TEST_KEEP:-}" ]; then cp -r "$scratch" "$scratch.kept" && echo "kept: $scratch.kept"; fi
  cluster_down
  rm -rf "$scratch"
}
scripts=$SKEIN_TEST_SOURCE_DIR/launch/slurm
export BIN=$bin OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset SKEIN_LAUNCHER SKEIN_RUN_DIR

show() { cat "$1.log" >&2; scontrol show job "$job" >&2; }
fault() { show "$1"; die "$1: ${*:2}"; }

# submit NAME SCRIPT [SBATCH_OPTION...] -- [ARGUMENT...]: $job is its number, NAME.log its log.
submit() {
  local name=$1 script=$2 options=()
  shift 2
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  job=$(sbatch --parsable --output="$name.log" "${options[@]}" "$scripts/$script.sbatch" "$@")
}

# has NAME WORD: the log says it.
has() { grep -qF -- "$2" "$1.log"; }

# finished NAME [FIELD=VALUE...]: awaits the end of $job, which is of this kind.
finished() {
  await over
  job_is "$job" JobState=COMPLETED ExitCode=0:0 "${@:2}" || fault "$1" "it is not COMPLETED with ${*:2}"
}
over() { scontrol --oneliner show job "$job" | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)'; }

# as_undisturbed NAME UNDISTURBED: the run ./NAME has ended with the bytes of that one.
as_undisturbed() { expect 0 "equal bit for bit" "$bin/skein-inspect" diff "$(last "$2")" "$(last "$1")"; }
last() { find -L "$1/checkpoints" -name 'step-*' | sort | tail -n 1; }

# requeued NAME: $job waits again, for the first time, with a commit and with code 85; then it begins at once.
requeued() {
  await job_is "$job" JobState=PENDING Restarts=1
  has "$1" "stopped as asked" || fault "$1" "it does not say that it was stopped"
  compgen -G "$1/checkpoints/step-*" >/dev/null || fault "$1" "there is no commit"
  has "$1" "stopped by USR2: code 85" || fault "$1" "it did not end with 85"
  await start_now "$job"
}

# make_steps NAME: awaits steps of the run ./NAME that it has not made yet.
make_steps() { await more_lines "$1/metrics.jsonl" "$(lines "$1/metrics.jsonl")"; }
more_lines() { [ "$(lines "$1")" -gt "${2:-0}" ]; }
lines() { sed -n '$=' "$1" 2>/dev/null || true; }

# Programs that only begin and end: which codes are restarted, and how often.
fake() {
  mkdir fake
  cat >fake/skein <<'SH'
#!/bin/sh
echo start >>"${0%/*}/starts"
for argument; do case $argument in --run.dir=*) touch "${argument#--run.dir=}/config.ini" ;; esac; done
exit $(cat "${0%/*}/code")
SH
  chmod +x fake/skein
}

# codes CODE STATE EXIT_CODE STARTS
codes() {
  rm -f fake/starts
  echo "$1" >fake/code
  BIN=$PWD/fake submit "code$1" pretrain -- --run.dir="fake/run$1"
  for start in $(seq "$4"); do
    if [ "$1" = 85 ] && [ "$start" -gt 1 ]; then
      await job_is "$job" JobState=PENDING Restarts=$((start - 1))
      await start_now "$job"
    fi
  done
  await over
  job_is "$job" "JobState=$2" "ExitCode=$3:0" || fault "code$1" "it is not $2 with $3"
  [ "$(wc -l <fake/starts)" = "$4" ] || fault "code$1" "$(wc -l <fake/starts) starts instead of $4"
}

test_codes() {
  fake
  codes 0 COMPLETED 0 1
  for code in 2 70 76; do codes $code FAILED $code 1; done
  expect 1 "the ranks have not begun" env SKEIN_STARTS=fake/run0/none "$scripts/start" true
  codes 85 FAILED 1 3
  has code85 "3 starts in a row without a new checkpoint: given up" || fault code85 "it does not say why it ends"
}

# srun and mpirun over four nodes.
test_finishing() {
  local launcher
  for launcher in srun mpirun; do
    SKEIN_LAUNCHER=$launcher submit $launcher pretrain --nodelist=n3,n4,n5,n6 --nodes=4 --ntasks-per-node=1 -- $few --run.dir=$launcher
    finished $launcher Restarts=0
    as_undisturbed $launcher few
  done
}

# test_preempt ROUND: an urgent job takes the nodes of one that makes steps.
test_preempt() {
  local name=round$1 begin took urgent
  SKEIN_LAUNCHER=$( (($1 % 2)) && echo mpirun || echo srun) submit "$name" pretrain $two -- $train --run.dir="$name"
  make_steps "$name"
  sleep "0.$((RANDOM % 10))"
  begin=$(date +%s%3N)
  urgent=$(sbatch --parsable --partition=high --exclusive $two --output=/dev/null --wrap true)
  (await has "$name" "stopped by USR2: code 85") || fault "$name" "it is not stopped"
  took=$(($(date +%s%3N) - begin))
  ((took <= 10000)) || fault "$name" "it took $took ms to commit and end"
  echo $took >>"$scratch/took"
  await job_is "$urgent" JobState=COMPLETED
  requeued "$name"
  finished "$name" Restarts=1
  has "$name" "goes on from" || fault "$name" "it began anew"
  as_undisturbed "$name" whole
  rm -r "$name" "$name.log"
}

# A job without an end that has a minute and is told 50 s before; meanwhile other tests run, so it is nice.
test_time_limit() {
  mkdir nice
  printf '#!/bin/sh\nexec nice -n 19 %s/skein "$@"\n' "$bin" >nice/skein
  chmod +x nice/skein
  BIN=$PWD/nice submit limit pretrain --nodelist=n4 --time=1 --signal=B:USR2@50 -- $train --train.steps=100000000 --run.dir=limit
  requeued limit
  await has limit "goes on from"
  cancelled limit 1
}

# cancelled NAME RESTARTS: scancel ends $job for good.
cancelled() {
  make_steps "$1"
  scancel "$job"
  await over
  sleep 1
  job_is "$job" JobState=CANCELLED "Restarts=$2" || fault "$1" "it is not CANCELLED with $2 restarts"
}

# Under srun with a commit; mpirun may kill its ranks before.
test_scancel() {
  local launcher
  for launcher in srun mpirun; do
    SKEIN_LAUNCHER=$launcher submit "cancel-$launcher" pretrain $two -- $train --train.steps=100000000 --run.dir="cancel-$launcher"
    cancelled "cancel-$launcher" 0
  done
  has cancel-srun "Slurm has ended the job" || fault cancel-srun "it does not say that it is not requeued"
  compgen -G "cancel-srun/checkpoints/step-*" >/dev/null || fault cancel-srun "there is no commit"
}

# ranks NAME: the processes of the run ./NAME.
ranks() {
  local process
  for process in $(pgrep -x skein); do
    ! grep -qzFx -- "--run.dir=$1" "/proc/$process/cmdline" 2>/dev/null || echo "$process"
  done
}

# A killed rank is one of either node; the job goes on inside its allocation.
test_killed_ranks() {
  local name launcher
  for launcher in srun mpirun; do
    name=killed-$launcher
    SKEIN_LAUNCHER=$launcher submit "$name" pretrain $two -- $few --checkpoint.every=50 --run.dir="$name"
    await compgen -G "$name/checkpoints/step-*"
    kill -KILL "$(ranks "$name" | shuf -n 1)"
    finished "$name" Restarts=0
    has "$name" "supervise: code" || fault "$name" "nothing was started again"
    as_undisturbed "$name" few
  done
}

# Two tasks of an array are told that their time is over and come back, each once: the table is that of an undisturbed sweep.
test_sweep() {
  local sweep task
  sweep="--config $SKEIN_TEST_SOURCE_DIR/configs/sweeps/tiny.ini --data.train=train.h5 --data.validation=valid.h5 --sweep.budgets=2e9,3e10"
  expect 0 "4 of 4 cells are done" "$bin/skein" sweep $sweep --run.dir=cells
  submit array sweep --array=0-1 --exclude=n1,n2 -- $sweep --run.dir=array
  await eval '[ "$(cat array/cells/*/metrics.jsonl | wc -l)" -gt 20 ]'
  scancel --batch --signal=USR2 "$job"
  for task in 0 1; do
    await job_is "${job}_$task" JobState=PENDING Restarts=1
    await start_now "${job}_$task"
  done
  for task in 0 1; do
    await job_is "${job}_$task" JobState=COMPLETED Restarts=1 ExitCode=0:0
  done
  expect 0 "0 failed, 0 unfinished; 0 of them in this start" "$bin/skein" sweep $sweep --run.dir=array
  cmp cells/curves.csv array/curves.csv || fault array "its losses are others"
}

# Instruction tuning is stopped and goes on before PPO begins.
test_rlhf() {
  mkdir steps
  for i in $(seq 16); do echo "{\"prompt\": \"the quick $i\", \"completion\": \" fox\"}"; done >pairs.jsonl
  for i in $(seq 16); do echo "{\"prompt\": \"the quick $i\"}"; done >prompts.jsonl
  printf '[checkpoint]\nload=whole\n[chat]\ntemplate=none\n[data]\ntrain=pairs.jsonl\n[train]\nglobal_batch=8\nsteps=400\n' >steps/sft.ini
  printf '[checkpoint]\nload=steps/sft\n[chat]\ntemplate=none\n[data]\nprompts=prompts.jsonl\n[reward]\nsources=length:max=8\n' >steps/ppo.ini
  printf '[train]\nglobal_batch=8\n[ppo]\niterations=2\nrollout_batch=16\n[generate]\nmax_tokens=8\n' >>steps/ppo.ini
  submit steps rlhf $two -- steps
  make_steps steps/sft
  # To the ranks, past the script.
  scancel --signal=USR2 "$job"
  await job_is "$job" JobState=PENDING Restarts=1
  [ ! -e steps/ppo ] || fault steps "PPO began before the step before it was over"
  await start_now "$job"
  finished steps Restarts=1
  has steps "step 400/400" && has steps "iteration 2/2" || fault steps "a step is missing"
}

# lane NAME NODES TEST...: tests one after the other, in a folder and on two nodes of their own; urgent jobs take n1 and n2 alone.
# preempt=3 is test_preempt 3.
lane() {
  local test two="--nodelist=$2 --nodes=2 --ntasks-per-node=1" begin
  mkdir "$1" && cd "$1" && ln -s ../{whole,few,train.h5,valid.h5} .
  for test in "${@:3}"; do
    begin=$SECONDS
    "test_${test%=*}" "${test#*=}"
    echo "$test: $((SECONDS - begin)) s"
  done
}

# lanes NAME TESTS...: as many at a time, each in a process.
lanes() {
  local name=$1 number=0 tests
  shift
  for tests; do
    lane "$name$number" "n$((2 * number + 1)),n$((2 * number + 2))" $tests &
    number=$((number + 1))
  done
  for tests; do wait -n || exit 1; done
}

# preempts FIRST LAST: the tests of these rounds.
preempts() { seq --format='preempt=%g' --separator=' ' "$1" "$2"; }

make_stores
# More than a job makes until an urgent one is heard of.
train="$small --train.steps=4000 --checkpoint.every=1000000"
few="$small --train.steps=300"
expect 0 "done: 4000 steps" "$bin/skein" pretrain $train --run.dir=whole
expect 0 "done: 300 steps" "$bin/skein" pretrain $few --run.dir=few
cluster_up "$scratch/cluster" 6 85 || { tail -n 5 "$cluster"/log/* >&2; die "the cluster does not come up"; }
half=$(((rounds + 1) / 2))
lanes first "$(preempts 0 $((half - 1))) codes" "time_limit scancel" "killed_ranks"
cluster_requeues ""
lanes second "$(preempts $half $((rounds - 1))) scancel" "sweep finishing" "rlhf"
((rounds == 0)) || echo "$rounds preemptions: the slowest commit took $(sort -n took | tail -1) ms"
echo passed
