// Heads of labels learn what can be learnt, to the same bits at every layout, and go on where they
// were.
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"

#include "train/train_fixture.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;

// Small problems in files of `folder`, whose words a tokenizer of whole words knows.
class Problem {
 public:
  explicit Problem(const Workspace& folder) : folder_(folder) {
    std::ofstream vocabulary(folder.at("vocab.txt"));
    for (const char* word : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e",
                             "##s", "good", "bad", "anna", "rome"})
      vocabulary << word << '\n';
  }

  std::unique_ptr<Tokenizer> tokenizer() const { return load_tokenizer(folder_.at("vocab.txt")); }

  // The label says which of two words is in the text, in the second one of pairs.
  std::string classes(bool pairs) {
    return write("classes.tsv", [&] {
      const bool good = random_() % 2;
      return filler({good ? "good" : "bad"}) +
             (pairs ? "\t" + filler({good ? "bad" : "good"}) : "") + "\t" + (good ? "yes" : "no") +
             "\n";
    });
  }
  // Which of the two is more often there, and by how much: far from 0, and of another spread
  // than 1.
  std::string numbers() {
    return write("numbers.tsv", [&] {
      Words words;
      int sum = 0;
      for (int i = 0; i < 2; ++i) {
        const bool good = random_() % 2;
        words.push_back(good ? "good" : "bad");
        sum += good ? 1 : -1;
      }
      return fmt::format("{}\t{}\n", filler(words), 100 + 7 * sum);
    });
  }
  std::string tags() {
    return write("tags.conll", [&] {
      std::string text;
      for (size_t i = 0, words = 1 + random_() % 6; i < words; ++i) {
        const char* const known[] = {"anna B-PER", "rome B-LOC", "as O", "b O", "cs O", "good O"};
        text += std::string(known[random_() % 6]) + "\n";
      }
      return text + "\n";
    });
  }

 private:
  std::string filler(Words words) {
    for (size_t i = 0, more = 1 + random_() % 4; i < more; ++i)
      words.insert(words.begin() + static_cast<int64_t>(random_() % (words.size() + 1)),
                   std::string(1, static_cast<char>('a' + random_() % 5)));
    return fmt::format("{}", fmt::join(words, " "));
  }
  template <class Make>
  std::string write(const char* name, const Make& make) {
    std::ofstream file(folder_.at(name));
    for (int i = 0; i < 64; ++i) file << make();
    return folder_.at(name);
  }

  const Workspace& folder_;
  std::mt19937 random_{5};
};

FinetuneConfig small_task(const std::string& file, LabelKind kind, bool encoder) {
  FinetuneConfig c = finetune_defaults();
  ModelConfig& model = c.run.model;
  model.architecture = encoder ? &bert_architecture() : &gpt_architecture();
  if (encoder) {
    model.norm_placement = NormPlacement::post;
    model.embedding_norm = true;
    model.activation = MlpKind::gelu_erf;
    model.token_types = 2;
  }
  model.vocab_size = 15;
  model.context = 24;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  c.task.kind = kind;
  c.task.columns.text = "1";
  c.task.columns.label = "2";
  c.task.separator = " e ";
  c.run.data.train = c.run.data.validation = {file};
  c.run.train.steps = 80;
  c.run.lr.lr = 3e-3;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir.clear();
  return c;
}

class LabelTasks : public testing::Test {
 protected:
  struct Ended {
    Finished finished;
    Scores validation;
    int64_t step = 0;
  };

