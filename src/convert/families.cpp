#include "families/families.h"

#include "skein/core/error.h"
#include "skein/models/architecture.h"

namespace skein::convert {
namespace {

// The options that stand in the way, "" when none does.
std::string obstacles(const ForeignFamily& family, const ModelConfig& c) {
  std::string text;
  if (c.architecture != &family.architecture)
    text = fmt::format("model.architecture={}", family.architecture.name());
  for (const Demand& demand : family.demands(c))
    if (!demand.met) text += (text.empty() ? "" : ", ") + demand.option;
  return text;
}

}  // namespace

std::span<const ForeignFamily* const> foreign_families() {
  static const ForeignFamily* const all[] = {&gpt2_family(), &llama_family(), &bert_family(),
                                             &roberta_family()};
  return all;
}

const ForeignFamily& family_of(const ModelConfig& config) {
  std::string reasons;
  for (const ForeignFamily* family : foreign_families()) {
    const std::string text = obstacles(*family, config);
    if (text.empty()) return *family;
    reasons += fmt::format("\n  {} needs {}", family->name, text);
  }
  fail_usage("no family of models that other programs know has this model's options:{}", reasons);
}

}  // namespace skein::convert
