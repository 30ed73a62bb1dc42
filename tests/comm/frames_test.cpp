// The parsers of what a stranger may have sent.
#include "skein/comm/tcp/frames.h"

#include <functional>
#include <gtest/gtest.h>

#include "skein/core/error.h"

#include "support/expect_error.h"

namespace skein {
namespace {

const tcp::Hello kHello{4, 2, 0, 4711, "node7"};

// "" when it is taken.
std::string refusal(const std::function<void()>& parse) {
  return test::error_text(ExitCode::failure, parse);
}

std::string refused_hello(const std::string& text) {
  return refusal([&] { tcp::hello_in(text); });
}

std::string refused_head(tcp::FrameHead head, size_t most) {
  const std::string_view bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  return refusal([&] { tcp::content_bytes(bytes, most); });
}

TEST(Frames, AHeadSaysHowMuchFollows) {
  const std::string frame = tcp::frame_of("three words here");
  EXPECT_EQ(tcp::content_bytes(frame.substr(0, sizeof(tcp::FrameHead)), 16), 16u);
  EXPECT_EQ(frame.substr(sizeof(tcp::FrameHead)), "three words here");
}

TEST(Frames, EveryFieldOfAHeadIsChecked) {
  tcp::FrameHead magic, version, large;
  magic.magic ^= 1;
  version.version = 9;
  large.bytes = 17;
  EXPECT_EQ(refused_head(magic, 16), "the other end is no rank of Skein");
  EXPECT_NE(refused_head(version, 16).find("version 9 of Skein's protocol, this process version 2"),
            std::string::npos);
  EXPECT_EQ(refused_head(large, 16), "the other end announced 17 bytes where at most 16 may come");
  large.bytes = 0xFFFFFFFF;
  EXPECT_NE(refused_head(large, 1 << 20).find("4294967295 bytes"), std::string::npos);
  EXPECT_NE(refusal([] { tcp::content_bytes("short", 16); }), "");
}

TEST(Frames, AHelloIsReadAsItWasWritten) {
  const tcp::Hello read = tcp::hello_in(text_of(kHello));
  EXPECT_EQ(text_of(read), "hello 4 2 0 4711 node7");
  EXPECT_EQ(read.host, "node7");
}

TEST(Frames, HellosThatAreNoneAreRefused) {
  for (const char* text :
       {"", "hello", "hallo 4 2 0 4711 node7", "hello 4 2 0 4711", "hello 4 2 0 4711 ",
        "hello 4 2 0 4711 node7 more", "hello 4 2 0 4711 node7\n ", "hello  4 2 0 4711 node7",
        "hello 0 2 0 4711 node7", "hello -4 2 0 4711 node7", "hello 4 -1 0 4711 node7",
        "hello 4 2 -1 4711 node7", "hello 4 2 0 0 node7", "hello 4 2 0 65536 node7",
        "hello 4 2 0 47x1 node7", "hello 99999999999 2 0 4711 node7", "hello +4 2 0 4711 node7"})
    EXPECT_EQ(refused_hello(text), "the other end did not say who it is") << text;
  EXPECT_EQ(refused_hello("hello 4 2 0 4711 " + std::string(64, 'n')), "");
  EXPECT_NE(refused_hello("hello 4 2 0 4711 " + std::string(65, 'n')), "");
}

TEST(Frames, NoNameSteersATerminal) {
  EXPECT_EQ(tcp::hello_in("hello 4 2 0 4711 n\x1b[2J\r\xff").host, "n\\x1B[2J\\x0D\\xFF");
  EXPECT_EQ(tcp::reply_in("refused a\x1b]0;x\x07").fault, "a\\x1B]0;x\\x07");
  EXPECT_EQ(tcp::table_in("refused \x1b", 2).fault, "\\x1B");
  EXPECT_EQ(tcp::table_in("table\na\x1b:1 h\x1b 1\n", 1).rows[0].name, "a\\x1B:1");
}

TEST(Frames, RepliesAreReadAsTheyWereWritten) {
  EXPECT_EQ(tcp::reply_in(text_of(tcp::HelloReply{77, ""})).job, 77u);
  const tcp::HelloReply refused =
      tcp::reply_in(text_of(tcp::HelloReply{0, "give each its own rank"}));
  EXPECT_EQ(refused.job, 0u);
  EXPECT_EQ(refused.fault, "give each its own rank");
  for (const char* text : {"", "welcome", "welcome 0", "welcome -1", "welcome 1 2", "hello 1"})
    EXPECT_NE(refusal([&] { tcp::reply_in(text); }), "") << text;
}

TEST(Frames, TablesAreReadAsTheyWereWritten) {
  const tcp::RankTable table{{{"a:1", {"-", 1}}, {"b:2", {"::1", 2}}}, ""};
  const tcp::RankTable read = tcp::table_in(text_of(table), 2);
  ASSERT_EQ(read.rows.size(), 2u);
  EXPECT_EQ(read.rows[1].name, "b:2");
  EXPECT_EQ(read.rows[1].address.str(), "[::1]:2");
  EXPECT_EQ(tcp::table_in(text_of(tcp::RankTable{{}, "after 1 s"}), 2).fault, "after 1 s");
  for (const char* text : {"", "table", "table\na:1 h 1", "table\na:1 h 1\nb:2 h 0\n",
                           "table\na:1 h 1\nb:2 h 2\nc:3 h 3\n", "tables\na:1 h 1\nb:2 h 2\n"})
    EXPECT_NE(refusal([&] { tcp::table_in(text, 2); }), "") << text;
}

TEST(Frames, RecordsAreReadAsTheyWereWritten) {
  const tcp::RendezvousRecord record{{{"10.0.0.7", 4711}, {"::1", 4711}}, 77, 2, "00ff"};
  const std::string text = text_of(record);
  const tcp::RendezvousRecord read = tcp::record_in(text);
  EXPECT_EQ(text_of(read), text);
  EXPECT_EQ(read.secret, "00ff");
  for (size_t bytes = 0; bytes + 1 < text.size(); ++bytes)
    EXPECT_NE(refusal([&] { tcp::record_in(text.substr(0, bytes)); }), "") << bytes;
  for (const char* other :
       {"skein rendezvous 1\n2 77\nh 1\nend\n", "skein rendezvous 2\n2 77 s\nend\n",
        "skein rendezvous 2\n2 0 s\nh 1\nend\n", "skein rendezvous 2\n2 77 s\nh 70000\nend\n"})
    EXPECT_NE(refusal([&] { tcp::record_in(other); }), "") << other;
}

// Whatever a byte becomes, the parsers take it or refuse it; the sanitizers look on.
TEST(Frames, NoByteDoesHarm) {
  const std::string hello = text_of(kHello), record = "skein rendezvous 2\n2 7 s\nh 1\nend\n";
  for (int value = 0; value < 256; ++value) {
    for (size_t at = 0; at < record.size(); ++at) {
      std::string one = hello, other = record;
      one[at % one.size()] = static_cast<char>(value);
      other[at] = static_cast<char>(value);
      refused_hello(one);
      refusal([&] { tcp::record_in(other); });
      refusal([&] { tcp::table_in(one, 3); });
    }
  }
}

}  // namespace
}  // namespace skein