  Ended run(FinetuneConfig c, int ranks = 1, const std::string& name = "") {
    c.run.run.dir = name.empty() ? "" : folder_.at(name);
    Ended ended;
    run_ranks(ranks, [&](Group& world) {
      FinetuneConfig own = c;
      const auto task = label_task(own, problem_.tokenizer());
      const TrainResult result = skein::train(own.run, *task, world);
      if (world.rank() == 0)
        ended = {{result.losses, result.grad_norms, {}, {}}, result.validation, result.step};
    });
    if (!name.empty()) ended.finished.state = state_of(folder_.at(name));
    return ended;
  }
  static double value(const Scores& scores, const std::string& name) {
    for (const auto& [key, found] : scores.values)
      if (key == "validation_" + name) return found;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  std::string error_of(const FinetuneConfig& c, const std::string& name = "") {
    try {
      run(c, 1, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      return error.what();
    }
    return "no error";
  }

  Workspace folder_;
  Problem problem_{folder_};
};

TEST_F(LabelTasks, ClassesOfTextsAndPairsAreLearnt) {
  for (bool encoder : {true, false})
    for (bool pairs : {false, true}) {
      FinetuneConfig c = small_task(problem_.classes(pairs), LabelKind::classify, encoder);
      if (pairs) c.task.columns.pair = "2", c.task.columns.label = "3";
      const Scores scores = run(c).validation;
      EXPECT_EQ(value(scores, "accuracy"), 1) << encoder << pairs << scores.text;
      EXPECT_EQ(scores.quality, 1);
      EXPECT_NE(scores.text.find("64 examples"), std::string::npos) << scores.text;
    }
}

TEST_F(LabelTasks, NumbersAreLearntInTheirUnits) {
  for (bool encoder : {true, false}) {
    FinetuneConfig c = small_task(problem_.numbers(), LabelKind::regress, encoder);
    c.run.model.dropout = 0;
    c.task.metric = LabelMetric::mse;
    const Scores scores = run(c).validation;
    EXPECT_GT(value(scores, "pearson"), 0.95) << scores.text;
    EXPECT_LT(value(scores, "mse"), 0.1 * value(scores, "mse_of_mean")) << scores.text;
    EXPECT_NEAR(value(scores, "mse_of_mean"), 98, 40) << scores.text;
    EXPECT_EQ(scores.quality, -value(scores, "mse"));
  }
}

TEST_F(LabelTasks, TagsAreLearntAlsoInWindows) {
  for (bool encoder : {true, false})
    for (int64_t length : {0, 5}) {
      FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, encoder);
      c.task.length = length;
      const Scores scores = run(c).validation;
      EXPECT_EQ(value(scores, "f1"), 1) << encoder << length << scores.text;
      EXPECT_NE(scores.text.find("64 sentences"), std::string::npos) << scores.text;
    }
}

TEST_F(LabelTasks, GiveEqualBitsAtEveryLayout) {
  struct Case {
    LabelKind kind;
    bool encoder;
    DType precision;
    int64_t frozen;
    Pool pool = Pool::first;
  };
  for (const Case& each :
       {Case{LabelKind::classify, true, DType::f32, -1},
        Case{LabelKind::regress, true, DType::f32, -1, Pool::mean},
        Case{LabelKind::tag, false, DType::f32, -1}, Case{LabelKind::tag, true, DType::bf16, 0},
        Case{LabelKind::regress, false, DType::bf16, 1}}) {
    const std::string file = each.kind == LabelKind::tag       ? problem_.tags()
                             : each.kind == LabelKind::regress ? problem_.numbers()
                                                               : problem_.classes(false);
    FinetuneConfig c = small_task(file, each.kind, each.encoder);
    c.run.train.steps = 6;
    c.run.train.precision = each.precision;
    c.run.train.frozen_layers = each.frozen;
    bert_options(c.run.model).pool = each.pool;
    c.run.parallel.reduction_groups = 4;
    const std::string name = fmt::format("case{}{}", static_cast<int>(each.kind), each.encoder);
    const Ended expected = run(c, 1, name);
    for (const auto& [data, pipeline, zero] :
         {std::tuple{2, 1, false}, {4, 1, true}, {1, 2, false}, {2, 2, true}, {4, 2, false}}) {
      c.run.parallel.pipeline = pipeline;
      c.run.parallel.zero = zero;
      c.run.train.micro_batch = data == 2 ? 2 : 1;
      const std::string other = fmt::format("{}_{}{}{}", name, data, pipeline, zero);
      const Ended found = run(c, data * pipeline, other);
      EXPECT_EQ(found.finished.losses, expected.finished.losses) << other;
      EXPECT_EQ(found.finished.grad_norms, expected.finished.grad_norms) << other;
      EXPECT_EQ(first_difference(found.finished.state, expected.finished.state), "") << other;
      EXPECT_EQ(found.validation.values, expected.validation.values) << other;
    }
  }
}

TEST_F(LabelTasks, TensorParallelRanksAgree) {
  for (bool sequence : {false, true}) {
    FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, true);
    c.run.train.steps = 6;
    c.run.model.dropout = 0;
    const Ended expected = run(c);
    c.run.parallel.tensor = 2;
    c.run.parallel.sequence = sequence;
    const Ended found = run(c, 2);
    ASSERT_EQ(found.finished.losses.size(), 6u);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4) << sequence;
    EXPECT_NEAR(value(found.validation, "loss"), value(expected.validation, "loss"), 1e-4);
  }
}

