#include "skein/convert/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/checkpoint/parameters.h"
#include "skein/checkpoint/tensors.h"
#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/images/hidden_patches.h"
#include "skein/data/images/image_samples.h"
#include "skein/formats/safetensors.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"

namespace skein::convert {
namespace {

const formats::SafeTensor* find(const formats::SafetensorsFile& file, const std::string& name) {
  for (const formats::SafeTensor& tensor : file.tensors())
    if (tensor.name == name) return &tensor;
  return nullptr;
}

Tensor read(const formats::SafetensorsFile& file, const std::string& name, DType dtype) {
  const formats::SafeTensor* tensor = find(file, name);
  require(tensor != nullptr && tensor->dtype() == dtype, "{} holds no tensor {} of type {}",
          file.path(), name, formats::safetensors_type(dtype));
  const Tensor made = Tensor::empty(Shape(tensor->shape), dtype);
  file.read(*tensor, 0, std::span(made.bytes_data(), made.bytes()));
  return made;
}

// [B,T] i32 below `limit`.
Tensor read_ids(const formats::SafetensorsFile& file, const std::string& name, int64_t limit) {
  const Tensor wide = read(file, name, DType::i64);
  require(wide.shape().rank() == 2 && wide.size() > 0, "{}: {} is {}, not [samples, tokens]",
          file.path(), name, wide.shape().str());
  const Tensor made = Tensor::empty(wide.shape(), DType::i32);
  for (int64_t i = 0; i < wide.size(); ++i) {
    const int64_t id = wide.data<int64_t>()[i];
    require(id >= 0 && id < limit, "{}: {} holds {}; the model knows 0 to {}", file.path(), name,
            id, limit - 1);
    made.data<int32_t>()[i] = narrow<int32_t>(id);
  }
  return made;
}

// Tokens below `ids`, at most `context` of them, and their positions.
data::Sequence read_side(const formats::SafetensorsFile& file, const std::string& name, int64_t ids,
                         const char* option, int64_t context) {
  data::Sequence side;
  side.tokens = read_ids(file, name, ids);
  const int64_t length = side.tokens.dim(1);
  require(length <= context, "{}: {} of {} tokens are longer than model.{}={}", file.path(), name,
          length, option, context);
  side.positions = Tensor::empty(side.tokens.shape(), DType::i32);
  for (int64_t i = 0; i < side.positions.size(); ++i)
    side.positions.data<int32_t>()[i] = narrow<int32_t>(i % length);
  return side;
}

// Padding is where the file's mask is 0; of models that map a source on that alone, for what
// follows a target's token changes nothing before it.
Tensor read_mask(const formats::SafetensorsFile& file, const Shape& shape) {
  if (!find(file, "mask")) return data::filled(shape[0], shape[1], 0);
  const Tensor mask = read_ids(file, "mask", 2);
  require(mask.shape() == shape, "{}: mask is {} and ids {}", file.path(), mask.shape().str(),
          shape.str());
  for (int32_t& value : mask.span<int32_t>()) --value;
  return mask;
}

data::Batch two_sided_batch(const formats::SafetensorsFile& file, const ModelConfig& model) {
  const Architecture& kind = *model.architecture;
  data::Batch batch;
  static_cast<data::Sequence&>(batch) =
      read_side(file, "decoder_ids", model.vocab_size, "context", model.context);
  batch.source =
      read_side(file, "ids", kind.source_ids(model), "source_context", kind.source_context(model));
  require(batch.source.size() == batch.size(), "{}: ids has {} samples and decoder_ids {}",
          file.path(), batch.source.size(), batch.size());
  batch.segments = data::filled(batch.size(), batch.length(), 0);
  batch.source.segments = read_mask(file, batch.source.tokens.shape());
  return placed(batch, {});
}

// The patches that are hidden by the file's noise, and the others.
data::Batch hiding_batch(const formats::SafetensorsFile& file, const Tensor& pixels,
                         const data::PictureForm& form) {
  const Tensor noise = read(file, "noise", DType::f32);
  const int64_t count = pixels.dim(0), width = form.patches() * form.patch_numbers();
  const Shape wanted{count, form.patches()};
  require(noise.shape() == wanted, "{}: noise is {}, and the model hides by {}", file.path(),
          noise.shape().str(), wanted.str());
  const data::Batch batch = data::hiding_batch(count, form);
  std::vector<float> numbers(width);
  for (int64_t row = 0; row < count; ++row) {
    data::fill_patches(pixels.rows(row, row + 1).data<float>(), form, numbers.data());
    const auto drawn = noise.rows(row, row + 1).span<float>();
    const std::vector<double> of_row(drawn.begin(), drawn.end());
    fill_hiding(batch, row, numbers, data::hide_largest(of_row, form.hidden), form);
  }
  return placed(batch, {});
}

// Pictures, as the model reads them.
data::Batch picture_batch(const formats::SafetensorsFile& file, const ModelConfig& model) {
  const data::PictureForm form = model.architecture->picture_form(model);
  const Tensor pixels = read(file, "pixel_values", DType::f32);
  const int64_t count = pixels.shape().rank() > 0 ? pixels.dim(0) : 0;
  const Shape wanted{count, form.channels, form.height, form.width};
  require(count > 0 && pixels.shape() == wanted, "{}: pixel_values is {}, and the model reads {}",
          file.path(), pixels.shape().str(), wanted.str());
  if (form.hidden > 0) return hiding_batch(file, pixels, form);
  const data::Batch batch = data::picture_batch(count, form);
  for (int64_t row = 0; row < count; ++row)
    data::fill_patches(pixels.rows(row, row + 1).data<float>(), form,
                       batch.features.rows(row, row + 1).data<float>());
  return placed(batch, {});
}

data::Batch batch_of(const formats::SafetensorsFile& file, const ModelConfig& model) {
  if (model.architecture->reads() == Reads::pictures) return picture_batch(file, model);
  if (model.architecture->maps_source(model)) return two_sided_batch(file, model);
  data::Batch batch;
  static_cast<data::Sequence&>(batch) =
      read_side(file, "ids", model.vocab_size, "context", model.context);
  const int64_t samples = batch.size(), length = batch.length();
  if (find(file, "types")) {
    batch.types = read_ids(file, "types", std::max<int64_t>(1, model.token_types));
    require(batch.types.shape() == batch.tokens.shape(), "{}: types is {} and ids {}", file.path(),
            batch.types.shape().str(), batch.tokens.shape().str());
  }
  if (find(file, "mask") && model.architecture->sees_ahead())
    batch.segments = read_mask(file, batch.tokens.shape());
  if (model.head == Head::sequence) {
    std::vector<int32_t> last(samples, narrow<int32_t>(length - 1));
    batch.places = Tensor::from(last, {samples, 1});
  }
  return placed(batch, {});
}

Tensor logits_of(const checkpoint::CheckpointInfo& info, const ModelConfig& config,
                 const data::Batch& batch) {
  const NoGrad no_grad;
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const auto model = config.architecture->piece(config, whole_piece(config), false, parameters);
  load_weights(info, parameters, *alone);
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  const Var output = model->forward({}, pass);
  if (const Scorer* scorer = model->scorer()) return scorer->label_scores(output, pass).value();
  if (const Predictor* predictor = model->predictor())
    return predictor->logits(predictor->rows(output, pass).value());
  return model->objective()->answers(output, pass).front();
}

Shape logits_shape(const data::Batch& batch, const ModelConfig& model) {
  if (model.head == Head::sequence) return {batch.size(), model.labels};
  if (batch.values.defined()) return batch.values.shape();
  return {batch.size(), batch.length(),
          model.head == Head::vocabulary ? model.vocab_size : model.labels};
}

// Whether number i of so many says something of a token that is padding.
bool is_of_padding(const data::Batch& batch, const ModelConfig& model, int64_t i, int64_t numbers) {
  if (!batch.segments.defined() || model.head == Head::sequence) return false;
  return batch.segments.data<int32_t>()[i / (numbers / batch.segments.size())] < 0;
}

bool is_narrow(const checkpoint::CheckpointInfo& info) {
  const checkpoint::CheckpointTensors tensors(info);
  return std::any_of(tensors.tensors().begin(), tensors.tensors().end(),
                     [](const auto& entry) { return size_of(entry.second.dtype) < 4; });
}

}  // namespace

Verification verify_logits(const checkpoint::CheckpointInfo& info, const ModelConfig& model,
                           const std::string& path, bool narrow) {
  const formats::SafetensorsFile file(path);
  const data::Batch batch = batch_of(file, model);
  const Tensor wanted = read(file, "logits", DType::f32), found = logits_of(info, model, batch);
  const Shape shape = logits_shape(batch, model);
  SKEIN_CHECK_EQ(shape.size(), found.size());
  require(wanted.shape() == shape, "{}: logits is {}, and the model gives {} for ids of {}", path,
          wanted.shape().str(), shape.str(), batch.tokens.shape().str());
  double difference = 0, largest = 0;
  int64_t compared = 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    if (is_of_padding(batch, model, i, wanted.size())) continue;
    ++compared;
    const double here = found.data<float>()[i], there = wanted.data<float>()[i];
    const double apart = std::abs(here - there);
    difference =
        std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(difference, apart);
    largest = std::max(largest, std::abs(there));
  }
  return {difference / std::max(largest, 1e-30), narrow || is_narrow(info) ? 3e-2 : 1e-4, compared};
}

}  // namespace skein::convert
