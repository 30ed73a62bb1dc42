#include <filesystem>

#include "skein/comm/tcp/private_file.h"
#include "skein/comm/tcp/secret.h"
#include "skein/core/error.h"
#include "skein/core/host.h"
#include "skein/core/strings.h"

#include "rendezvous.h"

namespace skein::tcp {
namespace {

namespace fs = std::filesystem;

void check_secret(const TcpJob& job) {
  require(job.secret.empty() || job.secret.size() >= kShortestSecret,
          "the secret of the rendezvous has {} bytes; give one of {} or more, as `openssl rand "
          "-hex 16` writes it",
          job.secret.size(), kShortestSecret);
}

// Whoever reaches an open port can join as a rank.
void check_open(const TcpJob& job) {
  const Address at = address_of(job);
  require(
      job.ranks == 1 || job.open || !job.secret.empty() || is_loopback(at.host),
      "{}={} can be reached from other hosts, and without a secret whoever reaches it can join the "
      "job; give all ranks the same SKEIN_RENDEZVOUS_SECRET or SKEIN_RENDEZVOUS_SECRET_FILE, or "
      "set SKEIN_RENDEZVOUS_OPEN=1 on a network where everybody is trusted",
      job.origin, job.rendezvous);
}

// False where nothing is; Error(failure) where that cannot be found out.
bool is_folder(const TcpJob& job, const std::string& path) {
  std::error_code error;
  const bool is = fs::is_directory(path, error);
  if (error && !names_nothing(error.value()))
    fail("{}={}: {} cannot be looked at on host {}: {}", job.origin, job.rendezvous, path,
         host_name(), error.message());
  return is;
}

RendezvousRecord record_at(const std::string& path) {
  const std::string text = read_private(path);
  try {
    return record_in(text);
  } catch (const Error& error) {
    fail("{} is no rendezvous: {}", path, error.what());
  }
}

}  // namespace

void check_rendezvous(const TcpJob& job) {
  check_secret(job);
  if (is_file(job.rendezvous))
    file_of(job);
  else
    check_open(job);
}

bool is_file(const std::string& rendezvous) { return rendezvous.starts_with("file:"); }

std::string file_of(const TcpJob& job) {
  std::string path = job.rendezvous.substr(5);
  if (path.starts_with("//")) path = path.substr(2);
  require(path.starts_with("/"),
          "{}={} is no absolute path; write file:///path/of/a/new/file that all ranks see",
          job.origin, job.rendezvous);
  const std::string folder = fs::path(path).parent_path();
  require(is_folder(job, folder),
          "{}={}: there is no folder {} on host {}; name a file in a folder that all ranks see",
          job.origin, job.rendezvous, folder, host_name());
  require(!is_folder(job, path), "{}={} is a folder; name a file in it that does not exist yet",
          job.origin, job.rendezvous);
  return path;
}

Address address_of(const TcpJob& job) {
  const std::string& text = job.rendezvous;
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const int port = colon == text.npos ? 0 : parsed_number<int>(text.substr(colon + 1)).value_or(0);
  const bool good = port >= 1 && port <= 65535 && !host.empty() &&
                    (bracketed || host.find(':') == std::string::npos);
  require(good,
          "{}={} is no rendezvous; write host:port with a port from 1 to 65535 ([host]:port for "
          "IPv6), where rank 0 runs on that host, or file:///path of a file that all ranks see",
          job.origin, text);
  return {host, port};
}

PublishedRecord::PublishedRecord(const TcpJob& job, const RendezvousRecord& record)
    : path_(file_of(job)), number_(record.job) {
  try {
    write_private(path_, text_of(record));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}={} cannot be written by rank 0 on host {}: {}; name "
                                          "a file in a folder it may write to",
                                          job.origin, job.rendezvous, host_name(), error.what()));
  }
}

PublishedRecord::~PublishedRecord() {
  std::string fault;
  std::error_code none;
  const std::optional<RendezvousRecord> found = read_record(path_, fault);
  if (found && found->job == number_) fs::remove(path_, none);
}

std::optional<RendezvousRecord> read_record(const std::string& path, std::string& fault) {
  try {
    return record_at(path);
  } catch (const Error& error) {
    fault = error.what();
  }
  return std::nullopt;
}

}  // namespace skein::tcp
