// A folder of checkpoints: files of generations, by their contents and by names. The first line is
// the name of one more.
#include <limits>

#include "skein/checkpoint/directory.h"
#include "skein/core/log.h"

#include "../fuzz.h"

namespace {

bool may_name(std::string_view name) {
  constexpr size_t kLongest = 200;
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

void fuzz(std::string_view input) {
  skein::log::set_level(skein::log::Level::error);
  static const skein::test::FuzzFile generation("generation-000004");
  const std::string folder = std::filesystem::path(generation.path()).parent_path();
  for (const char* name :
       {"step-00000010.g000002", "step-00000020.g000003", "step-00000030.g000004"})
    std::filesystem::create_directories(folder + "/" + name);
  const size_t end = input.find('\n');
  const std::string_view name = input.substr(0, end),
                         text = end == input.npos ? "" : input.substr(end + 1);
  generation.write(text);
  if (!may_name(name)) return;
  const skein::test::FuzzFile named{std::string(name)};
  if (std::filesystem::exists(named.path())) return;
  named.write(text);
  const auto committed = skein::checkpoint::committed_checkpoints(folder);
  const int64_t latest = skein::checkpoint::latest_generation(folder);
  for (const int64_t number : skein::checkpoint::generation_numbers(folder))
    if (const auto read = skein::checkpoint::read_generation(folder, number))
      skein::checkpoint::named(*read);
  skein::checkpoint::run_id_in(folder);
  named.remove();
  if (latest < 4 || latest == std::numeric_limits<int64_t>::max()) std::abort();
  for (size_t i = 1; i < committed.size(); ++i)
    if (!(committed[i] < committed[i - 1])) std::abort();
}
