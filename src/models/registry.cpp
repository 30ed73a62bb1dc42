#include "skein/models/registry.h"

#include "skein/models/bert/bert.h"
#include "skein/models/gnn/gnn.h"
#include "skein/models/gpt/gpt.h"
#include "skein/models/mae/mae.h"
#include "skein/models/memory_network/memory_network.h"
#include "skein/models/swin/swin.h"
#include "skein/models/transformer/transformer.h"
#include "skein/models/vit/vit.h"

namespace skein {

std::span<const Architecture* const> architectures() {
  static const Architecture* const all[] = {
      &gpt_architecture(),  &bert_architecture(), &transformer_architecture(), &vit_architecture(),
      &swin_architecture(), &mae_architecture(),  &memory_architecture(),      &gnn_architecture()};
  return all;
}

}  // namespace skein
