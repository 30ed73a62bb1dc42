// libarchive over a source: a compressed stream, or the members of an archive one after the other.
// Memory is bounded whatever they unpack to.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/files/byte_source.h"

struct archive;

namespace skein::data {

class Unpacker {
 public:
  // stream: of xz, zstd, bzip2 or lz4, several streams end to end as one. archive: tar or zip.
  enum class Form { stream, archive };
  enum class Kind { file, folder, other };
  struct Member {
    std::string name;
    Kind kind = Kind::file;
  };

  // `name` is the input's name and `kind` ("zip") the format's, both for errors.
  Unpacker(std::unique_ptr<ByteSource> raw, std::string name, std::string kind, Form form);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // The next member, whatever is left of the one before; of a stream there is one, or none if it
  // unpacks to nothing. False at the end. Here and in read(): a usage error that names input and
  // member when data is damaged, cut short or encrypted. After an error each call throws it again.
  bool next(Member& member);
  // Bytes of that member; 0 only at its end, where its checksum was found right, and where there is
  // none.
  size_t read(char* bytes, size_t room);
  int64_t consumed() const { return raw_->consumed(); }

 private:
  struct Callbacks;
  template <class Step>
  auto unless_failed(const Step& step);
  bool next_member(Member& member);
  size_t read_member(char* bytes, size_t room);
  void skip_rest();
  void check_stream_end();
  void check_archive_end(int64_t before);
  [[noreturn]] void refuse();
  [[noreturn]] void cut_short() const;
  std::string where() const;

  std::unique_ptr<ByteSource> raw_;
  std::string name_, kind_, member_;
  Form form_;
  std::vector<char> buffer_;
  archive* archive_;
  std::exception_ptr thrown_;   // by raw_, which libarchive must not see
  std::exception_ptr failure_;  // that ended the reading
  int64_t handed_ = 0;          // bytes that libarchive was given
  bool inside_ = false;         // a member is open
  bool ended_ = false;          // libarchive was told that there are no more bytes
};

// What a stream unpacks to.
std::unique_ptr<ByteSource> unpacked_stream(std::unique_ptr<ByteSource> raw,
                                            const std::string& name, const std::string& kind);
// The member that `unpacker` has come to.
std::unique_ptr<ByteSource> member_source(std::shared_ptr<Unpacker> unpacker);

}  // namespace skein::data
