#pragma once
// What a script prints, as events of the document of `spile record`. Thread rule: one thread.

#include <string>

#include "codegen/codegen.h"
#include "session/arena/arena_view.h"
#include "session/output/address_names.h"
#include "session/output/handler_errors.h"
#include "session/output/record_sink.h"
#include "session/output/run_recorder.h"

namespace spile::session {

class RecorderSink final : public RecordSink {
 public:
  // All must outlive this. arena: whose clock dates records. errors: counts records that no handler can have written.
  RecorderSink(RunRecorder& recorder, const codegen::CompiledScript& script, const AddressNames& names, const ArenaView& arena,
               HandlerErrors& errors)
      : recorder_(recorder), script_(script), names_(names), arena_(arena), errors_(errors) {}
  void take(const Record& record) override;

 private:
  RunRecorder& recorder_;
  const codegen::CompiledScript& script_;
  const AddressNames& names_;
  const ArenaView& arena_;
  HandlerErrors& errors_;
  std::string text_;  // reused
};

}  // namespace spile::session
