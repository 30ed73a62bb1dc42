// Pipeline schedules as data: pure functions that return the list of actions of one stage.
//
// For every (stage, chunk) the backward actions come in rising order of micro-batch, which keeps
// the order in which gradients are summed the same under every schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein {

enum class ScheduleKind { gpipe, one_f_one_b, interleaved };

struct Action {
  enum Kind { forward, backward } kind;
  int micro_batch;
  int chunk;  // of the model pieces on this rank
  bool operator==(const Action&) const = default;
};

// gpipe: all forwards, then all backwards. one_f_one_b: min(stages - stage - 1, m) forwards, then
// pairs, then the rest (Narayanan et al., "PipeDream", 2019; Megatron-LM). interleaved: each rank
// holds `chunks` pieces, visited in groups of `stages` micro-batches (Narayanan et al., "Efficient
// large-scale language model training", 2021).
std::vector<Action> make_schedule(ScheduleKind kind, int stage, int stages, int micro_batches,
                                  int chunks);

// Micro-batches whose forward a stage has made and whose backward it has not, at most. A piece of
// `chunks` counts as that share of one.
double most_in_flight(ScheduleKind kind, int stage, int stages, int64_t micro_batches, int chunks);

// Usage errors with the numbers: chunks > 1 needs interleaved; interleaved over several stages
// needs micro_batches to be a multiple of stages.
void check_schedule_fits(ScheduleKind kind, int stages, int micro_batches, int chunks);

// Layers of each of `parts` pieces: `given`, which must sum to the number of layers, or such that
// the part with the most work has the least. work: of each layer, and `head` what the last part
// does beside its layers; what does not divide goes to the first ones. A usage error when there are
// fewer layers than parts.
std::vector<int> split_layers(const std::vector<double>& work, int parts,
                              const std::vector<int64_t>& given, double head = 0);

}  // namespace skein
