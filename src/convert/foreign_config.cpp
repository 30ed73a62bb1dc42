#include "foreign_config.h"

namespace skein::convert {
namespace {

struct NamedActivation {
  const char* name;
  MlpKind kind;
};

// Formulas that have several names in transformers' activations.py. The first is written.
constexpr NamedActivation kActivations[] = {
    {"gelu", MlpKind::gelu_erf},           {"gelu_python", MlpKind::gelu_erf},
    {"gelu_new", MlpKind::gelu_tanh},      {"gelu_pytorch_tanh", MlpKind::gelu_tanh},
    {"gelu_fast", MlpKind::gelu_tanh},     {"gelu_python_tanh", MlpKind::gelu_tanh},
    {"gelu_accurate", MlpKind::gelu_tanh}, {"relu", MlpKind::relu}};

MlpKind activation_of(const ForeignConfig& config, const std::string& key,
                      const std::string& otherwise) {
  const std::string name = config.text(key, otherwise);
  std::string known;
  for (const NamedActivation& one : kActivations) {
    if (name == one.name) return one.kind;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  fail_usage("{}: \"{}\" is \"{}\"; known are {}", config.origin(), key, name, known);
}

}  // namespace

ForeignConfig::ForeignConfig(const std::string& text, const std::string& origin,
                             const std::set<std::string>& tensors)
    : json_(parse_strictly<ForeignJson>(text, origin, kMostConfigDepth)),
      origin_(origin),
      tensors_(tensors) {
  require(json_.is_object(), "{} is no JSON object", origin);
}

ForeignConfig ForeignConfig::object(const std::string& key) const {
  require(json_[key].is_object(), "{}: \"{}\" is no object", origin_, key);
  return {json_[key], origin_ + ", " + key};
}

int64_t ForeignConfig::integer(const std::string& key, std::optional<int64_t> otherwise) const {
  const auto fits = [](const ForeignJson& json) {
    return is_whole<int32_t>(json) && json.get<int64_t>() >= 0;
  };
  return value(key, otherwise, fits, "a whole number from 0 to 2147483647");
}

std::string ForeignConfig::class_name() const {
  if (!has("architectures")) return "";
  const ForeignJson& list = json_["architectures"];
  require(list.is_array() && !list.empty() && list[0].is_string(),
          "{}: \"architectures\" is no list of names", origin_);
  return list[0].get<std::string>();
}

void ForeignConfig::size(const std::string& key, int64_t& value, std::optional<int64_t> otherwise,
                         const std::string& alias) {
  write(key, value);
  if (!reads()) return;
  const std::string& second = alias.empty() ? key : alias;
  value = integer(key, integer(second, otherwise));
  require(integer(second, value) == value,
          "{}: \"{}\" is {}, but \"{}\", which means the same, is {}; take out the wrong one",
          origin_, key, value, alias, integer(second, value));
}

void ForeignConfig::activation(const std::string& key, MlpKind& value,
                               const std::string& otherwise) {
  if (reads()) value = activation_of(*this, key, otherwise);
  for (const NamedActivation& one : kActivations)
    if (one.kind == value) return write(key, one.name);
}

void check_sizes(const ModelConfig& model, const std::string& origin) {
  with_origin(origin + ", in our options", [&] { check(model, 1, false); });
}

}  // namespace skein::convert
