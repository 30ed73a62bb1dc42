// How fast this machine runs a model's parts, beside what it could do at most: the work of `skein
// bench`.
#pragma once

#include <string>
#include <vector>

#include "skein/bench/coordinates.h"
#include "skein/comm/group.h"
#include "skein/generate/generator.h"
#include "skein/train/config.h"

namespace skein::bench {

struct BenchConfig {
  std::vector<std::string> what{"gemm", "attention", "fused", "collectives", "step", "decode"};
  int64_t samples = 5;                  // of each figure; the median counts. Of coordinates: seeds
  int64_t prompt = 64;                  // tokens of a prompt before decoding
  int64_t new_tokens = 32;              // decoded tokens; the most of a rollout
  std::vector<int64_t> batches{1, 32};  // prompts decoded together
  std::vector<std::string> structures;  // of attention (bench/structures.h); none: the model's
  int64_t reach = 512;                  // of these
  std::vector<int64_t> lengths;         // of the model's layer; none: its context
  int64_t nodes = 200000, links = 4000000;  // of a graph
  int64_t peak_size = 8192;      // rows and columns of the product whose rate is a GPU's peak
  int64_t stream_mib = 256;      // of the tensors that memory speed is measured with
  CoordinateConfig coordinates;  // its seeds are `samples`
  std::string output;            // JSON file
  std::string plots;             // folder for pictures of coordinates and of structures
  std::string trace;             // Chrome trace of one training step
};

// Binds the fields under section "bench".
void bind(Options& options, BenchConfig& config);

// Completes config.structures: causal or full where the model's attention is, else its layer. A
// usage error where config.lengths would not be read.
void take_structures(BenchConfig& config, const ModelConfig& model);

// One figure. Units that do not apply are 0.
struct Figure {
  std::string group, name;      // "gemm", "1024x3072x768 dx"
  double seconds = 0;           // median
  double flops = 0, bytes = 0;  // of the work done in them
  double peak = 0;  // of the machine measured beside it, in FLOP/s when flops > 0, else in bytes/s
  double tokens = 0;
  double part = 0;        // share of the whole, of a breakdown
  std::string json = {};  // what a group of another kind found instead

  double rate() const { return (flops > 0 ? flops : bytes) / seconds; }
  double share() const { return peak > 0 ? rate() / peak : 0; }
};

// Collective. Runs what config names on synthetic data of the model's shapes and returns all
// figures on rank 0; told by log lines as they come. Usage errors for an unknown name. vocab_size 0
// stands for 50,304.
std::vector<Figure> bench(train::PretrainConfig run, const BenchConfig& config, Group& world);

// {"machine": …, "config": {…}, "figures": [{…}]}
std::string bench_json(const std::vector<Figure>& figures, const train::PretrainConfig& run);

}  // namespace skein::bench
