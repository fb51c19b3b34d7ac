// Functions of the kernel and of its loaded modules:
//
//   kernel.function("NAME")  .call .exported .return .maxactive(n)      NAME may be a glob
//   module("NAME").function("NAME") with the same
//   kprobe.function("NAME"), kprobe.module("NAME").function("NAME")  .return .maxactive(n)
//   kernel.statement("NAME+OFFSET"), module("NAME").statement("NAME+OFFSET"), kernel.statement(ADDRESS).absolute
//
// The kernel's lists of symbols and traceable functions say what there is: see kernelinfo. What needs debug information is
// resolved as in a program (process_function.cpp, process_statement.cpp), over the kernel's image:
//
//   kernel.function("NAME").inline .callee("NAME") .callees .callees(n) .label("NAME"), kernel.function("NAME@FILE:LINE") with
//   all of these kernel.statement("NAME@FILE:LINE") .nearest
//   module("NAME") with the same, over the file of the module's debug information

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_set>

#include "abi/machine.h"
#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "debuginfo/conventions/calling_convention.h"
#include "debuginfo/terms/names.h"
#include "kernelinfo/code_names.h"
#include "probes/process/code_points.h"
#include "probes/terms/family.h"
#include "probes/terms/kernel_renames.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

using kernelinfo::Symbol;
using sema::ResolvedPoint;

// The parts of a point, once its shape is known to be right.
struct Request {
  std::string head;     // of the text: `kernel`, `module("loop")`, `kprobe`
  std::string module;   // "": vmlinux
  std::string pattern;  // of functions
  std::optional<uint64_t> address;
  uint64_t offset = 0;
  bool is_statement = false;
  bool is_return = false;
  bool only_exported = false;
  bool is_hook = false;  // kernel.lsm("NAME"): the function security_NAME
  bool alone = true;     // the point is not marked ? or !
  std::string suffix;    // of the text: ".return"
};

constexpr std::string_view kHookPrefix = "security_";  // of the functions behind kernel.lsm

const std::vector<std::string> after_function = {"call",   "exported", "return",  "maxactive",
                                                 "inline", "callee",   "callees", "label"};

bool by_debug_info(std::string_view suffix) {
  return suffix == "inline" || suffix == "callee" || suffix == "callees" || suffix == "label" || suffix == "nearest";
}

// Whether only debug information can say where a point of kernel.function, kernel.statement and those of a module is: it has a
// file, or stands for code inside functions.
bool needs_debug_info(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts.size() < 2 || (parts[0].name != "kernel" && parts[0].name != "module") ||
      (parts[1].name != "function" && parts[1].name != "statement") || !parts[1].text)
    return false;
  const bool in_function = std::any_of(parts.begin() + 2, parts.end(), [](const auto& part) { return by_debug_info(part.name); });
  return parts[1].text->find('@') != std::string::npos || in_function;
}

// The same point without the file of a function, as in "ip_output@net/ipv4/ip_output.c"; no value: it has a line or a pattern,
// too, which only debug information can find.
std::optional<syntax::ProbePoint> without_file(const syntax::ProbePoint& point) {
  const std::string& text = *point.components[1].text;
  const size_t at = text.find('@');
  if (point.components[1].name != "function" || at == std::string::npos || text.find(':', at) != std::string::npos ||
      is_glob(text))
    return std::nullopt;
  syntax::ProbePoint alone;
  alone.components = point.components;
  alone.components[1].text = text.substr(0, at);
  if (needs_debug_info(alone)) return std::nullopt;
  return alone;
}

// One component behind function("..."). kprobe: of kprobe.function, which knows fewer.
Result<void> parse_suffix(const syntax::ProbePoint& point, size_t index, bool kprobe, Request& request) {
  const syntax::PointComponent& part = point.components[index];
  const bool plain = !part.text && !part.number;
  if (part.name == "return" && plain && !request.is_return) {
    request.is_return = true;
    request.suffix += ".return";
  } else if (part.name == "maxactive" && part.number && request.is_return) {
    // The kernel sizes its own room for pending returns; what it could not keep is reported as missed.
    if (*part.number < 1) return Error{fmt::format("maxactive({}): the number must be 1 or more", *part.number), ""};
  } else if (part.name == "maxactive" && part.number) {
    return Error{"'.maxactive' is for returns",
                 fmt::format("{}.return.maxactive({})", request.head + ".function(\"" + request.pattern + "\")", *part.number)};
  } else if (part.name == "call" && plain && !request.is_hook && !request.is_return) {
    request.suffix += ".call";
  } else if (part.name == "exported" && plain && !kprobe && !request.is_return) {
    request.only_exported = true;
    request.suffix += ".exported";
  } else {
    return unexpected_component(point, index, kprobe ? std::vector<std::string>{"return", "maxactive", "call"} : after_function);
  }
  return {};
}

