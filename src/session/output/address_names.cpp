#include "session/output/address_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace spile::session {

namespace {

// Of a kKernelBacktrace or kKernelSymbols record, where no kernel is probed.
std::string plain_addresses(const Record& record) {
  if (record.header.kind == abi::kKernelBacktrace) return "<no kernel backtrace>\n";
  std::string text;
  for (uint64_t address : runs::addresses_in(record.arguments().next_string(), abi::kMostFrames))
    text += fmt::format(" {:#x}\n", address);
  return text;
}

}  // namespace

std::string AddressNames::text_of(const Record& record) const {
  const abi::OwnedHeader& header = record.header;
  runs::PayloadReader arguments = record.arguments();
  const size_t words = record.size / 8;
  switch (header.kind) {
    case abi::kKernelBacktrace:
      return kernel_stacks_ ? kernel_stacks_->backtrace_text(words, arguments) : plain_addresses(record);
    case abi::kKernelSymbols: return kernel_stacks_ ? kernel_stacks_->symbols_text(arguments) : plain_addresses(record);
    case abi::kUserStack: return process_stacks_ ? process_stacks_->text_of(header.id, record.payload, record.size) : "";
    case abi::kBacktrace:
      if (!user_stacks_) return "<no user backtrace>\n";
      return user_stacks_->backtrace_text(header.id, words - std::min<size_t>(words, 1), arguments);
    default: return user_stacks_ ? user_stacks_->symbols_text(header.id, arguments) : "";
  }
}

void append_plain_text(std::string& out, const Record& record, std::span<const syntax::OutputFormat> formats,
                       const AddressNames& names) {
  if (has_text(record.header)) runs::append_record_text(out, formats, record.header, record.payload, record.size);
  else out += names.text_of(record);
}

}  // namespace spile::session
