#include "record_layout.h"

#include <algorithm>
#include <set>

#include "skein/core/error.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/data/stores/hdf5_writer.h"
#include "skein/data/stores/store_fields.h"

#include "data/stores/store_layout.h"

namespace skein::data {
namespace {

constexpr int64_t kRecordsVersion = 1;
constexpr int64_t kMostRecords = int64_t{1} << 56;
constexpr size_t kMostColumns = 1000;
constexpr const char* kNumbering = "numbering";

TokenMeaning read_tokens(const StoreFields& fields) {
  TokenMeaning tokens;
  tokens.vocab_size = fields.integer("vocab_size");
  require(tokens.vocab_size >= 1 && tokens.vocab_size <= kLargestVocabulary,
          "{} is {}; it must lie in [1, {}]", fields.path("vocab_size"), tokens.vocab_size,
          kLargestVocabulary);
  tokens.text_bytes = fields.integer("text_bytes");
  require(tokens.text_bytes >= 0, "{} is {}; it cannot be negative", fields.path("text_bytes"),
          tokens.text_bytes);
  tokens.prefix = fields.text("prefix");
  tokens.tokenizer = text::StoredTokenizer(fields.text("tokenizer"));
  return tokens;
}

template <class Value>
std::vector<Value> read_list(const StoreFields& fields, const char* name) {
  const auto list = parse_strictly<nlohmann::json>(fields.text(name), fields.path(name), 1);
  try {
    return list.get<std::vector<Value>>();
  } catch (const nlohmann::json::exception&) {
    fail_usage("{} is \"{}\", not a list of {}", fields.path(name), excerpt(list.dump()),
               std::is_same_v<Value, double> ? "numbers" : "texts");
  }
}

ImageMeaning read_image(const StoreFields& fields) {
  ImageMeaning made{read_list<double>(fields, "mean"), read_list<double>(fields, "deviation")};
  for (const double mean : made.mean)
    require(mean >= 0 && mean <= 1, "{} holds {}; a mean lies in [0, 1]", fields.path("mean"),
            mean);
  for (const double deviation : made.deviation)
    require(deviation > 0 && deviation <= 1, "{} holds {}; a deviation lies in (0, 1]",
            fields.path("deviation"), deviation);
  return made;
}

CategoryMeaning read_categories(const StoreFields& fields) {
  CategoryMeaning made{read_list<std::string>(fields, "names")};
  require(!made.names.empty(), "{} is empty", fields.path("names"));
  std::set<std::string> seen;
  for (const std::string& name : made.names)
    require(!name.empty() && seen.insert(name).second, "{} holds the name \"{}\" {}",
            fields.path("names"), excerpt(name), name.empty() ? "" : "twice");
  return made;
}

ColumnMeaning read_meaning(const StoreFields& fields) {
  const std::string meaning = fields.text("meaning");
  if (meaning == name_of(TokenMeaning())) return read_tokens(fields);
  if (meaning == name_of(ImageMeaning())) return read_image(fields);
  if (meaning == name_of(CategoryMeaning())) return read_categories(fields);
  require(meaning == name_of(PlainMeaning()),
          "{} is \"{}\", which this build does not know; a newer one may", fields.path("meaning"),
          excerpt(meaning));
  return PlainMeaning{fields.has_attribute(kNumbering) ? fields.integer(kNumbering) : 0};
}

void check_tokens(const StoreFields& fields, const ColumnInfo& column) {
  const int width = unsigned_width(column.type);
  require(column.row_shape.empty() && (width == 1 || width == 2 || width == 4),
          "/{} does not hold tokens: those are u8, u16 or u32, and 1-D", fields.path("values"));
}

void check_image(const StoreFields& fields, const ColumnInfo& column) {
  const auto& shape = column.row_shape;
  require(!column.ragged && shape.size() == 3 && unsigned_width(column.type) == 1 &&
              (shape[0] == 1 || shape[0] == 3),
          "/{} does not hold images: those are u8 [count,channels,height,width] of 1 or 3 channels",
          fields.path("values"));
  const auto& image = std::get<ImageMeaning>(column.meaning);
  require(image.mean.size() == shape[0] && image.deviation.size() == shape[0],
          "{} has {} means and {} deviations for {} channels", fields.path("values"),
          image.mean.size(), image.deviation.size(), shape[0]);
}

void check_categories(const StoreFields& fields, const ColumnInfo& column) {
  const int width = unsigned_width(column.type);
  require(column.row_shape.empty() && (width == 1 || width == 2 || width == 4),
          "/{} does not hold categories: those are u8, u16 or u32, and 1-D", fields.path("values"));
}

void check_column(const StoreFields& fields, const ColumnInfo& column) {
  if (std::holds_alternative<TokenMeaning>(column.meaning)) check_tokens(fields, column);
  if (std::holds_alternative<ImageMeaning>(column.meaning)) check_image(fields, column);
  if (std::holds_alternative<CategoryMeaning>(column.meaning)) check_categories(fields, column);
}

class RecordLayoutReader {
 public:
  explicit RecordLayoutReader(std::span<const std::byte> file)
      : bytes_(file.size()), file_(file), root_(file_, bytes_, kRecordStore) {}

