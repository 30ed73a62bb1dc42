// Stores of records, as they are and with the checksums of HDF5's metadata put right.
#include "skein/data/columns/records.h"

#include "../fuzz.h"
#include "../hdf5_sums.h"

namespace {

void read(std::string_view input, bool verify) {
  static const skein::test::FuzzFile file("x.h5");
  file.write(input);
  const skein::data::Records records(file.path(), verify);
  for (size_t column = 0; column < records.columns().size(); ++column) {
    const auto& info = records.columns()[column].info;
    const bool tokens = std::holds_alternative<skein::data::TokenMeaning>(info.meaning);
    uint64_t bytes = 0;
    for (int64_t record = 0; record < records.count(); ++record) {
      bytes += records.values(column, record).size();
      if (tokens && info.ragged) records.tokens(column, record);
    }
    if (bytes > input.size()) std::abort();
  }
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
