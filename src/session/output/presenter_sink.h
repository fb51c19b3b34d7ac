#pragma once
// Gives the printf records of a verb's script to the verb's presenter, and writes what it makes of them. Other records are
// written as text. Thread rule: one thread.

#include <functional>
#include <memory>
#include <string>

#include "runs/text/presenter.h"
#include "session/output/text_sink.h"

namespace spile::session {

class PresenterSink final : public TextSink {
 public:
  // at_end: is called when the presenter has all that the run was for. script, names and file must outlive this.
  PresenterSink(std::shared_ptr<runs::Presenter> presenter, std::function<void()> at_end, const codegen::CompiledScript& script,
                const AddressNames& names, runs::OutputFile& file)
      : TextSink(script, names, file), presenter_(std::move(presenter)), at_end_(std::move(at_end)) {}
  void take(const Record& record) override;
  // Writes what the presenter has kept until now. REQUIRES: no take() follows.
  void finish();

 private:
  std::shared_ptr<runs::Presenter> presenter_;
  std::function<void()> at_end_;
  std::string presented_;  // reused
};

}  // namespace spile::session
