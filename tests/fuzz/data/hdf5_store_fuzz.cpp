// Skein's own token stores, as they are and with the checksums of HDF5's metadata put right.
#include <vector>

#include "skein/data/stores/store.h"

#include "../fuzz.h"
#include "../hdf5_sums.h"

namespace {

void read(std::string_view input, bool verify) {
  static const skein::test::FuzzFile file("x.h5");
  file.write(input);
  const skein::data::TokenStore store(file.path(), verify);
  store.documents();
  store.sentences();
  std::vector<int32_t> ids(static_cast<size_t>(store.info().tokens));
  store.read(0, ids);
}

}  // namespace

void fuzz(std::string_view input) {
  try {
    read(input, true);
  } catch (const skein::Error& error) {
    if (error.code() == skein::ExitCode::internal) throw;
  }
  read(skein::test::Hdf5Sums(input).repaired(), false);
}
