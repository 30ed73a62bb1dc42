// skein-convert: other programs' models to checkpoints of ours and back.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/comm/local.h"
#include "skein/convert/average.h"
#include "skein/convert/export.h"
#include "skein/convert/import.h"
#include "skein/convert/refit.h"
#include "skein/convert/verify.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/core/strings.h"

#include "progress_line.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;

// Of weights: a type of ours, or blocks of 8-bit numbers.
struct WeightType {
  std::optional<DType> dtype;  // nothing: as they are
  bool q8_0 = false;

  bool operator==(const WeightType&) const = default;
};

struct Command {
  std::optional<convert::Form> to;  // nothing: by what the source is
  WeightType type;
  bool dry_run = false, verify = false, average = false;
  convert::ConvertConfig convert;
  AttentionOptions attention;  // as the options show it; convert.attention has what is given
};

void bind(Options& options, Command& c) {
  options.add_choice("convert.to", c.to,
                     {{"auto", std::nullopt},
                      {"skein", convert::Form::skein},
                      {"huggingface", convert::Form::huggingface},
                      {"llmc", convert::Form::llmc},
                      {"gguf", convert::Form::gguf}},
                     "what to make; auto: a checkpoint of another program's model, and a Hugging "
                     "Face folder of a checkpoint; --to for short");
  options.add_choice("convert.dtype", c.type,
                     {{"keep", {}},
                      {"f32", {DType::f32}},
                      {"bf16", {DType::bf16}},
                      {"f16", {DType::f16}},
                      {"q8_0", {DType::f32, true}}},
                     "type of all tensors, rounded to nearest even; q8_0, of GGUF alone: blocks of "
                     "8-bit numbers; --dtype for short");
  options.add("convert.tokenizer", c.convert.tokenizer,
              "of an import, instead of the source's: file or folder; --tokenizer for short");
  options.add("convert.allow_missing", c.convert.allow_missing,
              "give tensors that the source lacks start values; --allow-missing for short");
  options.add("convert.allow_unexpected", c.convert.allow_unexpected,
              "leave out tensors that the model has no use for; --allow-unexpected for short");
  options.add("convert.seed", c.convert.seed, "of start values");
  options.add("convert.file_bytes", c.convert.shard_bytes,
              "most of one safetensors file; 0: the files of the import if none has more than 5 "
              "GB, else 5 GB",
              "bytes");
  options.add(
      "convert.to_context", c.convert.to_context,
      "makes a checkpoint of an encoder that reads so many tokens, more than the source, by "
      "attention.kind=global and attention.window=512 unless told otherwise; 0: as many; "
      "--to-context for short",
      "tokens");
  bind(options, c.attention);
  options.add("model.image_height", c.convert.image_height,
              "of an import of a model of pictures: of those that it is to read; 0: its own",
              "pixels");
  options.add("model.image_width", c.convert.image_width, "as model.image_height", "pixels");
  options.add("convert.average", c.average,
              "the sources, two or more, are checkpoints of one model, and the result is the mean "
              "of their weights; --average for short");
  options.add("convert.dry_run", c.dry_run,
              "only print which tensor becomes which; --dry-run for short");
  options.add("convert.verify", c.verify,
              "after an import compare logits with the source's skein_expected.safetensors; exit "
              "code 1 when they differ; --verify for short");
}

// Of a model that is made of another; the options of its attention are taken as they are given.
void settle(const Options& options, Command& c) {
  convert::ConvertConfig& config = c.convert;
  for (const auto& [key, value] : options.values())
    if (key.starts_with("attention.") && options.given(key)) config.attention[key] = value;
  require(config.to_context >= 0, "--to-context={} must be above 0", config.to_context);
  require(config.image_height >= 0 && config.image_width >= 0,
          "model.image_height={} and model.image_width={} must be above 0", config.image_height,
          config.image_width);
  const bool resizes = config.image_height > 0 || config.image_width > 0;
  require(config.to_context == 0 || !resizes,
          "--to-context={} is for encoders of texts, and model.image_height and image_width for "
          "models of pictures; leave one of them out",
          config.to_context);
  require(!c.verify || (config.to_context == 0 && !resizes),
          "--verify compares with what the source's own model computes; leave out --to-context, "
          "model.image_height and model.image_width");
}

