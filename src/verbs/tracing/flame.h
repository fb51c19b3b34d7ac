#pragma once
// `spile flame`: where the threads of processes spend their processor time, where they wait, allocate memory, or call a function,
// as a picture or as a file for other programs.

#include <string>
#include <utility>

#include "base/result.h"
#include "runs/stacks/sample_files.h"
#include "runs/stacks/samples.h"
#include "runs/text/presenter.h"
#include "session/stacks/jit_names.h"
#include "session/terms/options.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

enum class FlameForm : uint8_t { kFolded, kSpeedscope, kSvg, kHtml, kPprof, kPerfetto };

// Collects the records of the script, "sample NS PID TID NAME STACK" or "stack PID TID NAME WEIGHT STACK", and writes the file at
// the end.
class FlameSamples final : public runs::Presenter {
 public:
  // empty: FlameScript::empty.
  FlameSamples(FlameForm form, runs::SampleFacts facts, runs::Samples::Unit unit = runs::Samples::Unit::kSamples,
               std::string empty = {})
      : form_(form), facts_(std::move(facts)), samples_(unit), empty_(std::move(empty)) {
    samples_.name_code_by(
        [this](int64_t process, uint64_t address) { return names_.name_at(static_cast<pid_t>(process), address); });
  }
  void take(std::string_view head, runs::PayloadReader& arguments, std::string& out) override;
  void finish(std::string& out) override;
  std::vector<std::string> losses() const override;

 private:
  FlameForm form_;
  runs::SampleFacts facts_;
  session::JitNames names_;
  runs::Samples samples_;
  std::string empty_;
};

// As Verb::make.
Result<VerbScript> make_flame(const VerbLine& line, const session::Options& options);
extern const VerbOption kFlameOptions[6];

}  // namespace spile::verbs
