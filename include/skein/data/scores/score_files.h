// `skein-data score`: how good the texts of a file are, beside references and perhaps another
// system's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/records/examples.h"
#include "skein/text/scores/bootstrap.h"
#include "skein/text/scores/metrics.h"

namespace skein::data {

enum class ReportFormat { text, json };

struct ScoreConfig {
  std::vector<std::string> metrics{"bleu", "chrf"};
  text::MetricOptions options{};
  std::string baseline{};  // file of another system's hypotheses; "": none
  int64_t resamples = -1;  // -1: 1000 with a baseline, else none
  uint64_t seed = 12345;
  std::string hypothesis = "hypothesis", reference = "reference";  // columns or keys
  Header header = Header::automatic;                               // of tables
  ReportFormat format = ReportFormat::text;
  std::string output{};   // of the report; "": stdout
  std::string samples{};  // of scores sample by sample, JSON lines; "": none
};
// Binds the fields under sections "score", "data" and "output".
void bind(Options& options, ScoreConfig& config);

// A system's score under one name, and what resampling says of it.
struct SystemScore {
  double value = 0;
  std::optional<text::Interval> interval;
};

struct ScoreLine {
  std::string name;  // "rougeL"
  SystemScore system;
  // Where there is a baseline.
  std::optional<SystemScore> baseline;
  std::optional<text::PairedTest> test;
};

struct MetricReport {
  std::string key, name, signature;  // "chrf", "chrF2", "nrefs:1|..."
  std::vector<ScoreLine> scores;
  NamedValues details;  // of the system
};

struct ScoreReport {
  std::string hypotheses, baseline;
  std::vector<std::string> references;
  int64_t samples = 0;
  std::vector<MetricReport> metrics;
};
std::string report_text(const ScoreReport& report);
std::string report_json(const ScoreReport& report);

// files: the hypotheses and one file or more of references; none of these where the first has
// columns or keys and so holds them itself. Writes what ScoreConfig names. A usage error for files
// of different lengths, naming both, for an empty one, and for options that cannot be.
void score_files(const std::vector<std::string>& files, const ScoreConfig& config);

}  // namespace skein::data
