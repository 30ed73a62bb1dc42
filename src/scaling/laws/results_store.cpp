#include "skein/scaling/laws/results_store.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/data/stores/hdf5.h"

#include "run_columns.h"

namespace skein::scaling {
namespace {

constexpr const char* kFormat = "skein-sweep-results";
constexpr int64_t kResultsVersion = 2;
constexpr size_t kGrowth = size_t{1} << 20;

// --- writing ---

class StoreWriter {
 public:
  explicit StoreWriter(const std::string& path) : path_(path), file_(begin()) {
    check(file_.valid());
  }

  void attribute(const char* name, const std::string& value) {
    attribute(name, text_type(value.size()).get(), value.data());
  }
  void attribute(const char* name, int64_t value) { attribute(name, H5T_STD_I64LE, &value); }
  void group(const char* name) {
    const data::Hdf5Id properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
    H5Pset_obj_track_times(properties.get(), false);
    const data::Hdf5Id made(
        H5Gcreate2(file_.get(), name, H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose);
    check(made.valid());
  }
  void dataset(const std::string& name, const std::vector<double>& values) {
    dataset(name, H5T_IEEE_F64LE, values.data(), values.size());
  }
  void dataset(const std::string& name, const std::vector<int64_t>& values) {
    dataset(name, H5T_STD_I64LE, values.data(), values.size());
  }
  void dataset(const std::string& name, const std::vector<std::string>& values) {
    size_t longest = 1;
    for (const std::string& value : values) longest = std::max(longest, value.size());
    std::string padded;
    for (const std::string& value : values)
      padded += value + std::string(longest - value.size(), '\0');
    dataset(name, text_type(longest).get(), padded.data(), values.size());
  }
  std::string bytes() {
    check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0);
    const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
    check(size > 0);
    std::string image(size, '\0');
    check(H5Fget_file_image(file_.get(), image.data(), image.size()) == size);
    return image;
  }

 private:
  data::Hdf5Id begin() const {
    const data::Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access.get(), kGrowth, false);
    return {H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose};
  }
  void check(bool good) const {
    if (!good) fail("{} cannot be made: {}", path_, data::hdf5_reason());
  }
  static data::Hdf5Id text_type(size_t bytes) {
    data::Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<size_t>(1, bytes));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
  }
  void attribute(const char* name, hid_t type, const void* value) {
    const data::Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
    const data::Hdf5Id made(
        H5Acreate2(file_.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(made.valid() && H5Awrite(made.get(), type, value) >= 0);
  }
  void dataset(const std::string& name, hid_t type, const void* values, size_t count) {
    const hsize_t extent = count;
    const data::Hdf5Id space(H5Screate_simple(1, &extent, nullptr), H5Sclose),
        properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(properties.get(), false);
    const data::Hdf5Id made(H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                       properties.get(), H5P_DEFAULT),
                            H5Dclose);
    check(made.valid());
    if (count > 0) check(H5Dwrite(made.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  }

  const std::string& path_;
  data::Hdf5Id file_;
};

void write_runs(StoreWriter& store, const std::vector<ScalingRun>& runs) {
  store.group("/runs");
  for (const RunColumn& column : run_columns())
    std::visit(
        [&](auto member) {
          std::vector<std::decay_t<decltype(ScalingRun{}.*member)>> values;
          for (const ScalingRun& run : runs) values.push_back(run.*member);
          store.dataset("/runs/" + column.name(), values);
        },
        column.member);
}

void write_curves(StoreWriter& store, const std::vector<ScalingRun>& runs) {
  std::vector<int64_t> first{0};
  std::vector<double> tokens, losses;
  for (const ScalingRun& run : runs) {
    for (const CurvePoint& point : run.curve) {
      tokens.push_back(point.tokens);
      losses.push_back(point.loss);
    }
    first.push_back(std::ssize(tokens));
  }
  store.group("/curves");
  store.dataset("/curves/first", first);
  store.dataset("/curves/tokens", tokens);
  store.dataset("/curves/loss", losses);
}

// --- reading ---

class StoreReader {
 public:
  explicit StoreReader(const std::string& path)
      : path_(path), file_bytes_(FileReader(path).size()), file_(open()) {
    require(attribute_text() == kFormat, "{} is an HDF5 file but no results of `skein sweep`",
            path_);
    int64_t version = 0;
    const data::Hdf5Id named(H5Aopen(file_.get(), "version", H5P_DEFAULT), H5Aclose);
    if (!named.valid() || H5Aread(named.get(), H5T_NATIVE_INT64, &version) < 0) damaged("version");
    require(version == kResultsVersion,
            "{} has version {} of the results' format; this program reads {}: fit the CSV file "
            "beside it",
            path_, version, kResultsVersion);
  }

  // What a dataset of numbers holds.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    constexpr bool kReal = std::is_same_v<T, double>;
    const data::Hdf5Id set = dataset(name), type(H5Dget_type(set.get()), H5Tclose);
    if (H5Tget_class(type.get()) != (kReal ? H5T_FLOAT : H5T_INTEGER) ||
        H5Tget_size(type.get()) != sizeof(T))
      damaged(name);
    std::vector<T> made(length(set, name, sizeof(T)));
    read(set, kReal ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, made, name);
    return made;
  }
  std::vector<std::string> texts(const std::string& name) const {
    const data::Hdf5Id set = dataset(name), type(H5Dget_type(set.get()), H5Tclose);
    if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0) damaged(name);
    const size_t width = H5Tget_size(type.get()), count = length(set, name, width);
    std::string padded(width * count, '\0');
    read(set, type.get(), padded, name);
    std::vector<std::string> made;
    for (size_t i = 0; i < count; ++i) {
      const std::string one = padded.substr(i * width, width);
      made.push_back(one.substr(0, one.find_last_not_of('\0') + 1));
    }
    return made;
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail_usage("{} is damaged: {} is missing or not as `skein sweep` writes it", path_, what);
  }

 private:
  data::Hdf5Id open() const {
    const data::Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access.get(), false, true);
    data::Hdf5Id file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    require(file.valid(), "{} is no HDF5 file: {}", path_, data::hdf5_reason());
    return file;
  }
  std::string attribute_text() const {
    if (H5Aexists(file_.get(), "format") <= 0) return "";
    const data::Hdf5Id named(H5Aopen(file_.get(), "format", H5P_DEFAULT), H5Aclose),
        type(H5Aget_type(named.get()), H5Tclose);
    if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0 ||
        H5Tget_size(type.get()) > 256)
      return "";
    std::string value(256, '\0');
    return H5Aread(named.get(), type.get(), value.data()) < 0 ? "" : value.c_str();
  }
  data::Hdf5Id dataset(const std::string& name) const {
    if (!data::is_hard_linked(file_.get(), name)) damaged(name);
    data::Hdf5Id set(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!set.valid() || !data::is_in_one_run(set.get())) damaged(name);
    return set;
  }
  // What it claims must lie within the file, so that no more memory is taken than that.
  size_t length(const data::Hdf5Id& set, const std::string& name, size_t width) const {
    const data::Hdf5Id space(H5Dget_space(set.get()), H5Sclose);
    if (H5Sget_simple_extent_ndims(space.get()) != 1) damaged(name);
    hsize_t count = 0;
    H5Sget_simple_extent_dims(space.get(), &count, nullptr);
    if (width == 0 || count > file_bytes_ / width) damaged(name);
    return count;
  }
  template <class Items>
  void read(const data::Hdf5Id& set, hid_t memory_type, Items& items,
            const std::string& name) const {
    if (!items.empty() &&
        H5Dread(set.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, items.data()) < 0)
      damaged(name);
  }

  const std::string& path_;
  int64_t file_bytes_;
  data::Hdf5Id file_;
};

