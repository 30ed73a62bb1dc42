#include "skein/comm/world.h"

#include "comm/mpi_main.h"

int main() { return skein::test::run_bodies(skein::start_world); }
