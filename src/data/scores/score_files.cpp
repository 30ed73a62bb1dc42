#include "skein/data/scores/score_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/scores/text_files.h"

namespace skein::data {
namespace {

using OrderedJson = nlohmann::ordered_json;
using text::Counts;
using Texts = std::vector<std::string>;
using Metrics = std::vector<std::unique_ptr<const text::Metric>>;

constexpr int64_t kMostResamples = 1'000'000;

// One system under one metric.
struct Measured {
  Counts samples;  // [samples, width]
  Counts sums;     // [width]
};

struct Input {
  Texts hypotheses, baseline;
  std::vector<Texts> references;  // of each sample
};

void check(const std::vector<std::string>& files, const ScoreConfig& c) {
  require(!files.empty(),
          "no file was named; name the hypotheses and the references, as in `skein-data score "
          "said.txt wanted.txt`");
  require(files.size() > 1 || has_columns(files[0]),
          "{} holds a text a line and no references were named; name their file behind it",
          input_name(files[0]));
  require(!c.metrics.empty(), "score.metrics is empty; there are {}", listed(text::metric_names()));
  require(c.resamples >= -1 && c.resamples != 1 && c.resamples <= kMostResamples,
          "score.bootstrap={} must be from 2 to {}, or 0 for none (-1: 1000 with a baseline, else "
          "none)",
          c.resamples, kMostResamples);
  const Texts inputs = [&] {
    Texts all = files;
    if (!c.baseline.empty()) all.push_back(c.baseline);
    return all;
  }();
  require(std::ranges::count(inputs, "-") <= 1, "stdin (-) was named {} times; it can be read once",
          std::ranges::count(inputs, "-"));
  for (const auto& [option, output] :
       {std::pair("output.path", c.output), std::pair("output.samples", c.samples)})
    require(output.empty() || std::ranges::find(inputs, output) == inputs.end(),
            "{}={} would destroy an input; name another file", option, output);
}

Metrics made_metrics(const ScoreConfig& c) {
  Metrics made;
  std::set<std::string> known;
  for (const std::string& name : c.metrics) {
    require(known.insert(name).second, "score.metrics names \"{}\" twice; once is enough",
            excerpt(name));
    made.push_back(text::make_metric(name, c.options));
  }
  return made;
}

void check_lengths(const std::string& file, size_t count, const std::string& other, size_t wanted) {
  require(count == wanted,
          "{} holds {} texts and {} holds {}; sample by sample they must belong together, so give "
          "files of equal length (in text files an empty line is a text, in CSV, TSV and JSONL it "
          "is none)",
          input_name(file), count, input_name(other), wanted);
}

Input read_input(const std::vector<std::string>& files, const ScoreConfig& c) {
  const TextColumn hypothesis{c.hypothesis, "data.hypothesis", c.header};
  const TextColumn reference{c.reference, "data.reference", c.header};
  Input input{read_texts(files[0], hypothesis), {}, {}};
  input.references.resize(input.hypotheses.size());
  const auto first = files.size() > 1 ? files.begin() + 1 : files.begin();
  for (auto file = first; file != files.end(); ++file) {
    std::vector<Texts> more = read_text_lists(*file, reference);
    check_lengths(files[0], input.hypotheses.size(), *file, more.size());
    for (size_t i = 0; i < more.size(); ++i)
      std::ranges::move(more[i], std::back_inserter(input.references[i]));
  }
  if (c.baseline.empty()) return input;
  input.baseline = read_texts(c.baseline, hypothesis);
  check_lengths(files[0], input.hypotheses.size(), c.baseline, input.baseline.size());
  return input;
}

Measured measured(const text::Metric& metric, const Texts& hypotheses,
                  const std::vector<Texts>& references) {
  const int64_t width = metric.width();
  Measured made{Counts(width * hypotheses.size()), Counts(width)};
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto counts = std::span(made.samples).subspan(i * width, width);
    metric.add(hypotheses[i], references[i], counts);
    for (int64_t k = 0; k < width; ++k) made.sums[k] += counts[k];
  }
  return made;
}

std::vector<Measured> measured(const Metrics& metrics, const Texts& hypotheses,
                               const std::vector<Texts>& references) {
  std::vector<Measured> made;
  if (!hypotheses.empty())
    for (const auto& metric : metrics) made.push_back(measured(*metric, hypotheses, references));
  return made;
}

// How many references each sample has; 0 where that varies.
int64_t reference_count(const std::vector<Texts>& references) {
  const size_t first = references.front().size();
  const bool even =
      std::ranges::all_of(references, [&](const Texts& r) { return r.size() == first; });
  return even ? static_cast<int64_t>(first) : 0;
}

std::vector<text::ResampledScores> resampled(const Metrics& metrics,
                                             const std::vector<Measured>& systems,
                                             const text::Resampling& resampling) {
  if (resampling.resamples == 0) return {};
  std::vector<text::MeasuredSamples> all;
  for (size_t i = 0; i < systems.size(); ++i)
    all.push_back({metrics[i % metrics.size()].get(), systems[i].samples});
  return resampled_scores(all, resampling);
}

// What resampling says of each entry of `systems`: nothing where there is none.
struct Resampled {
  text::Resampling resampling;
  std::vector<text::ResampledScores> scores;

