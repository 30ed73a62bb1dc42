#include "environment.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "skein/comm/tcp/private_file.h"
#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::tcp {
namespace {

std::string text_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

// Nothing when it is no whole number.
std::optional<int> number_in(const char* variable) { return parsed_number<int>(text_in(variable)); }

struct Names {
  const char* rank;
  const char* ranks;
};

Names names() {
  return rendezvous_is_set() ? Names{"SKEIN_RANK", "SKEIN_RANKS"} : Names{"RANK", "WORLD_SIZE"};
}

int number_from(const char* variable, int least, const char* advice) {
  const std::optional<int> number = number_in(variable);
  require(number && *number >= least, "{}={} is no whole number from {}; {}", variable,
          text_in(variable), least, advice);
  return *number;
}

int required_number(const char* variable, int least, const TcpJob& job, const char* advice) {
  require(std::getenv(variable) != nullptr, "{}={} is set, but {} is not; {}", job.origin,
          job.rendezvous, variable, advice);
  return number_from(variable, least, advice);
}

TcpJob job_without_numbers() {
  TcpJob job;
  job.origin = rendezvous_is_set() ? "SKEIN_RENDEZVOUS" : "MASTER_ADDR:MASTER_PORT";
  job.rendezvous = text_in("SKEIN_RENDEZVOUS");
  if (rendezvous_is_set()) return job;
  const std::string host = text_in("MASTER_ADDR"), port = text_in("MASTER_PORT");
  job.rendezvous =
      host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
  return job;
}

// Without the end of its last line.
std::string secret_in_file(const std::string& path) {
  std::string text =
      with_origin("SKEIN_RENDEZVOUS_SECRET_FILE=" + path, [&] { return read_private(path); });
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  require(!text.empty(), "SKEIN_RENDEZVOUS_SECRET_FILE={} is empty; put a secret into it", path);
  return text;
}

std::string secret_of_environment() {
  for (const char* variable : {"SKEIN_RENDEZVOUS_SECRET", "SKEIN_RENDEZVOUS_SECRET_FILE"})
    require(!std::getenv(variable) || !text_in(variable).empty(),
            "{} is set but empty; give it a value, or unset it", variable);
  const std::string path = text_in("SKEIN_RENDEZVOUS_SECRET_FILE");
  const std::string secret = text_in("SKEIN_RENDEZVOUS_SECRET");
  require(path.empty() || secret.empty(),
          "SKEIN_RENDEZVOUS_SECRET and SKEIN_RENDEZVOUS_SECRET_FILE are both set; unset one");
  return path.empty() ? secret : secret_in_file(path);
}

bool open_by_environment() {
  const std::string text = text_in("SKEIN_RENDEZVOUS_OPEN");
  require(text.empty() || text == "0" || text == "1",
          "SKEIN_RENDEZVOUS_OPEN={} is neither 1 nor 0; give 1 to let in everybody who reaches the "
          "port",
          text);
  return text == "1";
}

}  // namespace

bool rendezvous_is_set() { return std::getenv("SKEIN_RENDEZVOUS") != nullptr; }

bool master_is_set() {
  for (const char* variable : {"MASTER_ADDR", "MASTER_PORT", "RANK"})
    if (!std::getenv(variable)) return false;
  return number_in("WORLD_SIZE").value_or(1) > 1;
}

void require_whole_master() {
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  const auto others = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"};
  if (!is_set("RANK") || std::ranges::none_of(others, is_set)) return;
  const std::optional<int> ranks = number_in("WORLD_SIZE");
  if (ranks.value_or(2) <= 1) return;
  for (const char* variable : others)
    require(is_set(variable),
            "RANK={} is set, but {} is not, so each process of the job would run alone; set "
            "MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, or unset RANK",
            text_in("RANK"), variable);
  require(ranks.has_value(),
          "WORLD_SIZE={} is no whole number, so each process of the job would run alone; give all "
          "processes of the job their number",
          text_in("WORLD_SIZE"));
}

TcpJob job_of_environment() {
  const auto [rank, ranks] = names();
  TcpJob job = job_without_numbers();
  job.ranks = required_number(ranks, 1, job, "give all processes of the job their number");
  job.rank = required_number(rank, 0, job,
                             "give each process its own, from 0 to one below the number of ranks");
  require(job.rank < job.ranks, "{}={} is not below {}={}; ranks count from 0", rank, job.rank,
          ranks, job.ranks);
  job.secret = secret_of_environment();
  job.open = open_by_environment();
  job.timeout = rendezvous_timeout();
  if (std::getenv("SKEIN_KEEPALIVE"))
    job.keepalive = number_from("SKEIN_KEEPALIVE", 1,
                                "give the seconds after which a silent host counts as lost");
  return job;
}

int rendezvous_timeout() {
  if (!std::getenv("SKEIN_RENDEZVOUS_TIMEOUT")) return static_cast<int>(TcpJob{}.timeout);
  return number_from("SKEIN_RENDEZVOUS_TIMEOUT", 1,
                     "give the seconds that ranks wait for each other at the start");
}

TcpJob guess_of_environment() {
  const auto [rank, ranks] = names();
  TcpJob job = job_without_numbers();
  job.rank = number_in(rank).value_or(0);
  job.ranks = number_in(ranks).value_or(0);
  return job;
}

}  // namespace skein::tcp
