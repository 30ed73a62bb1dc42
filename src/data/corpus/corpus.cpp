#include "skein/data/corpus/corpus.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/files/suffix.h"

#include "data/files/input_files.h"
#include "documents.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

struct InputFile {
  std::string path;
  bool found;  // in a folder, rather than named by the user
};

void add_files_below(const std::string& directory, std::vector<InputFile>& files,
                     SkippedFiles& skipped) {
  std::vector<std::string> found;
  std::map<std::string, const char*> left_out;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (hidden_file(at->path())) {
      left_out[at->path().native()] = "hidden";
      if (at->is_directory(ignored)) at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored)) {
      found.push_back(at->path().native());
    } else if (at->is_symlink(ignored) && at->is_directory(ignored)) {
      left_out[at->path().native()] = "a link to a folder";
    } else if (!at->is_directory(ignored)) {
      left_out[at->path().native()] = "no regular file";
    }
  }
  if (error) fail("cannot read the directory {}: {}", directory, error.message());
  require(!found.empty(),
          "the directory {} holds no files (names that begin with a dot and links to folders are "
          "left out)",
          directory);
  std::sort(found.begin(), found.end());
  for (std::string& path : found) files.push_back({std::move(path), true});
  for (const auto& [path, reason] : left_out) skipped.add(path, reason);
}

std::vector<InputFile> expand(const std::vector<std::string>& inputs, SkippedFiles& skipped) {
  require(!inputs.empty(), "no input was given; name files, directories, or - for stdin");
  require(std::count(inputs.begin(), inputs.end(), "-") <= 1, "stdin (-) can be read only once");
  std::vector<InputFile> files;
  for (const auto& input : inputs) {
    std::error_code error;
    const fs::file_status status =
        input == "-" ? fs::file_status(fs::file_type::character) : fs::status(input, error);
    require(fs::exists(status), "cannot read {}: {}", input,
            error ? error.message() : "no such file or directory");
    if (fs::is_directory(status))
      add_files_below(input, files, skipped);
    else
      files.push_back({input, false});
  }
  return files;
}

void check(const CorpusOptions& options) {
  require(options.document_separator.empty() || options.blank_lines == 0,
          "data.document_separator is \"{}\" and data.blank_lines is {}: only one of them can "
          "divide documents",
          options.document_separator, options.blank_lines);
  require(options.document_separator.find('\n') == std::string::npos,
          "data.document_separator must be one line, without a line break");
  require(options.blank_lines >= 0 && options.blank_lines <= 1000,
          "data.blank_lines is {}; it must lie between 0 (off) and 1000", options.blank_lines);
  require(!options.field.empty(), "data.field is empty; name the key that holds the text");
  require(options.max_bad_lines >= 0, "data.max_bad_lines is {}; it cannot be negative",
          options.max_bad_lines);
  SKEIN_CHECK(options.piece_bytes >= 8 && options.most_line_bytes >= 1);
}

bool same_file(const std::string& left, const std::string& right) {
  std::error_code error;
  if (fs::equivalent(left, right, error)) return true;
  const fs::path one = fs::weakly_canonical(left, error),
                 other = fs::weakly_canonical(right, error);
  return !error && one == other;
}

}  // namespace

std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs) {
  SkippedFiles skipped;
  std::vector<std::string> paths;
  for (InputFile& file : expand(inputs, skipped)) paths.push_back(std::move(file.path));
  return paths;
}

int64_t stored_bytes(const std::vector<std::string>& files) {
  int64_t total = 0;
  for (const auto& file : files) {
    std::error_code error;
    if (file == "-" || !fs::is_regular_file(file, error)) return -1;
    const auto bytes = fs::file_size(file, error);
    if (error) return -1;
    total += bytes;
  }
  return total;
}

bool holds_one_text(const std::string& path) {
  SkippedFiles skipped;
  return !InputFiles(path, skipped).archive();
}

