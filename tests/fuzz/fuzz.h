// What the fuzz targets share. A target is X_fuzz.cpp with a function fuzz() and a folder corpus/X
// of seeds; tests/fuzz/run builds and runs it. A parser may refuse its input with an Error, of the
// user or of the outside world; anything else (another exception, a failed check of our own, a
// sanitizer's report, much memory, much time) is a find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include "skein/core/error.h"

void fuzz(std::string_view input);

namespace skein::test {

// A file of this process below /dev/shm, written anew for each input, for parsers that read files.
class FuzzFile {
 public:
  explicit FuzzFile(const std::string& name) {
    static const std::string folder = make_folder();
    path_ = folder + "/" + name;
  }
  void write(std::string_view bytes) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
      std::abort();
    std::fclose(file);
  }
  void remove() const { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  static std::string& folder_made() {
    static std::string folder;
    return folder;
  }
  static std::string make_folder() {
    std::string& folder = folder_made();
    folder = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/skein-fuzz-XXXXXX"
                                                       : "/tmp/skein-fuzz-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(folder_made(), ignored);
    });
    return folder;
  }

  std::string path_;
};

// The part of `input` up to the first line "----", which is taken off with the line.
inline std::string_view take_part(std::string_view& input) {
  const size_t at = input.find("----\n");
  const std::string_view part = input.substr(0, at);
  input.remove_prefix(at == input.npos ? input.size() : at + 5);
  return part;
}

}  // namespace skein::test

// One source a program includes this header, so it may hold the entry.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    fuzz({reinterpret_cast<const char*>(data), size});
  } catch (const skein::Error& error) {
    if (error.code() == skein::ExitCode::internal) {
      std::fprintf(stderr, "%s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
