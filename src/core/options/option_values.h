// Text to values and back, as options write them. A reader gives nothing when the text is no such
// value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skein {

// true on yes 1, false off no 0.
std::optional<bool> read_truth(std::string_view text);
// Whole numbers: 1_000, 10k, 5M, 2G, 2.5e6. For int, int64_t and uint64_t.
template <class T>
std::optional<T> read_whole(std::string_view text);
// Finite numbers.
std::optional<double> read_real(std::string_view text);
// Comma-separated lists. Blanks around items are dropped; an empty item among others is no list.
std::optional<std::vector<std::string>> read_words(std::string_view text);
std::optional<std::vector<int64_t>> read_wholes(std::string_view text);

// What the readers read back to the same value.
std::string text_of(bool value);
std::string text_of(int value);
std::string text_of(int64_t value);
std::string text_of(uint64_t value);
std::string text_of(double value);
std::string text_of(const std::string& value);
std::string text_of(const std::vector<std::string>& value);
std::string text_of(const std::vector<int64_t>& value);

}  // namespace skein
