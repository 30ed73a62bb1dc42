// The files of text in one input: a file, plain or compressed, or the members of a tar or zip
// archive, itself plain or compressed, which are read like the files of a folder. All of it is
// known by its first bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/files/byte_source.h"

#include "peeked_source.h"
#include "unpacker.h"

namespace skein::data {

// What of folders and archives is not read.
class SkippedFiles {
 public:
  void add(const std::string& name, const std::string& reason);
  // "12 files are left out: a/.git (hidden), b.png (a PNG image), ..."; the first ten are named. ""
  // for none.
  std::string line() const;

 private:
  std::vector<std::string> named_;
  int64_t count_ = 0;
};

inline bool hidden_file(const std::filesystem::path& path) {
  return path.filename().native().starts_with('.');
}

class InputFiles {
 public:
  // path: "-" for stdin. found: in a folder, rather than named by the user; what is no text is then
  // left out, else a usage error. Left out of archives are hidden files, links and devices,
  // archives inside, and what is no text. Usage errors as open_source, and for archives as
  // Unpacker; `skipped` must outlive this.
  InputFiles(const std::string& path, SkippedFiles& skipped, bool found = false);

  // The next file of text; null at the end. The one before must not be read any more.
  std::unique_ptr<ByteSource> next();
  // Of the file handed out last: the path, "stdin", or ARCHIVE/MEMBER.
  const std::string& name() const { return name_; }
  bool archive() const { return unpacker_ != nullptr; }
  // Bytes taken from the input so far.
  int64_t consumed() const { return *taken_; }

 private:
  std::unique_ptr<ByteSource> next_single();
  std::unique_ptr<ByteSource> next_member();

  std::string name_, input_;
  SkippedFiles& skipped_;
  bool found_;
  std::shared_ptr<int64_t> taken_ = std::make_shared<int64_t>(0);
  std::unique_ptr<PeekedSource> single_;  // what is no archive, until it is handed out
  std::shared_ptr<Unpacker> unpacker_;    // of an archive
};

}  // namespace skein::data
