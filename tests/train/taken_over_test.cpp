// What an evaluation takes over from the training of its model.
#include "skein/train/taken_over.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

namespace skein::train {
namespace {

// The options of an evaluation on text.
struct Asked {
  bool attention = false, ends = true;
  int64_t stride = 0;
  Options options{"skein eval", "Measures."};

  Asked() {
    options.add("data.cross_document_attention", attention, "attention may cross document ends");
    options.add("data.mask_document_ends", ends, "the first token of a document does not count");
    options.add("eval.stride", stride, "tokens a window scores", "tokens");
  }
};

TrainedModel trained(const Architecture* architecture,
                     const std::map<std::string, std::string>& config) {
  TrainedModel made;
  made.info.path = "runs/a";
  made.model.architecture = architecture;
  made.state.config = config;
  return made;
}

const std::map<std::string, std::string> kTrained = {{"data.cross_document_attention", "true"},
                                                     {"data.mask_document_ends", "false"},
                                                     {"validation.stride", "4"},
                                                     {"mlm.rate", "0.25"},
                                                     {"mlm.static", "true"}};

std::string said_by(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

TEST(TakenOver, OptionsOfADecoderThatWereNotGivenAreThoseOfItsTraining) {
  Asked asked;
  asked.options.set("eval.stride", "8", "the command line");
  const std::string said =
      said_by([&] { take_over_text(asked.options, trained(&gpt_architecture(), kTrained)); });
  EXPECT_TRUE(asked.attention);
  EXPECT_FALSE(asked.ends);
  EXPECT_EQ(asked.stride, 8);
  EXPECT_NE(said.find("as runs/a was trained: data.cross_document_attention=true, "
                      "data.mask_document_ends=false"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("eval.stride=8 is given; runs/a was trained with eval.stride=4"),
            std::string::npos)
      << said;
}

TEST(TakenOver, WhatAnImportDoesNotKnowStaysAsItIs) {
  Asked asked;
  EXPECT_EQ(said_by([&] { take_over_text(asked.options, trained(&gpt_architecture(), {})); }), "");
  EXPECT_FALSE(asked.attention);
  EXPECT_TRUE(asked.ends);
  EXPECT_EQ(asked.stride, 0);
}

TEST(TakenOver, AnEncoderHidesTokensAsInItsTraining) {
  Asked asked;
  const std::string said =
      said_by([&] { take_over_text(asked.options, trained(&bert_architecture(), kTrained)); });
  EXPECT_TRUE(asked.attention);
  EXPECT_TRUE(asked.ends) << "of decoders";
  EXPECT_EQ(asked.stride, 0) << "of decoders";
  EXPECT_NE(said.find("tokens are hidden as in runs/a: mlm.rate=0.25\n"), std::string::npos)
      << said;
}

TEST(TakenOver, AnEncoderIsNotAskedForTheEndsOfDocuments) {
  Asked asked;
  asked.options.set("data.mask_document_ends", "true", "the command line");
  try {
    take_over_text(asked.options, trained(&bert_architecture(), kTrained));
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("data.mask_document_ends is for decoders"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace skein::train
