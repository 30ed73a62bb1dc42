#include "tables.h"

#include <cmath>
#include <fmt/format.h>

#include "skein/scaling/report/text.h"

namespace skein {
namespace {

constexpr size_t kMostRows = 2000;

// A cell's text, and what it is sorted by where that is not the text.
struct Cell {
  std::string text;
  double value = kUnknown;
  bool number = false;
};

Cell words(const std::string& text) { return {text}; }
Cell count_cell(double value) {
  return {std::isfinite(value) ? count_text(value) : "–", value, true};
}
Cell number_cell(double value, int digits = 4) {
  return {std::isfinite(value) ? number_text(value, digits) : "–", value, true};
}
Cell power_cell(double value) {
  return {std::isfinite(value) ? power_text(value) : "–", value, true};
}
Cell whole_cell(int64_t value) { return {std::to_string(value), static_cast<double>(value), true}; }
Cell interval_cell(const Interval& interval, NumberText text = number_text, int digits = 3) {
  return {std::isfinite(interval.value) ? interval_text(interval, text, digits) : "–",
          interval.value, true};
}
Cell share_cell(double share) {
  return std::isfinite(share) ? Cell{signed_share(share), share, true} : number_cell(kUnknown);
}
// 0 is unknown.
Cell shape_cell(int64_t value) { return value > 0 ? whole_cell(value) : Cell{"–", kUnknown, true}; }

struct Table {
  std::string id, title, note;
  std::vector<std::string> heads;
  std::vector<std::vector<Cell>> rows;
  bool folded = false;  // opened by a click
};

// An interval stands below its value.
std::string cell_text(const Cell& cell) {
  const std::string text = html_formula(cell.text);
  const size_t at = cell.number ? text.find(" (") : std::string::npos;
  return at == std::string::npos
             ? text
             : text.substr(0, at) + " <span class=\"i\">" + text.substr(at + 1) + "</span>";
}

std::string cell_html(const Cell& cell, bool first) {
  const std::string value = cell.number && std::isfinite(cell.value)
                                ? fmt::format(" data-v=\"{:.17g}\"", cell.value)
                                : "";
  const char* kind = first ? "th scope=\"row\"" : "td";
  return fmt::format("<{}{}{}>{}</{}>", kind, cell.number ? " class=\"n\"" : "", value,
                     cell_text(cell), first ? "th" : "td");
}

std::string table_html(const Table& table) {
  if (table.rows.empty()) return {};
  std::string made = fmt::format("<section class=\"table\" id=\"table-{}\"><h3>{}</h3>\n", table.id,
                                 html(table.title));
  if (!table.note.empty()) made += "<p class=\"note\">" + html(table.note) + "</p>\n";
  if (table.folded) made += fmt::format("<details><summary>{} rows</summary>\n", table.rows.size());
  made += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + html(table.title) +
          "\"><table><thead><tr>";
  for (size_t i = 0; i < table.heads.size(); ++i)
    made += fmt::format("<th scope=\"col\"{}>{}</th>",
                        table.rows.front()[i].number ? " class=\"n\"" : "", html(table.heads[i]));
  made += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    made += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) made += cell_html(row[i], i == 0);
    made += "</tr>\n";
  }
  return made + "</tbody></table></div>" + (table.folded ? "</details>" : "") + "</section>\n";
}

