#include "prompts.h"

#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "skein/core/error.h"

namespace skein {
namespace {

using Json = nlohmann::json;

std::string prompt_of(const std::string& line, PromptFormat format, const std::string& path, int number) {
  if (format == PromptFormat::text) return line;
  const auto json = Json::parse(line, nullptr, false);
  require(json.is_object() && json.contains("prompt") && json["prompt"].is_string(),
          "{}:{}: a line of generate.format=jsonl is an object with a \"prompt\" text", path, number);
  return json["prompt"];
}

}  // namespace

std::vector<Turns> conversations_in(const ConversationsConfig& config) {
  std::vector<Turns> prompts;
  for (PromptRecord& record : read_prompts(config)) prompts.push_back(std::move(record.messages));
  return prompts;
}

std::vector<Turns> prompts_in(const std::string& path, PromptFormat format) {
  std::vector<Turns> prompts;
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    require(file.is_open(), "generate.input={} cannot be opened", path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) prompts.push_back({{"user", prompt_of(line, format, path, number)}});
  }
  require(!prompts.empty(), "generate.input={} holds no prompt", path);
  return prompts;
}

std::vector<Turns> prompts_of(const std::vector<std::string>& texts) {
  std::vector<Turns> prompts;
  for (const std::string& text : texts) prompts.push_back({{"user", text}});
  return prompts;
}

std::string packed(const std::vector<Turns>& prompts) {
  Json list = Json::array();
  for (const Turns& turns : prompts) {
    Json one = Json::array();
    for (const auto& [role, content] : turns) one.push_back({role, content});
    list.push_back(std::move(one));
  }
  const auto bytes = Json::to_cbor(list);
  return {bytes.begin(), bytes.end()};
}

std::vector<Turns> unpacked(const std::string& bytes) {
  std::vector<Turns> prompts;
  for (const Json& one : Json::from_cbor(bytes)) {
    Turns& turns = prompts.emplace_back();
    for (const Json& turn : one) turns.push_back({turn[0], turn[1]});
  }
  return prompts;
}

}  // namespace skein
