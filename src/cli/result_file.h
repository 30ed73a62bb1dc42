// What a command writes its result to, bit by bit: stdout, or a file that has its name only once it is whole.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace skein {

class ResultFile {
 public:
  // path "": stdout. A usage error naming the option where the file cannot be made.
  ResultFile(std::string option, std::string path);
  // Removes what was not finished.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void write(std::string_view bytes);
  // Of a file: in place of its first bytes.
  void rewrite_begin(std::string_view bytes);
  void finish();

 private:
  std::string option_, path_, partial_;
  std::ofstream file_;
  bool finished_ = false;
};

}  // namespace skein
