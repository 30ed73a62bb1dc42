#include "skein/runs/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <span>

#include "skein/train/watch/number_kind.h"

namespace skein::runs {
namespace {

using plot::Figure, plot::Mark, plot::Panel, plot::Series;

using train::NumberKind, train::kValidationPrefix, train::without_validation;
using Group = NumberKind::Group;

constexpr size_t kMostPanels = 100;  // a page of more is no page

// In the order of NumberKind::Group.
constexpr const char* kTitles[] = {"Losses", "Rates and norms", "Rewards and answers",
                                   "Evaluations and other numbers", "Speed and memory"};

// What all runs have, each once: "loss" for "validation_loss", too.
std::vector<std::string> bases_of(const std::vector<ShownRun>& runs) {
  std::vector<std::string> made;
  std::set<std::string> known;
  for (const ShownRun& run : runs)
    for (const auto& [name, curve] : run.log->curves())
      if (known.insert(without_validation(name)).second) made.push_back(without_validation(name));
  return made;
}

// A band beneath means of several records.
void add_curve(Panel& panel, const Curve* curve, const Series& line) {
  if (!curve) return;
  Series mean = line, band{"", line.ink, Mark::band};
  for (const Point& point : curve->points()) {
    mean.samples.push_back({.x = point.step, .y = point.mean});
    if (std::isfinite(point.mean))
      band.samples.push_back({.x = point.step, .low = point.low, .high = point.high});
  }
  if (curve->records_of_point() > 1) panel.series.push_back(std::move(band));
  panel.series.push_back(std::move(mean));
}

// A point of few evaluations is seen only where it has a mark.
void add_validation(Panel& panel, const Curve* curve, const ShownRun& run, plot::Ink ink) {
  if (!curve) return;
  const std::string title = run.name + ", validation";
  add_curve(panel, curve, {title, ink, Mark::dashes, 2});
  Series dots = panel.series.back();
  dots.title = "";
  dots.mark = Mark::dots;
  panel.series.push_back(std::move(dots));
}

Panel panel_of(const std::vector<ShownRun>& runs, const std::string& base, const NumberKind& kind) {
  const std::string unit = kind.unit;
  Panel made{"", {"step"}, {base + (unit.empty() ? "" : ", " + unit), kind.logarithmic}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const plot::Ink ink = plot::size_ink(static_cast<int64_t>(i), std::ssize(runs));
    const RunLog& log = *runs[i].log;
    add_curve(made, log.curve(base), {runs[i].name, ink, Mark::line, 2});
    add_validation(made, log.curve(std::string(kValidationPrefix) + base), runs[i], ink);
  }
  return made;
}

// Score against KL, as each run has gone: what a policy pays for its rewards. Both stand in every
// line, so that their points are of the same records.
Panel price_panel(const std::vector<ShownRun>& runs) {
  Panel made{"", {"kl, nats an answer"}, {"score"}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const Curve* const kl = runs[i].log->curve("kl");
    const Curve* const score = runs[i].log->curve("score");
    if (!kl || !score || kl->points().size() != score->points().size()) continue;
    Series line{runs[i].name, plot::size_ink(static_cast<int64_t>(i), std::ssize(runs)), Mark::line,
                2};
    for (size_t at = 0; at < kl->points().size(); ++at)
      line.samples.push_back({.x = kl->points()[at].mean, .y = score->points()[at].mean});
    made.series.push_back(std::move(line));
  }
  return made;
}

int64_t most_records(const std::vector<ShownRun>& runs) {
  int64_t most = 1;
  for (const ShownRun& run : runs)
    for (const auto& [name, curve] : run.log->curves())
      most = std::max(most, curve.records_of_point());
  return most;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<std::string>& folders) {
  std::vector<std::string> made;
  for (const std::string& folder : folders) {
    const auto path = std::filesystem::path(folder).lexically_normal();
    const auto last = path.has_filename() ? path.filename() : path.parent_path().filename();
    made.push_back(last.empty() ? folder : last.string());
  }
  const std::multiset<std::string> all(made.begin(), made.end());
  for (size_t i = 0; i < made.size(); ++i)
    if (all.count(made[i]) > 1) made[i] = folders[i];
  return made;
}

std::vector<Figure> figures_of(const std::vector<ShownRun>& runs) {
  std::array<Figure, std::size(kTitles)> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = {name_of(static_cast<Group>(i)), kTitles[i]};
  const int64_t most = most_records(runs);
  for (Figure& figure : all)
    if (most > 1)
      figure.caption = fmt::format(
          "Where a run has many steps, lines are means of up to {} of them, and bands reach from "
          "the least to the greatest.",
          most);
  const std::vector<std::string> bases = bases_of(runs);
  for (const std::string& base : std::span(bases).first(std::min(bases.size(), kMostPanels))) {
    const NumberKind kind = train::kind_of_number(base);
    all[static_cast<size_t>(kind.group)].panels.push_back(panel_of(runs, base, kind));
  }
  if (Panel price = price_panel(runs); !price.series.empty())
    all[static_cast<size_t>(Group::rewards)].panels.push_back(std::move(price));
  std::vector<Figure> made;
  for (Figure& figure : all)
    if (!figure.panels.empty()) made.push_back(std::move(figure));
  if (bases.size() > kMostPanels)
    made.back().caption +=
        fmt::format("{}The runs have {} numbers, of which the first {} are drawn.",
                    made.back().caption.empty() ? "" : " ", bases.size(), kMostPanels);
  return made;
}

}  // namespace skein::runs
