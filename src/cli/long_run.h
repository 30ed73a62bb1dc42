// Commands that train: how they begin, and how a request to stop ends them.
//
// While a run makes steps its ranks agree on the request (train/stop.h). At any other time, such as
// while data and checkpoints are loaded, each process ends at once, within two seconds even where
// storage or the log hangs: with 85 where the folder holds something to go on from, else with 143
// (130 after INT). The next start makes again what no commit holds, also what a command writes
// after its last step, such as report.json of `skein reward`. Before several ranks have met TERM
// gives 143 whatever the folder holds: it may come from a launcher because another rank has failed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "skein/checkpoint/claim.h"
#include "skein/comm/group.h"
#include "skein/train/preflight/outlook.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein::cli {

// By main, before anything else: until begin_run says more, a request ends the process as if there
// were nothing to go on from.
void expect_stops();

enum class Folder { of_one_run, of_several };
// begin_world for a command that trains in the folder `dir`; that of several runs is a sweep's or a
// proof's.
std::unique_ptr<Group> begin_run(const std::string& dir, Folder kind = Folder::of_one_run);

// The exit code of a run that has ended without an error: 0; where it was asked to stop, 85 or 143
// by whether it has committed anything.
int code_of_run(bool stopped, bool committed);

// What a run would be, on standard output; a usage error follows where it lacks memory.
void tell(const train::Outlook& outlook, Group& world);
// With run.dry_run: tells what the run would be. False without: the caller makes the run.
bool looked_ahead(const train::PretrainConfig& config, train::Task& task, Group& world,
                  const std::optional<checkpoint::CheckpointInfo>& start = std::nullopt);

// A run that begins from another task's model.
struct AdaptedRun {
  std::map<std::string, std::string> given;  // the options of the model that were given, by key
  // The run's own checkpoint where it has one, else the one it begins from.
  train::TrainedModel source;
  bool goes_on = false;                              // it is its own
  std::unique_ptr<checkpoint::RunClaim> claim = {};  // of run.dir, for train()
};

// Starts the world and finds what the run begins from; config.model becomes what is stored there,
// but for the dropout of this run, and its deviations of start values where they were given. A
// micro-batch that was not given fits the batch. Usage errors where there is no such model, or none
// that text can be encoded for; with `stores` one that reads pictures or graphs will do, too.
AdaptedRun begin_adapted(Options& options, train::PretrainConfig& config,
                         std::unique_ptr<Group>& world, bool stores = false);

// The options as the run has them: what the model and the data said is told with its origin. A
// usage error for an option of the model that was given and is otherwise.
void settle_run(Options& options, const train::PretrainConfig& config, const AdaptedRun& run);

}  // namespace skein::cli
