// Lines of JSONL.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/core/json.h"
#include "skein/data/files/line_reader.h"

namespace skein::data {

// What line holds; not an object when `reason` says what is wrong with it, else reason is "".
nlohmann::json parse_json_line(std::string_view line, std::string& reason);

std::vector<std::string> keys_of(const nlohmann::json& object);
// A usage error that begins with `where` and tells the keys that are there when it is not. called:
// what keys are to the user.
const nlohmann::json& value_at(const nlohmann::json& object, const std::string& key,
                               const std::string& where, const char* called = "key");
// A usage error that begins with `where` when `value`, which is `called` so, is no string.
std::string text_of(const nlohmann::json& value, const std::string& called,
                    const std::string& where);

// The lines of a file, one after the other; those of white space alone are passed over.
class JsonLines {
 public:
  // `name` is the source's name in errors.
  JsonLines(std::unique_ptr<ByteSource> source, std::string name, int64_t most_bytes)
      : name_(std::move(name)), most_bytes_(most_bytes), lines_(std::move(source), most_bytes) {}
  // Of a path, or stdin for "-".
  JsonLines(const std::string& path, int64_t most_bytes)
      : JsonLines(open_source(path), input_name(path), most_bytes) {}

  // Goes to the next line; false at the end. A usage error for one of more than most_bytes.
  bool next();
  std::string_view line() const { return line_; }
  // What it holds; a usage error with its file and line when that is no object.
  nlohmann::json object() const;

  const std::string& name() const { return name_; }
  int64_t number() const { return lines_.number(); }  // of the line, from 1
  // Bytes taken from the file so far, before decompression.
  int64_t consumed() const { return lines_.consumed(); }
  std::string where() const;  // "train.jsonl:12"

 private:
  std::string name_;
  int64_t most_bytes_;
  LineReader lines_;
  std::string_view line_;
};

}  // namespace skein::data
