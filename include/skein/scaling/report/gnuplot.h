// Figures drawn by gnuplot, as SVG to stand inside a page and as PNG.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/report/report.h"

namespace skein {

// Wide and narrow stand in a page that brings colours and legend; the others are files with their
// own.
enum class Canvas { wide, narrow, png, svg };

// gnuplot commands that draw the figure on one canvas. Text of files is never read as a command or
// as markup.
std::string gnuplot_script(const ScalingFigure& figure, Canvas canvas,
                           const std::string& output = "");

// What gnuplot writes to its output when fed with the script. Error(failure) names the Debian
// package where there is no gnuplot, and says what gnuplot said where it fails or takes longer than
// `seconds`.
std::string run_gnuplot(const std::string& script, double seconds = 120);

// An <svg> element whose colours are the page's: var(--ink-...); every id begins with `prefix`.
std::string inline_svg(const std::string& gnuplot_svg, const std::string& prefix,
                       const std::string& description);

// "text", "size-3": the variable --ink-NAME of a page.
std::string ink_name(Ink ink);
// "#rrggbb" in the light and in the dark.
std::string ink_colour(Ink ink, bool dark);

// Draws one figure: both SVGs for the page, and the files PATH.png and PATH.svg.
FigureSvg draw(const ScalingFigure& figure, const std::string& path);

// FOLDER/NAME.png, .svg and .csv of a figure that has panels; makes the folder. Returns their
// paths; svg: what draw() gives.
std::vector<std::string> write_figure(const ScalingFigure& figure, const std::string& folder,
                                      FigureSvg* svg = nullptr);

}  // namespace skein
