#include "skein/text/scores/metric.h"

#include "skein/core/error.h"
#include "skein/core/version.h"
#include "skein/text/split/utf8.h"
#include "skein/text/split/words.h"

namespace skein::text {

void Metric::add(std::string_view hypothesis, std::span<const std::string> references,
                 std::span<int64_t> sums) const {
  SKEIN_CHECK(!references.empty());
  SKEIN_CHECK_EQ(std::ssize(sums), width());
  bool valid = valid_utf8(hypothesis);
  for (const std::string& reference : references) valid = valid && valid_utf8(reference);
  if (valid) return count(hypothesis, references, sums);
  std::vector<std::string> repaired;
  for (const std::string& reference : references) repaired.push_back(with_valid_utf8(reference));
  count(with_valid_utf8(hypothesis), repaired, sums);
}

std::string Metric::signature(int64_t references, const std::string& resampling) const {
  return fmt::format("nrefs:{}|{}{}{}|version:skein-{}",
                     references > 0 ? fmt::to_string(references) : "var", resampling,
                     resampling.empty() ? "" : "|", settings(), kVersion);
}

}  // namespace skein::text
