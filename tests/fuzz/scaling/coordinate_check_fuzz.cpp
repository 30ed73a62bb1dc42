// What `skein report` draws of `skein bench`.
#include "skein/scaling/study/coordinate_check.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  for (const skein::scaling::study::CoordinateCheck& check :
       skein::scaling::study::coordinate_checks_of(std::string(input), "bench.json"))
    for (const skein::scaling::study::CoordinateLayer& layer : check.layers)
      if (layer.sizes.size() != layer.exponents.size() ||
          layer.sizes.back().size() != check.widths.size())
        std::abort();
}
