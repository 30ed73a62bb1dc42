#include "skein/bench/structures.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <functional>
#include <set>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"

namespace skein::bench {
namespace {

using kernels::Pattern;

struct Sizes {
  int64_t samples, tokens, reach;
};

Pattern band(const Sizes& s) { return {s.reach / 2, s.reach / 2}; }

// In each row from 0.
Pattern documents(const Sizes& s) {
  const Tensor made = Tensor::empty({s.samples, s.tokens}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int32_t>()[i] = narrow<int32_t>(i % s.tokens / s.reach);
  Pattern pattern = Pattern::causal();
  pattern.query_segments = pattern.key_segments = made;
  return pattern;
}

// The first and the last block, those beside a query's own, and three of a drawn offset (Zaheer and
// others, "Big Bird", 2020).
Pattern blocks(const Sizes& s) {
  Pattern pattern = Pattern::full();
  kernels::BlockLists& made = pattern.lists;
  made.size = std::max<int64_t>(1, s.reach / 8);
  const int64_t count = (s.tokens + made.size - 1) / made.size;
  std::vector<int32_t> starts{0}, listed;
  for (int64_t i = 0; i < count; ++i) {
    std::set<int64_t> seen{0, std::max<int64_t>(i - 1, 0), i, std::min(i + 1, count - 1),
                           count - 1};
    for (uint64_t draw = 0; draw < 3; ++draw)
      seen.insert(philox(5, draw, static_cast<uint64_t>(i))[0] % static_cast<uint64_t>(count));
    for (int64_t block : seen) listed.push_back(narrow<int32_t>(block));
    starts.push_back(narrow<int32_t>(std::ssize(listed)));
  }
  made.starts = Tensor::from(starts, {1, count + 1});
  made.blocks = Tensor::from(listed, {std::ssize(listed)});
  return pattern;
}

Pattern prefix(const Sizes& s) {
  Pattern pattern = Pattern::causal();
  const auto length = narrow<int32_t>(std::min(s.reach, s.tokens));
  pattern.prefix =
      Tensor::from(std::vector<int32_t>(static_cast<size_t>(s.samples), length), {s.samples});
  return pattern;
}

Pattern marked(const Sizes& s) {
  Pattern pattern = band(s);
  pattern.marked = Tensor::zeros({s.samples, s.tokens}, DType::i32);
  for (int64_t i = 0; i < pattern.marked.size(); ++i)
    pattern.marked.data<int32_t>()[i] = i % s.tokens % s.reach == 0;
  return pattern;
}

struct Structure {
  const char* name;
  std::function<Pattern(const Sizes&)> made;
};

const std::vector<Structure>& structures() {
  static const std::vector<Structure> all{
      {"causal", [](const Sizes&) { return Pattern::causal(); }},
      {"full", [](const Sizes&) { return Pattern::full(); }},
      {"band", band},
      {"documents", documents},
      {"blocks", blocks},
      {"prefix", prefix},
      {"marked", marked}};
  return all;
}

}  // namespace

const std::vector<std::string>& structure_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const Structure& one : structures()) made.emplace_back(one.name);
    return made;
  }();
  return names;
}

Pattern structure(const std::string& name, int64_t samples, int64_t tokens, int64_t reach) {
  const auto found = std::ranges::find(structures(), name, &Structure::name);
  require(found != structures().end(), "bench.attention has '{}'; it may name {} and {}", name,
          fmt::join(structure_names(), ", "), kModelStructure);
  require(reach > 0, "bench.reach={} must be at least 1 token", reach);
  return found->made({samples, tokens, reach});
}

formats::CellPicture structure_picture(const std::string& name, int64_t tokens, int64_t reach) {
  constexpr int64_t kMostCells = 128;
  const Pattern pattern = structure(name, 1, tokens, reach);
  const kernels::PatternView view(pattern, 0, 0, tokens, tokens);
  const int64_t size = (tokens + kMostCells - 1) / kMostCells, cells = (tokens + size - 1) / size;
  std::vector<double> shades(static_cast<size_t>(cells * cells), 0.0);
  for (int64_t query = 0; query < tokens; ++query)
    for (int64_t key = 0; key < tokens; ++key)
      shades[static_cast<size_t>(query / size * cells + key / size)] +=
          static_cast<double>(view.times(query, key));
  const double most = std::max(1.0, *std::ranges::max_element(shades));
  for (double& shade : shades) shade /= most;
  formats::CellPicture made{.title = "", .row_labels = {}, .column_labels = {}, .grids = {}};
  made.grids.push_back({name, cells, cells, std::move(shades)});
  return made;
}

std::vector<std::string> write_structures(const std::vector<std::string>& names, int64_t tokens,
                                          int64_t reach, const std::string& folder) {
  ResultFolder made("bench.plots", folder);
  for (const std::string& name : names)
    if (name != kModelStructure)
      made.write("attention-" + name + ".svg", cells_svg(structure_picture(name, tokens, reach)));
  return made.files();
}

}  // namespace skein::bench
