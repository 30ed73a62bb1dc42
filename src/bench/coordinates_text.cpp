#include <cmath>
#include <limits>

#include "skein/bench/coordinates.h"
#include "skein/core/json.h"

namespace skein::bench {
namespace {

using Json = nlohmann::ordered_json;  // which writes null for what is not finite

std::string cell(double value) {
  return std::isfinite(value) ? fmt::format(" {:>11.5g}", value) : fmt::format(" {:>11}", "-");
}

}  // namespace

double growth_exponent(const std::vector<int64_t>& widths, const std::vector<double>& sizes) {
  const double count = widths.size();
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (!std::isfinite(sizes[i]) || sizes[i] <= 0) return std::numeric_limits<double>::quiet_NaN();
    x_mean += std::log(widths[i]) / count;
    y_mean += std::log(sizes[i]) / count;
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    const double x = std::log(widths[i]) - x_mean;
    xx += x * x;
    xy += x * (std::log(sizes[i]) - y_mean);
  }
  return xy / xx;
}

double Coordinates::exponent(size_t layer, int64_t step) const {
  return growth_exponent(widths, sizes[layer][step]);
}

bool Coordinates::grows(size_t layer) const {
  const double last = exponent(layer, steps());
  return !std::isfinite(last) || last > kFlat;
}

std::string Coordinates::table() const {
  std::string text = fmt::format("{:<12}", "width");
  for (const int64_t width : widths) text += fmt::format(" {:>11}", width);
  text += fmt::format(" {:>11} {:>11}\n", "d^ at first", fmt::format("d^ at {}", steps()));
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    text += fmt::format("{:<12}", layers[layer]);
    for (const double size : sizes[layer].back()) text += cell(size);
    text += cell(exponent(layer, 0)) + cell(exponent(layer, steps())) +
            (grows(layer) ? "  grows" : "") + "\n";
  }
  text += fmt::format("{:<12}", "loss");
  for (const double loss : losses) text += cell(loss);
  return text;
}

std::string Coordinates::verdict(bool mup) const {
  std::vector<std::string> growing;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    if (grows(layer)) growing.push_back(layers[layer]);
  if (growing.empty())
    return fmt::format("no layer grows with the width (exponents up to {})", kFlat);
  const std::string said =
      fmt::format("with the width grow (exponent above {}, or no finite numbers): {}", kFlat,
                  fmt::join(growing, ", "));
  return said + (mup ? "; a learning rate of the base model will not do for wider ones: try a "
                       "lower lr.lr, or a larger base than model.mup_base_width"
                     : "; the best learning rate changes with the width. model.mup_base_width is "
                       "for that");
}

std::string coordinates_json(const Coordinates& made) {
  Json layers = Json::array();
  for (size_t layer = 0; layer < made.layers.size(); ++layer) {
    std::vector<double> exponents;
    for (int64_t step = 0; step <= made.steps(); ++step)
      exponents.push_back(made.exponent(layer, step));
    layers.push_back({{"name", made.layers[layer]},
                      {"grows", made.grows(layer)},
                      {"exponents", exponents},
                      {"sizes", made.sizes[layer]}});
  }
  return Json{{"widths", made.widths},
              {"steps", made.steps()},
              {"layers", std::move(layers)},
              {"losses", made.losses}}
      .dump();
}

}  // namespace skein::bench
