#pragma once
// The fields of a bundle, as base/files/archive.h writes and reads them. Whatever changes here needs a new kBundleVersion.

#include "base/files/archive.h"
#include "session/bundle/bundle.h"

namespace spile::session {

struct BundleFormat {
  static constexpr Numbers kNumbers = Numbers::kEight;
  static constexpr auto last(sema::Domain) { return sema::Domain::kKernel; }
  static constexpr auto last(sema::ProbeKind) { return sema::ProbeKind::kDataAccess; }
  static constexpr auto last(sema::PerfEvent) { return sema::PerfEvent::kMajorFaults; }
  static constexpr auto last(sema::SiteGroup::Call) { return sema::SiteGroup::kReturnOfCall; }
  static constexpr auto last(ValueType) { return ValueType::kStats; }
  static constexpr auto last(syntax::FormatPart::Kind) { return syntax::FormatPart::Kind::kMemoryHex; }
  static constexpr auto last(syntax::OutputFormat::Kind) { return syntax::OutputFormat::Kind::kHistogram; }
  static constexpr auto last(abi::KernelMapKind) { return abi::KernelMapKind::kRing; }
  static constexpr auto last(abi::KernelMapMerge) { return abi::KernelMapMerge::kAggregate; }
};
using BundleWriter = ArchiveWriter<BundleFormat>;
using BundleReader = ArchiveReader<BundleFormat>;

// ---- what passes 1 and 2 have made

template <class A>
void fields(A& a, Like<ScriptOptions> auto& o) {
  a(o.text, o.additional_texts, o.arguments, o.limits, o.guru, o.compatible, o.privilege, o.module_name);
}
template <class A>
void fields(A& a, Like<ProgramOptions> auto& o) {
  a(o.global_values, o.unoptimized, o.skip_bad_variables, o.display_globals, o.time_probes, o.suppress_time_limits);
}
template <class A>
void fields(A& a, Like<sema::Limits> auto& l) {
  a(l.max_action, l.max_action_interruptible, l.max_nesting, l.max_string_length, l.chooses_string_length, l.max_map_entries,
    l.max_errors, l.max_skipped, l.max_backtrace, l.hist_elision);
}
template <class A>
void fields(A& a, Like<sema::MarkInfo> auto& m) {
  a(m.provider, m.name, m.arguments);
}
template <class A>
void fields(A& a, Like<sema::KernelFunction> auto& f) {
  a(f.symbol, f.address, f.offset, f.is_unique, f.of_pattern, f.description, f.arguments);
}
template <class A>
void fields(A& a, Like<sema::Site> auto& s) {
  a(s.module, s.address, s.file_offset, s.size, s.function, s.source_file, s.line, s.go, s.tracepoint, s.by_arguments,
    s.system_call, s.kernel, s.around, s.scope, s.callee, s.tail_call, s.semaphore, s.semaphore_offset, s.mark, s.callers);
}
template <class A>
void fields(A& a, Like<sema::PerfSample> auto& s) {
  a(s.type, s.config, s.period, s.is_rate);
}
template <class A>
void fields(A& a, Like<sema::PacketHook> auto& h) {
  a(h.family, h.hook, h.priority);
}
template <class A>
void fields(A& a, Like<sema::ResolvedPoint> auto& p) {
  a(p.kind, p.domain, p.site, p.text, p.name, p.sequence, p.once, p.interval_ns, p.randomize_ns, p.procfs_name, p.procfs_umask,
    p.procfs_maxsize, p.process, p.of_processes, p.program, p.sample, p.packet, p.counter, p.counter_event);
}
template <class A>
void fields(A& a, Like<sema::ArmedSite> auto& s) {
  a(s.site, s.group, s.points);
}
template <class A>
void fields(A& a, Like<sema::KeptFunction> auto& f) {
  a(f.module, f.address);
}
template <class A>
void fields(A& a, Like<sema::SiteGroup> auto& g) {
  a(g.entry_probes, g.return_probes, g.go, g.inside_function, g.system_call);
}

// ---- what passes 3 and 4 have made

template <class A>
void fields(A& a, Like<codegen::ArenaLayout> auto& l) {
  a(l.size, l.globals_offset, l.private_offset, l.exchange_offset, l.exchange_size, l.slots_offset, l.slot_stride, l.slot_count,
    l.frames_offset, l.entries_offset, l.tables_offset, l.tables_size, l.kernel_code_offset, l.kernel_code_size,
    l.processes_offset, l.shards_offset, l.shadow_offset, l.shadow_stride, l.shadow_capacity, l.scratch_offset, l.scratch_size,
    l.ring_offset, l.ring_size, l.calls_offset, l.calls_capacity, l.kernel_frame_offset, l.constants_offset, l.kernel_offset,
    l.shared_offset, l.shared_size, l.record_owner_size, l.kernel_ring_size, l.kernel_small_ring_size, l.kernel_slots);
}
template <class A>
void fields(A& a, Like<syntax::FormatPart> auto& p) {
  a(p.kind, p.literal, p.left, p.zero, p.plus, p.space, p.alternate, p.width, p.precision, p.width_argument,
    p.precision_argument);
}
template <class A>
void fields(A& a, Like<syntax::OutputFormat> auto& f) {
  a(f.kind, f.parts, f.arguments, f.is_log, f.low, f.high, f.width, f.own, f.elision, f.has_summary, f.unit);
}
template <class A>
void fields(A& a, Like<syntax::ErrorText> auto& e) {
  a(e.text, e.place, e.excerpt);
}
template <class A>
void fields(A& a, Like<codegen::SystemCommands> auto& c) {
  a(c.texts, c.made_at);
}
template <class A>
void fields(A& a, Like<abi::FaultFixup> auto& f) {
  a(f.fault_offset, f.resume_offset);
}
template <class A>
void fields(A& a, Like<abi::CodeImage> auto& i) {
  a(i.bytes, i.code_begin, i.code_end, i.fixups, i.guru, i.unchecked);
}
template <class A>
void fields(A& a, Like<codegen::ImageEntry> auto& e) {
  a(e.enter, e.exit, e.entry, e.flags);
}
template <class A>
void fields(A& a, Like<codegen::TargetCode> auto& t) {
  a(t.image, t.groups, t.unwind, t.walked, t.landing, t.caught, t.step_enter, t.step_exit, t.keep_entry, t.keep_entry_flags,
    t.call_enter, t.call_exit);
}
template <class A>
void fields(A& a, Like<codegen::ControllerCode> auto& c) {
  a(c.image, c.init, c.merge, c.probes, c.conditions, c.walk_stack, c.global_clear, c.global_put, c.global_add, c.global_next);
}
template <class A>
void fields(A& a, Like<codegen::KernelMap> auto& m) {
  a(m.symbol, m.kind, m.key_size, m.value_size, m.entries, m.global, m.merge, m.sharded, m.key_count, m.string_keys,
    m.string_size);
}
template <class A>
void fields(A& a, Like<codegen::KernelProgram> auto& p) {
  a(p.section, p.probe, p.exit_side, p.by_arguments, p.reads_context, p.points, p.raw_tracepoint, p.keeps_lives);
}
template <class A>
void fields(A& a, Like<codegen::KernelCode::Copy> auto& c) {
  a(c.from, c.to, c.size);
}
template <class A>
void fields(A& a, Like<codegen::KernelCode> auto& k) {
  a(k.object, k.over_arena, k.arena, k.copies, k.maps, k.programs, k.followed);
}
template <class A>
void fields(A& a, Like<codegen::CompiledScript> auto& s) {
  a(s.layout, s.formats, s.errors, s.controller, s.target, s.kernel, s.commands, s.target_records, s.literals, s.string_limit,
    s.hit_counters);
}
template <class A>
void fields(A& a, Like<kernelinfo::TaskLayout> auto& t) {
  a(t.task_mm, t.mm_exe_file, t.file_inode, t.task_signal, t.signal_threads, t.task_files, t.files_table, t.table_files);
}
template <class A>
void fields(A& a, Like<abi::KernelMembers> auto& m) {
  a(m.task_parent, m.task_signal, m.task_thread_pid, m.task_cred, m.task_mm, m.task_name, m.task_links, m.task_call_state,
    m.signal_pids, m.pid_level, m.pid_tasks, m.pid_numbers, m.number_size, m.number_value, m.number_space, m.space_inode,
    m.space_ids, m.node_shift, m.node_slots, m.cred_euid, m.cred_egid, m.mm_arguments, m.mm_arguments_end, m.mm_environment,
    m.mm_environment_end);
}
template <class A>
void fields(A& a, Like<kernelinfo::Features> auto& f) {
  a(f.tracing, f.tracing_cookie, f.multi, f.multi_return_stack, f.kprobe, f.tasks, f.members);
}
template <class A>
void fields(A& a, Like<BundledModule> auto& m) {
  a(m.path, m.identity);
}
template <class A>
void fields(A& a, Like<BundledKernel> auto& k) {
  a(k.release, k.version, k.text, k.cpus, k.fixed_addresses);
}

}  // namespace spile::session
