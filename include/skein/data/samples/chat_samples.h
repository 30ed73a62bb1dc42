// Conversations as samples of a decoder that learns their answers, several of them a row.
//
// A row's conversations are blind to each other: each has its own segment, and positions from 0.
// What is predicted are the tokens of answers, ends included, each at the place of the token before
// it; nothing else counts. What follows the last answer of a conversation is left out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"
#include "skein/text/template.h"

namespace skein::data {

// What becomes of a conversation that is longer than a row. whole: answers that do not end within
// it are left out, so every answer that is learnt has its end; with none left, the conversation is.
// cut: it loses what is beyond the row, also parts of answers with their ends.
enum class LongChats { whole, cut };

struct ChatSamplesConfig {
  int64_t length = 0;  // tokens of a row
  bool pack = true;    // false: one conversation a row
  LongChats longer = LongChats::whole;
  int32_t pad = 0;
  uint64_t seed = 1;
  bool shuffle = true;  // each epoch in another order; else row i is i
};

struct ChatCounts {
  int64_t chats = 0;      // that are there
  int64_t left_out = 0;   // without an answer that fits
  int64_t shortened = 0;  // that lost answers, or parts
  int64_t tokens = 0;     // that are fed
  int64_t answers = 0;    // tokens that are learnt
};

// Which of the lengths, each in [1, room], stand in each row of `room`: one after the other goes to
// the row with the least room that holds it, of equal ones to the first; where there is none, to a
// row of its own.
std::vector<std::vector<int64_t>> packed_rows(const std::vector<int64_t>& lengths, int64_t room);

class ChatSamples : public RowSource {
 public:
  // length >= 1. There may be no rows; batch() then must not be called.
  ChatSamples(std::vector<text::TemplatedChat> chats, const ChatSamplesConfig& config);

  int64_t samples_per_epoch() const override { return std::ssize(rows_); }
  int64_t length() const { return config_.length; }
  int64_t places() const { return places_; }
  const ChatCounts& counts() const { return counts_; }
  // Of the chats and the rows they stand in: what the samples are.
  uint32_t checksum() const;

 private:
  void keep_what_fits(text::TemplatedChat& chat);
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  // each up to its last answer's end; the last token is only predicted
  std::vector<text::TemplatedChat> chats_;
  ChatSamplesConfig config_;
  ChatCounts counts_;
  std::vector<std::vector<int64_t>> rows_;  // indices into chats_
  int64_t places_ = 1;                      // predicted in the row that has the most
  std::unique_ptr<SampleOrder> order_;
};

// Rows of the longest conversation's length, at a multiple of `multiple` where `most` allows it.
int64_t padded_length(const std::vector<text::TemplatedChat>& chats, int64_t multiple,
                      int64_t most);

}  // namespace skein::data