Result<std::string> function_name(const syntax::PointComponent& part, const std::string& example) {
  if (!part.text || part.text->empty()) return Error{fmt::format("{} needs the name of a function", part.name), example};
  if (part.text->find('@') != std::string::npos)
    return Error{fmt::format("'{}': files and lines are known of .function and .statement of kernel and module(\"NAME\") only",
                             *part.text),
                 part.name == "statement"
                     ? "statement(\"FUNCTION+OFFSET\") is an instruction; function(\"FUNCTION\") needs no line"
                     : "name the function alone"};
  return *part.text;
}

// The text of a statement: NAME or NAME+OFFSET, into `request`, whose head is set.
Result<void> parse_statement_text(const syntax::PointComponent& part, Request& request) {
  const std::string example = fmt::format("{}.statement(\"{}+5\")", request.head, request.module.empty() ? "vfs_read" : "NAME");
  TRY(request.pattern, function_name(part, example));
  const size_t plus = request.pattern.find('+');
  if (plus != std::string::npos) {
    std::string digits = request.pattern.substr(plus + 1);
    const int base = digits.starts_with("0x") ? 16 : 10;
    if (base == 16) digits.erase(0, 2);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), request.offset, base);
    if (error != std::errc() || *end || digits.empty())
      return Error{fmt::format("'{}': the offset must be a number of bytes", request.pattern), example};
    request.pattern.resize(plus);
  }
  if (!is_glob(request.pattern)) return {};
  if (!request.module.empty()) return Error{fmt::format("{}.statement takes no pattern", request.head), "use .function"};
  return Error{"kernel.statement takes no pattern without a file",
               "use kernel.function, or kernel.statement(\"*@fs/open.c:1000\")"};
}

// kernel.statement("vfs_read+5"), kernel.statement(0xffffffff81234560).absolute, kprobe.statement(0xffffffff81234560).absolute
Result<Request> parse_statement(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  request.head = parts[0].name;
  request.is_statement = true;
  if (parts[1].number) {
    // Without debug information every address is one of the running kernel.
    if (parts.size() > 2 && parts[2].name != "absolute") return unexpected_component(point, 2, {"absolute"});
    if (parts.size() > 3) return unexpected_component(point, 3, {});
    request.address = static_cast<uint64_t>(*parts[1].number);
    return request;
  }
  if (request.head == "kprobe")
    return Error{"kprobe.statement needs an address",
                 "kprobe.statement(0xADDRESS).absolute, or kernel.statement(\"vfs_read+5\")"};
  if (parts.size() > 2) return unexpected_component(point, 2, {"absolute"});
  TRY_DO(parse_statement_text(parts[1], request));
  return request;
}

// kernel.lsm("file_open"): where the kernel asks its security modules, whichever there are, whether it may do something. It does
// so by functions of its own, which it calls whether a module of eBPF programs (CONFIG_BPF_LSM) is active or not.
// security/security.c
Result<Request> parse_hook(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  request.head = "kernel";
  request.is_hook = true;
  const bool alone = parts[0].name == "lsm";  // lsm.NAME
  if (alone && (parts[0].text || parts[0].number)) return unexpected_component(point, 0, {"lsm"});
  if (alone && (parts[1].text || parts[1].number)) return unexpected_component(point, 1, {parts[1].name});
  if (!alone && (!parts[1].text || parts[1].text->empty()))
    return Error{"lsm needs the name of a hook", "kernel.lsm(\"file_open\")"};
  request.pattern = std::string(kHookPrefix) + (alone ? parts[1].name : *parts[1].text);
  for (size_t i = 2; i < parts.size(); ++i) {
    if (parts[i].name != "return") return unexpected_component(point, i, {"return"});
    TRY_DO(parse_suffix(point, i, true, request));
  }
  return request;
}

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts[0].name == "lsm" || (parts[0].name == "kernel" && parts[1].name == "lsm")) return parse_hook(point);
  if (parts[0].name != "module" && parts.size() > 1 && parts[1].name == "statement") return parse_statement(point);
  const bool kprobe = parts[0].name == "kprobe";
  Request request;
  request.head = kprobe ? "kprobe" : "kernel";
  size_t next = 1;
  const syntax::PointComponent* module = nullptr;
  if (parts[0].name == "module") module = &parts[0];
  if (kprobe && parts.size() > 1 && parts[1].name == "module") module = &parts[next++];
  if (module) {
    if (!module->text || module->text->empty())
      return Error{"module needs the name of a module", "module(\"loop\").function(\"lo_open\")"};
    request.module = *module->text;
    request.head = fmt::format("{}module(\"{}\")", kprobe ? "kprobe." : "", request.module);
  }
  if (next >= parts.size())
    return Error{fmt::format("the probe point '{}' is incomplete", text_of(point)),
                 fmt::format("{}.function(\"NAME\")", request.head)};
  if (module && !kprobe && parts[next].name == "statement") {
    if (parts[next].number) {
      return Error{
          fmt::format("{}.statement(ADDRESS) is not available: modules are loaded anywhere", request.head),
          fmt::format("{}.statement(\"NAME+OFFSET\"), or kernel.statement({:#x}).absolute for an address of the running kernel",
                      request.head, static_cast<uint64_t>(*parts[next].number))};
    }
    if (next + 1 < parts.size()) return unexpected_component(point, next + 1, {});
    request.is_statement = true;
    TRY_DO(parse_statement_text(parts[next], request));
    return request;
  }
  if (parts[next].name != "function")
    return unexpected_component(point, next,
                                kprobe && next == 1 ? std::vector<std::string>{"function", "module", "statement"}
                                : kprobe            ? std::vector<std::string>{"function"}
                                                    : std::vector<std::string>{"function", "statement"});
  TRY(request.pattern, function_name(parts[next], fmt::format("{}.function(\"vfs_read\")", request.head)));
  for (size_t i = next + 1; i < parts.size(); ++i) TRY_DO(parse_suffix(point, i, kprobe, request));
  return request;
}

