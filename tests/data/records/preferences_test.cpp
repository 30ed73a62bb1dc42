#include "skein/data/records/preferences.h"

#include <algorithm>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

Preferences preferences_in(const std::string& bytes, PreferencesConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file("x.jsonl"), bytes);
  config.files = {scratch.file("x.jsonl")};
  return read_preferences(config);
}

// "role: text / role: text => answer [value, grade] | answer [value, grade]"
std::string told(const PreferenceRecord& record) {
  std::string text;
  for (const text::Message& turn : record.prompt)
    text += (text.empty() ? "" : " / ") + turn.role + ": " + turn.content;
  for (size_t k = 0; k < record.answers.size(); ++k)
    text += fmt::format("{}{} [{}, {}]", k == 0 ? " => " : " | ", record.answers[k],
                        record.values[k], record.grades[k]);
  return text;
}

std::string only(const std::string& line, PreferenceKind kind = PreferenceKind::ranked,
                 const PreferencesConfig& config = {}) {
  const Preferences read_records = preferences_in(line + "\n", config);
  EXPECT_EQ(read_records.records.size(), 1u) << line;
  EXPECT_EQ(read_records.records.at(0).kind, kind) << line;
  return told(read_records.records.at(0));
}

void refuse_preferences(const std::string& bytes, std::initializer_list<std::string> words,
                        const PreferencesConfig& config = {}) {
  SCOPED_TRACE(bytes.substr(0, 100));
  expect_error(ExitCode::usage, words, [&] { preferences_in(bytes, config); });
}

TEST(Preferences, PairsOfTextsAndOfMessages) {
  EXPECT_EQ(only(R"({"prompt":"q","chosen":" yes","rejected":"no","id":7})"),
            "user: q =>  yes [1, 0] | no [0, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","chosen":"yes","rejected":"no","margin":0.5})"),
            "user: q => yes [1, 0.5] | no [0, 0]");
  EXPECT_EQ(
      only(
          R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"chosen":[{"role":"assistant","content":"yes"}],"rejected":[{"role":"assistant","content":"no"}]})"),
      "system: s / user: q => yes [1, 0] | no [0, 0]");
  EXPECT_EQ(
      only(
          R"({"prompt":"q","prompt_id":"1","chosen":[{"role":"user","content":"q"},{"role":"assistant","content":"yes"}],"rejected":[{"role":"user","content":"q"},{"role":"assistant","content":"no"}],"score_chosen":8.5,"score_rejected":4})"),
      "user: q => yes [1, 8.5] | no [0, 4]");
}

TEST(Preferences, DialoguesShareAllTurnsButTheLast) {
  const auto line = [](const std::string& chosen, const std::string& rejected) {
    return R"({"chosen":"\n\nHuman: hi\n\nAssistant: )" + chosen +
           R"(","rejected":"\n\nHuman: hi\n\nAssistant: )" + rejected + "\"}";
  };
  EXPECT_EQ(only(line("yes ", "no")), "user: hi => yes [1, 0] | no [0, 0]");
  EXPECT_EQ(only(line(R"(a\n\nHuman: b\n\nAssistant: c\n\nd)", R"(a\n\nHuman: b\n\nAssistant: e)")),
            "user: hi / assistant: a / user: b => c\n\nd [1, 0] | e [0, 0]");
  const std::string diverging = line(R"(a\n\nHuman: b\n\nAssistant: c)",
                                     R"(x\n\nHuman: b\n\nAssistant: e)"),
                    shorter = line("a", R"(x\n\nHuman: b\n\nAssistant: e)"),
                    asked = line(R"(a\n\nHuman: b\n\nAssistant: c)",
                                 R"(a\n\nHuman: z\n\nAssistant: e)"),
                    beginning = line(R"(a\n\nHuman: b\n\nAssistant: c)", "a");
  const std::string all = diverging + "\n" + shorter + "\n" + asked + "\n" + line("yes", "no") +
                          "\n" + beginning + "\n";
  const Preferences dropped = preferences_in(all),
                    kept = preferences_in(all, {.diverging = DivergingDialogues::keep});
  EXPECT_EQ(dropped.diverging, 4);
  EXPECT_EQ(dropped.records.size(), 1u);
  EXPECT_EQ(kept.diverging, 4);
  ASSERT_EQ(kept.records.size(), 3u)
      << "turns of the user are nothing to compare, nor is the beginning of a dialogue with all";
  EXPECT_EQ(told(kept.records[0]), "user: hi => a [1, 0] | x [0, 0]");
  EXPECT_EQ(told(kept.records[1]), "user: hi => a [1, 0] | x [0, 0]");
  EXPECT_TRUE(kept.records[0].dialogue);
  EXPECT_EQ(kept.records[2].line, 4);
}

