// Which tokens see all is no part of such files: transformers takes the first one where a text is
// classified, and else what its caller says, by itself none.
#include <algorithm>

#include "skein/models/bert/bert.h"

#include "families.h"

namespace skein::convert {
namespace {

MarkRule marks_of(const ModelConfig& c) { return {.first = c.head == Head::sequence ? 1 : 0}; }

// The library pads texts to a multiple of the largest window, and each layer cuts them into its
// own.
bool windows_divide(const ModelConfig& c) {
  const std::vector<int64_t>& windows = c.attention.windows;
  const int64_t largest = std::ranges::max(windows);
  return std::ranges::all_of(
      windows, [largest](int64_t window) { return window <= 0 || largest % window == 0; });
}

std::vector<Demand> longformer_demands(const ModelConfig& c) {
  std::vector<Demand> all = roberta_demands(c);
  all.push_back({c.attention.kinds == std::vector<std::string>{"global"}, "attention.kind=global"});
  const MarkRule marks = marks_of(c);
  all.push_back({c.attention.other.marks == marks,
                 fmt::format("attention.mark_first={} and no other marks", marks.first)});
  all.push_back({windows_divide(c), "attention.window of each layer that divides the largest one"});
  return all;
}

NameMap longformer_names(const ModelConfig& c) {
  NameCollector names(c, "longformer.");
  add_encoder(names);
  for (int64_t i = 0; i < c.n_layers; ++i) {
    const std::string theirs = fmt::format("longformer.encoder.layer.{}.attention.self.", i),
                      ours = names.block(i) + ".attention.global_";
    names.linear(theirs + "query_global", ours + "q", c.d_model, c.d_model, true);
    names.linear(theirs + "key_global", ours + "k", c.d_model, c.d_model, true);
    names.linear(theirs + "value_global", ours + "v", c.d_model, c.d_model, true);
  }
  add_roberta_head(names);
  return names.map;
}

// A list of each block's, or one for all.
std::vector<int64_t> windows_in(const ForeignConfig& keys, int64_t blocks) {
  constexpr char kKey[] = "attention_window";
  if (!keys.has(kKey) || !keys.at(kKey).is_array()) return {keys.integer(kKey, 512)};
  const std::vector<int64_t> all = keys.integers(kKey);
  if (std::ssize(all) != blocks)
    keys.refuse(kKey, fmt::format("not one for each of {} layers", blocks));
  const bool alike = std::ranges::all_of(all, [&](int64_t one) { return one == all.front(); });
  return alike ? std::vector<int64_t>{all.front()} : all;
}

void longformer_keys(ForeignConfig& keys, ModelConfig& c) {
  roberta_keys(keys, c);
  if (keys.reads()) {
    c.attention.kinds = {"global"};
    c.attention.windows = windows_in(keys, c.n_layers);
    c.attention.other.marks = marks_of(c);
  }
  std::vector<int64_t> windows;
  for (int64_t block = 0; block < c.n_layers; ++block)
    windows.push_back(c.attention.of_block(block, c.context).window);
  keys.write("attention_window", windows);
}

}  // namespace

const ForeignFamily& longformer_family() {
  static const ForeignFamily only{"longformer",        "Longformer",       {"ForMaskedLM"},
                                  bert_architecture(), longformer_demands, longformer_names,
                                  longformer_keys};
  return only;
}

}  // namespace skein::convert
