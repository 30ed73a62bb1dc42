#include "skein/convert/decoding_advice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "skein/models/architecture.h"

#include "foreign_config.h"

namespace skein::convert {
namespace {

using Json = ForeignJson;

// What asks for nothing, for keys that no option does.
const std::pair<const char*, Json> kUnknown[] = {
    {"repetition_penalty", 1},
    {"encoder_repetition_penalty", 1},
    {"encoder_no_repeat_ngram_size", 0},
    {"diversity_penalty", 0},
    {"num_beam_groups", 1},
    {"typical_p", 1},
    {"min_p", 0},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"guidance_scale", 1},
    {"penalty_alpha", 0},
    {"begin_suppress_tokens", Json::array()},
    {"sequence_bias", Json::object()},
    {"exponential_decay_length_penalty", Json::array()},
    {"force_words_ids", Json::array()},
    {"constraints", Json::array()},
    {"stop_strings", Json::array()}};

// Of draws that say no other.
constexpr int64_t kUsualTopK = 50;

class Reader {
 public:
  Reader(const ForeignConfig& asked, const ModelConfig& model)
      : asked_(asked),
        vocabulary_(model.vocab_size),
        context_(model.context),
        maps_source_(model.architecture->maps_source(model)),
        draws_(asked.has("do_sample") && asked.at("do_sample") == true) {}

  DecodingAdvice read() {
    read_beams();
    if (draws_) read_draws();
    read_lengths();
    read_forced("forced_bos_token_id", "first_token");
    read_forced("forced_eos_token_id", "last_token");
    if (const auto size = whole("no_repeat_ngram_size"); size && *size > 0)
      search("no_repeat_ngram_size", "no_repeat_ngram", *size);
    read_banned();
    if (asked_.has("do_sample") && asked_.at("do_sample") == false && !searches_)
      option("sample.temperature", 0);
    // An answer ends with one token here.
    if (asked_.has("eos_token_id") && asked_.at("eos_token_id").size() > 1) leave("eos_token_id");
    for (const auto& [key, nothing] : kUnknown)
      if (asked_.has(key) && asked_.at(key) != nothing) leave(key);
    return std::move(made_);
  }

 private:
  // A whole number from 0 on.
  std::optional<int64_t> whole(const std::string& key) const {
    if (!asked_.has(key) || !is_whole<int32_t>(asked_.at(key))) return {};
    const auto value = asked_.at(key).get<int64_t>();
    return value < 0 ? std::nullopt : std::optional(value);
  }
  template <class T>
  void option(const std::string& name, const T& value) {
    made_.options.push_back(fmt::format("--{}={}", name, value));
  }
  void leave(const std::string& key) {
    made_.others.push_back(key + "=" + asked_.at(key).dump().substr(0, 60));
  }
  // An option of beams; of one where there is no search yet, which is greedy.
  template <class T>
  void search(const std::string& key, const std::string& name, const T& value) {
    if (draws_) return leave(key);
    if (!std::exchange(searches_, true)) option("beam.size", 1);
    option("beam." + name, value);
  }

  void read_beams() {
    const int64_t beams = whole("num_beams").value_or(1);
    if (draws_ && beams > 1) {
      leave("num_beams");
    } else if (beams > 1) {
      option("beam.size", beams);
      searches_ = true;
      if (asked_.has("length_penalty") && asked_.at("length_penalty") != 1)
        option("beam.length_penalty", asked_.at("length_penalty").dump());
      if (asked_.has("early_stopping") && asked_.at("early_stopping") != false)
        option("beam.early_stop", asked_.at("early_stopping") == true ? "true" : "never");
    }
    if (const auto answers = whole("num_return_sequences"); answers && *answers > 1) {
      if (draws_ || searches_)
        option(draws_ ? "generate.answers" : "beam.best", *answers);
      else
        leave("num_return_sequences");
    }
  }

  void read_draws() {
    for (const char* key : {"temperature", "top_k", "top_p"})
      if (asked_.has(key)) option(std::string("sample.") + key, asked_.at(key).dump());
    if (!asked_.has("top_k")) option("sample.top_k", kUsualTopK);
  }

  // New tokens; 0 where nothing is said. A decoder's other lengths count its prompt.
  int64_t length(const std::string& side) const {
    if (const auto value = whole(side + "_new_tokens")) return *value;
    return maps_source_ ? std::max<int64_t>(0, whole(side + "_length").value_or(0) - 1) : 0;
  }
  void read_lengths() {
    if (const int64_t most = length("max"); most > 0)
      option("generate.max_tokens", most);
    else if (!maps_source_ && whole("max_length").value_or(context_) < context_)
      leave("max_length");
    const std::string fewest = asked_.has("min_new_tokens") ? "min_new_tokens" : "min_length";
    if (const int64_t tokens = length("min"); tokens > 0)
      search(fewest, "min_tokens", tokens);
    else if (whole(fewest).value_or(0) > 1)
      leave(fewest);
  }

  void read_forced(const std::string& key, const std::string& name) {
    if (!asked_.has(key)) return;
    const Json& id = only_one(asked_.at(key));
    if (is_id(id))
      search(key, name, id.get<int64_t>());
    else
      leave(key);
  }
  bool is_id(const Json& value) const {
    return is_whole<int32_t>(value) && value.get<int64_t>() >= 0 &&
           value.get<int64_t>() < vocabulary_;
  }

  void read_banned() {
    std::vector<int64_t> banned;
    const auto take = [&](const Json& id) {
      if (!is_id(id)) return false;
      banned.push_back(id.get<int64_t>());
      return true;
    };
    const auto take_all = [&](const std::string& key, bool in_lists) {
      if (!asked_.has(key)) return;
      const Json& all = asked_.at(key);
      bool taken = all.is_array();
      for (size_t i = 0; taken && i < all.size(); ++i)
        taken = !in_lists ? take(all[i])
                          : all[i].is_array() && all[i].size() == 1 && take(all[i].front());
      if (!taken) leave(key);
    };
    take_all("bad_words_ids", true);
    take_all("suppress_tokens", false);
    if (!banned.empty()) option("sample.banned", fmt::format("{}", fmt::join(banned, ",")));
  }

  const ForeignConfig& asked_;
  int64_t vocabulary_, context_;
  bool maps_source_, draws_, searches_ = false;
  DecodingAdvice made_;
};

}  // namespace

DecodingAdvice decoding_advice(const std::string& text, const std::string& origin,
                               const ModelConfig& model) {
  return Reader(ForeignConfig(text, origin), model).read();
}

}  // namespace skein::convert