TEST(Preferences, OtherLayouts) {
  EXPECT_EQ(
      only(
          R"({"info":{"id":"t3","post":"p","title":"t","subreddit":"s"},"summaries":[{"text":" a","policy":"x"},{"text":" b"}],"choice":1})"),
      "user: SUBREDDIT: r/s\n\nTITLE: t\n\nPOST: p\n\nTL;DR: =>  a [0, 0] |  b [1, 0]");
  EXPECT_EQ(only(R"({"query":"q","sample0":"a","sample1":"b","sample2":"c","best":2})",
                 PreferenceKind::best),
            "user: q => a [0, 0] | b [0, 0] | c [1, 0]");
  EXPECT_EQ(only(R"({"history":"q","human_ref_A":"a","human_ref_B":"b","labels":0,"score_A":2})"),
            "user: q => a [0, 0] | b [1, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","answers":["a","b","c"],"ranks":[2,1,2],"scores":[1,5,1]})"),
            "user: q => a [-2, 1] | b [-1, 5] | c [-2, 1]");
  EXPECT_EQ(
      only(
          R"({"instruction":"q","completions":[{"response":"a","overall_score":7.5,"model":"m"},{"response":"b","overall_score":2}]})"),
      "user: q => a [7.5, 7.5] | b [2, 2]");
  EXPECT_EQ(only(R"({"prompt":"q","response":"a","score":0.25})", PreferenceKind::scored),
            "user: q => a [0.25, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","answers":["a","a"],"scores":[1,2]})", PreferenceKind::scored),
            "user: q => a [1, 0] | a [2, 0]");
}

// The token that ends them is what they are.
TEST(Preferences, AnswersMayBeEmpty) {
  EXPECT_EQ(only(R"({"prompt":"q","chosen":"a","rejected":""})"), "user: q => a [1, 0] |  [0, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","chosen":" \n","rejected":"b"})"),
            "user: q =>  \n [1, 0] | b [0, 0]");
  EXPECT_EQ(
      only(
          R"({"prompt":"q","chosen":[{"role":"assistant","content":""}],"rejected":[{"role":"assistant","content":"no"}]})"),
      "user: q =>  [1, 0] | no [0, 0]");
  EXPECT_EQ(
      only(R"({"chosen":"\n\nHuman: a\n\nAssistant:","rejected":"\n\nHuman: a\n\nAssistant: b"})"),
      "user: a =>  [1, 0] | b [0, 0]");
  EXPECT_EQ(only(R"({"info":{"post":"p"},"summaries":[{"text":""},{"text":"b"}],"choice":1})"),
            "user: POST: p\n\nTL;DR: =>  [0, 0] | b [1, 0]");
  EXPECT_EQ(only(R"({"query":"q","sample0":"a","sample1":"","best":1})", PreferenceKind::best),
            "user: q => a [0, 0] |  [1, 0]");
  EXPECT_EQ(only(R"({"history":"q","human_ref_A":"","human_ref_B":"b","labels":0})"),
            "user: q =>  [0, 0] | b [1, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","answers":["","b"],"ranks":[2,1]})"),
            "user: q =>  [-2, 0] | b [-1, 0]");
  EXPECT_EQ(
      only(
          R"({"instruction":"q","completions":[{"response":"","overall_score":7.5},{"response":"b","overall_score":2}]})"),
      "user: q =>  [7.5, 7.5] | b [2, 2]");
  EXPECT_EQ(only(R"({"prompt":"q","response":"","score":0.25})", PreferenceKind::scored),
            "user: q =>  [0.25, 0]");
  EXPECT_EQ(only(R"({"prompt":"q","answers":["",""],"scores":[1,2]})", PreferenceKind::scored),
            "user: q =>  [1, 0] |  [2, 0]");
  const std::string silent =
      R"({"prompt":[{"role":"user","content":"u"},{"role":"assistant","content":""},{"role":"user","content":"v"}],"chosen":"a","rejected":"b"})";
  EXPECT_EQ(only(silent), "user: u / assistant:  / user: v => a [1, 0] | b [0, 0]");
}

