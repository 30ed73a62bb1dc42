#include "skein/rlhf/rewards/preference_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/core/values.h"
#include "skein/ops/preference.h"
#include "skein/train/scores.h"

namespace skein::rlhf::rewards {
namespace {

constexpr size_t kConfidenceBins = 10, kLengthBins = 5;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Pair {
  double gap = 0;     // raw score of the better answer less that of the worse
  double longer = 0;  // tokens of the better answer less those of the worse
  double confidence() const { return 1 / (1 + std::exp(-std::abs(gap))); }
  bool right() const { return gap > 0; }
};

// Times that one answer was preferred to another, and the other way.
using Votes =
    std::map<std::pair<std::vector<int32_t>, std::vector<int32_t>>, std::pair<int64_t, int64_t>>;

void vote(Votes& votes, const std::vector<int32_t>& better, const std::vector<int32_t>& worse) {
  if (better < worse)
    ++votes[{better, worse}].first;
  else
    ++votes[{worse, better}].second;
}

double entropy(double share) {
  return share <= 0 || share >= 1 ? 0
                                  : -share * std::log(share) - (1 - share) * std::log(1 - share);
}

template <class Use>
void for_pairs(const data::PreferenceSample& sample, const Use& use) {
  if (sample.kind != data::PreferenceKind::ranked && sample.kind != data::PreferenceKind::best)
    return;
  for (size_t better = 0; better < sample.values.size(); ++better)
    for (size_t worse = 0; worse < sample.values.size(); ++worse)
      if (sample.values[better] > sample.values[worse]) use(better, worse);
}

class Tally {
 public:
  Tally(const std::vector<data::PreferenceSample>& samples, const Tensor& scores)
      : scores_(scores) {
    for (size_t i = 0; i < samples.size(); ++i) add(samples[i], i);
  }

  void into(PreferenceReport& report) const {
    report.choices = choices_;
    report.choice_accuracy = choices_ ? ratio(right_choices_, choices_) : 0;
    report.scored = std::ssize(truth_);
    if (!truth_.empty()) {
      report.squared_error = train::mean_squared_error(truth_, found_);
      report.pearson = train::pearson(truth_, found_);
      report.spearman = train::spearman(truth_, found_);
    }
    report.pairs = std::ssize(pairs_);
    if (!pairs_.empty()) tell_pairs(report);
  }

 private:
  double score(int64_t sample, size_t answer) const {
    return scores_.data<float>()[sample * scores_.dim(1) + answer];
  }

  void add(const data::PreferenceSample& sample, int64_t number) {
    for_pairs(sample, [&](size_t better, size_t worse) {
      const auto &one = sample.sequences[better].tokens, &other = sample.sequences[worse].tokens;
      const double gap = score(number, better) - score(number, worse),
                   longer = std::ssize(one) - std::ssize(other);
      pairs_.push_back({std::isfinite(gap) ? gap : 0, longer});
      vote(votes_, one, other);
    });
    if (sample.kind == data::PreferenceKind::best) {
      ++choices_;
      const size_t best =
          std::max_element(sample.values.begin(), sample.values.end()) - sample.values.begin();
      bool right = true;
      for (size_t k = 0; k < sample.values.size(); ++k)
        right = right && (k == best || score(number, best) > score(number, k));
      right_choices_ += right;
    }
    for (size_t k = 0; sample.kind == data::PreferenceKind::scored && k < sample.values.size();
         ++k) {
      truth_.push_back(sample.values[k]);
      found_.push_back(score(number, k));
    }
  }

  void tell_pairs(PreferenceReport& report) const {
    for (const Pair& pair : pairs_) {
      report.pair_loss -= log_sigmoid(pair.gap);
      report.accuracy += pair.right();
      report.margin += pair.gap;
      report.longer += pair.longer > 0 ? 1 : pair.longer == 0 ? 0.5 : 0;
    }
    for (const auto& [answers, counts] : votes_) {
      const int64_t all = counts.first + counts.second;
      report.label_entropy += all * entropy(ratio(counts.first, all));
      report.repeated += all > 1 ? all : 0;
    }
    report.slope = slope();
    report.by_confidence = by_confidence();
    report.by_length = by_length();
    for (const PairBin& bin : report.by_confidence)
      report.calibration_error += bin.pairs * std::abs(bin.accuracy - bin.said);
    for (double* mean : {&report.pair_loss, &report.accuracy, &report.margin, &report.longer,
                         &report.label_entropy, &report.calibration_error})
      *mean /= pairs_.size();
  }

