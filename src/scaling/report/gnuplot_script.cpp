#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "skein/core/error.h"
#include "skein/scaling/report/gnuplot.h"
#include "skein/text/split/words.h"

#include "gnuplot_inks.h"
#include "gnuplot_ticks.h"

namespace skein {
namespace {

struct InkValue {
  const char *name, *light, *dark;
};
// The approaches: blue, orange and green of Okabe and Ito ("Color universal design", 2008), darker
// or brighter for contrast; sizes: viridis without the end that the ground would swallow.
constexpr InkValue kInkValues[kInks] = {
    {"text", "#1d2430", "#e6e9ef"},    {"faint", "#667085", "#98a2b3"},
    {"grid", "#e4e7ec", "#2b3342"},    {"envelope", "#b4540a", "#f2a65a"},
    {"isoflop", "#0b6fb8", "#6cb8f0"}, {"parametric", "#00795a", "#3fcf9f"},
    {"alert", "#c01f5b", "#ff7aa8"},   {"size-0", "#440154", "#6c4fa8"},
    {"size-1", "#472d7b", "#5f6bc4"},  {"size-2", "#3b528b", "#4c86c8"},
    {"size-3", "#2c728e", "#3a9fc0"},  {"size-4", "#21918c", "#2fb5ab"},
    {"size-5", "#28a06f", "#45c88b"},  {"size-6", "#56ad46", "#7fd65c"},
    {"size-7", "#90b029", "#b5de2b"},  {"size-8", "#c2a318", "#fde725"}};

const InkValue& value_of(Ink ink) { return kInkValues[static_cast<size_t>(ink)]; }

struct Size {
  int width = 0, height = 0, columns = 1, rows = 1;
};

Size size_of(const ScalingFigure& figure, Canvas canvas) {
  const int panels = static_cast<int>(figure.panels.size());
  if (canvas == Canvas::narrow) return {340, panels == 1 ? 330 : 28 + 272 * panels, 1, panels};
  if (panels == 1) return {900, 500, 1, 1};
  if (panels == 2) return {900, 410, 2, 1};
  if (panels == 3) return {940, 360, 3, 1};
  return {900, 700, 2, (panels + 1) / 2};
}

// In double quotes, all but what is plain as octal escapes; a digit that follows one too, for
// gnuplot reads as many as there are.
std::string escaped(const std::string& text, bool (*plain)(unsigned char)) {
  std::string made = "\"";
  bool after = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    after = !plain(byte) || (after && std::isdigit(byte));
    made += after ? fmt::format("\\{:03o}", byte) : std::string(1, c);
  }
  return made + '"';
}

// Escapes whatever could end the string, begin a command or stand for something else: quotes
// doubled within single quotes are not read back at the string's beginning.
std::string quoted(const std::string& text) {
  std::string shown = with_valid_utf8(text);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; },
      ' ');
  return escaped(shown, [](unsigned char byte) {
    return byte >= 0x80 || std::isalnum(byte) ||
           std::string_view(" .,:;=+-/()<>*^_").find(static_cast<char>(byte)) !=
               std::string_view::npos;
  });
}

// The same bytes, whatever they are.
std::string quoted_path(const std::string& path) {
  return escaped(
      path, [](unsigned char byte) { return byte < 0x80 && (std::isalnum(byte) || byte == '/'); });
}

// Names that a plot has room for.
std::string shortened(const std::string& name) {
  constexpr int kMostCharacters = 28;
  int count = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(name[at]) & 0xc0) != 0x80;
    if (begins && ++count > kMostCharacters) return name.substr(0, at) + "…";
  }
  return name;
}

constexpr size_t kMostPoints = 4000;  // of a series: more are a blot, and slow to scroll

class Script {
 public:
  Script(const ScalingFigure& figure, Canvas canvas)
      : figure_(figure), canvas_(canvas), size_(size_of(figure, canvas)) {}

