#include "skein/scaling/laws/results.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "scaling/table_fixture.h"
#include "support/expect_error.h"

namespace skein::scaling {
namespace {

using test::expect_error;
using test::read;
using test::TableFile;

constexpr const char* kHeader = "run,n_params,tokens,flops,loss\n";

void expect_refused(const std::string& text, std::initializer_list<std::string> words,
                    const TableOptions& options = {}) {
  expect_error(ExitCode::usage, words, [&] { read(text, options); });
}

void expect_warning(const ScalingTable& table, std::initializer_list<std::string> words) {
  for (const std::string& warning : table.warnings)
    if (std::all_of(words.begin(), words.end(), [&](const std::string& word) {
          return warning.find(word) != std::string::npos;
        }))
      return;
  ADD_FAILURE() << "no warning with " << *words.begin() << "; there are "
                << fmt::format("{}", fmt::join(table.warnings, " | "));
}

TEST(Results, AreReadByColumnName) {
  const auto table = read(
      "loss,x,run,tokens,n_params,flops,lr,seed\n3.5,?,a,100,10,6000,1e-3,7\n2.5,,b,+2e2,20,24000,,"
      "8\n");
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.warnings.size(), 0u);
  EXPECT_EQ(table.runs[0].name, "a");
  EXPECT_EQ(table.runs[0].n_params, 10);
  EXPECT_EQ(table.runs[0].lr, 1e-3);
  EXPECT_EQ(table.runs[0].seed, 7);
  EXPECT_EQ(table.runs[1].line, 3);
  EXPECT_EQ(table.runs[1].tokens, 200);
  EXPECT_EQ(table.runs[1].loss, 2.5);
  EXPECT_TRUE(std::isnan(table.runs[1].lr));
}

TEST(Results, MayHaveAMarkLineBreaksOfWindowsAndQuotes) {
  const auto table = read(
      "\xef\xbb\xbf\"run\",n_params,tokens,flops,loss\r\n\"a, "
      "\"\"b\"\"\",10,100,6000,\"3.5\"\r\n\r\nc,20,200,24000, 3 \r\n");
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.runs[0].name, "a, \"b\"");
  EXPECT_EQ(table.runs[1].loss, 3);
  EXPECT_EQ(table.runs[1].line, 4);
}

TEST(Results, OtherNamesOfColumnsAreKnown) {
  const auto table = read("run_id,params,n_params_nonemb,n_tokens,flops,loss\nr,10,8,100,6000,3\n");
  EXPECT_EQ(table.runs[0].name, "r");
  EXPECT_EQ(table.runs[0].n_params, 10);
  EXPECT_EQ(table.runs[0].n_blocks, 8);
  EXPECT_EQ(table.runs[0].tokens, 100);
}

TEST(Results, MissingColumnsAreNamedWithTheNearestOne) {
  expect_refused("run,n_parms,tokens,flops,loss\n",
                 {"no column n_params", "n_parms, tokens", "did you mean"});
  expect_refused("run,n_params,token,loss\n", {"no column tokens", "did you mean \"token\""});
  expect_refused("run,n_params,tokens,flops,los\n",
                 {"no column loss", "data.loss_column names another", "did you mean \"los\""});
  expect_refused("run,n_params,tokens,flops,val_loss\n", {"no column eval"},
                 {.loss_column = "eval"});
  expect_refused("run,n_parms,los\n", {"there are no columns n_params (numbers of parameters",
                                       ", tokens (training tokens", " and loss (losses;",
                                       "the file has: run, n_parms, los",
                                       "did you mean \"n_parms\"", "did you mean \"los\""});
  expect_refused("n_params,params,tokens,loss\n", {"n_params and params say the same"});
  expect_refused("", {"is empty"});
  expect_refused(kHeader, {"nothing to fit"});
}

