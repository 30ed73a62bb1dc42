// What reads HDF5 without its library, against files that the library writes.
#include "skein/data/stores/hdf5_view.h"

#include <cstring>

#include "skein/data/stores/hdf5.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

Hdf5Id new_file(const std::string& path, H5F_libver_t oldest = H5F_LIBVER_LATEST) {
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access.get(), oldest, H5F_LIBVER_LATEST);
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose};
}

void put_numbers(hid_t parent, const std::string& name, hid_t type,
                 const std::vector<int64_t>& values, hid_t plan = H5P_DEFAULT) {
  const hsize_t count = values.size();
  const Hdf5Id space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Id set(
      H5Dcreate2(parent, name.c_str(), type, space.get(), H5P_DEFAULT, plan, H5P_DEFAULT),
      H5Dclose);
  H5Dwrite(set.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void put_number(hid_t object, const std::string& name, int64_t value, hid_t type = H5T_STD_I64LE) {
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id made(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
  H5Awrite(made.get(), H5T_NATIVE_INT64, &value);
}

void put_text(hid_t object, const std::string& name, const std::string& value, bool variable) {
  const Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_size(type.get(), variable ? H5T_VARIABLE : value.size());
  const Hdf5Id made(
      H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  const char* text = value.c_str();
  if (variable)
    H5Awrite(made.get(), type.get(), &text);
  else
    H5Awrite(made.get(), type.get(), text);
}

std::span<const std::byte> span_of(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

// What one writes is what another reads.
std::string written(const std::function<void(hid_t file)>& write,
                    H5F_libver_t oldest = H5F_LIBVER_LATEST) {
  const Scratch scratch;
  const Hdf5Lock lock;
  {
    const Hdf5Id file = new_file(scratch.file("x.h5"), oldest);
    write(file.get());
  }
  return bytes_of_file(scratch.file("x.h5"));
}

// `file`, its root's header instead of the old one's `times` the same message.
std::string with_root(std::string file, char type, const std::string& message, int times) {
  std::string header("OHDR\x02\x02", 6);
  const auto put = [&](uint64_t value, size_t bytes) {
    header.append(reinterpret_cast<const char*>(&value), bytes);
  };
  put(static_cast<uint64_t>(times) * (4 + message.size()), 4);
  for (int i = 0; i < times; ++i) {
    header += type;
    put(message.size(), 3);
    header += message;
  }
  put(hdf5_sum(span_of(header)), 4);
  const uint64_t at = file.size();
  std::memcpy(file.data() + 36, &at, 8);
  const uint32_t sum = hdf5_sum(span_of(file).first(44));
  std::memcpy(file.data() + 44, &sum, 4);
  return file + header;
}

size_t occurrences(const std::string& bytes, const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = bytes.find(text, at)) != std::string::npos; ++at) ++count;
  return count;
}

class Groups : public testing::TestWithParam<int> {};

// Few links lie in the group's header, more in a heap of one block, of several, of several lists of
// blocks: for these the names are long, and many of one dataset.
TEST_P(Groups, AreReadWhateverTheyHold) {
  const int count = GetParam(), sets = std::min(count, 1000);
  const std::string end(count > sets ? 200 : 0, 'x');
  const auto name = [&](int i) { return fmt::format("block.{}.attention.out.weight{}", i, end); };
  const std::string bytes = written([&](hid_t file) {
    const Hdf5Id group(H5Gcreate2(file, "param", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (int i = 0; i < sets; ++i) put_numbers(group.get(), name(i), H5T_STD_I32LE, {i, i + 1});
    for (int i = sets; i < count; ++i)
      H5Lcreate_hard(group.get(), name(i % sets).c_str(), group.get(), name(i).c_str(), H5P_DEFAULT,
                     H5P_DEFAULT);
  });
  if (count == 3000) {
    EXPECT_GT(occurrences(bytes, "FHIB"), 1u);
  }
  const Hdf5View view(span_of(bytes));
  for (int i = 0; i < count; ++i) {
    const Hdf5Dataset set = view.object("param/" + name(i)).dataset();
    EXPECT_EQ(set.dims, std::vector<uint64_t>{2});
    EXPECT_TRUE(set.type.is_signed);
    ASSERT_TRUE(set.at && set.bytes == 8 && *set.at + 8 <= bytes.size());
    int32_t second = 0;
    std::memcpy(&second, bytes.data() + *set.at + 4, 4);
    EXPECT_EQ(second, i % sets + 1);
  }
  expect_error(ExitCode::usage, {"param/other"}, [&] { view.object("param/other"); });
  expect_error(ExitCode::usage, {"no dataset"}, [&] { view.object("param").dataset(); });
}

INSTANTIATE_TEST_SUITE_P(Hdf5View, Groups, testing::Values(1, 8, 9, 60, 700, 3000));

TEST(Hdf5View, ReadsAttributesInHeadersAndHeaps) {
  for (const int others : {0, 3, 40}) {
    const std::string large(200'000, 'x');
    const std::string bytes = written([&](hid_t file) {
      put_number(file, "minus", -3);
      put_number(file, "byte", 200, H5T_STD_U8LE);
      put_number(file, "swapped", 1, H5T_STD_I64BE);
      put_text(file, "fixed", "here", false);
      put_text(file, "variable", "there", true);
      put_text(file, "large", large, false);
      for (int i = 0; i < others; ++i) put_number(file, fmt::format("other {}", i), i);
    });
    const Hdf5View view(span_of(bytes));
    const Hdf5Object root = view.object("");
    EXPECT_EQ(root.attribute("minus")->integers(), std::vector<int64_t>{-3});
    EXPECT_EQ(root.attribute("byte")->integers(), std::vector<int64_t>{200});
    EXPECT_EQ(root.attribute("swapped")->type.kind, Hdf5Type::Kind::other);
    EXPECT_FALSE(root.attribute("absent").has_value());
    for (int i = 0; i < others; ++i)
      EXPECT_EQ(root.attribute(fmt::format("other {}", i))->integers(), std::vector<int64_t>{i});
    EXPECT_EQ(root.text(*root.attribute("fixed")), "here");
    EXPECT_EQ(root.text(*root.attribute("variable")), "there");
    EXPECT_TRUE(root.text(*root.attribute("large")) == large);
    expect_error(ExitCode::usage, {"no text"}, [&] { root.text(*root.attribute("minus")); });
  }
}

// Else a small file could take any time: here its attributes are listed as often as it is said.
TEST(Hdf5View, RefusesMetadataThatOverlaps) {
  const std::string good = written([&](hid_t file) {
    for (int i = 0; i < 300; ++i)
      put_text(file, fmt::format("{}", i), std::string(1000, 'x'), false);
  });
  const uint64_t heap = good.find("FRHP"), tree = good.find("BTHD");
  ASSERT_TRUE(heap < good.size() && tree < good.size());
  std::string info(2, '\0');
  for (const uint64_t at : {heap, tree}) info.append(reinterpret_cast<const char*>(&at), 8);
  const std::string once = with_root(good, 0x15, info, 1), often = with_root(good, 0x15, info, 50);
  const Hdf5View view(span_of(once)), refused(span_of(often));
  const Hdf5Object root = view.object("");
  for (const char* name : {"0", "299"}) EXPECT_EQ(root.text(*root.attribute(name)).size(), 1000u);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(view.object("").attribute("150").has_value());
  expect_error(ExitCode::usage, {"overlap"}, [&] { refused.object(""); });
}

TEST(Hdf5View, FollowsHardLinksOnly) {
  const std::string bytes = written([&](hid_t file) {
    put_numbers(file, "real", H5T_STD_U16LE, {1});
    H5Lcreate_hard(file, "real", file, "second", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/real", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/", file, "circle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/dev/null", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Hdf5View view(span_of(bytes));
  EXPECT_EQ(view.object("second").dataset().at, view.object("real").dataset().at);
  for (const std::string name : {"soft", "external", "circle/real"}) {
    EXPECT_TRUE(view.object("").holds(name.substr(0, name.find('/'))));
    expect_error(ExitCode::usage, {name.substr(0, name.find('/')), "no hard link"},
                 [&] { view.object(name); });
  }
}

TEST(Hdf5View, GivesNoAddressToWhatIsNotStoredInOneRun) {
  const Scratch scratch;
  const std::string elsewhere = scratch.file("elsewhere");
  const std::string bytes = written([&](hid_t file) {
    const hsize_t two = 2;
    const Hdf5Id chunks(H5Pcreate(H5P_DATASET_CREATE), H5Pclose),
        outside(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const Hdf5Id made_up(H5Pcreate(H5P_DATASET_CREATE), H5Pclose),
        space(H5Screate_simple(1, &two, nullptr), H5Sclose);
    H5Pset_chunk(chunks.get(), 1, &two);
    H5Pset_external(outside.get(), elsewhere.c_str(), 0, 16);
    H5Pset_virtual(made_up.get(), space.get(), elsewhere.c_str(), "/x", space.get());
    put_numbers(file, "chunked", H5T_STD_I64LE, {1, 2}, chunks.get());
    put_numbers(file, "external", H5T_STD_I64LE, {1, 2}, outside.get());
    const Hdf5Id set(H5Dcreate2(file, "virtual", H5T_STD_I64LE, space.get(), H5P_DEFAULT,
                                made_up.get(), H5P_DEFAULT),
                     H5Dclose);
  });
  const Hdf5View view(span_of(bytes));
  for (const char* name : {"chunked", "external", "virtual"})
    EXPECT_FALSE(view.object(name).dataset().at.has_value()) << name;
}

TEST(Hdf5View, NoFlippedByteOfTheStructureGoesUnnoticed) {
  const std::string good = written([&](hid_t file) {
    for (int i = 0; i < 20; ++i) put_number(file, fmt::format("a{}", i), i);
    for (int i = 0; i < 12; ++i) put_numbers(file, fmt::format("set {}", i), H5T_STD_I64LE, {i});
  });
  const auto told = [](const std::string& bytes) {
    const Hdf5View view(span_of(bytes));
    const Hdf5Object root = view.object("");
    std::string text;
    for (int i = 0; i < 20; ++i)
      text += fmt::format("{} ", root.attribute(fmt::format("a{}", i))->integers().front());
    for (int i = 0; i < 12; ++i)
      text += fmt::format("{} ", view.object(fmt::format("set {}", i)).dataset().at.value());
    return text;
  };
  const std::string expected = told(good);
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    try {
      EXPECT_EQ(told(bad), expected) << "byte " << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    }
  }
}

// The library goes round for ever in such a heap.
TEST(Hdf5View, RefusesAHeapOfTextsThatDoesNotAddUp) {
  const std::string good = written([&](hid_t file) {
    put_text(file, "first", "one text", true);
    put_text(file, "second", "another", true);
  });
  const size_t heap = good.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  const auto read = [](const std::string& bytes) {
    const Hdf5View view(span_of(bytes));
    const Hdf5Object root = view.object("");
    return root.text(*root.attribute("first")) + root.text(*root.attribute("second"));
  };
  EXPECT_EQ(read(good), "one textanother");
  for (const uint64_t size : {uint64_t{4000}, ~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{3}}) {
    std::string bad = good;
    std::memcpy(bad.data() + heap + 24, &size, 8);  // of the first object
    expect_error(ExitCode::usage, {}, [&] { read(bad); });
  }
}

TEST(Hdf5View, SaysWhatItDoesNotRead) {
  const std::string old =
      written([&](hid_t file) { put_number(file, "a", 1); }, H5F_LIBVER_EARLIEST);
  expect_error(ExitCode::usage, {"libver"}, [&] { Hdf5View(span_of(old)); });
  expect_error(ExitCode::usage, {}, [] { Hdf5View(std::span<const std::byte>()); });
  const std::string text(100, 'x');
  expect_error(ExitCode::usage, {}, [&] { Hdf5View(span_of(text)); });
}

TEST(Hdf5View, TakesTheChecksumsOfTheLibrary) {
  const std::string bytes = written([](hid_t) {});
  uint32_t sum = 0;
  std::memcpy(&sum, bytes.data() + 44, 4);
  EXPECT_EQ(hdf5_sum(span_of(bytes).first(44)), sum);
  EXPECT_EQ(hdf5_sum({}), 0xdeadbeefu);
}

}  // namespace
}  // namespace skein::data
