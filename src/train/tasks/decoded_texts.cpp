#include "skein/train/tasks/decoded_texts.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"

namespace skein::train {
namespace {

using OrderedJson = nlohmann::ordered_json;

generate::GenerateConfig generation(const PairReading& reading, const DecodingConfig& how) {
  generate::GenerateConfig made;
  made.max_tokens = reading.sides.target_length;
  made.batch = how.batch;
  made.sampling.temperature = 0;  // without beams: the likeliest token
  made.beam = how.beam;
  made.start = {reading.form.start};
  return made;
}

std::vector<generate::Continuation> answers(generate::Generator& generator,
                                            const std::vector<generate::Tokens>& prompts,
                                            bool searches, Meeting* meeting) {
  if (!searches) return generator.run(prompts, {}, {}, meeting);
  std::vector<generate::Continuation> made;
  for (const auto& found : generator.search(prompts, {}, meeting)) {
    SKEIN_CHECK(!found.empty());
    made.push_back(found.front());
  }
  return made;
}

}  // namespace

std::vector<std::string> decoded_texts(const EvaluatedModel& model, const ModelConfig& config,
                                       const PairReading& reading, const WantedTexts& wanted,
                                       const DecodingConfig& how) {
  SKEIN_CHECK(model.local != nullptr);
  const text::Tokenizer& tokenizer = *reading.tokenizers.target;
  generate::Generator generator(config, *model.local, model.mesh, generation(reading, how),
                                reading.form.target.after.back(), tokenizer.vocab_size());
  std::vector<std::string> texts;
  for (const generate::Continuation& one :
       answers(generator, wanted.prompts, how.beam.size > 0, model.meeting))
    texts.push_back(tokenizer.decode(one.tokens));
  return texts;
}

std::vector<std::string> training_metrics() {
  return {"bleu", "chrf", "rouge", "exact_match", "f1"};
}

std::string TextScores::text() const {
  std::vector<std::string> told;
  for (const auto& [name, value] : values) told.push_back(fmt::format("{} {:.2f}", name, value));
  return fmt::format("{}", fmt::join(told, ", "));
}

TextScores score_texts(const std::vector<std::string>& hypotheses, const WantedTexts& wanted,
                       const std::vector<std::string>& metrics,
                       const text::MetricOptions& options) {
  SKEIN_CHECK_EQ(hypotheses.size(), wanted.references.size());
  TextScores made;
  for (const std::string& name : metrics) {
    const auto metric = text::make_metric(name, options);
    text::Counts sums(metric->width());
    for (size_t i = 0; i < hypotheses.size(); ++i)
      metric->add(hypotheses[i], wanted.references[i], sums);
    for (const auto& score : metric->values(sums).scores) made.values.push_back(score);
    made.signatures.emplace_back(name, metric->signature(wanted.references_each()));
  }
  return made;
}

std::string texts_as_jsonl(const std::vector<std::string>& hypotheses, const WantedTexts& wanted) {
  std::string lines;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    OrderedJson line{{"source", wanted.sources[i]}, {"hypothesis", hypotheses[i]}};
    const std::vector<std::string>& references = wanted.references[i];
    line["reference"] =
        references.size() == 1 ? OrderedJson(references.front()) : OrderedJson(references);
    lines += line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }
  return lines;
}

}  // namespace skein::train
