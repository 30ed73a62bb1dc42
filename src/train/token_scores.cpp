#include "skein/train/token_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/train/judge.h"

namespace skein::train {
namespace {

// Of the logits of an evaluation's forward pass.
constexpr int64_t kMostLogitBytes = int64_t{512} << 20;

}  // namespace

double TokenScores::loss() const { return nats / tokens; }
double TokenScores::perplexity() const { return std::exp(loss()); }
double TokenScores::accuracy() const { return ratio(right, tokens); }

std::string TokenScores::text(const std::string& called) const {
  return fmt::format("loss {:.4f}, perplexity {:.2f}, {:.1f}% of {} {} right", shown_number(loss()),
                     shown_number(perplexity()), 100 * accuracy(), readable_count(tokens), called);
}

NamedValues TokenScores::values() const {
  return {{"loss", loss()}, {"perplexity", perplexity()}, {"token_accuracy", accuracy()}};
}

void TokenScores::add(const TokenScores& other) {
  nats += other.nats;
  tokens += other.tokens;
  right += other.right;
}

EvaluatedModel with_room_for_logits(const EvaluatedModel& model, int64_t places,
                                    int64_t vocabulary) {
  const int64_t row_bytes = places * vocabulary * size_of(DType::f32);
  const int64_t fitting = kMostLogitBytes / row_bytes, batch = model.batch;
  return {model.pipeline, model.pass, model.mesh, std::clamp<int64_t>(fitting, 1, batch),
          model.meeting,  model.local};
}

TokenScores token_scores(const EvaluatedModel& model, const data::SampleSource& samples,
                         int64_t count, int64_t places, int64_t vocabulary) {
  const Tensor counts = Tensor::zeros({2}, DType::i64);  // tokens that are right, and all
  const auto nats = judge(with_room_for_logits(model, places, vocabulary), samples, count, 1, true,
                          [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
                            for (int64_t i = 0; i < batch.weights.size(); ++i) {
                              if (batch.weights.data<float>()[i] == 0) continue;
                              counts.data<int64_t>()[0] +=
                                  answers[0].data<int32_t>()[i] == batch.targets.data<int32_t>()[i];
                              ++counts.data<int64_t>()[1];
                            }
                          });
  model.mesh.share_results(counts);
  const int64_t* found = counts.data<int64_t>();
  return {std::accumulate(nats[0].begin(), nats[0].end(), 0.0), found[1], found[0]};
}

}  // namespace skein::train
