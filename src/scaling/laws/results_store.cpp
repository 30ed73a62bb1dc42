#include "skein/scaling/laws/results_store.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/files/mapped_file.h"
#include "skein/core/json.h"
#include "skein/data/stores/hdf5.h"
#include "skein/data/stores/store_fields.h"

#include "run_columns.h"

namespace skein::scaling {
namespace {

constexpr const char* kFormat = "skein-sweep-results";
constexpr int64_t kResultsVersion = 2;
constexpr size_t kGrowth = size_t{1} << 20;
constexpr size_t kSuperblock = 44;  // bytes of its version 3 before its sum

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
    // The library says in the image that the file is not open, and leaves the sum of that it is.
    const uint32_t sum = data::hdf5_sum(std::as_bytes(std::span(image).first(kSuperblock)));
    std::memcpy(image.data() + kSuperblock, &sum, sizeof sum);
    return image;
  }

 private:
  data::Hdf5Id begin() const {
    const data::Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access.get(), kGrowth, false);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
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

constexpr data::StoreKind kResults{"store of results", kFormat, "`skein sweep`", "docs/sweep.md"};

class StoreReader {
 public:
  explicit StoreReader(const std::string& path) : path_(path), file_(path) {
    data::check_superblock(path_, file_, kResults);
    with_origin(path_, [&] {
      view_.emplace(file_.whole());
      data::StoreFields(*view_, file_.bytes(), kResults).check_format(kResultsVersion);
    });
  }

  // What a dataset of numbers holds.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const data::StoredRun run = column(name, &data::StoreFields::run);
    const auto kind =
        std::is_same_v<T, double> ? data::Hdf5Type::Kind::real : data::Hdf5Type::Kind::integer;
    if (run.type.kind != kind || run.type.bytes != sizeof(T)) damaged("/" + name);
    std::vector<T> made(run.count);
    if (!made.empty()) std::memcpy(made.data(), file_.at(run.at), run.bytes());
    return made;
  }
  std::vector<std::string> texts(const std::string& name) const {
    const data::StoredRun run = column(name, &data::StoreFields::text_run);
    const char* from = reinterpret_cast<const char*>(file_.at(run.at));
    std::vector<std::string> made;
    for (uint64_t i = 0; i < run.count; ++i) {
      const std::string_view one(from + i * run.type.bytes, run.type.bytes);
      made.emplace_back(one.substr(0, one.find_last_not_of('\0') + 1));
    }
    return made;
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail_usage("{} is damaged: {} is missing or not as `skein sweep` writes it", path_, what);
  }

 private:
  using Locate = data::StoredRun (data::StoreFields::*)(const std::string&,
                                                        const data::Hdf5Dataset&) const;

  data::StoredRun column(const std::string& name, Locate locate) const {
    data::StoredRun run;
    const size_t slash = name.rfind('/');
    const std::string fault = refusal_of([&] {
      const data::StoreFields group(*view_, file_.bytes(), kResults, name.substr(0, slash));
      const std::string own = name.substr(slash + 1);
      run = (group.*locate)(own, group.dataset(own));
    });
    if (!fault.empty() || run.dims.size() != 1) damaged("/" + name);
    return run;
  }

  const std::string& path_;
  MappedFile file_;
  std::optional<data::Hdf5View> view_;
};

template <class Value>
void fill(std::vector<ScalingRun>& runs, Value ScalingRun::*member, const StoreReader& store,
          const std::string& name) {
  std::vector<Value> values;
  if constexpr (std::is_same_v<Value, std::string>)
    values = store.texts(name);
  else
    values = store.values<Value>(name);
  if (values.size() != runs.size()) store.damaged("/" + name);
  for (size_t i = 0; i < runs.size(); ++i) runs[i].*member = values[i];
}

std::vector<Settings> settings_in(const StoreReader& store) {
  std::vector<Settings> made;
  for (const std::string& text : store.texts("runs/settings")) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto is_text = [](const auto& value) { return value.is_string(); };
    if (!json.is_object() || !std::all_of(json.begin(), json.end(), is_text))
      store.damaged("/runs/settings");
    made.push_back(json.get<Settings>());
  }
  return made;
}

void read_curves(const StoreReader& store, std::vector<ScalingRun>& runs) {
  const auto first = store.values<int64_t>("curves/first");
  const auto tokens = store.values<double>("curves/tokens"),
             losses = store.values<double>("curves/loss");
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
  const StoreReader store(path);
  ScalingTable table;
  table.path = path;
  table.runs.resize(store.texts("runs/run").size());
  for (const RunColumn& column : run_columns())
    std::visit([&](auto member) { fill(table.runs, member, store, "runs/" + column.name()); },
               column.member);
  read_curves(store, table.runs);
  table.settings = common_settings(settings_in(store));
  for (size_t i = 0; i < table.runs.size(); ++i) table.runs[i].line = i + 2;
  return table;
}

std::vector<Settings> read_store_settings(const std::string& path) {
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
