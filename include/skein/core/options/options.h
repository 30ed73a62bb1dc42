// Binds fields of typed structs to "section.key" names once; then reads, in rising order of
// precedence, an INI file, the environment (SKEIN_SECTION_KEY) and flags (--section.key=value),
// prints help grouped by section, and writes the resolved set with the origin of each value.
//
//   Options options("skein pretrain", "Pretrain a language model.");
//   options.add("train.steps", config.steps, "optimizer steps", "steps");
//   options.add_choice("model.norm", config.norm,
//                      {{"layer", Norm::layer}, {"rms", Norm::rms}}, "kind of norm");
//   options.parse({argv + 1, argv + argc});
//
// Flags are --section.key=value or --section.key value; a bare --section.key means true for a bool,
// which takes the word that follows only when that is true, on, yes, 1, false, off, no or 0. A flag
// given again wins over the earlier one. Beside them: --config FILE (given again, later files win),
// --print-config, --help, -h.
//
// An INI file has [section] lines and `key = value` lines; a comment starts at a # after a blank,
// or at a # or ; that begins a line. A value in double quotes is taken as it is, with
// \n \r \t \" \\ for what they stand for elsewhere. A key that stands twice in one file is an
// error.
//
// A file may hold the options of all commands of a project: those that only others have are left
// alone, and one line of the log tells of them. An option that none has is an error.
//
// An environment variable of another command's option (SKEIN_SECTION_KEY with a section that any
// program has) is left alone; one line of the log names them all. One that looks like a misspelt
// option is an error. Others that begin with SKEIN_ are no options: SKEIN_HOME, SKEIN_TEST_*, and
// those that say how ranks meet (SKEIN_RANK, SKEIN_RANKS, SKEIN_KEEPALIVE, SKEIN_RENDEZVOUS and
// SKEIN_RENDEZVOUS_TIMEOUT, _SECRET, _SECRET_FILE, _OPEN).
//
// Every mistake is a usage Error: an unknown key names the nearest known one and where it stood
// (file:line, environment variable or flag); a wrong type names the key, the text and what was
// wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace skein {

class Options {
 public:
  Options(std::string program, std::string summary);
  ~Options();

  // What a field may be; lists are comma-separated.
  using Field =
      std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*,
                   std::vector<std::string>*, std::vector<int64_t>*, std::vector<double>*>;
  // The field's value at the call is the default. `unit` is shown in help ("steps", "tokens",
  // "seconds"). Integers accept 1_000 and 10k, 5M, 2G, and 2.5e6 where the value is whole.
  template <class T>
  void add(const std::string& key, T& field, const std::string& help,
           const std::string& unit = "") {
    add_field(key, &field, help, unit);
  }
  // A named choice; help lists the names, an unknown name is an error listing them.
  template <class E>
  void add_choice(const std::string& key, E& field, std::vector<std::pair<std::string, E>> names,
                  const std::string& help) {
    std::vector<std::string> labels;
    std::string current;
    for (const auto& [label, value] : names) {
      labels.push_back(label);
      if (value == field) current = label;
    }
    const auto assign = [&field, names](const std::string& chosen) {
      for (const auto& [label, value] : names)
        if (label == chosen) field = value;
    };
    add_named(key, labels, current, assign, help);
  }

  // A number of earlier versions, which no help tells: where it is still given, `take` gets it.
  using Take = std::function<void(int64_t)>;
  void add_former(const std::string& key, Take take);

  enum class Outcome { run, help, print_config };
  // Reads --config file, environment and flags. `args` excludes the program's name. Words that are
  // no options are an error unless allow_words, when words() returns them. Words after `--` are
  // never options. After Outcome::help no field has changed.
  Outcome parse(const std::vector<std::string>& args, bool allow_words = false);
  const std::vector<std::string>& words() const;

  // Sets values from INI text, with `origin` named in errors and in resolved(); as parse does for a
  // file, but for options of other commands, which parse leaves alone and tells of. For tests.
  void read_ini(const std::string& text, const std::string& origin);
  // The same as one flag.
  void set(const std::string& key, const std::string& value, const std::string& origin);
  // True when the value of key came from somewhere (file, environment, flag), not from its default.
  bool given(const std::string& key) const;
  // True when it is another than the default. A run's config.ini gives all.
  bool changed(const std::string& key) const;
  // True when it comes from a file, which may hold options that concern other commands.
  bool from_file(const std::string& key) const;

  std::string help() const;
  // Every key and its value as text, in the order of their binding; set() takes them back.
  std::vector<std::pair<std::string, std::string>> values() const;
  // INI that can be fed back: every key under its section, each line followed by a comment with its
  // origin.
  std::string resolved() const;

 private:
  void add_field(const std::string& key, Field field, const std::string& help,
                 const std::string& unit);
  void take_environment();
  void add_named(const std::string& key, std::vector<std::string> labels,
                 const std::string& current, std::function<void(const std::string&)> assign,
                 const std::string& help);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The options that bind_own binds, with their values as text.
std::map<std::string, std::string> bound_values(const std::function<void(Options&)>& bind_own);

// A usage error, the key and `why`, for an option that bind_own binds, too, and that is changed.
void refuse_changed(const Options& options, const std::function<void(Options&)>& bind_own,
                    const std::string& why);
// The same of what bind(Options&, Config&) binds.
template <class Config>
void refuse_options_of(const Options& options, const std::string& why) {
  Config none;
  refuse_changed(
      options, [&](Options& own) { bind(own, none); }, why);
}

}  // namespace skein
