#include "skein/train/text_store.h"

#include "skein/data/corpus/encode.h"
#include "skein/models/architecture.h"

namespace skein::train {

TextStore::TextStore(const std::string& text, const TrainedModel& source)
    : folder_("skein-eval"), path_(folder_.path() + "/text.h5") {
  data::EncodeConfig config;
  config.output = path_;
  config.threads = 1;
  config.before = text_beginning(source);
  const bool restores = source.model.architecture->maps_source(source.model) &&
                        source.noise.kind == data::NoiseKind::text && source.noise.permute > 0;
  if (source.mlm.pairs != data::PairTask::none || restores)
    config.corpus.sentences = text::SentenceRule::automatic;
  // Second parts come from other documents, which plain text has none of but its paragraphs.
  if (source.mlm.pairs == data::PairTask::next &&
      format_of(text, data::CorpusFormat::automatic) == data::CorpusFormat::text)
    config.corpus.blank_lines = 1;
  encode_corpus({text}, *source.state.tokenizer, config);
}

}  // namespace skein::train
