#include "foreign_content.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

using namespace std::string_view_literals;

struct ContentSignature {
  std::string_view bytes;
  const char* what;
  const char* advice;
};

constexpr const char* kLeaveOut = "leave it out";
constexpr const char* kTable =
    "convert it to JSONL, for instance with DuckDB: `COPY (SELECT text FROM 'x.parquet') TO "
    "'x.jsonl'`";
constexpr const char* kArrow =
    "convert it to JSONL, for instance with pyarrow and pandas: "
    "`pyarrow.feather.read_table(x).to_pandas().to_json('x.jsonl', orient='records', lines=True)`";

// None of these can begin UTF-8 text, or would be sensible text. Longer ones before those they
// begin with.
constexpr ContentSignature kSignatures[] = {
    {"\xFF\xFE\0\0"sv, "UTF-32 text", "convert it with `iconv -f UTF-32 -t UTF-8`"},
    {"\xFF\xFE"sv, "UTF-16 text", "convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"\xFE\xFF"sv, "UTF-16 text", "convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"\x89PNG\r\n"sv, "a PNG image", kLeaveOut},
    {"\xFF\xD8\xFF"sv, "a JPEG image", kLeaveOut},
    {"\x7F\x45LF"sv, "a program or library (ELF)", kLeaveOut},
    {"ARROW1\0\0"sv, "an Arrow or Feather file", kArrow},
    {"\xFF\xFF\xFF\xFF"sv, "an Arrow stream", kArrow},
    {"PAR1"sv, "a Parquet file", kTable},
    {"\x89HDF"sv, "an HDF5 file", "is it already a token store? Those are not encoded again"},
    {"%PDF-"sv, "a PDF file", "extract its text, for instance with `pdftotext`"},
    {"\xD0\xCF\x11\xE0"sv, "an old Office document", "save it as text"},
    {"7z\xBC\xAF"sv, "a 7z archive", "unpack it"},
    {"Rar!\x1A\x07"sv, "a RAR archive", "unpack it"},
    {"SQLite format 3\0"sv, "an SQLite database", "write its texts as JSONL"},
    {"\x93NUMPY"sv, "a NumPy array", kLeaveOut},
    {"OggS\0"sv, "Ogg audio or video", kLeaveOut},
};

// Enough of them, and a large enough share, not to be a slip in a text.
bool many(size_t count, size_t least, size_t share, std::string_view head) {
  return count >= least && count * share >= head.size();
}

bool is_control(char byte) {
  const unsigned char code = byte;
  return code == 0x7F || (code < 0x20 && (code < '\b' || code > '\r') && code != 0x1B);
}

size_t invalid_bytes(std::string_view text) {
  size_t count = 0;
  for (size_t good; (good = text::valid_bytes(text)) < text.size(); ++count)
    text.remove_prefix(good + 1);
  return count;
}

// Of a zip file: what stands first in it; "" of any other.
std::string_view first_member(std::string_view head) {
  constexpr size_t kHeader = 30, kNameBytes = 26;
  if (!head.starts_with("PK\x03\x04"sv) || head.size() < kHeader) return "";
  const auto byte = [&](size_t i) -> unsigned char { return head[i]; };
  return head.substr(kHeader, byte(kNameBytes) | byte(kNameBytes + 1) << 8);
}

}  // namespace

ForeignContent packed_content(std::string_view head) {
  const std::string_view first = first_member(head);
  if (first == "[Content_Types].xml" || first.starts_with("_rels/"))
    return {"an Office document", "save it as text"};
  if (first == "mimetype") return {"an OpenDocument text or an e-book (EPUB)", "save it as text"};
  if (first.starts_with("META-INF/")) return {"a Java archive", kLeaveOut};
  if (first.ends_with("/data.pkl") || first.ends_with("/.format_version") ||
      first.ends_with("/byteorder"))
    return {"weights of PyTorch", kLeaveOut};
  if (first.ends_with(".npy")) return {"NumPy arrays", kLeaveOut};
  return {};
}

ForeignContent foreign_content(std::string_view head) {
  if (ForeignContent packed = packed_content(head); !packed.what.empty()) return packed;
  for (const auto& [bytes, what, advice] : kSignatures)
    if (head.starts_with(bytes)) return {what, advice};
  const size_t nulls = std::count(head.begin(), head.end(), '\0');
  if (many(nulls, 4, 512, head))
    return {fmt::format("binary data ({} of its first {} bytes are 0)", nulls, head.size()),
            "leave it out; if it is UTF-16, convert it with `iconv -f UTF-16LE -t UTF-8`"};
  const size_t controls = std::count_if(head.begin(), head.end(), is_control);
  if (many(controls, 8, 10, head))
    return {fmt::format("binary data ({} of its first {} bytes are control characters)", controls,
                        head.size()),
            kLeaveOut};
  if (const size_t invalid = invalid_bytes(head); many(invalid, 32, 4, head))
    return {fmt::format(
                "binary data or text of another encoding ({} of its first {} bytes are no UTF-8)",
                invalid, head.size()),
            "leave it out, or convert it, for instance with `iconv -f WINDOWS-1251 -t UTF-8`"};
  return {};
}

}  // namespace skein::data