template <class Value>
void fill(std::vector<ScalingRun>& runs, Value ScalingRun::*member, const StoreReader& store,
          const std::string& name) {
  std::vector<Value> values;
  if constexpr (std::is_same_v<Value, std::string>)
    values = store.texts(name);
  else
    values = store.values<Value>(name);
  if (values.size() != runs.size()) store.damaged(name);
  for (size_t i = 0; i < runs.size(); ++i) runs[i].*member = values[i];
}

std::vector<Settings> settings_in(const StoreReader& store) {
  std::vector<Settings> made;
  for (const std::string& text : store.texts("/runs/settings")) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto is_text = [](const auto& value) { return value.is_string(); };
    if (!json.is_object() || !std::all_of(json.begin(), json.end(), is_text))
      store.damaged("/runs/settings");
    made.push_back(json.get<Settings>());
  }
  return made;
}

void read_curves(const StoreReader& store, std::vector<ScalingRun>& runs) {
  const auto first = store.values<int64_t>("/curves/first");
  const auto tokens = store.values<double>("/curves/tokens"),
             losses = store.values<double>("/curves/loss");
  const bool fits = first.size() == runs.size() + 1 && first.front() == 0 &&
                    std::is_sorted(first.begin(), first.end()) &&
                    first.back() == std::ssize(tokens) && tokens.size() == losses.size();
  if (!fits) store.damaged("/curves/first");
  for (size_t run = 0; run < runs.size(); ++run)
    for (int64_t i = first[run]; i < first[run + 1]; ++i)
      runs[run].curve.push_back({tokens[i], losses[i]});
}

}  // namespace

void write_store(const std::string& path, const std::vector<ScalingRun>& runs,
                 const std::vector<Settings>& settings) {
  SKEIN_CHECK_EQ(runs.size(), settings.size());
  const data::Hdf5Lock lock;
  StoreWriter store(path);
  store.attribute("format", kFormat);
  store.attribute("version", kResultsVersion);
  write_runs(store, runs);
  std::vector<std::string> texts;
  for (const Settings& one : settings)
    texts.push_back(
        nlohmann::json(one).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  store.dataset("/runs/settings", texts);
  write_curves(store, runs);
  replace_file(path, store.bytes());
}

ScalingTable read_store(const std::string& path) {
  const data::Hdf5Lock lock;
  const StoreReader store(path);
  ScalingTable table;
  table.path = path;
  table.runs.resize(store.texts("/runs/run").size());
  for (const RunColumn& column : run_columns())
    std::visit([&](auto member) { fill(table.runs, member, store, "/runs/" + column.name()); },
               column.member);
  read_curves(store, table.runs);
  table.settings = common_settings(settings_in(store));
  for (size_t i = 0; i < table.runs.size(); ++i) table.runs[i].line = i + 2;
  return table;
}

std::vector<Settings> read_store_settings(const std::string& path) {
  const data::Hdf5Lock lock;
  return settings_in(StoreReader(path));
}

Settings common_settings(const std::vector<Settings>& all) {
  if (all.empty()) return {};
  Settings common = all.front();
  for (const Settings& one : all)
    std::erase_if(common, [&](const auto& entry) {
      const auto found = one.find(entry.first);
      return found == one.end() || found->second != entry.second;
    });
  return common;
}

}  // namespace skein::scaling
