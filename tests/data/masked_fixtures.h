// A WordPiece tokenizer of 64 ids and stores of its words, for encoders.
#pragma once

#include <random>
#include <string>

#include "skein/data/stores/store.h"

namespace skein::test {

constexpr int32_t kPad = 0, kCls = 2, kSep = 3, kMask = 4;

// [PAD] [UNK] [CLS] [SEP] [MASK], then words w5 to w47 and pieces ##p48 to ##p63 by their ids. The
// last `sentinels` ids beyond them are <extra_id_0>, <extra_id_1>, ..., from the last one down.
inline std::string small_wordpiece(int sentinels = 0) {
  std::string vocab = R"("[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4)", added;
  for (int id = 5; id < 64; ++id)
    vocab += (id < 48 ? ",\"w" : ",\"##p") + std::to_string(id) + "\":" + std::to_string(id);
  const auto add = [&added](int id, const std::string& name) {
    added +=
        std::string(id ? "," : "") + R"({"id":)" + std::to_string(id) + R"(,"content":")" + name +
        R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  };
  const char* special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (int id = 0; id < 5; ++id) add(id, special[id]);
  for (int id = 64; id < 64 + sentinels; ++id)
    add(id, "<extra_id_" + std::to_string(63 + sentinels - id) + ">");
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added +
         R"(],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},)"
         R"("pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},)"
         R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
         vocab + "}}}";
}

// `documents` of 3 to 12 sentences of 3 to 9 tokens: a few ids most of the time, for a model to
// learn soon, and steps upwards.
inline void write_sentence_store(const std::string& path, int documents = 60, int sentinels = 0) {
  data::TokenStoreWriter writer(path, 64 + sentinels, kSep, small_wordpiece(sentinels), true);
  std::mt19937 random(7);
  int32_t id = 5;
  for (int document = 0; document < documents; ++document) {
    for (auto sentences = 3 + random() % 10; sentences > 0; --sentences) {
      std::vector<int32_t> ids;
      for (auto length = 3 + random() % 7; length > 0; --length) {
        id = 5 + static_cast<int32_t>((static_cast<uint32_t>(id) + random() % 3 - 4) % 59);
        ids.push_back(random() % 4 == 0 ? id : static_cast<int32_t>(46 + random() % 4));
      }
      writer.append(ids, static_cast<int64_t>(ids.size()));
      writer.end_sentence();
    }
    writer.add_document({}, 0);
  }
  writer.finish();
}

}  // namespace skein::test
