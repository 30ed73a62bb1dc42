#include "skein/train/taken_over.h"

#include <fmt/ranges.h>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

using Values = std::map<std::string, std::string>;

constexpr char kAttention[] = "data.cross_document_attention", kEnds[] = "data.mask_document_ends";

// A checkpoint that was imported knows nothing of its training.
void add_stored(Values& trained, const std::string& option, const TrainedModel& source,
                const std::string& key) {
  const auto found = source.state.config.find(key);
  if (found != source.state.config.end()) trained[option] = found->second;
}

// They cannot be given here.
void tell_hiding(const TrainedModel& source) {
  const bool masks = source.model.architecture->fills_masks(source.model);
  const std::string section = masks ? "mlm." : "noise.";
  std::vector<std::string> told;
  for (const auto& [key, value] : source.state.config)
    if (key.starts_with(section) && key != section + "static") told.push_back(key + "=" + value);
  if (!told.empty())
    log::info("tokens are hidden as in {}: {}", source.info.path, fmt::join(told, ", "));
}

}  // namespace

void take_over(Options& options, const Values& trained, const std::string& origin) {
  std::vector<std::string> told;
  for (const auto& [key, now] : options.values()) {
    const auto found = trained.find(key);
    if (found == trained.end()) continue;
    if (!options.given(key)) {
      options.set(key, found->second, origin);
      told.push_back(key + "=" + found->second);
    } else if (now != found->second) {
      log::info("{0}={1} is given; {2} was trained with {0}={3}", key, now, origin, found->second);
    }
  }
  if (!told.empty()) log::info("as {} was trained: {}", origin, fmt::join(told, ", "));
}

void take_over_text(Options& options, const TrainedModel& source) {
  const bool decoder = source.model.architecture->continues_text(source.model);
  require(decoder || !options.given(kEnds),
          "{} is for decoders; {} is asked for hidden tokens, leave it out", kEnds,
          source.model.architecture->otherwise(source.model));
  Values trained;
  add_stored(trained, kAttention, source, kAttention);
  if (decoder) add_stored(trained, kEnds, source, kEnds);
  if (decoder) add_stored(trained, "eval.stride", source, "validation.stride");
  take_over(options, trained, source.info.path);
  if (!decoder) tell_hiding(source);
}

}  // namespace skein::train