// The validation that the run was stopped after counts once, and the best weights are those of the
// best step.
TEST_F(LabelTasks, GoOnWithEqualBitsAndWithWhatPatienceIsLeft) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 60;
  c.run.lr.decay = LrConfig::Decay::constant;
  c.run.validation.every = 4;
  c.run.validation.patience = 3;
  c.run.checkpoint.every = 4;
  c.run.checkpoint.keep = 100;
  const Ended expected = run(c, 1, "expected");
  ASSERT_LT(expected.step, 60) << "patience did not end it";
  const int64_t kept = expected.step - 4;
  std::filesystem::copy(folder_.at("expected"), folder_.at("run"),
                        std::filesystem::copy_options::recursive);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.at("run") + "/checkpoints"))
    if (entry.path().filename().string().starts_with(fmt::format("step-{:08}", expected.step)))
      std::filesystem::remove_all(entry.path());
  c.run.parallel.pipeline = 2;
  const Ended found = run(c, 2, "run");
  EXPECT_EQ(found.step, expected.step);
  EXPECT_EQ(found.finished.losses, std::vector<double>(expected.finished.losses.begin() + kept,
                                                       expected.finished.losses.end()));
  EXPECT_EQ(first_difference(found.finished.state, expected.finished.state), "");
  EXPECT_EQ(first_difference(state_of(folder_.at("run") + "/best"),
                             state_of(folder_.at("expected") + "/best")),
            "");
}

TEST_F(LabelTasks, BeginWithAnotherModelsWeightsAndANewHead) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 4;
  const State before = run(c, 1, "classes").finished.state;
  FinetuneConfig next = small_task(problem_.tags(), LabelKind::tag, true);
  bert_options(next.run.model).pool =
      Pool::mean;  // of a model of whole texts; tags have no use for it
  next.run.train.steps = 1;
  next.run.lr.lr = 1e-30;
  next.run.optimizer.weight_decay = 0;
  next.run.checkpoint.load = folder_.at("classes");
  testing::internal::CaptureStderr();
  const State after = run(next, 1, "tags").finished.state;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("begin anew: classifier.bias, classifier.weight"), std::string::npos) << said;
  EXPECT_EQ(after.at("param/block.1.mlp.up.weight"), before.at("param/block.1.mlp.up.weight"));
  EXPECT_FALSE(after.contains("param/pooler.weight"));
  EXPECT_EQ(after.at("param/classifier.weight").size(), size_t{3 * 32 * 4});
  // The same labels keep their head, and the pooler comes back anew where it was left out.
  next = small_task(problem_.classes(false), LabelKind::classify, true);
  next.run.train.steps = 1;
  next.run.lr.lr = 1e-30;
  next.run.optimizer.weight_decay = 0;
  next.run.checkpoint.load = folder_.at("classes");
  const State again = run(next, 1, "again").finished.state;
  EXPECT_EQ(again.at("param/classifier.weight"), before.at("param/classifier.weight"));
  EXPECT_EQ(again.at("param/pooler.weight"), before.at("param/pooler.weight"));
  next.run.checkpoint.load = folder_.at("tags");
  testing::internal::CaptureStderr();
  run(next, 1, "back");
  const std::string back = testing::internal::GetCapturedStderr();
  EXPECT_NE(back.find("begin anew: classifier.bias, classifier.weight, pooler.bias, pooler.weight"),
            std::string::npos)
      << back;
  next.run.model.d_model = 64;
  EXPECT_NE(error_of(next, "wide").find("of another shape"), std::string::npos);
}

// Of a tensor of f32 in a checkpoint.
double deviation_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Pretraining with pairs leaves a pooler, which is kept; without them fine-tuning adds one by its
// width.
TEST_F(LabelTasks, KeepAPretrainedPoolerAndBeginANewOneByItsWidth) {
  test::write_sentence_store(folder_.at("store.h5"));
  for (const bool pretrained : {true, false}) {
    const std::string from = pretrained ? "with" : "without", to = from + "_tuned";
    PretrainConfig first = encoder_config(folder_.at("store.h5"));
    first.data.validation.clear();
    first.model.vocab_size = 64;
    bert_options(first.model).pooler = pretrained;
    if (!pretrained) first.mlm.pairs = PairTask::none;
    first.train.steps = 2;
    first.run.dir = folder_.at(from);
    pretrain(first, *single_rank());
    const State before = state_of(folder_.at(from));
    FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
    c.run.model = first.model;
    c.run.train.steps = 1;
    c.run.lr.lr = 1e-30;
    c.run.optimizer.weight_decay = 0;
    c.run.checkpoint.load = folder_.at(from);
    const auto after = run(c, 1, to).finished.state.at("param/pooler.weight");
    if (pretrained)
      EXPECT_EQ(after, before.at("param/pooler.weight"));
    else
      EXPECT_NEAR(deviation_of(after), 1 / std::sqrt(32.0), 0.02);
  }
}

