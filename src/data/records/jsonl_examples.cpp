#include <utility>

#include "skein/core/error.h"

#include "data/files/json_line.h"
#include "example_source.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

class JsonlExamples final : public ExampleSource {
 public:
  JsonlExamples(const std::string& path, const ExamplesConfig& config)
      : config_(config), lines_(path, config.most_record_bytes) {}

  bool next(LabelledExample& example) override {
    if (!lines_.next()) return false;
    const Json json = lines_.object();
    example.line = lines_.number();
    example.text = text_at(json, config_.text);
    example.pair = config_.pair.empty() ? "" : text_at(json, config_.pair);
    example.label.clear();
    example.references.clear();
    if (config_.texts)
      add_texts(json, example);
    else if (!config_.label.empty())
      example.label = label_of(json);
    if (!config_.label.empty()) check_label(example, config_, lines_.name());
    return true;
  }
  int64_t consumed() const override { return lines_.consumed(); }

 private:
  std::string text_at(const Json& json, const std::string& key) const {
    const std::string where = lines_.where();
    return text_of(value_at(json, key, where), fmt::format("the value of \"{}\"", key), where);
  }

  void add_texts(const Json& json, LabelledExample& example) const {
    std::vector<std::string>& all = example.references;
    add_texts_at(json, config_.label, all);
    example.label = std::move(all.front());
    all.erase(all.begin());
    for (const std::string& key : config_.references) add_texts_at(json, key, all);
  }

  // A text, or a list of them.
  void add_texts_at(const Json& json, const std::string& key, std::vector<std::string>& all) const {
    const std::string where = lines_.where();
    const Json& value = value_at(json, key, where);
    if (!value.is_array()) return all.push_back(text_at(json, key));
    require(!value.empty(), "{}: the list \"{}\" is empty; it needs one text at least", where, key);
    for (const Json& one : value)
      all.push_back(text_of(one, fmt::format("a value in the list \"{}\"", key), where));
  }

  std::string label_of(const Json& json) const {
    const Json& value = value_at(json, config_.label, lines_.where());
    if (value.is_string()) return value.get<std::string>();
    const bool fits =
        value.is_number_integer() || (config_.numbers ? value.is_number() : value.is_boolean());
    require(fits, "{}: the value of \"{}\" is a JSON {}; a label is {}", lines_.where(),
            config_.label, value.is_number() ? "number with a fraction" : value.type_name(),
            config_.numbers ? "a number" : "a string, an integer, true or false");
    return value.dump();
  }

  ExamplesConfig config_;
  JsonLines lines_;
};

}  // namespace

std::unique_ptr<ExampleSource> jsonl_examples(const std::string& path,
                                              const ExamplesConfig& config) {
  return std::make_unique<JsonlExamples>(path, config);
}

}  // namespace skein::data
