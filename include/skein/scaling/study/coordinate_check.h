// Coordinate checks of the maximal update parametrisation, as `skein bench
// --bench.what=coordinates` writes them: how activations grow with the width of a model while it
// begins to learn (Yang, Hu and others, "Tensor Programs V", 2022, appendix D).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein::scaling::study {

struct CoordinateLayer {
  std::string name;    // "embedding", "block.0", "logits"
  bool grows = false;  // with the width after the last step, or no finite number
  // by step, from before the first: of growth with the width; unknown: not finite
  std::vector<double> exponents;
  // by step and width: mean |activation|; unknown: not finite
  std::vector<std::vector<double>> sizes;
};

struct CoordinateCheck {
  std::string name;             // "muP", "without muP"
  std::vector<int64_t> widths;  // rising
  int64_t steps = 0;
  std::vector<CoordinateLayer> layers;
  std::vector<double> losses;  // by width, of the last step
};

// Those in the JSON that bench.output names. Usage errors where there is none, or where numbers are
// missing.
std::vector<CoordinateCheck> read_coordinate_checks(const std::string& path);
// The same of its text; `origin` for messages.
std::vector<CoordinateCheck> coordinate_checks_of(const std::string& json,
                                                  const std::string& origin);

}  // namespace skein::scaling::study