TEST(Preferences, EmptyAnswersAreEqual) {
  refuse_preferences(
      R"({"prompt":"q","chosen":"","rejected":""})",
      {"x.jsonl:1", "one answer is said to be better than another", "both are \"\""});
  refuse_preferences(R"({"prompt":"q","chosen":"","rejected":" \n"})", {"both are \"\""});
  EXPECT_EQ(preferences_in(
                "{\"prompt\":\"q\",\"answers\":[\"\",\"\"],\"ranks\":[1,1]}\n{\"prompt\":\"q\","
                "\"answers\":[\"a\",\"\"],\"ranks\":[1,2]}")
                .tied,
            1);
  refuse_preferences(
      R"({"prompt":"q","chosen":[{"role":"user","content":""},{"role":"assistant","content":"a"}],"rejected":"b"})",
      {"chosen[0].content", "is empty"});
  refuse_preferences(R"({"prompt":"q","chosen":null,"rejected":"b"})",
                     {"\"chosen\" is a JSON null"});
}

TEST(Preferences, AnswersAloneHaveLabels) {
  const Preferences both = preferences_in(R"({"prompt":"q","completion":"a","label":true})"
                                          "\n"
                                          R"({"prompt":"q","completion":"b","label":0})"
                                          "\n");
  ASSERT_EQ(both.records.size(), 2u);
  EXPECT_TRUE(both.records[0].labelled && both.records[1].labelled);
  EXPECT_EQ(told(both.records[0]), "user: q => a [1, 0]");
  EXPECT_EQ(told(both.records[1]), "user: q => b [0, 0]");
  EXPECT_EQ(both.records[0].kind, PreferenceKind::scored);
  EXPECT_EQ(only(R"({"prompt":[{"role":"user","content":"q"}],"label":false,)"
                 R"("completion":[{"role":"assistant","content":"a"}]})",
                 PreferenceKind::scored),
            "user: q => a [0, 0]");
  EXPECT_FALSE(preferences_in(R"({"prompt":"q","completion":"a","score":1})"
                              "\n")
                   .records.at(0)
                   .labelled);
  const std::string good = R"({"prompt":"q","completion":"a","label":true})";
  refuse_preferences(good + "\n" + R"({"prompt":"q","completion":"a"})",
                     {"x.jsonl:2", "no field \"label\""});
  refuse_preferences(good + "\n" + R"({"prompt":"q","completion":"a","label":"yes"})",
                     {"x.jsonl:2", "\"label\" is a JSON string, not a number"});
  refuse_preferences(good + "\n" + R"({"prompt":"q","completion":"a","label":-1})",
                     {"\"label\" is -1, not a whole number from 0 to 1"});
  refuse_preferences(
      good + "\n" + R"({"prompt":"q","completion":[{"role":"user","content":"a"}],"label":true})",
      {"\"completion\" has 1 messages", "user"});
}

