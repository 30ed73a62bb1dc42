// The examples of one file.
#pragma once

#include <memory>
#include <string>

#include "skein/data/records/examples.h"

namespace skein::data {

class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  // Sets all but file.
  virtual bool next(LabelledExample& example) = 0;
  // Bytes taken from the file so far, before decompression.
  virtual int64_t consumed() const = 0;
};

std::unique_ptr<ExampleSource> table_examples(const std::string& path, ExamplesFormat format,
                                              const ExamplesConfig& config);
std::unique_ptr<ExampleSource> jsonl_examples(const std::string& path,
                                              const ExamplesConfig& config);

std::unique_ptr<ExampleSource> line_examples(const std::string& path, const ExamplesConfig& config);

// Whether a column is given by its number.
bool is_number_of_column(const std::string& column);

// A usage error, where labels are no texts, for an empty one, and for one that is no finite number
// where numbers are wanted; sets value.
void check_label(LabelledExample& example, const ExamplesConfig& config, const std::string& name);

}  // namespace skein::data
