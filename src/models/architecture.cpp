#include "skein/models/architecture.h"

#include "skein/core/error.h"

namespace skein {

void Architecture::begin_labels(ModelConfig& config, Head head, int64_t labels) const {
  config.head = head;
  config.labels = labels;
}

void Architecture::give_values(ModelConfig&, bool values) const {
  require(!values,
          "a model of model.architecture={} gives no number for each token beside its logits",
          name());
}

}  // namespace skein
