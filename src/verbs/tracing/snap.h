#pragma once
// `spile snap`: what led to a moment. All calls of functions are noted in memory that overwrites itself; when a condition holds,
// the last of them are shown as a timeline.

#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "runs/stacks/sample_files.h"
#include "runs/text/presenter.h"
#include "runs/timeline/recent_calls.h"
#include "runs/timeline/timeline.h"
#include "session/terms/options.h"
#include "verbs/calls/call_spans.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

enum class TimelineForm : uint8_t { kNone, kTrees, kPerfetto, kChrome, kSpeedscope };

// Takes a snapshot of the calls at each record "snap PID TID NS FUNCTION DURATION" and at SIGUSR1, and at the end if there was
// none; writes all as one timeline. Records "name TID NAME" name threads that have ended by then.
class Snapshots final : public runs::Presenter {
 public:
  struct Settings {
    TimelineForm form = TimelineForm::kTrees;
    runs::SampleFacts facts = {};
    std::shared_ptr<CallSpans> spans = {};  // not null: calls are sent to a collector, too
    int64_t last_ns = 0;                    // how far back a snapshot goes
    int most = 1;                           // snapshots, then the run ends
    std::string when = {};                  // --when as given; "": snapshots are taken by signals and at the end
  };
  explicit Snapshots(Settings settings) : settings_(std::move(settings)) {}

  void take(std::string_view head, runs::PayloadReader& arguments, std::string& out) override;
  void finish(std::string& out) override;
  std::vector<std::string> losses() const override;
  void use_calls(runs::RecentCalls& calls) override { calls_ = &calls; }
  bool takes_signal() const override { return true; }
  void take_signal() override;
  void before_end() override;
  bool has_all() const override { return taken_ >= settings_.most; }

 private:
  void take_snapshot(const std::string& why);

  Settings settings_;
  runs::RecentCalls* calls_ = nullptr;
  runs::Timeline timeline_;
  std::unordered_map<int64_t, std::string> names_;  // by thread
  int taken_ = 0;
  bool at_end_ = false;  // nothing met --when
  uint32_t short_threads_ = 0;
  int64_t shortest_ns_ = 0;
};

// As Verb::make.
Result<VerbScript> make_snap(const VerbLine& line, const session::Options& options);
extern const VerbOption kSnapOptions[3];

}  // namespace spile::verbs
