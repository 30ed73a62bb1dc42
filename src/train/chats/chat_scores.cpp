#include "skein/train/chats/chat_scores.h"

#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/train/token_scores.h"

namespace skein::train {

Scores answer_scores(const EvaluatedModel& model, const data::ChatSamples& samples,
                     int64_t vocabulary) {
  const TokenScores found =
      token_scores(model, samples, samples.samples_per_epoch(), samples.places(), vocabulary);
  return {found.text("answer tokens"), found.values(), -found.loss()};
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
