// Token stores made by other programs, right and wrong.
#include <functional>

#include "skein/data/stores/hdf5.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

// What a foreign program does; each test spoils one thing.
struct Recipe {
  bool latest = true;
  bool chunked = false;
  bool with_documents = true;
  int64_t version = 1;
  int64_t vocab_size = 100;
  std::string format = "skein-tokens";
  std::string skipped;   // attribute that is left out
  bool as_text = false;  // vocab_size as a string
  hid_t (*token_type)() = [] { return H5T_STD_U16LE; };
  std::vector<uint64_t> starts{0, 3, 7};
};

void put_number(hid_t file, const Recipe& recipe, const char* name, int64_t value) {
  if (recipe.skipped == name) return;
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id made(H5Acreate2(file, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
  H5Awrite(made.get(), H5T_NATIVE_INT64, &value);
}

// Of variable length, as h5py writes strings.
void put_text(hid_t file, const Recipe& recipe, const char* name, const std::string& value) {
  if (recipe.skipped == name) return;
  const Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id made(H5Acreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
  const char* text = value.c_str();
  H5Awrite(made.get(), type.get(), &text);
}

void put_dataset(hid_t file, const char* name, hid_t file_type, hid_t memory_type, hsize_t count,
                 const void* values, bool chunked) {
  const Hdf5Id plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const hsize_t chunk = 2;
  if (chunked) H5Pset_chunk(plan.get(), 1, &chunk);
  const Hdf5Id space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Id made(
      H5Dcreate2(file, name, file_type, space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT),
      H5Dclose);
  H5Dwrite(made.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

void put_attributes(hid_t file, const Recipe& recipe) {
  put_text(file, recipe, "format", recipe.format);
  put_number(file, recipe, "version", recipe.version);
  if (recipe.as_text)
    put_text(file, recipe, "vocab_size", "100");
  else
    put_number(file, recipe, "vocab_size", recipe.vocab_size);
  put_number(file, recipe, "end_of_text", -1);
  put_number(file, recipe, "text_bytes", 21);
  put_text(file, recipe, "tokenizer", "{\"foreign\":true}");
  put_number(file, recipe, "xxh3", 0);
}

void write_foreign(const std::string& path, const Recipe& recipe) {
  const Hdf5Lock lock;
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (recipe.latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  put_attributes(file.get(), recipe);
  const int32_t tokens[] = {5, 6, 7, 8, 9, 10, 11};
  put_dataset(file.get(), "tokens", recipe.token_type(), H5T_NATIVE_INT32, 7, tokens,
              recipe.chunked);
  if (recipe.with_documents)
    put_dataset(file.get(), "documents", H5T_STD_U64LE, H5T_NATIVE_UINT64, recipe.starts.size(),
                recipe.starts.data(), false);
}

void expect_refused(const std::function<void(Recipe&)>& spoil,
                    std::initializer_list<std::string> words) {
  const Scratch scratch;
  const std::string path = scratch.file("foreign.h5");
  Recipe recipe;
  spoil(recipe);
  write_foreign(path, recipe);
  expect_error(ExitCode::usage, words, [&] { TokenStore store(path); });
  expect_error(ExitCode::usage, {path}, [&] { TokenStore store(path); });
}

TEST(ForeignStore, IsReadWhenItFollowsTheLayout) {
  const Scratch scratch;
  write_foreign(scratch.file("foreign.h5"), {});
  const TokenStore store(scratch.file("foreign.h5"));
  EXPECT_EQ(all_tokens(store), ascending(5, 7));
  EXPECT_EQ(store.info().documents, 2);
  EXPECT_EQ(store.info().text_bytes, 21);
  EXPECT_EQ(store.info().tokenizer.text(), "{\"foreign\":true}");
  expect_error(ExitCode::failure, {"sum"},
               [&] { TokenStore verified(scratch.file("foreign.h5"), true); });
}

TEST(ForeignStore, WiderTokensThanNeededAreRead) {
  const Scratch scratch;
  Recipe recipe;
  recipe.token_type = [] { return H5T_STD_U32LE; };
  write_foreign(scratch.file("foreign.h5"), recipe);
  EXPECT_EQ(all_tokens(TokenStore(scratch.file("foreign.h5"))), ascending(5, 7));
}

TEST(ForeignStore, NamesWhatIsMissing) {
  for (const std::string name :
       {"format", "version", "vocab_size", "end_of_text", "text_bytes", "tokenizer", "xxh3"})
    expect_refused([&](Recipe& recipe) { recipe.skipped = name; }, {"not a token store", name});
  expect_refused([](Recipe& recipe) { recipe.with_documents = false; },
                 {"not a token store", "/documents"});
}

TEST(ForeignStore, NamesWhatIsWrong) {
  expect_refused([](Recipe& recipe) { recipe.format = "model"; },
                 {"\"model\"", "\"skein-tokens\""});
  expect_refused([](Recipe& recipe) { recipe.version = 2; }, {"version 2", "version 1"});
  expect_refused([](Recipe& recipe) { recipe.vocab_size = 0; }, {"vocab_size is 0"});
  expect_refused([](Recipe& recipe) { recipe.vocab_size = int64_t{1} << 40; },
                 {"vocab_size is 1099511627776"});
  expect_refused([](Recipe& recipe) { recipe.as_text = true; }, {"vocab_size", "not an integer"});
  expect_refused([](Recipe& recipe) { recipe.latest = false; }, {"checksums", "libver"});
  expect_refused([](Recipe& recipe) { recipe.chunked = true; }, {"/tokens", "contiguous"});
  expect_refused([](Recipe& recipe) { recipe.token_type = [] { return H5T_STD_I16LE; }; },
                 {"/tokens", "unsigned"});
  expect_refused([](Recipe& recipe) { recipe.token_type = [] { return H5T_STD_U16BE; }; },
                 {"/tokens", "unsigned"});
  expect_refused([](Recipe& recipe) { recipe.token_type = [] { return H5T_STD_U64LE; }; },
                 {"/tokens", "u64"});
  expect_refused([](Recipe& recipe) { recipe.starts = {7}; }, {"/documents", "1 entries"});
  expect_refused([](Recipe& recipe) { recipe.starts = {0, 7, 7}; }, {"ascend"});
  expect_refused([](Recipe& recipe) { recipe.starts = {0, 3, 8}; }, {"ends with 8", "7 tokens"});
}

}  // namespace
}  // namespace skein::data