Table approaches(const Study& study) {
  Table table{"approaches",
              "The three approaches",
              "N* and D* grow as C to these powers: 95% intervals by bootstrap over runs.",
              {"approach", "power of N*", "power of D*", "N* at the target", "D* at the target",
               "loss there"},
              {}};
  const ConventionStudy& main = study.main;
  const auto at = [&](Interval TargetPrediction::*field, NumberText text, int digits = 3) {
    return study.target ? interval_cell((*study.target).*field, text, digits)
                        : number_cell(kUnknown);
  };
  if (main.envelope.valid())
    table.rows.push_back(
        {words(main.envelope.from_curves ? "1: frontier" : "1: frontier of last losses"),
         interval_cell(main.envelope.n_of_c.exponent), interval_cell(main.envelope.d_of_c.exponent),
         at(&TargetPrediction::envelope_n, count_text),
         at(&TargetPrediction::envelope_d, count_text),
         at(&TargetPrediction::envelope_loss, number_text, 4)});
  if (main.isoflop.valid())
    table.rows.push_back({words("2: parabolas"), interval_cell(main.isoflop.n_of_c.exponent),
                          interval_cell(main.isoflop.d_of_c.exponent),
                          at(&TargetPrediction::isoflop_n, count_text),
                          at(&TargetPrediction::isoflop_d, count_text),
                          at(&TargetPrediction::isoflop_loss, number_text, 4)});
  if (main.parametric)
    table.rows.push_back({words("3: parametric"), interval_cell(main.n_exponent),
                          interval_cell(main.d_exponent), at(&TargetPrediction::n, count_text),
                          at(&TargetPrediction::d, count_text),
                          at(&TargetPrediction::loss, number_text, 4)});
  return table;
}

Table laws(const Study& study) {
  Table table{
      "laws",
      "Fitted numbers",
      "A and B hang together with α and β; read the exponents and the optimum, not A and B alone.",
      {"law", "number", "value (95%)", "standard error"},
      {}};
  const auto row = [&](const char* law, const char* number, const Interval& interval) {
    table.rows.push_back({words(law), words(number), interval_cell(interval, number_text, 4),
                          number_cell(interval.error, 3)});
  };
  if (study.main.parametric) {
    const ParametricFit& fit = *study.main.parametric;
    const std::pair<const char*, const Interval*> numbers[] = {
        {"E", &fit.e},     {"A", &fit.a},    {"B", &fit.b},
        {"α", &fit.alpha}, {"β", &fit.beta}, {"β/(α+β)", &fit.n_exponent}};
    for (const auto& [number, interval] : numbers) row("E + A/N^α + B/D^β", number, *interval);
  }
  const auto offset = [&](const char* law, const std::optional<OffsetPowerFit>& fit) {
    if (!fit) return;
    row(law, "E", fit->e);
    row(law, "k", fit->k);
    row(law, "p", fit->p);
  };
  offset("L(N) = E + k N^-p", study.loss_of_n);
  offset("L(D) = E + k D^-p", study.loss_of_d);
  offset("L(C) = E + k C^-p", study.loss_of_c);
  return table;
}

Table proofs(const Study& study) {
  Table table{"convergence",
              "Proofs of convergence",
              "",
              {"fit", "verdict", "gradient", "starts", "reached the best", "condition",
               "second solver over first, less 1"},
              {}};
  const auto row = [&](const char* name, const Convergence& proof, double objective) {
    table.rows.push_back(
        {words(name), words(proof.converged ? "converged" : "not converged: " + proof.problem),
         number_cell(proof.gradient_norm, 2), whole_cell(proof.starts),
         std::isfinite(proof.best_share)
             ? Cell{fmt::format("{:.0f}%", 100 * proof.best_share), proof.best_share, true}
             : number_cell(kUnknown),
         number_cell(proof.condition, 2), number_cell(proof.second_solver / objective - 1, 2)});
  };
  if (study.main.parametric)
    row("approach 3", study.main.parametric->convergence, study.main.parametric->objective);
  if (study.loss_of_n) row("L(N)", study.loss_of_n->convergence, kUnknown);
  if (study.loss_of_d) row("L(D)", study.loss_of_d->convergence, kUnknown);
  if (study.loss_of_c) row("L(C)", study.loss_of_c->convergence, kUnknown);
  return table;
}

Table conventions(const Study& study) {
  Table table{
      "conventions",
      "What is counted, and what follows",
      "The same losses, other counts of parameters and of FLOPs: the power of N* under each.",
      {"parameters, FLOPs", "approach 1", "approach 2", "approach 3", "α", "β"},
      {}};
  const auto row = [&](const ConventionStudy& one, const char* which) {
    const ParametricFit none;
    const ParametricFit& fit = one.parametric ? *one.parametric : none;
    table.rows.push_back(
        {words(name(one.convention) + which),
         one.envelope.valid() ? interval_cell(one.envelope.n_of_c.exponent) : number_cell(kUnknown),
         one.isoflop.valid() ? interval_cell(one.isoflop.n_of_c.exponent) : number_cell(kUnknown),
         interval_cell(one.n_exponent), interval_cell(fit.alpha), interval_cell(fit.beta)});
  };
  row(study.main, " (used here)");
  for (const ConventionStudy& other : study.others) row(other, "");
  if (study.with_excluded) row(*study.with_excluded, ", with the runs that rules keep out");
  return table;
}

