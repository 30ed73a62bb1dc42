#include "rendezvous.h"

#include "skein/core/error.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace skein {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstLine = "skein rendezvous 1";

}  // namespace

bool is_file(const std::string& rendezvous) { return rendezvous.starts_with("file:"); }

std::string file_of(const TcpJob& job) {
  std::string path = job.rendezvous.substr(5);
  if (path.starts_with("//")) path = path.substr(2);
  require(path.starts_with("/"), "{}={} is no absolute path; write file:///path/of/a/new/file that all ranks see",
          job.origin, job.rendezvous);
  std::error_code none;
  const fs::path folder = fs::path(path).parent_path();
  require(fs::is_directory(folder, none), "{}={}: there is no folder {} on host {}; name a file in a folder that all ranks see",
          job.origin, job.rendezvous, folder.string(), host_name());
  require(!fs::is_directory(path, none), "{}={} is a folder; name a file in it that does not exist yet", job.origin,
          job.rendezvous);
  return path;
}

Address address_of(const TcpJob& job) {
  const std::string& text = job.rendezvous;
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto read = colon == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                               : std::from_chars(text.data() + colon + 1, end, port);
  const bool good = read.ec == std::errc() && read.ptr == end && port >= 1 && port <= 65535 && !host.empty() &&
                    (bracketed || host.find(':') == std::string::npos);
  require(good, "{}={} is no rendezvous; write host:port with a port from 1 to 65535 ([host]:port for IPv6), where rank 0 "
          "runs on that host, or file:///path of a file that all ranks see", job.origin, text);
  return {host, port};
}

void write_place(const TcpJob& job, const Place& place) {
  const std::string path = file_of(job), draft = fmt::format("{}.{:x}", path, place.job);
  std::ofstream out(draft);
  out << kFirstLine << "\n" << place.ranks << " " << place.job << "\n";
  for (const Address& address : place.addresses) out << address.host << " " << address.port << "\n";
  out << "end\n";
  out.close();
  std::error_code error;
  if (out) fs::rename(draft, path, error);
  const std::string reason = out ? error.message() : std::string("its folder takes no new file, or the disk is full");
  const bool written = out && !error;
  if (!written) fs::remove(draft, error);
  require(written, "{}={} cannot be written by rank 0 on host {}: {}; name a file in a folder it may write to", job.origin,
          job.rendezvous, host_name(), reason);
}

std::optional<Place> read_place(const std::string& path, std::string& fault) {
  std::ifstream in(path);
  if (!in) return fault = fmt::format("{} does not exist yet", path), std::nullopt;
  std::string first, word;
  Place place;
  std::getline(in, first);
  in >> place.ranks >> place.job;
  while (in >> word && word != "end") {
    int port = 0;
    in >> port;
    place.addresses.push_back({word, port});
  }
  if (first == kFirstLine && word == "end" && !place.addresses.empty()) return place;
  return fault = fmt::format("{} is no rendezvous that Skein has written", path), std::nullopt;
}

}  // namespace skein
