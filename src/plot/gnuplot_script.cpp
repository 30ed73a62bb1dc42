#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <string_view>

#include "skein/plot/gnuplot.h"
#include "skein/plot/text.h"
#include "skein/text/split/words.h"

#include "axes.h"

namespace skein::plot {
namespace {

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
  std::string shown = text::with_valid_utf8(text);
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

std::string colour(Ink ink) { return fmt::format("rgb '{}'", colours_of(ink).light); }

class Script {
 public:
  Script(const Figure& figure, Canvas canvas)
      : figure_(figure), canvas_(canvas), size_(size_of(figure)) {}

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
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...);
  }

  // There is room for a legend below each row.
  std::string terminal() const {
    const int height = size_.height + 75 * size_.rows;
    if (canvas_ == Canvas::png)
      return fmt::format(
          "pngcairo size {},{} enhanced font 'sans,12' fontscale 1.8 linewidth 2 pointscale 2",
          2 * size_.width, 2 * height);
    return fmt::format(
        "svg size {},{} dynamic enhanced font 'sans-serif,12' linewidth 1 background rgb '#ffffff'",
        size_.width, height);
  }

  void begin(const std::string& output) {
    add("reset session\nset encoding utf8\nset terminal {}\nset output {}\n", terminal(),
        quoted_path(output));
    add("set multiplot layout {},{} title {} noenhanced font ',11' textcolor {}\n", size_.rows,
        size_.columns, quoted(figure_.convention), colour(Ink::faint));
    add("set border 3 linewidth 1 linecolor {0}\nset grid linetype 1 linewidth 1 linecolor {1}, "
        "linetype 1 linewidth 1 linecolor {1}\nset tics nomirror out scale 0.5\n",
        colour(Ink::faint), colour(Ink::grid));
    add("set key below Left reverse maxcols {} samplen 2 spacing 1.1 height 0.8 font ',9' "
        "textcolor {}\n",
        size_.columns == 3   ? 1
        : size_.columns == 2 ? 2
                             : 4,
        colour(Ink::text));
  }

  void data(const Panel& panel) {
    for (size_t i = 0; i < panel.series.size(); ++i) {
      add("$s{} << EOD\n", i);
      for (const Sample& one : drawn_samples(panel.series[i]))
        add("{:.9g} {:.9g} {:.9g} {:.9g}\n", one.x, one.y, one.low, one.high);
      text_ += "EOD\n";
    }
  }

  void axis(const char* letter, const Axis& axis, const AxisScale& scale) {
    add("{} logscale {}\n", axis.logarithmic ? "set" : "unset", letter);
    add("set {}range [{:.9g}:{:.9g}]\n", letter, scale.low, scale.high);
    add("set {}label {} noenhanced textcolor {}\n", letter, quoted(axis.label), colour(Ink::text));
    std::string ticks;
    for (const Tick& tick : scale.ticks)
      ticks += fmt::format("{}{} {:.9g}", ticks.empty() ? "" : ", ", quoted(tick.text), tick.at);
    add("set {}tics ({}) textcolor {}\n", letter, ticks, colour(Ink::faint));
  }

  void axes(const Panel& panel) {
    axis("x", panel.x, x_scale(figure_, panel));
    axis("y", panel.y, y_scale(figure_, panel));
    text_ += panel.title.empty()
                 ? "unset title\n"
                 : fmt::format("set title {} noenhanced textcolor {} offset 0,-0.4\n",
                               quoted(panel.title), colour(Ink::text));
  }

  void names(const Panel& panel) {
    text_ += "unset label\n";
    const AxisScale x = x_scale(figure_, panel);
    for (const Series& series : panel.series)
      for (const Sample& one : series.samples) {
        if (!one.named || !std::isfinite(one.x) || !std::isfinite(one.y)) continue;
        const bool right =
            panel.x.logarithmic ? one.x * one.x > x.low * x.high : one.x > (x.low + x.high) / 2;
        // A line comes from the left: below its end there is room.
        const double up = right && series.mark == Mark::line ? -0.8 : 0.5;
        add("set label {} at {:.9g},{:.9g} {} offset {},{} noenhanced font ',10' textcolor {}\n",
            quoted(shortened(one.name)), one.x, one.y, right ? "right" : "left", right ? -0.6 : 0.6,
            up, colour(Ink::text));
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
    const auto before = std::span(panel.series).first(index);
    return !series.title.empty() && std::ranges::none_of(before, [&](const Series& one) {
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

  const Figure& figure_;
  Canvas canvas_;
  FigureSize size_;
  std::string text_;
};

}  // namespace

std::string gnuplot_script(const Figure& figure, Canvas canvas, const std::string& output) {
  return Script(figure, canvas).make(output);
}

}  // namespace skein::plot
