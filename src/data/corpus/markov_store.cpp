#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/corpus/markov.h"

#include "data/files/spool.h"

namespace skein::data {
namespace {

constexpr int64_t kPieceTokens = 1 << 16;

std::string beside(const MarkovStoreConfig& c) { return c.output + ".entropy.json"; }

void check_tokens(const char* option, int64_t tokens) {
  require(tokens >= 1 && tokens <= int64_t{1} << 40, "{}={}; it is 1 to 2^40", option, tokens);
}

// Returns the mean surprise of what is written.
double write_store(const std::string& path, int64_t tokens, const MarkovChain& chain,
                   MarkovSampler sampler, ExistingFile existing) {
  TokenStoreWriter writer(path, chain.symbols(), -1, "", false, existing);
  std::vector<int32_t> piece;
  for (int64_t done = 0; done < tokens; done += std::ssize(piece)) {
    piece.resize(std::min(kPieceTokens, tokens - done));
    sampler.read(piece);
    writer.append(piece, 0);
  }
  writer.end_document();
  writer.finish();
  return sampler.mean_surprise();
}

void save(const std::string& text, const std::string& path, ExistingFile existing) {
  const std::string target = file_target(path, existing);
  Spool file(unique_stem(target));
  file.append(std::as_bytes(std::span(text)));
  file.publish(target, existing);
}

void check_outputs(const MarkovStoreConfig& c) {
  check_output("output.path", c.output, {}, existing(c.replace));
  check_output("output.path", beside(c), {}, existing(c.replace));
  if (c.validation.empty()) return;
  check_output("output.validation", c.validation, {c.output, beside(c)}, existing(c.replace));
}

std::string markov_json(const MarkovStoreConfig& c, const MarkovSummary& summary) {
  nlohmann::ordered_json json{{"order", c.chain.order},
                              {"symbols", c.chain.symbols},
                              {"branches", c.chain.branches},
                              {"zipf", c.chain.zipf},
                              {"seed", c.chain.seed},
                              {"tokens", c.tokens},
                              {"entropy_rate", summary.entropies.back()},
                              {"entropies", summary.entropies},
                              {"context", c.context},
                              {"least_loss", summary.least_loss},
                              {"training_surprise", summary.training_surprise}};
  if (!c.validation.empty()) {
    json["validation_tokens"] = c.validation_tokens;
    json["validation_surprise"] = summary.validation_surprise;
  }
  return json.dump(1) + "\n";
}

}  // namespace

void bind(Options& options, MarkovStoreConfig& c) {
  options.add("markov.order", c.chain.order, "symbols that the next one depends on", "symbols");
  options.add("markov.symbols", c.chain.symbols, "ids of the vocabulary", "ids");
  options.add("markov.branches", c.chain.branches, "successors that each context draws", "symbols");
  options.add("markov.zipf", c.chain.zipf,
              "how unequal symbols are: the n-th has a weight of n^-zipf");
  options.add("markov.seed", c.chain.seed, "of the chain and of what it says");
  options.add("markov.tokens", c.tokens, "tokens of output.path", "tokens");
  options.add("markov.validation_tokens", c.validation_tokens, "tokens of output.validation",
              "tokens");
  options.add("markov.context", c.context,
              "window of models whose least loss is told (model.context)", "tokens");
  options.add("output.path", c.output,
              "the token store to write; FILE.entropy.json is put beside it");
  options.add("output.validation", c.validation,
              "another token store, of other text of the same chain; none if empty");
  options.add("output.replace", c.replace, "replace files that are there already");
}

std::string markov_text(const MarkovStoreConfig& c, const MarkovSummary& summary) {
  std::string text;
  for (size_t known = 0; known + 1 < summary.entropies.size(); ++known)
    text += fmt::format("entropy, {} known      {:.10f} nats a token\n", known,
                        summary.entropies[known]);
  return text + fmt::format(
                    "entropy rate          {:.10f} nats a token\nleast loss            {:.10f} in "
                    "windows of {} tokens\n",
                    summary.entropies.back(), summary.least_loss, c.context);
}

MarkovSummary make_markov_stores(const MarkovStoreConfig& c) {
  check_outputs(c);
  check_tokens("markov.tokens", c.tokens);
  check_tokens("markov.validation_tokens", c.validation_tokens);
  check_tokens("markov.context", c.context);
  const MarkovChain chain(c.chain);
  MarkovSummary summary;
  for (int64_t known = 0; known <= chain.order(); ++known)
    summary.entropies.push_back(chain.entropy(known));
  summary.least_loss = chain.least_loss(c.context);
  summary.training_surprise =
      write_store(c.output, c.tokens, chain, {chain, c.chain.seed, 0}, existing(c.replace));
  if (!c.validation.empty())
    summary.validation_surprise = write_store(c.validation, c.validation_tokens, chain,
                                              {chain, c.chain.seed, 1}, existing(c.replace));
  save(markov_json(c, summary), beside(c), existing(c.replace));
  return summary;
}

}  // namespace skein::data
