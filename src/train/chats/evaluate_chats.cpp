#include "skein/train/chats/evaluate_chats.h"

#include <algorithm>

#include "skein/core/log.h"
#include "skein/train/chats/chat_scores.h"
#include "skein/train/taken_over.h"
#include "skein/train/trained_model.h"
#include "skein/train/vocabulary.h"

namespace skein::train {
namespace {

std::unique_ptr<data::ChatSamples> read_samples(const ChatEvaluation& asked) {
  const TrainedModel& source = asked.source;
  const auto& [chat, rows] = asked.config;
  const text::StoredTokenizer& tokenizer = source.state.tokenizer;
  check_vocabulary(source.model, *tokenizer, kConvertAgain);
  const text::ChatTemplate form = chat_template(chat, *tokenizer, source.state.notes);
  auto chats = read_chats(chat, form, asked.files, source.state.notes).chats;
  data::ChatSamplesConfig how =
      rows_of(rows, chats, source.model.context, row_multiple(asked.parallel));
  how.pad = std::max(0, tokenizer->roles().pad);
  how.shuffle = false;
  auto made = std::make_unique<data::ChatSamples>(std::move(chats), how);
  require(made->samples_per_epoch() > 0,
          "none of the {} conversations of data.test has an answer that fits into {} tokens "
          "(sft.length={}, model.context={})",
          made->counts().chats, how.length, rows.length, source.model.context);
  tell_samples(*made, "test", form.name());
  return made;
}

}  // namespace

void bind(Options& options, ChatEvalConfig& c) {
  bind(options, c.chat);
  bind_rows(options, c.rows);
}

NamedValues evaluate_chats(const ChatEvaluation& asked, Group& world) {
  const TrainedModel& source = asked.source;
  require_tokenizer(source);
  take_over(asked.options, stored_rows(source.state.notes, source.info.path), source.info.path);
  const auto samples = read_samples(asked);
  LoadedModel model(source, asked.parallel, DType::f32, world);
  const Scores scores =
      answer_scores(model.evaluated(asked.batch), *samples, source.model.vocab_size);
  log::info("{}: {}", source.info.path, scores.text);
  NamedValues values = scores.values;
  values.emplace_back("tokens", samples->counts().answers);
  values.emplace_back("conversations", samples->counts().chats - samples->counts().left_out);
  return values;
}

}  // namespace skein::train
