#include "content_sum.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>
#include <vector>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/core/files/files.h"

namespace skein::data {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

std::optional<uint64_t> content_sum(int descriptor, const std::string& name, uint64_t begin,
                                    uint64_t bytes, const std::function<bool()>& go_on) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (!state || XXH3_64bits_reset(state.get()) != XXH_OK)
    fail("out of memory to sum the bytes of {}", name);
  std::vector<char> piece(std::min(kPieceBytes, bytes));
  for (uint64_t done = 0; done < bytes;) {
    const size_t wanted = std::min<uint64_t>(piece.size(), bytes - done);
    const ssize_t got = ::pread(descriptor, piece.data(), wanted, begin + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      fail("cannot read {} from byte {} on: {}", name, begin + done, std::strerror(errno));
    if (got == 0)
      fail("{} ends at byte {}, but had {} when it was opened; was it cut or replaced since?", name,
           begin + done, begin + bytes);
    XXH3_64bits_update(state.get(), piece.data(), got);
    done += got;
    if (go_on && !go_on()) return std::nullopt;
  }
  return XXH3_64bits_digest(state.get());
}

uint64_t content_sum(const std::string& path, uint64_t begin, uint64_t bytes) try {
  const FileDescriptor file(path, O_RDONLY | O_NONBLOCK);
  return content_sum(file.get(), path, begin, bytes).value();
} catch (const SystemError& error) {
  fail_to_open(error.number(), "cannot read {}", path);
}

}  // namespace skein::data
