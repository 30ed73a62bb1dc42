#include "skein/convert/average.h"

#include <algorithm>
#include <map>
#include <memory>

#include "skein/checkpoint/tensors.h"
#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/strings.h"
#include "skein/train/run_weights.h"

#include "elements.h"
#include "shard_plan.h"

namespace skein::convert {
namespace {

constexpr int64_t kRun = int64_t{1} << 20;  // elements that are added at once

using Tensors = std::map<std::string, checkpoint::StoredTensor>;
using Values = std::map<std::string, std::string>;

struct Source {
  checkpoint::CheckpointInfo info;
  train::RunState state;
  Values model = {};  // its options, by key
  std::unique_ptr<checkpoint::CheckpointTensors> files = {};
  Tensors weights = {};  // by their names in checkpoints
};

Values identity_of(const train::RunState& state, const std::string& path) {
  train::PretrainConfig config;
  config.model = stored_model(state, path).written_out();
  Values values;
  for (const auto& [key, value] : config_values(config))
    if (option_of(key) == OptionOf::model) values[key] = value;
  return values;
}

Source open(const std::string& path, Group& alone) {
  const auto info = train::find_weights(path, alone);
  require(info.has_value(), "{}", checkpoint::no_checkpoint(path));
  Source made{.info = *info, .state = train::run_state(info->metadata, info->path)};
  made.model = identity_of(made.state, info->path);
  made.files = std::make_unique<checkpoint::CheckpointTensors>(*info);
  for (const auto& [name, tensor] : made.files->tensors())
    if (name.starts_with(checkpoint::weight_name(""))) made.weights[name] = tensor;
  return made;
}

void check_models(const Source& first, const Source& other) {
  for (const auto& [key, value] : first.model) {
    const auto found = other.model.find(key);
    const std::string there = found == other.model.end() ? "not known" : found->second;
    require(there == value,
            "{} has {}={}, but {} has {}; only checkpoints of one model have a mean",
            first.info.path, key, value, other.info.path, there);
  }
  require(same_tokenizer(first.state.tokenizer, other.state.tokenizer),
          "{} and {} were trained with different tokenizers; their weights have no mean",
          first.info.path, other.info.path);
  require(first.state.notes == other.state.notes,
          "{} and {} say different things of their tasks ({} and {}); take checkpoints of one run",
          first.info.path, other.info.path, excerpt(first.state.notes.text()),
          excerpt(other.state.notes.text()));
}

void check_tensors(const Source& first, const Source& other) {
  for (const auto& [name, tensor] : first.weights) {
    const auto found = other.weights.find(name);
    require(found != other.weights.end(), "{} holds {}, which {} lacks", first.info.path, name,
            other.info.path);
    require(found->second.shape == tensor.shape, "{} is {} in {} and {} in {}", name,
            checkpoint::shape_text(tensor.shape), first.info.path,
            checkpoint::shape_text(found->second.shape), other.info.path);
  }
  for (const auto& [name, tensor] : other.weights)
    require(first.weights.contains(name), "{} holds {}, which {} lacks", other.info.path, name,
            first.info.path);
}

std::vector<Source> open_all(const std::vector<std::string>& paths) {
  require(paths.size() >= 2, "{} checkpoints were named; a mean is of two at least", paths.size());
  const auto alone = single_rank();
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    sources.push_back(open(path, *alone));
    const Source& last = sources.back();
    for (size_t i = 0; i + 1 < sources.size(); ++i)
      require(sources[i].info.path != last.info.path, "{} is named twice ({} and {})",
              last.info.path, paths[i], path);
    check_models(sources.front(), last);
    check_tensors(sources.front(), last);
  }
  return sources;
}

std::vector<std::vector<checkpoint::Piece>> plan(const std::vector<Source>& sources) {
  ShardPlan plan;
  const size_t prefix = checkpoint::weight_name("").size();
  for (const auto& [name, tensor] : sources.front().weights) {
    const bool alike = std::ranges::all_of(sources, [&, &named = name, &as = tensor](auto& source) {
      return source.weights.at(named).dtype == as.dtype;
    });
    plan.add(name.substr(prefix), tensor.shape, alike ? tensor.dtype : DType::f32);
  }
  return plan.take();
}

void write_mean(const std::vector<Source>& sources, const checkpoint::Piece& piece,
                std::byte* out) {
  std::vector<double> sums, read;
  for (int64_t begin = piece.begin; begin < piece.end; begin += kRun) {
    const int64_t end = std::min(piece.end, begin + kRun);
    sums.assign(end - begin, 0);
    read.resize(end - begin);
    for (const Source& source : sources) {
      source.files->read(piece.name, begin, end, DType::f64,
                         reinterpret_cast<std::byte*>(read.data()));
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += read[i];
    }
    for (double& sum : sums) sum /= static_cast<double>(sources.size());
    convert_elements(DType::f64, reinterpret_cast<const std::byte*>(sums.data()), piece.dtype,
                     out + (begin - piece.begin) * size_of(piece.dtype), end - begin);
  }
}

// Of a run that has made no steps, so that nothing else of the last source's is taken for its own.
std::string metadata(const Source& last) {
  train::RunState state;
  state.reduction_groups = 1;
  state.notes = last.state.notes;
  state.imported = last.state.imported;
  state.tokenizer = last.state.tokenizer;
  state.config = last.state.config;
  return to_json(state, {});
}

}  // namespace

std::string average(const std::vector<std::string>& paths, const std::string& destination,
                    const ConvertProgress& progress) {
  check_destination(destination);
  const std::vector<Source> sources = open_all(paths);
  const auto shards = plan(sources);
  int64_t total = 0, done = 0;
  for (const auto& pieces : shards)
    for (const checkpoint::Piece& piece : pieces) total += piece.bytes();
  checkpoint::NonFiniteCounts odd;
  const auto fill = [&](const checkpoint::Piece& piece, std::byte* out) {
    write_mean(sources, piece, out);
    odd.look_at(piece.name, piece.dtype, out, piece.end - piece.begin);
    done += piece.bytes();
    if (progress) progress(done, total);
  };
  const std::string made = save_in_shards(destination, 0, shards, metadata(sources.back()), fill);
  warn_of(odd, made, {});
  return made;
}

}  // namespace skein::convert
