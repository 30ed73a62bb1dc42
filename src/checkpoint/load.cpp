#include <algorithm>
#include <ranges>
#include <set>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/parameters.h"
#include "skein/checkpoint/reshard.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"

#include "open.h"

namespace skein::checkpoint {
namespace {

constexpr size_t kNamesShown = 20;

struct Mismatches {
  std::set<std::string> missing, extra, shapes, types;
};

std::string listed(const char* title, const std::set<std::string>& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("\n  {} ({}):", title, names.size());
  size_t shown = 0;
  for (const std::string& name : names) {
    if (++shown > kNamesShown) return text + " ...";
    text += (shown == 1 ? " " : ", ") + name;
  }
  return text;
}

void compare(const Piece& target, const Manifest& manifest, Mismatches& found) {
  const auto entry = manifest.tensors.find(target.name);
  if (entry == manifest.tensors.end()) {
    found.missing.insert(target.name);
    return;
  }
  const StoredTensor& tensor = entry->second;
  if (tensor.shape != target.shape)
    found.shapes.insert(fmt::format("{} is {} there and {} here", target.name,
                                    shape_text(tensor.shape), shape_text(target.shape)));
  if (!convertible(tensor.dtype, target.dtype))
    found.types.insert(fmt::format("{} is {} there and {} here", target.name, name_of(tensor.dtype),
                                   name_of(target.dtype)));
}

bool is_weight(const std::string& name) { return name.starts_with(weight_name("")); }

// Of the best of a run, for one: asked for more by who would go on from there.
void refuse_weights_alone(const std::string& path, const Manifest& manifest,
                          const std::set<std::string>& missing) {
  const auto names = std::views::keys(manifest.tensors);
  require(missing.empty() || std::ranges::any_of(missing, is_weight) ||
              !std::ranges::all_of(names, is_weight),
          "checkpoint {} holds weights alone, without what an optimizer keeps of them ({} tensors, "
          "{} the first); to begin with the weights give checkpoint.weights_only=true, to go on "
          "give a checkpoint of a run",
          path, missing.size(), missing.empty() ? "" : *missing.begin());
}

void check_targets(const std::string& path, const Manifest& manifest,
                   const std::vector<Piece>& targets, const std::set<std::string>& extra) {
  Mismatches found;
  found.extra = extra;
  for (const Piece& target : targets) {
    const std::string fault = misfit(region_of(target), target.shape);
    if (!fault.empty()) fail("a piece of {} to load does not fit: {}", target.name, fault);
    SKEIN_CHECK(target.begin == target.end || target.data != nullptr);
    compare(target, manifest, found);
  }
  if (found.extra.empty() && found.shapes.empty() && found.types.empty())
    refuse_weights_alone(path, manifest, found.missing);
  const std::string text = listed("not in the checkpoint", found.missing) +
                           listed("only in the checkpoint", found.extra) +
                           listed("of another shape", found.shapes) +
                           listed("of a type that does not convert", found.types);
  require(text.empty(),
          "checkpoint {} does not fit this model:{}\nUse the configuration it was saved with.",
          path, text);
}

// Tensors that no rank asked for.
std::set<std::string> unasked(const Manifest& manifest, const std::vector<Piece>& targets,
                              Group& world) {
  std::set<std::string> mine, extra;
  for (const Piece& target : targets) mine.insert(target.name);
  for (const auto& [name, tensor] : manifest.tensors) extra.insert(name);
  for (const std::string& text : world.all_gather(nlohmann::json(mine).dump()))
    for (const auto& name : nlohmann::json::parse(text)) extra.erase(name.get<std::string>());
  return extra;
}

// A stored piece that holds something of a target.
struct Source {
  size_t target = 0;
  const StoredTensor* tensor = nullptr;
  const StoredPiece* piece = nullptr;
};

std::vector<std::vector<Source>> sources_by_shard(const Manifest& manifest,
                                                  const std::vector<Piece>& targets) {
  std::vector<std::vector<Source>> sources(manifest.shards.size());
  for (size_t target = 0; target < targets.size(); ++target) {
    const StoredTensor& tensor = manifest.tensors.at(targets[target].name);
    const Region wanted = region_of(targets[target]);
    for (const StoredPiece& piece : tensor.pieces)
      if (may_overlap(piece.region, wanted))
        sources[piece.shard].push_back({target, &tensor, &piece});
  }
  return sources;
}

void fill(const std::string& path, const Manifest& manifest, const std::vector<Piece>& targets,
          Group& world) {
  const auto sources = sources_by_shard(manifest, targets);
  std::vector<int64_t> copied(targets.size(), 0);
  const int ranks = manifest.ranks();
  // Each rank starts elsewhere, so that not all read the same file at once.
  const int first = narrow<int>(int64_t{ranks} * world.rank() / world.size());
  for (int i = 0; i < ranks; ++i) {
    const int shard = (first + i) % ranks;
    const auto& wanted = sources[shard];
    if (wanted.empty()) continue;
    const ShardEntry& entry = manifest.shards[shard];
    const ShardReader reader(read_shard(path, entry), header_of(manifest, shard),
                             join_path(path, entry.file));
    for (const Source& source : wanted) {
      const Piece& target = targets[source.target];
      const Region& region = source.piece->region;
      const DType dtype = source.tensor->dtype;
      const std::byte* data =
          reader.elements(source.piece->dataset, dtype, source.tensor->shape, region);
      copied[source.target] +=
          copy_overlap(region, dtype, data, region_of(target), target.dtype, target.data);
    }
  }
  for (size_t i = 0; i < targets.size(); ++i)
    SKEIN_CHECK_EQ(copied[i], targets[i].end - targets[i].begin);
}

}  // namespace

std::map<std::string, std::vector<int64_t>> checkpoint_tensors(const CheckpointInfo& info,
                                                               Group& world) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, tensor] : share_manifest(info.path, world).tensors)
    shapes[name] = tensor.shape;
  return shapes;
}

void load_checkpoint(const CheckpointInfo& info, const std::vector<Piece>& targets, bool strict,
                     Group& world) {
  const Manifest manifest = share_manifest(info.path, world);
  std::set<std::string> extra = unasked(manifest, targets, world);
  if (!strict) extra.clear();
  agree(world, [&] { check_targets(info.path, manifest, targets, extra); });
  agree(world, [&] { fill(info.path, manifest, targets, world); });
  for (const Piece& piece : targets)
    if (piece.tensor.defined()) piece.tensor.copy_from(piece.copy);
}

}  // namespace skein::checkpoint
