#include "skein/data/stores/hdf5.h"

#include <algorithm>

namespace skein::data {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) {
  auto& kept = *static_cast<std::string*>(text);
  if (kept.empty() && error->desc) kept = error->desc;
  return 0;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text.empty() ? "no reason given" : text;
}

bool is_hard_linked(hid_t file, const std::string& path) {
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    H5L_info_t link{};
    if (H5Lget_info(file, path.substr(0, end).c_str(), &link, H5P_DEFAULT) < 0 ||
        link.type != H5L_TYPE_HARD)
      return false;
  }
  return true;
}

bool is_in_one_run(hid_t dataset) {
  const Hdf5Id plan(H5Dget_create_plist(dataset), H5Pclose);
  return plan.valid() && H5Pget_layout(plan.get()) == H5D_CONTIGUOUS &&
         H5Pget_external_count(plan.get()) == 0;
}

}  // namespace skein::data
