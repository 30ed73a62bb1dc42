# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the batch scripts here: `train` starts the ranks and starts them again, `end_job` says what becomes of the job.
#
# Who does what:
#   Slurm             sends USR2 to this shell before the time limit and at a preemption (#SBATCH --signal=B:USR2@120), TERM at scancel
#   this shell        passes both on as USR2, and puts a job that was stopped with a commit (code 85) back into the queue
#   launch/supervise  starts the ranks again inside the allocation when one was killed, hung or failed; gives up after some
#                     starts without a new checkpoint; never starts again on 2, 70, 76 and 85
#   start             tells supervise when srun has not begun
#   srun, mpirun      pass USR2 on to all ranks, which commit and end with 85
#
# Set by the environment (sbatch hands it on), or here:
#   SKEIN_LAUNCHER        srun (the default) or mpirun, inside the allocation
#   SKEIN_LAUNCH_OPTIONS  more words for it, such as "--cpu-bind=none"
#   SKEIN_MPI             what srun --mpi is given: pmix (the default); `srun --mpi=list` tells which there are
#   SKEIN_MOST_STARTS     give up after so many starts in a row without a new checkpoint (3)
#   BIN                   where skein is (build/cpu/bin of the repository, on GPUs build/cuda/bin; or what is installed)
set -uo pipefail

launcher=${SKEIN_LAUNCHER:-srun}
most=${SKEIN_MOST_STARTS:-3}
source "$SKEIN_ROOT/launch/place.sh" || exit 2
child="" asked="" run="" code=0

say() { printf '%s job %s: %s\n' "$(date +%T)" "$SLURM_JOB_ID" "$*" >&2; }

complain() {
  say "$*"
  exit 2
}

[[ -x $bin/skein ]] || complain "there is no program $bin/skein; give its folder by BIN"

# `wait` returns when a signal comes, a foreground command would keep it waiting: so the ranks run in the background.
pass_on() {
  asked=$1
  [[ -z $child ]] || kill -USR2 "$child" 2>/dev/null
}
for signal in HUP INT TERM USR1 USR2; do
  # shellcheck disable=SC2064
  trap "pass_on $signal" "$signal"
done

# The words before `skein`.
launch_words() {
  local more
  read -ra more <<<"${SKEIN_LAUNCH_OPTIONS:-}"
  case $launcher in
    srun)
      # Since 22.05 srun does not take this from the job by itself.
      [[ -z ${SLURM_CPUS_PER_TASK:-} ]] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
      words=(srun "--mpi=${SKEIN_MPI:-pmix}" --kill-on-bad-exit=1)
      ;;
    mpirun) words=(mpirun) ;;
    *) complain "SKEIN_LAUNCHER=$launcher is neither srun nor mpirun" ;;
  esac
  words+=("${more[@]}")
}

# train COMMAND [OPTION...]: `skein COMMAND` on all tasks of the job until it has ended for good; its code is in $code.
train() {
  local words
  run=$(run_of "$@")
  [[ -n $run ]] || complain "which folder is the run's? Give --run.dir=DIR"
  launch_words
  begin_start
  SKEIN_STARTS=$starts "$SKEIN_ROOT/launch/supervise" --run "$run" --without-commit "$most" -- \
    "$SKEIN_ROOT/launch/slurm/start" "${words[@]}" "$bin/skein" "$@" &
  child=$!
  [[ -z $asked ]] || kill -USR2 "$child" 2>/dev/null
  await_child
}

# A signal ends `wait`, not the child; the shell remembers a child's code after its end.
await_child() {
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done
  wait "$child"
  code=$?
  child=""
}

# A file of this job in the run's folder counts its starts without a commit, over requeues.
begin_start() {
  mkdir -p "$run" || exit 1
  starts=$run/slurm-$SLURM_JOB_ID.starts
  [[ -e $starts ]] || echo 0 >"$starts"
  before=$(commits "$run")
}

# Whether Slurm requeues a job that ends with this code by itself (RequeueExit=85, or a range, in slurm.conf).
slurm_requeues() {
  scontrol show config | sed -n 's/^RequeueExit *= *//p' | tr ',' '\n' |
    awk -F- -v code="$1" '$1 == code || (NF == 2 && $1 <= code && code <= $2) { found = 1 } END { exit !found }'
}

# The step daemons of a requeued job have the same names again: what the old ones have not yet cleared away (it takes them 3 s) is in the way
# of the new ones, whose srun then says "launch failed".
let_steps_end() { [[ $launcher != srun ]] || sleep 5; }

# The job goes back into the queue once: Slurm does it where it knows the code, else we do. Not for a job that Slurm has ended already: scancel is
# the end, and what was preempted without a notice has been requeued.
requeue() {
  # A task of an array has a number of its own, but the last one has that of the whole array.
  local job=$SLURM_JOB_ID
  [[ -z ${SLURM_ARRAY_JOB_ID:-} ]] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
  if ! still_runs "$job"; then
    say "Slurm has ended the job (cancelled, out of time, or requeued): nothing to do"
    return
  fi
  let_steps_end
  if slurm_requeues "$code"; then
    say "RequeueExit requeues the job"
  elif scontrol requeue incomplete "$job"; then
    say "requeued"
  else
    say "not requeued"
  fi
}

still_runs() { [[ $(squeue --noheader --jobs "$1" --format %T) == RUNNING ]]; }

# Counts a start without a commit; false when there were too many.
may_go_on() {
  local without=0
  has_more "$before" "$(commits "$run")" || without=$(($(cat "$starts") + 1))
  echo "$without" >"$starts"
  ((without < most))
}

# Whether the job was stopped and has more to do: 143 and 130 are stops before there was a checkpoint, 140 is one before supervise could listen.
stopped() {
  case $code in
    85) ;;
    130 | 140 | 143) [[ -n $asked ]] ;;
    *) false ;;
  esac
}

# end_job: the job ends with $code, and goes back into the queue where it was stopped.
end_job() {
  local end=$code
  if stopped; then
    say "stopped${asked:+ by $asked}: code $code"
    if may_go_on; then
      requeue
    else
      say "$most starts in a row without a new checkpoint: given up. Is there time enough before the limit to load and to make a step?"
      end=1
    fi
  else
    rm -f "$starts"
  fi
  rm -f "$starts".begun
  exit "$end"
}
