// What `skein plan` goes by.
#include "skein/scaling/study.h"

#include <cmath>

#include "fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("fit.json");
  file.write(input);
  const skein::ParametricFit fit = skein::read_fit(file.path());
  if (!std::isfinite(fit.law.loss(1e9, 1e10))) std::abort();
}
