#include "skein/data/corpus/encode.h"

#include <cmath>

#include "skein/data/corpus/learn_tokenizer.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

std::string jsonl(int documents) {
  std::string text;
  for (int i = 0; i < documents; ++i)
    text += fmt::format("{{\"text\":\"document {} of them\"}}\n", i);
  return text;
}

EncodeConfig config_for(const Scratch& scratch, int threads = 2) {
  EncodeConfig config;
  config.output = scratch.file("out.h5");
  config.replace = true;
  config.threads = threads;
  return config;
}

std::string decoded(const std::string& path, const text::Tokenizer& tokenizer) {
  return tokenizer.decode(all_tokens(TokenStore(path, true)));
}

std::unique_ptr<text::Tokenizer> small_tokenizer(const Scratch& scratch) {
  write_file(scratch.file("learn.jsonl"), jsonl(50));
  LearnConfig config;
  config.trainer.vocab_size = 280;
  config.threads = 2;
  return learn_tokenizer({scratch.file("learn.jsonl")}, config).tokenizer;
}

TEST(Encode, DocumentsKeepTheirOrderWhateverTheThreads) {
  const Scratch scratch;
  const auto tokenizer = small_tokenizer(scratch);
  write_file(scratch.file("in.jsonl"), jsonl(60000));
  std::vector<int32_t> first;
  for (const int threads : {1, 2, 5}) {
    const EncodeConfig config = config_for(scratch, threads);
    const EncodeSummary summary = encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
    EXPECT_EQ(summary.training.documents, 60000);
    const TokenStore store(config.output, true);
    EXPECT_EQ(store.info().tokenizer.text(), tokenizer->to_json());
    if (threads == 1) first = all_tokens(store);
    ASSERT_EQ(all_tokens(store), first);
    const auto starts = store.documents();
    std::vector<int32_t> last(starts[60000] - starts[59999]);
    store.read(static_cast<int64_t>(starts[59999]), last);
    EXPECT_EQ(last.back(), tokenizer->end_of_text());
    EXPECT_EQ(tokenizer->decode(last), "document 59999 of them");
  }
}

TEST(Encode, ALongDocumentIsOneDocument) {
  const Scratch scratch;
  const auto tokenizer = small_tokenizer(scratch);
  std::string text;
  for (int i = 0; i < 40000; ++i) text += fmt::format("word {}\n", i);
  write_file(scratch.file("in.txt"), text);
  EncodeConfig config = config_for(scratch);
  config.corpus.piece_bytes = 1000;
  const EncodeSummary summary = encode_corpus({scratch.file("in.txt")}, *tokenizer, config);
  EXPECT_EQ(summary.training.documents, 1);
  EXPECT_EQ(summary.training.text_bytes, static_cast<int64_t>(text.size()));
  auto expected = tokenizer->encode(text);
  expected.push_back(tokenizer->end_of_text());
  EXPECT_EQ(all_tokens(TokenStore(config.output, true)), expected);
}

std::vector<std::string> sentences_in(const std::string& path, const text::Tokenizer& tokenizer) {
  const TokenStore store(path, true);
  const std::span<const uint64_t> starts = store.sentences();
  std::vector<std::string> sentences;
  for (size_t k = 0; k + 1 < starts.size(); ++k) {
    std::vector<int32_t> ids(starts[k + 1] - starts[k]);
    store.read(static_cast<int64_t>(starts[k]), ids);
    sentences.push_back(tokenizer.decode(ids) + (ids.back() == tokenizer.end_of_text() ? "|" : ""));
  }
  return sentences;
}

TEST(Encode, SentencesAreKnownWhereWanted) {
  const Scratch scratch;
  const auto tokenizer = small_tokenizer(scratch);
  write_file(scratch.file("in.jsonl"),
             "{\"text\":\"It came. Mr. X left.\\nAll is well\"}\n{\"text\":\"End.\"}\n");
  EncodeConfig config = config_for(scratch);
  config.corpus.sentences = text::SentenceRule::automatic;
  const EncodeSummary summary = encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
  EXPECT_EQ(summary.training.sentences, 4);
  EXPECT_EQ(sentences_in(config.output, *tokenizer),
            (std::vector<std::string>{"It came.", " Mr. X left.", "\nAll is well|", "End.|"}));
  config.corpus.sentences = text::SentenceRule::lines;
  encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
  EXPECT_EQ(sentences_in(config.output, *tokenizer),
            (std::vector<std::string>{"It came. Mr. X left.", "\nAll is well|", "End.|"}));
}

std::unique_ptr<text::Tokenizer> learnt(text::LearntKind kind, text::LearntForm form,
                                        const std::string& text) {
  text::TokenizerTrainer trainer({.kind = kind, .vocab_size = 400, .normal_form = form});
  trainer.count(text);
  return trainer.train();
}

