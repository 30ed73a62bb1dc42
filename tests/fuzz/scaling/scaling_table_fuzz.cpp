// Tables of runs and their curves, at tokens or at steps, divided by a line of "----"; what is read
// comes back from its own CSV.
#include <cmath>

#include "skein/scaling/laws/results.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile table("results.csv"), curves("curves.csv"), again("again.csv");
  table.write(skein::test::take_part(input));
  curves.write(input);
  const skein::scaling::ScalingTable read =
      skein::scaling::read_table(table.path(), {}, input.empty() ? "" : curves.path());
  for (const skein::scaling::ScalingRun& run : read.runs)
    if (run.status == "done" && !(std::isfinite(run.loss) && run.loss > 0)) std::abort();
  for (const skein::scaling::ScalingRun& run : read.runs)
    for (size_t i = 0; i < run.curve.size(); ++i) {
      const skein::scaling::CurvePoint& point = run.curve[i];
      if (!std::isfinite(point.tokens) || !(point.tokens > 0) || !std::isfinite(point.loss) ||
          !(point.loss > 0))
        std::abort();
      if (i > 0 && point.tokens < run.curve[i - 1].tokens) std::abort();
    }
  for (const skein::scaling::Convention& convention : skein::scaling::conventions_of(read))
    skein::scaling::points_of(read, convention);
  again.write(skein::scaling::table_csv(read.runs));
  if (skein::scaling::read_table(again.path()).runs.size() != read.runs.size()) std::abort();
}
