#include "foreign_config.h"

namespace skein::convert {
namespace {

struct NamedActivation {
  const char* name;
  MlpKind kind;
};

// Formulas that have several names in transformers' activations.py. The first is written.
constexpr NamedActivation kActivations[] = {{"gelu", MlpKind::gelu_erf},
                                            {"gelu_python", MlpKind::gelu_erf},
                                            {"gelu_new", MlpKind::gelu_tanh},
                                            {"gelu_pytorch_tanh", MlpKind::gelu_tanh},
                                            {"gelu_fast", MlpKind::gelu_tanh},
                                            {"gelu_python_tanh", MlpKind::gelu_tanh},
                                            {"gelu_accurate", MlpKind::gelu_tanh},
                                            {"relu", MlpKind::relu},
                                            {"silu", MlpKind::silu},
                                            {"swish", MlpKind::silu}};

MlpKind activation_of(const ForeignConfig& config, const std::string& key,
                      const std::string& otherwise) {
  const std::string name = config.text(key, otherwise);
  if (const auto kind = activation_named(name)) return *kind;
  fail_usage("{}: \"{}\" is \"{}\"; known are {}", config.origin(), key, name, known_activations());
}

}  // namespace

std::optional<MlpKind> activation_named(const std::string& name) {
  for (const NamedActivation& one : kActivations)
    if (name == one.name) return one.kind;
  return {};
}

std::string name_of_activation(MlpKind kind) {
  for (const NamedActivation& one : kActivations)
    if (one.kind == kind) return one.name;
  return "";
}

std::string known_activations() {
  std::string known;
  for (const NamedActivation& one : kActivations)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  return known;
}

ForeignConfig::ForeignConfig(const std::string& text, const std::string& origin,
                             const HeldTensors& held)
    : json_(parse_strictly<ForeignJson>(text, origin, kMostConfigDepth)),
      origin_(origin),
      held_(held) {
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

std::vector<int64_t> ForeignConfig::integers(const std::string& key) const {
  std::vector<int64_t> made;
  if (!json_[key].is_array()) refuse(key, "and a list of whole numbers belongs there");
  for (const ForeignJson& one : json_[key]) {
    if (!is_whole<int32_t>(one) || one.get<int64_t>() < 0)
      refuse(key, "and a list of whole numbers from 0 to 2147483647 belongs there");
    made.push_back(one.get<int64_t>());
  }
  return made;
}

std::vector<double> ForeignConfig::reals(const std::string& key) const {
  require(has(key), "{} lacks \"{}\"", origin_, key);
  std::vector<double> made;
  if (!json_[key].is_array()) refuse(key, "and a list of numbers belongs there");
  for (const ForeignJson& one : json_[key]) {
    if (!one.is_number()) refuse(key, "and a list of numbers belongs there");
    made.push_back(one.get<double>());
  }
  return made;
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
  if (const std::string name = name_of_activation(value); !name.empty()) write(key, name);
}

void ForeignConfig::alike(const std::string& first, const std::string& second, int64_t value,
                          int64_t otherwise) {
  write(second, value);
  if (!reads()) return;
  const int64_t other = integer(second, otherwise);
  require(other == value,
          "{}: \"{}\" is {} and \"{}\" is {}; both halves of a model have one such size here",
          origin_, first, value, second, other);
}

void check_sizes(const ModelConfig& model, const std::string& origin) {
  with_origin(origin + ", in our options", [&] { check(model, 1, false); });
}

}  // namespace skein::convert
