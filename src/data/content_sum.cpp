#include "content_sum.h"

#include "skein/core/error.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>
#include <xxhash.h>

#include "file_source.h"

namespace skein {
namespace {

constexpr uint64_t kPiece = uint64_t{4} << 20;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::optional<uint64_t> content_sum(const std::string& path, uint64_t begin, uint64_t bytes,
                                    const std::function<bool()>& go_on) {
  FileSource file(path, path, std::make_shared<int64_t>(0));
  if (file.seek(static_cast<int64_t>(begin), SEEK_SET) < 0)
    fail("cannot read {} from byte {} on: it is no regular file any more", path, begin);
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (!state || XXH3_64bits_reset(state.get()) != XXH_OK)
    fail("out of memory to sum the bytes of {}", path);
  std::vector<char> piece(std::min(kPiece, bytes));
  for (uint64_t done = 0; done < bytes;) {
    const size_t got = file.read(piece.data(), std::min<uint64_t>(piece.size(), bytes - done));
    if (got == 0)
      fail("{} ends at byte {}, but had {} when it was opened; was it cut or replaced since?", path,
           begin + done, begin + bytes);
    XXH3_64bits_update(state.get(), piece.data(), got);
    done += got;
    if (go_on && !go_on()) return std::nullopt;
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace skein
