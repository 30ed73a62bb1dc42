#include "skein/core/error.h"
#include "skein/data/files/line_reader.h"

#include "example_source.h"

namespace skein::data {
namespace {

class LineExamples final : public ExampleSource {
 public:
  LineExamples(const std::string& path, const ExamplesConfig& config)
      : name_(input_name(path)),
        most_(config.most_record_bytes),
        lines_(open_source(path), config.most_record_bytes) {}

  bool next(LabelledExample& example) override {
    std::string_view line;
    if (!lines_.next(line)) return false;
    require(lines_.ends_line(), "{}:{}: the line is longer than {} bytes; is it text, one a line?",
            name_, lines_.number(), most_);
    example.line = lines_.number();
    example.text = without_break(line);
    return true;
  }
  int64_t consumed() const override { return lines_.consumed(); }

 private:
  std::string name_;
  int64_t most_;
  LineReader lines_;
};

}  // namespace

std::unique_ptr<ExampleSource> line_examples(const std::string& path,
                                             const ExamplesConfig& config) {
  return std::make_unique<LineExamples>(path, config);
}

}  // namespace skein::data
