// What a command writes its result to, bit by bit: stdout, a pipe or a device, or a file that has
// its name only once it is whole.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "skein/core/files/output_target.h"

namespace skein {

class ResultFile {
 public:
  // path "": stdout. A pipe or a device, such as /dev/stdout, is written as it is. A usage error
  // naming the option where the file cannot be made, or something stands there that is none of
  // these.
  ResultFile(std::string option, std::string path);
  // Leaves nothing of what was not finished. Where the file system has files without names nothing
  // is left either when the process is killed.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void write(std::string_view bytes);
  // Whether bytes wait in a file until finish(), and can still be rewritten.
  bool rewritable() const { return file_ && !stream(); }
  // Of what is rewritable: instead of its first bytes.
  void rewrite_begin(std::string_view bytes);
  void finish();

 private:
  bool stream() const { return target_.occupant == Occupant::stream; }
  void open();
  void open_file();
  void give_name();

  std::string option_, path_;
  OutputTarget target_;
  std::string partial_;  // the name until it is whole
  std::FILE* file_ = nullptr;
  bool named_ = false;
};

// The whole of a result.
void write_result(const std::string& option, const std::string& path, std::string_view bytes);

// The folder of several results, with those above it. A usage error naming the option and the
// system's reason where it cannot be made.
void make_result_folder(const std::string& option, const std::string& path);

// Such a folder, and what is written into it.
class ResultFolder {
 public:
  ResultFolder(std::string option, std::string path);
  void write(const std::string& name, std::string_view bytes);
  // The paths of what was written, in that order.
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::string option_, path_;
  std::vector<std::string> files_;
};

}  // namespace skein
