#include "tune_state.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"

namespace skein {

std::map<std::string, std::string> tune_settings(const TuneConfig& config,
                                                 const std::map<std::string, std::string>& beside) {
  TuneConfig copy = config;
  Options options("", "");
  bind(options, copy);
  std::map<std::string, std::string> made = beside;
  for (const auto& [key, value] : options.values())
    for (const char* section :
         {"ppo.", "ptx.", "kl.", "reward.", "critic.", "sample.", "lr.", "optimizer.",
          "generate.max_tokens", "train.global_batch", "train.seed"})
      if (key.starts_with(section) && key != "ppo.shown" && key != "ppo.save_rollouts" &&
          key != "ppo.iterations")
        made[key] = value;
  return made;
}

std::string to_json(const TuneState& s) {
  const auto chat =
      s.chat.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json::parse(s.chat);
  return nlohmann::ordered_json{{"kind", "tuned"},
                                {"iterations", s.iterations},
                                {"updates", s.updates},
                                {"critic_steps", s.critic_steps},
                                {"negative_kl", s.negative_kl},
                                {"kl_beta", s.kl.beta},
                                {"ema", s.ema},
                                {"template", chat},
                                {"start", s.start},
                                {"start_sum", s.start_sum},
                                {"critic_mean", s.critic_mean},
                                {"critic_deviation", s.critic_deviation},
                                {"settings", s.settings}}
      .dump();
}

TuneState tune_state(const std::string& notes, const std::string& origin) {
  const auto json = nlohmann::json::parse(notes, nullptr, false);
  require(json.is_object() && json.value("kind", "") == "tuned",
          "{} is no checkpoint of a policy tuned by rewards; give another run.dir", origin);
  try {
    TuneState state;
    const auto count = [&](const char* key) {
      return whole<int64_t>(json.at(key), key, "the notes of " + origin);
    };
    state.iterations = count("iterations");
    state.updates = count("updates");
    state.critic_steps = count("critic_steps");
    state.negative_kl = count("negative_kl");
    state.kl.beta = json.at("kl_beta");
    state.ema = json.value("ema", 0.0);
    const auto ordered = nlohmann::ordered_json::parse(notes);
    if (ordered.at("template").is_object()) state.chat = ordered.at("template").dump();
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

}  // namespace skein
