#include "skein/generate/prompts.h"

#include <cstring>
#include <fstream>
#include <iostream>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"

namespace skein::generate {
namespace {

using Json = nlohmann::json;

std::string prompt_of(const std::string& line, PromptFormat format, const std::string& path,
                      int number) {
  if (format == PromptFormat::text) return line;
  const auto json = Json::parse(line, nullptr, false);
  require(json.is_object() && json.contains("prompt") && json["prompt"].is_string(),
          "{}:{}: a line of generate.format=jsonl is an object with a \"prompt\" text", path,
          number);
  return json["prompt"];
}

}  // namespace

std::vector<Question> conversations_in(const data::ConversationsConfig& config) {
  std::vector<Question> prompts;
  for (data::PromptRecord& record : read_prompts(config))
    prompts.push_back({std::move(record.messages), std::move(record.record)});
  return prompts;
}

std::vector<Question> prompts_in(const std::string& path, PromptFormat format) {
  std::vector<Question> prompts;
  std::ifstream file;
  if (path != "-") {
    require(!is_folder(path), "generate.input={} is a folder; give a file of prompts", path);
    file.open(path);
    if (!file.is_open()) fail_to_open(errno, "generate.input={} cannot be opened", path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  int number = 0, blank = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) {
      ++blank;
      continue;
    }
    prompts.push_back({{{"user", prompt_of(line, format, path, number)}},
                       format == PromptFormat::jsonl ? line : ""});
  }
  if (in.bad()) fail("generate.input={} cannot be read: {}", path, std::strerror(errno));
  require(!prompts.empty(), "generate.input={} holds no prompt", path);
  if (blank > 0)
    log::warn("generate.input={}: {} of {} lines are empty, and get no answer", path, blank,
              number);
  return prompts;
}

std::vector<Question> prompts_of(const std::vector<std::string>& texts) {
  std::vector<Question> prompts;
  for (const std::string& text : texts) prompts.push_back({{{"user", text}}});
  return prompts;
}

std::string packed(const std::vector<Question>& prompts) {
  Json list = Json::array();
  for (const Question& question : prompts) {
    Json one = Json::array({question.record});
    for (const auto& [role, content] : question.turns) one.push_back({role, content});
    list.push_back(std::move(one));
  }
  const auto bytes = Json::to_cbor(list);
  return {bytes.begin(), bytes.end()};
}

std::vector<Question> unpacked(const std::string& bytes) {
  std::vector<Question> prompts;
  for (const Json& one : Json::from_cbor(bytes)) {
    Question& question = prompts.emplace_back();
    question.record = one[0];
    for (size_t i = 1; i < one.size(); ++i) question.turns.push_back({one[i][0], one[i][1]});
  }
  return prompts;
}

}  // namespace skein::generate
