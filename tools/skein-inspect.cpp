// Looks at checkpoints: skein-inspect --help.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "skein/checkpoint/inspect.h"
#include "skein/core/options/program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return skein::run_program([&] {
    if (skein::answered("skein-inspect", words, skein::checkpoint::inspect_help)) return 0;
    const int code = skein::checkpoint::inspect(words, std::cout);
    if (!std::cout.flush()) skein::fail("cannot write to stdout");
    return code;
  });
}
