#pragma once
// Attaches loaded programs to instructions of ELF files, in every process that executes them there: uprobe.multi (Linux 6.6), one
// link for all places of a file, or a perf event for each place. bpf(2), perf_event_open(2);
// Documentation/trace/uprobetracer.rst, kernel/trace/bpf_trace.c (bpf_uprobe_multi_link_attach), kernel/trace/trace_event_perf.c.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Returns whether the kind is one of places in files; of these, whether one link serves all points in a file.
bool is_uprobe(AttachPoint::Kind kind);
bool is_uprobe_multi(AttachPoint::Kind kind);

// The attach type of programs for uprobe.multi (enum bpf_attach_type), which headers have from Linux 6.6 on.
inline constexpr int kAttachUprobeMulti = 48;

// Attach a program at one place, by a perf event of its own, or at all of them, by a link for each file, or several where the
// kernel refuses places in it. Handlers may run from here on. REQUIRES: is_uprobe() of the point; is_uprobe_multi() of all
// points, which are for one process or for all. Errors: no privilege; the file or process does not exist; the kernel can't probe
// the instruction (all instructions), or does not have the mechanism.
Result<Attachment> attach_uprobe(int program, const AttachPoint& point);
struct MadeUprobes {
  std::vector<Attachment> attachments;
  std::vector<std::pair<const AttachPoint*, Error>> refused;  // is_refused_instruction() of each
};
Result<MadeUprobes> attach_uprobes(int program, std::span<const AttachPoint> points);

// Returns whether an error of these says that the kernel puts no probe on an instruction (uprobe_init_insn,
// arch/x86/kernel/uprobes.c).
bool is_refused_instruction(const Error& error);

// Returns how a point is attached, for -v: "uprobe.multi at /usr/bin/redis-server+0x1234".
std::string uprobe_mechanism(const AttachPoint& point);

}  // namespace spile::bpf
