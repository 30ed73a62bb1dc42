// What stands for the bits of a word at its place; a sum of them, whatever its order, stands for
// all. Each word has a number of its own at a place, for odd factors and shifted differences can be
// undone: so a single word that differs always shows.
#pragma once

#include <cstdint>
#include <cstring>

#include "anywhere.h"

namespace skein::kernels {

SKEIN_ANYWHERE inline uint64_t digest_of_word(uint64_t word, int64_t place) {
  uint64_t mixed = word ^ (static_cast<uint64_t>(place) * 0x9e3779b97f4a7c15);
  mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccd;
  mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53;
  return mixed ^ (mixed >> 33);
}

// Of words [begin, end), each `step`-th of them, of so many bytes; what is missing of the last is
// zero.
SKEIN_ANYWHERE inline uint64_t digest_of_range(const unsigned char* data, int64_t bytes,
                                               int64_t begin, int64_t end, int64_t step) {
  constexpr int64_t kWord = sizeof(uint64_t);
  const int64_t whole = bytes / kWord;
  uint64_t sum = 0, word = 0;
  int64_t place = begin;
  for (; place < end && place < whole; place += step) {
    memcpy(&word, data + place * kWord, kWord);
    sum += digest_of_word(word, place);
  }
  if (place >= end) return sum;
  word = 0;
  memcpy(&word, data + place * kWord, static_cast<size_t>(bytes % kWord));
  return sum + digest_of_word(word, place);
}

}  // namespace skein::kernels
