// config.json of Hugging Face's transformers, key by key.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skein/convert/huggingface_config.h"
#include "skein/core/strict_json.h"

namespace skein::convert {

using ForeignJson = nlohmann::ordered_json;

// What a list of one holds, else the value itself.
inline const ForeignJson& only_one(const ForeignJson& value) {
  return value.is_array() && value.size() == 1 ? value.front() : value;
}

// A config.json that is read, or one that is made: a family lists its keys once for both ways.
// Errors name the file and the key. A key that is null counts as absent; where a config.json is
// made, all keys that could be read are absent.
class ForeignConfig {
 public:
  // Reads. `held` is in the files beside it.
  ForeignConfig(const std::string& text, const std::string& origin, const HeldTensors& held = {});
  // Makes one that begins with `made`.
  explicit ForeignConfig(ForeignJson made) : makes_(true), made_(std::move(made)) {}

  bool reads() const { return !makes_; }
  const ForeignJson& made() const { return made_; }
  const std::string& origin() const { return origin_; }
  bool has_tensor(const std::string& name) const { return held_.names.contains(name); }
  // Whether both are there and hold the same numbers.
  bool same_tensors(const std::string& left, const std::string& right) const {
    return has_tensor(left) && has_tensor(right) && held_.same && held_.same(left, right);
  }

  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }
  // Also where it is null.
  bool mentions(const std::string& key) const { return json_.contains(key); }
  const ForeignJson& at(const std::string& key) const { return json_[key]; }
  ForeignConfig object(const std::string& key) const;
  // A key without `otherwise` must be there. Integers are from 0 to 2^31 - 1.
  int64_t integer(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  // A list of integers from 0 to 2^31 - 1.
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<double> reals(const std::string& key) const;
  double real(const std::string& key, std::optional<double> otherwise = {}) const {
    return value(key, otherwise, &ForeignJson::is_number, "a number");
  }
  bool truth(const std::string& key, std::optional<bool> otherwise) const {
    return value(key, otherwise, &ForeignJson::is_boolean, "true or false");
  }
  std::string text(const std::string& key, std::optional<std::string> otherwise) const {
    return value(key, otherwise, &ForeignJson::is_string, "a text");
  }
  // The class that the model was saved from; "" where none is named.
  std::string class_name() const;
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    fail_usage("{}: \"{}\" is {}, {}", origin_, key, shown(key), why);
  }
  void refuse_true(const std::string& key, const std::string& why) const {
    if (truth(key, false)) refuse(key, why);
  }

  // These take a value from what is read, or put it into what is made. `alias` is another name that
  // transformers takes for `key`, which alone is written.
  void size(const std::string& key, int64_t& value, std::optional<int64_t> otherwise = {},
            const std::string& alias = "");
  void real(const std::string& key, double& value, double otherwise) {
    if (reads()) value = real(key, otherwise);
    write(key, value);
  }
  void truth(const std::string& key, bool& value, bool otherwise) {
    if (reads()) value = truth(key, otherwise);
    write(key, value);
  }
  void activation(const std::string& key, MlpKind& value, const std::string& otherwise);
  // For two halves of a model that say the same size in keys of their own and can have one here.
  // value: of the first key; otherwise: of the second where it is not there.
  void alike(const std::string& first, const std::string& second, int64_t value, int64_t otherwise);
  // A key that must not say anything else, where it is there.
  void must_be(const std::string& key, bool value, const std::string& why) const {
    if (truth(key, value) != value) refuse(key, why);
  }
  // Puts it into what is made, and leaves what is read.
  void write(const std::string& key, const ForeignJson& value) { made_[key] = value; }

 private:
  ForeignConfig(ForeignJson json, std::string origin)
      : json_(std::move(json)), origin_(std::move(origin)) {}

  template <class T, class Fits>
  T value(const std::string& key, const std::optional<T>& otherwise, Fits fits,
          const char* what) const {
    if (!has(key) && otherwise) return *otherwise;
    require(has(key), "{} lacks \"{}\"", origin_, key);
    if (!std::invoke(fits, json_[key]))
      fail_usage("{}: \"{}\" is {}; {} belongs there", origin_, key, shown(key), what);
    return json_[key].template get<T>();
  }
  std::string shown(const std::string& key) const {
    return json_.contains(key) ? json_[key].dump().substr(0, 80) : "not given";
  }

  bool makes_ = false;
  ForeignJson json_ = ForeignJson::object(), made_;
  std::string origin_;
  HeldTensors held_;
};

// The formula that transformers knows under this name; nothing for one that is not known here.
std::optional<MlpKind> activation_named(const std::string& name);
// The name that is written for a formula; "" where there is none.
std::string name_of_activation(MlpKind kind);
// All names that are known.
std::string known_activations();

// A usage error naming `origin` for a model that cannot be (check of models/config.h).
void check_sizes(const ModelConfig& model, const std::string& origin);

}  // namespace skein::convert
