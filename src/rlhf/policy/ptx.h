// Texts of pretraining that a policy goes on learning beside its answers.
#pragma once

#include "skein/data/stores/data_file.h"
#include "skein/rlhf/policy/ppo_config.h"
#include "skein/text/tokenizer.h"
#include "skein/train/replica.h"

namespace skein::rlhf::policy {

class PtxTexts {
 public:
  // A usage error for texts of another tokenizer than the policy's, or a batch that cannot be laid
  // out as `plan` is.
  PtxTexts(const TuneConfig& config, const BatchPlan& plan, const Mesh& mesh,
           const text::Tokenizer& tokenizer);

  const BatchPlan& plan() const { return plan_; }
  std::vector<data::DataFile> files() const {
    return store_files("ptx.data", loader_.all_stores());
  }
  // This rank's texts of an update, a pure function of its number.
  train::AuxiliaryBatch of_update(int64_t number) const;

 private:
  double coefficient_;
  const Mesh& mesh_;
  data::Loader loader_;
  BatchPlan plan_;
};

}  // namespace skein::rlhf::policy
