// Imported models against what transformers computed: logits, loss and gradients, on one rank or
// over shards.
#pragma once

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "skein/checkpoint/parameters.h"
#include "skein/data/images/hidden_patches.h"
#include "skein/data/images/image_samples.h"
#include "skein/kernels/elementwise.h"
#include "skein/models/architecture.h"
#include "skein/models/bert/bert.h"
#include "skein/models/description.h"
#include "skein/models/gpt/gpt.h"
#include "skein/ops/linear.h"

#include "convert/golden_folder.h"

namespace skein::test {

// Largest difference from what transformers computed, over the largest number of a tensor.
constexpr double kTolerance = 1e-5;

inline data::Sequence sequence_of(const formats::SafetensorsFile& file, const std::string& name) {
  data::Sequence made;
  made.tokens = narrow_ids(read_tensor(file, name));
  const int64_t length = made.tokens.dim(1);
  made.positions = Tensor::empty(made.tokens.shape(), DType::i32);
  for (int64_t i = 0; i < made.positions.size(); ++i)
    made.positions.data<int32_t>()[i] = static_cast<int32_t>(i % length);
  return made;
}

// Padding, where the mask is 0, is of segment -1.
inline data::Sequence source_of(const formats::SafetensorsFile& file) {
  data::Sequence made = sequence_of(file, "ids");
  made.segments = narrow_ids(read_tensor(file, "mask"));
  for (int32_t& value : made.segments.span<int32_t>()) --value;
  return made;
}

inline data::Sequence pictures_of(const formats::SafetensorsFile& file, const ModelConfig& model) {
  const data::PictureForm form = model.architecture->picture_form(model);
  const Tensor pixels = read_tensor(file, "pixel_values");
  data::Batch made = data::picture_batch(pixels.dim(0), form);
  for (int64_t row = 0; row < made.size(); ++row)
    data::fill_patches(pixels.rows(row, row + 1).data<float>(), form,
                       made.features.rows(row, row + 1).data<float>());
  return made;
}

// What a masked autoencoder sees of them by the file's noise, and what it is to say.
inline data::Batch hiding_batch(const formats::SafetensorsFile& file,
                                const data::PictureForm& form) {
  const Tensor pixels = read_tensor(file, "pixel_values"), noise = read_tensor(file, "noise");
  const data::Batch made = data::hiding_batch(pixels.dim(0), form);
  std::vector<float> numbers(static_cast<size_t>(form.patches() * form.patch_numbers()));
  for (int64_t row = 0; row < made.size(); ++row) {
    data::fill_patches(pixels.rows(row, row + 1).data<float>(), form, numbers.data());
    const auto drawn = noise.rows(row, row + 1).span<float>();
    fill_hiding(made, row, numbers,
                data::hide_largest(std::vector<double>(drawn.begin(), drawn.end()), form.hidden),
                form);
  }
  return placed(made, {});
}

struct Expected {
  Expected(const std::string& path, const ModelConfig& model) : file(path) {
    logits = read_tensor(file, "logits");
    loss = read_tensor(file, "loss").data<float>()[0];
    const data::PictureForm form = model.architecture->picture_form(model);
    if (form.hidden > 0)
      batch = hiding_batch(file, form);
    else
      take_batch(model);
  }

  void take_batch(const ModelConfig& model) {
    const bool maps = model.architecture->maps_source(model),
               pictures = model.architecture->reads() == Reads::pictures;
    static_cast<data::Sequence&>(batch) =
        pictures ? pictures_of(file, model) : sequence_of(file, maps ? "decoder_ids" : "ids");
    const int64_t samples = batch.tokens.dim(0), length = batch.tokens.dim(1),
                  places = model.head == Head::sequence ? 1 : length;
    if (maps) {
      batch.source = source_of(file);
      batch.segments = data::filled(samples, length, 0);
    }
    if (const Tensor types = read_tensor(file, "types"); types.defined())
      batch.types = narrow_ids(types);
    batch.targets = narrow_ids(read_tensor(file, "targets")).reshape({samples, places});
    batch.weights = Tensor::from(std::vector<float>(static_cast<size_t>(samples * places), 1.0f),
                                 {samples, places});
    if (!maps && read_tensor(file, "mask").defined()) leave_out_padding();
    std::vector<int64_t> numbers(static_cast<size_t>(samples));
    std::iota(numbers.begin(), numbers.end(), 0);
    batch.sample_ids = Tensor::from(numbers, {samples});
    if (model.head == Head::sequence && !pictures)
      batch.places = Tensor::from(
          std::vector<int32_t>(static_cast<size_t>(samples), static_cast<int32_t>(length - 1)),
          {samples, 1});
    batch = placed(batch, {});
  }