TEST(Results, TextAndBadNumbersAreRefusedByFileAndLine) {
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,6000,low\n",
                 {"runs.csv:2", "\"low\"", "column loss", "no number"});
  expect_refused("run,n_params,tokens,flops,loss\na,70B,100,6000,3\n",
                 {":2", "\"70B\"", "n_params"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,-100,6000,3\n",
                 {":2", "-100", "tokens", "above 0"});
  expect_refused("run,n_params,tokens,flops,loss\na,0,100,6000,3\n", {":2", "n_params", "above 0"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,inf,3\n", {":2", "flops", "finite"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,6000,-3\n",
                 {":2", "loss of -3", "above 0"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,,6000,3\nb,10,100,6000,3\n",
                 {"column tokens is empty", "line 2"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,6000,3\nb,nan,100,6000,3\n",
                 {"n_params is empty or nan", "line 3"});
  expect_refused("run,n_params,tokens,flops,loss,seed\na,10,100,6000,3,1.5\n",
                 {":2", "1.5", "seed", "whole"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,6000\n", {":2", "4 fields", "5"});
  expect_refused("run,n_params,tokens,flops,loss\na,10,100,6000,\"3\n", {"never closed"});
}

TEST(Results, RunsWithoutAFiniteLossAreKeptOut) {
  const auto table =
      read(std::string(kHeader) +
           "a,10,100,6000,nan\nb,10,200,12000,inf\nc,10,300,18000,\nd,10,400,24000,3\n");
  ASSERT_EQ(table.runs.size(), 4u);
  EXPECT_EQ(table.runs[0].status, "diverged");
  EXPECT_NE(table.runs[0].reason.find("nan"), std::string::npos);
  EXPECT_EQ(table.runs[1].status, "diverged");
  EXPECT_EQ(table.runs[2].status, "unfinished");
  EXPECT_EQ(points_of(table, {}).size(), 1u);
}

TEST(Results, StatusesKeepRunsOutAndUnknownOnesAreNamed) {
  const auto table = read(
      "run,status,reason,n_params,tokens,flops,loss\na,done,,10,100,6000,3\nb,failed,out of "
      "memory,10,,,\nc,finished,,10,100,6000,3.1\n");
  EXPECT_EQ(points_of(table, {}).size(), 1u);
  EXPECT_EQ(table.runs[1].reason, "out of memory");
  expect_warning(table, {"\"finished\"", "kept out", "line 4"});
}

TEST(Results, RowsThatSayTheSameCountOnce) {
  const auto table =
      read(std::string(kHeader) +
           "a,10,100,6000,3\nb,20,100,12000,2.9\na,10,100,6000,3\nc,20,100,12000,2.9\n");
  EXPECT_EQ(table.runs.size(), 3u);
  expect_warning(table, {"line 4", "kept once"});
  expect_warning(table, {"line 5", "fitted once"});
  EXPECT_EQ(points_of(table, {}).size(), 2u);
  expect_refused(std::string(kHeader) + "a,10,100,6000,3\na,10,100,6000,3.5\n",
                 {":3", "run a", "line 2", "other numbers"});
}

TEST(Results, WhatIsMissingOfTokensAndFlopsFollows) {
  const auto no_flops = read("n_params,tokens,loss\n10,100,3\n");
  EXPECT_EQ(no_flops.runs[0].flops, 6000);
  EXPECT_EQ(no_flops.runs[0].name, "line 2");
  expect_warning(no_flops, {"FLOPs", "6 n_params tokens"});
  const auto no_tokens = read("n_params,flops,loss\n10,6000,3\n");
  EXPECT_EQ(no_tokens.runs[0].tokens, 100);
  expect_warning(no_tokens, {"tokens", "flops / (6 n_params)"});
}

TEST(Results, OddFlopsAndUnitsAreWarnedOfWithLines) {
  expect_warning(read(std::string(kHeader) + "a,10,100,6000,3\nb,10,100,9000,3.1\n"),
                 {"flops of 1 runs", "1.5 times", "line 3"});
  EXPECT_TRUE(read(std::string(kHeader) + "a,10,100,7000,3\n").warnings.empty());
  expect_warning(
      read("n_params,tokens,flops,loss_bits\n10,100,6000,3\n", {.loss_column = "loss_bits"}),
      {"loss_bits", "data.loss_unit=bits"});
  expect_warning(read("n_params,tokens,flops,loss,vocab_size\n10,100,6000,5,64\n"),
                 {"worse than guessing", "line 2"});
  expect_warning(read("n_params,tokens,flops,loss\n10,100,6000,20.5\n"),
                 {"perplexities", "line 2"});
  EXPECT_DOUBLE_EQ(
      read(std::string(kHeader) + "a,10,100,6000,3\n", {.loss_unit = "bits"}).runs[0].loss,
      3 * std::log(2.0));
  expect_refused(std::string(kHeader) + "a,10,100,6000,3\n", {"data.loss_unit=bytes"},
                 {.loss_unit = "bytes"});
}

TEST(Results, WhereTakesRowsByWhatTheySay) {
  const std::string text =
      "set,run,n_params,tokens,flops,loss\none,a,10,100,6000,3\ntwo,b,10,100,6000,4\n";
  const auto table = read(text, {.where = {"set=two"}});
  ASSERT_EQ(table.runs.size(), 1u);
  EXPECT_EQ(table.runs[0].name, "b");
  expect_warning(table, {"data.where takes 1 of 2"});
  expect_refused(text, {"2 rows", "data.where takes none"}, {.where = {"set=three"}});
  expect_refused(text, {"no column sets", "data.where", "did you mean \"set\""},
                 {.where = {"sets=two"}});
  expect_refused(text, {"\"set\"", "COLUMN=VALUE"}, {.where = {"set"}});
}

TEST(Results, CurvesFindTheirRuns) {
  const TableFile runs(std::string(kHeader) + "a,10,100,6000,3\nb,20,100,12000,2.9\n");
  const TableFile curves("run, tokens , loss\na,100,3\n a , 50, 3.5\nz,1,1\nb,60,nan\n");
  const auto table = read_table(runs.path(), {}, curves.path());
  ASSERT_EQ(table.runs[0].curve.size(), 2u);
  EXPECT_EQ(table.runs[0].curve[0].tokens, 50);
  EXPECT_TRUE(table.runs[1].curve.empty());
  expect_warning(table, {"1 runs that", "such as z"});
  expect_warning(table, {"without a loss", "line 5"});
  expect_error(ExitCode::usage,
               {"no column loss", "run, tokens, loss", "the file has: run, tokens, los"},
               [&] { read_table(runs.path(), {}, TableFile("run,tokens,los\n").path()); });
}

TEST(Results, CurvesAtStepsTakeTheirTokensFromTheRun) {
  const std::string head = "run,n_params,tokens,flops,loss,global_batch,steps\n",
                    rows = "a,10,100,6000,3,25,\nb,20,100,12000,2.9,,5\n";
  const TableFile runs(head + rows), curves("run,step,loss\na,2,3.5\nb,2,3.2\na,4,3\nb,0,9\n");
  const auto table = read_table(runs.path(), {}, curves.path());
  ASSERT_EQ(table.runs[0].curve.size(), 2u);
  EXPECT_EQ(table.runs[0].curve[0].tokens, 50);
  ASSERT_EQ(table.runs[1].curve.size(), 1u);
  EXPECT_EQ(table.runs[1].curve[0].tokens, 40);
  expect_warning(table, {"tokens above 0", "line 5"});
  const TableFile silent(head + "a,10,100,6000,3,,\n"), both("run,step,tokens,loss\na,2,70,3.5\n");
  expect_error(ExitCode::usage, {":2: a point of run a is at a step", "global_batch"},
               [&] { read_table(silent.path(), {}, curves.path()); });
  EXPECT_EQ(read_table(silent.path(), {}, both.path()).runs[0].curve[0].tokens, 70);
  expect_error(ExitCode::usage, {"there are no columns run, tokens (or step), loss"},
               [&] { read_table(runs.path(), {}, TableFile("a,b\n").path()); });
}

TEST(Results, WrittenTablesAreReadBack) {
  auto table = read(
      "run,status,reason,n_blocks,n_embedding,n_head,n_all,tokens,unique_tokens,flops_exact,loss,d_"
      "model,seed\n\"a, b\",done,,8,1,2,11,100,80,7000,2.0625,4,3\nc,failed,\"said "
      "\"\"no\"\"\",8,1,2,11,100,,7000,,4,4\n");
  table.runs[0].curve = {{50, 2.5}, {100, 2.0625}};
  const std::string csv = table_csv(table.runs);
  const TableFile runs(csv), curves(curves_csv(table.runs));
  const auto again = read_table(runs.path(), {}, curves.path());
  EXPECT_EQ(table_csv(again.runs), csv);
  EXPECT_EQ(curves_csv(again.runs), curves_csv(table.runs));
  EXPECT_TRUE(again.warnings.empty());
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "run,status,reason,folder,seed,d_model,n_layers,n_heads,vocab_size,context,n_blocks,n_"
            "embedding,n_head,n_all,n_params,tokens,unique_tokens,flops_6n,flops_6n_head,flops_"
            "exact,lr,global_batch,steps,loss,train_loss,seconds");
  EXPECT_NE(csv.find(",100,80,6600,6000,7000,"), std::string::npos) << csv;
}

TEST(Conventions, CountAsTheySay) {
  const auto table = read(
      "n_blocks,n_embedding,n_head,n_all,tokens,flops_exact,loss\n8,1,2,11,100,7000,2\n16,1,2,19,"
      "100,13000,1.9\n");
  EXPECT_EQ(parameters_of(table.runs[0], ParameterCount::blocks_head), 10);
  EXPECT_EQ(flops_of(table.runs[0], {ParameterCount::blocks, FlopCount::six_n}), 4800);
  EXPECT_EQ(flops_of(table.runs[0], {ParameterCount::blocks, FlopCount::six_n_head}), 6000);
  EXPECT_EQ(flops_of(table.runs[0], {ParameterCount::all, FlopCount::exact}), 7000);
  EXPECT_EQ(settled({}, table), (Convention{ParameterCount::all, FlopCount::exact}));
  EXPECT_EQ(conventions_of(table).size(), 8u);
  EXPECT_EQ(name({ParameterCount::blocks_head, FlopCount::exact}), "blocks + head, exact FLOPs");
  expect_error(ExitCode::usage, {"lines 2, 3", "as given", "fit.parameters"},
               [&] { points_of(table, {}); });
}

TEST(Conventions, WithTheSameNumbersCountOnce) {
  const auto table = read("n_params,tokens,flops,loss\n10,100,6000,3\n20,100,12000,2.9\n");
  EXPECT_EQ(conventions_of(table), (std::vector<Convention>{{}}));
  EXPECT_EQ(settled({}, table), Convention{});
}

TEST(Points, HaveFlopsThatAreNumbers) {
  const auto table = read("n_params,tokens,loss\n10,100,3\n1e300,1e300,2.9\n");
  expect_error(ExitCode::usage, {"runs.csv:3", "1e+300 parameters and 1e+300 tokens", "inf FLOPs"},
               [&] { points_of(table, {}); });
}

TEST(Points, DoNotDependOnTheOrderOfRows) {
  const auto one = points_of(
      read(std::string(kHeader) + "a,10,100,6000,3\nb,20,100,12000,2.9\nc,5,200,6000,3.1\n"), {});
  const auto other = points_of(
      read(std::string(kHeader) + "c,5,200,6000,3.1\nb,20,100,12000,2.9\na,10,100,6000,3\n"), {});
  ASSERT_EQ(one.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one[i].n, other[i].n);
    EXPECT_EQ(one[i].cluster, other[i].cluster);
  }
  EXPECT_EQ(one[0].n, 5);
}

TEST(Exclusions, GoByRulesWithReasons) {
  const std::string text =
      std::string(kHeader) +
      "a,10,100,6000,3\nb,10,200,12000,4\nc,10,300,18000,5\nd,10,400,24000,2\n";
  auto table = read(text);
  exclude(table, {.highest_losses = 2});
  EXPECT_EQ(table.runs[1].status, "excluded");
  EXPECT_NE(table.runs[2].reason.find("2 highest losses"), std::string::npos);
  EXPECT_EQ(points_of(table, {}).size(), 2u);
  table = read(text);
  exclude(table, {.least_tokens = 250});
  EXPECT_EQ(table.runs[0].status, "excluded");
  EXPECT_EQ(points_of(table, {}).size(), 2u);
  expect_error(ExitCode::usage, {"drop_highest_losses=4", "none of the 4"}, [&] {
    auto all = read(text);
    exclude(all, {.highest_losses = 4});
  });
}

TEST(Exclusions, TakeTheBestSettingOverSeeds) {
  auto table = read(
      "run,n_params,tokens,flops,loss,lr,seed\na,10,100,6000,3.0,1e-3,0\nb,10,100,6000,3.4,1e-3,"
      "1\nc,10,100,6000,3.1,2e-3,0\nd,10,100,6000,3.1001,2e-3,1\ne,10,200,12000,3,1e-3,0\n");
  exclude(table, {});
  EXPECT_EQ(table.runs[0].status, "outclassed");
  EXPECT_EQ(table.runs[1].status, "outclassed");
  EXPECT_EQ(table.runs[2].status, "done");
  EXPECT_EQ(table.runs[3].status, "done");
  EXPECT_EQ(table.runs[4].status, "done");
  const auto again = read(table_csv(table.runs));
  EXPECT_EQ(again.runs[0].status, "done");
  EXPECT_EQ(again.runs[0].reason, "");
}

// 1,000,300 tokens are 1954 batches of 512, or 1302 of 768, and these are not the same. One batch
// of its own more is another length.
TEST(Exclusions, BatchesOfTwoSizesRarelyMakeTheSameTokens) {
  auto table = read(
      "run,n_params,tokens,loss,global_batch\na,10,1000448,3.0,512\nb,10,999936,3.1,768\nc,10,"
      "1000960,2.9,512\n");
  exclude(table, {});
  EXPECT_EQ(table.runs[0].status, "done");
  EXPECT_EQ(table.runs[1].status, "outclassed");
  EXPECT_EQ(table.runs[2].status, "done");
}

TEST(Exclusions, RunsOfOtherDataAreOtherRuns) {
  auto table = read(
      "run,n_params,tokens,unique_tokens,loss,lr\na,10,100,50,3.0,1e-3\nb,10,100,25,3.4,2e-3\nc,10,"
      "100,25,3.5,1e-3\n");
  exclude(table, {});
  EXPECT_EQ(table.runs[0].status, "done");
  EXPECT_EQ(table.runs[1].status, "done");
  EXPECT_EQ(table.runs[2].status, "outclassed");
}

// Each of these saw only new tokens, so that their numbers of unique ones differ as their batches
// do.
TEST(Exclusions, RunsOnNewDataAreComparedWhateverTheyUsedOfIt) {
  auto table = read(
      "run,n_params,tokens,unique_tokens,loss,global_batch\na,10,1000448,1000448,3.0,512\nb,10,"
      "999936,999936,3.1,768\n");
  exclude(table, {});
  EXPECT_EQ(table.runs[0].status, "done");
  EXPECT_EQ(table.runs[1].status, "outclassed");
}

TEST(Exclusions, RowsThatStandTwiceCountOnce) {
  const std::string rows =
      "run,n_params,tokens,loss,lr,seed\na,10,100,3.0,1e-3,0\nb,10,100,3.4,1e-3,1\nc,10,100,3.15,"
      "2e-3,0\n";
  auto table = read(rows), twice = read(rows + "d,10,100,3.4,1e-3,1\n");
  exclude(table, {});
  exclude(twice, {});
  EXPECT_EQ(table.runs[0].status, "outclassed");
  EXPECT_EQ(table.runs[2].status, "done");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(table.runs[i].status, twice.runs[i].status);
}

TEST(Exclusions, TheReplicationFits240OfThe245) {
  auto table = read_table("scaling/data/chinchilla_245.csv");
  EXPECT_EQ(table.runs.size(), 245u);
  EXPECT_TRUE(table.warnings.empty()) << table.warnings.front();
  exclude(table, {.highest_losses = 5});
  EXPECT_EQ(points_of(table, {}).size(), 240u);
}

}  // namespace
}  // namespace skein::scaling