  std::string make(const std::string& output) {
    begin(output);
    for (const Panel& panel : figure_.panels) {
      data(panel);
      axes(panel);
      names(panel);
      curves(panel);
    }
    return text_ + "unset multiplot\nset output\n";
  }

 private:
  bool alone() const { return canvas_ == Canvas::png || canvas_ == Canvas::svg; }
  std::string colour(Ink ink) const {
    return alone() ? "rgb '" + ink_colour(ink, false) + "'"
                   : fmt::format("rgb '#{:02x}{:02x}{:02x}'", kCodeRed, kCodeGreen,
                                 static_cast<int>(ink));
  }
  int font() const { return canvas_ == Canvas::wide ? 13 : 12; }

  // Files have room for a legend below each row.
  std::string terminal() const {
    const int height = size_.height + (alone() ? 75 * size_.rows : 0);
    if (canvas_ == Canvas::png)
      return fmt::format(
          "pngcairo size {},{} enhanced font 'sans,12' fontscale 1.8 linewidth 2 pointscale 2",
          2 * size_.width, 2 * height);
    return fmt::format("svg size {},{} dynamic enhanced font 'sans-serif,{}' linewidth 1{}",
                       size_.width, height, font(), alone() ? " background rgb '#ffffff'" : "");
  }

  void begin(const std::string& output) {
    text_ += "reset session\nset encoding utf8\nset terminal " + terminal() + "\n";
    text_ += alone() ? "set output " + quoted_path(output) + "\n" : "set output\n";
    text_ += fmt::format("set multiplot layout {},{} title {} noenhanced font ',{}' textcolor {}\n",
                         size_.rows, size_.columns, quoted(figure_.convention), font() - 1,
                         colour(Ink::faint));
    text_ += fmt::format(
        "set border 3 linewidth 1 linecolor {0}\nset grid linetype 1 linewidth 1 linecolor {1}, "
        "linetype 1 linewidth 1 linecolor {1}\nset tics nomirror out scale 0.5\n",
        colour(Ink::faint), colour(Ink::grid));
    if (alone())
      text_ += fmt::format(
          "set key below Left reverse maxcols {} samplen 2 spacing 1.1 height 0.8 font ',9' "
          "textcolor {}\n",
          size_.columns == 3   ? 1
          : size_.columns == 2 ? 2
                               : 4,
          colour(Ink::text));
    else
      text_ += "unset key\n";
  }

  void data(const Panel& panel) {
    for (size_t i = 0; i < panel.series.size(); ++i) {
      text_ += fmt::format("$s{} << EOD\n", i);
      const std::vector<Sample>& samples = panel.series[i].samples;
      const bool points = panel.series[i].mark == Mark::dots || panel.series[i].mark == Mark::rings;
      const size_t step = points ? samples.size() / kMostPoints + 1 : 1;
      for (size_t at = 0; at < samples.size(); at += step) {
        const Sample& one = samples[at];
        text_ += fmt::format("{:.9g} {:.9g} {:.9g} {:.9g}\n", one.x, one.y, one.low, one.high);
      }
      text_ += "EOD\n";
    }
  }

  void axis(const char* letter, const Axis& axis, Range range, int pixels) {
    text_ += fmt::format("{} logscale {}\n", axis.logarithmic ? "set" : "unset", letter);
    text_ += fmt::format("set {}range [{:.9g}:{:.9g}]\n", letter, range.low, range.high);
    text_ += fmt::format("set {}label {} noenhanced textcolor {}\n", letter, quoted(axis.label),
                         colour(Ink::text));
    std::string ticks;
    for (const Tick& tick : ticks_of(axis, range, pixels))
      ticks += fmt::format("{}{} {:.9g}", ticks.empty() ? "" : ", ", quoted(tick.text), tick.at);
    text_ += fmt::format("set {}tics ({}) textcolor {}\n", letter, ticks, colour(Ink::faint));
  }