// Sentences and pieces of documents get nothing that the whole text has not.
TEST(Encode, SentencesAndPiecesLeaveTheTokensOfTheWhole) {
  using text::LearntKind, text::LearntForm, text::SentenceRule;
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("Sentence {} came.  It left!\nAll well", i);
  write_file(scratch.file("in.txt"), text);
  EncodeConfig config = config_for(scratch);
  for (const LearntKind kind : {LearntKind::bpe, LearntKind::wordpiece, LearntKind::unigram})
    for (const LearntForm form : {LearntForm::none, LearntForm::nfkc}) {
      const auto tokenizer = learnt(kind, form, text);
      auto whole = tokenizer->encode(text);
      if (const int32_t end = tokenizer->end_of_text(); end >= 0) whole.push_back(end);
      for (const SentenceRule rule :
           {SentenceRule::none, SentenceRule::automatic, SentenceRule::lines})
        for (const int64_t bytes : {1000, 1 << 20}) {
          config.corpus.sentences = rule;
          config.corpus.piece_bytes = bytes;
          encode_corpus({scratch.file("in.txt")}, *tokenizer, config);
          EXPECT_EQ(all_tokens(TokenStore(config.output, true)), whole)
              << static_cast<int>(kind) << static_cast<int>(form) << static_cast<int>(rule)
              << bytes;
        }
      if (kind != LearntKind::wordpiece && form == LearntForm::none) {
        EXPECT_EQ(decoded(config.output, *tokenizer), text);
      }
    }
}

TEST(Encode, DocumentsWithoutTokensAreLeftOut) {
  const Scratch scratch;
  const auto tokenizer = learnt(text::LearntKind::wordpiece, text::LearntForm::none, "a b a b");
  write_file(scratch.file("in.jsonl"),
             "{\"text\":\"            \\n \"}\n{\"text\":\"a\"}\n{\"text\":\"\\t\"}\n{\"text\":\"b "
             "a\"}\n");
  EncodeConfig config = config_for(scratch);
  for (const int64_t bytes : {8, 1000}) {
    config.corpus.piece_bytes = bytes;
    const EncodeSummary summary = encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
    EXPECT_EQ(summary.training.documents, 2);
    EXPECT_EQ(summary.without_tokens, 2);
  }
  write_file(scratch.file("blank.txt"), " \n");
  expect_error(ExitCode::usage, {"hold no text"},
               [&] { encode_corpus({scratch.file("blank.txt")}, *tokenizer, config); });
}

TEST(Encode, SentencesDependNeitherOnPiecesNorOnThreads) {
  const Scratch scratch;
  const auto tokenizer = small_tokenizer(scratch);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("Sentence {} came. ", i);
  write_file(scratch.file("in.txt"), text);
  EncodeConfig config = config_for(scratch);
  config.corpus.sentences = text::SentenceRule::automatic;
  encode_corpus({scratch.file("in.txt")}, *tokenizer, config);
  const auto whole = sentences_in(config.output, *tokenizer);
  EXPECT_EQ(whole.size(), 20000u);
  EXPECT_EQ(whole[70], " Sentence 70 came.");
  auto expected = tokenizer->encode(text);
  expected.push_back(tokenizer->end_of_text());
  EXPECT_EQ(all_tokens(TokenStore(config.output)), expected);
  const std::string bytes = bytes_of_file(config.output);
  for (const int threads : {1, 5}) {
    config.threads = threads;
    config.corpus.piece_bytes = threads * 1000;
    encode_corpus({scratch.file("in.txt")}, *tokenizer, config);
    EXPECT_TRUE(bytes_of_file(config.output) == bytes) << threads;
  }
}

TEST(Encode, HeldOutDocumentsAreChosenBySeed) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  write_file(scratch.file("in.jsonl"), jsonl(4000));
  EncodeConfig config = config_for(scratch);
  config.validation = scratch.file("valid.h5");
  config.validation_fraction = 0.1;
  config.seed = 3;
  const EncodeSummary summary = encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
  EXPECT_EQ(summary.training.documents + summary.validation.documents, 4000);
  EXPECT_NEAR(static_cast<double>(summary.validation.documents), 400, 4 * std::sqrt(360.0));
  std::string expected;
  for (int i = 0; i < 4000; ++i)
    if (held_out(3, i, 0.1)) expected += fmt::format("document {} of them", i);
  EXPECT_EQ(decoded(config.validation, *tokenizer), expected);
  config.seed = 4;
  encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
  EXPECT_NE(decoded(config.validation, *tokenizer), expected);
}