void check_output(const std::string& option, const std::string& output,
                  const std::vector<std::string>& taken, ExistingFile existing, bool streams) {
  require(!output.empty(), "{} is empty; name the file to write", option);
  std::error_code error;
  require(!fs::is_directory(output, error), "{} is {}, which is a directory; name a file", option,
          output);
  const OutputTarget target = output_target(output);
  const fs::path directory = fs::path(target.path).parent_path();
  require(directory.empty() || fs::is_directory(directory, error),
          "{} is {}, but there is no directory {}", option, output, directory.native());
  for (const auto& file : taken)
    require(file == "-" || !same_file(file, output),
            "{} is {}, which is already used as {}; writing would destroy it, choose another name",
            option, output, file);
  if (streams && target.occupant == Occupant::stream) return;
  file_target(output, ExistingFile::replace, option);
  require(
      existing == ExistingFile::replace || target.occupant == Occupant::nothing,
      "{} is {}, which exists already; give --output.replace to replace it, or choose another name",
      option, output);
}

CorpusFormat format_of(const std::string& path, CorpusFormat wanted) {
  if (wanted != CorpusFormat::automatic) return wanted;
  return format_in_name(path) == NamedFormat::jsonl ? CorpusFormat::jsonl : CorpusFormat::text;
}

struct CorpusReader::Impl {
  Impl(const std::vector<std::string>& inputs, CorpusOptions given)
      : options(std::move(given)), bad(options.max_bad_lines) {
    expanded = expand(inputs, skipped);
    for (const InputFile& file : expanded) files.push_back(file.path);
    check(options);
    total = stored_bytes(files);
  }

  bool open_next() {
    while (input || open_input()) {
      if (auto source = input->next()) {
        documents = documents_in(std::move(source));
        return true;
      }
      finished += input->consumed();
      input.reset();
    }
    if (const std::string line = std::exchange(skipped, {}).line(); !line.empty())
      log::info("{}", line);
    return false;
  }

  bool open_input() {
    if (opened == expanded.size()) return false;
    const InputFile& file = expanded[opened++];
    input = std::make_unique<InputFiles>(file.path, skipped, file.found);
    return true;
  }

  std::unique_ptr<Documents> documents_in(std::unique_ptr<ByteSource> source) {
    const std::string& name = input->name();
    if (format_of(name, options.format) == CorpusFormat::jsonl)
      return jsonl_documents(std::move(source), name, options, bad);
    const bool guessed = name == "stdin" && options.format == CorpusFormat::automatic;
    return text_documents(std::move(source), options, guessed);
  }

  CorpusOptions options;
  SkippedFiles skipped;
  std::vector<InputFile> expanded;
  std::vector<std::string> files;
  BadLines bad;
  int64_t total = -1;
  size_t opened = 0;
  std::unique_ptr<InputFiles> input;
  std::unique_ptr<Documents> documents;
  int64_t finished = 0;
  int64_t document = 0;
  bool between = true;  // documents, rather than in one
};

CorpusReader::CorpusReader(const std::vector<std::string>& inputs, CorpusOptions options)
    : impl_(std::make_unique<Impl>(inputs, std::move(options))) {}

CorpusReader::~CorpusReader() = default;

bool CorpusReader::next(CorpusPiece& piece) {
  while (impl_->documents != nullptr || impl_->open_next()) {
    if (impl_->documents->next(piece)) {
      piece.document = impl_->document;
      piece.begins = std::exchange(impl_->between, !piece.continues);
      if (!piece.continues) ++impl_->document;
      return true;
    }
    impl_->documents.reset();
  }
  return false;
}

const std::vector<std::string>& CorpusReader::files() const { return impl_->files; }

int64_t CorpusReader::bytes_read() const {
  return impl_->finished + (impl_->input != nullptr ? impl_->input->consumed() : 0);
}

int64_t CorpusReader::bytes_total() const { return impl_->total; }
int64_t CorpusReader::bad_lines() const { return impl_->bad.count(); }

}  // namespace skein::data
