#include "verbs/calls/call_values.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <charconv>

#include "debuginfo/terms/names.h"

namespace spile::verbs {

using debuginfo::Type;
using debuginfo::TypeKind;

namespace {

constexpr size_t kArgumentRegisters = 6;  // of the x86-64 ABI, for numbers and pointers
constexpr int64_t kMostErrors = 4095;     // MAX_ERRNO of include/linux/err.h

// include/linux/errno.h: numbers that programs do not see.
constexpr struct {
  uint64_t number;
  const char* name;
} kKernelErrors[] = {
    {512, "ERESTARTSYS"},
    {513, "ERESTARTNOINTR"},
    {514, "ERESTARTNOHAND"},
    {515, "ENOIOCTLCMD"},
    {516, "ERESTART_RESTARTBLOCK"},
    {517, "EPROBE_DEFER"},
    {518, "EOPENSTALE"},
    {519, "ENOPARAM"},
    {521, "EBADHANDLE"},
    {522, "ENOTSYNC"},
    {523, "EBADCOOKIE"},
    {524, "ENOTSUPP"},
    {525, "ETOOSMALL"},
    {526, "ESERVERFAULT"},
    {527, "EBADTYPE"},
    {528, "EJUKEBOX"},
    {529, "EIOCBQUEUED"},
    {530, "ERECALLCONFLICT"},
    {531, "ENOGRACE"},
};

// Whether a type's name is that of a pointer or reference: "char*", "Shape* const" (this), "int (*)(int)", "T&&"; "*mut T" and
// "&str" of Rust, "*main.T" and "unsafe.Pointer" of Go.
bool is_pointer(std::string_view type) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view qualifier : {"const", "volatile", "restrict", "__restrict", "_Atomic", " "}) {
      if (!type.ends_with(qualifier)) continue;
      const std::string_view rest = type.substr(0, type.size() - qualifier.size());
      // "myconst" is a name.
      if (qualifier != " " && !rest.ends_with(' ') && !rest.ends_with('*') && !rest.ends_with('&')) continue;
      type = rest;
      again = true;
    }
  }
  return type.ends_with('*') || type.ends_with('&') || type.ends_with(']') || type.starts_with('*') || type.starts_with('&') ||
         type.find("(*") != std::string_view::npos || type.find("(&") != std::string_view::npos || type == "unsafe.Pointer" ||
         type == "uintptr";
}

// A number of $$parms by the name of its type.
void show_as(std::string_view type, uint64_t word, CallValue& value) {
  if (is_pointer(type)) {
    if (word == 0) value.text = "NULL";
  } else if (type == "bool" || type == "_Bool") {
    value.text = word != 0 ? "true" : "false";
  } else {
    value.number = true;
    const bool without_sign = type.find("unsigned") != std::string_view::npos || type.starts_with("u") || type == "size_t";
    value.text = without_sign ? fmt::format("{}", word) : fmt::format("{}", static_cast<int64_t>(word));
  }
}

}  // namespace

std::string error_name(uint64_t number) {
  for (const auto& error : kKernelErrors) {
    if (error.number == number) return error.name;
  }
  const char* name = number > 0 && number < 512 ? strerrorname_np(static_cast<int>(number)) : nullptr;
  return name ? name : "";
}

CallValue value_text(const Type& type, uint64_t word, std::string name) {
  CallValue value{std::move(name), {}, false};
  if (type.kind() == TypeKind::kPointer) {
    value.text = word == 0 ? "NULL" : fmt::format("{:#x}", word);
    return value;
  }
  const uint64_t bits = std::min<uint64_t>(type.size() * 8, 64);
  if (!type.is_scalar() || bits == 0) {
    value.text = "...";
    return value;
  }
  const uint64_t low = bits == 64 ? word : word & ((uint64_t{1} << bits) - 1);
  const int64_t number = static_cast<int64_t>(low << (64 - bits)) >> (64 - bits);
  if (type.is_boolean()) {
    value.text = (low & 0xff) != 0 ? "true" : "false";
    return value;
  }
  if (type.kind() == TypeKind::kEnum) {
    for (const debuginfo::Enumerator& constant : type.enumerators()) {
      if (constant.value != number && constant.value != static_cast<int64_t>(low)) continue;
      value.text = constant.name;
      return value;
    }
  }
  value.number = true;
  value.text = type.is_signed() ? fmt::format("{}", number) : fmt::format("{}", low);
  return value;
}

