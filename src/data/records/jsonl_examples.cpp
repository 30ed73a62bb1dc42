#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/line_reader.h"

#include "data/files/json_line.h"
#include "example_source.h"

namespace skein {
namespace {

using Json = nlohmann::json;

class JsonlExamples final : public ExampleSource {
 public:
  JsonlExamples(const std::string& path, const ExamplesConfig& config)
      : name_(input_name(path)),
        config_(config),
        lines_(open_source(path), config.most_record_bytes) {}

  bool next(LabelledExample& example) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
      require(lines_.ends_line(),
              "{}:{}: the line is longer than {} bytes; is it JSONL, one object a line?", name_,
              lines_.number(), config_.most_record_bytes);
    } while (blank(line));
    std::string reason;
    const Json json = parse_json_line(line, reason);
    require(reason.empty(), "{}:{}: {}", name_, lines_.number(), reason);
    example.line = lines_.number();
    example.text = text_of(json, config_.text);
    example.pair = config_.pair.empty() ? "" : text_of(json, config_.pair);
    example.label = config_.label.empty() ? "" : label_of(json);
    if (!config_.label.empty()) check_label(example, config_, name_);
    return true;
  }

 private:
  const Json& at(const Json& json, const std::string& key) const {
    const auto found = json.find(key);
    if (found != json.end()) return *found;
    const std::vector<std::string> keys = keys_of(json);
    fail_usage("{}:{}: no key \"{}\"; the object has {}{}", name_, lines_.number(), key,
               listed(keys), did_you_mean(key, keys));
  }

  std::string text_of(const Json& json, const std::string& key) const {
    const Json& value = at(json, key);
    require(value.is_string(), "{}:{}: the value of \"{}\" is a JSON {}, not a string", name_,
            lines_.number(), key, value.type_name());
    return value.get<std::string>();
  }

  std::string label_of(const Json& json) const {
    const Json& value = at(json, config_.label);
    if (value.is_string()) return value.get<std::string>();
    const bool fits =
        value.is_number_integer() || (config_.numbers ? value.is_number() : value.is_boolean());
    require(fits, "{}:{}: the value of \"{}\" is a JSON {}; a label is {}", name_, lines_.number(),
            config_.label, value.is_number() ? "number with a fraction" : value.type_name(),
            config_.numbers ? "a number" : "a string, an integer, true or false");
    return value.dump();
  }

  std::string name_;
  ExamplesConfig config_;
  LineReader lines_;
};

}  // namespace

std::unique_ptr<ExampleSource> jsonl_examples(const std::string& path,
                                              const ExamplesConfig& config) {
  return std::make_unique<JsonlExamples>(path, config);
}

}  // namespace skein
