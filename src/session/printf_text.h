#pragma once
// Records' payloads as text: the controller's half of printf. Reads nothing outside the payload, whatever is in it.

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "abi/record.h"
#include "base/terminal_text.h"
#include "codegen/codegen.h"

namespace spile::session {

// Takes a record's arguments one by one (abi/record.h). Where the payload ends early: 0 and "".
class PayloadReader {
 public:
  PayloadReader(const char* payload, size_t size) : at_(payload), left_(size) {}
  int64_t next_long();
  std::string_view next_string();
  std::string_view peek_string() const { return PayloadReader(*this).next_string(); }

 private:
  const char* at_;
  size_t left_;
};

// What becomes of a record's text.
struct TextRules {
  // Somebody else than a handler of the script may have written the record.
  bool is_forgeable = false;
  // Goes to a terminal: what may come from a traced program passes through this. Null: it does not.
  TerminalText* terminal = nullptr;
  // The strings that the script spells out (codegen::CompiledScript).
  const std::set<std::string, std::less<>>* literals = nullptr;
};

void append_printf(std::string& out, const codegen::OutputFormat& format, PayloadReader& arguments, const TextRules& rules = {});

// The text that a record prints: kPrintf, kHistogram, kText; nothing for other kinds.
void append_record_text(std::string& out, std::span<const codegen::OutputFormat> formats, const abi::RecordHeader& header,
                        const char* payload, size_t size, const TextRules& rules = {});

// Text that may come from a traced program.
void append_foreign(std::string& out, std::string_view text, const TextRules& rules);

// The text with its conversions (%d, %u, %x, %s) replaced.
std::string error_text(const codegen::ErrorText& error, PayloadReader& arguments);

}  // namespace spile::session
