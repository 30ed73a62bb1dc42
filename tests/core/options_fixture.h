// Options of every type, and what sets and refuses them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/options/options.h"
#include "skein/core/strings.h"

#include "support/expect_error.h"
#include "support/scratch.h"

namespace skein::test {

using Words = std::vector<std::string>;

enum class Norm { layer, rms };

struct Config {
  bool shuffle = true;
  int stages = 1;
  int64_t steps = 100;
  uint64_t seed = 7;
  double rate = 3e-4;
  std::string note = "none";
  Words stores = {"a", "b"};
  std::vector<int64_t> layers;
  std::vector<double> factors;
  Norm norm = Norm::layer;
};

struct Bound {
  Config config;
  Options options{"prog", "Does things."};
  Bound() {
    options.add("data.shuffle", config.shuffle, "visit in shuffled order");
    options.add("train.stages", config.stages, "pipeline stages");
    options.add("train.steps", config.steps, "optimizer steps", "steps");
    options.add("train.seed", config.seed, "of everything");
    options.add("train.rate", config.rate, "how fast");
    options.add("data.note", config.note, "free text");
    options.add("data.stores", config.stores, "what to read");
    options.add("train.layers", config.layers, "blocks of each stage");
    options.add("train.factors", config.factors, "of each stage");
    options.add_choice("model.norm", config.norm, {{"layer", Norm::layer}, {"rms", Norm::rms}},
                       "kind of norm");
  }
};

class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

inline std::string parse_error(const Words& args, bool allow_words = false) {
  return refusal_of([&] { Bound().options.parse(args, allow_words); });
}

inline std::string ini_error(const std::string& text) {
  return refusal_of([&] { Bound().options.read_ini(text, "run.ini"); });
}

}  // namespace skein::test