TEST_F(LabelTasks, RunsOfOtherLabelsAreRefusedAndOtherExamplesTooUnlessAskedFor) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 2;
  run(c, 1, "run");
  c.run.train.steps = 3;
  std::ofstream(folder_.at("classes.tsv"), std::ios::app) << "good a\tyes\n";
  EXPECT_NE(error_of(c, "run").find("checkpoint.other_data=true"), std::string::npos);
  c.run.checkpoint.other_data = true;
  testing::internal::CaptureStderr();
  run(c, 1, "run");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("training samples are not those"), std::string::npos) << said;
  c.task.labels = {"yes", "no"};
  EXPECT_NE(error_of(c, "run").find("2 labels, but here are task.kind=classify and 2 others"),
            std::string::npos);
}

TEST_F(LabelTasks, RefuseWhatDoesNotFit) {
  const FinetuneConfig good = small_task(problem_.classes(false), LabelKind::classify, true);
  FinetuneConfig c = good;
  c.run.data.train.clear();
  EXPECT_NE(error_of(c).find("data.train names no file"), std::string::npos);
  c = good;
  c.task.length = 25;
  EXPECT_NE(error_of(c).find("task.length=25 must be from 1 to model.context=24"),
            std::string::npos);
  c = good;
  c.task.length = 3;
  EXPECT_NE(error_of(c).find("task.length=3 leaves no room"), std::string::npos);
  c = good;
  c.task.metric = LabelMetric::spearman;
  EXPECT_NE(error_of(c).find("use one of accuracy, macro_f1, matthews"), std::string::npos);
  c = good;
  c.task.labels = {"yes", "perhaps"};
  EXPECT_NE(error_of(c).find("the label \"no\" is none of the 2 known ones"), std::string::npos)
      << error_of(c);
  c = good;
  c.task.labels = {"yes"};
  c.task.kind = LabelKind::regress;
  EXPECT_NE(error_of(c).find("task.labels are for classes"), std::string::npos);
  c = good;
  c.task.kind = LabelKind::regress;
  EXPECT_NE(error_of(c).find("is no number"), std::string::npos);
  c = good;
  std::ofstream(folder_.at("one.tsv")) << "good\tyes\nbad\tyes\n";
  c.run.data.train = {folder_.at("one.tsv")};
  EXPECT_NE(error_of(c).find("all labels of data.train are \"yes\""), std::string::npos)
      << error_of(c);
  c.task.kind = LabelKind::regress;
  std::ofstream(folder_.at("one.tsv")) << "good\t1e300\nbad\t-1e300\n";
  EXPECT_NE(error_of(c).find("the numbers of data.train are too large"), std::string::npos)
      << error_of(c);
  std::ofstream(folder_.at("one.tsv")) << "good\t1\nbad\t2\n";
  std::ofstream(folder_.at("two.tsv")) << "good\t1\nbad\t1e300\n";
  c.run.data.validation = {folder_.at("two.tsv")};
  EXPECT_NE(error_of(c).find("two.tsv:2: the number 1e+300 is too far from those that the model "
                             "learns, of mean 1.5 and deviation 0.5"),
            std::string::npos)
      << error_of(c);
  c = good;
  c.run.model.vocab_size = 10;
  EXPECT_NE(error_of(c).find("the model knows 10 ids, but its tokenizer has 15"), std::string::npos)
      << error_of(c);
}

TEST(LabelHeads, KeepAllInTheirNotes) {
  LabelHead head{LabelKind::regress,  LabelMetric::pearson, {}, 3.25, 0.1, 77, "\t|", true,
                 {{"task.text", "s"}}};
  const TaskNotes notes = to_notes(head, 4'000'000'000u);
  const auto back = label_head(notes, "here");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(to_notes(*back, checksum_in(notes)).text(), notes.text());
  EXPECT_EQ(label_head({}, "here"), nullptr);
  EXPECT_EQ(label_head(TaskNotes("{\"other\":1}"), "here"), nullptr);
  for (const char* damaged : {"{\"task\":\"labels\"}", "[1]", "{"}) try {
      label_head(TaskNotes(damaged), "here");
      ADD_FAILURE() << damaged;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the notes of here on its labels cannot be read"),
                std::string::npos)
          << error.what();
    }
}

}  // namespace
}  // namespace skein
