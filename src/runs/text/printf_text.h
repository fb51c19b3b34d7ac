#pragma once
// Makes text of records' payloads: the controller's half of printf. Reads nothing outside the payload, whatever is in it. Thread
// rule: any thread, but a TerminalText is for one thread at a time.

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/record.h"
#include "base/files/bytes.h"
#include "base/text/terminal_text.h"
#include "syntax/output_format.h"

namespace spile::runs {

// Reads a record's arguments one by one (abi/record.h). Where the payload ends early, they are 0 and "". The payload must outlive
// the strings that are returned.
class PayloadReader {
 public:
  PayloadReader(const char* payload, size_t size) : bytes_({payload, size}) {}
  int64_t next_long() { return bytes_.fixed<int64_t>(); }
  std::string_view next_string();
  // Returns what next_string() would, without going on to the next argument.
  std::string_view peek_string() const { return PayloadReader(*this).next_string(); }

 private:
  ByteCursor bytes_;
};

// How far a record's text is believed, and where it goes.
struct TextRules {
  // A traced process may have written the record without a handler of the script's.
  bool is_forgeable = false;
  // The text goes to a terminal: parts that may come from a traced program pass through this. Null: the text goes elsewhere.
  TerminalText* terminal = nullptr;
  // The strings that the script spells out (codegen::CompiledScript).
  const std::set<std::string, std::less<>>* literals = nullptr;
};

// Appends the text of a printf.
void append_printf(std::string& out, const syntax::OutputFormat& format, PayloadReader& arguments, const TextRules& rules = {});

// Appends the text that a record of kind kPrintf, kHistogram or kText prints; nothing for other kinds, and for unknown formats.
void append_record_text(std::string& out, std::span<const syntax::OutputFormat> formats, const abi::RecordHeader& header,
                        const char* payload, size_t size, const TextRules& rules = {});

// Appends text that may come from a traced program.
void append_foreign(std::string& out, std::string_view text, const TextRules& rules);

// Returns the addresses of a text of them, in hexadecimal with blanks between, up to the first word that is not an address, and
// `most` at most.
std::vector<uint64_t> addresses_in(std::string_view text, size_t most);

// Returns the error's text with its conversions (%d, %u, %x, %p, %s) replaced.
std::string error_text(const syntax::ErrorText& error, PayloadReader& arguments);

}  // namespace spile::runs