// ---- what is there

std::string where(const Request& request) {
  return request.module.empty() ? "this kernel" : fmt::format("the module {}", request.module);
}

// Returns the name that a function of another kernel probably has in this one: a known new name; itself with underscores before
// or words behind; one that is almost the same. Else empty.
std::string today_name(const std::string& function, const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  for (const RenamedFunction& each : kRenamedFunctions) {  // of a point that may resolve to nothing: see symbols_under_new_name
    if (each.old_name != function) continue;
    for (const std::string_view name : each.new_names) {
      if (has(name)) return std::string(name);
    }
  }
  for (const std::string& each : {"__" + function, "_" + function}) {
    if (has(each)) return each;
  }
  if (const size_t first = function.find_first_not_of('_');
      first != std::string::npos && first > 0 && has(function.substr(first)))
    return function.substr(first);
  std::string longer;
  for (const std::string& each : names) {
    if (each.starts_with(function + "_") && (longer.empty() || each.size() < longer.size())) longer = each;
  }
  return longer.empty() ? nearest_name(function, names) : longer;
}

Error no_function(const Request& request, const kernelinfo::Symbols& symbols) {
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols.all()) {
    if (!symbol.is_code() || symbol.module != request.module) continue;
    std::string_view name = debuginfo::clone_name(symbol.name).base;
    if (request.is_hook && !name.starts_with(kHookPrefix)) continue;
    names.emplace_back(request.is_hook ? name.substr(kHookPrefix.size()) : name);
  }
  if (request.is_hook) {
    const std::string hook = request.pattern.substr(kHookPrefix.size());
    const std::string known = is_glob(hook) ? std::string() : nearest_name(hook, names);
    return {fmt::format("no security hook '{}' in this kernel", hook),
            !known.empty() ? fmt::format("did you mean '{}'?", known)
                           : "hooks are the functions security_NAME of the kernel, without that prefix"};
  }
  const bool glob = is_glob(request.pattern);
  std::string near = glob ? std::string() : today_name(request.pattern, names);
  if (glob) return {fmt::format("no function that can be probed in {} matches '{}'", where(request), request.pattern), ""};
  const auto gone = std::ranges::find(kGoneFunctions, request.pattern, &GoneFunction::old_name);
  const auto there = [&](std::string_view name) {
    return name.find('(') != name.npos || std::ranges::find(names, name) != names.end();
  };
  if (request.module.empty() && gone != std::end(kGoneFunctions) && there(gone->instead))
    return {fmt::format("no function '{}' in this kernel: it {}", request.pattern, gone->why),
            fmt::format("today: {}; compare its parameters and result before using it", gone->instead)};
  return {fmt::format("no function '{}' in {}", request.pattern, where(request)),
          near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

// The number of the function's description where a program can be attached by it, and all its arguments are in registers.
void describe(TracedWorld& world, sema::KernelFunction& function) {
  if (!world.kernel().features().tracing || !kernelinfo::may_be_traced(function.symbol)) return;
  auto types = world.kernel().types("");
  if (!types.ok()) return;
  auto described = (*types)->function(function.symbol);
  if (!described || described->variadic || described->parameters.size() > abi::kConvention.argument_registers.size()) return;
  for (const auto& parameter : described->parameters) {
    if (!parameter.type.is_scalar()) return;
  }
  if (!described->returned.is_scalar() && described->returned.kind() != debuginfo::TypeKind::kVoid) return;
  function.description = described->id;
  function.arguments = static_cast<uint32_t>(described->parameters.size());
}

ResolvedPoint point_at(const Request& request, sema::KernelFunction function) {
  ResolvedPoint point;
  point.kind = request.is_statement ? sema::ProbeKind::kStatement
               : request.is_return  ? sema::ProbeKind::kFunctionReturn
                                    : sema::ProbeKind::kFunctionEntry;
  point.domain = sema::Domain::kKernel;
  point.site.module = request.module.empty() ? "kernel" : "kernel:" + request.module;
  point.site.address = FileAddress(function.address + function.offset);
  point.site.function = function.symbol;
  if (request.address) {
    point.text = fmt::format("kernel.statement({:#x}).absolute", *request.address);
  } else if (request.is_statement) {
    point.text = fmt::format("{}.statement(\"{}+{:#x}\")", request.head, function.symbol, function.offset);
  } else if (request.is_hook) {
    point.text = fmt::format("kernel.lsm(\"{}\"){}", function.symbol.substr(kHookPrefix.size()), request.suffix);
  } else {
    point.text = fmt::format("{}.function(\"{}\"){}", request.head, function.symbol, request.suffix);
  }
  point.site.kernel = std::make_shared<const sema::KernelFunction>(std::move(function));
  return point;
}

// The kernel's code symbols by name, of the symbols that were asked about last. Lists of hundreds of functions, as `spile trace`
// has them, ask for each.
const kernelinfo::CodeNames& code_names(const kernelinfo::Symbols& symbols) {
  static thread_local std::optional<kernelinfo::CodeNames> known;
  if (!known || !known->is_of(symbols)) known.emplace(symbols);
  return *known;
}

// The code symbols that are meant by a function's name: itself, and copies of it that the compiler made.
std::vector<Symbol> symbols_of(const Request& request, const kernelinfo::Symbols& symbols) {
  std::vector<Symbol> found;
  for (const Symbol& symbol : code_names(symbols).named(request.pattern)) {
    if (symbol.module != request.module) continue;
    const debuginfo::CloneName clone = debuginfo::clone_name(symbol.name);
    const bool copy = clone.base == request.pattern && !clone.fragment && !clone.split;
    if (symbol.name == request.pattern || copy) found.push_back(symbol);
  }
  return found;
}

// A place behind the end of its function is in another one, or in none: a kprobe there would count hits of something else. Where
// the kernel hides addresses, it alone can say.
Result<void> check_inside(const kernelinfo::Symbols& symbols, const Symbol& symbol, uint64_t offset) {
  if (symbol.address == 0 || offset == 0) return {};
  const uint64_t place = symbol.address + offset;
  const Symbol* there = place < symbol.address ? nullptr : symbols.at(place);
  if (!there) return Error{fmt::format("'{}+{}' is not in the kernel's code", symbol.name, offset), ""};
  if (there->address == symbol.address) return {};
  const std::string name =
      there->module.empty() ? std::string(there->name) : fmt::format("{} of the module {}", there->name, there->module);
  return Error{fmt::format("'{}+{}' is not in the function '{}': it lies {} bytes behind the beginning of '{}'", symbol.name,
                           offset, symbol.name, place - there->address, name),
               "objdump -d or gdb show the offsets of a function's instructions"};
}

Result<void> check_address(const kernelinfo::Symbols& symbols, uint64_t address) {
  if (symbols.addresses_hidden() || symbols.at(address)) return {};
  return Error{fmt::format("{:#x} is not an address of the kernel's code", address),
               "/proc/kallsyms has the addresses of functions, which change with every boot"};
}

// The name, or pattern, that the function of a system call has since Linux 4.17: "__x64_sys_read" for "sys_read" and "SyS_read".
// Empty: not one.
std::string call_since_4_17(std::string_view name) {
  const bool is_call = name.starts_with("sys_") || name.starts_with("SyS_");
  return is_call ? fmt::format("__x64_sys_{}", name.substr(4)) : std::string();
}

// The same function under the name that newer kernels give to it: system calls since Linux 4.17, functions that allocate since
// 6.10, and those of kRenamedFunctions, which a warning names. Empty: none.
std::vector<Symbol> symbols_under_new_name(TracedWorld& world, const Request& request, const kernelinfo::Symbols& symbols) {
  if (!request.module.empty() || request.offset != 0 || request.is_hook) return {};
  Request renamed = request;
  const std::string call = call_since_4_17(request.pattern);
  renamed.pattern = !call.empty() ? call : request.pattern + "_noprof";
  std::vector<Symbol> found = symbols_of(renamed, symbols);
  // A script that gives the kernel a choice (?, !) names the new function, too, and would count it twice.
  if (!found.empty() || !request.alone) return found;
  const auto entry = std::ranges::find(kRenamedFunctions, request.pattern, &RenamedFunction::old_name);
  if (entry == std::end(kRenamedFunctions)) return found;
  for (const std::string_view name : entry->new_names) {
    renamed.pattern = name;
    if (name.empty() || (found = symbols_of(renamed, symbols)).empty()) continue;
    world.remark(fmt::format("the function '{}' has another name in this kernel: '{}' is probed", request.pattern, name));
    return found;
  }
  return found;
}

Result<Points> resolve_exact(TracedWorld& world, const Request& request) {
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  std::vector<Symbol> found = symbols_of(request, *symbols);
  if (found.empty()) found = symbols_under_new_name(world, request, *symbols);
  if (found.empty()) return no_function(request, *symbols);
  if (request.is_statement && found.size() > 1)
    return Error{fmt::format("'{}' has code at {} places", request.pattern, found.size()),
                 "kernel.statement(0xADDRESS).absolute"};
  Points points;
  Error refused;
  for (const Symbol& symbol : found) {
    const auto same = [&](const Symbol& other) { return other.name == symbol.name; };
    const bool unique = std::ranges::count_if(found, same) == 1;
    std::string reason = world.kernel().refusal(symbol);
    if (reason.empty() && !unique && symbol.address == 0)
      reason = "stands for several functions, and the kernel hides their addresses";
    if (!reason.empty()) {
      refused = {fmt::format("the function '{}' can't be probed: it {}", symbol.name, reason),
                 "probe a function that calls it, or a tracepoint on the way (spile -l 'kernel.trace(\"*\")' lists them)"};
      if (found.size() > 1) world.leave_out(refused.message);
      continue;
    }
    TRY_DO(check_inside(*symbols, symbol, request.offset));
    sema::KernelFunction function{
        .symbol = std::string(symbol.name), .address = symbol.address, .offset = request.offset, .is_unique = unique};
    if (unique && request.module.empty() && !request.is_statement) describe(world, function);
    points.push_back(point_at(request, std::move(function)));
  }
  if (points.empty()) return refused;
  return points;
}

// Adds a sentence for each function that matches a pattern, and is left out.
void explain_left_out(TracedWorld& world, const Request& request, const kernelinfo::Symbols& symbols,
                      const std::unordered_set<std::string_view>& found) {
  for (const Symbol& symbol : symbols.all()) {
    if (!symbol.is_code() || symbol.module != request.module || found.contains(symbol.name) ||
        !glob_matches(request.pattern, symbol.name))
      continue;
    // The room before a function's entry has a symbol of its own (objtool's --prefix, and -fsanitize=kcfi).
    if (symbol.name.starts_with("__pfx_") || symbol.name.starts_with("__cfi_")) continue;
    const std::string refusal = world.kernel().refusal(symbol);
    world.leave_out(fmt::format("{}: it {}", symbol.name,
                                !refusal.empty() ? refusal
                                                 : "is not among those that ftrace can trace (notrace, or written in assembly); "
                                                   "a probe that names it alone uses a kprobe"));
  }
}

// The functions by /proc/kallsyms that a pattern stands for, where the kernel does not list those that can be traced, as while it
// is locked down.
std::vector<kernelinfo::TraceableFunction> functions_by_symbols(TracedWorld& world, const Request& request,
                                                                const kernelinfo::Symbols& symbols) {
  std::vector<kernelinfo::TraceableFunction> functions;
  for (const Symbol& symbol : symbols.all()) {
    if (!symbol.is_code() || symbol.module != request.module || !glob_matches(request.pattern, symbol.name)) continue;
    if (symbol.name.starts_with("__pfx_") || symbol.name.starts_with("__cfi_") || !world.kernel().refusal(symbol).empty())
      continue;
    functions.push_back({.name = std::string(symbol.name), .module = std::string(symbol.module), .address = symbol.address});
  }
  return functions;
}

// The functions of a pattern that the kernel has by exactly the names that match it.
Result<Points> resolve_pattern_as_written(TracedWorld& world, const Request& request) {
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  Result<const std::vector<kernelinfo::TraceableFunction>*> listed = world.kernel().traceable();
  std::vector<kernelinfo::TraceableFunction> by_symbols;
  if (!listed.ok()) {
    if (symbols->addresses_hidden()) return listed.error();
    by_symbols = functions_by_symbols(world, request, *symbols);
    if (by_symbols.empty()) return no_function(request, *symbols);
    world.remark(fmt::format("the functions that match '{}' are those of /proc/kallsyms, of which the kernel may refuse some: {}",
                             request.pattern, listed.error().message));
  }
  const std::vector<kernelinfo::TraceableFunction>* traceable = listed.ok() ? *listed : &by_symbols;
  std::unordered_set<std::string_view> exported;
  for (const Symbol& symbol : symbols->all()) {
    if (request.only_exported && symbol.name.starts_with("__ksymtab_")) exported.insert(symbol.name.substr(10));
  }
  // Of the name, also where ftrace can trace only one: a kprobe by name would be at whichever comes first, or be refused.
  std::unordered_set<std::string_view> seen, repeated;
  const auto is_wanted = [&](std::string_view name, std::string_view module) {
    return module == request.module && glob_matches(request.pattern, name);
  };
  for (const auto& function : *traceable) {
    if (is_wanted(function.name, function.module) && !seen.insert(function.name).second) repeated.insert(function.name);
  }
  seen.clear();
  for (const Symbol& symbol : symbols->all()) {
    if (symbol.is_code() && is_wanted(symbol.name, symbol.module) && !seen.insert(symbol.name).second)
      repeated.insert(symbol.name);
  }
  Points points;
  std::unordered_set<std::string_view> found;  // only filled in for explanations
  for (const auto& function : *traceable) {
    if (function.module != request.module || !glob_matches(request.pattern, function.name)) continue;
    if (request.only_exported && !exported.contains(function.name)) continue;
    if (kernelinfo::is_blacklisted(world.kernel().blacklist(), function.name, function.address)) continue;
    const bool unique = !repeated.contains(function.name);
    if (!unique && function.address == 0) {
      world.leave_out(
          fmt::format("{}: several functions of the kernel have this name, and their addresses are not known", function.name));
      continue;
    }
    if (world.options().explain_left_out) found.insert(function.name);
    points.push_back(
        point_at(request, {.symbol = function.name, .address = function.address, .is_unique = unique, .of_pattern = true}));
  }
  if (world.options().explain_left_out && !request.only_exported) explain_left_out(world, request, *symbols, found);
  if (points.empty() && request.only_exported && !is_glob(request.pattern) &&
      !symbols->named(request.pattern, request.module).empty()) {
    return Error{fmt::format("the function '{}' of {} is not exported", request.pattern, where(request)),
                 fmt::format("{}.function(\"{}\") probes it all the same", request.head, request.pattern)};
  }
  if (points.empty()) return no_function(request, *symbols);
  if (points.size() <= kernelinfo::kMostTracingPlaces && request.module.empty()) {
    for (ResolvedPoint& point : points) {
      sema::KernelFunction function = *point.site.kernel;
      if (function.is_unique) describe(world, function);
      point.site.kernel = std::make_shared<const sema::KernelFunction>(std::move(function));
    }
  }
  return points;
}

// A pattern of functions. If it begins with "sys_", it also stands for the functions of system calls, whose names began so until
// Linux 4.16. A script that gives the kernel a choice (?, !) may name both, and would count them twice.
Result<Points> resolve_pattern(TracedWorld& world, const Request& request) {
  Request calls = request;
  calls.pattern = call_since_4_17(request.pattern);
  if (calls.pattern.empty() || !request.module.empty() || request.is_hook || !request.alone)
    return resolve_pattern_as_written(world, request);
  Result<Points> found = resolve_pattern_as_written(world, calls);
  Result<Points> points = resolve_pattern_as_written(world, request);
  if (!found.ok()) return points;
  world.remark(fmt::format("'{}' stands for system calls, too, which this kernel has as '{}': it has {} of these functions",
                           request.pattern, calls.pattern, found->size()));
  if (points.ok()) found->insert(found->end(), std::make_move_iterator(points->begin()), std::make_move_iterator(points->end()));
  return found;
}

// What other kernels have as a module may be part of this one: its functions are the kernel's, whose names alone do not say which
// are from there.
Result<void> take_from_kernel(TracedWorld& world, Request& request) {
  if (request.module.empty()) return {};
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  if (std::ranges::any_of(symbols->all(), [&](const Symbol& symbol) { return symbol.module == request.module; })) return {};
  if (is_glob(request.pattern) || request.only_exported)
    return Error{fmt::format("'{}' is part of this kernel, not a module: which functions a pattern stands for is not known",
                             request.module),
                 "kernel.function(\"NAME*\") has those of the whole kernel"};
  if (symbols_of(request, *symbols).empty() && symbols->named(request.pattern, "").empty()) return {};
  world.remark(fmt::format("'{}' is part of this kernel, not a module: '{}' is the kernel's function of that name",
                           request.module, request.pattern));
  request.module.clear();
  request.head = request.head.starts_with("kprobe") ? "kprobe" : "kernel";
  return {};
}

// The function of a module that is not loaded: whether it has the function shows when it is.
Result<Points> resolve_later(TracedWorld& world, const Request& request) {
  const bool one = !is_glob(request.pattern) && !request.only_exported;
  if (request.is_statement)
    return Error{fmt::format("the module '{}' is not loaded: where its statements are is not known", request.module),
                 fmt::format("load it first: modprobe {}", request.module)};
  if (!world.kernel().knows_module(request.module) || !one) {
    return Error{
        fmt::format("the module '{}' is not loaded{}", request.module,
                    one ? ", and this kernel's modules on disk lack it" : ": which functions a pattern stands for is not known"),
        fmt::format("load it first: modprobe {}", request.module)};
  }
  world.remark(
      fmt::format("the module '{}' is not loaded: its function '{}' is probed once it is, if the handler reads no variables",
                  request.module, request.pattern));
  return Points{point_at(request, {.symbol = request.pattern})};
}

// Returns the calls of an exactly named function that were inlined; empty: none, or the debug information is not installed. What
// keeps debug information that is there from being used is added to World::left_out(). module: where it is; "": vmlinux.
Points inlined_in_kernel(TracedWorld& world, const std::string& module, const syntax::ProbePoint& point) {
  // Most machines have none, and entries are what they ask for.
  if (!world.kernel().has_debug_image(module)) return {};
  Result<const KernelImage*> image = world.kernel_image(module);
  if (!image.ok()) {
    world.leave_out(fmt::format("inlined calls of {} are not probed: {}", text_of(point), image.error().message));
    return {};
  }
  syntax::ProbePoint inlined;
  for (size_t i = 0; i < 2; ++i) inlined.components.push_back(point.components[i]);
  inlined.components.push_back({});
  inlined.components.back().name = "inline";
  auto calls = (*image)->module->inlined_calls({*point.components[1].text, ""});
  if (calls.ok() && calls->empty()) return {};
  Result<Points> points = resolve_functions(world, inlined);
  if (points.ok()) return std::move(*points);
  world.leave_out(points.error().message);
  return {};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point);

// module("kvm*"): of the modules that are loaded. One of them may lack the function.
Result<Points> resolve_in_modules(TracedWorld& world, const syntax::ProbePoint& point, size_t part) {
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  const std::string& pattern = *point.components[part].text;
  std::set<std::string> modules;
  for (const Symbol& symbol : symbols->all()) {
    if (!symbol.module.empty() && glob_matches(pattern, symbol.module)) modules.emplace(symbol.module);
  }
  if (modules.empty())
    return Error{fmt::format("no module that is loaded matches '{}'", pattern), "lsmod lists them; modprobe loads one"};
  Points points;
  Error first;
  for (const std::string& module : modules) {
    syntax::ProbePoint in_module;
    in_module.components = point.components;
    in_module.components[part].text = module;
    Result<Points> found = resolve(world, in_module);
    if (found.ok()) points.insert(points.end(), std::make_move_iterator(found->begin()), std::make_move_iterator(found->end()));
    else if (first.message.empty()) first = std::move(found).error();
  }
  if (points.empty()) return first;
  return points;
}

// A point of the kernel or of a loaded module for which debug information is needed: needs_debug_info().
Result<Points> resolve_by_debug_info(TracedWorld& world, const syntax::ProbePoint& point) {
  const syntax::PointComponent& head = point.components[0];
  const std::string module = head.text.value_or("");
  const bool is_function = point.components[1].name == "function";
  const auto by_debug_info = [&] { return is_function ? resolve_functions(world, point) : resolve_statements(world, point); };
  if (head.name == "module" && module.empty())
    return Error{"module needs the name of a module", "module(\"loop\").function(\"lo_open\")"};
  if (!module.empty() && world.kernel().has_module(module)) {
    TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
    if (std::ranges::none_of(symbols->all(), [&](const Symbol& symbol) { return symbol.module == module; })) {
      world.remark(
          fmt::format("'{0}' is part of this kernel, not a module: {1} is looked up in the kernel", module, text_of(point)));
      syntax::ProbePoint in_kernel;
      in_kernel.components = point.components;
      in_kernel.components[0].name = "kernel";
      in_kernel.components[0].text.reset();
      return resolve_by_debug_info(world, in_kernel);
    }
  }
  const auto alone = world.kernel().has_debug_image(module) ? std::nullopt : without_file(point);
  if (!alone) return by_debug_info();
  // The name says which function it is, where there is one of that name.
  TRY(Points points, resolve(world, *alone));
  if (points.size() > 1) return by_debug_info();
  world.remark(fmt::format(
      "{}: in which file {} has its only function of that name was not checked, as its debug information is not installed",
      text_of(point), module.empty() ? "the kernel" : "the module"));
  return points;
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  for (size_t part = 0; part < 2 && part < point.components.size(); ++part) {
    const syntax::PointComponent& component = point.components[part];
    if (component.name == "module" && component.text && is_glob(*component.text)) {
      TRY_DO(world.require_kernel("module"));
      return resolve_in_modules(world, point, part);
    }
  }
  if (needs_debug_info(point)) {
    TRY_DO(world.require_kernel(fmt::format("{}.{}", point.components[0].name, point.components[1].name).c_str()));
    return resolve_by_debug_info(world, point);
  }
  TRY(Request request, parse(point));
  request.alone = !point.optional && !point.sufficient;
  TRY_DO(world.require_kernel(fmt::format("{}.{}", point.components[0].name,
                                          request.is_hook        ? "lsm"
                                          : request.is_statement ? "statement"
                                                                 : "function")
                                  .c_str()));
  if (!request.module.empty() && !world.kernel().has_module(request.module)) return resolve_later(world, request);
  TRY_DO(take_from_kernel(world, request));
  if (request.address) {
    TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
    TRY_DO(check_address(*symbols, *request.address));
    sema::KernelFunction place;
    place.address = *request.address;
    return Points{point_at(request, std::move(place))};
  }
  // A single exported function is found by its name, too; a pattern is looked up in what can be traced.
  if (is_glob(request.pattern) || request.only_exported) return resolve_pattern(world, request);
  Result<Points> points = resolve_exact(world, request);
  // A function stands for its inlined calls, too, where it is not said otherwise. A pattern does not: it is for functions that
  // have a symbol.
  const bool plain =
      point.components[0].name != "kprobe" && point.components.size() == 2 && !request.is_statement && !request.is_hook;
  if (!plain) return points;
  Points inlined = inlined_in_kernel(world, request.module, point);
  if (points.ok())
    points->insert(points->end(), std::make_move_iterator(inlined.begin()), std::make_move_iterator(inlined.end()));
  else if (!inlined.empty()) return inlined;
  else if (request.module.empty() && !world.kernel().has_debug_image("") && points.error().hint.empty())
    return Error{points.error().message, "if all calls of it are inlined, the kernel's debug information says where: " +
                                             world.kernel().debug_image().error().hint};
  return points;
}

// ---- the families

bool takes_kernel(const syntax::ProbePoint& point) {
  return point.components[0].name == "kernel" && point.components.size() > 1 &&
         (point.components[1].name == "function" || point.components[1].name == "statement" || point.components[1].name == "lsm");
}
bool takes_hook(const syntax::ProbePoint& point) { return point.components[0].name == "lsm" && point.components.size() > 1; }
bool takes_module(const syntax::ProbePoint& point) { return point.components[0].name == "module"; }
bool takes_kprobe(const syntax::ProbePoint& point) { return point.components[0].name == "kprobe"; }

std::vector<std::string> kernel_components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1) return {"function", "statement", "lsm"};
  if (point.components[1].name == "lsm") return {"return"};
  if (point.components[1].name == "statement")
    return index == 2 ? std::vector<std::string>{"absolute", "nearest"} : std::vector<std::string>{};
  return point.components[1].name == "function" ? after_function : std::vector<std::string>{};
}
// Any name may be a hook's.
std::vector<std::string> hook_components(const syntax::ProbePoint&, size_t index) {
  return index == 2 ? std::vector<std::string>{"return"} : std::vector<std::string>{};
}
std::vector<std::string> module_components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1) return {"function", "statement"};
  if (point.components[1].name == "statement")
    return index == 2 ? std::vector<std::string>{"nearest"} : std::vector<std::string>{};
  return after_function;
}
std::vector<std::string> kprobe_components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1) return {"function", "module", "statement"};
  if (point.components[1].name == "statement")
    return index == 2 ? std::vector<std::string>{"absolute"} : std::vector<std::string>{};
  if (index == 2 && point.components[1].name == "module") return {"function"};
  return {"return", "maxactive", "call"};
}

}  // namespace

