#pragma once
// What a session is to run: as its caller says it, and as the program's command line has it. Thread rule: one thread.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace spile::client {

class RunRequest {
 public:
  // As the functions of spile.h with these names. Errors: the argument has no meaning. Of script, file and verb the last counts.
  Result<void> set_script(const char* text);
  Result<void> set_script_file(const char* path);
  Result<void> set_verb(const char* verb);
  Result<void> add_argument(const char* argument);
  Result<void> add_process(pid_t pid);
  Result<void> set_command(const char* command);
  Result<void> add_option(const char* option);

  bool has_script() const { return has_script_; }  // or a file, or a verb
  // Returns the words behind the program's name. REQUIRES: has_script().
  std::vector<std::string> words() const;

 private:
  std::string script_, script_file_, verb_, command_;
  bool has_script_ = false;
  std::vector<std::string> script_arguments_, options_;
  std::vector<pid_t> processes_;
};

}  // namespace spile::client