// The form to make of one of `source`.
convert::Form target_form(std::optional<convert::Form> asked, convert::Form source,
                          const convert::ConvertConfig& config) {
  if (config.to_context > 0) {
    require(asked.value_or(convert::Form::skein) == convert::Form::skein,
            "--to-context={} makes a checkpoint of Skein; convert that then, without --to-context",
            config.to_context);
    return convert::Form::skein;
  }
  require(source != convert::Form::skein || (config.image_height == 0 && config.image_width == 0),
          "model.image_height and model.image_width are for imports; `skein finetune` resizes what "
          "a checkpoint of Skein reads");
  const convert::Form form = asked.value_or(
      source == convert::Form::skein ? convert::Form::huggingface : convert::Form::skein);
  require((form == convert::Form::skein) != (source == convert::Form::skein),
          "the source and the result are both {}; one of them is a checkpoint of Skein, so convert "
          "in two steps through one",
          form == convert::Form::skein ? "checkpoints" : "other programs' models");
  return form;
}

// What becomes of a source.
constexpr unsigned kImport = 1, kRefit = 2, kFolder = 4, kFile = 8;

// An option, or those that begin so, and where it has a use.
struct Use {
  std::string_view key;
  unsigned of;
  const char* where;
};

constexpr Use kUses[] = {
    {"convert.tokenizer", kImport, "imports"},
    {"convert.allow_missing", kImport, "imports"},
    {"convert.allow_unexpected", kImport, "imports"},
    {"convert.seed", kImport, "imports"},
    {"attention.", kImport | kRefit, "--to-context"},
    {"convert.dry_run", kImport | kFolder | kFile, "models of other programs"},
    {"convert.file_bytes", kFolder, "exports to a folder of Hugging Face's"},
};

// An option that would change nothing is a mistake.
void check_uses(const Options& options, unsigned way) {
  const char* here = way == kImport   ? "an import"
                     : way == kRefit  ? "a longer context of a checkpoint"
                     : way == kFolder ? "an export to such a folder"
                                      : "an export to one file";
  for (const auto& [key, value] : options.values())
    for (const Use& use : kUses)
      require(!key.starts_with(use.key) || (use.of & way) != 0 || !options.given(key),
              "{}={} is for {}, but what is asked for is {}; leave it out", key, value, use.where,
              here);
}

// For what is done, of how much.
auto shown_on(ProgressLine& line) {
  return [&line](int64_t done, int64_t total) {
    line.show([&] { return fmt::format("{} of {}", readable_size(done), readable_size(total)); });
  };
}

void tell_verification(const convert::Verification& found, const std::string& expected) {
  const std::string text =
      fmt::format("{} logits differ by at most {:.3g} of the largest of {}; {:.0e} is allowed",
                  found.numbers, found.difference, expected, found.limit);
  if (!found.good()) fail("{}", text);
  log::info("{}", text);
}

void run_import(const std::string& source, convert::Form form, const std::string& destination,
                const Command& command) {
  const std::string folder =
      form == convert::Form::llmc ? std::filesystem::path(source).parent_path().string() : source;
  const std::string expected = join_path(folder, convert::kExpectedFile);
  require(!command.verify || std::filesystem::exists(expected),
          "--verify compares with {}, which does not exist", expected);
  const convert::Import import(source, form, command.convert);
  if (command.dry_run) return fmt::print("{}", import.text());
  ProgressLine line;
  const std::string path = import.run(destination, shown_on(line));
  log::info("{}: {} parameters from {}", path, import.model().parameters(), source);
  if (!command.verify) return;
  const auto alone = single_rank();
  tell_verification(convert::verify_logits(*checkpoint::find_checkpoint(path, *alone),
                                           import.model(), expected, import.narrow()),
                    expected);
}

