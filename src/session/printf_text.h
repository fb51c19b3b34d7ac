#pragma once
// Records' payloads as text: the controller's half of printf. Reads nothing outside the payload, whatever is in it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "abi/record.h"
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

void append_printf(std::string& out, const codegen::OutputFormat& format, PayloadReader& arguments);

// The text that a record prints: kPrintf, kHistogram, kText; nothing for other kinds.
void append_record_text(std::string& out, std::span<const codegen::OutputFormat> formats, const abi::RecordHeader& header,
                        const char* payload, size_t size);

// The text with its conversions (%d, %u, %x, %s) replaced.
std::string error_text(const codegen::ErrorText& error, PayloadReader& arguments);

}  // namespace spile::session
