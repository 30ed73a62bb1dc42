#include "skein/generate/generator.h"

#include <algorithm>
#include <cstring>

#include "skein/core/error.h"
#include "skein/core/profile.h"
#include "skein/kernels/reduce.h"

namespace skein {

void bind(Options& options, GenerateConfig& c) {
  options.add("generate.max_tokens", c.max_tokens, "most new tokens of a prompt", "tokens");
  options.add("generate.batch", c.batch, "prompts decoded together", "prompts");
  options.add("generate.stop_at_end", c.stop_at_end, "stop at the end-of-text token");
  bind_precision(options, "generate.precision", c.precision, "of weights, activations and cache");
  bind(options, c.sampling);
}

void check(const GenerateConfig& c) {
  require(c.max_tokens > 0 && c.batch > 0, "generate.max_tokens={} and generate.batch={} must be at least 1", c.max_tokens, c.batch);
  check(c.sampling);
}

// Prompts of a batch end in the same column: shorter ones begin later, and nothing looks at what stands before them.
struct Generator::Decoding {
  size_t first = 0;            // number of the first prompt
  Tensor begins;               // [B] i32, column of each prompt's first token
  int64_t columns = 0;         // of the prompts
  KvCache cache;
  std::vector<Tokens> made;    // new tokens
  std::vector<bool> finished;

  int64_t size() const { return begins.size(); }
  bool done() const { return std::all_of(finished.begin(), finished.end(), [](bool one) { return one; }); }
};

Generator::Generator(const ModelConfig& model, LocalModel& local, Mesh& mesh, const GenerateConfig& config, int32_t end_of_text,
                     int64_t vocabulary)
    : model_(model), local_(local), mesh_(mesh), config_(config), end_of_text_(end_of_text),
      vocabulary_(vocabulary ? std::min(vocabulary, model.vocab_size) : model.vocab_size) {
  check(config);
  require(model.architecture == Architecture::gpt && model.head == Head::vocabulary,
          "this model is no language model that continues text, but {}; `skein generate` needs a GPT with model.head=vocabulary",
          model.architecture == Architecture::bert ? "an encoder" : "one that gives labels");
  local.parameters().keep_packed();
}

void Generator::check_prompts(const std::vector<Tokens>& prompts) const {
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = static_cast<int64_t>(prompts[i].size());
    require(length > 0 || end_of_text_ >= 0, "prompt {} is empty, and the tokenizer has no end-of-text token to begin from", i + 1);
    require(length < model_.context, "prompt {} has {} tokens, which leaves no room in the model's context of {}; shorten it", i + 1,
            length, model_.context);
    for (int32_t id : prompts[i])
      require(id >= 0 && id < model_.vocab_size, "prompt {} holds token {}, outside of the vocabulary of {}", i + 1, id,
              model_.vocab_size);
  }
}

namespace {

// Each sequence as its length and its ids.
std::string packed_tokens(const std::vector<Tokens>& sequences) {
  Tokens flat;
  for (const Tokens& tokens : sequences) {
    flat.push_back(static_cast<int32_t>(tokens.size()));
    flat.insert(flat.end(), tokens.begin(), tokens.end());
  }
  return {reinterpret_cast<const char*>(flat.data()), flat.size() * sizeof(int32_t)};
}

// Returns what follows the last sequence written to `into`.
std::vector<Tokens>::iterator unpack_tokens(const std::string& text, std::vector<Tokens>::iterator into) {
  Tokens flat(text.size() / sizeof(int32_t));
  if (!flat.empty()) std::memcpy(flat.data(), text.data(), text.size());
  for (auto at = flat.begin(); at != flat.end(); ++into) {
    const int32_t count = *at++;
    into->assign(at, at + count);
    at += count;
  }
  return into;
}

}  // namespace

std::vector<Tokens> Generator::run(const std::vector<Tokens>& prompts, const std::function<void(size_t)>& progress) {
  check_prompts(prompts);
  std::vector<Tokens> begun = prompts;
  for (Tokens& prompt : begun)
    if (prompt.empty()) prompt.push_back(end_of_text_);
  const size_t batch = std::min(static_cast<size_t>(config_.batch), std::max<size_t>(1, begun.size()));
  const auto ranks = static_cast<size_t>(mesh_.dp().size());
  const size_t rounds = (begun.size() + batch * ranks - 1) / (batch * ranks);
  std::vector<Tokens> all(begun.size());
  for (size_t round = 0; round < rounds; ++round) {
    const size_t own = std::min(begun.size(), (round * ranks + static_cast<size_t>(mesh_.dp().rank())) * batch);
    const std::string packed = packed_tokens(decode(begun, own, std::min(batch, begun.size() - own)));
    auto next = all.begin() + static_cast<int64_t>(round * ranks * batch);
    for (const std::string& text : mesh_.dp().all_gather(packed)) next = unpack_tokens(text, next);
    if (progress && mesh_.world().rank() == 0) progress(std::min(begun.size(), (round + 1) * ranks * batch));
  }
  return all;
}

