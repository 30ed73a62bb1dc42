// Looks at checkpoints: skein-inspect --help.
#include "skein/checkpoint/inspect.h"
#include "skein/core/error.h"

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (!words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "help")) {
      std::cout << skein::inspect_help();
      return 0;
    }
    return skein::inspect(words, std::cout);
  } catch (const skein::Error& error) {
    std::cerr << "skein-inspect: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "skein-inspect: " << error.what() << "\n";
    return static_cast<int>(skein::ExitCode::internal);
  }
}
