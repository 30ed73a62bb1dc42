// skein-data: from text, pictures and graphs to stores, and back to look at them and to score what
// models wrote.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/data/corpus/encode.h"
#include "skein/data/corpus/markov.h"
#include "skein/data/files/progress.h"
#include "skein/data/scores/score_files.h"
#include "skein/data/stores/convert.h"
#include "skein/data/stores/store.h"
#include "skein/text/split/utf8.h"

#include "data_graphs.h"
#include "data_images.h"
#include "data_options.h"
#include "data_pairs.h"
#include "data_records.h"
#include "data_stories.h"
#include "data_tokenizers.h"
#include "progress_line.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kNotes =
    "INPUT is a text or JSONL file, plain or .gz, .xz, .zst, .bz2, .lz4; an archive of them (tar, "
    "zip); a directory; or - for\n"
    "stdin. STORE is a store of `encode` or token files of Megatron-LM (.idx and .bin), nanoGPT or "
    "llm.c (.bin).\n";

std::string only_store(const Options& options) {
  return only_word(options, "token stores", "inspect train.h5");
}

void tell_store(const std::string& path, const data::StoreInfo& info) {
  log::info("{}: {} documents, {} tokens, {} of text, {:.3f} bytes a token", path, info.documents,
            info.tokens, data::readable_bytes(info.text_bytes),
            ratio(info.text_bytes, std::max<int64_t>(1, info.tokens)));
}

void run_encode(const Words& arguments) {
  data::EncodeConfig config;
  RunOptions run;
  std::string tokenizer_path;
  Options options("skein-data encode", "Encodes the INPUTs into a token store.");
  options.add("tokenizer.path", tokenizer_path,
              "tokenizer file or folder, or `bytes` for one token a byte");
  add_corpus(options, config.corpus);
  options.add_choice(
      "data.sentences", config.corpus.sentences,
      {{"none", text::SentenceRule::none},
       {"lines", text::SentenceRule::lines},
       {"auto", text::SentenceRule::automatic}},
      "whether the store tells where sentences begin: each line, or as found in running text");
  options.add("data.validation_fraction", config.validation_fraction,
              "part held out for output.validation");
  options.add("data.seed", config.seed, "chooses the held-out documents");
  options.add("output.path", config.output, "the token store to write");
  options.add("output.validation", config.validation,
              "another token store, for the held-out part; none if empty");
  add_replace(options, config.replace);
  add_run(options, run);
  if (!parsed(options, arguments)) return;
  config.threads = run.threads;
  require(!tokenizer_path.empty(),
          "tokenizer.path is missing; give a tokenizer file or `--tokenizer.path=bytes`");
  const auto tokenizer = text::load_tokenizer(tokenizer_path);
  ProgressLine line(run.quiet);
  const data::EncodeSummary summary =
      encode_corpus(options.words(), *tokenizer, config, [&](const data::CorpusProgress& progress) {
        line.show([&] { return progress_line(progress); });
      });
  if (run.quiet) return;
  tell_store(config.output, summary.training);
  if (!config.validation.empty()) tell_store(config.validation, summary.validation);
  if (summary.without_tokens > 0)
    log::info("documents without any token, left out: {}", summary.without_tokens);
  log::info("{} bad lines, {:.1f} s", summary.bad_lines, summary.seconds);
}

void run_markov(const Words& arguments) {
  data::MarkovStoreConfig config;
  Options options("skein-data markov",
                  "Draws a Markov chain and writes what it says: text whose entropy is known.");
  bind(options, config);
  if (!parsed(options, arguments)) return;
  if (!options.words().empty())
    fail_usage("\"{}\" was given; `skein-data markov` reads nothing", options.words().front());
  fmt::print("{}", markov_text(config, make_markov_stores(config)));
}

// What a store of another program does not say.
struct GivenNotes {
  std::string tokenizer;
  int64_t vocab_size = 0;

  data::TokenNotes notes() const { return data::notes_of_tokenizer(tokenizer, vocab_size); }
};

void add_notes(Options& options, GivenNotes& given) {
  options.add("data.tokenizer", given.tokenizer,
              "tokenizer file, or `bytes`, of a store that does not name its own (Megatron-LM, "
              "nanoGPT, llm.c)");
  options.add("model.vocab_size", given.vocab_size, "its ids where no tokenizer is known", "ids");
}

constexpr std::pair<const char*, data::TokenFormat> kFormats[] = {
    {"native", data::TokenFormat::native},
    {"megatron", data::TokenFormat::megatron},
    {"nanogpt", data::TokenFormat::nanogpt},
    {"llmc", data::TokenFormat::llmc}};

