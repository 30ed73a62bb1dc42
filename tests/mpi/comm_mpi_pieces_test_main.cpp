// Messages and blocks cut into pieces, as those above 1 GiB are.
#include "skein/comm/mpi.h"

#include "comm/mpi_main.h"

int main() {
  return skein::test::run_bodies([] { return skein::start_mpi(10007, false); });
}
