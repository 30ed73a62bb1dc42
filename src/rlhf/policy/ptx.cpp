#include "ptx.h"

#include <numeric>

#include "skein/core/error.h"

namespace skein::rlhf::policy {
namespace {

data::DataConfig data_config(const TuneConfig& c) {
  data::DataConfig data;
  data.train = c.ptx.data;
  data.vocab_size = c.run.model.vocab_size;
  return data;
}

// As many reduction groups as the answers have, whose sums are one with theirs.
BatchPlan plan_beside(const TuneConfig& c, const BatchPlan& answers, const Mesh& mesh) {
  require(
      c.ptx.batch % answers.groups == 0,
      "ptx.batch={} texts do not divide into the {} groups that a minibatch is summed in "
      "(parallel.reduction_groups); the nearest that do are {}",
      c.ptx.batch, answers.groups,
      std::max<int64_t>(1, (c.ptx.batch + answers.groups / 2) / answers.groups) * answers.groups);
  ParallelConfig parallel = c.run.parallel;
  parallel.reduction_groups = answers.groups;
  return plan_batch(parallel, mesh.shape(), c.ptx.batch,
                    std::gcd(answers.micro_batch, c.ptx.batch / answers.groups));
}

}  // namespace

PtxTexts::PtxTexts(const TuneConfig& c, const BatchPlan& plan, const Mesh& mesh,
                   const text::Tokenizer& tokenizer)
    : coefficient_(c.ptx.coefficient),
      mesh_(mesh),
      loader_(c.ptx.data, c.ptx.length, c.run.train.seed, data_config(c)),
      plan_(plan_beside(c, plan, mesh)) {
  const data::TokenStore& store = loader_.store(0);
  require(same_tokenizer(store.info().tokenizer, text::StoredTokenizer(tokenizer.to_json())),
          "{} (ptx.data) was made with another tokenizer than the policy, or does not name its "
          "own; encode its text with the policy's",
          store.path());
}

train::AuxiliaryBatch PtxTexts::of_update(int64_t number) const {
  return {loader_.batch(plan_.own_samples(mesh_).shifted(number * plan_.global_batch)),
          coefficient_};
}

}  // namespace skein::rlhf::policy
