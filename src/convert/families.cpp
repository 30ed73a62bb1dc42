#include "families/families.h"

#include "skein/convert/import.h"
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
  static const ForeignFamily* const all[] = {
      &gpt2_family(),      &opt_family(),        &gpt_neox_family(), &llama_family(),
      &mistral_family(),   &qwen2_family(),      &qwen3_family(),    &phi3_family(),
      &gemma3_family(),    &bert_family(),       &roberta_family(),  &xlm_roberta_family(),
      &camembert_family(), &t5_family(),         &mt5_family(),      &bart_family(),
      &mbart_family(),     &marian_family(),     &vit_family(),      &swin_family(),
      &mae_family(),       &longformer_family(), &big_bird_family()};
  return all;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> types;
  for (const ForeignFamily* one : foreign_families()) types.push_back(one->name);
  return types;
}

const ForeignFamily& family_named(const std::string& type, const std::string& origin) {
  for (const ForeignFamily* one : foreign_families())
    if (type == one->name) return *one;
  std::string known = fmt::format("{}", fmt::join(known_model_types(), ", "));
  known.replace(known.rfind(", "), 2, " and ");
  fail_usage("{}: \"model_type\" is \"{}\"; {} are known", origin, type, known);
}

const ForeignFamily& family_of(const ModelConfig& config, const std::string& type) {
  for (const ForeignFamily* family : foreign_families())
    if (type == family->name && obstacles(*family, config).empty()) return *family;
  std::string reasons;
  for (const ForeignFamily* family : foreign_families()) {
    const std::string text = obstacles(*family, config);
    if (text.empty()) return *family;
    reasons += fmt::format("\n  {} needs {}", family->name, text);
  }
  fail_usage("no family of models that other programs know has this model's options:{}", reasons);
}

}  // namespace skein::convert
