#include <cstdio>
#include <memory>

#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/core/version.h"
#include "skein/train/trainer.h"

namespace skein {
namespace {

constexpr const char* kUsage =
    "skein: train language models across many processes\n\n"
    "  skein pretrain [--config FILE] [--section.key=value ...]   pretrain a GPT\n"
    "  skein --version\n\n"
    "Run it alone, or under `mpirun -np N`. `skein pretrain --help` lists the options.\n";

int pretrain_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  PretrainConfig config;
  Options options("skein pretrain", "Pretrain a GPT on token stores.");
  bind(options, config);
  const auto outcome = options.parse(args);
  if (outcome != Options::Outcome::run) {
    std::fputs((outcome == Options::Outcome::help ? options.help() : options.resolved()).c_str(), stdout);
    return 0;
  }
  world = start_world();
  pretrain(config, *world);
  return 0;
}

int run(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  const std::string command = args.empty() ? "--help" : args.front();
  if (command == "pretrain") return pretrain_command({args.begin() + 1, args.end()}, world);
  if (command == "--help") return std::fputs(kUsage, stdout), 0;
  if (command == "--version") return std::printf("skein %s (%s)\n", std::string(kVersion).c_str(), std::string(kRevision).c_str()), 0;
  fail_usage("unknown command '{}'; known are pretrain, --help, --version", command);
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  std::unique_ptr<skein::Group> world;
  int code = 0;
  try {
    return skein::run({argv + 1, argv + argc}, world);
  } catch (const skein::Error& error) {
    skein::log::write(skein::log::Level::error, fmt::format("rank {}: {}", skein::log::rank(), error.what()));
    code = static_cast<int>(error.code());
  } catch (const std::exception& error) {
    skein::log::write(skein::log::Level::error, fmt::format("rank {}: {}", skein::log::rank(), error.what()));
    code = static_cast<int>(skein::ExitCode::internal);
  }
  if (world) world->abort(code);
  return code;
}
