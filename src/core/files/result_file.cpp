#include "skein/core/files/result_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "skein/core/error.h"

namespace skein {

ResultFile::ResultFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  if (path_.empty()) return;
  target_ = output_target(path_);
  require(target_.occupant != Occupant::folder, "{}={} is a folder; give a file", option_, path_);
  if (!stream()) target_.path = file_target(path_, ExistingFile::replace, option_);
  open();
  require(file_ != nullptr,
          "{}={} cannot be written; give a file in a folder that exists and may be written",
          option_, path_);
}

void ResultFile::open() {
  if (!stream()) return open_file();
  const int opened = open_stream(target_);
  if (opened >= 0) file_ = ::fdopen(opened, "wb");
}

void ResultFile::open_file() {
  partial_ = target_.path + ".partial";
  const std::filesystem::path file(target_.path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  int opened = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  // Not every file system has files without names.
  named_ = opened < 0;
  if (named_) opened = make_temporary_file(partial_);
  if (opened >= 0) file_ = ::fdopen(opened, "wb");
}

ResultFile::~ResultFile() {
  if (file_) std::fclose(file_);
  if (named_) ::unlink(partial_.c_str());
}

void ResultFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), path_.empty() ? stdout : file_) == bytes.size())
    return;
  if (path_.empty()) fail("the result cannot be written to stdout");
  fail("{}={} cannot be written: is the disk full?", option_, path_);
}

void ResultFile::rewrite_begin(std::string_view bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0)
    fail("{}={} cannot be written: {}", option_, path_, std::strerror(errno));
  write(bytes);
}

void ResultFile::give_name() {
  const std::string opened = "/proc/self/fd/" + std::to_string(::fileno(file_));
  ::unlink(partial_.c_str());
  if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, partial_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    fail("{}={} cannot be written: {}", option_, path_, std::strerror(errno));
  named_ = true;
}

void ResultFile::finish() {
  if (path_.empty()) {
    if (std::fflush(stdout) != 0) fail("the result cannot be written to stdout");
    return;
  }
  if (std::fflush(file_) != 0)
    fail("{}={} cannot be written: {}", option_, path_, std::strerror(errno));
  if (stream()) return;
  if (!named_) give_name();
  publish(partial_, target_.path, ExistingFile::replace);
  named_ = false;
}

void write_result(const std::string& option, const std::string& path, std::string_view bytes) {
  ResultFile file(option, path);
  file.write(bytes);
  file.finish();
}

void make_result_folder(const std::string& option, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, "the folder {}={} cannot be made: {}; give one that may be written", option, path,
          error.message());
  require(std::filesystem::is_directory(path),
          "the folder {}={} cannot be made: a file of that name is in the way; give another one",
          option, path);
}

ResultFolder::ResultFolder(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  make_result_folder(option_, path_);
}

void ResultFolder::write(const std::string& name, std::string_view bytes) {
  const std::string path = path_ + "/" + name;
  write_result(option_, path, bytes);
  files_.push_back(path);
}

}  // namespace skein
