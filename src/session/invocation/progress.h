#pragma once
// What spile does until the probes are armed, as a line on standard error, where that is a terminal and it takes longer than 300
// ms: "spile: compiling, 2 s". What is printed meanwhile overwrites the line. Thread rule: one thread; a thread of its own
// prints.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "session/terms/options.h"

namespace spile::session {

// Whether spile says what goes on: at a terminal, but not with -w, nor with -v, which says it in other words.
bool shows_progress(const MessageOptions& messages);

class Progress {
 public:
  // Prints nothing unless shows_progress(), and the terminal can overwrite a line.
  explicit Progress(const MessageOptions& messages);
  ~Progress() { done(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What begins now: "compiling".
  void stage(const std::string& what);
  // Clears the line, if there is one, and ends the thread.
  void done();

 private:
  void show(std::stop_token stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;
  std::jthread thread_;
  bool enabled_;
};

}  // namespace spile::session
