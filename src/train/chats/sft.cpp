#include "skein/train/chats/sft.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"

namespace skein::train {

SftConfig sft_defaults() {
  SftConfig c;
  c.run = adapting_defaults({"runs/sft", 16, 2e-5, LrConfig::Decay::cosine});
  c.run.train.micro_batch = 1;
  c.run.optimizer.adamw.beta2 = 0.999;
  return c;
}

void bind_rows(Options& options, SftTaskConfig& c) {
  options.add("sft.length", c.length, "tokens of a row; 0: model.context", "tokens");
  options.add_choice("sft.longer", c.longer,
                     {{"whole", data::LongChats::whole}, {"cut", data::LongChats::cut}},
                     "of a conversation longer than that: whole: answers that do not end within it "
                     "are left out; cut: they lose their ends");
  options.add("sft.pack", c.pack, "several conversations a row, blind to each other");
}

void check_rows(const SftTaskConfig& c, int64_t context) {
  require(c.length >= 0 && c.length <= context,
          "sft.length={} must be from 1 to model.context={}, the longest that the model can see, "
          "or 0 for that",
          c.length, context);
}

data::ChatSamplesConfig rows_of(const SftTaskConfig& c,
                                const std::vector<text::TemplatedChat>& chats, int64_t context,
                                int64_t multiple) {
  check_rows(c, context);
  const int64_t length = c.length > 0 ? c.length : context;
  return {.length = c.pack ? length : data::padded_length(chats, multiple, length),
          .pack = c.pack,
          .longer = c.longer};
}

std::map<std::string, std::string> stored_rows(const TaskNotes& notes, const std::string& origin) {
  const nlohmann::ordered_json* json = notes.object();
  if (!json || !json->contains("rows")) return {};
  try {
    return json->at("rows");
  } catch (const nlohmann::json::exception& error) {
    fail_usage("the notes of {} on rows of conversations are damaged: {}", origin,
               json_fault(error.what()));
  }
}

void bind(Options& options, SftConfig& c) {
  options.add("data.train", c.run.data.train,
              "files of conversations to learn: .jsonl, plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation, "files of conversations to evaluate on");
  bind(options, c.chat);
  bind_rows(options, c.task);
  options.add("sft.epochs", c.task.epochs, "passes over data.train, where train.steps is 0");
  bind_adapting(options, c.run);
}

}  // namespace skein::train
