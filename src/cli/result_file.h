// What a command writes its result to, bit by bit: stdout, or a file that has its name only once it is whole.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace skein {

class ResultFile {
 public:
  // path "": stdout. A usage error naming the option where the file cannot be made.
  ResultFile(std::string option, std::string path);
  // Leaves nothing of what was not finished. Where the file system has files without names nothing is left either when the process is killed.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void write(std::string_view bytes);
  // Of a file: in place of its first bytes.
  void rewrite_begin(std::string_view bytes);
  void finish();

 private:
  void open();
  void give_name();

  std::string option_, path_, partial_;  // partial_: the name until it is whole
  std::FILE* file_ = nullptr;
  bool named_ = false;
};

}  // namespace skein
