// Heads of messages between ranks, one after the other, as a mesh of three would judge them.
#include <cstring>

#include "skein/comm/tcp/head.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  constexpr int ranks = 3;
  skein::tcp::TcpHead head;
  for (; input.size() >= sizeof(head); input.remove_prefix(sizeof(head))) {
    std::memcpy(&head, input.data(), sizeof(head));
    if (!skein::tcp::fault_of(head, ranks).empty()) continue;
    const bool message = head.kind == skein::tcp::TcpKind::message;
    if (head.bytes < 0 || (!message && head.bytes != 0)) std::abort();
    // What the reader does with them: an index, and an exit code.
    if (head.kind == skein::tcp::TcpKind::loss && (head.code < 0 || head.code >= ranks))
      std::abort();
    if (head.kind == skein::tcp::TcpKind::abort && ((head.code & 0xFF) == 0 || head.code > 255))
      std::abort();
    if (static_cast<int32_t>(head.kind) < 0 || head.kind > skein::tcp::TcpKind::abort) std::abort();
  }
}
