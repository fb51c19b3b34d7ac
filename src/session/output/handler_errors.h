#pragma once
// Errors and warnings of handlers, each printed once, as a handler may be hit a million times; and counts of what was refused to
// traced processes: records that no handler of the script can have written (docs/security.md), damaged rings, actions that are
// too many. Thread rule: one thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.h"
#include "runs/text/output_file.h"
#include "session/output/record_sink.h"
#include "session/terms/options.h"

namespace spile::session {

class HandlerErrors {
 public:
  // All must outlive this. file: is flushed before a message is printed, so that what a handler has printed before comes before.
  HandlerErrors(const MessageOptions& messages, const codegen::CompiledScript& script, runs::OutputFile& file)
      : messages_(messages), script_(script), file_(file) {}

  // Prints the warning or error of a record of kind kWarning, kErrorText or kError, and counts it.
  void take(const Record& record);
  // Prints an error of the script's own, which has no place, and counts it, as take() does.
  void raise(std::string text) { raise(std::move(text), {}, {}); }

  // Raises the error of an array that has no room for what several threads have filled in, each within its own share; once, and
  // not in a verb, whose run goes on and reports the loss at its end.
  void raise_overflow();

  // Count what was refused. A damaged ring is a warning, too.
  void count_disbelieved() { ++disbelieved_; }
  void count_ignored_action() { ++actions_ignored_; }
  void report_damage(uint32_t ring);

  // Returns the number of errors so far, each time that one occurred; without suppressed ones.
  uint64_t count() const { return errors_; }
  // Returns the number of errors that were only counted, by --suppress-handler-errors.
  uint64_t suppressed() const { return suppressed_; }
  // Returns the message of the last error, or "".
  const std::string& last() const { return last_; }
  // Returns warnings about what was refused, and about errors and warnings that were too many to be printed.
  std::vector<std::string> refusals() const;
  // Returns a warning for each error that occurred more than once, and of a verb for each that occurred, with how often.
  // REQUIRES: called at the end.
  std::vector<std::string> repeated() const;

 private:
  // Limits of what a hostile process could otherwise repeat without end.
  static constexpr uint64_t kMostWarnings = 1000;  // printed for processes, in a session
  static constexpr uint64_t kMostErrors = 1000;    // different ones printed, in a session
  static constexpr uint64_t kMostDamaged = 10;     // damaged rings reported one by one

  void warn_once(std::string_view text, bool is_of_process);
  // excerpt: the line of the script with a caret. place: "a.stp:3:5", or "".
  void raise(std::string text, std::string_view excerpt, std::string_view place);

  bool overflowed_ = false;
  const MessageOptions& messages_;
  const codegen::CompiledScript& script_;
  runs::OutputFile& file_;
  std::set<std::string, std::less<>> warned_;
  uint64_t process_warnings_ = 0;
  uint64_t damaged_ = 0;
  uint64_t disbelieved_ = 0;
  uint64_t actions_ignored_ = 0;
  std::map<std::string, uint64_t> counts_;  // of errors, by message
  uint64_t not_printed_ = 0;
  uint64_t errors_ = 0;
  uint64_t suppressed_ = 0;
  std::string last_;
};

}  // namespace spile::session
