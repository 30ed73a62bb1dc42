#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/data/scores/score_files.h"

namespace skein::data {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string shown(double value) { return fmt::format("{:.2f}", shown_number(value)); }

std::string shown(const SystemScore& score) {
  if (!score.interval) return shown(score.value);
  return fmt::format("{} [{}, {}]", shown(score.value), shown(score.interval->low),
                     shown(score.interval->high));
}

std::string line_of(const ScoreLine& line) {
  std::string text = fmt::format("  {:<18} {}", line.name, shown(line.system));
  if (line.baseline)
    text += fmt::format("  baseline {}  difference {:+.2f}", shown(*line.baseline),
                        line.system.value - line.baseline->value);
  if (line.test)
    text += fmt::format("  p {:.4f}  wins {:.1f}%", line.test->p, 100 * line.test->wins);
  return text + "\n";
}

void add(OrderedJson& json, const SystemScore& score) {
  json["score"] = score.value;
  if (!score.interval) return;
  json["mean"] = score.interval->mean;
  json["low"] = score.interval->low;
  json["high"] = score.interval->high;
}

OrderedJson json_of(const ScoreLine& line) {
  OrderedJson json;
  add(json, line.system);
  if (line.baseline) {
    add(json["baseline"], *line.baseline);
    json["difference"] = line.system.value - line.baseline->value;
  }
  if (line.test) {
    json["p"] = line.test->p;
    json["wins"] = line.test->wins;
  }
  return json;
}

}  // namespace

std::string report_text(const ScoreReport& report) {
  std::string text = fmt::format("{} samples of {}", report.samples, report.hypotheses);
  if (!report.baseline.empty()) text += fmt::format(", baseline {}", report.baseline);
  text += "\n";
  for (const MetricReport& metric : report.metrics) {
    text += fmt::format("{}|{}\n", metric.name, metric.signature);
    for (const ScoreLine& line : metric.scores) text += line_of(line);
    for (const auto& [name, value] : metric.details)
      text += fmt::format("  {:<18} {}\n", name, shown(value));
  }
  return text;
}

std::string report_json(const ScoreReport& report) {
  OrderedJson json{{"hypotheses", report.hypotheses},
                   {"references", report.references},
                   {"samples", report.samples}};
  if (!report.baseline.empty()) json["baseline"] = report.baseline;
  for (const MetricReport& metric : report.metrics) {
    OrderedJson& made = json["metrics"][metric.key];
    made["name"] = metric.name;
    made["signature"] = metric.signature;
    for (const ScoreLine& line : metric.scores) made["scores"][line.name] = json_of(line);
    for (const auto& [name, value] : metric.details) made["details"][name] = json_number(value);
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace skein::data
