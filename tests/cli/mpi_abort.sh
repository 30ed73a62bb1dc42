#!/usr/bin/env bash
# A rank that is ended by a thread of its own while it waits for others ends the whole job, with its code.
source "$(dirname "$0")/expect.sh"
for ranks in 2 4; do
  expect 75 "rank 1 ends the job" mpirun -np "$ranks" "$bin/comm_mpi_test" end
done
SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANK=0 SKEIN_RANKS=2 timeout 120 "$bin/comm_mpi_test" end >other 2>&1 &
other=$!
expect 75 "rank 1 ends the job" env SKEIN_RENDEZVOUS="file://$scratch/meet" SKEIN_RANK=1 SKEIN_RANKS=2 "$bin/comm_mpi_test" end
[ "$(wc -l <output)" = 1 ] || { cat output >&2; die "rank 1 says more than why it ends the job"; }
code=0
wait $other || code=$?
[ "$code" = 75 ] || { cat other >&2; die "rank 0 ends with $code instead of 75"; }
echo passed
