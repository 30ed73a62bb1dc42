#include "skein/comm/tcp/frames.h"

#include <cstring>
#include <limits>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein::tcp {
namespace {

constexpr const char* kFirstLine = "skein rendezvous 2\n";
constexpr size_t kLongestHost = 64;   // HOST_NAME_MAX
constexpr size_t kLongestName = 300;  // of one whose characters were made visible, with its port
constexpr int kMostRanks = 1 << 20, kMostPorts = 65535;

// The words of a text, which one space or line break divides.
class Words {
 public:
  // refusal: what is said of a text that is not as expected
  Words(std::string_view text, const char* refusal) : rest_(text), refusal_(refusal) {}

  std::string_view next() {
    const size_t end = rest_.find_first_of(" \n");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    if (word.empty()) refuse();
    return word;
  }
  template <class Whole>
  Whole number(Whole least, Whole most = std::numeric_limits<Whole>::max()) {
    const auto value = parsed_number<Whole>(next());
    if (!value || *value < least || *value > most) refuse();
    return *value;
  }
  int port() { return number(1, kMostPorts); }
  // Of a host, as messages may show it.
  std::string name(size_t longest = kLongestName) {
    const std::string_view word = next();
    if (word.size() > longest) refuse();
    return visible(word);
  }
  void expect(std::string_view word) {
    if (next() != word) refuse();
  }
  void end() const {
    if (!rest_.empty()) refuse();
  }

 private:
  [[noreturn]] void refuse() const { fail("{}", refusal_); }

  std::string_view rest_;
  const char* refusal_;
};

// What stands behind `word`; nothing when the text begins otherwise.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string fault_in(std::string_view text) { return visible(text.substr(0, kLongestFault)); }

}  // namespace

std::string frame_of(std::string_view content) {
  FrameHead head;
  head.bytes = narrow<uint32_t>(content.size());
  std::string frame(reinterpret_cast<const char*>(&head), sizeof(head));
  frame += content;
  return frame;
}

size_t content_bytes(std::string_view head, size_t most) {
  const FrameHead own;
  FrameHead read;
  if (head.size() != sizeof(read)) fail("the other end is no rank of Skein");
  std::memcpy(&read, head.data(), sizeof(read));
  if (read.magic != own.magic) fail("the other end is no rank of Skein");
  if (read.version != own.version)
    fail(
        "the other end speaks version {} of Skein's protocol, this process version {}; start all "
        "ranks from one build",
        read.version, own.version);
  if (read.bytes > most)
    fail("the other end announced {} bytes where at most {} may come", read.bytes, most);
  return read.bytes;
}

std::string text_of(const Hello& hello) {
  return fmt::format("hello {} {} {} {} {}", hello.ranks, hello.rank, hello.to, hello.port,
                     hello.host);
}

Hello hello_in(std::string_view text) {
  Words words(text, "the other end did not say who it is");
  words.expect("hello");
  Hello hello;
  hello.ranks = words.number(1, kMostRanks);
  hello.rank = words.number(0, kMostRanks);
  hello.to = words.number(0, kMostRanks);
  hello.port = words.port();
  hello.host = words.name(kLongestHost);
  words.end();
  return hello;
}

std::string text_of(const HelloReply& answer) {
  return answer.job != 0 ? fmt::format("welcome {}", answer.job) : "refused " + answer.fault;
}

HelloReply reply_in(std::string_view text) {
  if (take_word(text, "refused ")) return {0, fault_in(text)};
  Words words(text, "the other end did not answer a hello");
  words.expect("welcome");
  const HelloReply answer{words.number(uint64_t{1}), ""};
  words.end();
  return answer;
}

std::string text_of(const RankTable& table) {
  if (!table.fault.empty()) return "refused " + table.fault.substr(0, kLongestFault);
  std::string text = "table\n";
  for (const auto& [name, address] : table.rows)
    text += fmt::format("{} {} {}\n", name, address.host, address.port);
  return text;
}

RankTable table_in(std::string_view text, int ranks) {
  if (take_word(text, "refused ")) return {{}, fault_in(text)};
  Words words(text, "rank 0 sent no table of ranks; start all ranks from one build");
  words.expect("table");
  RankTable table;
  for (int rank = 0; rank < ranks; ++rank)
    table.rows.push_back(RankRow{words.name(), {words.name(), words.port()}});
  words.end();
  return table;
}

std::string text_of(const RendezvousRecord& record) {
  std::string text =
      fmt::format("{}{} {} {}\n", kFirstLine, record.ranks, record.job, record.secret);
  for (const Address& address : record.addresses)
    text += fmt::format("{} {}\n", address.host, address.port);
  return text + "end\n";
}

RendezvousRecord record_in(std::string_view text) {
  if (!take_word(text, kFirstLine))
    fail("it is no rendezvous that this version of Skein has written");
  Words words(text, "it is not whole");
  RendezvousRecord record;
  record.ranks = words.number(1, kMostRanks);
  record.job = words.number(uint64_t{1});
  record.secret = words.next();
  for (std::string_view word = words.next(); word != "end"; word = words.next())
    record.addresses.push_back({visible(word), words.port()});
  words.end();
  if (record.addresses.empty()) fail("it names no address");
  return record;
}

}  // namespace skein::tcp
