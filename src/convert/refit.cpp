#include "skein/convert/refit.h"

#include <algorithm>

#include "skein/checkpoint/tensors.h"
#include "skein/comm/local.h"
#include "skein/convert/huggingface_config.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/models/pictures.h"
#include "skein/models/resized_pictures.h"
#include "skein/train/run_weights.h"

#include "elements.h"
#include "shard_plan.h"

namespace skein::convert {
namespace {

constexpr char kPositions[] = "embedding.positions.weight";
constexpr char kOfMarked[] = ".attention.global_", kOfAll[] = ".attention.";
constexpr int64_t kUsualWindow = 512;

bool has_window(const AttentionOptions& c) {
  return std::ranges::any_of(
      c.kinds, [](const std::string& kind) { return kind == "window" || kind == "global"; });
}

bool names_marks(const std::map<std::string, std::string>& given) {
  return std::ranges::any_of(
      given, [](const auto& option) { return option.first.starts_with("attention.mark_"); });
}

AttentionOptions with(AttentionOptions made, const std::map<std::string, std::string>& given) {
  Options options("", "");
  bind(options, made);
  for (const auto& [key, value] : given) options.set(key, value, "");
  return made;
}

// The source's own with what is given, unless it has none or another kind is asked for; else
// Longformer's.
AttentionOptions structure_of(const std::map<std::string, std::string>& given,
                              const ModelConfig& source) {
  const AttentionOptions kept = with(source.attention, given);
  if (!source.attention.is_full() && kept.kinds == source.attention.kinds) return kept;
  AttentionOptions made = with({.kinds = {"global"}}, given);
  if (!given.contains("attention.window") && has_window(made)) made.windows = {kUsualWindow};
  const bool marks = std::ranges::find(made.kinds, "global") != made.kinds.end();
  if (marks && !names_marks(given)) made.other.marks.first = source.head == Head::sequence ? 1 : 0;
  return made;
}

const char* what_becomes_of(Positions positions) {
  switch (positions) {
    case Positions::learned: return "its learned positions are copied again and again";
    case Positions::sinusoidal: return "its positions are waves, which go on without copies";
    default: return "its positions are no table and go on without copies";
  }
}

}  // namespace

Refit::Refit(const ModelConfig& source, const ConvertConfig& config)
    : source_(source), model_(source), held_(tensor_shapes(source, whole_piece(source))) {
  if (config.to_context > 0)
    lengthen(config);
  else if (config.image_height > 0 || config.image_width > 0)
    resize_pictures(config);
  require(config.to_context > 0 || config.attention.empty(),
          "{} is for --to-context, which makes a model of longer texts; leave it out",
          config.attention.empty() ? "" : config.attention.begin()->first);
  tensors_ = tensor_shapes(model_, whole_piece(model_));
}

void Refit::resize_pictures(const ConvertConfig& config) {
  const Architecture& kind = *source_.architecture;
  require(kind.reads() == Reads::pictures,
          "model.image_height={} and model.image_width={} are for models of pictures, but the "
          "source is {}; leave them out",
          config.image_height, config.image_width, kind.otherwise(source_));
  const data::PictureForm from = kind.picture_form(source_);
  PictureOptions& own = picture_options(model_);
  if (config.image_height > 0) own.image_height = config.image_height;
  if (config.image_width > 0) own.image_width = config.image_width;
  model_.context = ModelConfig{}.context;
  kind.take_pictures(model_, kind.picture_form(model_));
  check(model_, 1, false);
  const data::PictureForm to = kind.picture_form(model_);
  check_resized(source_, model_);
  if (from.height != to.height || from.width != to.width)
    told_ = told_resizing(from, to, source_.positions);
}

void Refit::lengthen(const ConvertConfig& config) {
  const Architecture& kind = *source_.architecture;
  require(kind.sees_ahead() && kind.attends_by_structure(),
          "--to-context={} is for encoders of texts (model.architecture=bert), but the source is "
          "of model.architecture={}",
          config.to_context, kind.name());
  require(config.to_context > source_.context,
          "--to-context={} must be more than the {} tokens that the source reads",
          config.to_context, source_.context);
  model_.context = config.to_context;
  model_.attention = structure_of(config.attention, source_);
  require(!source_.attention.has(SightKind::lsh) && !model_.attention.has(SightKind::lsh),
          "--to-context={} is not for attention.kind=lsh, where queries are their own keys and "
          "buckets are as many as the context asks for: nothing would stay as it was learnt; the "
          "source has attention.kind={}, and {} was asked for",
          config.to_context, fmt::join(source_.attention.kinds, ","),
          fmt::join(model_.attention.kinds, ","));
  check(model_, 1, false);
  told_ = fmt::format("context of {} tokens instead of {}, attention.kind={}: {}", model_.context,
                      source_.context, fmt::join(model_.attention.kinds, ","),
                      what_becomes_of(source_.positions));
}

std::string Refit::origin_of(const std::string& tensor) const {
  if (held_.contains(tensor)) {
    const bool waves = source_.positions == Positions::sinusoidal &&
                       tensor.ends_with("positions.weight") && !told_.empty();
    return waves ? "" : tensor;
  }
  // What marked tokens are seen and see by begins as what all tokens have.
  const size_t at = tensor.find(kOfMarked);
  SKEIN_CHECK(at != std::string::npos);
  return tensor.substr(0, at) + kOfAll + tensor.substr(at + sizeof(kOfMarked) - 1);
}

void Refit::write(const std::string& tensor, const checkpoint::Piece& part, const Read& read,
                  std::byte* out) const {
  const std::string origin = origin_of(tensor);
  if (held_.at(origin) == part.shape) return read(origin, part.begin, part.end, part.dtype, out);
  SKEIN_CHECK_EQ(tensor, kPositions);
  if (source_.architecture->reads() == Reads::pictures)
    write_resized(tensor, part, read, out);
  else
    write_longer(tensor, part, read, out);
}

// Rows ahead of the first place stand once.
void Refit::write_longer(const std::string& tensor, const checkpoint::Piece& part, const Read& read,
                         std::byte* out) const {
  const int64_t width = part.shape[1], ahead = source_.position_offset, size = size_of(part.dtype);
  for (int64_t at = part.begin; at < part.end;) {
    const int64_t row = at / width, end = std::min(part.end, (row + 1) * width),
                  from = row < ahead ? row : ahead + (row - ahead) % source_.context,
                  first = from * width + at % width;
    read(tensor, first, first + end - at, part.dtype, out + (at - part.begin) * size);
    at = end;
  }
}

void Refit::write_resized(const std::string& tensor, const checkpoint::Piece& part,
                          const Read& read, std::byte* out) const {
  const auto form = [](const ModelConfig& c) { return c.architecture->picture_form(c); };
  std::vector<float> before(checkpoint::element_count(held_.at(tensor)));
  read(tensor, 0, std::ssize(before), DType::f32, reinterpret_cast<std::byte*>(before.data()));
  const std::vector<float> made = resized_positions(before, form(source_), form(model_));
  convert_elements(DType::f32, reinterpret_cast<const std::byte*>(made.data() + part.begin),
                   part.dtype, out, part.end - part.begin);
}

namespace {

// Of a run that has made no steps.
std::string metadata_of(const train::RunState& before, const ModelConfig& model) {
  train::RunState state;
  state.reduction_groups = 1;
  state.notes = before.notes;
  state.imported = before.imported;
  state.tokenizer = before.tokenizer;
  state.config = before.config;
  std::erase_if(state.config, [](const auto& option) { return is_of_model(option.first); });
  state.config.merge(model_values(model));
  return to_json(state, {});
}

// A usage error where the checkpoint holds another one than it describes.
ModelConfig held_model(const train::RunState& state, const checkpoint::CheckpointTensors& files,
                       const std::string& origin) {
  TensorShapes held;
  for (const auto& [name, tensor] : files.tensors()) held[name] = tensor.shape;
  ModelConfig made = stored_model(state, origin);
  train::check_held(made, held, origin);
  return made;
}

std::vector<std::vector<checkpoint::Piece>> plan(
    const Refit& refit, const std::map<std::string, checkpoint::StoredTensor>& held,
    const std::optional<DType>& dtype) {
  ShardPlan plan;
  for (const auto& [name, shape] : refit.tensors())
    plan.add(name, shape,
             dtype.value_or(held.at(checkpoint::weight_name(refit.origin_of(name))).dtype));
  return plan.take();
}

}  // namespace

std::string refit_checkpoint(const std::string& source, const std::string& destination,
                             const ConvertConfig& config, const ConvertProgress& progress) {
  SKEIN_CHECK(config.to_context > 0);
  check_destination(destination);
  const auto alone = single_rank();
  const auto info = train::find_weights(source, *alone);
  require(info.has_value(), "{}", checkpoint::no_checkpoint(source));
  const train::RunState state = train::run_state(info->metadata, info->path);
  checkpoint::CheckpointTensors files(*info);
  const Refit refit(held_model(state, files, info->path), config);
  const auto shards = plan(refit, files.tensors(), config.dtype);
  int64_t total = 0, done = 0;
  for (const auto& pieces : shards)
    for (const checkpoint::Piece& piece : pieces) total += piece.bytes();
  checkpoint::NonFiniteCounts odd;
  const auto read = [&](const std::string& name, int64_t begin, int64_t end, DType dtype,
                        std::byte* out) {
    files.read(checkpoint::weight_name(name), begin, end, dtype, out);
  };
  const auto fill = [&](const checkpoint::Piece& piece, std::byte* out) {
    refit.write(piece.name.substr(checkpoint::weight_name("").size()), piece, read, out);
    odd.look_at(piece.name, piece.dtype, out, piece.end - piece.begin);
    done += piece.bytes();
    if (progress) progress(done, total);
  };
  const std::string metadata = metadata_of(state, refit.model()),
                    made = save_in_shards(destination, 0, shards, metadata, fill);
  warn_of(odd, made, config);
  log::info("{}: {}", made, refit.told());
  return made;
}

}  // namespace skein::convert
