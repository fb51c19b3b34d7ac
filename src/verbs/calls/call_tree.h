#pragma once
// The output of `spile trace`: of records of calls and returns, trees of calls, each thread's by itself. A tree is printed as a
// whole when its root returns, or in parts where it is large or takes long; parts of different threads' trees have a line that
// names the thread between them.
//
// A return belongs to the call at whose entry the stack was at the same place. A call whose place on the stack has been given up,
// since a call began above it, has been left without a return (longjmp, exceptions, do_exit).
//
// What a script for this prints (numbers; `stack`: the stack pointer at the function's entry):
//
//   root FLOW PID TID NS STACK RDI RSI RDX RCX R8 R9 FUNCTION THREAD-NAME    a call in the kernel that may be the root of a tree
//   call FLOW NS STACK RDI RSI RDX RCX R8 R9 FUNCTION                        a call in the kernel below a root
//   leave FLOW NS STACK RAX FUNCTION                                         STACK 0: not known
//   gone FLOW NS                                                             the thread has ended
//   name TID THREAD-NAME                                                      of the calls in a process that follow
//   enter TID PID NS STACK FUNCTION PARAMETERS                               a call in a process
//   exit TID NS STACK FUNCTION RESULT
//   genter GOROUTINE TID PID NS DEPTH FUNCTION PARAMETERS                    a call of a goroutine, which goes on on any thread;
//   gexit GOROUTINE PID NS DEPTH FUNCTION RESULT                             GOROUTINE: its address; DEPTH: bytes of its stack
//   ggone GOROUTINE PID NS                                                   the goroutine has ended

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runs/stacks/sample_files.h"
#include "runs/text/presenter.h"
#include "runs/timeline/timeline.h"
#include "verbs/calls/call_json.h"
#include "verbs/calls/call_spans.h"
#include "verbs/calls/call_values.h"

namespace spile::verbs {

class CallTree final : public runs::Presenter {
 public:
  struct Settings {
    int depth = 1;        // calls of a tree from its root on that are shown
    int64_t over_ns = 0;  // trees whose roots take no longer are not
    bool json = false;
    std::shared_ptr<KernelPrototypes> prototypes = {};  // of calls in the kernel; null: their arguments are not known
    ProcessTypes types = {};                            // of functions of processes
    std::shared_ptr<runs::Timeline> timeline = {};      // not null: the output is a trace for Perfetto
    runs::SampleFacts facts = {};                       // of that
    std::shared_ptr<CallSpans> spans = {};              // not null: the output goes to a collector
  };
  explicit CallTree(Settings settings) : settings_(std::move(settings)) {}

  void take(std::string_view head, runs::PayloadReader& arguments, std::string& out) override;
  void finish(std::string& out) override;
  std::vector<std::string> losses() const override;

  // Calls of one tree that are kept until it is printed; and threads that are.
  static constexpr size_t kMostCalls = 20000, kMostFlows = 65536;
  static constexpr int64_t kPatienceNs = 2'000'000'000;  // until a part of a tree is printed

 private:
  enum class End : uint8_t { kRuns, kReturned, kLeft, kThreadEnded };
  struct Call {
    uint32_t function = 0;  // index into names_
    int depth = 1;
    End end = End::kRuns;
    bool closes = false;  // only the end of it is to be printed: the beginning has been
    bool in_kernel = false;
    uint64_t id = 0, parent = 0;
    int64_t began = 0, ended = 0;
    std::array<uint64_t, 6> registers{};
    uint64_t result = 0;
    std::string parameters, returned;  // of processes
  };
  struct Open {
    uint64_t stack = 0;
    size_t item = kNone;  // index into Flow::items
    Call call;
    bool hidden = false, begun = false;  // begun: its beginning has been printed
  };
  struct Flow {
    int64_t number = 0, pid = 0, tid = 0;
    std::string name;
    std::vector<Call> items;
    std::vector<Open> open;
    // stack and function of calls that ended with the one that they jumped to: their own returns come next
    std::vector<std::pair<uint64_t, uint32_t>> jumped;
    std::vector<CallRecord> ended;  // --json, timelines: calls that have
    int64_t printed_at = 0;         // ns
    int64_t last = 0;               // ns; when the last call began or ended
    uint64_t cut = 0;               // calls of this tree that are not shown
  };
  static constexpr size_t kNone = ~size_t{0};

  std::vector<std::pair<std::string, uint64_t>> missing() const;
  Flow* flow_of(int64_t number, bool makes);
  int64_t flow_of_goroutine(int64_t pid, int64_t goroutine);
  void end_flow(int64_t number, int64_t time, std::string& out);
  uint32_t index_of(std::string_view function);
  void enter(Flow& flow, uint64_t stack, Call call, std::string& out);
  void leave(Flow& flow, uint64_t stack, std::string_view function, int64_t time, uint64_t result, std::string_view returned,
             std::string& out);
  void close(Flow& flow, End end, int64_t time, uint64_t result, std::string_view returned);
  void close_tree(Flow& flow, const Call& root, std::string& out);
  bool may_print(const Flow& flow, int64_t now) const;
  void print(Flow& flow, std::string& out);
  void print_header(Flow& flow, std::string& out);
  const std::map<std::string, std::string, std::less<>>* types_of(const Call& call) const;
  std::string beginning_of(const Call& call);
  std::string end_of(const Call& call);
  void print_line(std::string& out, const Call& call, const std::string& text, bool ends) const;
  CallRecord record_of(const Flow& flow, const Call& call);
  bool is_text() const { return !settings_.json && !settings_.timeline && !settings_.spans; }

  Settings settings_;
  std::unordered_map<int64_t, Flow> flows_;
  std::map<std::pair<int64_t, int64_t>, int64_t> goroutines_;  // numbers of flows, by process and address
  int64_t last_goroutine_ = 0;
  std::unordered_map<std::string, uint32_t> indexes_;
  std::vector<std::string> names_;
  int64_t last_printed_ = 0;  // Flow::number; 0: nothing has been
  bool any_printed_ = false;
  bool seen_ = false;  // any call, shown or not
  int64_t first_time_ = 0;
  uint64_t last_id_ = 0;
  uint64_t unmatched_ = 0, orphans_ = 0, cut_ = 0, flows_lost_ = 0;
};

// Returns "12.345 us", "1.234 ms": three digits behind the point.
std::string duration_text(int64_t ns);

}  // namespace spile::verbs
