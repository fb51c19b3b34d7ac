#pragma once
// What a script prints, as text in a file, on standard output, or in memory. Thread rule: one thread.

#include <string>
#include <string_view>

#include "base/text/terminal_text.h"
#include "codegen/codegen.h"
#include "runs/text/output_file.h"
#include "runs/text/printf_text.h"
#include "session/output/address_names.h"
#include "session/output/record_sink.h"

namespace spile::session {

class TextSink : public RecordSink {
 public:
  // All must outlive this.
  TextSink(const codegen::CompiledScript& script, const AddressNames& names, runs::OutputFile& file)
      : script_(script), names_(names), file_(file) {}
  void take(const Record& record) override;

 protected:
  // Writes text that may come from a traced program. is_forgeable: as of its record.
  void write_foreign(std::string_view text, bool is_forgeable);
  const codegen::CompiledScript& script() const { return script_; }

 private:
  runs::TextRules rules(bool is_forgeable);

  const codegen::CompiledScript& script_;
  const AddressNames& names_;
  runs::OutputFile& file_;
  TerminalText terminal_;  // where file_ is a terminal
  std::string text_;       // reused
};

}  // namespace spile::session