  // Of an encoder.
  void leave_out_padding() {
    batch.segments = source_of(file).segments;
    if (batch.weights.size() != batch.segments.size()) return;
    for (int64_t i = 0; i < batch.segments.size(); ++i)
      batch.weights.data<float>()[i] = batch.segments.data<int32_t>()[i] < 0 ? 0 : 1;
  }
  double places() const {
    const auto all = batch.weights.span<float>();
    return std::accumulate(all.begin(), all.end(), 0.0);
  }

  formats::SafetensorsFile file;
  data::Batch batch;
  Tensor logits;
  double loss = 0;
};

inline double error_of(const float* found, const float* wanted, int64_t count) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(double{found[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return size > 1e-7 ? difference / size : difference;
}

// Logits [B*T, V/t] of this rank against its columns.
inline void check_vocabulary(const Expected& expected, const Tensor& found,
                             const ops::VocabShard& shard) {
  const int64_t vocab = expected.logits.dim(-1), width = found.dim(1);
  std::vector<float> here, wanted;
  for (int64_t row = 0; row < found.dim(0); ++row) {
    if (expected.batch.weights.data<float>()[row] == 0) continue;
    for (int64_t j = 0; j < shard.valid; ++j) {
      here.push_back(found.data<float>()[row * width + j]);
      wanted.push_back(expected.logits.data<float>()[row * vocab + shard.first_id + j]);
    }
  }
  EXPECT_EQ(found.dim(0), expected.batch.tokens.size());
  EXPECT_LT(error_of(here.data(), wanted.data(), static_cast<int64_t>(here.size())), kTolerance);
}

inline void check_labels(const Expected& expected, const Tensor& found) {
  ASSERT_EQ(found.size(), expected.logits.size());
  EXPECT_LT(error_of(found.data<float>(), expected.logits.data<float>(), found.size()), kTolerance);
}

// Gradients of whole tensors, by our names; a tied tensor's uses added up.
inline std::map<std::string, Tensor> gradients_of(const Parameters& parameters) {
  std::map<std::string, Tensor> all;
  for (const Parameter& p : parameters.all())
    if (!p.tied() && p.learns) all[p.name] = p.gradient.clone();
  for (const Parameter& p : parameters.all())
    if (p.tied()) kernels::accumulate(Cpu{}, p.gradient, Out(all.at(p.tied_to)));
  return all;
}

inline int check_gradients(const Expected& expected, const convert::NameMap& names,
                           const Parameters& parameters) {
  const auto ours = gradients_of(parameters);
  int checked = 0;
  for (const convert::ForeignTensor& theirs : names.tensors) {
    const Tensor wanted = read_tensor(expected.file, "gradient:" + theirs.name);
    if (!wanted.defined()) continue;
    std::vector<float> found;
    for (const convert::OurTensor& part : theirs.parts) {
      const auto values = ours.at(part.name).span<float>();
      found.insert(found.end(), values.begin(), values.end());
    }
    if (theirs.dealt_heads > 0) {
      const size_t heads = static_cast<size_t>(theirs.dealt_heads), parts = theirs.parts.size(),
                   rows = found.size() / (heads * parts);
      std::vector<float> dealt;
      for (size_t i = 0; i < heads * parts; ++i) {
        const auto from = found.begin() + (i % parts * heads + i / parts) * rows;
        dealt.insert(dealt.end(), from, from + rows);
      }
      found = dealt;
    }
    if (theirs.transposed) {
      const size_t columns = static_cast<size_t>(theirs.shape[0]),
                   rows = static_cast<size_t>(theirs.shape[1]);
      std::vector<float> turned(found.size());
      for (size_t i = 0; i < found.size(); ++i) turned[i % columns * rows + i / columns] = found[i];
      found = turned;
    }
    EXPECT_EQ(static_cast<int64_t>(found.size()), wanted.size());
    EXPECT_LT(error_of(found.data(), wanted.data<float>(), wanted.size()), kTolerance)
        << theirs.name;
    ++checked;
  }
  return checked;
}

// The weights of rows say their mean.
inline double loss_of(const Losses& losses) {
  double sum = 0;
  for (int64_t i = 0; i < losses.rows.value().size(); ++i)
    sum += losses.rows.value().data<float>()[i] * losses.row_weights.data<float>()[i];
  return sum;
}

// A model of either kind on this rank, forward and backward.
class Runner {
 public:
  // marks: of the tokens that see all, which files do not say.
  Runner(const ModelConfig& given, const checkpoint::CheckpointInfo& info, Group& tp,
         const std::optional<MarkRule>& marks = {})
      : names_(convert::huggingface_names(given, model_type_of(info.path))),
        config_(given),
        parameters_(DType::f32, tp.rank(), tp.size()) {
    if (marks) config_.attention.other.marks = *marks;
    model_ = config_.architecture->piece(config_, whole_piece(config_), false, parameters_);
    parameters_.allocate(true);
    load_checkpoint(info, checkpoint::parameter_pieces(parameters_), true, tp);
  }

  void check(const Expected& expected, Group& tp) {
    LossPass pass;
    pass.tp = &tp;
    pass.batch = &expected.batch;
    pass.loss_scale = 1.0 / expected.places();
    const Var output = model_->forward({}, pass);
    check_logits(expected, output, pass);
    const Losses losses = model_->objective()->losses(output, pass);
    EXPECT_NEAR(loss_of(losses) / expected.loss, 1, kTolerance);
    if (tp.size() > 1) return;
    backward(losses.rows, losses.row_weights);
    EXPECT_GE(check_gradients(expected, names_, parameters_), 4);
  }

 private:
  void check_logits(const Expected& expected, const Var& output, const Pass& pass) {
    if (const Scorer* scorer = model_->scorer())
      return check_labels(expected, scorer->label_scores(output, pass).value());
    if (!model_->predictor())
      return check_labels(expected, model_->objective()->answers(output, pass).front());
    const Predictor& predictor = *model_->predictor();
    check_vocabulary(expected, predictor.logits(predictor.rows(output, pass).value()),
                     predictor.vocab_shard());
    if (!bert_options(config_).pooler) return;
    const Tensor wanted = read_tensor(expected.file, "pair_logits"),
                 pairs = dynamic_cast<const Bert&>(*model_).pair_scores(output, pass).value();
    ASSERT_EQ(pairs.size(), wanted.size());
    EXPECT_LT(error_of(pairs.data<float>(), wanted.data<float>(), wanted.size()), kTolerance);
  }

  convert::NameMap names_;
  ModelConfig config_;
  Parameters parameters_;
  std::unique_ptr<Model> model_;
};

// The checkpoint of an import, on one rank and over two, against the file of what was expected of
// it.
inline void expect_as_transformers(const std::string& checkpoint, const std::string& expected_file,
                                   const std::optional<MarkRule>& marks = {}) {
  const auto alone = single_rank();
  const checkpoint::CheckpointInfo info = *checkpoint::find_checkpoint(checkpoint, *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, checkpoint), checkpoint);
  const Expected expected(expected_file, model);
  for (int shards : {1, 2})
    run_ranks(shards, [&](Group& tp) { Runner(model, info, tp, marks).check(expected, tp); });
}

}  // namespace skein::test
