#include "skein/data/samples/chat_samples.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein::data {
namespace {

int64_t size_of(const text::TemplatedChat& chat) { return std::ssize(chat.tokens); }

void shorten(text::TemplatedChat& chat, int64_t tokens) {
  chat.tokens.resize(tokens);
  chat.answer.resize(tokens);
}

// Tokens that are predicted.
int64_t learnt_tokens(const text::TemplatedChat& chat) {
  return std::count_if(chat.answer.begin() + 1, chat.answer.end(),
                       [](char one) { return one != 0; });
}

// Tokens up to the last one of an answer within `most`; 0 for none. ended: of an answer that ends
// there.
int64_t answered_tokens(const text::TemplatedChat& chat, int64_t most, bool ended) {
  for (int64_t i = std::min(most, size_of(chat)); i > 1; --i) {
    const bool goes_on = i < std::ssize(chat.answer) && chat.answer[i];
    if (chat.answer[i - 1] && !(ended && goes_on)) return i;
  }
  return 0;
}

}  // namespace

std::vector<std::vector<int64_t>> packed_rows(const std::vector<int64_t>& lengths, int64_t room) {
  std::vector<std::vector<int64_t>> rows;
  std::set<std::pair<int64_t, int64_t>> open;  // room left and row
  for (size_t i = 0; i < lengths.size(); ++i) {
    SKEIN_CHECK(lengths[i] >= 1 && lengths[i] <= room);
    auto at = open.lower_bound({lengths[i], 0});
    if (at == open.end()) {
      at = open.emplace(room, std::ssize(rows)).first;
      rows.emplace_back();
    }
    const auto [left, row] = *at;
    open.erase(at);
    if (left > lengths[i]) open.emplace(left - lengths[i], row);
    rows[row].push_back(i);
  }
  return rows;
}

ChatSamples::ChatSamples(std::vector<text::TemplatedChat> chats, const ChatSamplesConfig& config)
    : chats_(std::move(chats)), config_(config) {
  SKEIN_CHECK(config.length >= 1);
  counts_.chats = std::ssize(chats_);
  for (text::TemplatedChat& chat : chats_) keep_what_fits(chat);
  counts_.left_out =
      std::erase_if(chats_, [](const text::TemplatedChat& chat) { return chat.tokens.empty(); });
  std::vector<int64_t> lengths;
  for (const text::TemplatedChat& chat : chats_) {
    lengths.push_back(config.pack ? size_of(chat) - 1 : config.length);
    counts_.tokens += size_of(chat) - 1;
    counts_.answers += learnt_tokens(chat);
  }
  rows_ = packed_rows(lengths, config.length);
  for (const auto& row : rows_) {
    int64_t places = 0;
    for (const int64_t chat : row) places += learnt_tokens(chats_[chat]);
    places_ = std::max(places_, places);
  }
  if (!rows_.empty())
    order_ = std::make_unique<SampleOrder>(std::vector{samples_per_epoch()}, std::vector{1.0},
                                           config.seed, training_order(config.shuffle));
}

void ChatSamples::keep_what_fits(text::TemplatedChat& chat) {
  const int64_t all = answered_tokens(chat, size_of(chat), true);
  const int64_t kept =
      answered_tokens(chat, config_.length + 1, config_.longer == LongChats::whole);
  if (kept > 0 && kept < all) ++counts_.shortened;
  shorten(chat, kept);
}

void ChatSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  int32_t* const places = row_of<int32_t>(batch.places, row);
  int32_t* const targets = row_of<int32_t>(batch.targets, row);
  float* const weights = row_of<float>(batch.weights, row);
  int64_t begin = 0, place = 0;
  int32_t segment = 0;
  for (int64_t number : rows_[order_->at(index).sample]) {
    const text::TemplatedChat& chat = chats_[number];
    const int64_t fed = size_of(chat) - 1;
    std::copy_n(chat.tokens.begin(), fed, row_of<int32_t>(batch.tokens, row, begin));
    int32_t* const positions = row_of<int32_t>(batch.positions, row, begin);
    std::iota(positions, positions + fed, 0);
    if (config_.pack) std::fill_n(row_of<int32_t>(batch.segments, row, begin), fed, segment++);
    for (int64_t t = 0; t < fed; ++t) {
      if (!chat.answer[t + 1]) continue;
      places[place] = narrow<int32_t>(begin + t);
      targets[place] = chat.tokens[t + 1];
      weights[place++] = 1;
    }
    begin += fed;
  }
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(begin);
}

Batch ChatSamples::empty_batch(int64_t count) const {
  SKEIN_CHECK(order_ != nullptr);
  return padded_batch(
      count,
      {.length = config_.length, .places = places_, .pad = config_.pad, .segments = config_.pack});
}

uint32_t ChatSamples::checksum() const {
  uint32_t sum = 0;
  const auto add = [&sum](const auto& numbers) {
    const uint64_t size = numbers.size();
    sum = formats::crc32c_of(numbers, formats::crc32c_of(std::span(&size, 1), sum));
  };
  for (const text::TemplatedChat& chat : chats_) {
    add(chat.tokens);
    add(chat.answer);
  }
  for (const auto& row : rows_) add(row);
  return sum;
}

int64_t padded_length(const std::vector<text::TemplatedChat>& chats, int64_t multiple,
                      int64_t most) {
  int64_t longest = 1;
  for (const text::TemplatedChat& chat : chats) longest = std::max(longest, size_of(chat) - 1);
  return std::min(rounded_up(longest, multiple), most);
}

}  // namespace skein::data