void run_export(const std::string& source, convert::Form form, const std::string& destination,
                const Command& command) {
  require(!command.verify,
          "--verify is for imports; export first, let the other program write {} into the folder, "
          "and import that again",
          convert::kExpectedFile);
  convert::Export made(source, form, command.convert);
  if (command.dry_run) return fmt::print("{}", made.text());
  ProgressLine line;
  made.run(destination, shown_on(line));
  log::info("{}: {} parameters from {}", destination, made.model().parameters(), source);
}

void run_refit(const std::string& source, const std::string& destination, const Command& command) {
  ProgressLine line;
  refit_checkpoint(source, destination, command.convert, shown_on(line));
}

void run_average(const Options& options) {
  for (const auto& [key, value] : options.values())
    require(key == "convert.average" || !options.given(key),
            "{}={} is for models that are converted; leave it out with --average", key, value);
  const Words& words = options.words();
  require(words.size() >= 3,
          "{} paths were given; give two checkpoints at least, then the folder of their mean, as "
          "in `skein-convert --average run/checkpoints/* averaged`",
          words.size());
  const Words sources(words.begin(), words.end() - 1);
  ProgressLine line;
  const std::string path = convert::average(sources, words.back(), shown_on(line));
  log::info("{}: the mean of {} checkpoints", path, sources.size());
}

int run(const Words& arguments) {
  Command command;
  Options options(
      "skein-convert",
      fmt::format("Makes checkpoints of other programs' models, and those of checkpoints. "
                  "SOURCE DESTINATION: makes a checkpoint of a Hugging Face folder (safetensors, "
                  "with a model_type of {}) or of an llm.c model file, or one of those of a "
                  "checkpoint; with --to-context a checkpoint of longer texts of any. With "
                  "--average SOURCE SOURCE... DESTINATION: the mean of checkpoints.",
                  fmt::join(convert::known_model_types(), ", ")));
  bind(options, command);
  const auto help = [&](HelpForm) {
    // Tells options.help() that there are arguments, and its form.
    options.parse({arguments.front() == "help" ? "--help" : arguments.front()}, true);
    return options.help();
  };
  if (answered("skein-convert", arguments, help)) return 0;
  if (!parsed(options, arguments)) return 0;
  if (command.average) {
    run_average(options);
    return 0;
  }
  const Words& words = options.words();
  require(words.size() == 2 || (command.dry_run && words.size() == 1),
          "{} paths were given; give SOURCE and DESTINATION, as in `skein-convert gpt2 runs/gpt2`",
          words.size());
  require(command.convert.shard_bytes >= 0,
          "convert.file_bytes={} must be at least 1, or 0 for the import's files",
          command.convert.shard_bytes);
  settle(options, command);
  command.convert.dtype = command.type.dtype;
  command.convert.q8_0 = command.type.q8_0;
  const convert::Form source = convert::form_of(words[0]),
                      form = target_form(command.to, source, command.convert);
  require(!command.convert.q8_0 || form == convert::Form::gguf,
          "--dtype=q8_0 is for files of GGUF; give --to=gguf with it, or another type");
  check_uses(options, form == source                       ? kRefit
                      : form == convert::Form::skein       ? kImport
                      : form == convert::Form::huggingface ? kFolder
                                                           : kFile);
  const std::string destination = words.size() == 2 ? words[1] : "";
  if (form == source)
    run_refit(words[0], destination, command);
  else if (form == convert::Form::skein)
    run_import(words[0], source, destination, command);
  else
    run_export(words[0], form, destination, command);
  return 0;
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  return skein::run_program([&] { return skein::run({argv + std::min(argc, 1), argv + argc}); });
}