TEST(Encode, OfOneTextTheEndIsHeldOut) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  std::string text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("paragraph {}\n\n", i);
  write_file(scratch.file("in.txt"), text);
  EncodeConfig config = config_for(scratch);
  config.validation = scratch.file("valid.h5");
  config.validation_fraction = 0.2;
  encode_corpus({scratch.file("in.txt")}, *tokenizer, config);
  const std::string head = decoded(config.output, *tokenizer),
                    tail = decoded(config.validation, *tokenizer);
  EXPECT_EQ(head + tail, text);
  EXPECT_EQ(tail.substr(0, 9), "paragraph");
  EXPECT_NEAR(static_cast<double>(tail.size()), 0.2 * static_cast<double>(text.size()), 30);
}

// As of verses: no blank line is near, or one that would leave much less than was asked for.
TEST(Encode, WithoutABlankLineTheEndBeginsAtALine) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  EncodeConfig config = config_for(scratch);
  config.validation = scratch.file("valid.h5");
  config.validation_fraction = 0.05;
  std::string text;
  for (int i = 0; i < 30000; ++i) text += fmt::format("verse {:05} of the text, {}\n", i, i % 97);
  const auto place = static_cast<size_t>(std::llround(static_cast<double>(text.size()) * 0.95));
  const size_t line = text.find('\n', place - 1) + 1;
  std::string far = text;
  far.replace(text.find('\n', place + 9 * text.size() / 1000) + 1, 1, "\n");
  const auto held = [&](const std::string& all, const std::string& name) {
    write_file(scratch.file(name), all);
    encode_corpus({scratch.file(name)}, *tokenizer, config);
    const std::string tail = decoded(config.validation, *tokenizer);
    EXPECT_EQ(decoded(config.output, *tokenizer) + tail, all);
    return tail;
  };
  EXPECT_EQ(held(text, "verses.txt"), text.substr(line));
  EXPECT_EQ(held(far, "far.txt"), far.substr(line));
  // A blank line in the first tenth, and one just before the place.
  std::string near = text;
  const size_t blank = text.find('\n', place + 40) + 1;
  near[blank] = '\n';
  EXPECT_EQ(held(near, "near.txt"), near.substr(blank + 1));
  near[line - 2] = '\n';
  EXPECT_EQ(held(near, "before.txt"), near.substr(line));
}

TEST(Encode, EmptyPartsAreUsageErrorsAndLeaveNothing) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  write_file(scratch.file("one.jsonl"), "{\"text\":\"a\"}");
  write_file(scratch.file("line.txt"), "only one line");
  write_file(scratch.file("empty.txt"), "");
  EncodeConfig config = config_for(scratch);
  expect_error(ExitCode::usage, {"no text"},
               [&] { encode_corpus({scratch.file("empty.txt")}, *tokenizer, config); });
  config.validation = scratch.file("valid.h5");
  expect_error(ExitCode::usage, {"data.validation_fraction", "0.05"},
               [&] { encode_corpus({scratch.file("one.jsonl")}, *tokenizer, config); });
  expect_error(ExitCode::usage, {"no line of", "line.txt"},
               [&] { encode_corpus({scratch.file("line.txt")}, *tokenizer, config); });
  expect_error(ExitCode::usage, {"stdin", "data.blank_lines"},
               [&] { encode_corpus({"-"}, *tokenizer, config); });
  EXPECT_EQ(scratch.entries(), 3);
}

TEST(Encode, OutputsAreCheckedFirst) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  write_file(scratch.file("in.txt"), "a\nb\n");
  EncodeConfig config = config_for(scratch);
  config.output = scratch.file("in.txt");
  expect_error(ExitCode::usage, {"output.path", "destroy"},
               [&] { encode_corpus({scratch.file("in.txt")}, *tokenizer, config); });
  config.output = config.validation = scratch.file("out.h5");
  expect_error(ExitCode::usage, {"output.validation", "already used"},
               [&] { encode_corpus({scratch.file("in.txt")}, *tokenizer, config); });
  config.validation = scratch.file("valid.h5");
  config.validation_fraction = 1;
  expect_error(ExitCode::usage, {"data.validation_fraction", "1"},
               [&] { encode_corpus({scratch.file("in.txt")}, *tokenizer, config); });
  config.validation.clear();
  config.threads = -1;
  expect_error(ExitCode::usage, {"run.threads", "-1"},
               [&] { encode_corpus({scratch.file("in.txt")}, *tokenizer, config); });
  EXPECT_EQ(bytes_of_file(scratch.file("in.txt")), "a\nb\n");
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(Encode, StoresAreReplacedOnlyWhereAskedFor) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  write_file(scratch.file("in.jsonl"), jsonl(100));
  write_file(scratch.file("out.h5"), "old");
  EncodeConfig config = config_for(scratch);
  config.replace = false;
  const auto encoded = [&] { encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config); };
  expect_error(ExitCode::usage,
               {"output.path is", "out.h5, which exists already", "--output.replace"}, encoded);
  std::swap(config.output, config.validation);
  config.output = scratch.file("new.h5");
  expect_error(ExitCode::usage, {"output.validation is", "out.h5, which exists already"}, encoded);
  config.output = "/dev/null";
  config.replace = true;
  expect_error(ExitCode::usage, {"output.path=/dev/null is a device"}, encoded);
  EXPECT_EQ(bytes_of_file(scratch.file("out.h5")), "old");
  EXPECT_EQ(scratch.entries(), 2);
  // One that comes to exist in the meantime stays as well.
  config.output = scratch.file("late.h5");
  config.validation.clear();
  config.replace = false;
  expect_error(ExitCode::failure, {"late.h5 has come to exist"}, [&] {
    encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config,
                  [&](const CorpusProgress&) { write_file(config.output, "mine"); });
  });
  EXPECT_EQ(bytes_of_file(config.output), "mine");
  EXPECT_EQ(scratch.entries(), 3);
}

