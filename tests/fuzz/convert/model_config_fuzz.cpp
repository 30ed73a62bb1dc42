// config.json of models: what is understood has names for all its tensors, and is understood again
// once written; what it asks of decoding is told.
#include "skein/convert/decoding_advice.h"
#include "skein/convert/generation_config.h"
#include "skein/convert/names.h"
#include "skein/core/log.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  skein::log::set_level(skein::log::Level::error);
  const std::string text(input);
  const skein::ModelConfig model = skein::convert::model_from_huggingface(
      text, "fuzz", {{"pooler.dense.weight", "cls.seq_relationship.weight"}});
  if (model.n_layers > 100 || model.labels > 1000) return;
  if (skein::convert::huggingface_names(model).tensors.empty()) std::abort();
  skein::convert::ConfigExtras extras{{1, 2, 3}, {}, "", true};
  extras.ids.start = skein::convert::foreign_start(text, text, "fuzz", model);
  skein::convert::huggingface_config(model, skein::DType::bf16, extras, text);
  skein::convert::generation_config(model, extras.ids, text);
  skein::convert::decoding_advice(text, "fuzz", model);
  const auto notes = skein::convert::label_notes(text, "fuzz", model, text);
  if (const auto head = skein::train::label_head(notes, "fuzz"); head && head->reads_images())
    skein::convert::preprocessor_config(model, *head, text);
}
