// What ranks write while they meet: the head of a frame, a hello, a reply, a table, the file. What
// is taken reads as itself when it is written again. The first byte says which.
#include "skein/comm/tcp/frames.h"

#include "../fuzz.h"

namespace {

using namespace skein;

void check(bool good) {
  if (!good) std::abort();
}

// Writing what was read and reading that again changes nothing.
template <class Read>
void read_twice(std::string_view input, const Read& read) {
  const std::string once = skein::tcp::text_of(read(input));
  check(skein::tcp::text_of(read(once)) == once);
}

bool steers(const std::string& text) {
  return text.find('\x1b') != text.npos || text.find('\0') != text.npos;
}

void read_head(std::string_view input) {
  constexpr size_t most = 1024;
  const size_t head = std::min(input.size(), sizeof(skein::tcp::FrameHead));
  check(skein::tcp::content_bytes(input.substr(0, head), most) <= most);
}

void read_hello(std::string_view input) {
  const skein::tcp::Hello hello = skein::tcp::hello_in(input);
  check(!steers(hello.host) && hello.port > 0 && hello.port < 65536);
  check(hello.ranks > 0 && hello.rank >= 0 && hello.to >= 0);
}

void read_table(std::string_view input) {
  const skein::tcp::RankTable table = skein::tcp::table_in(input, 3);
  check(table.rows.size() == 3 || table.rows.empty());
  for (const skein::tcp::RankRow& row : table.rows)
    check(!steers(row.name) && !steers(row.address.host));
  check(!steers(table.fault));
}

}  // namespace

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const char kind = input.front();
  input.remove_prefix(1);
  if (kind == 'h') read_head(input);
  if (kind == 'i') read_hello(input);
  if (kind == 'r') check(!steers(skein::tcp::reply_in(input).fault));
  if (kind == 't') read_table(input);
  if (kind == 'p')
    read_twice(input, [](std::string_view text) { return skein::tcp::record_in(text); });
}
