#include <algorithm>
#include <cmath>

#include "skein/data/samples/loader.h"
#include "skein/models/architecture.h"

#include "parts.h"

namespace skein::scaling::sweep {
namespace {

constexpr double kRise = 0.1;
constexpr int64_t kPart = int64_t{1} << 16;

void count_tokens(const data::TokenStore& store, std::vector<int64_t>& counts) {
  std::vector<int32_t> part;
  for (int64_t begin = 0; begin < store.info().tokens; begin += kPart) {
    part.resize(std::min(kPart, store.info().tokens - begin));
    store.read(begin, part);
    for (int32_t token : part) {
      if (std::ssize(counts) <= token) counts.resize(size_t{1} + token);
      ++counts[token];
    }
  }
}

// Nats a token of the held-out stores, by the frequencies of their own tokens.
double unigram_loss(const data::DataConfig& data) {
  std::vector<int64_t> counts;
  for (const auto& store : open_blend(data.validation, data).stores) count_tokens(*store, counts);
  double total = 0, nats = 0;
  for (int64_t count : counts) total += count;
  for (int64_t count : counts)
    if (count > 0) nats -= count / total * std::log(count / total);
  return nats;
}

}  // namespace

std::string divergence(const CellOutcome& outcome, const train::PretrainConfig& run) {
  if (!std::isfinite(outcome.loss)) return "its loss is not finite";
  if (run.model.architecture->reads() != Reads::texts) return "";
  const int64_t vocab_size = run.model.vocab_size;
  const double uniform = std::log(vocab_size);
  if (outcome.loss > uniform)
    return fmt::format("it ends at {:.4f} nats, above the {:.4f} of all {} tokens alike",
                       outcome.loss, uniform, vocab_size);
  double lowest = outcome.loss;
  for (const CurvePoint& point : outcome.curve) lowest = std::min(lowest, point.loss);
  if (outcome.loss - lowest <= kRise) return "";
  const double frequencies = unigram_loss(run.data);
  if (outcome.loss <= frequencies) return "";
  return fmt::format(
      "it rose from {:.4f} to {:.4f} nats, above the {:.4f} of the tokens' frequencies", lowest,
      outcome.loss, frequencies);
}

}  // namespace skein::scaling::sweep
