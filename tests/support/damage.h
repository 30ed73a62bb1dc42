// Damage of files: single bits that flip, ends that are lost, pages of zeros.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "skein/core/philox.h"

namespace skein::test {

// How often a test damages a file: `usual` times, or SKEIN_TEST_DAMAGE times as often.
inline int damages(int usual) {
  const char* factor = std::getenv("SKEIN_TEST_DAMAGE");
  return factor ? usual * std::max(1, std::atoi(factor)) : usual;
}

enum class DamageKind { bit, cut, page };

// The bytes with the damage of that number; nothing where a page was zero before.
inline std::optional<std::string> with_damage(std::string bytes, DamageKind kind, uint64_t number) {
  constexpr size_t kPage = 4096;
  const uint64_t at = philox(3 + static_cast<uint64_t>(kind), 0, number)[0] % bytes.size();
  if (kind == DamageKind::bit) {
    bytes[at] ^= static_cast<char>(1 << philox(2, 0, number)[0] % 8);
  } else if (kind == DamageKind::cut) {
    bytes.resize(at);
  } else {
    const auto page = bytes.begin() + static_cast<int64_t>(at / kPage * kPage);
    const auto end = page + std::min<int64_t>(kPage, bytes.end() - page);
    if (std::all_of(page, end, [](char c) { return c == 0; })) return {};
    std::fill(page, end, '\0');
  }
  return bytes;
}

// `look` at ten bits for each cut and each page.
inline void each_damage(const std::string& bytes, int usual,
                        const std::function<void(const std::string&, DamageKind)>& look) {
  const auto all = [&](DamageKind kind, int count) {
    for (int number = 0; number < count; ++number)
      if (const auto bad = with_damage(bytes, kind, static_cast<uint64_t>(number)))
        look(*bad, kind);
  };
  all(DamageKind::bit, damages(usual));
  all(DamageKind::cut, damages(usual) / 10);
  all(DamageKind::page, damages(usual) / 10);
}

}  // namespace skein::test
