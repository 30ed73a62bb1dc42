// Files of texts and labels: the first byte chooses format, header and columns; the rest is the
// file, which may be compressed.
#include "skein/data/records/examples.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x");
  file.write(input);
  skein::data::ExamplesConfig config;
  config.files = {file.path()};
  config.format = static_cast<skein::data::ExamplesFormat>(1 + (choice & 3));
  config.most_record_bytes = 4096;
  if (choice & 4) config.pair = "2";
  if (choice & 8) config.text = "1";
  if (choice & 16) config.label = choice & 32 ? "" : "3";
  config.numbers = choice & 64;
  config.texts = config.label == "3" && choice & 64;
  if (config.texts) config.numbers = false;
  config.header = choice & 128 ? skein::data::Header::yes : skein::data::Header::automatic;
  for (const skein::data::LabelledExample& example : skein::data::read_examples(config))
    if (example.line < 1 || static_cast<int64_t>(example.text.size()) > config.most_record_bytes)
      std::abort();
}
