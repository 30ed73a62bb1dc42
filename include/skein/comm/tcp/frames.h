// What ranks write while they meet, and the parsers of it: frames, what is in them, and the
// rendezvous file. What is read may be from anybody. Each parser takes what its writer here makes,
// or throws Error(failure) that says what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skein/comm/tcp/address.h"

namespace skein::tcp {

struct FrameHead {
  uint64_t magic = 0x5043546e69656b53;  // "SkeinTCP" where the least byte comes first
  uint32_t version = 2;
  uint32_t bytes = 0;  // that follow
};

std::string frame_of(std::string_view content);
// How many bytes of content follow `head`, the bytes of a FrameHead; an error where they are more
// than `most`.
size_t content_bytes(std::string_view head, size_t most);

// From a rank that connects to another.
struct Hello {
  int ranks = 0, rank = -1, to = -1;
  int port = 0;      // where it listens itself
  std::string host;  // its name, control characters made visible
};

std::string text_of(const Hello& hello);
Hello hello_in(std::string_view text);

// The answer to it: the job's number, or why not.
struct HelloReply {
  uint64_t job = 0;  // 0: refused
  std::string fault;
};

std::string text_of(const HelloReply& answer);
HelloReply reply_in(std::string_view text);

// From rank 0 when all have come, or why they have not.
struct RankRow {
  std::string name;  // "node7:4711", for messages
  Address address;
};

struct RankTable {
  std::vector<RankRow> rows;  // in rank order
  std::string fault;          // then there are no rows
};

constexpr size_t kLongestRow = 700, kLongestFault = 1 << 16;

std::string text_of(const RankTable& table);
RankTable table_in(std::string_view text, int ranks);

// Where rank 0 is to be found, as its rendezvous file says.
struct RendezvousRecord {
  std::vector<Address> addresses;  // of one host
  uint64_t job = 0;                // a number drawn by rank 0; 0 where it is not known beforehand
  int ranks = 0;                   // 0 likewise
  std::string secret;              // "" likewise
};

std::string text_of(const RendezvousRecord& record);
RendezvousRecord record_in(std::string_view text);

}  // namespace skein::tcp
