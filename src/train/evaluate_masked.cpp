#include "skein/train/evaluate_masked.h"

#include <algorithm>
#include <numeric>

#include "skein/core/strings.h"
#include "skein/train/judge.h"
#include "skein/train/progress.h"

namespace skein::train {
namespace {

constexpr uint64_t kMaskingSeed = 20181011;

struct Counts {
  MaskedEvaluation all;
  Tensor by_id;  // [V] i64: how often each is the target

  void add(const data::Batch& batch, const std::vector<Tensor>& answers) {
    for (int64_t i = 0; i < batch.weights.size(); ++i) {
      if (batch.weights.data<float>()[i] == 0) continue;
      const int32_t target = batch.targets.data<int32_t>()[i];
      ++all.tokens;
      ++by_id.data<int64_t>()[target];
      all.right += answers[0].data<int32_t>()[i] == target;
    }
    if (!batch.pair_labels.defined()) return;
    for (int64_t i = 0; i < batch.size(); ++i) {
      ++all.pairs;
      all.pairs_right += answers[1].data<int32_t>()[i] == batch.pair_labels.data<int32_t>()[i];
    }
  }

  // On all ranks, from those of the last stage.
  void share(Mesh& mesh) {
    const Tensor numbers =
        Tensor::from(std::vector<int64_t>{all.tokens, all.right, all.pairs, all.pairs_right}, {4});
    for (const Tensor& counted : {numbers, by_id}) mesh.share_results(counted);
    const int64_t* found = numbers.data<int64_t>();
    all.tokens = found[0], all.right = found[1], all.pairs = found[2], all.pairs_right = found[3];
  }
};

double percent(int64_t part, int64_t whole) { return 100.0 * part / whole; }

}  // namespace

std::string MaskedEvaluation::text() const {
  std::string made =
      fmt::format("loss {:.4f}, {:.1f}% of {} masked tokens right (the commonest token: {:.1f}%)",
                  shown_number(loss()), 100 * accuracy(), readable_count(tokens), 100 * guess());
  if (pairs > 0)
    made += fmt::format(", {:.1f}% of {} pairs right", percent(pairs_right, pairs), pairs);
  return made;
}

NamedValues MaskedEvaluation::values() const {
  NamedValues made{{"loss", loss()}, {"masked_accuracy", accuracy()}, {"commonest_token", guess()}};
  if (pairs == 0) return made;
  made.emplace_back("pair_loss", pair_nats / pairs);
  made.emplace_back("pair_accuracy", percent(pairs_right, pairs) / 100);
  return made;
}

std::unique_ptr<data::MaskedLoader> validation_samples(const std::vector<std::string>& entries,
                                                       int64_t length, const data::DataConfig& data,
                                                       const data::MaskConfig& mask) {
  data::MaskConfig fixed = mask;
  fixed.fixed = true;
  data::DataConfig shuffled = data;
  shuffled.shuffle = true;
  return std::make_unique<data::MaskedLoader>(entries, length, kMaskingSeed, shuffled, fixed);
}

MaskedEvaluation evaluate_masked(const EvaluatedModel& model, const data::MaskedLoader& samples,
                                 int64_t count) {
  const int64_t all = samples.samples_per_epoch(), used = count > 0 ? std::min(count, all) : all;
  Counts counts;
  counts.by_id = Tensor::zeros({samples.vocab_size()}, DType::i64);
  const size_t terms = samples.with_pairs() ? 2 : 1;
  const auto nats = judge(model, samples, used, terms, true,
                          [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
                            counts.add(batch, answers);
                          });
  counts.share(model.mesh);
  MaskedEvaluation made = counts.all;
  const auto by_id = counts.by_id.span<int64_t>();
  made.commonest = *std::ranges::max_element(by_id);
  made.nats = std::accumulate(nats[0].begin(), nats[0].end(), 0.0);
  if (terms > 1) made.pair_nats = std::accumulate(nats[1].begin(), nats[1].end(), 0.0);
  require(made.tokens > 0, "the evaluation data holds no token that could be masked");
  return made;
}

}  // namespace skein::train
