#include "skein/checkpoint/generation.h"

#include <algorithm>
#include <cstdlib>

#include "skein/checkpoint/directory.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"

#include "seal.h"

namespace skein::checkpoint {
namespace {

constexpr char kGenerationOrigin[] = "the generation file";
constexpr size_t kLongestId = 64;

int64_t count(const nlohmann::json& json, const char* key) {
  return json.contains(key) ? whole<int64_t>(json.at(key), key, kGenerationOrigin) : 0;
}

bool of_an_id(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string generation_text(const Generation& g) {
  const char* job = std::getenv("SLURM_JOB_ID");
  nlohmann::json json{{"generation", g.number},
                      {"base", g.base},
                      {"ranks", g.ranks},
                      {"host", g.writer.host},
                      {"process", g.writer.process},
                      {"space", g.writer.space},
                      {"started", g.writer.started},
                      {"heartbeat", g.heartbeat},
                      {"job", job == nullptr ? "" : job},
                      {"created", utc_now()}};
  if (!g.run.empty()) json["run"] = g.run;
  return sealed(json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Generation parse_generation(const std::string& text) {
  const auto json = parse_strictly<nlohmann::json>(text, kGenerationOrigin, 4);
  if (json.contains("crc32c")) check_seal(text);  // older programs wrote none
  Generation read;
  read.number = count(json, "generation");
  json.at("base").get_to(read.base);
  if (!read.base.empty() && !CheckpointName::parse(read.base))
    fail("its base is {}, which names no checkpoint", excerpt(read.base));
  read.run = json.value("run", "");
  check_run_id(read.run, kGenerationOrigin);
  read.writer = {json.value("host", ""), json.value("space", ""), count(json, "process"),
                 count(json, "started")};
  read.heartbeat = json.value("heartbeat", "");
  if (!read.heartbeat.empty() && !read.heartbeat.starts_with(kHeartbeat))
    fail("its heartbeat is {}, which names none", excerpt(read.heartbeat));
  if (read.heartbeat.find('/') != std::string::npos)
    fail("its heartbeat is {}, in another folder", excerpt(read.heartbeat));
  return read;
}

std::string named(const Generation& g) {
  if (g.writer.host.empty()) return fmt::format("generation {} of this run", g.number);
  return fmt::format("generation {} of this run (host {}, process {})", g.number,
                     excerpt(g.writer.host), g.writer.process);
}

std::string new_run_id() { return unique_name() + unique_name(); }

void check_run_id(const std::string& id, const std::string& origin) {
  require(id.size() <= kLongestId && std::ranges::all_of(id, of_an_id),
          "{}: the run's id {} must be at most {} letters, digits, '-', '_' and '.'", origin,
          excerpt(id), kLongestId);
}

}  // namespace skein::checkpoint