TEST(Preferences, FilesMayHaveDifferentLayoutsAndRecordsTies) {
  const Scratch scratch;
  write_file(scratch.file("a.jsonl"),
             "\xEF\xBB\xBF{\"prompt\":\"q\",\"answers\":[\"a\",\"b\"],\"ranks\":[1,1]}\r\n\r\n{"
             "\"prompt\":\"q\",\"answers\":[\"a\",\"b\"],\"ranks\":[1,2]}");
  write_file(scratch.file("b.jsonl"), R"({"prompt":"q","answer":"a","score":1})");
  const Preferences both =
      read_preferences({.files = {scratch.file("a.jsonl"), scratch.file("b.jsonl")}});
  ASSERT_EQ(both.records.size(), 2u);
  EXPECT_EQ(both.tied, 1);
  EXPECT_EQ(both.records[0].line, 3);
  EXPECT_EQ(both.records[1].file, 1);
}

TEST(Preferences, BadRecordsAreErrorsWithFileAndLine) {
  const std::string good = R"({"prompt":"q","chosen":"a","rejected":"b"})";
  refuse_preferences("", {"holds no record"});
  refuse_preferences(
      good + "\n{\"prompt\":\"q\",\"chosen\":\"a\"}",
      {"x.jsonl:2", "no field \"rejected\"", "chosen, prompt", "data.bad_records=N"});
  refuse_preferences(good + "\n{\"prompt\":null,\"chosen\":\"a\",\"rejected\":\"b\"}",
                     {"x.jsonl:2", "\"prompt\" is a JSON null; give a value"});
  refuse_preferences(good + "\n[1]", {"x.jsonl:2", "JSON array"});
  refuse_preferences(good + "\n{\"prompt\":", {"x.jsonl:2"});
  refuse_preferences(R"({"text":"q"})", {"x.jsonl:1", "no preference data", "text"},
                     {.bad_records = 9});
  refuse_preferences(R"({"prompt":"q","chosen":"a","rejected":"a"})", {"both are \"a\""});
  refuse_preferences(R"({"prompt":"","chosen":"a","rejected":"b"})", {"\"prompt\" is empty"});
  refuse_preferences(R"({"prompt":"q","chosen":3,"rejected":"b"})",
                     {"\"chosen\" is a JSON number, not a string"});
  refuse_preferences(R"({"prompt":"q","chosen":"a","rejected":"b","margin":1e40})",
                     {"\"margin\" is 1e+40"});
  refuse_preferences(
      R"({"prompt":"q","chosen":[{"role":"bot","content":"a"}],"rejected":[{"role":"assistant","content":"b"}]})",
      {"chosen[0].role", "\"bot\""});
  refuse_preferences(
      R"({"prompt":[{"role":"assistant","content":"q"}],"chosen":"a","rejected":"b"})",
      {"last turn of the prompt"});
  refuse_preferences(R"({"chosen":"a","rejected":"b"})",
                     {"\"chosen\" is no dialogue", "there is no \"prompt\""});
  refuse_preferences(
      R"({"chosen":"\n\nHuman: a\n\nAssistant: b\n\nHuman: c","rejected":"\n\nHuman: a\n\nAssistant: b"})",
      {"the last turn is the user's"});
  refuse_preferences(R"({"prompt":"q","answer":"a","score":null})",
                     {"\"score\" is a JSON null", "NaN"});
  refuse_preferences(
      R"({"prompt":"q","chosen":"a","rejected":"b","score_chosen":null,"score_rejected":1})",
      {"\"score_chosen\" is a JSON null"});
  refuse_preferences(R"({"prompt":"q","chosen":"a","rejected":"b","score_chosen":1})",
                     {"score_rejected"});
  refuse_preferences(R"({"prompt":"q","answer":"a","score":NaN})", {"x.jsonl:1"});
  refuse_preferences(R"({"prompt":"q","answers":["a","b"],"ranks":[1]})",
                     {"\"ranks\" has 1 numbers, but there are 2 answers"});
  refuse_preferences(R"({"prompt":"q","answers":["a","b"],"ranks":[1,"2"]})",
                     {"ranks[1]", "not a number"});
  refuse_preferences(R"({"query":"q","sample0":"a","sample1":"b","best":2})",
                     {"\"best\" is 2, not a whole number from 0 to 1"});
  refuse_preferences(R"({"query":[5,6],"sample0":[1],"sample1":[2],"best":0})",
                     {"\"query[0]\" is no message"});
  refuse_preferences(R"({"query":"q","sample0":[1],"sample1":[2],"best":0})",
                     {"\"sample0\" is a JSON array", "token ids"});
  refuse_preferences(R"({"info":{"id":1},"summaries":[{"text":"a"},{"text":"b"}],"choice":0})",
                     {"no field \"article\""});
  refuse_preferences(R"({"info":{"post":"p"},"summaries":[{"text":"a"}],"choice":0})",
                     {"no list of two"});
  std::string many = R"({"prompt":"q","ranks":[],"answers":[)";
  for (int i = 0; i < 300; ++i) many += i ? ",\"a\"" : "\"a\"";
  refuse_preferences(many + "]}", {"\"ranks\" has 0 numbers"});
}

