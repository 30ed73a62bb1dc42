#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/data/images/hidden_patches.h"
#include "skein/data/images/image_samples.h"
#include "skein/data/samples/windows.h"
#include "skein/models/architecture.h"

#include "parts.h"

namespace skein::bench {

namespace {

data::Sequence random_source(int64_t count, const ModelConfig& model, uint64_t key) {
  const int64_t length = model.architecture->source_context(model);
  data::Sequence made;
  made.tokens = data::filled(count, length, 0);
  made.positions = data::filled(count, length, 0);
  for (int64_t i = 0; i < count * length; ++i) {
    made.tokens.data<int32_t>()[i] =
        narrow<int32_t>(philox(key, 2, i)[0] % model.architecture->source_ids(model));
    made.positions.data<int32_t>()[i] = narrow<int32_t>(i % length);
  }
  return made;
}

void number_samples(data::Batch& batch) {
  batch.sample_ids = Tensor::zeros({batch.size()}, DType::i64);
  for (int64_t row = 0; row < batch.size(); ++row) batch.sample_ids.data<int64_t>()[row] = row;
}

data::Batch random_hidden(int64_t count, const data::PictureForm& form, uint64_t key) {
  const Tensor all =
      random_values({count, form.patches() * form.patch_numbers()}, DType::f32, key, Device{});
  data::Batch batch = data::hiding_batch(count, form);
  for (int64_t row = 0; row < count; ++row)
    data::fill_hiding(batch, row,
                      {all.data<float>() + row * all.dim(1), static_cast<size_t>(all.dim(1))},
                      data::hide_patches(form, {key, static_cast<uint64_t>(row)}), form);
  return batch;
}

data::Batch random_classes(int64_t count, const data::PictureForm& form, const ModelConfig& model,
                           uint64_t key) {
  data::Batch batch = data::picture_batch(count, form);
  batch.features =
      random_values({count, form.patches(), form.patch_numbers()}, DType::f32, key, Device{});
  batch.targets = data::filled(count, 1, 0);
  batch.weights = Tensor::zeros({count, 1}, DType::f32);
  for (int64_t row = 0; row < count; ++row) {
    batch.targets.data<int32_t>()[row] = narrow<int32_t>(philox(key, 3, row)[0] % model.labels);
    batch.weights.data<float>()[row] = 1;
  }
  return batch;
}

data::Batch random_pictures(int64_t count, const ModelConfig& model, uint64_t key) {
  const data::PictureForm form = model.architecture->picture_form(model);
  data::Batch batch =
      form.hidden > 0 ? random_hidden(count, form, key) : random_classes(count, form, model, key);
  number_samples(batch);
  return batch;
}

}  // namespace

data::Batch random_batch(int64_t count, const ModelConfig& model, uint64_t key) {
  const Architecture& kind = *model.architecture;
  if (kind.reads() == Reads::pictures) return random_pictures(count, model, key);
  require(kind.has_vocabulary(),
          "skein bench has no graphs for model.architecture={} to learn from; bench.what=links "
          "measures attention over links",
          kind.name());
  data::Batch batch = data::empty_batch(count, model.context, {});
  if (model.architecture->maps_source(model)) batch.source = random_source(count, model, key);
  for (int64_t i = 0; i < count * model.context; ++i) {
    const auto draw = [&](uint64_t stream) {
      return narrow<int32_t>(philox(key, stream, i)[0] % model.vocab_size);
    };
    batch.tokens.data<int32_t>()[i] = draw(0);
    batch.targets.data<int32_t>()[i] = draw(1);
    batch.weights.data<float>()[i] = 1;
    batch.positions.data<int32_t>()[i] = narrow<int32_t>(i % model.context);
  }
  number_samples(batch);
  return batch;
}

void take_batches(ModelConfig& model) {
  const Architecture& kind = *model.architecture;
  if (kind.has_vocabulary() && model.vocab_size == 0) model.vocab_size = 50304;
  if (kind.reads() != Reads::pictures) return;
  kind.take_pictures(model, kind.picture_form(model));
  if (kind.picture_form(model).hidden == 0)
    kind.begin_labels(model, Head::sequence, model.labels > 0 ? model.labels : 1000);
}

}  // namespace skein::bench
