#include "libspile/run_request.h"

#include <fmt/format.h>

#include <string_view>

namespace spile::client {

namespace {

constexpr size_t kMostScript = 100'000;  // bytes: a word of a command line has at most 128 KiB, in which it is beside others

}  // namespace

Result<void> RunRequest::set_script(const char* text) {
  if (!text) return Error{"the script is null", {}};
  script_ = text;
  if (script_.size() > kMostScript)
    return Error{fmt::format("the script has {} bytes, more than {}", script_.size(), kMostScript),
                 "write it to a file, and use spile_set_script_file()"};
  has_script_ = true;
  script_file_.clear();
  verb_.clear();
  return {};
}

Result<void> RunRequest::set_script_file(const char* path) {
  if (!path || !*path || path == std::string_view("-")) return Error{"the path of the script is null, empty or \"-\"", {}};
  // A word without a slash may be a verb's.
  script_file_ = std::string_view(path).find('/') == std::string_view::npos ? "./" + std::string(path) : path;
  has_script_ = true;
  verb_.clear();
  return {};
}

Result<void> RunRequest::set_verb(const char* verb) {
  // A word with other characters would be an option, or a script's file.
  const std::string_view name = verb ? verb : "";
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos)
    return Error{"a verb is one word of small letters, as in \"top\"", "its words and options are given by spile_add_argument()"};
  verb_ = name;
  has_script_ = true;
  return {};
}

Result<void> RunRequest::add_argument(const char* argument) {
  if (!argument) return Error{"the argument is null", {}};
  script_arguments_.emplace_back(argument);
  return {};
}

Result<void> RunRequest::add_process(pid_t pid) {
  if (pid <= 0) return Error{fmt::format("{} is not the number of a process", pid), {}};
  processes_.push_back(pid);
  return {};
}

Result<void> RunRequest::set_command(const char* command) {
  if (!command || !*command) return Error{"the command is null or empty", {}};
  command_ = command;
  return {};
}

Result<void> RunRequest::add_option(const char* option) {
  if (!option || option[0] != '-' || option[1] == '\0' || option == std::string_view("--"))
    return Error{"an option is one word that begins with -, as in \"-DMAXMAPENTRIES=10000\"", {}};
  options_.emplace_back(option);
  return {};
}

std::vector<std::string> RunRequest::words() const {
  std::vector<std::string> words = options_;
  for (const pid_t pid : processes_) words.insert(words.end(), {"-x", std::to_string(pid)});
  if (!command_.empty()) words.insert(words.end(), {"-c", command_});
  // Words of a verb are options, too.
  if (!verb_.empty()) words.push_back(verb_);
  else if (script_file_.empty()) words.insert(words.end(), {"-e", script_, "--"});
  else words.insert(words.end(), {"--", script_file_});
  words.insert(words.end(), script_arguments_.begin(), script_arguments_.end());
  return words;
}

}  // namespace spile::client