TEST(Preferences, SomeBadRecordsMayBeLeftOut) {
  const std::string bytes =
      "{\"prompt\":\"q\",\"chosen\":\"a\",\"rejected\":\"b\"}\n{}\n{\"prompt\":\"q\",\"chosen\":"
      "\"a\",\"rejected\":\"b\"}\nrubbish\n";
  testing::internal::CaptureStderr();
  const Preferences some = preferences_in(bytes, {.bad_records = 2});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(some.records.size(), 2u);
  EXPECT_EQ(some.bad, 2);
  EXPECT_NE(said.find("x.jsonl:2"), std::string::npos) << said;
  refuse_preferences(bytes, {"x.jsonl:4"}, {.bad_records = 1});
}

TEST(Preferences, OfManyBadRecordsTenAreToldAndACount) {
  std::string bytes = "{\"prompt\":\"q\",\"chosen\":\"a\",\"rejected\":\"b\"}\n";
  for (int i = 0; i < 12; ++i) bytes += "{}\n";
  testing::internal::CaptureStderr();
  EXPECT_EQ(preferences_in(bytes, {.bad_records = 100}).bad, 12);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 11) << said;
  EXPECT_NE(said.find("left out: 2 more records, 12 in all"), std::string::npos) << said;
}

TEST(Preferences, AFirstRecordMayBeLeftOutToo) {
  testing::internal::CaptureStderr();
  const Preferences some =
      preferences_in("{\"text\":\"q\"}\n{\"prompt\":\"q\",\"chosen\":\"a\",\"rejected\":\"b\"}\n",
                     {.bad_records = 1});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out"), std::string::npos);
  EXPECT_EQ(some.records.size(), 1u);
  EXPECT_EQ(some.bad, 1);
}

TEST(Preferences, AnswersThatDifferInWhiteSpaceAloneAreTheSame) {
  refuse_preferences(R"({"prompt":"q","chosen":" a\n","rejected":"a"})",
                     {"x.jsonl:1", "both are \"a\""});
  refuse_preferences(R"({"prompt":"q","answers":["a","b","a "],"ranks":[1,2,3]})",
                     {"both are \"a\""});
  EXPECT_EQ(only(R"({"prompt":"q","answers":["a","b","a "],"ranks":[1,2,1]})"),
            "user: q => a [-1, 0] | b [-2, 0] | a  [-1, 0]");
}

TEST(Preferences, TurnsOfPromptsMustBeInOrder) {
  const auto pair = [](const std::string& turns) {
    std::string list;
    for (const char who : turns)
      list += fmt::format(R"({}{{"role":"{}","content":"x"}})", list.empty() ? "" : ",",
                          who == 'u'   ? "user"
                          : who == 'a' ? "assistant"
                                       : "system");
    return "{\"prompt\":[" + list + R"(],"chosen":"a","rejected":"b"})";
  };
  EXPECT_EQ(preferences_in(pair("suau")).records.at(0).prompt.size(), 4u);
  refuse_preferences(pair("uu"), {"x.jsonl:1", "turn 2 of the prompt is of the user",
                                  "one of the assistant is due"});
  refuse_preferences(pair("au"), {"turn 1 of the prompt is of the assistant", "the user begins"});
  refuse_preferences(pair("us"), {"turn 2", "of the system"});
  refuse_preferences(pair("s"), {"system alone"});
  refuse_preferences(pair("uua"), {"last turn of the prompt"});
}

