// process.begin, .end, .thread.begin, .thread.end, .syscall, .syscall.return: what happens to processes and threads,
// rather than a place in their code. Handlers run in the controller, while the thread in question stands still; without -c and
// -x, for all processes of the machine or all of a program, in the kernel (codegen/kernel/lower_kernel.cpp).
//
// process, process("PATH"), process(PID) before; an exec is an end and a begin. thread.begin and thread.end are for
// threads other than a process's first.
//
// process.syscall("NAME") and .return: the calls of one name. The library's syscall.* are aliases of these. With -c or -x they
// are about the calls of these processes, by code in the processes; in the kernel where the script has probes there anyway.
// --runtime=bpf: of all processes.

#include "probes/process/process_lifecycle.h"

#include <fmt/format.h>

#include <algorithm>

#include "abi/machine.h"
#include "abi/system_calls.h"
#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "probes/terms/family.h"
#include "probes/terms/system_call_parameters.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1) return {"begin", "end", "thread", "syscall"};
  if (index == 2 && point.components[1].name == "thread") return {"begin", "end"};
  if (index == 2 && point.components[1].name == "syscall") return {"return"};
  return {};
}

bool takes(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts[0].name != "process" || parts.size() < 2) return false;
  for (const char* name : {"begin", "end", "thread", "syscall", "insn"}) {
    if (parts[1].name == name) return true;
  }
  return false;
}

Result<ProbeKind> kind_of(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  auto is = [&](size_t index, const char* name) { return index < parts.size() && parts[index].name == name; };
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool names_call = i == 1 && parts[i].name == "syscall" && parts[i].text;
    if ((parts[i].text && !names_call) || parts[i].number) return unexpected_component(point, i, components(point, i));
  }
  if (is(1, "insn")) {
    return Error{fmt::format("'{}' is not supported: stopping at every instruction makes a program ten thousand times slower",
                             text_of(point)),
                 "process.statement(\"function@file:line\") probes one place, at nanoseconds per hit"};
  }
  size_t length = is(1, "thread") || is(2, "return") ? 3 : 2;
  if (parts.size() > length) return unexpected_component(point, length, components(point, length));
  if (is(1, "begin")) return ProbeKind::kProcessBegin;
  if (is(1, "end")) return ProbeKind::kProcessEnd;
  if (is(1, "syscall") && parts.size() == 2) return ProbeKind::kSystemCall;
  if (is(1, "syscall") && is(2, "return")) return ProbeKind::kSystemCallReturn;
  if (is(1, "thread") && is(2, "begin")) return ProbeKind::kThreadBegin;
  if (is(1, "thread") && is(2, "end")) return ProbeKind::kThreadEnd;
  if (parts.size() < length)
    return Error{fmt::format("'{}' is incomplete", text_of(point)), "write process.thread.begin or process.thread.end"};
  return unexpected_component(point, length - 1, components(point, length - 1));
}