std::vector<CallValue> argument_texts(const Prototype& prototype, std::span<const uint64_t> registers) {
  std::vector<CallValue> values;
  size_t next = 0;
  bool cut = prototype.incomplete;
  for (const Prototype::Parameter& parameter : prototype.parameters) {
    // A structure may take two registers or none: where what follows is passed is not known.
    if (!parameter.type.is_scalar() || next >= std::min(registers.size(), kArgumentRegisters)) {
      cut = true;
      break;
    }
    values.push_back(value_text(parameter.type, registers[next++], parameter.name));
  }
  if (cut) values.push_back({{}, "...", false});
  return values;
}

std::optional<CallValue> result_text(const Prototype& prototype, uint64_t word) {
  if (!prototype.known || prototype.returned.kind() == TypeKind::kVoid) return std::nullopt;
  if (!prototype.returned.is_scalar()) return std::nullopt;
  CallValue value = value_text(prototype.returned, word);
  const uint64_t bits = prototype.returned.size() * 8;
  const int64_t number = bits >= 64 ? static_cast<int64_t>(word) : static_cast<int64_t>(word << (64 - bits)) >> (64 - bits);
  const bool may_be_error = prototype.returned.kind() == TypeKind::kPointer ||
                            (prototype.returned.is_signed() && bits >= 32 && prototype.returned.kind() == TypeKind::kInteger);
  if (may_be_error && number < 0 && number >= -kMostErrors) {
    if (const std::string name = error_name(static_cast<uint64_t>(-number)); !name.empty()) {
      value.text = "-" + name;
      value.number = false;
    }
  }
  return value;
}

const Prototype& KernelPrototypes::of(std::string_view function) {
  constexpr size_t kMostKnown = 50000;  // names come from records
  if (auto known = known_.find(function); known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  Prototype& prototype = known_[std::string(function)];
  const debuginfo::CloneName clone = debuginfo::clone_name(function);
  const auto module = modules_.find(std::string(clone.base));
  auto types = kernel_->types(module == modules_.end() ? "" : module->second);
  prototype.incomplete = true;
  if (!types.ok()) return prototype;
  auto described = (*types)->function(clone.base);
  if (!described) return prototype;
  prototype.known = true;
  prototype.returned = described->returned;
  // The compiler has changed the parameters of such a copy.
  if (clone.specialised || clone.split) return prototype;
  prototype.incomplete = described->variadic;
  for (auto& parameter : described->parameters) prototype.parameters.push_back({parameter.name, parameter.type});
  return prototype;
}

std::vector<CallValue> values_in(std::string_view parameters, const std::map<std::string, std::string, std::less<>>* types) {
  std::vector<CallValue> values;
  while (!parameters.empty()) {
    const size_t equals = parameters.find('=');
    if (equals == std::string_view::npos) break;
    CallValue value{std::string(parameters.substr(0, equals)), {}, false};
    parameters.remove_prefix(equals + 1);
    bool quoted = false;
    int depth = 0;
    size_t end = 0;
    for (; end < parameters.size(); ++end) {
      const char c = parameters[end];
      if (quoted && c == '\\') ++end;
      else if (c == '"') quoted = !quoted;
      else if (!quoted && (c == '{' || c == '[')) ++depth;
      else if (!quoted && (c == '}' || c == ']')) --depth;
      else if (!quoted && depth <= 0 && c == ' ') break;
    }
    end = std::min(end, parameters.size());
    value.text = parameters.substr(0, end);
    if (value.name == "return" && value.text == "?") break;
    if (value.text.starts_with("0x")) {
      uint64_t word = 0;
      const char *begin = value.text.data() + 2, *last = value.text.data() + value.text.size();
      const auto type = types ? types->find(value.name) : std::map<std::string, std::string, std::less<>>::const_iterator();
      if (std::from_chars(begin, last, word, 16).ptr == last && types && type != types->end()) show_as(type->second, word, value);
    } else {
      const size_t sign = value.text.starts_with("-") ? 1 : 0;
      value.number = value.text.size() > sign && value.text.find_first_not_of("0123456789", sign) == std::string::npos;
    }
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace spile::verbs
