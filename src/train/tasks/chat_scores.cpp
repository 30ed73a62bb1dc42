#include "skein/train/tasks/chat_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/train/judge.h"

namespace skein::train {
namespace {

// Of the logits of an evaluation's forward pass.
constexpr int64_t kMostLogitBytes = int64_t{512} << 20;

}  // namespace

Scores answer_scores(const EvaluatedModel& model, const data::ChatSamples& samples,
                     int64_t vocabulary) {
  const int64_t row_bytes = samples.places() * vocabulary * sizeof(float);
  const EvaluatedModel few{model.pipeline, model.pass, model.mesh,
                           std::clamp<int64_t>(kMostLogitBytes / row_bytes, 1, model.batch),
                           model.meeting};
  const Tensor counts = Tensor::zeros({2}, DType::i64);  // tokens that are right, and all
  const auto nats = judge(few, samples, samples.samples_per_epoch(), 1, true,
                          [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
                            for (int64_t i = 0; i < batch.weights.size(); ++i) {
                              if (batch.weights.data<float>()[i] == 0) continue;
                              counts.data<int64_t>()[0] +=
                                  answers[0].data<int32_t>()[i] == batch.targets.data<int32_t>()[i];
                              ++counts.data<int64_t>()[1];
                            }
                          });
  model.mesh.share_results(counts);
  const auto tokens = static_cast<double>(counts.data<int64_t>()[1]),
             accuracy = static_cast<double>(counts.data<int64_t>()[0]) / tokens;
  const double loss = std::accumulate(nats[0].begin(), nats[0].end(), 0.0) / tokens;
  return {fmt::format("loss {:.4f}, perplexity {:.2f}, {:.1f}% of {} answer tokens right",
                      shown_number(loss), shown_number(std::exp(loss)), 100 * accuracy,
                      readable_count(tokens)),
          {{"validation_loss", loss},
           {"validation_perplexity", std::exp(loss)},
           {"validation_token_accuracy", accuracy}},
          -loss};
}

void tell_samples(const data::ChatSamples& samples, const std::string& what,
                  const std::string& chat_template) {
  const data::ChatCounts& counts = samples.counts();
  log::info(
      "{} {} conversations in {} rows of {} tokens, {:.1f}% filled, {} tokens of answers, by the "
      "template \"{}\"",
      counts.chats - counts.left_out, what, samples.samples_per_epoch(), samples.length(),
      100.0 * counts.tokens / (samples.samples_per_epoch() * samples.length()),
      readable_count(counts.answers), chat_template);
  if (counts.left_out > 0)
    log::warn("{} of {} {} conversations are left out: no answer of theirs fits into {} tokens",
              counts.left_out, counts.chats, what, samples.length());
  if (counts.shortened > 0)
    log::warn("{} of {} {} conversations are longer than {} tokens and lose what is beyond",
              counts.shortened, counts.chats, what, samples.length());
}

}  // namespace skein::train
