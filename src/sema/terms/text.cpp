// -p2: the elaborated program in the form that SystemTap's -p2 gives.

#include <fmt/format.h>

#include "sema/terms/program.h"

namespace spile::sema {

namespace {

std::string text_of(const syntax::Global& global) {
  std::string text = fmt::format("{}:{}", global.name, to_string(global.type));
  if (!global.is_array) return text;
  text += " [";
  for (size_t i = 0; i < global.key_types.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", to_string(global.key_types[i]));
  return text + "]";
}

std::string text_of(const syntax::Function& function) {
  std::string text = fmt::format("{}:{} (", function.name, to_string(function.type));
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    text += fmt::format("{}{}:{}", i ? ", " : "", function.parameters[i]->name, to_string(function.parameters[i]->type));
  }
  return text + ")";
}

}  // namespace

std::string to_text(const Program& program) {
  std::string text;
  if (!program.globals.empty()) text += "# globals\n";
  for (const syntax::Global* global : program.globals) text += text_of(*global) + "\n";
  if (!program.functions.empty()) text += "# functions\n";
  for (const syntax::Function* function : program.functions) {
    text += text_of(*function) + "\n";
    if (!function->locals.empty()) text += "  # locals\n";
    for (const auto& local : function->locals) text += fmt::format("  {}:{}\n", local->name, to_string(local->type));
  }
  if (!program.probes.empty()) text += "# probes\n";
  for (const Probe& probe : program.probes) {
    if (is_call_in_target(probe)) continue;  // said already
    for (const ResolvedPoint& point : probe.points) {
      text += point.text;
      if (!point.site.module.empty()) text += fmt::format(" /* pc={}+{:#x} */", point.site.module, point.site.address.value);
      if (!point.name.empty() && point.name != point.text) text += fmt::format(" /* <- {} */", point.name);
      text += "\n";
    }
    if (!probe.locals.empty()) text += "  # locals\n";
    for (const auto& local : probe.locals) text += fmt::format("  {}:{}\n", local->name, to_string(local->type));
  }
  return text;
}

}  // namespace spile::sema