extern const Family kernel_function_family = {
    "kernel",
    takes_kernel,
    resolve,
    kernel_components,
    {"kernel.function(string)", "kernel.function(string).call", "kernel.function(string).exported",
     "kernel.function(string).return", "kernel.function(string).return.maxactive(number)", "kernel.function(string).inline",
     "kernel.function(string).callee(string)", "kernel.function(string).callee(string).call", "kernel.function(string).callees",
     "kernel.function(string).label(string)", "kernel.statement(string)", "kernel.statement(string).nearest",
     "kernel.statement(number)", "kernel.statement(number).absolute", "kernel.lsm(string)", "kernel.lsm(string).return"}};
extern const Family lsm_family = {"lsm", takes_hook, resolve, hook_components, {"lsm.NAME", "lsm.NAME.return"}};
extern const Family module_function_family = {
    "module",
    takes_module,
    resolve,
    module_components,
    {"module(string).function(string)", "module(string).function(string).call", "module(string).function(string).exported",
     "module(string).function(string).return", "module(string).function(string).return.maxactive(number)",
     "module(string).function(string).inline", "module(string).function(string).callee(string)",
     "module(string).function(string).callee(string).call", "module(string).function(string).callees",
     "module(string).function(string).label(string)", "module(string).statement(string)",
     "module(string).statement(string).nearest"}};
extern const Family kprobe_family = {
    "kprobe",
    takes_kprobe,
    resolve,
    kprobe_components,
    {"kprobe.function(string)", "kprobe.function(string).call", "kprobe.function(string).return",
     "kprobe.function(string).return.maxactive(number)", "kprobe.statement(number)", "kprobe.statement(number).absolute",
     "kprobe.module(string).function(string)", "kprobe.module(string).function(string).call",
     "kprobe.module(string).function(string).return", "kprobe.module(string).function(string).return.maxactive(number)"}};

}  // namespace spile::probes
