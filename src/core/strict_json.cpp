#include "skein/core/strict_json.h"

#include <set>

namespace skein {
namespace {

using Json = nlohmann::json;

// Sees what a text holds one after the other, before any of it is kept. A callback of Json::parse
// would not do: with one, the end of each object is looked up among all its neighbours.
class Watcher : public Json::json_sax_t {
 public:
  Watcher(const std::string& origin, int most_depth) : origin_(origin), most_depth_(most_depth) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    require(names_.back().insert(name).second, "{} names {} twice", origin_, excerpt(name));
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool open() {
    require(names_.size() <= most_depth_,
            "{} is nested deeper than the {} levels that such a file has", origin_, most_depth_);
    names_.emplace_back();
    return true;
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  const std::string& origin_;
  size_t most_depth_;
  std::vector<std::set<std::string>> names_;  // of each open object; a list has none
};

}  // namespace

void check_json(const std::string& text, const std::string& origin, int most_depth) {
  Watcher watcher(origin, most_depth);
  Json::sax_parse(text, &watcher);
}

}  // namespace skein
