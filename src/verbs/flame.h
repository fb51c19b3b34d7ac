#pragma once
// `spile flame`: where the threads of processes spend their processor time, as a picture or as a file for other programs.

#include <string>
#include <utility>

#include "base/result.h"
#include "session/options.h"
#include "session/presenter.h"
#include "session/sample_files.h"
#include "session/samples.h"
#include "verbs/verb_script.h"

namespace spile::verbs {

enum class FlameForm : uint8_t { kFolded, kSpeedscope, kSvg, kHtml, kPerfetto };

// Collects the records of the script, "sample NS PID TID NAME STACK", and writes the file at the end.
class FlameSamples final : public session::Presenter {
 public:
  FlameSamples(FlameForm form, session::SampleFacts facts) : form_(form), facts_(std::move(facts)) {}
  void take(std::string_view head, session::PayloadReader& arguments, std::string& out) override;
  void finish(std::string& out) override;
  std::string losses() const override;

 private:
  FlameForm form_;
  session::SampleFacts facts_;
  session::Samples samples_;
};

// As Verb::make.
Result<VerbScript> make_flame(const VerbLine& line, const session::Options& options);
extern const VerbOption kFlameOptions[1];

}  // namespace spile::verbs
