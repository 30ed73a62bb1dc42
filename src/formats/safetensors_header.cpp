#include "safetensors_header.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein::formats {
namespace {

struct Type {
  const char* name;
  int64_t bytes;
};

// In the order of the reference implementation, which sorts tensors by it from the last to the
// first. Its types below a byte belong between BOOL and U8 and are of no use here.
constexpr Type kTypes[] = {{"BOOL", 1},    {"U8", 1},      {"I8", 1},          {"F8_E5M2", 1},
                           {"F8_E4M3", 1}, {"F8_E8M0", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1},
                           {"I16", 2},     {"U16", 2},     {"F16", 2},         {"BF16", 2},
                           {"I32", 4},     {"U32", 4},     {"F32", 4},         {"C64", 8},
                           {"F64", 8},     {"I64", 8},     {"U64", 8}};

// Of names and values in errors: a file may hold any bytes and any number of them.
std::string shown(const std::string& text) {
  constexpr size_t kMost = 80;
  return nlohmann::json(text.substr(0, kMost))
             .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
         (text.size() > kMost ? "..." : "");
}

// Takes the parser's events one by one, so that whatever is not a header ends at once.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(int64_t value) override {
    return refuse(fmt::format("the number {}", value));
  }
  bool number_float(double, const std::string& text) override {
    return refuse("the number " + text.substr(0, 40));
  }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool number_unsigned(uint64_t value) override;
  bool string(std::string& value) override;
  bool start_object(size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(size_t) override;
  bool end_array() override;
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail_usage("its header is not JSON: {}", json_fault(error.what()));
  }

 private:
  enum class State { before, names, metadata, fields, shape, offsets };

  bool refuse(const std::string& what) const {
    fail_usage("its header has {} where {} belongs{}", what, wanted(),
               state_ >= State::fields ? ", in tensor " + shown(tensor_.name) : "");
  }
  const char* wanted() const;
  void finish_tensor();

  SafetensorsHeader header_;
  std::set<std::string> names_, fields_;
  SafeTensor tensor_;
  std::vector<int64_t> offsets_;
  std::string key_;
  State state_ = State::before;
};

const char* HeaderReader::wanted() const {
  switch (state_) {
    case State::before: return "an object";
    case State::names: return "an object with dtype, shape and data_offsets";
    case State::metadata: return "a text";
    case State::fields: return key_ == "dtype" ? "a text" : "an array";
    case State::shape:
    case State::offsets: return "a number from 0 to 2^63 - 1";
  }
  return "";
}

bool HeaderReader::number_unsigned(uint64_t value) {
  const bool array = state_ == State::shape || state_ == State::offsets;
  if (!array || value > static_cast<uint64_t>(INT64_MAX))
    return refuse(fmt::format("the number {}", value));
  (state_ == State::shape ? tensor_.shape : offsets_).push_back(value);
  constexpr size_t kMostDims = 64;
  require(tensor_.shape.size() <= kMostDims && offsets_.size() <= 2,
          "tensor {} has more than {} in its {}", shown(tensor_.name),
          state_ == State::shape ? "64 dims" : "2 numbers",
          state_ == State::shape ? "shape" : "data_offsets");
  return true;
}

bool HeaderReader::string(std::string& value) {
  if (state_ == State::metadata) {
    require(header_.metadata.try_emplace(key_, value).second, "__metadata__ names {} twice",
            shown(key_));
    return true;
  }
  if (state_ != State::fields || key_ != "dtype") return refuse("a text");
  require(safetensors_size(value) > 0, "tensor {} has the unknown dtype {}", shown(tensor_.name),
          shown(value));
  tensor_.type = value;
  return true;
}

bool HeaderReader::start_object(size_t) {
  if (state_ == State::before) {
    state_ = State::names;
  } else if (state_ == State::names) {
    state_ = key_ == "__metadata__" ? State::metadata : State::fields;
    tensor_ = {key_, "", {}, 0, 0};
    offsets_.clear();
    fields_.clear();
  } else {
    return refuse("an object");
  }
  return true;
}

bool HeaderReader::key(std::string& name) {
  key_ = name;
  if (state_ == State::names)
    require(names_.insert(name).second, "it names tensor {} twice", shown(name));
  if (state_ != State::fields) return true;
  require(name == "dtype" || name == "shape" || name == "data_offsets",
          "tensor {} has the unknown field {}", shown(tensor_.name), shown(name));
  require(fields_.insert(name).second, "tensor {} has the field {} twice", shown(tensor_.name),
          name);
  return true;
}

void HeaderReader::finish_tensor() {
  require(fields_.size() == 3, "tensor {} lacks one of dtype, shape and data_offsets",
          shown(tensor_.name));
  require(offsets_.size() == 2, "tensor {} has {} data_offsets instead of two", shown(tensor_.name),
          offsets_.size());
  tensor_.begin = offsets_[0];
  tensor_.end = offsets_[1];
  require(tensor_.begin <= tensor_.end, "tensor {} begins at byte {} and ends at {}",
          shown(tensor_.name), tensor_.begin, tensor_.end);
  const auto bytes = checked_product(tensor_.shape, safetensors_size(tensor_.type));
  require(bytes && *bytes == tensor_.bytes(),
          "tensor {} has {} bytes; its shape [{}] of {} takes {}", shown(tensor_.name),
          tensor_.bytes(), fmt::join(tensor_.shape, ","), tensor_.type,
          bytes ? std::to_string(*bytes) : "more than 2^63");
  header_.tensors.push_back(std::move(tensor_));
}

bool HeaderReader::end_object() {
  if (state_ == State::fields) finish_tensor();
  state_ = State::names;
  return true;
}

bool HeaderReader::start_array(size_t) {
  if (state_ != State::fields || key_ == "dtype") return refuse("an array");
  state_ = key_ == "shape" ? State::shape : State::offsets;
  return true;
}

bool HeaderReader::end_array() {
  state_ = State::fields;
  return true;
}

ptrdiff_t rank_of(const std::string& type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [&](const Type& known) { return known.name == type; }) -
         std::begin(kTypes);
}

}  // namespace

int64_t safetensors_size(const std::string& type) {
  const auto known = rank_of(type);
  return known < std::ssize(kTypes) ? kTypes[known].bytes : 0;
}

SafetensorsHeader parse_safetensors_header(const std::string& text) {
  require(text.starts_with('{'), "its header does not begin with '{{'");
  HeaderReader reader;
  nlohmann::json::sax_parse(text, &reader);
  return reader.take();
}

std::string make_safetensors_header(std::vector<SafeTensor>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::make_tuple(-rank_of(a.type), std::cref(a.name)) <
           std::make_tuple(-rank_of(b.type), std::cref(b.name));
  });
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  int64_t end = 0;
  for (SafeTensor& tensor : tensors) {
    const auto bytes = checked_product(tensor.shape, safetensors_size(tensor.type));
    require(bytes && *bytes <= INT64_MAX - end, "tensor {} is too large for a file",
            shown(tensor.name));
    tensor.begin = end;
    tensor.end = end += *bytes;
    json[tensor.name] = {{"dtype", tensor.type},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace skein::formats