const char* name_of(data::TokenFormat format) {
  return kFormats[static_cast<size_t>(format)].first;
}

void run_convert(const Words& arguments) {
  GivenNotes given;
  RunOptions run;
  std::string output;
  bool replace = false;
  data::TokenFormat format = data::TokenFormat::native;
  Options options("skein-data convert", "Writes the tokens of STORE in another format.");
  add_notes(options, given);
  options.add("output.path", output, "the file to write; megatron: or what its two names share");
  options.add_choice("output.format", format, {std::begin(kFormats), std::end(kFormats)},
                     "format of the output");
  add_replace(options, replace);
  options.add("run.quiet", run.quiet, "no summary");
  if (!parsed(options, arguments)) return;
  const data::TokenStore store(only_store(options), given.notes());
  const std::string& name = store.path();
  const std::string stem =
      name.ends_with(".bin") || name.ends_with(".idx") ? name.substr(0, name.size() - 4) : name;
  require(!output.empty() && output.back() != '/', "output.path is \"{}\"; name the file to write",
          output);
  for (const std::string& file : converted_files(output, format))
    data::check_output("output.path", file, {name, stem + ".bin", stem + ".idx"},
                       existing(replace));
  const data::StoreInfo made = convert_tokens(store, output, format, existing(replace));
  if (!run.quiet)
    log::info("{}: {} tokens of {} from {} ({})", output, made.tokens, name_of(format), name,
              name_of(store.info().format));
}

// Stores made elsewhere may hold any text there, and can be looked at all the same.
std::string tokenizer_kind(const text::StoredTokenizer& tokenizer) {
  if (tokenizer.empty()) return "unknown";
  try {
    const std::string text = tokenizer->to_json();
    if (text == text::byte_tokenizer()->to_json()) return "bytes";
    const auto json = nlohmann::json::parse(text);
    if (json.value("type", "") == "sentencepiece") return "SentencePiece";
    if (!json.contains("model")) return "byte-level BPE";
    const auto type = json["model"]["type"].get<std::string>();
    if (type != "BPE") return type == "WordLevel" ? "whole words" : type;
    return json["model"]["byte_fallback"] == true ? "BPE" : "byte-level BPE";
  } catch (const Error& error) {
    return fmt::format("not known to this program: {}", error.what());
  }
}

std::shared_ptr<const text::Tokenizer> tokenizer_of(const data::TokenStore& store) {
  require(!store.info().tokenizer.empty(),
          "{} does not name its tokenizer; give it with --data.tokenizer", store.path());
  return with_origin(store.path() + ": its tokenizer cannot be used",
                     [&] { return store.info().tokenizer.value(); });
}

void run_inspect(const Words& arguments) {
  bool verify = false;
  std::string sheet;
  data::AugmentConfig augment;
  GivenNotes given;
  Options options("skein-data inspect",
                  "Says what the token store or the store of records STORE holds.");
  options.add("store.verify", verify,
              "also read all tokens and compare them with their checksum, or the vocabulary");
  options.add("store.sheet", sheet,
              "PNG file for a sheet of the pictures in a store of them; with augment options, of "
              "what training makes of them");
  bind(options, augment);
  add_notes(options, given);
  if (!parsed(options, arguments)) return;
  const std::string path = only_store(options);
  check(augment);
  require(!augment.changes() || !sheet.empty(),
          "augment options are for a sheet of pictures; give store.sheet with them");
  if (data::is_record_store(path))
    return show_records(path, {verify, sheet, augment, tokenizer_kind});
  require(sheet.empty(), "store.sheet={} is for stores of pictures, but {} holds tokens", sheet,
          path);
  const data::TokenStore store(path, given.notes(), verify);
  const data::StoreInfo& info = store.info();
  const bool native = info.format == data::TokenFormat::native;
  fmt::print("path          {}\n", store.path());
  if (!native) fmt::print("format        {}\n", name_of(info.format));
  fmt::print("documents     {}\n", store.documents().size() - 1);
  if (info.sentences > 0) fmt::print("sentences     {}\n", info.sentences);
  fmt::print("tokens        {}\n", info.tokens);
  const bool counted = info.text_bytes > 0;
  fmt::print("text bytes    {}\n", counted ? fmt::to_string(info.text_bytes) : "unknown");
  if (counted) fmt::print("bytes/token   {:.4f}\n", ratio(info.text_bytes, info.tokens));
  fmt::print("vocab size    {}\n",
             info.vocab_size > 0 ? fmt::to_string(info.vocab_size) : "unknown");
  fmt::print("end of text   {}\n", info.end_of_text);
  fmt::print("tokenizer     {}\n", tokenizer_kind(info.tokenizer));
  if (verify && native) fmt::print("checksum      holds\n");
}

