#pragma once
// A session of the library (spile.h): sets up the child, takes its stream apart, keeps what its caller is shown. Thread rule: one
// thread, but stop() and descriptor() from any.
//
// Frames of globals, ticks and messages are taken when they come; those of events wait, packed, until their events are asked for.

#include <unistd.h>

#include <atomic>
#include <string>

#include "base/result.h"
#include "libspile/kept_messages.h"
#include "libspile/run_request.h"
#include "libspile/shown_events.h"
#include "libspile/shown_globals.h"
#include "libspile/spile.h"
#include "libspile/spile_process.h"
#include "runs/run/run_frames.h"

namespace spile::client {

class LiveSession {
 public:
  LiveSession() = default;
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  // Each returns a value of spile_result, as the function of spile.h does that has its name.
  int set_script(const char* text) { return ask(&RunRequest::set_script, text); }
  int set_script_file(const char* path) { return ask(&RunRequest::set_script_file, path); }
  int set_verb(const char* verb) { return ask(&RunRequest::set_verb, verb); }
  int add_argument(const char* argument) { return ask(&RunRequest::add_argument, argument); }
  int add_process(pid_t pid) { return ask(&RunRequest::add_process, pid); }
  int set_command(const char* command) { return ask(&RunRequest::set_command, command); }
  int add_option(const char* option) { return ask(&RunRequest::add_option, option); }
  int start();
  int next_event(int timeout_ms, const spile_event** event);
  int read(int timeout_ms, const spile_snapshot** snapshot);
  int stop();
  int descriptor() const { return process_.socket(); }
  const spile_message* last_error() const { return messages_.last_error(); }
  const spile_message* messages(size_t* count) const { return messages_.show(count); }
  // Notes an error of the library itself.
  int fail(int code, std::string text, std::string hint = {});

 private:
  enum class State { kNew, kStarting, kRunning, kEnded };
  int check_new();
  // Says a part of the request. An error of it is one of the caller's argument.
  template <typename Argument>
  int ask(Result<void> (RunRequest::*say)(Argument), Argument argument) {
    if (const int wrong = check_new()) return wrong;
    const Result<void> said = (request_.*say)(argument);
    return said.ok() ? SPILE_OK : fail(SPILE_ERROR_ARGUMENT, said.error().message, said.error().hint);
  }
  // Receives and takes what has come, and waits for it where that is nothing. Returns false after timeout_ms.
  bool receive(int timeout_ms);
  void take_frame(runs::Frame frame);
  void take_end(const std::string& payload);
  // Whether an event waits to be shown.
  bool find_event();
  void damaged(const std::string& what);
  void end();
  // The result of a run that has ended.
  int outcome();

  const pid_t owner_ = ::getpid();
  State state_ = State::kNew;
  RunRequest request_;
  SpileProcess process_;
  std::string received_;  // reused
  runs::FrameParser parser_;
  bool has_facts_ = false, has_started_ = false, has_end_ = false;
  std::atomic<bool> is_stopped_ = false;
  int outcome_ = 0;            // 0: the run goes on
  KeptMessage outcome_error_;  // of a negative outcome_

  ShownEvents events_;
  ShownGlobals globals_;
  uint64_t requested_ = 0, answered_ = 0;  // ticks
  KeptMessages messages_;
};

}  // namespace spile::client