// Some dialogues of Anthropic's data name a speaker twice in a row.
TEST(Preferences, SpeakersWhoAreNamedTwiceGoOn) {
  const auto turns = dialogue_turns("\n\nHuman: a\n\nAssistant: b\n\nAssistant: c\n\nHuman: d");
  ASSERT_EQ(turns.size(), 3u);
  EXPECT_EQ(turns[1].content, "b\n\nc");
}

TEST(Preferences, DemonstrationsAreTheGoodAnswers) {
  const Scratch scratch;
  write_file(scratch.file("x.jsonl"), R"({"prompt":"q","completion":"a"}
{"instruction":"i","response":"b"}
{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"c"}]}
{"prompt":"q","chosen":"d","rejected":"e"}
{"chosen":"\n\nHuman: h\n\nAssistant: f","rejected":"-"}
)");
  Lines all;
  for (const auto& record : read_demonstrations({.files = {scratch.file("x.jsonl")}}).records)
    all.push_back(told(record));
  EXPECT_EQ(all, (Lines{"user: q => a [0, 0]", "user: i => b [0, 0]", "user: u => c [0, 0]",
                        "user: q => d [0, 0]", "user: h => f [0, 0]"}));
  write_file(scratch.file("x.jsonl"), R"({"prompt":"q","completion":""})");
  EXPECT_EQ(told(read_demonstrations({.files = {scratch.file("x.jsonl")}}).records.at(0)),
            "user: q =>  [0, 0]");
  write_file(scratch.file("x.jsonl"), R"({"prompt":"q"})");
  expect_error(ExitCode::usage, {"x.jsonl:1", "no field \"answer\""},
               [&] { read_demonstrations({.files = {scratch.file("x.jsonl")}}); });
}

TEST(PreferenceSamples, LayOutSequencesApart) {
  const auto sequence = [](std::vector<int32_t> tokens) {
    return FormedSample{tokens, {}, {static_cast<int32_t>(tokens.size()) - 1}};
  };
  std::vector<PreferenceSample> samples{
      {PreferenceKind::ranked, {sequence({5, 6, 7}), sequence({5, 8})}, {1, 0}, {2, 3}},
      {PreferenceKind::scored, {sequence({9})}, {0.5}, {0}}};
  const PreferenceBatchShape shape = shape_of(samples, 4, 1, false);
  EXPECT_EQ(shape.length, 8);
  EXPECT_EQ(shape.answers, 2);
  const PreferenceSamples source(samples, shape, 0, false);
  const Batch batch = source.batch(0, 2);
  const auto ints = [](const Tensor& tensor) {
    return std::vector<int32_t>(tensor.span<int32_t>().begin(), tensor.span<int32_t>().end());
  };
  EXPECT_EQ(ints(batch.tokens),
            (std::vector<int32_t>{5, 6, 7, 5, 8, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(ints(batch.positions),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ints(batch.segments),
            (std::vector<int32_t>{0, 0, 0, 1, 1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(ints(batch.places), (std::vector<int32_t>{2, 4, 0, -1}));
  EXPECT_EQ(std::vector<float>(batch.known.span<float>().begin(), batch.known.span<float>().end()),
            (std::vector<float>{1, 1, 2, 1, 0, 3, 3, 0.5, 0, 0, 0, 0}));
  EXPECT_EQ(batch.weights.shape(), (Shape{2, 1}));
  const uint32_t before = source.checksum();
  samples[0].values[1] = 2;
  EXPECT_NE(PreferenceSamples(samples, shape, 0, false).checksum(), before);
}

}  // namespace
}  // namespace skein::data
