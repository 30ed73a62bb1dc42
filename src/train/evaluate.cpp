#include "skein/train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skein/core/numbers.h"
#include "skein/data/samples/windows.h"
#include "skein/parallel/lead.h"

namespace skein::train {
namespace {

// Bytes of text that each id stands for; none for ids that the tokenizer lacks, whatever the store
// says of their number.
std::vector<int64_t> bytes_of_ids(const data::StoreInfo& info) {
  if (info.tokenizer.empty()) return {};
  const text::Tokenizer& tokenizer = *info.tokenizer;
  std::vector<int64_t> bytes;
  for (int64_t id = 0; id < std::min<int64_t>(info.vocab_size, tokenizer.vocab_size()); ++id)
    bytes.push_back(static_cast<int64_t>(tokenizer.bytes_of(static_cast<int32_t>(id)).size()));
  return bytes;
}

void count_tokens(const data::Batch& batch, const std::vector<int64_t>& bytes, Evaluation& into) {
  const auto targets = batch.targets.span<int32_t>();
  const auto weights = batch.weights.span<float>();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (weights[i] == 0) continue;
    ++into.tokens;
    const size_t id = targets[i];
    if (id < bytes.size()) into.bytes += bytes[id];
  }
}

// Of the windows: the context, but no more than the text fills, since a model may say any context.
// Each window has all tokens before it all the same.
int64_t window_length(int64_t tokens, int64_t stride, int64_t context, int64_t multiple) {
  if (stride > context) return context;  // and the stride is refused
  const int64_t step = stride > 0 ? std::min(stride, tokens) : 1;
  const int64_t filled = rounded_up(std::max<int64_t>(1, tokens - 1), step);
  return std::min(context, rounded_up(filled, multiple));
}

Evaluation evaluate_store(const EvaluatedModel& model, const EvalConfig& config,
                          const data::TokenStore& store, const data::DataConfig& data,
                          int64_t context) {
  Mesh& mesh = model.mesh;
  const int64_t length =
      window_length(store.info().tokens, config.stride, context, mesh.tp().size());
  const int64_t by_itself = config.prefix ? (length + 1) / 2 : length,
                stride_asked = config.stride == 0 ? by_itself : config.stride;
  const data::EvalWindows windows(
      store, length, config.stride > context ? stride_asked : std::min(stride_asked, length), data,
      config.prefix);
  const int64_t step = config.windows ? std::max<int64_t>(1, windows.count() / config.windows) : 1;
  const int64_t used = (windows.count() - 1) / step + 1,
                count = config.windows ? std::min(used, config.windows) : used;
  const std::vector<int64_t> bytes = bytes_of_ids(store.info());
  const int64_t batch = model.batch;
  const Tensor sums = Tensor::zeros({count}, DType::f64);
  Evaluation own;
  ForwardLead lead(mesh, model.meeting);
  const BatchStride turns = batch_stride(mesh, batch);
  for (int64_t first = turns.first; first < count; first += turns.apart) {
    PipelineStep work;
    work.train = false;
    work.micro_batches.push_back(windows.batch(first * step, std::min(batch, count - first), step));
    count_tokens(work.micro_batches.back(), bytes, own);
    lead.before();
    model.pipeline.run(work, model.pass);
    lead.after();
    const auto losses = model.pipeline.losses();
    if (!losses.empty()) std::ranges::copy(losses[0], sums.data<double>() + first);
  }
  lead.finish();
  mesh.share_results(sums);
  own.tokens = mesh.dp().sum(own.tokens);
  own.bytes = mesh.dp().sum(own.bytes);
  for (double sum : sums.span<double>()) own.nats += sum;
  return own;
}

}  // namespace

double Evaluation::loss() const { return nats / tokens; }
double Evaluation::perplexity() const { return std::exp(loss()); }
double Evaluation::bits_per_byte() const { return nats / std::numbers::ln2 / bytes; }

std::string Evaluation::text() const {
  const std::string known =
      bytes ? fmt::format(", {:.4f} bits per byte", shown_number(bits_per_byte())) : "";
  return fmt::format("loss {:.4f}, perplexity {:.2f}{}", shown_number(loss()),
                     shown_number(perplexity()), known);
}

Evaluation evaluate_windows(const EvaluatedModel& model, const EvalConfig& config,
                            const data::Loader& loader, const data::DataConfig& data,
                            int64_t context) {
  require(config.windows >= 0, "{} windows to evaluate were asked for; give 0 for all",
          config.windows);
  Evaluation all;
  for (const auto& store : loader.all_stores()) {
    const Evaluation one = evaluate_store(model, config, *store, data, context);
    all.nats += one.nats;
    all.tokens += one.tokens;
    all.bytes += one.bytes;
  }
  require(all.tokens > 0, "the evaluation data holds no token that counts");
  return all;
}

}  // namespace skein::train
