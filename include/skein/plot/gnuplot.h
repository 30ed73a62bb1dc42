// Figures drawn by gnuplot into files.
#pragma once

#include <string>
#include <vector>

#include "skein/plot/figure.h"

namespace skein::plot {

enum class Canvas { png, svg };

// gnuplot commands that draw the figure into the file `output`. Text of files is never read as a
// command or as markup.
std::string gnuplot_script(const Figure& figure, Canvas canvas, const std::string& output);

// Feeds gnuplot with the script. Error(failure) names the Debian package where there is no gnuplot,
// and says what gnuplot said where it fails or takes longer than `seconds`.
void run_gnuplot(const std::string& script, double seconds = 120);

// FOLDER/NAME.png, .svg and .csv of a figure that has panels; makes the folder. Returns their
// paths. option: that named the folder, for messages.
std::vector<std::string> write_figure(const Figure& figure, const std::string& option,
                                      const std::string& folder);

}  // namespace skein::plot
