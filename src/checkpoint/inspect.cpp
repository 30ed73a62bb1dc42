#include "skein/checkpoint/inspect.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <optional>

#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/shard.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/options/program.h"
#include "skein/core/strings.h"

#include "inspect_tensors.h"
#include "open.h"

namespace skein::checkpoint {
namespace {

using Words = std::vector<std::string>;

// A checkpoint's own path, or those in a run's directory, newest first.
Words checkpoints_in(const std::string& path) {
  require(is_folder(path), "there is no directory {}", path);
  if (is_checkpoint_path(path)) return {plain_path(path)};
  const std::string folder = checkpoint_folder(path);
  Words paths;
  for (const CheckpointName& name : committed_checkpoints(folder))
    paths.push_back(join_path(folder, name.text()));
  require(!paths.empty(), "{}", no_checkpoint(path));
  return paths;
}

// A checkpoint's own path, or the newest with a good manifest in a run's directory: as training
// passes over what is damaged.
std::string one_checkpoint(const std::string& path) {
  const Words paths = checkpoints_in(path);
  if (paths.size() == 1) return paths.front();
  for (const std::string& candidate : paths) {
    const std::string fault = refusal_of([&] { read_manifest(candidate); });
    if (fault.empty()) return candidate;
    log::warn("{} is passed over: {}", candidate, fault);
  }
  fail_usage(
      "none of the {} checkpoints in {} has a good manifest; `skein-inspect list {}` says more",
      paths.size(), path, path);
}

using Faults = std::vector<std::string>;  // of one checkpoint, a line each; none of a good one

void add_fault(Faults& faults, const std::function<void()>& look) {
  const std::string fault = refusal_of(look);
  if (!fault.empty()) faults.push_back(fault);
}

// `manifest` is what it says of itself, where it can be read.
Faults faults_of(const std::string& path, std::optional<Manifest>& manifest) {
  Faults faults;
  add_fault(faults, [&] { manifest = read_manifest(path); });
  if (!manifest) return faults;
  for (const ShardEntry& shard : manifest->shards)
    add_fault(faults, [&] { verify_shard(path, shard); });
  return faults;
}

// Beyond the sums: each shard opens and holds every dataset that the manifest lists.
Faults content_faults(const std::string& path, const Manifest& manifest) {
  Faults faults;
  for (int shard = 0; shard < manifest.ranks(); ++shard)
    add_fault(faults, [&] {
      const ShardReader reader(read_shard(path, manifest.shards[shard]), header_of(manifest, shard),
                               join_path(path, manifest.shards[shard].file));
      for (const auto& [name, tensor] : manifest.tensors)
        for (const StoredPiece& piece : tensor.pieces)
          if (piece.shard == shard)
            reader.elements(piece.dataset, tensor.dtype, tensor.shape, piece.region);
    });
  return faults;
}

void list_one(const std::string& directory, const CheckpointName& name, std::ostream& out) {
  std::optional<Manifest> manifest;
  const Faults faults = faults_of(join_path(directory, name.text()), manifest);
  out << fmt::format("{:>10} {:>10} {:>6} {:>12} {:<21} {}\n", name.step, name.generation,
                     manifest ? std::to_string(manifest->ranks()) : "?",
                     manifest ? readable_size(manifest->bytes()) : "?",
                     manifest ? manifest->created : "?",
                     faults.empty() ? "good" : "DAMAGED: " + faults.front());
}

int list(const Words& words, std::ostream& out) {
  require(is_folder(words[0]), "there is no directory {}", words[0]);
  const std::string folder = checkpoint_folder(words[0]);
  const auto names = committed_checkpoints(folder);
  require(!names.empty(), "{}", no_checkpoint(words[0]));
  out << fmt::format("{:>10} {:>10} {:>6} {:>12} {:<21} {}\n", "step", "generation", "ranks",
                     "size", "created", "state");
  for (const CheckpointName& name : names) list_one(folder, name, out);
  return 0;
}

int tensors(const Words& words, std::ostream& out) {
  const Manifest manifest = read_manifest(one_checkpoint(words[0]));
  size_t width = 0;
  for (const auto& [name, tensor] : manifest.tensors) width = std::max(width, name.size());
  for (const auto& [name, tensor] : manifest.tensors)
    out << fmt::format("{:<{}}  {:<4}  {}\n", name, width, name_of(tensor.dtype),
                       shape_text(tensor.shape));
  return 0;
}

int verify(const Words& words, std::ostream& out) {
  const std::string path = checkpoints_in(words[0]).front();
  std::optional<Manifest> manifest;
  Faults faults = faults_of(path, manifest);
  if (faults.empty()) faults = content_faults(path, *manifest);
  for (const std::string& fault : faults) out << fault << "\n";
  if (!faults.empty()) return static_cast<int>(ExitCode::usage);
  out << fmt::format("{} is good: {} tensors, {} files, {}\n", path, manifest->tensors.size(),
                     manifest->ranks(), readable_size(manifest->bytes()));
  return 0;
}

int stats(const Words& words, std::ostream& out) {
  print_stats(one_checkpoint(words[0]), Words(words.begin() + 1, words.end()), out);
  return 0;
}

int diff(const Words& words, std::ostream& out) {
  return print_difference(one_checkpoint(words[0]), one_checkpoint(words[1]), out) ? 0 : 1;
}

int config(const Words& words, std::ostream& out) {
  out << nlohmann::json::parse(read_manifest(one_checkpoint(words[0])).metadata).dump(2) << "\n";
  return 0;
}

struct Command {
  const char* name;
  int (*run)(const Words&, std::ostream&);
  size_t least, most;  // arguments
  const char* arguments;
  const char* help;
};

// By name.
constexpr Command kCommands[] = {
    {"config", config, 1, 1, "CKPT", "what the run stored beside its tensors"},
    {"diff", diff, 2, 2, "CKPT1 CKPT2",
     "tensors that differ, and by how much; exit code 1 when any does"},
    {"list", list, 1, 1, "DIR", "checkpoints of a run, newest first, each verified"},
    {"stats", stats, 2, 1000000, "CKPT NAME...",
     "minimum, maximum, mean, deviation, norm, oddities"},
    {"tensors", tensors, 1, 1, "CKPT", "names, types and shapes"},
    {"verify", verify, 1, 1, "CKPT",
     "every checksum and that all tensors are whole; exit code 2 when not"},
};

std::vector<CommandHelp> command_helps() {
  std::vector<CommandHelp> all;
  for (const Command& command : kCommands)
    all.push_back({command.name, command.arguments, command.help});
  return all;
}

bool asks_for_help(const Words& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

std::string as_sentence(std::string text) {
  text[0] = std::toupper(text[0] & 0xFF);
  return text;
}

}  // namespace

std::string inspect_help(HelpForm form) {
  return program_help("skein-inspect", "Looks at checkpoints.", command_helps(),
                      "CKPT is a checkpoint's directory, or a run's, for its newest.\n", form);
}

int inspect(const std::vector<std::string>& words, std::ostream& out) {
  const std::string name = words.empty() ? "" : words[0];
  const auto* found = std::ranges::find(kCommands, name, &Command::name);
  if (found == std::end(kCommands)) refuse_command("skein-inspect", words, command_helps());
  const Command& command = *found;
  const Words arguments(words.begin() + 1, words.end());
  if (asks_for_help(arguments)) {
    out << fmt::format("{}.\n\nUsage: skein-inspect {} {}\n", as_sentence(command.help), words[0],
                       command.arguments);
    return 0;
  }
  require(arguments.size() >= command.least && arguments.size() <= command.most,
          "{} arguments were given; `skein-inspect {}` takes {}", arguments.size(), words[0],
          command.arguments);
  return command.run(arguments, out);
}

}  // namespace skein::checkpoint
