#pragma once
// Kprobes on functions of modules: an event in tracefs (Documentation/trace/kprobetrace.rst), which the kernel arms when the
// module is loaded, before its code runs, disarms when it is unloaded, and arms again when it is loaded once more. An event
// outlives its maker, so one that a killed spile has left behind is removed by the next spile that makes one.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace spile::bpf {

// The hint of errors about places between instructions.
inline constexpr const char* kNoInstruction = "objdump -d or gdb show where the function's instructions begin";

// An event of tracefs; destroying it removes the event. Thread rule: one thread at a time.
class TracefsProbe {
 public:
  TracefsProbe() = default;
  // Makes an event at a function, "loop:lo_open", or `offset` bytes into it. Errors: tracefs can't be written to, or the kernel
  // refuses.
  static Result<TracefsProbe> make(const std::string& function, uint64_t offset, bool at_return);
  TracefsProbe(TracefsProbe&& other) noexcept;
  TracefsProbe& operator=(TracefsProbe&& other) noexcept;
  ~TracefsProbe();

  // Returns the event's number, as perf_event_open(2) takes it for PERF_TYPE_TRACEPOINT. Error: tracefs can't be read.
  Result<uint64_t> id() const;
  // Returns the hits that the kernel has missed; nullopt: the event does not exist, or tracefs can't be read.
  std::optional<uint64_t> missed() const;

 private:
  std::string name_;  // "spile_4711/p0"; "": absent
};

// Return whether the function is of a module, "loop:lo_open"; and whether that is not loaded.
bool is_of_module(const std::string& function);
bool waits_for_module(const std::string& function);

}  // namespace spile::bpf