  RecordLayout read() const {
    root_.check_format(kRecordsVersion);
    RecordLayout layout;
    layout.count = root_.integer("count");
    require(layout.count >= 1 && layout.count <= kMostRecords,
            "count is {}; a store holds at least one record", layout.count);
    const std::vector<std::string> names = file_.object("").names();
    require(!names.empty(), "it has no columns");
    require(names.size() <= kMostColumns, "it has {} columns; {} can be read", names.size(),
            kMostColumns);
    for (const std::string& name : names)
      layout.columns.push_back(with_origin(fmt::format("column \"{}\"", excerpt(name)),
                                           [&] { return column(name, layout.count); }));
    return layout;
  }

 private:
  ColumnLayout column(const std::string& name, int64_t count) const {
    const StoreFields fields(file_, bytes_, kRecordStore, name);
    ColumnLayout made;
    made.info.name = name;
    made.info.meaning = read_meaning(fields);
    made.sum = fields.integer("xxh3");
    const StoredRun values = fields.run("values", fields.dataset("values"));
    require(!values.dims.empty(), "dataset /{} has no dimensions", fields.path("values"));
    made.info.type = values.type;
    made.info.row_shape.assign(values.dims.begin() + 1, values.dims.end());
    require(std::ranges::count(made.info.row_shape, 0u) == 0, "rows of /{} are empty",
            fields.path("values"));
    made.rows = values.dims.front();
    made.values_at = values.at;
    made.info.ragged = fields.holds("starts");
    check_column(fields, made.info);
    if (made.info.ragged) read_starts(fields, count, made);
    require(made.info.ragged || std::cmp_equal(made.rows, count),
            "/{} has {} rows, but the store holds {} records", fields.path("values"), made.rows,
            count);
    return made;
  }

  static void read_starts(const StoreFields& fields, int64_t count, ColumnLayout& column) {
    const StoredRun starts = fields.run("starts", fields.dataset("starts"));
    require(starts.dims.size() == 1 && unsigned_width(starts.type) == 8,
            "/{} must be 1-D and hold u64", fields.path("starts"));
    require(std::cmp_equal(starts.count, count + 1), "/{} has {} entries; {} records need {}",
            fields.path("starts"), starts.count, count, count + 1);
    column.starts_at = starts.at;
    column.starts_sum = fields.integer("starts_xxh3");
  }

  uint64_t bytes_;
  Hdf5View file_;
  StoreFields root_;
};

// What a column says of its meaning beside the meaning's name.
class MeaningWriter {
 public:
  MeaningWriter(const Hdf5Writer& file, const std::string& column) : file_(file), name_(column) {}

  void operator()(const PlainMeaning& plain) const {
    if (plain.numbering != 0) file_.put_integer(name_, kNumbering, plain.numbering);
  }
  void operator()(const TokenMeaning& tokens) const {
    file_.put_integer(name_, "vocab_size", tokens.vocab_size);
    file_.put_integer(name_, "text_bytes", tokens.text_bytes);
    file_.put_text(name_, "prefix", tokens.prefix);
    file_.put_text(name_, "tokenizer", tokens.tokenizer.text());
  }
  void operator()(const ImageMeaning& image) const {
    file_.put_text(name_, "mean", nlohmann::json(image.mean).dump());
    file_.put_text(name_, "deviation", nlohmann::json(image.deviation).dump());
  }
  void operator()(const CategoryMeaning& categories) const {
    file_.put_text(name_, "names", nlohmann::json(categories.names).dump());
  }

 private:
  const Hdf5Writer& file_;
  const std::string& name_;
};

void write_column(const Hdf5Writer& file, int64_t count, ColumnLayout& column) {
  const std::string& name = column.info.name;
  file.add_group(name);
  file.put_text(name, "meaning", name_of(column.info.meaning));
  file.put_sum(name, "xxh3", column.sum);
  std::vector<uint64_t> dims{column.rows};
  dims.insert(dims.end(), column.info.row_shape.begin(), column.info.row_shape.end());
  column.values_at = file.add_dataset(name + "/values", column.info.type, dims);
  if (column.info.ragged) {
    file.put_sum(name, "starts_xxh3", column.starts_sum);
    column.starts_at =
        file.add_dataset(name + "/starts", kHdf5U64, {static_cast<uint64_t>(count) + 1});
  }
  std::visit(MeaningWriter(file, name), column.info.meaning);
}

}  // namespace

RecordLayout read_record_layout(const std::string& path, std::span<const std::byte> file) {
  try {
    return RecordLayoutReader(file).read();
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{} cannot be used: {} ({})", path, error.what(), kRecordStore.layout));
  }
}

void write_record_layout(const std::string& path, RecordLayout& layout) {
  Hdf5Writer file(path);
  file.put_text("", "format", kRecordStore.format);
  file.put_integer("", "version", kRecordsVersion);
  file.put_integer("", "count", layout.count);
  for (ColumnLayout& column : layout.columns) write_column(file, layout.count, column);
  file.close();
}

}  // namespace skein::data