  void axes(const Panel& panel) {
    // On a phone a third of the width is margin.
    const int width = size_.width / size_.columns;
    axis("x", panel.x, range_of(panel, true), canvas_ == Canvas::narrow ? width * 2 / 3 : width);
    axis("y", panel.y, range_of(panel, false), size_.height / size_.rows);
    text_ += panel.title.empty()
                 ? "unset title\n"
                 : fmt::format("set title {} noenhanced textcolor {} offset 0,-0.4\n",
                               quoted(panel.title), colour(Ink::text));
  }

  void names(const Panel& panel) {
    text_ += "unset label\n";
    const Range range = range_of(panel, true);
    for (const Series& series : panel.series)
      for (const Sample& one : series.samples) {
        if (!one.named || !std::isfinite(one.x) || !std::isfinite(one.y)) continue;
        const bool right = panel.x.logarithmic ? one.x * one.x > range.low * range.high
                                               : one.x > (range.low + range.high) / 2;
        // A line comes from the left: below its end there is room.
        const double up = right && series.mark == Mark::line ? -0.8 : 0.5;
        text_ += fmt::format(
            "set label {} at {:.9g},{:.9g} {} offset {},{} noenhanced font ',{}' textcolor {}\n",
            quoted(shortened(one.name)), one.x, one.y, right ? "right" : "left", right ? -0.6 : 0.6,
            up, font() - 2, colour(Ink::text));
      }
  }

  std::string style(const Series& series) const {
    const std::string ink = colour(series.ink);
    const auto points = [&](int type, double size) {
      return fmt::format(
          "using 1:2 with points pointtype {} pointsize {} linewidth 1.5 linecolor {}", type,
          size * series.weight, ink);
    };
    switch (series.mark) {
      case Mark::line:
        return fmt::format("using 1:2 with lines linewidth {} linecolor {}", series.weight, ink);
      case Mark::dashes:
        return fmt::format("using 1:2 with lines linewidth {} dashtype (8,6) linecolor {}",
                           series.weight, ink);
      case Mark::dots: return points(7, 0.28);
      case Mark::rings: return points(6, 0.34);
      case Mark::diamonds: return points(13, 0.45);
      case Mark::crosses: return points(2, 0.3);
      case Mark::band:
        return fmt::format(
            "using 1:3:4 with filledcurves fillcolor {} fillstyle transparent solid 0.18 noborder",
            ink);
    }
    return {};
  }

  // What looks and is called as a series before it stands in the legend once.
  static bool in_legend(const Panel& panel, size_t index) {
    const Series& series = panel.series[index];
    const auto end = panel.series.begin() + static_cast<std::ptrdiff_t>(index);
    return !series.title.empty() && std::none_of(panel.series.begin(), end, [&](const Series& one) {
      return one.title == series.title && one.ink == series.ink && one.mark == series.mark &&
             !one.samples.empty();
    });
  }

  void curves(const Panel& panel) {
    std::string all;
    for (size_t i = 0; i < panel.series.size(); ++i) {
      const Series& series = panel.series[i];
      if (series.samples.empty()) continue;
      const std::string title =
          in_legend(panel, i) ? "title " + quoted(series.title) + " noenhanced" : "notitle";
      all += fmt::format("{}$s{} {} {}", all.empty() ? "plot " : ", ", i, style(series), title);
    }
    text_ += all.empty() ? "plot NaN notitle\n" : all + "\n";
  }

  const ScalingFigure& figure_;
  Canvas canvas_;
  Size size_;
  std::string text_;
};

}  // namespace

std::string ink_name(Ink ink) { return value_of(ink).name; }
std::string ink_colour(Ink ink, bool dark) {
  return dark ? value_of(ink).dark : value_of(ink).light;
}

std::string gnuplot_script(const ScalingFigure& figure, Canvas canvas, const std::string& output) {
  return Script(figure, canvas).make(output);
}

}  // namespace skein
