// Colours that stand in gnuplot's SVG for those of the page: red and green say that it is one of
// ours, blue says which.
#pragma once

namespace skein {

constexpr int kCodeRed = 240, kCodeGreen = 238;

}  // namespace skein