Error unknown_call(const std::string& name) {
  std::vector<std::string> known;
  for (int32_t number = 0; number < abi::kSystemCallNumbers; ++number) {
    if (const char* each = abi::system_call_name(number); *each) known.emplace_back(each);
  }
  std::string near = nearest_name(name, known);
  return {fmt::format("no system call is named '{}'", name), near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

// The calls of one name.
Result<Points> points_of_call(const TracedWorld& world, const syntax::ProbePoint& point, ResolvedPoint made) {
  const std::string& name = *point.components[1].text;
  if (point.components[0].text || point.components[0].number) {
    return Error{
        fmt::format("'{}': the calls of one name are probed of all processes", text_of(point)),
        fmt::format(
            "give the processes with -x or -c, or write if (pid() == ...) in the handler; process.syscall(\"{}\") is the point",
            name)};
  }
  made.site.system_call = abi::system_call_number(name.c_str());
  if (made.site.system_call < 0) return unknown_call(name);
  const bool in_kernel = !world.has_target() || world.process_domain() == sema::Domain::kKernel || world.has_kernel_probes();
  made.domain = in_kernel && !world.only_in_processes() ? sema::Domain::kKernel : sema::Domain::kController;
  made.of_processes = made.domain == sema::Domain::kKernel && world.has_target() && !world.only_in_kernel();
  return Points{made};
}

// For handlers in the kernel, which compare files: of a pattern, those that are there now.
Result<Points> points_of_programs(TracedWorld& world, const std::string& name, ResolvedPoint point) {
  if (!world.kernel().features().tasks) {
    return Error{
        fmt::format(
            "'{}': which program a process executes is found out with the kernel's type information, which this kernel lacks",
            point.text),
        "use -c COMMAND or -x PID, or a kernel that is built with CONFIG_DEBUG_INFO_BTF"};
  }
  std::vector<std::string> paths;
  if (has_wildcard(name)) {
    paths = world.find_executables(name);
    if (paths.empty()) return Error{fmt::format("process \"{}\": no program matches", name), ""};
  } else {
    TRY(std::string path, world.find_executable(name));
    paths.push_back(std::move(path));
  }
  Points points;
  for (std::string& path : paths) {
    point.site.module = std::move(path);
    points.push_back(point);
  }
  return points;
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  ResolvedPoint made;
  TRY(made.kind, kind_of(point));
  const syntax::PointComponent& process = point.components[0];
  const bool all_processes = !world.has_target() && world.process_domain() == sema::Domain::kKernel;
  made.domain = all_processes ? sema::Domain::kKernel : sema::Domain::kController;
  made.text = text_of(point);
  if (point.components[1].text) return points_of_call(world, point, std::move(made));
  if (process.number) made.process = static_cast<pid_t>(*process.number);
  if (all_processes && process.text) return points_of_programs(world, *process.text, std::move(made));
  if (process.text && has_wildcard(*process.text)) {
    made.site.module = world.program_pattern(*process.text);  // matched when a program is met
  } else if (process.text) {
    TRY(made.site.module, world.find_executable(*process.text));
  }
  return Points{made};
}

// The parameters of the call that the point names; null: it is on all calls, or they are not known.
std::optional<std::vector<SystemCallParameter>> parameters_of(const ResolvedPoint& point) {
  const int32_t call = point.site.system_call;
  return call < 0 ? std::nullopt : system_call_parameters(abi::system_call_name(call));
}

}  // namespace

Result<sema::Binding> bind_in_system_call(const ResolvedPoint& point, const syntax::TargetVariable& variable) {
  bool at_return = point.kind == ProbeKind::kSystemCallReturn;
  std::string known = at_return ? "$syscall $return $arg1 ... $arg6" : "$syscall $arg1 ... $arg6";
  auto from = [](location::Operation operation) { return sema::Binding{.ops = {operation}}; };
  std::string name = variable.name.starts_with("$") ? variable.name.substr(1) : variable.name;
  const auto parameters = parameters_of(point);
  if (parameters) {
    for (size_t i = 0; i < parameters->size(); ++i) {
      const SystemCallParameter& each = (*parameters)[i];
      known += fmt::format(" ${}", each.name);
      if (each.name != name) continue;
      if (!variable.path.empty()) {
        return Error{fmt::format("'${}' is a number here, and has no members", name),
                     fmt::format("for a structure: @cast(${}, \"TYPE\", \"kernel\")->MEMBER", name)};
      }
      sema::Binding binding = from(location::Register{abi::kConvention.system_call_arguments[i]});
      if (each.bytes < 8) binding.ops.emplace_back(location::Convert{each.bytes, each.is_signed});
      return binding;
    }
  }
  if (!variable.path.empty()) return Error{fmt::format("'${}' is a number here, and has no members", name), ""};
  if (name == "syscall") return from(location::CallNumber{});
  if (name == "return" && at_return) return from(location::Register{abi::kConvention.system_call_result});
  if (name.size() == 4 && name.starts_with("arg") && name[3] >= '1' && name[3] <= '6')
    return from(location::Register{abi::kConvention.system_call_arguments[static_cast<size_t>(name[3] - '1')]});
  return Error{fmt::format("unknown variable '${}' at a system call", name), "known here: " + known};
}

std::vector<std::string> system_call_variables(const ResolvedPoint& point, const std::string& which) {
  std::vector<std::string> arguments = {"$arg1", "$arg2", "$arg3", "$arg4", "$arg5", "$arg6"};
  if (const auto parameters = parameters_of(point)) {
    arguments.clear();
    for (const SystemCallParameter& each : *parameters) arguments.push_back(fmt::format("${}", each.name));
  }
  if (which == "$$return")
    return point.kind == ProbeKind::kSystemCallReturn ? std::vector<std::string>{"$return"} : std::vector<std::string>{};
  if (which == "$$locals") return {};
  if (which == "$$vars") arguments.insert(arguments.begin(), "$syscall");
  return arguments;
}

extern const Family process_lifecycle_family = {"process",
                                                takes,
                                                resolve,
                                                components,
                                                {"process.begin",
                                                 "process.end",
                                                 "process.thread.begin",
                                                 "process.thread.end",
                                                 "process.syscall",
                                                 "process.syscall.return",
                                                 "process.syscall(string)",
                                                 "process.syscall(string).return",
                                                 "process(string).begin",
                                                 "process(string).end",
                                                 "process(string).thread.begin",
                                                 "process(string).thread.end",
                                                 "process(string).syscall",
                                                 "process(string).syscall.return",
                                                 "process(number).begin",
                                                 "process(number).end",
                                                 "process(number).thread.begin",
                                                 "process(number).thread.end",
                                                 "process(number).syscall",
                                                 "process(number).syscall.return"}};

}  // namespace spile::probes
