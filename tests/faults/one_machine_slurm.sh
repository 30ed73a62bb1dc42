# shellcheck shell=bash disable=SC2046,SC2086
# Sourced: a Slurm cluster on this machine, as root, beside whatever Slurm there is: its daemons, ports, keys and files are its own.
# Nodes n1..nN are slurmd processes of one host; partition `high` preempts `main`. Nothing of it needs systemd, cgroups or a database.

cluster_file=$(readlink -f "${BASH_SOURCE[0]}")

# cluster_missing: says why there can be none here, or nothing.
cluster_missing() {
  local program
  [ "$(id -u)" = 0 ] || { echo "it starts the daemons of Slurm, which needs root"; return; }
  for program in slurmctld slurmd munged sbatch srun scontrol squeue scancel sinfo; do
    command -v $program >/dev/null || { echo "there is no $program (Debian: apt-get install slurm-wlm munge)"; return; }
  done
  mpirun_knows_slurm || echo "this mpirun was built without Slurm (ompi_info has no plm slurm)"
}

mpirun_knows_slurm() { grep -q '^mca:plm:slurm:' < <(ompi_info --parsable 2>/dev/null); }

# free_ports COUNT: the first of so many ports in a row that nobody listens at.
free_ports() {
  local first port
  while true; do
    first=$((20000 + RANDOM % 10000))
    for ((port = first; port < first + $1; ++port)); do
      ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
    done
    echo $first
    return
  done
}

# cluster_conf NODES REQUEUE_EXIT: slurm.conf. GraceTime is what a preempted job has, KillWait what a cancelled one has.
cluster_conf() {
  local host
  host=$(hostname -s)
  cat <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$cluster_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation=$cluster/state
SlurmctldPidFile=$cluster/pid.controller
SlurmctldLogFile=$cluster/log/controller
SlurmdPidFile=$cluster/pid.%n
SlurmdLogFile=$cluster/log/%n
SlurmdSpoolDir=$cluster/spool.%n
# One of its own for each node: PMIx of all of them would make the same folder.
TmpFS=$cluster/tmp.%n
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SlurmctldParameters=preempt_send_user_signal
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillOnBadExit=1
KillWait=5
MinJobAge=3600
ReturnToService=2
${2:+RequeueExit=$2}
NodeName=n[1-$1] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((cluster_port + 1))-$((cluster_port + $1))] CPUs=2 RealMemory=200
PartitionName=main Nodes=n[1-$1] Default=YES State=UP PriorityTier=1 GraceTime=15
PartitionName=high Nodes=n[1-$1] State=UP PriorityTier=10
CONF
}

# cluster_up FOLDER NODES [REQUEUE_EXIT]: brings it up in a folder that there is not yet; sets SLURM_CONF and what Open MPI needs on it.
cluster_up() {
  local node
  cluster=$1 cluster_nodes=$2 cluster_port=$(free_ports $(($2 + 1)))
  mkdir -m 755 "$cluster" "$cluster"/{munge,state,log}
  for ((node = 1; node <= $2; ++node)); do mkdir "$cluster/spool.n$node" "$cluster/tmp.n$node"; done
  cluster_conf "$2" "${3:-}" >"$cluster/slurm.conf"
  export SLURM_CONF=$cluster/slurm.conf
  # The nodes have one host name: shared memory between them would find the wrong peers.
  export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
  cluster_guard
  head -c 1024 /dev/urandom >"$cluster/munge/key" && chmod 600 "$cluster/munge/key"
  # --force: folders above, such as /tmp, may be anybody's.
  munged --force --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --pid-file="$cluster/pid.munge" \
    --log-file="$cluster/log/munge" --seed-file="$cluster/munge/seed" 2>/dev/null || return 1
  slurmctld -c 2>/dev/null || return 1
  for ((node = 1; node <= $2; ++node)); do slurmd -N "n$node" || return 1; done
  cluster_is_idle_within 20
}

cluster_is_idle_within() {
  for _ in $(seq $(($1 * 10))); do
    [ "$(sinfo -h -p main -t idle -o %D 2>/dev/null)" != "$cluster_nodes" ] || return 0
    sleep 0.1
  done
  return 1
}

# cluster_requeues REQUEUE_EXIT: from now on Slurm requeues jobs by that code; by none where it is empty.
cluster_requeues() {
  cluster_conf "$cluster_nodes" "$1" >"$cluster/slurm.conf"
  scontrol reconfigure
}

# Processes of the cluster: they were started with its slurm.conf or hold its files.
cluster_processes() {
  local folder
  {
    grep -lsF "SLURM_CONF=$cluster/slurm.conf" /proc/[0-9]*/environ
    for folder in /proc/[0-9]*; do
      [ -z "$(find "$folder/fd" "$folder/cwd" -lname "$cluster/*" -print -quit 2>/dev/null)" ] || echo "$folder/"
    done
  } | cut -d/ -f3 | sort -u | while read -r process; do
    # This shell and its children know SLURM_CONF too.
    [ ! -e "/proc/$process" ] || [ "$(ps -o sid= -p "$process")" = "$(ps -o sid= -p $$)" ] || echo "$process"
  done
}

# Takes the cluster down, and the scratch folder away, after a script that was killed and could not.
cluster_guard() {
  # shellcheck disable=SC2016
  (CLUSTER=$cluster SCRATCH=${scratch:-$cluster} OWNER=$$ setsid bash -c '
    source "$0"
    cluster=$CLUSTER
    while kill -0 "$OWNER" 2>/dev/null; do sleep 1; done
    cluster_down
    for folder in /proc/[0-9]*; do
      [[ $(readlink "$folder/cwd") != "$SCRATCH"/* ]] || kill -KILL "${folder#/proc/}"
    done
    rm -rf "$SCRATCH"
  ' "$cluster_file" </dev/null >/dev/null 2>&1 &)
}

# cluster_down: ends its jobs, its daemons and all that they have started; the folder goes too.
cluster_down() {
  [ -n "${cluster:-}" ] && [ -d "$cluster" ] || return 0
  local processes
  timeout 10 scancel --full --signal=KILL --user=root 2>/dev/null
  timeout 10 scancel --user=root 2>/dev/null
  for _ in $(seq 50); do [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break; sleep 0.1; done
  kill $(cat "$cluster"/pid.* 2>/dev/null) 2>/dev/null
  for _ in $(seq 50); do kill -0 $(cat "$cluster"/pid.* 2>/dev/null) 2>/dev/null || break; sleep 0.1; done
  processes=$(cluster_processes)
  [ -z "$processes" ] || kill -KILL $processes 2>/dev/null
  rm -rf "$cluster"
}

# job_is JOB FIELD=VALUE...: whether scontrol shows all of these of the job.
job_is() {
  local shown field
  shown=$(scontrol --oneliner show job "$1" 2>/dev/null) || return 1
  shift
  for field in "$@"; do [[ " $shown " == *" $field "* ]] || return 1; done
}

# start_now JOB: Slurm holds a requeued job back for two minutes, this one for two seconds: its nodes refuse the credential of a start in
# the second in which they have revoked the last one.
start_now() { scontrol update jobid="$1" starttime=now+2; }