Generator::Decoding Generator::begin(const std::vector<Tokens>& prompts, size_t first, size_t count) const {
  Decoding made;
  made.first = first;
  int64_t shortest = model_.context;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<int64_t>(prompts[first + i].size());
    made.columns = std::max(made.columns, length);
    shortest = std::min(shortest, length);
  }
  const auto rows = static_cast<int64_t>(count);
  made.begins = Tensor::empty({rows}, DType::i32);
  for (size_t i = 0; i < count; ++i)
    made.begins.data<int32_t>()[i] = static_cast<int32_t>(made.columns - static_cast<int64_t>(prompts[first + i].size()));
  made.made.resize(count);
  made.finished.resize(count, false);
  made.cache.first_key = made.begins.to(local_.parameters().device());
  const auto empty = [&](const Shape& shape) { return Tensor::empty(shape, local_.parameters().dtype(), local_.parameters().device()); };
  made.cache.layers.resize(static_cast<size_t>(model_.n_layers));
  const int64_t steps = std::min(config_.max_tokens, model_.context - shortest);
  const Shape shape{rows, made.columns + steps, model_.kv_heads() / mesh_.tp().size(), model_.head_width()};
  for (int block : local_.blocks())
    made.cache.layers[static_cast<size_t>(block)] = {empty(shape), empty(shape)};
  return made;
}

namespace {

// Columns [first, first + length) of a batch; token_of(row, position).
template <class TokenOf>
Batch columns(const Tensor& begins, int64_t first, int64_t length, int64_t context, TokenOf token_of) {
  const int64_t rows = begins.size();
  Batch batch;
  batch.tokens = Tensor::zeros({rows, length}, DType::i32);
  batch.positions = Tensor::zeros({rows, length}, DType::i32);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t t = 0; t < length; ++t) {
      const int64_t position = first + t - begins.data<int32_t>()[row];
      if (position >= 0) batch.tokens.data<int32_t>()[row * length + t] = token_of(row, position);
      // A finished sequence goes on unread beside the others.
      batch.positions.data<int32_t>()[row * length + t] = static_cast<int32_t>(std::clamp<int64_t>(position, 0, context - 1));
    }
  return batch;
}

}  // namespace

std::vector<Tokens> Generator::decode(const std::vector<Tokens>& prompts, size_t first, size_t count) {
  if (count == 0) return {};
  Decoding decoding = begin(prompts, first, count);
  Batch batch = columns(decoding.begins, 0, decoding.columns, model_.context, [&](int64_t row, int64_t position) {
    return prompts[first + static_cast<size_t>(row)][static_cast<size_t>(position)];
  });
  while (true) {
    const Span span(decoding.cache.length ? "decode" : "prompt");
    const Tensor logits = forward(decoding, batch);
    const Tensor ids = choose(decoding, logits);
    for (size_t i = 0; i < count; ++i) {
      if (decoding.finished[i]) continue;
      const int32_t id = ids.data<int32_t>()[i];
      const bool ends = config_.stop_at_end && id == end_of_text_;
      if (!ends) decoding.made[i].push_back(id);
      const auto length = static_cast<int64_t>(prompts[first + i].size() + decoding.made[i].size());
      decoding.finished[i] = ends || static_cast<int64_t>(decoding.made[i].size()) == config_.max_tokens || length >= model_.context;
    }
    if (decoding.done()) return decoding.made;
    batch = columns(decoding.begins, decoding.cache.length, 1, model_.context,
                    [&](int64_t row, int64_t) { return ids.data<int32_t>()[row]; });
  }
}

Tensor Generator::forward(Decoding& decoding, const Batch& batch) {
  const NoGrad no_grad;
  Pass pass = local_.pass();
  pass.sequence_parallel = false;
  const Batch here = placed(batch, local_.parameters().device());
  pass.batch = &here;
  pass.cache = &decoding.cache;
  const int stages = mesh_.pp().size(), pieces = stages * static_cast<int>(local_.pieces().size());
  Var flow;
  Tensor logits;
  for (int chunk = 0; chunk * stages < pieces; ++chunk) {
    const int piece = chunk * stages + mesh_.stage();
    if (piece > 0 && stages > 1) {
      const Tensor received = Tensor::empty({batch.size(), batch.length(), model_.d_model}, local_.parameters().dtype(), local_.parameters().device());
      mesh_.pp().recv(received, (piece - 1) % stages, piece).wait();
      flow = Var(received);
    }
    flow = local_.pieces()[static_cast<size_t>(chunk)]->forward(flow, pass);
    if (piece == pieces - 1) logits = whole_rows(local_.decoder()->logits(flow.value()));
    else if (stages > 1) mesh_.pp().send(flow.value(), (piece + 1) % stages, piece + 1).wait();
  }
  decoding.cache.length += batch.length();
  return logits;
}

// The columns of all shards side by side, padding at the end.
Tensor Generator::whole_rows(const Tensor& logits) const {
  const Tensor own = logits.to(DType::f32);
  const int64_t shards = mesh_.tp().size(), rows = own.dim(0), part = own.dim(1);
  if (shards == 1) return own;
  const Tensor all = Tensor::empty({shards, rows, part}, DType::f32, own.device()), whole = Tensor::empty({rows, shards, part}, DType::f32, own.device());
  mesh_.tp().all_gather(own, all);
  on_device(own.device(), [&](auto device) { kernels::swap_leading(device, all, whole); });
  return whole.reshape({rows, -1});
}

Tensor Generator::choose(const Decoding& decoding, const Tensor& logits) const {
  std::vector<Draw> draws;
  for (size_t row = 0; row < decoding.made.size(); ++row)
    draws.push_back({decoding.first + row, decoding.finished[row] ? -1 : static_cast<int64_t>(decoding.made[row].size())});
  const Tensor chosen = logits.defined() ? sample(logits, vocabulary_, config_.sampling, draws) : Tensor::zeros({decoding.size()}, DType::i32);
  mesh_.pp().broadcast(chosen, mesh_.pp().size() - 1);
  return chosen;
}

}  // namespace skein
