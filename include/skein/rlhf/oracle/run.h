// The proof that tuning by rewards reaches its optimum: a language whose responses can all be
// enumerated is pretrained, rewarded and tuned by the same code as any other, and what comes out is
// compared with what is exactly best (oracle.h).
#pragma once

#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/rlhf/oracle/report.h"
#include "skein/rlhf/policy/ppo_config.h"

namespace skein::rlhf::oracle {

struct OracleRunConfig {
  std::string language;        // path of its file; "built-in"; "": no such run
  std::string dump;            // file for every response's log-probabilities; "": none
  int64_t pretraining = 3000;  // steps
  int64_t d_model = 64, n_layers = 2, n_heads = 4;
  double pretraining_lr = 2e-3;
};

void bind(Options& options, OracleRunConfig& config);
// Options of tuning that fit so small a model, by key, instead of tune_defaults().
std::vector<std::pair<std::string, std::string>> oracle_defaults();

// "built-in", or the file's.
OracleLanguage oracle_language(const std::string& path);

// Collective. Everything is in config.run.run.dir: the pretrained model, and a tuned one for each
// reward and beta; a run that was stopped goes on from there. Rank 0 writes the dump. Outcomes of a
// stopped run are those it has got to.
struct OracleResult {
  std::vector<OracleOutcome> outcomes;
  bool stopped = false;
  bool committed = false;  // its folder holds a checkpoint to go on from
};
OracleResult run_oracle(const OracleRunConfig& oracle, const policy::TuneConfig& config,
                        Group& world, const std::string& resolved = "");

}  // namespace skein::rlhf::oracle
