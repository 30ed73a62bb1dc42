// Tables of runs for tests, as files and as structs.
#pragma once

#include <cmath>
#include <string>

#include "skein/core/philox.h"
#include "skein/scaling/laws/results.h"

#include "support/scratch.h"

namespace skein::test {

// A file that is gone with this object.
class TableFile {
 public:
  explicit TableFile(const std::string& text) { folder_.write("runs.csv", text); }
  std::string path() const { return folder_.file("runs.csv"); }
  std::string folder() const { return folder_.path(); }

 private:
  Scratch folder_;
};

inline scaling::ScalingTable read(const std::string& text,
                                  const scaling::TableOptions& options = {}) {
  return read_table(TableFile(text).path(), options);
}

// Number `i` of a fixed series within 0 and 1.
inline double uniform(uint64_t series, uint64_t i) {
  const PhiloxBlock block = philox(11, series, i);
  return uniform_double(block[0], block[1]);
}

// sizes x budgets runs with C = 6 N D, sizes spaced by `step` around the law's optimum moved by
// `off`.
template <class Law>
scaling::ScalingTable isoflop_table(const Law& law, int budgets, int sizes, double step,
                                    double noise = 0, double off = 1) {
  scaling::ScalingTable table;
  table.path = "synthetic";
  for (int b = 0; b < budgets; ++b) {
    const double c = 1e18 * std::pow(4.0, b);
    for (int s = 0; s < sizes; ++s) {
      scaling::ScalingRun run;
      run.n_params = law.best_n(c) * off * std::pow(step, s - (sizes - 1) / 2.0);
      run.flops = c;
      run.tokens = c / (6 * run.n_params);
      run.loss = law.loss(run.n_params, run.tokens) *
                 std::exp(noise * (2 * uniform(1, static_cast<uint64_t>(100 * b + s)) - 1));
      run.line = static_cast<int64_t>(table.runs.size()) + 2;
      run.name = "run" + std::to_string(run.line);
      table.runs.push_back(run);
    }
  }
  return table;
}

struct TrueLaw {
  double e = 1.8, a = 480, b = 2100, alpha = 0.35, beta = 0.37;
  double loss(double n, double d) const {
    return e + a * std::pow(n, -alpha) + b * std::pow(d, -beta);
  }
  double exponent() const { return beta / (alpha + beta); }
  double best_n(double c) const {
    return std::pow(alpha * a / (beta * b), 1 / (alpha + beta)) * std::pow(c / 6, exponent());
  }
};

// One long run a size, each `factor` times the one before it, with the loss of TrueLaw along its
// way.
inline scaling::ScalingTable curves_table(int sizes, double factor) {
  scaling::ScalingTable table;
  const TrueLaw law;
  for (int i = 0; i < sizes; ++i) {
    scaling::ScalingRun run;
    run.name = "size" + std::to_string(i);
    run.n_params = 1e7 * std::pow(factor, i);
    run.tokens = 3e10;
    for (int k = 0; k < 60; ++k) {
      const double tokens = run.tokens * std::pow(10.0, -3.0 * (59 - k) / 59);
      run.curve.push_back({tokens, law.loss(run.n_params, tokens)});
    }
    run.loss = run.curve.back().loss;
    run.flops = 6 * run.n_params * run.tokens;
    table.runs.push_back(run);
  }
  return table;
}

}  // namespace skein::test