void write_text(const data::TokenStore& store, int64_t begin, int64_t count,
                const std::string& separator) {
  const auto tokenizer = tokenizer_of(store);
  const auto& starts = store.documents();
  auto next = std::lower_bound(starts.begin(), starts.end(), static_cast<uint64_t>(begin));
  // The first token of a document may begin with a space that its text does not have. A part of a
  // character says nothing alone.
  const auto text_of = [&](int32_t id, uint64_t at) -> std::string {
    const bool first = next != starts.end() && *next == at;
    while (next != starts.end() && *next == at) ++next;
    if (id == tokenizer->end_of_text()) return separator;
    const std::string_view bytes = tokenizer->bytes_of(id);
    return first && text::valid_utf8(bytes) ? tokenizer->decode({id}) : std::string(bytes);
  };
  std::vector<int32_t> ids;
  std::string text;
  for (const int64_t end = begin + count; begin < end; begin += std::ssize(ids)) {
    ids.resize(std::min<int64_t>(end - begin, 1 << 16));
    store.read(begin, ids);
    text.clear();
    for (size_t i = 0; i < ids.size(); ++i)
      text.append(text_of(ids[i], static_cast<uint64_t>(begin) + i));
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      fail("cannot write the text to stdout: {}", std::strerror(errno));
  }
}

void run_decode(const Words& arguments) {
  int64_t begin = 0, count = -1;
  std::string separator;
  GivenNotes given;
  Options options("skein-data decode", "Writes the text of the token store STORE to stdout.");
  options.add("range.begin", begin, "first token", "tokens");
  options.add("range.count", count, "how many; -1 for all that follow", "tokens");
  options.add("output.separator", separator, "written after each document");
  add_notes(options, given);
  if (!parsed(options, arguments)) return;
  const data::TokenStore store(only_store(options), given.notes());
  const int64_t tokens = store.info().tokens;
  require(begin >= 0 && begin <= tokens, "range.begin is {}; {} holds tokens 0 to {}", begin,
          store.path(), tokens - 1);
  require(count >= -1 && (count == -1 || count <= tokens - begin),
          "range.count is {}; from token {} on {} holds {} more (-1 takes them all)", count, begin,
          store.path(), tokens - begin);
  write_text(store, begin, count == -1 ? tokens - begin : count, separator);
}

void run_score(const Words& arguments) {
  data::ScoreConfig config;
  Options options("skein-data score",
                  "Scores generated texts: HYPOTHESES REFERENCES..., a text a line in text files.");
  bind(options, config);
  if (parsed(options, arguments)) score_files(options.words(), config);
}

struct Command {
  const char* name;
  const char* arguments;
  const char* help;
  void (*run)(const Words&);
};

constexpr Command kCommands[] = {
    {"train-tokenizer", "INPUT...", "learn a tokenizer", run_train_tokenizer},
    {"export-tokenizer", "TOKENIZER", "write it as other libraries read it", run_export_tokenizer},
    {"encode", "INPUT...", "make a token store", run_encode},
    {"pairs", "INPUT...", "make a store of pairs, such as texts and their translations", run_pairs},
    {"images", "INPUT...", "make a store of pictures and their classes", run_images},
    {"graphs", "INPUT...", "make a store of graphs", run_graphs},
    {"stories", "INPUT...", "make a store of stories and questions about them", run_stories},
    {"copy-shift", "INPUT...", "make pairs to copy, the target shifted by one word",
     run_copy_shift},
    {"retrieval", "", "make texts that ask for what is far away in them", run_retrieval},
    {"markov", "", "make token stores of known entropy", run_markov},
    {"convert", "STORE", "write a token store in another program's format, or read one",
     run_convert},
    {"inspect", "STORE", "say what a store holds", run_inspect},
    {"decode", "STORE", "write the text of a token store to stdout", run_decode},
    {"score", "HYPOTHESES REFERENCES...", "say how good generated texts are", run_score}};

int dispatch(const Words& arguments) {
  std::vector<CommandHelp> all;
  for (const Command& command : kCommands)
    all.push_back({command.name, command.arguments, command.help});
  const auto help = [&](HelpForm form) {
    return program_help("skein-data",
                        "From text, pictures and graphs to stores, and back to look at them.", all,
                        kNotes, form);
  };
  if (answered("skein-data", arguments, help)) return 0;
  for (const Command& command : kCommands)
    if (!arguments.empty() && arguments.front() == command.name)
      return command.run(Words(arguments.begin() + 1, arguments.end())), 0;
  refuse_command("skein-data", arguments, all);
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  return skein::run_program([&] {
    return skein::dispatch({argv + std::min(argc, 1), argv + argc});
  });
}
