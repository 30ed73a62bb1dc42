// skein-data on pictures: a store of them, and sheets to look at.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/data/images/augmented_sample.h"
#include "skein/data/images/picture_sheet.h"

#include "data_options.h"
#include "progress_line.h"

namespace skein {

inline void run_images(const std::vector<std::string>& arguments) {
  data::ImageStoreOptions given;
  RunOptions run;
  Options options("skein-data images",
                  "Makes a store of pictures with their classes. The INPUTs are folders with a "
                  "folder for each class, tables of paths and labels, IDX files, or files of "
                  "CIFAR.");
  bind(options, given);
  options.add("output.path", given.config.output, "the store to write");
  add_replace(options, given.config.replace);
  add_run(options, run);
  if (!parsed(options, arguments)) return;
  given.config.files.inputs = options.words();
  given.config.threads = run.threads;
  ProgressLine line(run.quiet);
  const data::ImageCounts made =
      write_image_store(settled(given), [&](const data::CorpusProgress& progress) {
        line.show([&] { return progress_line(progress); });
      });
  if (run.quiet) return;
  const std::string classes =
      made.of_class.empty() ? "without labels"
                            : fmt::format("of {} classes ({} to {} each)", made.of_class.size(),
                                          *std::ranges::min_element(made.of_class),
                                          *std::ranges::max_element(made.of_class));
  log::info("{}: {} pictures {}, {} x {} x {} (channels, height, width), {} left out, {:.1f} s",
            given.config.output, made.images, classes, made.channels, made.height, made.width,
            made.left_out, made.seconds);
}

// The first pictures of each of the first classes that have some, a row a class; without labels
// pictures from all over the store.
inline std::vector<std::vector<data::Image>> rows_to_show(const data::ImageRecords& images) {
  constexpr int64_t kColumns = 10, kRows = 20;
  const bool labelled = !images.classes().empty();
  const int64_t step = labelled ? 1 : std::max<int64_t>(1, images.count() / (kColumns * kRows));
  std::map<int64_t, std::vector<data::Image>> rows;  // by class, or by tens of what is shown
  int64_t shown = 0;
  for (int64_t i = 0; i < images.count(); i += step) {
    const int64_t key = labelled ? images.label(i) : shown / kColumns;
    if (std::ssize(rows) == kRows && !rows.contains(key)) {
      if (!labelled || rows.rbegin()->first < key) continue;
      rows.erase(std::prev(rows.end()));
    }
    std::vector<data::Image>& row = rows[key];
    if (std::ssize(row) == kColumns) continue;
    row.push_back(images.image(i));
    ++shown;
  }
  std::vector<std::vector<data::Image>> made;
  for (auto& [key, row] : rows) made.push_back(std::move(row));
  return made;
}

// A row a picture: itself, and what training makes of it in its first passes.
inline std::vector<std::vector<data::Image>> augmented_rows(const data::ImageRecords& images,
                                                            const data::AugmentConfig& how) {
  constexpr int64_t kPasses = 9, kRows = 8;
  std::vector<std::vector<data::Image>> rows;
  for (int64_t i = 0; i < std::min(kRows, images.count()); ++i) {
    std::vector<data::Image>& row = rows.emplace_back();
    row.push_back(images.image(i));
    for (int64_t pass = 0; pass < kPasses; ++pass)
      row.push_back(augmented_sample(images, how, data::key_of(1, 0, pass, i)).image);
  }
  return rows;
}

// path: the PNG file to write.
inline void write_sheet(const data::ImageRecords& images, const std::string& path,
                        const data::AugmentConfig& how) {
  ResultFile file("store.sheet", path);
  const auto rows = how.changes() ? augmented_rows(images, how) : rows_to_show(images);
  file.write(encode_png(sheet_of(rows, data::usual_zoom(images.height()))));
  file.finish();
  log::info("{}: the first pictures of {}{}", path, images.records().name(),
            how.changes() ? ", and what training makes of each" : "");
}

}  // namespace skein
