#include "evaluate_chats.h"

#include "label_model.h"
#include "skein/core/log.h"
#include "skein/train/chat_scores.h"

namespace skein {
namespace {

std::unique_ptr<ChatSamples> read_samples(const ChatDataConfig& config, const std::vector<std::string>& files, const Source& source) {
  const auto tokenizer = tokenizer_from_json(source.tokenizer);
  require(tokenizer->vocab_size() <= source.model.vocab_size, "the model knows {} ids, but its tokenizer has {}; convert it again with its own (--tokenizer)", source.model.vocab_size, tokenizer->vocab_size());
  const ChatTemplate form = chat_template(config, *tokenizer, source.notes);
  ChatSamplesConfig how;
  how.length = source.model.context;
  how.pad = std::max(0, tokenizer->roles().pad);
  how.shuffle = false;
  auto made = std::make_unique<ChatSamples>(read_chats(config, form, files, source.notes).chats, how);
  require(made->samples_per_epoch() > 0, "none of the {} conversations of data.test has an answer that fits into model.context={} tokens",
          made->counts().chats, how.length);
  tell_samples(*made, "test", form.name());
  return made;
}

}  // namespace

std::vector<std::pair<std::string, double>> evaluate_chats(const ChatDataConfig& config, const std::vector<std::string>& files, const Source& source,
                                                           const ParallelConfig& parallel, int64_t batch, Group& world) {
  check_tokenizer(source);
  const auto samples = read_samples(config, files, source);
  Mesh mesh(world, mesh_shape(parallel, world.size()));
  LocalModel local(source.model, parallel, mesh, DType::f32);
  load_weights(source, local, mesh);
  Pipeline pipeline(mesh, local.pipeline_model(), parallel.schedule);
  const Scores scores = answer_scores({pipeline, local.pass(), mesh, batch}, *samples, source.model.vocab_size);
  log::info("{}: {}", source.info.path, scores.text);
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [name, value] : scores.values) values.emplace_back(name.substr(std::string("validation_").size()), value);
  values.emplace_back("tokens", static_cast<double>(samples->counts().answers));
  values.emplace_back("conversations", static_cast<double>(samples->counts().chats - samples->counts().left_out));
  return values;
}

}  // namespace skein
