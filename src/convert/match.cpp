#include "skein/convert/match.h"

#include <algorithm>
#include <set>

#include "skein/checkpoint/reshard.h"
#include "skein/core/error.h"

namespace skein::convert {
namespace {

using Lookup = std::map<std::string, size_t>;

Lookup by_name(const WeightFiles& files) {
  Lookup lookup;
  for (size_t i = 0; i < files.weights.size(); ++i) lookup[files.weights[i].name] = i;
  return lookup;
}

std::optional<size_t> find(const NameMap& names, const Lookup& lookup, const std::string& name) {
  for (const std::string& candidate : names.candidates(name))
    if (const auto found = lookup.find(candidate); found != lookup.end()) return found->second;
  return {};
}

}  // namespace

bool equal_weights(const WeightFiles& files, size_t a, size_t b) {
  if (files.weights[a].type != files.weights[b].type ||
      files.weights[a].shape != files.weights[b].shape || !files.weights[a].dtype)
    return false;
  constexpr int64_t kRun = int64_t{1} << 22;
  const int64_t bytes =
      checkpoint::element_count(files.weights[a].shape) * size_of(*files.weights[a].dtype);
  std::vector<std::byte> left, right;
  for (int64_t at = 0; at < bytes; at += kRun) {
    left.resize(std::min(kRun, bytes - at));
    right.resize(left.size());
    files.read(a, at, left);
    files.read(b, at, right);
    if (left != right) return false;
  }
  return true;
}

namespace {

// Where the tensor is that `use` is another name of.
std::optional<size_t> first_of(const SecondUse& use, const Match& match) {
  for (size_t i = 0; i < match.names.tensors.size(); ++i)
    if (match.names.tensors[i].name == use.of) return match.found[i];
  return {};
}

void take_second_uses(Match& match, const WeightFiles& files, const Lookup& lookup,
                      std::set<size_t>& used) {
  for (const SecondUse& use : match.names.second_uses) {
    const auto second = find(match.names, lookup, use.name), first = first_of(use, match);
    if (!second || used.contains(*second) || !first) continue;
    require(equal_weights(files, *first, *second),
            "{}: {} is said to be tied to {} and differs from it; {}", files.path,
            files.weights[*second].name, files.weights[*first].name,
            use.may_differ ? "a config.json with \"tie_word_embeddings\": false would keep both"
                           : "such models have one table for both here");
    used.insert(*second);
    match.ignored.push_back(fmt::format("{} (the same as {})", files.weights[*second].name,
                                        files.weights[*first].name));
  }
}

std::string listed(const char* title, const std::vector<std::string>& names) {
  constexpr size_t kShown = 30;
  if (names.empty()) return "";
  std::string text = fmt::format("\n  {} ({}):", title, names.size());
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += "\n    " + names[i];
  return names.size() > kShown ? text + "\n    ..." : text;
}

}  // namespace

Match match(NameMap names, const WeightFiles& files) {
  const Lookup lookup = by_name(files);
  Match made;
  made.names = std::move(names);
  std::set<size_t> used;
  for (const ForeignTensor& tensor : made.names.tensors) {
    auto found = find(made.names, lookup, tensor.name);
    for (const std::string& other : tensor.other_names)
      if (!found) found = find(made.names, lookup, other);
    made.found.push_back(found);
    if (!found) {
      made.missing.push_back(tensor.name);
      continue;
    }
    used.insert(*found);
    const StoredWeight& weight = files.weights[*found];
    if (weight.shape != tensor.shape)
      made.misshapen.push_back(fmt::format("{} is {} there; the model's has {}", weight.name,
                                           checkpoint::shape_text(weight.shape),
                                           checkpoint::shape_text(tensor.shape)));
    require(weight.dtype && checkpoint::convertible(*weight.dtype, DType::f32),
            "{}: {} is of type {}; F32, F16, BF16 and F64 can be taken over", files.path,
            weight.name, weight.type);
  }
  take_second_uses(made, files, lookup, used);
  for (size_t i = 0; i < files.weights.size(); ++i) {
    if (used.contains(i)) continue;
    const std::string& name = files.weights[i].name;
    if (made.names.is_buffer(name))
      made.ignored.push_back(name + " (no weight)");
    else
      made.unexpected.push_back(name);
  }
  return made;
}

void check(const Match& match, const WeightFiles& files, bool allow_missing,
           bool allow_unexpected) {
  const bool missing = !match.missing.empty() && !allow_missing,
             unexpected = !match.unexpected.empty() && !allow_unexpected;
  if (!missing && !unexpected && match.misshapen.empty()) return;
  std::string text = listed("of another shape", match.misshapen);
  if (missing) text += listed("missing; --allow-missing gives them start values", match.missing);
  if (unexpected)
    text += listed("unexpected; --allow-unexpected leaves them out", match.unexpected);
  fail_usage("{} does not hold the model that it describes:{}", files.path, text);
}

std::map<std::string, Match::TensorSlot> Match::slots() const {
  std::map<std::string, TensorSlot> all;
  for (size_t i = 0; i < names.tensors.size(); ++i) {
    int64_t first = 0;
    for (const OurTensor& part : names.tensors[i].parts) {
      all[part.name] = {i, first};
      first += part.size();
    }
  }
  return all;
}

std::string Match::text(const WeightFiles& files) const {
  std::string lines;
  for (size_t i = 0; i < names.tensors.size(); ++i) {
    const ForeignTensor& tensor = names.tensors[i];
    const StoredWeight* there = found[i] ? &files.weights[*found[i]] : nullptr;
    lines += tensor.line(there ? there->name : tensor.name, there ? there->type : "missing");
  }
  for (const std::string& name : ignored) lines += "ignored  " + name + "\n";
  for (const std::string& name : unexpected) lines += "unexpected " + name + "\n";
  return lines;
}

}  // namespace skein::convert
