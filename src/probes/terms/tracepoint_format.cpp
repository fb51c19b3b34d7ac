#include "probes/terms/tracepoint_format.h"

#include <charconv>

namespace spile::probes {

namespace {

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The number after "key:" in a line, up to the ';'.
bool value_of(std::string_view line, std::string_view key, uint32_t& value) {
  size_t at = line.find(key);
  if (at == std::string_view::npos) return false;
  std::string_view rest = line.substr(at + key.size());
  return std::from_chars(rest.data(), rest.data() + rest.size(), value).ec == std::errc();
}

bool is_number_size(uint32_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

TracepointField::Kind classify(TracepointField& field, bool is_array) {
  using Kind = TracepointField::Kind;
  bool characters = field.type.find("char") != std::string::npos;
  if (field.type.starts_with("__data_loc")) return characters ? Kind::kDataLocation : Kind::kOther;
  if (field.type.starts_with("__rel_loc")) return characters ? Kind::kRelativeLocation : Kind::kOther;
  if (!is_array) return is_number_size(field.size) ? Kind::kNumber : Kind::kOther;
  if (characters && field.type.find('*') == std::string::npos) return Kind::kCharacters;
  return is_number_size(field.element_size) ? Kind::kArray : Kind::kOther;
}

// "char prev_comm[16]" or "__data_loc char[] name": the name is the last word; a bound in brackets follows it.
bool parse_declaration(std::string_view declaration, TracepointField& field) {
  std::string_view text = trimmed(declaration);
  uint32_t elements = 0;
  bool is_array = false;
  if (text.ends_with(']')) {
    size_t open = text.rfind('[');
    if (open == std::string_view::npos) return false;
    std::string_view bound = text.substr(open + 1, text.size() - open - 2);
    std::from_chars(bound.data(), bound.data() + bound.size(), elements);
    is_array = true;
    text = trimmed(text.substr(0, open));
  }
  size_t space = text.find_last_of(" \t*");
  if (space == std::string_view::npos) return false;
  field.name = text.substr(space + 1);
  field.type = trimmed(text.substr(0, space + 1));
  if (is_array && elements > 0) field.element_size = field.size / elements;
  field.kind = classify(field, is_array);
  if (is_array) field.type += "[" + (elements ? std::to_string(elements) : "") + "]";
  return !field.name.empty() && !field.type.empty();
}

}  // namespace

Result<std::vector<TracepointField>> parse_tracepoint_format(std::string_view text) {
  std::vector<TracepointField> fields;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    size_t at = line.find("field:");
    if (at == std::string_view::npos || trimmed(line.substr(0, at)).size() > 0) continue;
    std::string_view declaration = line.substr(at + 6, line.find(';', at) - at - 6);
    TracepointField field;
    uint32_t is_signed = 0;
    if (!value_of(line, "offset:", field.offset) || !value_of(line, "size:", field.size))
      return Error{"the tracepoint's format file has no field offsets", ""};
    field.is_signed = value_of(line, "signed:", is_signed) && is_signed;
    if (!parse_declaration(declaration, field)) continue;
    field.common = field.name.starts_with("common_");
    fields.push_back(std::move(field));
  }
  if (fields.empty()) return Error{"the tracepoint's format file has no fields", ""};
  return fields;
}

}  // namespace spile::probes
