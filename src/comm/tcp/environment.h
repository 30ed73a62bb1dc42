// The environment that asks for ranks over TCP.
#pragma once

#include "skein/comm/tcp/tcp.h"

namespace skein::tcp {

// SKEIN_RENDEZVOUS is set; it wins over any launcher.
bool rendezvous_is_set();
// MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE are, and the last is above 1: what other programs
// of the field begin with.
bool master_is_set();
// A usage error, naming the variable, where RANK and another of these say that the process is one
// of several, but not all are there or the last is no number.
void require_whole_master();

// The job they describe. Usage errors name the variable that is missing or wrong, and its value.
TcpJob job_of_environment();
// The same, with 0 for numbers that are none.
TcpJob guess_of_environment();

// Seconds that the ranks of any launcher wait for each other; a usage error where
// SKEIN_RENDEZVOUS_TIMEOUT is no number of them.
int rendezvous_timeout();

}  // namespace skein::tcp
