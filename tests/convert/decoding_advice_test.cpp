// What generation_config.json asks of decoding, as options of skein generate.
#include "skein/convert/decoding_advice.h"

#include <gtest/gtest.h>

#include "convert/edited_golden.h"

namespace skein::convert {
namespace {

std::string told(const std::string& golden, const std::string& asked) {
  const std::string config = test::bytes_of_file(test::golden(golden) + "/config.json");
  const DecodingAdvice advice =
      decoding_advice(asked, "here", model_from_huggingface(config, "here", {}));
  return fmt::format("{} | {}", fmt::join(advice.options, " "), fmt::join(advice.others, " "));
}
std::string of_mapper(const std::string& asked) { return told("bart", asked); }
std::string of_decoder(const std::string& asked) { return told("gpt2", asked); }

TEST(DecodingAdvice, IsSilentWhereNothingIsAsked) {
  EXPECT_EQ(of_mapper("{}"), " | ");
  EXPECT_EQ(
      of_mapper(R"({"num_beams": 1, "length_penalty": 1.0, "do_sample": null, "max_length": null,
      "repetition_penalty": 1.0, "early_stopping": false, "no_repeat_ngram_size": 0, "min_length": 0,
      "decoder_start_token_id": 2, "bad_words_ids": null, "top_k": 50})"),
      " | ");
}

// The file of a model that summarises.
TEST(DecodingAdvice, OfBeamsIsAllThatTheirAuthorsSay) {
  EXPECT_EQ(of_mapper(R"({"num_beams": 4, "length_penalty": 2.0, "early_stopping": true,
      "max_length": 142, "min_length": 56, "no_repeat_ngram_size": 3, "forced_bos_token_id": 0,
      "forced_eos_token_id": 2, "num_return_sequences": 2})"),
            "--beam.size=4 --beam.length_penalty=2.0 --beam.early_stop=true --beam.best=2 "
            "--generate.max_tokens=141 --beam.min_tokens=55 --beam.first_token=0 "
            "--beam.last_token=2 --beam.no_repeat_ngram=3 | ");
  EXPECT_EQ(of_mapper(R"({"num_beams": 2, "early_stopping": "never"})"),
            "--beam.size=2 --beam.early_stop=never | ");
}

TEST(DecodingAdvice, SearchesWithOneBeamWhereGreedyDecodingIsBound) {
  EXPECT_EQ(of_mapper(R"({"min_new_tokens": 3, "forced_eos_token_id": [2]})"),
            "--beam.size=1 --beam.min_tokens=3 --beam.last_token=2 | ");
  EXPECT_EQ(of_mapper(R"({"num_return_sequences": 3})"), " | num_return_sequences=3")
      << "one beam has one answer";
}

TEST(DecodingAdvice, OfDrawsLeavesWhatOnlyBeamsDo) {
  EXPECT_EQ(of_decoder(R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "num_beams": 3,
      "no_repeat_ngram_size": 2, "num_return_sequences": 5, "max_new_tokens": 20})"),
            "--generate.answers=5 --sample.temperature=0.6 --sample.top_p=0.9 --sample.top_k=50 "
            "--generate.max_tokens=20 | num_beams=3 no_repeat_ngram_size=2");
}

// transformers draws from the 50 likeliest where nothing is said.
TEST(DecodingAdvice, OfDrawsSaysFromHowManyTokens) {
  EXPECT_EQ(of_decoder(R"({"do_sample": true, "temperature": 0.7, "top_k": null})"),
            "--sample.temperature=0.7 --sample.top_k=50 | ");
  EXPECT_EQ(of_decoder(R"({"do_sample": true, "top_k": 0})"), "--sample.top_k=0 | ");
}

TEST(DecodingAdvice, TakesTheLikeliestTokenWhereDrawsAreRuledOut) {
  EXPECT_EQ(of_decoder(R"({"do_sample": false})"), "--sample.temperature=0 | ");
  EXPECT_EQ(of_decoder(R"({"do_sample": false, "num_beams": 2})"), "--beam.size=2 | ");
}

TEST(DecodingAdvice, OfADecoderDoesNotCountAPromptThatIsNotThere) {
  EXPECT_EQ(of_decoder(R"({"max_length": 9, "min_length": 5, "num_beams": 2})"),
            "--beam.size=2 | max_length=9 min_length=5");
  EXPECT_EQ(of_decoder(R"({"max_length": 4096})"), " | ") << "the context ends before";
  EXPECT_EQ(of_decoder(R"({"max_length": 9, "max_new_tokens": 7})"), "--generate.max_tokens=7 | ");
}

TEST(DecodingAdvice, BansSingleTokensOfTheVocabulary) {
  EXPECT_EQ(of_mapper(R"({"bad_words_ids": [[3], [4]], "suppress_tokens": [7]})"),
            "--sample.banned=3,4,7 | ");
  EXPECT_EQ(of_mapper(R"({"bad_words_ids": [[3, 4]], "suppress_tokens": [100000]})"),
            " | bad_words_ids=[[3,4]] suppress_tokens=[100000]");
  EXPECT_EQ(of_mapper(R"({"forced_bos_token_id": [1, 2], "forced_eos_token_id": -4})"),
            " | forced_bos_token_id=[1,2] forced_eos_token_id=-4");
}

TEST(DecodingAdvice, NamesWhatNoOptionDoes) {
  EXPECT_EQ(of_mapper(R"({"repetition_penalty": 1.3, "num_beam_groups": 2, "diversity_penalty": 0.5,
      "guidance_scale": 2, "begin_suppress_tokens": [4], "min_p": 0.1})"),
            " | repetition_penalty=1.3 diversity_penalty=0.5 num_beam_groups=2 min_p=0.1 "
            "guidance_scale=2 begin_suppress_tokens=[4]");
}

TEST(DecodingAdvice, OfNoJsonIsRefused) {
  test::expect_error(ExitCode::usage, {"here", "not JSON"}, [] { of_mapper("{"); });
}

}  // namespace
}  // namespace skein::convert