  bool any() const { return !scores.empty(); }
  std::string note() const {
    return any() ? fmt::format("bs:{}|seed:{}", resampling.resamples, resampling.seed) : "";
  }
};

SystemScore system_score(double value, const Resampled& resampled, size_t system, size_t score) {
  SystemScore made{value, {}};
  if (resampled.any()) made.interval = text::interval_of(resampled.scores[system][score]);
  return made;
}

// Of a metric's score under the number `score`: of the hypotheses, or of hypotheses and baseline.
ScoreLine score_line(const text::Metric& metric, std::span<const size_t> entries,
                     const std::vector<Measured>& systems, const Resampled& resampled,
                     size_t score) {
  const auto value = [&](size_t entry) {
    return metric.values(systems[entry].sums).scores[score].second;
  };
  const size_t own = entries.front(), other = entries.back();
  ScoreLine line{metric.values(systems[own].sums).scores[score].first,
                 system_score(value(own), resampled, own, score),
                 {},
                 {}};
  if (own == other) return line;
  line.baseline = system_score(value(other), resampled, other, score);
  if (!resampled.any()) return line;
  std::span<const double> worse = resampled.scores[other][score];
  std::span<const double> better = resampled.scores[own][score];
  if (metric.less_is_better()) std::swap(worse, better);
  line.test = text::paired_test(worse, better, value(own) - value(other));
  return line;
}

// systems: those of the hypotheses, then those of the baseline if there is one, a metric each.
std::vector<MetricReport> reports(const Metrics& metrics, const std::vector<Measured>& systems,
                                  const Resampled& resampled, int64_t references,
                                  const ScoreConfig& c) {
  std::vector<MetricReport> made;
  for (size_t m = 0; m < metrics.size(); ++m) {
    const text::MetricValues values = metrics[m]->values(systems[m].sums);
    std::vector<size_t> entries{m};
    if (systems.size() > metrics.size()) entries.push_back(metrics.size() + m);
    MetricReport& report = made.emplace_back();
    report.key = c.metrics[m];
    report.name = metrics[m]->name();
    report.signature = metrics[m]->signature(references, resampled.note());
    report.details = values.details;
    for (size_t s = 0; s < values.scores.size(); ++s)
      report.scores.push_back(score_line(*metrics[m], entries, systems, resampled, s));
  }
  return made;
}

OrderedJson sample_json(const Metrics& metrics, const std::vector<Measured>& systems, size_t first,
                        size_t sample) {
  OrderedJson json = OrderedJson::object();
  for (size_t m = 0; m < metrics.size(); ++m) {
    const int64_t width = metrics[m]->width();
    const auto counts = std::span(systems[first + m].samples).subspan(sample * width, width);
    for (const auto& [name, value] : metrics[m]->sample_values(counts).scores) json[name] = value;
  }
  return json;
}

// {"sample": 0, "scores": {"bleu": ...}, "baseline": {...}} a line.
void write_samples(ResultFile& file, const Metrics& metrics, const std::vector<Measured>& systems,
                   int64_t samples) {
  for (int64_t i = 0; i < samples; ++i) {
    OrderedJson json{{"sample", i}, {"scores", sample_json(metrics, systems, 0, i)}};
    if (systems.size() > metrics.size())
      json["baseline"] = sample_json(metrics, systems, metrics.size(), i);
    file.write(json.dump() + "\n");
  }
  file.finish();
}

}  // namespace

void bind(Options& options, ScoreConfig& c) {
  options.add("score.metrics", c.metrics, "of " + listed(text::metric_names()));
  bind(options, c.options);
  options.add("score.baseline", c.baseline,
              "hypotheses of another system, to compare with by the paired bootstrap");
  options.add(
      "score.bootstrap", c.resamples,
      "resamples for intervals of 95% and for the comparison; -1: 1000 with a baseline, else "
      "none",
      "resamples");
  options.add("score.seed", c.seed, "of the resamples");
  options.add("data.hypothesis", c.hypothesis,
              "CSV, TSV, JSONL: the column or key of the hypotheses (of tables also its number)");
  options.add("data.reference", c.reference,
              "the same of the references; in JSONL a text or a list of texts");
  options.add_choice("data.header", c.header,
                     {{"auto", Header::automatic}, {"yes", Header::yes}, {"no", Header::no}},
                     "CSV, TSV: whether the first row names the columns");
  options.add_choice("output.format", c.format,
                     {{"text", ReportFormat::text}, {"json", ReportFormat::json}}, "of the result");
  options.add("output.path", c.output, "file for the result instead of stdout");
  options.add("output.samples", c.samples, "file for the scores of each sample, JSON lines");
}

void score_files(const std::vector<std::string>& files, const ScoreConfig& c) {
  check(files, c);
  const Metrics metrics = made_metrics(c);
  const Input input = read_input(files, c);
  std::optional<ResultFile> samples;
  if (!c.samples.empty()) samples.emplace("output.samples", c.samples);
  ResultFile result("output.path", c.output);
  std::vector<Measured> systems = measured(metrics, input.hypotheses, input.references);
  std::ranges::move(measured(metrics, input.baseline, input.references),
                    std::back_inserter(systems));
  const int64_t usual = c.baseline.empty() ? 0 : 1000;
  const text::Resampling resampling{c.resamples >= 0 ? c.resamples : usual, c.seed};
  ScoreReport report{input_name(files[0]),
                     c.baseline,
                     {files.begin() + 1, files.end()},
                     std::ssize(input.hypotheses),
                     {}};
  if (report.references.empty()) report.references = {files[0]};
  report.metrics = reports(metrics, systems, {resampling, resampled(metrics, systems, resampling)},
                           reference_count(input.references), c);
  if (samples) write_samples(*samples, metrics, systems, report.samples);
  result.write(c.format == ReportFormat::json ? report_json(report) : report_text(report));
  result.finish();
}

}  // namespace skein::data
