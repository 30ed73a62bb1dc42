#include "skein/runs/run_log.h"

#include <algorithm>
#include <fcntl.h>
#include <limits>
#include <span>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/options/ini.h"

namespace skein::runs {
namespace {

constexpr size_t kChunk = 1 << 18;          // bytes read at once
constexpr int64_t kRolloutBytes = 1 << 18;  // of rollouts.jsonl that are looked at

std::string metrics_of(const std::string& folder) { return join_path(folder, "metrics.jsonl"); }

// A line of metrics.jsonl. As events, for trees of ten numbers a line take longer than to read
// them.
class LineReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  int64_t step = -1;
  std::vector<std::pair<std::string, double>> values;
  std::string fault;

  bool null() override { return add(std::numeric_limits<double>::quiet_NaN()); }
  bool number_integer(int64_t value) override { return whole(value, value >= 0); }
  bool number_unsigned(uint64_t value) override {
    return whole(value, value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool string(std::string&) override { return refuse("a text"); }
  bool binary(binary_t&) override { return refuse("no number"); }
  bool start_array(size_t) override { return refuse("a list"); }
  bool end_array() override { return true; }
  bool start_object(size_t) override { return depth_++ == 0 || refuse("an object"); }
  bool end_object() override { return true; }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    fault = json_fault(error.what());
    return false;
  }

 private:
  template <class Whole>
  bool whole(Whole value, bool may_be_step) {
    if (depth_ == 0 || name_ != "step") return add(static_cast<double>(value));
    if (!may_be_step) return refuse("no number of steps");
    step = static_cast<int64_t>(value);
    return true;
  }
  bool add(double value) {
    if (depth_ == 0) return refuse("no object");
    if (name_ == "step") return refuse("no whole number");
    values.emplace_back(name_, value);
    return true;
  }
  bool refuse(const char* what) {
    fault = depth_ == 0 ? fmt::format("it is {}", what)
                        : fmt::format("\"{}\" is {}", excerpt(name_), what);
    return false;
  }

  int depth_ = 0;
  std::string name_;
};

LineReader read_line(std::string_view line) {
  LineReader made;
  const std::string text(line);
  nlohmann::json::sax_parse(text, &made);
  if (made.fault.empty() && made.step < 0) made.fault = "it has no \"step\"";
  return made;
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

double number_in(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>()
                                               : std::numeric_limits<double>::quiet_NaN();
}

SampledAnswer answer_of(const nlohmann::json& line) {
  SampledAnswer made{.step = line["step"].get<int64_t>(),
                     .prompt = text_in(line, "prompt"),
                     .answer = text_in(line, "answer"),
                     .score = number_in(line, "score"),
                     .reward = number_in(line, "reward")};
  if (const auto turns = line.find("messages"); turns != line.end())
    for (const auto& turn : *turns)
      made.prompt += text_in(turn, "role") + ": " + text_in(turn, "content") + "\n";
  return made;
}

std::string end_of_file(const std::string& path) {
  const FileDescriptor file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) return "";
  std::string made(std::min<int64_t>(status.st_size, kRolloutBytes), '\0');
  made.resize(file.read_at(std::as_writable_bytes(std::span(made)), status.st_size - made.size()));
  return made;
}

}  // namespace

bool is_run(const std::string& folder) { return is_folder(folder) && is_there(metrics_of(folder)); }

RunLog::RunLog(std::string folder) : folder_(std::move(folder)) {}

void RunLog::forget() {
  curves_.clear();
  places_.clear();
  step_ = -1;
  lines_ = read_ = 0;
  file_ = 0;
  open_line_ = false;
}

const Curve* RunLog::curve(std::string_view name) const {
  const auto at = places_.find(name);
  return at == places_.end() ? nullptr : &curves_[at->second].second;
}

void RunLog::add(const Record& record) {
  for (size_t i = 0; i < record.size(); ++i) {
    const auto& [name, value] = record[i];
    const auto at = places_.find(name);
    if (at != places_.end()) {
      curves_[at->second].second.add(step_, value);
      continue;
    }
    require(curves_.size() < kMostNumbers, "{}:{}: there are more than {} names of numbers",
            metrics_of(folder_), lines_, kMostNumbers);
    places_.emplace(name, curves_.size());
    curves_.emplace_back(name, Curve()).second.add(step_, value);
  }
}

void RunLog::take_line(std::string_view line) {
  ++lines_;
  const LineReader read = read_line(line);
  const auto where = [&] { return fmt::format("{}:{}", metrics_of(folder_), lines_); };
  require(read.fault.empty(),
          "{} is no line of a run's numbers: {}; take it out of the file, or leave out the run",
          where(), read.fault);
  require(read.step >= step_, "{} is of step {}, but the line above it of step {}", where(),
          read.step, step_);
  step_ = read.step;
  add(read.values);
}

bool RunLog::read() {
  const std::string path = metrics_of(folder_);
  const FileDescriptor file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const struct stat status = file.status();
  require(S_ISREG(status.st_mode), "{} is no file", path);
  const int64_t before = read_;
  const bool other = status.st_ino != file_ || status.st_size < read_;
  if (other) forget();
  try {
    std::string held(kChunk, '\0');
    for (size_t kept = 0, got = 1; got > 0;) {
      held.resize(kept + kChunk);
      got = file.read_at(std::as_writable_bytes(std::span(held).subspan(kept)), read_ + kept);
      const std::string_view all(held.data(), kept + got);
      size_t from = 0;
      for (size_t end; (end = all.find('\n', from)) != all.npos; from = end + 1)
        take_line(all.substr(from, end - from));
      read_ += static_cast<int64_t>(from);
      kept = all.size() - from;
      require(kept <= kLongestLine, "{}:{} is longer than {} bytes", path, lines_ + 1,
              kLongestLine);
      held.erase(0, from);
      open_line_ = kept > 0;
    }
  } catch (...) {
    forget();
    throw;
  }
  file_ = status.st_ino;
  return other || read_ != before;
}

std::vector<std::pair<std::string, std::string>> options_of_run(const std::string& folder) {
  const std::string path = join_path(folder, "config.ini");
  std::vector<std::pair<std::string, std::string>> made;
  if (!is_there(path)) return made;
  for (IniValue& value : parse_ini(read_text(path), path))
    made.emplace_back(std::move(value.key), std::move(value.text));
  return made;
}

std::vector<SampledAnswer> last_answers(const std::string& folder, size_t most) {
  const std::string path = join_path(folder, "rollouts.jsonl");
  std::vector<SampledAnswer> made;
  if (!is_there(path)) return made;
  const std::string end = end_of_file(path);
  std::string_view rest = end;
  while (made.size() < most && !rest.empty()) {
    const size_t from = rest.find_last_of('\n') + 1;
    const auto line = nlohmann::json::parse(std::string(rest.substr(from)), nullptr, false);
    if (line.is_object() && line.contains("step") && line["step"].is_number_integer())
      made.push_back(answer_of(line));
    rest = rest.substr(0, from == 0 ? 0 : from - 1);
  }
  std::ranges::reverse(made);
  return made;
}

}  // namespace skein::runs