  // Newton's steps on a convex function, from 0, within what doubles the last best guess.
  double slope() const {
    const bool errs =
        std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.gap < 0; });
    const bool says =
        std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.gap > 0; });
    if (!errs || !says) return kNone;
    double b = 0, size = 0;
    for (const Pair& pair : pairs_) size = std::max(size, std::abs(pair.gap));
    for (int step = 0; step < 200; ++step) {
      double first = 0, second = 0;
      for (const Pair& pair : pairs_) {
        const double wrong = 1 / (1 + std::exp(b * pair.gap));
        first += wrong * pair.gap;
        second += wrong * (1 - wrong) * pair.gap * pair.gap;
      }
      if (!(second > 0)) return kNone;
      const double most = std::max(1 / size, std::abs(b)),
                   move = std::clamp(first / second, -most, most);
      b += move;
      if (std::abs(move) <= 1e-12 * std::abs(b)) break;
    }
    return b;
  }

  static void add_to(PairBin& bin, const Pair& pair) {
    ++bin.pairs;
    bin.accuracy += pair.right();
    bin.said += pair.confidence();
  }
  static std::vector<PairBin> means(std::vector<PairBin> bins) {
    for (PairBin& bin : bins) {
      bin.accuracy /= std::max<int64_t>(1, bin.pairs);
      bin.said /= std::max<int64_t>(1, bin.pairs);
    }
    return bins;
  }

  std::vector<PairBin> by_confidence() const {
    std::vector<PairBin> bins(kConfidenceBins);
    const double width = 0.5 / kConfidenceBins;
    for (size_t b = 0; b < bins.size(); ++b)
      bins[b].low = 0.5 + width * b, bins[b].high = 0.5 + width * (b + 1);
    for (const Pair& pair : pairs_)
      add_to(bins[std::min(kConfidenceBins - 1,
                           static_cast<size_t>((pair.confidence() - 0.5) / width))],
             pair);
    return means(std::move(bins));
  }

  std::vector<PairBin> by_length() const {
    std::vector<Pair> sorted = pairs_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Pair& a, const Pair& b) { return a.longer < b.longer; });
    std::vector<PairBin> bins;
    const size_t each = (sorted.size() + kLengthBins - 1) / kLengthBins;
    for (const Pair& pair : sorted) {
      // Equal lengths stay together.
      const bool full = !bins.empty() && std::cmp_greater_equal(bins.back().pairs, each) &&
                        pair.longer > bins.back().high;
      if (bins.empty() || full) bins.push_back({pair.longer, pair.longer});
      bins.back().high = pair.longer;
      add_to(bins.back(), pair);
    }
    return means(std::move(bins));
  }

  const Tensor& scores_;
  std::vector<Pair> pairs_;
  Votes votes_;
  int64_t choices_ = 0, right_choices_ = 0;
  std::vector<double> truth_, found_;
};

nlohmann::ordered_json json_of(const std::vector<PairBin>& bins) {
  auto list = nlohmann::ordered_json::array();
  for (const PairBin& bin : bins) {
    nlohmann::ordered_json one{{"from", bin.low}, {"to", bin.high}, {"pairs", bin.pairs}};
    if (bin.pairs > 0) one["accuracy"] = bin.accuracy, one["confidence"] = bin.said;
    list.push_back(one);
  }
  return list;
}

}  // namespace

std::string PreferenceReport::length_warning() const {
  if (!length_explains()) return "";
  const bool longer_wins = longer >= 0.5;
  return fmt::format(
      "\"the {} answer is better\" alone is right for {:.4f} of the pairs, the model for {:.4f}: "
      "it may have learnt nothing but length",
      longer_wins ? "longer" : "shorter", longer_wins ? longer : 1 - longer, accuracy);
}

std::string PreferenceReport::text() const {
  std::string text = fmt::format("loss {:.4f}", shown_number(loss));
  if (pairs > 0)
    text += fmt::format(
        ", accuracy {:.4f} of {} pairs, pair loss {:.4f} (labels {:.4f}, a coin {:.4f}), margin "
        "{:.3f}, calibration error {:.4f}, slope {}",
        accuracy, pairs, pair_loss, label_entropy, std::numbers::ln2, margin, calibration_error,
        std::isfinite(slope) ? fmt::format("{:.3f}", slope) : "none");
  if (choices > 0) text += fmt::format(", best of {} prompts {:.4f}", choices, choice_accuracy);
  if (scored > 0)
    text += fmt::format(", scores of {} answers: mean squared error {:.4g}, Pearson {:.4f}", scored,
                        squared_error, pearson);
  return text;
}

NamedValues PreferenceReport::values() const {
  NamedValues all{{"loss", loss}, {"prompts", prompts}};
  if (pairs > 0) {
    all.insert(all.end(), {{"pairs", pairs},
                           {"accuracy", accuracy},
                           {"pair_loss", pair_loss},
                           {"label_entropy", label_entropy},
                           {"margin", margin},
                           {"calibration_error", calibration_error},
                           {"longer_is_better", longer}});
    if (std::isfinite(slope)) all.emplace_back("slope", slope);
  }
  if (choices > 0) all.emplace_back("choice_accuracy", choice_accuracy);
  if (scored > 0)
    all.insert(all.end(), {{"mse", squared_error}, {"pearson", pearson}, {"spearman", spearman}});
  return all;
}

std::string PreferenceReport::to_json() const {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : values()) json[name] = value;
  if (pairs > 0) {
    json["pairs"] = pairs;
    json["coin_loss"] = std::numbers::ln2;
    json["pairs_judged_more_than_once"] = repeated;
    json["length_explains"] = length_explains();
    json["by_confidence"] = json_of(by_confidence);
    json["by_length_difference"] = json_of(by_length);
  }
  json["prompts"] = prompts;
  return json.dump(2) + "\n";
}

PreferenceReport report_of(const std::vector<data::PreferenceSample>& samples, const Tensor& scores,
                           double loss) {
  PreferenceReport report;
  report.prompts = std::ssize(samples);
  report.loss = loss;
  Tally(samples, scores).into(report);
  return report;
}

}  // namespace skein::rlhf::rewards
