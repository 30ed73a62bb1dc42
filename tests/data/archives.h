// Compressed data and archives for tests, made by libarchive.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace skein::test {

struct ArchiveMember {
  std::string name, text;
  unsigned type = AE_IFREG;
};

// format: "raw" (of one member), "pax", "ustar" or "zip"; filter: "none", "gzip", "xz", "zstd",
// "bzip2" or "lz4"; options as archive_write_set_options has them.
inline std::string archived(const std::string& format, const std::string& filter,
                            const std::vector<ArchiveMember>& members,
                            const std::string& options = "") {
  archive* out = archive_write_new();
  size_t room = size_t{1} << 20, used = 0;
  for (const ArchiveMember& member : members) room += 2 * member.text.size();
  std::string bytes(room, '\0');
  const auto made = [out](int status) {
    if (status != ARCHIVE_OK) throw std::runtime_error(archive_error_string(out));
  };
  made(archive_write_set_format_by_name(out, format.c_str()));
  if (filter != "none") made(archive_write_add_filter_by_name(out, filter.c_str()));
  archive_write_set_bytes_in_last_block(out, 1);
  if (!options.empty()) made(archive_write_set_options(out, options.c_str()));
  if (options.find("encryption") != std::string::npos)
    made(archive_write_set_passphrase(out, "secret"));
  made(archive_write_open_memory(out, bytes.data(), bytes.size(), &used));
  for (const ArchiveMember& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, 0644);
    if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, member.text.c_str());
    if (member.type == AE_IFREG)
      archive_entry_set_size(entry, static_cast<la_int64_t>(member.text.size()));
    made(archive_write_header(out, entry));
    if (member.type == AE_IFREG) archive_write_data(out, member.text.data(), member.text.size());
    archive_entry_free(entry);
  }
  made(archive_write_close(out));
  archive_write_free(out);
  bytes.resize(used);
  return bytes;
}

// filter: as above. zstd without a checksum, which the writer does not make.
inline std::string packed(const std::string& filter, const std::string& text) {
  return archived("raw", filter, {{"data", text}});
}

}  // namespace skein::test
