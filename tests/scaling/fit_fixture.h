// A fit as `skein fit` writes it, as far as plans read it.
#pragma once

#include <string>

#include "skein/core/json.h"
#include "skein/scaling/laws/law.h"

namespace skein::test {

// 240 of the Chinchilla points by Huber's loss, converged (Besiroglu et al., 2024, whose own fit is
// of least absolute errors).
inline scaling::ChinchillaLaw converged() {
  return {1.817218, 477.826, 2143.42, 0.347311, 0.367172};
}

inline std::string fit_json(bool with_draws) {
  const scaling::ChinchillaLaw law = converged();
  const auto interval = [](double value) {
    return nlohmann::json{
        {"value", value}, {"low", nullptr}, {"high", nullptr}, {"error", nullptr}};
  };
  nlohmann::json draws = nlohmann::json::array();
  for (int i = -20; i <= 20 && with_draws; ++i)
    draws.push_back({law.e, law.a, law.b, law.alpha + 5e-4 * i, law.beta - 5e-4 * i});
  const nlohmann::json convergence{
      {"converged", true}, {"problem", ""},    {"gradient_norm", 1e-12}, {"starts", 80},
      {"best_share", 0.9}, {"condition", 1e5}, {"second_solver", 1.0}};
  const nlohmann::json intervals{{"E", interval(law.e)},
                                 {"A", interval(law.a)},
                                 {"B", interval(law.b)},
                                 {"alpha", interval(law.alpha)},
                                 {"beta", interval(law.beta)}};
  const nlohmann::json parametric{{"E", law.e},
                                  {"A", law.a},
                                  {"B", law.b},
                                  {"alpha", law.alpha},
                                  {"beta", law.beta},
                                  {"objective", 1e-3},
                                  {"failed_draws", 0},
                                  {"intervals", intervals},
                                  {"convergence", convergence}};
  const nlohmann::json main{{"parameters", "blocks_head"},
                            {"flops", "exact"},
                            {"flops_per_token", {{"coefficient", 9.0}, {"exponent", 0.99}}},
                            {"n_exponent", interval(0.5)},
                            {"parametric", parametric},
                            {"parametric_problem", ""}};
  return nlohmann::json{{"skein_fit", 1},
                        {"main", main},
                        {"target", {{"flops", 1e22}, {"beyond", 10}}},
                        {"draws", draws}}
      .dump();
}

}  // namespace skein::test
