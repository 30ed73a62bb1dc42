#include "skein/runs/board.h"

#include <cmath>
#include <httplib.h>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/log.h"
#include "skein/core/version.h"
#include "skein/runs/page.h"
#include "skein/runs/run_list.h"

namespace skein::runs {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kThreads = 4;
constexpr size_t kKeptLogs = 48;  // of runs that nobody looks at any more
constexpr const char* kHost = "127.0.0.1";
// Of answers in JSON: what is called JSON the library compresses, for longer than all else takes.
constexpr const char* kPlain = "application/octet-stream";
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// Shown in the list of runs, where a run has them.
const std::set<std::string> kListed = {"loss", "validation_loss",  "lr", "score",
                                       "kl",   "tokens_per_second"};

// Takes as long wherever they differ.
bool same(const std::string& one, const std::string& other) {
  unsigned char differ = one.size() != other.size();
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    differ |= static_cast<unsigned char>(one[i] ^ other[i]);
  return differ == 0;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What was read of runs, kept for the next question.
class Logs {
 public:
  // Of the run in `folder`, read up to now. Errors as RunLog::read has them.
  RunLog& read(const std::string& folder) {
    Kept& kept = kept_.try_emplace(folder, folder).first->second;
    kept.asked = ++questions_;
    kept.changes += kept.log.read() ? 1 : 0;
    return kept.log;
  }
  int64_t changes(const std::string& folder) const { return kept_.at(folder).changes; }
  void forget_old() {
    while (kept_.size() > kKeptLogs)
      kept_.erase(std::ranges::min_element(kept_, {},
                                           [](const auto& entry) { return entry.second.asked; }));
  }

 private:
  struct Kept {
    explicit Kept(const std::string& folder) : log(folder) {}
    RunLog log;
    int64_t asked = 0, changes = 0;
  };
  std::map<std::string, Kept> kept_;
  int64_t questions_ = 0;
};

}  // namespace

void bind(Options& options, BoardConfig& config) {
  options.add("board.port", config.port, "on 127.0.0.1; 0: any that is free");
}

struct Board::Impl {
  explicit Impl(const BoardConfig& config) : list(config.folder) {}

  void answer(const httplib::Request& request, httplib::Response& response);
  std::string runs();
  void figures(const httplib::Request& request, httplib::Response& response);

  RunList list;
  Logs logs;
  std::mutex mutex;
  std::string token = unique_name() + unique_name();
  int port = 0;
  httplib::Server server;
};

std::string Board::Impl::runs() {
  Json all = Json::array();
  for (const RunGlance& run : list.look()) {
    Json last = Json::object();
    for (const auto& [name, value] : run.last)
      if (kListed.contains(name)) last[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
    all.push_back({{"name", run.name},
                   {"step", run.step},
                   {"changed", run.changed},
                   {"last", std::move(last)}});
  }
  const std::string note = list.cut() ? "There are more runs or folders than are looked at." : "";
  return text_of({{"runs", std::move(all)}, {"now", system_seconds()}, {"note", note}});
}

void Board::Impl::figures(const httplib::Request& request, httplib::Response& response) {
  std::vector<ShownRun> shown;
  Json faults = Json::array();
  std::string version;
  const size_t asked = std::min(request.get_param_value_count("run"), kMostShown);
  for (size_t i = 0; i < asked; ++i) {
    const std::string name = request.get_param_value("run", i);
    const RunGlance* const run = list.find(name);
    try {
      require(run, "there is no run called so any more");
      const RunLog& log = logs.read(run->folder);
      version += fmt::format("{}:{}:", i, logs.changes(run->folder));
      shown.push_back({name, &log});
    } catch (const Error& error) {
      version += error.what();
      faults.push_back({name, error.what()});
    }
  }
  version = fmt::format("{:x}", std::hash<std::string>()(version));
  if (request.get_param_value("seen") == version) {
    response.status = 204;
    return;
  }
  Json made = runs_json(shown);
  made["version"] = version;
  made["faults"] = std::move(faults);
  response.set_content(text_of(made), kPlain);
  logs.forget_old();
}

void Board::Impl::answer(const httplib::Request& request, httplib::Response& response) {
  response.status = 404;
  const std::string begin = request.path.substr(0, token.size() + 1);
  if (!same(begin, "/" + token)) return;
  const std::string what = request.path.substr(begin.size());
  const std::scoped_lock lock(mutex);
  if (what == "/") {
    response.status = 200;
    response.set_content(
        runs_html({{"version", std::string(kVersion)}, {"live", true}, {"most", kMostShown}},
                  false),
        "text/html; charset=utf-8");
  } else if (what == "/runs") {
    response.status = 200;
    response.set_content(runs(), kPlain);
  } else if (what == "/figures") {
    response.status = 200;
    figures(request, response);
  }
}

Board::Board(const BoardConfig& config) : impl_(std::make_unique<Impl>(config)) {
  require(config.port >= 0 && config.port <= 65535, "board.port={} must be 0 to 65535",
          config.port);
  httplib::Server& server = impl_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_payload_max_length(1 << 16);
  // By itself the library lets another board have the same port, and either gets some questions.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server.set_default_headers({{"Content-Security-Policy", kPolicy},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"}});
  server.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
    impl_->answer(request, response);
  });
  server.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr error) {
        response.status = 500;
        try {
          std::rethrow_exception(error);
        } catch (const std::exception& said) {
          log::warn("a question could not be answered: {}", said.what());
        } catch (...) {
          log::warn("a question could not be answered");
        }
      });
  impl_->port = config.port == 0 ? server.bind_to_any_port(kHost)
                : server.bind_to_port(kHost, static_cast<int>(config.port))
                    ? static_cast<int>(config.port)
                    : -1;
  require(impl_->port > 0, "board.port={} cannot be had on {}; give another, or 0 for any",
          config.port, kHost);
  impl_->list.look();
}

Board::~Board() = default;

std::string Board::address() const {
  return fmt::format("http://{}:{}/{}/", kHost, impl_->port, impl_->token);
}

void Board::serve() { impl_->server.listen_after_bind(); }

void Board::stop() { impl_->server.stop(); }

}  // namespace skein::runs
