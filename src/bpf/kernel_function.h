#pragma once
// Attaches loaded programs to the kernel's functions: fentry and fexit, kprobe.multi, kprobes by perf event. bpf(2),
// perf_event_open(2); Documentation/trace/kprobes.rst, kernel/trace/bpf_trace.c.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Returns whether the kind is one of the kernel's functions.
bool is_kernel_function(AttachPoint::Kind kind);
// Returns whether one link serves all points of a program (kprobe.multi).
bool is_multi(AttachPoint::Kind kind);
// Returns whether a program must be loaded for each point, as it is verified for the function's own arguments (fentry, fexit).
bool is_traced(AttachPoint::Kind kind);

// Returns whether an error of attach_to_function() is about the place: the kernel allows no probe there.
bool is_refusal_of_place(const Error& error);

// Attach a program at one function (kprobe, fentry), or with one link at all (REQUIRES: is_multi of each point). Handlers may run
// from here on. Errors: no privilege; the function does not exist or the kernel refuses probes there; the kernel does not have
// the mechanism.
Result<Attachment> attach_to_function(int program, const AttachPoint& point);
Result<Attachment> attach_to_functions(int program, std::span<const AttachPoint> points);

// Returns the error of a program that is attached by fentry or fexit and that the kernel does not load, whoever asks. error: of
// bpf(2).
Error no_tracing(const AttachPoint& point, int error);

// Return the hits that the kernel counts as missed for a link, and for a program; nullopt: it does not count them (before Linux
// 6.7).
std::optional<uint64_t> missed_by_link(int link);
std::optional<uint64_t> missed_by_program(int program);
// Returns whether the link is one of fentry or fexit, whose missed hits are those of the program.
bool is_tracing_link(int link);
// Returns how many instructions the verifier followed when it checked the program; none: the kernel does not say (before Linux
// 5.16).
std::optional<uint64_t> verified_instructions(int program);

// Returns how a point is attached, for -v: "fentry", "kprobe.multi".
std::string function_mechanism(const AttachPoint& point);

}  // namespace spile::bpf
