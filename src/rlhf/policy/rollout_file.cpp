#include "rollout_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/files/retry.h"
#include "skein/core/json.h"
#include "skein/core/log.h"

namespace skein::rlhf::policy {
namespace {

using Json = nlohmann::ordered_json;

// Bytes of the whole lines of iterations up to `done`. Lines are in the order of iterations, so the
// first other one ends them.
int64_t bytes_up_to(const std::string& path, int64_t done) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) fail_system(errno, "cannot open {}", path);
  int64_t kept = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() ||
        json["step"] > done)
      break;
    kept += std::ssize(line) + 1;
  }
  if (file.bad()) fail_system(EIO, "cannot read {}", path);
  return kept;
}

int64_t bytes_to_keep(const std::string& path, int64_t done) {
  return is_there(path) ? retried([&] { return bytes_up_to(path, done); }) : 0;
}

Json line_of(int64_t iteration, const Episode& episode, size_t index, const Tuning& tuning,
             const Rollout& rollout) {
  Json line{{"step", iteration}, {"number", episode.number}};
  const auto& messages = episode.prompt.messages;
  if (messages.size() > 1)
    for (const auto& [role, content] : messages)
      line["messages"].push_back({{"role", role}, {"content", content}});
  else
    line["prompt"] = episode.prompt.text();
  line["answer"] = tuning.text_of(episode.tokens);
  line["score"] = episode.path.score;
  for (const auto& [label, scores] : rollout.sources) line["scores"][label] = scores[index];
  line["reward"] = response_reward(episode.path);
  line["kl"] = response_kl(episode.path);
  line["tokens"] = episode.tokens.size();
  line["ended"] = episode.path.ended;
  return line;
}

}  // namespace

RolloutFile::RolloutFile(const std::string& path, int64_t done, Group& world) : path_(path) {
  checkpoint::agree(world, [&] {
    if (world.rank() > 0) return;
    require(!is_folder(path_),
            "{} is a folder; choose another run.dir, or leave out ppo.save_rollouts", path_);
    const int64_t kept = bytes_to_keep(path_, done);
    try {
      remove_unfinished(path_);
      if (kept > 0)
        file_.cut(path_, kept);
      else
        file_.begin(path_, "");
      sync_directory(std::filesystem::path(path_).parent_path().string());
    } catch (const SystemError& error) {
      fail("{}, or leave out ppo.save_rollouts", with_advice(error));
    }
  });
}

void RolloutFile::write(int64_t iteration, const Tuning& tuning, const Rollout& rollout) {
  if (!file_.is_open()) return;
  std::string lines;
  for (size_t i = 0; i < rollout.episodes.size(); ++i)
    lines += line_of(iteration, rollout.episodes[i], i, tuning, rollout)
                 .dump(-1, ' ', false, Json::error_handler_t::replace) +
             "\n";
  try {
    file_.add(lines);
  } catch (const SystemError& error) {
    give_up(error.what());
  }
}

void RolloutFile::sync(const checkpoint::RunClaim* claim) {
  if (!file_.is_open()) return;
  try {
    file_.sync(claim);
  } catch (const Error& error) {
    give_up(error.what());
  }
}

void RolloutFile::give_up(const std::string& why) {
  log::warn(
      "{} cannot be written any more ({}); the run goes on without it, and what it holds ends here",
      path_, why);
  file_.close();
}

}  // namespace skein::rlhf::policy
