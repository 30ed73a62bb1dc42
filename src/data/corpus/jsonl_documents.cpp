#include <utility>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/data/files/left_out.h"

#include "data/files/json_line.h"
#include "documents.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

class JsonlDocuments final : public Documents {
 public:
  JsonlDocuments(std::unique_ptr<ByteSource> source, const std::string& name,
                 const CorpusOptions& options, BadLines& bad)
      : options_(options), bad_(bad), lines_(std::move(source), name, options.most_line_bytes) {}

  bool next(CorpusPiece& piece) override {
    if (at_ == text_.size() && !find_text()) return false;
    const std::string_view rest = std::string_view(text_).substr(at_);
    piece.continues = std::ssize(rest) > options_.piece_bytes;
    const size_t bytes = piece.continues ? piece_cut(rest, options_) : rest.size();
    piece.text = rest.substr(0, bytes);
    at_ += bytes;
    return true;
  }

 private:
  bool find_text() {
    at_ = 0;
    text_.clear();
    while (text_.empty() && lines_.next()) read_text();
    return !text_.empty();
  }

  void read_text() {
    std::string reason;
    Json json = parse_json_line(lines_.line(), reason);
    if (reason.empty()) reason = fault_of(json);
    if (reason.empty()) text_ = std::move(json.at(options_.field).get_ref<std::string&>());
    if (!reason.empty()) bad_.add(lines_.name(), lines_.number(), reason);
  }

  std::string fault_of(const Json& json) const {
    const auto field = json.find(options_.field);
    if (field == json.end())
      return fmt::format("no field \"{}\"; the object has {}", options_.field,
                         listed(keys_of(json)));
    if (!field->is_string())
      return fmt::format("the field \"{}\" is a JSON {}, not a string", options_.field,
                         field->type_name());
    return "";
  }

  CorpusOptions options_;
  BadLines& bad_;
  JsonLines lines_;
  std::string text_;
  size_t at_ = 0;
};

}  // namespace

void BadLines::add(const std::string& file, int64_t line, const std::string& reason) {
  ++count_;
  if (count_ > limit_ && limit_ > 0)
    fail_usage("{}:{}: {}; that makes {} bad lines, data.max_bad_lines allows {}", file, line,
               reason, count_, limit_);
  if (count_ > limit_)
    fail_usage("{}:{}: {}; data.max_bad_lines would let such lines be skipped", file, line, reason);
  tell_left_out(count_, fmt::format("{}:{}: {}", file, line, reason));
}

std::unique_ptr<Documents> jsonl_documents(std::unique_ptr<ByteSource> source,
                                           const std::string& name, const CorpusOptions& options,
                                           BadLines& bad) {
  return std::make_unique<JsonlDocuments>(std::move(source), name, options, bad);
}

}  // namespace skein::data
