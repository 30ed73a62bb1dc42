// What the runs of a scaling experiment were and where they ended: one row a run, under every
// counting convention.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace skein::scaling {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Which parameters are N: those of the blocks (Kaplan et al., 2020), these and the head's matrix
// (Porian et al., 2024), or all (Hoffmann et al., 2022); `given`: the table's column n_params,
// whatever it counts.
enum class ParameterCount { given, blocks, blocks_head, all };
// Which FLOPs are C: 6 N D with N as it is counted, 6 (blocks + head) D, all that is computed
// (model_flops_per_token with half the scores), or the table's column `flops`.
enum class FlopCount { given, six_n, six_n_head, exact };

struct Convention {
  ParameterCount parameters = ParameterCount::given;
  FlopCount flops = FlopCount::given;
  bool operator==(const Convention&) const = default;
};
// "blocks + head, exact FLOPs": for tables and plots.
std::string name(const Convention& convention);

struct CurvePoint {
  double tokens = 0, loss = 0;
};

struct ScalingRun {
  std::string name;  // unique in its table
  // done, diverged, failed, unfinished; excluded (by a rule of the user), outclassed (another
  // learning rate or batch size did better with the same model and tokens). All but done are kept
  // out of fits.
  std::string status = "done";
  std::string reason;  // why it is kept out
  std::string folder;  // of the run, relative to the table's; "": unknown
  int64_t line = 0;    // of the file, from 1 with the header
  int64_t seed = 0;
  int64_t d_model = 0, n_layers = 0, n_heads = 0, vocab_size = 0, context = 0;  // 0: unknown
  double n_params = kUnknown;                                                   // as given
  double n_blocks = kUnknown, n_embedding = kUnknown, n_head = kUnknown,
         n_all = kUnknown;   // n_head: of the head's matrix, tied or not
  double tokens = kUnknown;  // trained on
  // of these, so many differ: the rest is data seen again; unknown: none is
  double unique_tokens = kUnknown;
  double flops = kUnknown;  // as given
  double flops_exact = kUnknown;
  double lr = kUnknown, global_batch = kUnknown, steps = kUnknown;  // global_batch in tokens
  // nats a token, held out, at the end; of labels a sample's, of numbers its square
  double loss = kUnknown;
  double train_loss = kUnknown, seconds = kUnknown;
  std::vector<CurvePoint> curve;  // held-out loss on the way; empty: unknown
};

using Settings = std::map<std::string, std::string>;  // by key, as Options::values gives them

struct ScalingTable {
  std::string path;
  std::vector<ScalingRun> runs;       // in the order of the file
  std::vector<std::string> warnings;  // what was odd, with lines
  // of a sweep: those that all its runs share, and sweep.lr_rule, lr_factor, base_width and
  // batch_rule; empty: not known
  Settings settings = {};
};
std::vector<const ScalingRun*> done_runs(const ScalingTable& table);

// N or C of a run under a convention; kUnknown where the table does not say.
double parameters_of(const ScalingRun& run, ParameterCount count);
double flops_of(const ScalingRun& run, const Convention& convention);
// Conventions that every run that is done has numbers for, those with the numbers of an earlier one
// left out.
std::vector<Convention> conventions_of(const ScalingTable& table);
// `given` where the table has no such column: all parameters, and the most exact FLOPs that it has.
Convention settled(const Convention& convention, const ScalingTable& table);

// Whether a run on so many tokens has seen some of them again; not where it is unknown how many are
// unique.
inline bool data_again(double tokens, double unique_tokens) {
  return tokens > unique_tokens * (1 + 1e-9);
}

// One run that is fitted. Rows with the same cluster are resampled together: a run, or points of
// one curve.
struct ScalingPoint {
  double n = 0, d = 0, c = 0, loss = 0;
  int64_t run = 0;  // index into ScalingTable::runs
  int64_t cluster = 0;
  double unique_tokens = kUnknown;  // of D; unknown: all
  bool repeated() const { return data_again(d, unique_tokens); }
};
// Of runs that are done, sorted by (c, n, d, loss), so that a table's order does not matter; equal
// rows once. Clusters are numbered in that order. A usage error naming lines where a run has no
// such number.
std::vector<ScalingPoint> points_of(const ScalingTable& table, const Convention& convention);

// Beside the ends of runs, `points`, so many points of each learning curve before its end, about
// evenly in ln tokens. Each belongs to the cluster of its run. C of it is that of the run by its
// share of the tokens.
std::vector<ScalingPoint> curve_points_of(const ScalingTable& table,
                                          const std::vector<ScalingPoint>& points, int64_t of_each);

struct TableOptions {
  std::string loss_unit = "nats";  // nats, bits: a token
  std::string loss_column = "loss";
  std::vector<std::string> where = {};  // COLUMN=VALUE: only rows that say so
};
// Reads CSV (quotes, BOM, CRLF): columns n_params or n_blocks/n_head/n_embedding/n_all (also
// params, n_params_nonemb for n_blocks), tokens or n_tokens, unique_tokens, flops, loss, run or
// run_id and those of ScalingRun by name; others are left alone. A missing one of tokens and flops
// follows from C = 6 N D, with a warning. curves: CSV of run, tokens (or step, of runs with
// global_batch or steps), loss; "": none. A loss of nan or inf marks its run as diverged, none at
// all as unfinished; rows that say the same are kept once. Runs that a rule took out of an earlier
// fit are done: rules are applied anew. Usage errors name file, line, column, what stood there, and
// all columns that are missing. At most 100,000 runs.
ScalingTable read_table(const std::string& path, const TableOptions& options = {},
                        const std::string& curves = "");

// Rules by which runs are kept out of fits, each with its reason.
struct ExclusionRules {
  int64_t highest_losses = 0;  // those with a loss not below the highest so many
  double least_tokens = 0;     // those trained on fewer tokens
  // of a model and its tokens only the learning rate and batch size with the lowest mean loss over
  // seeds
  bool best_settings = true;
};
void exclude(ScalingTable& table, const ExclusionRules& rules);

// The same table as CSV, in the columns below, unknown numbers empty:
//   run,status,reason,folder,seed,d_model,n_layers,n_heads,vocab_size,context,n_blocks,n_embedding,
//   n_head,n_all,n_params,tokens,unique_tokens,flops_6n,flops_6n_head,flops_exact,lr,global_batch,
//   steps,loss,train_loss,seconds
// flops_6n is 6 n_all tokens, flops_6n_head is 6 (n_blocks + n_head) tokens. curves_csv:
// run,tokens,loss.
std::string table_csv(const std::vector<ScalingRun>& runs);
std::string curves_csv(const std::vector<ScalingRun>& runs);

}  // namespace skein::scaling