TEST(Encode, ABadLineFarInLeavesTheOldStore) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  write_file(scratch.file("in.jsonl"), jsonl(10));
  const EncodeConfig config = config_for(scratch);
  encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config);
  const std::string before = bytes_of_file(config.output);
  write_file(scratch.file("in.jsonl"), jsonl(100000) + "bad\n");
  expect_error(ExitCode::usage, {"in.jsonl:100001"},
               [&] { encode_corpus({scratch.file("in.jsonl")}, *tokenizer, config); });
  EXPECT_EQ(bytes_of_file(config.output), before);
  EXPECT_EQ(scratch.entries(), 2);
}

TEST(Encode, ProgressRisesToTheEnd) {
  const Scratch scratch;
  write_file(scratch.file("in.jsonl"), jsonl(100000));
  CorpusProgress last;
  encode_corpus({scratch.file("in.jsonl")}, *text::byte_tokenizer(), config_for(scratch),
                [&](const CorpusProgress& now) {
                  EXPECT_GE(now.bytes_read, last.bytes_read);
                  EXPECT_GT(now.documents, last.documents);
                  last = now;
                });
  EXPECT_EQ(last.documents, 100000);
  EXPECT_EQ(last.bytes_read, last.bytes_total);
  EXPECT_GT(last.tokens, 0);
}

TEST(Learn, DoesNotDependOnTheThreads) {
  const Scratch scratch;
  write_file(scratch.file("in.jsonl"), jsonl(60000));
  LearnConfig config;
  config.trainer.vocab_size = 320;
  config.threads = 1;
  const LearntTokenizer one = learn_tokenizer({scratch.file("in.jsonl")}, config);
  config.threads = 4;
  const LearntTokenizer four = learn_tokenizer({scratch.file("in.jsonl")}, config);
  EXPECT_EQ(one.tokenizer->to_json(), four.tokenizer->to_json());
  EXPECT_EQ(one.tokenizer->vocab_size(), 320);
  EXPECT_EQ(four.documents, 60000);
  EXPECT_EQ(four.words, one.words);
}

TEST(Learn, IsSavedAndLoaded) {
  const Scratch scratch;
  const auto tokenizer = small_tokenizer(scratch);
  save_tokenizer(*text::byte_tokenizer(), scratch.file("t.json"));
  save_tokenizer(*tokenizer, scratch.file("t.json"));
  EXPECT_EQ(text::load_tokenizer(scratch.file("t.json"))->to_json(), tokenizer->to_json());
  EXPECT_EQ(scratch.entries(), 2);
  expect_error(ExitCode::failure, {"no/t.json"},
               [&] { save_tokenizer(*tokenizer, scratch.file("no/t.json")); });
}

TEST(Learn, ChecksSettingsBeforeReading) {
  LearnConfig config;
  config.trainer.vocab_size = 100;
  expect_error(ExitCode::usage, {"100", "257"}, [&] { learn_tokenizer({"-"}, config); });
}

TEST(Progress, LinesSayWhatIsKnown) {
  EXPECT_EQ(progress_line({400'000'000, 1'600'000'000, 10411, 101'200'000, 5}),
            "400.0 MB of 1.6 GB (25%), 80.0 MB/s, 10411 documents, 101.2M tokens, 15 s left");
  EXPECT_EQ(progress_line({999, -1, 1, 0, 0}), "999 B, 0.0 MB/s, 1 documents");
  EXPECT_EQ(progress_line({0, -1, 300, 0, 2, "pictures", 1200}),
            "300 of 1200 (25%) pictures, 150 a second, 6 s left");
  EXPECT_EQ(progress_line({0, -1, 300, 0, 2, "pictures"}), "300 pictures, 150 a second");
  EXPECT_EQ(readable_bytes(999'999), "1.0 MB");
  EXPECT_EQ(readable_bytes(1536), "1.5 kB");
}

}  // namespace
}  // namespace skein::data
