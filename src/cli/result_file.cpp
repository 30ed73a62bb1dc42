#include "result_file.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "skein/core/error.h"

namespace skein {

ResultFile::ResultFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  require(!std::filesystem::is_directory(path_, ignored), "{}={} is a folder; give a file", option_, path_);
  partial_ = path_ + ".partial";
  file_.open(partial_, std::ios::binary | std::ios::trunc);
  require(file_.is_open(), "{}={} cannot be written; give a file in a folder that exists and may be written", option_, path_);
}

ResultFile::~ResultFile() {
  std::error_code ignored;
  if (!finished_ && !partial_.empty()) std::filesystem::remove(partial_, ignored);
}

void ResultFile::write(std::string_view bytes) {
  if (path_.empty()) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail("the result cannot be written to stdout");
  } else if (!file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    fail("{}={} cannot be written: is the disk full?", option_, path_);
  }
}

void ResultFile::rewrite_begin(std::string_view bytes) {
  file_.seekp(0);
  write(bytes);
}

void ResultFile::finish() {
  if (path_.empty()) {
    if (std::fflush(stdout) != 0) fail("the result cannot be written to stdout");
    return;
  }
  file_.close();
  std::error_code error;
  if (file_) std::filesystem::rename(partial_, path_, error);
  if (!file_ || error) fail("{}={} cannot be written: {}", option_, path_, error ? error.message() : "is the disk full?");
  finished_ = true;
}

}  // namespace skein
