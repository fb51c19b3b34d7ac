#pragma once
// A session of the library (spile.h): sets up the child, takes its stream apart, keeps what its caller is shown. Thread rule: one
// thread, but stop() and descriptor() from any.
//
// Frames of globals, ticks and messages are taken when they come; those of events wait, packed, in queue_ until their events are
// asked for.

#include <unistd.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "libspile/spile.h"
#include "libspile/spile_process.h"
#include "runs/run/run_frames.h"
#include "runs/run/run_reader.h"

namespace spile::client {

class LiveSession {
 public:
  LiveSession() = default;
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  // Each returns a value of spile_result, as the function of spile.h does that has its name.
  int set_script(const char* text);
  int set_script_file(const char* path);
  int set_verb(const char* verb);
  int add_argument(const char* argument);
  int add_process(pid_t pid);
  int set_command(const char* command);
  int add_option(const char* option);
  int start();
  int next_event(int timeout_ms, const spile_event** event);
  int read(int timeout_ms, const spile_snapshot** snapshot);
  int stop();
  int descriptor() const { return process_.socket(); }
  const spile_message* last_error() const { return has_error_ ? &error_ : nullptr; }
  const spile_message* messages(size_t* count) const;
  // Notes an error of the library itself.
  int fail(int code, std::string text, std::string hint = {});

 private:
  struct KeptMessage {
    std::string text, hint, file, excerpt;
    spile_message shown{};
  };
  enum class State { kNew, kStarting, kRunning, kEnded };
  int check_new();
  std::vector<std::string> arguments() const;
  // Receives and takes what has come, and waits for it where that is nothing. Returns false after timeout_ms.
  bool receive(int timeout_ms);
  void take_frame(runs::Frame frame);
  void take_tick(const runs::Frame& frame);
  void take_message(const std::string& payload);
  void take_end(const std::string& payload);
  void add_message(KeptMessage message, int code, const uint32_t (&place)[4]);
  // Takes apart the next frame of events. Returns false where there is none.
  bool decode_next();
  void drop_oldest();
  void show_event(size_t index);
  void show_snapshot();
  void damaged(const std::string& what);
  void end();
  // The result of a run that has ended.
  int outcome();
  int fail_with(const KeptMessage& message);

  const pid_t owner_ = ::getpid();
  State state_ = State::kNew;
  std::string script_, script_file_, verb_, command_;
  bool has_script_ = false;  // or a file, or a verb
  std::vector<std::string> script_arguments_, options_;
  std::vector<pid_t> processes_;

  SpileProcess process_;
  std::string received_;  // reused
  runs::FrameParser parser_;
  bool has_facts_ = false, has_started_ = false, has_end_ = false;
  std::atomic<bool> is_stopped_ = false;
  int outcome_ = 0;            // 0: the run goes on
  KeptMessage outcome_error_;  // of a negative outcome_

  // Events.
  runs::RunDecoder events_;
  std::deque<runs::Frame> queue_;
  size_t queued_bytes_ = 0;
  size_t next_ = 0;  // index into events_.document().events
  uint64_t dropped_events_ = 0;
  spile_event event_{};
  std::string event_text_;
  std::vector<spile_value> event_values_;

  // Globals.
  runs::RunDecoder globals_;
  uint64_t requested_ = 0, answered_ = 0;
  runs::RunTick tick_;
  bool has_tick_ = false;
  runs::RunTick shown_tick_;  // of which the snapshot is
  spile_snapshot snapshot_{};
  std::vector<spile_global> shown_globals_;
  std::vector<spile_probe> shown_probes_;
  std::deque<std::vector<spile_element>> shown_elements_;
  std::deque<std::vector<spile_value>> shown_keys_;

  std::deque<KeptMessage> messages_;
  mutable std::vector<spile_message> shown_messages_;
  bool has_error_ = false;
  KeptMessage kept_error_;
  spile_message error_{};
};

}  // namespace spile::client
