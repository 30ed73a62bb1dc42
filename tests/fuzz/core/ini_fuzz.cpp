// Option files and the values in them; what is resolved must read as itself.
#include <vector>

#include "skein/core/options/options.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  bool flag = false;
  int number = 1;
  int64_t large = 2;
  uint64_t seed = 3;
  double real = 4;
  std::string text;
  std::vector<std::string> words;
  std::vector<int64_t> sizes;
  skein::Options options("fuzz", "Reads anything.");
  options.add("a.flag", flag, "a switch");
  options.add("a.number", number, "a number");
  options.add("a.large", large, "a large number");
  options.add("b.seed", seed, "a seed");
  options.add("b.real", real, "a real number");
  options.add("b.text", text, "a text");
  options.add("c.words", words, "words");
  options.add("c.sizes", sizes, "sizes");
  options.read_ini(std::string(input), "fuzz.ini");
  const auto values = options.values();
  options.read_ini(options.resolved(), "resolved.ini");
  if (options.values() != values) std::abort();
}
