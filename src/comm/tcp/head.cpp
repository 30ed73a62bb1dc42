#include "skein/comm/tcp/head.h"

#include "skein/core/error.h"

namespace skein::tcp {
namespace {

std::string fault_of_code(const TcpHead& head, int ranks) {
  if (head.kind == TcpKind::abort)
    return may_end_a_job(head.code) ? ""
                                    : fmt::format("the exit code {}, which ends no job", head.code);
  if (head.kind == TcpKind::loss)
    return head.code >= 0 && head.code < ranks
               ? ""
               : fmt::format("the loss of rank {} of {}", head.code, ranks);
  return head.code == 0 ? "" : fmt::format("a message with code {}", head.code);
}

}  // namespace

bool may_end_a_job(int code) { return code >= 1 && code <= 255; }

std::string fault_of(const TcpHead& head, int ranks) {
  const auto kind = static_cast<int32_t>(head.kind);
  if (kind < 0 || kind > static_cast<int32_t>(TcpKind::abort))
    return fmt::format("a message of unknown kind {}", kind);
  if (head.kind == TcpKind::message && head.bytes < 0)
    return fmt::format("a message of {} bytes", head.bytes);
  const bool plain = head.group == 0 && head.tag == 0 && head.bytes == 0;
  if (head.kind != TcpKind::message && !plain)
    return fmt::format("{} bytes with a message of kind {}", head.bytes, kind);
  return fault_of_code(head, ranks);
}

}  // namespace skein::tcp
