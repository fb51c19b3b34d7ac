#include "codegen/module/tables.h"

#include <fmt/format.h>

namespace spile::codegen {

namespace {

std::string identity(const OutputFormat& format) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {}|", static_cast<int>(format.kind), format.is_log, format.low, format.high,
                                format.width, format.elision, format.has_summary, format.unit);
  for (const syntax::FormatPart& part : format.parts) {
    key += fmt::format("{} {}{}{}{}{}{}{} {} {} {}:{}|", static_cast<int>(part.kind), part.left, part.zero, part.plus, part.space,
                       part.alternate, part.width_argument, part.precision_argument, part.width, part.precision,
                       part.literal.size(), part.literal);
  }
  for (ValueType type : format.arguments) key += static_cast<char>('0' + static_cast<int>(type));
  for (bool own : format.own) key += own ? 'o' : '-';
  return key;
}

}  // namespace

uint32_t Tables::add_format(OutputFormat format) {
  auto [entry, fresh] = format_ids_.emplace(identity(format), static_cast<uint32_t>(formats.size()));
  if (fresh) formats.push_back(std::move(format));
  return entry->second;
}

uint32_t Tables::add_error(ErrorText error) {
  auto [entry, fresh] = error_ids_.emplace(error.text, static_cast<uint32_t>(errors.size()));
  if (fresh) errors.push_back(std::move(error));
  return entry->second;
}

uint32_t Tables::add_command(const std::string& text) {
  auto [entry, fresh] = command_ids_.emplace(text, static_cast<uint32_t>(commands.texts.size()));
  if (fresh) commands.texts.push_back(text);
  return entry->second;
}

}  // namespace spile::codegen
