// What `skein plan` goes by.
#include <cmath>

#include "skein/scaling/plan/plan.h"
#include "skein/scaling/study/study.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("fit.json");
  file.write(input);
  const skein::scaling::fit::ParametricFit fit = skein::scaling::study::read_fit(file.path());
  if (!std::isfinite(fit.law.loss(1e9, 1e10))) std::abort();
  const skein::scaling::plan::PlanLaw law = skein::scaling::plan::fitted_plan_law(file.path());
  if (!(law.r_d > 0) || !(law.r_n > 0)) std::abort();
  if (law.trained_with && law.trained_with->lr.known() && !(law.trained_with->lr.value > 0))
    std::abort();
}
