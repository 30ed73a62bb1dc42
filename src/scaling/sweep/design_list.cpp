#include <algorithm>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/records/table.h"

#include "design_specs.h"

namespace skein::scaling::sweep {
namespace {

constexpr int64_t kMostRowBytes = int64_t{1} << 16;
const std::vector<std::string> kColumns{"size", "shape", "tokens", "tokens_per_parameter",
                                        "lr",   "batch", "seed"};

class ListedCells {
 public:
  explicit ListedCells(const SweepConfig& config)
      : config_(config), reader_(config.list, data::TableKind::csv, kMostRowBytes) {}

  std::vector<CellSpec> read() {
    data::TableRow header;
    require(reader_.next(header), "sweep.list={} is empty; its first line names the columns: {}",
            config_.list, fmt::join(kColumns, ","));
    for (std::string& name : header.fields) check_column(name = trimmed(name));
    columns_ = header.fields;
    std::vector<CellSpec> made;
    while (reader_.next(row_)) made.push_back(spec());
    require(!made.empty(), "sweep.list={} has no row below its columns", config_.list);
    return made;
  }

 private:
  void check_column(const std::string& name) {
    const std::string near = nearest(name, kColumns);
    require(std::ranges::count(kColumns, name) > 0, "{}:1: unknown column \"{}\"{}; there are {}",
            config_.list, name, near.empty() ? "" : fmt::format(", did you mean \"{}\"", near),
            fmt::join(kColumns, ", "));
    require(std::ranges::count(columns_, name) == 0, "{}:1: column \"{}\" stands twice",
            config_.list, name);
    columns_.push_back(name);
  }

  std::string where(const std::string& column) const {
    return fmt::format("{}:{}: {}", config_.list, row_.line, column);
  }

  // "" where the row has none.
  std::string text(const std::string& column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? "" : trimmed(row_.fields[found - columns_.begin()]);
  }
  double number(const std::string& column) const {
    const std::string value = text(column);
    return value.empty() ? 0 : number_of(value, where(column));
  }

  int64_t seed() const {
    const std::string value = text("seed");
    if (value.empty()) return config_.run.train.seed;
    const int64_t made = parsed_number<int64_t>(value).value_or(-1);
    require(made >= 0, "{}: \"{}\" is no whole number from 0 on", where("seed"), value);
    return made;
  }

  CellSpec spec() const {
    require(row_.fields.size() == columns_.size(), "{}:{}: {} fields for {} columns", config_.list,
            row_.line, row_.fields.size(), columns_.size());
    require(text("size").empty() || text("shape").empty(), "{}:{}: both size and shape; give one",
            config_.list, row_.line);
    require(text("tokens").empty() != text("tokens_per_parameter").empty(),
            "{}:{}: tokens or tokens_per_parameter, one of them", config_.list, row_.line);
    CellSpec made;
    made.model = config_.run.model;
    if (!text("size").empty())
      made.model = shape_for(number("size"), config_.run.model, config_.shape);
    if (!text("shape").empty()) made.model = model_of_shape(text("shape"), config_, where("shape"));
    made.tokens = text("tokens").empty() ? number("tokens_per_parameter") * made.model.parameters()
                                         : number("tokens");
    made.lr = number("lr");
    made.batch = number("batch");
    made.seed = seed();
    return made;
  }

  const SweepConfig& config_;
  data::TableReader reader_;
  std::vector<std::string> columns_;
  data::TableRow row_;
};

}  // namespace

std::vector<CellSpec> listed_specs(const SweepConfig& c) {
  require(!c.list.empty(), "sweep.kind=list needs sweep.list, a CSV file");
  const std::pair<const char*, bool> given[] = {
      {"sizes", !c.sizes.empty()},   {"shapes", !c.shapes.empty()},
      {"tokens", !c.tokens.empty()}, {"tokens_per_parameter", !c.tokens_per_parameter.empty()},
      {"lr", !c.lr.empty()},         {"batch", !c.batch.empty()},
      {"seeds", !c.seeds.empty()}};
  for (const auto& [name, is_given] : given)
    require(!is_given,
            "sweep.{} is for grids, but sweep.kind=list takes its cells from {}; leave it out and "
            "give the file a column for it (where its fields are empty, lr.lr, train.global_batch "
            "and train.seed hold)",
            name, c.list);
  return ListedCells(c).read();
}

}  // namespace skein::scaling::sweep