Table budgets(const Study& study) {
  Table table{"budgets",
              "Budgets",
              "Half-width: how far the sizes reach to either side, as a factor. Centre: the middle "
              "of the sizes over the best size. Where α and β differ, a parabola's minimum is off "
              "even without noise: the bias is what approach 3's law gives at these very sizes.",
              {"C", "runs", "N*", "D*", "loss", "curvature", "half-width", "centre", "bias of N*",
               "bias of D*", "problem"},
              {}};
  for (const IsoflopBudget& one : study.main.isoflop.budgets)
    table.rows.push_back(
        {power_cell(one.flops), whole_cell(static_cast<int64_t>(one.points.size())),
         count_cell(one.n), count_cell(one.d), number_cell(one.loss), number_cell(one.curvature, 2),
         number_cell(std::exp(one.half_width), 3), number_cell(std::exp(one.centre_offset), 3),
         share_cell(one.n_bias), share_cell(one.d_bias), words(one.problem)});
  return table;
}

Table comparison(const Study& study) {
  Table table{"comparison",
              "Laws asked for what they have not seen",
              "",
              {"law", "mean error", "worst error", "fitted", "held out", "verdict"},
              {}};
  for (const HeldOut& one : study.comparison) {
    if (table.note.empty() && std::isfinite(one.budget))
      table.note = "Fitted without the runs from " + power_text(one.budget) +
                   " FLOPs on; errors of ln L, positive where the law is too high.";
    table.rows.push_back({words(one.law), number_cell(one.mean_error, 2),
                          number_cell(one.worst_error, 2), whole_cell(one.fitted),
                          whole_cell(one.held_out),
                          words(one.converged && one.problem.empty() ? "converged"
                                : one.problem.empty()                ? "not converged"
                                                                     : one.problem)});
  }
  return table;
}

Table kept_out(const Study& study) {
  Table table{"excluded", "Runs kept out", "", {"run", "status", "reason", "line"}, {}};
  for (const ScalingRun& run : study.table.runs)
    if (run.status != "done" && table.rows.size() < kMostRows)
      table.rows.push_back(
          {words(run.name), words(run.status), words(run.reason), whole_cell(run.line)});
  if (table.rows.size() == kMostRows) table.note = fmt::format("The first {}.", kMostRows);
  table.folded = table.rows.size() > 12;
  return table;
}

Table all_runs(const Study& study) {
  Table table{"runs",
              "All runs",
              "Click a head to sort.",
              {"run", "status", "N", "D", "C", "loss", "off the fit", "width", "layers",
               "learning rate", "seed"},
              {},
              true};
  const Convention& convention = study.main.convention;
  for (const ScalingRun& run : study.table.runs) {
    if (table.rows.size() == kMostRows) {
      table.note += fmt::format(" The first {} of {}.", kMostRows, study.table.runs.size());
      break;
    }
    const double n = parameters_of(run, convention.parameters);
    const double off = study.main.parametric
                           ? run.loss / study.main.parametric->law.loss(n, run.tokens) - 1
                           : kUnknown;
    table.rows.push_back({words(run.name), words(run.status), count_cell(n), count_cell(run.tokens),
                          power_cell(flops_of(run, convention)), number_cell(run.loss),
                          share_cell(off), shape_cell(run.d_model), shape_cell(run.n_layers),
                          number_cell(run.lr, 3), whole_cell(run.seed)});
  }
  return table;
}

}  // namespace

std::string report_tables(const Study& study) {
  std::string made;
  for (const auto make :
       {approaches, laws, proofs, conventions, budgets, comparison, kept_out, all_runs})
    made += table_html(make(study));
  return made;
}

}  // namespace skein
