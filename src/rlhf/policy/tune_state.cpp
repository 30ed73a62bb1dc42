#include "tune_state.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/train/chats/chat_data.h"

namespace skein::rlhf::policy {

using Json = nlohmann::ordered_json;

std::map<std::string, std::string> tune_settings(const TuneConfig& config,
                                                 const std::map<std::string, std::string>& beside) {
  TuneConfig copy = config;
  std::map<std::string, std::string> made = beside;
  for (const auto& [key, value] : bound_values([&](Options& own) { bind(own, copy); }))
    for (const char* section :
         {"ppo.", "ptx.", "kl.", "reward.", "critic.", "sample.", "lr.", "optimizer.",
          "generate.max_tokens", "train.global_batch", "train.seed"})
      if (key.starts_with(section) && key != "ppo.shown" && key != "ppo.save_rollouts" &&
          key != "ppo.iterations")
        made[key] = value;
  return made;
}

train::TaskNotes to_notes(const TuneState& s) {
  const Json chat = s.chat.empty() ? Json() : Json::parse(s.chat.text());
  const Json json{{"kind", "tuned"},
                  {"iterations", s.iterations},
                  {"updates", s.updates},
                  {"critic_steps", s.critic_steps},
                  {"negative_kl", s.negative_kl},
                  {"kl_beta", s.kl_beta},
                  {"ema", s.ema},
                  {"template", chat},
                  {"start", s.start},
                  {"start_sum", s.start_sum},
                  {"critic_mean", s.critic_mean},
                  {"critic_deviation", s.critic_deviation},
                  {"settings", s.settings}};
  return train::TaskNotes(json.dump());
}

TuneState tune_state(const train::TaskNotes& notes, const std::string& origin) {
  require(notes.text_of("kind") == "tuned",
          "{} is no checkpoint of a policy tuned by rewards; give another run.dir", origin);
  try {
    const Json& json = *notes;
    TuneState state;
    const auto count = [&](const char* key) {
      return whole<int64_t>(json.at(key), key, "the notes of " + origin);
    };
    state.iterations = count("iterations");
    state.updates = count("updates");
    state.critic_steps = count("critic_steps");
    state.negative_kl = count("negative_kl");
    state.kl_beta = json.at("kl_beta");
    state.ema = json.value("ema", 0.0);
    if (json.at("template").is_object()) state.chat = chat_template_in(notes);
    state.start = json.at("start");
    state.start_sum = json.value("start_sum", uint32_t{0});
    state.critic_mean = json.value("critic_mean", 0.0);
    state.critic_deviation = json.value("critic_deviation", 1.0);
    state.settings = json.at("settings");
    return state;
  } catch (const nlohmann::json::exception& error) {
    fail_usage("the notes of {} are damaged: {}", origin, json_fault(error.what()));
  }
}

}  // namespace skein::rlhf::policy
