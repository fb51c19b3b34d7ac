#pragma once
// The fields of a bundle, once for writing and reading: `fields(archive, x)` calls archive(...) with those of x in their order.
// An archive writes numbers as 8 bytes little-endian, texts and sequences behind their length. Whatever changes here needs a new
// kBundleVersion.

#include <concepts>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "session/bundle/bundle.h"

namespace spile::session {

template <class T, class Wanted>
concept Like = std::same_as<std::remove_const_t<T>, Wanted>;

// The greatest value of an enumeration: what a file says must not leave it.
template <class E>
constexpr uint64_t greatest() {
  if constexpr (std::same_as<E, sema::Domain>) return static_cast<uint64_t>(sema::Domain::kKernel);
  else if constexpr (std::same_as<E, sema::ProbeKind>) return static_cast<uint64_t>(sema::ProbeKind::kDataAccess);
  else if constexpr (std::same_as<E, sema::PerfEvent>) return static_cast<uint64_t>(sema::PerfEvent::kMajorFaults);
  else if constexpr (std::same_as<E, sema::SiteGroup::Call>) return sema::SiteGroup::kReturnOfCall;
  else if constexpr (std::same_as<E, ValueType>) return static_cast<uint64_t>(ValueType::kStats);
  else if constexpr (std::same_as<E, syntax::FormatPart::Kind>)
    return static_cast<uint64_t>(syntax::FormatPart::Kind::kMemoryHex);
  else if constexpr (std::same_as<E, syntax::OutputFormat::Kind>)
    return static_cast<uint64_t>(syntax::OutputFormat::Kind::kHistogram);
  else if constexpr (std::same_as<E, abi::KernelMapKind>) return static_cast<uint64_t>(abi::KernelMapKind::kRing);
  else {
    static_assert(std::same_as<E, abi::KernelMapMerge>);
    return static_cast<uint64_t>(abi::KernelMapMerge::kAggregate);
  }
}

class BundleWriter {
 public:
  static constexpr bool kReads = false;
  template <class... Ts>
  void operator()(const Ts&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
    requires(std::integral<T> || std::is_enum_v<T>)
  void put(const T& value) {
    const auto number = static_cast<uint64_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  void put(FileAddress address) { put(address.value); }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    if constexpr (std::same_as<T, uint8_t>) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size());
    else
      for (const auto& value : values) put(static_cast<const T&>(value));
  }
  template <class T>
  void put(const std::set<T, std::less<>>& values) {
    put(std::vector<T>(values.begin(), values.end()));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::shared_ptr<const T>& value) {
    put(value != nullptr);
    if (value) put(*value);
  }
  template <class T>
    requires(!std::integral<T> && !std::is_enum_v<T>)
  void put(const T& value) {
    fields(*this, value);
  }

  std::string bytes_;
};

// What can't be read stays as it was made, and `failed` is true from then on.
class BundleReader {
 public:
  static constexpr bool kReads = true;
  explicit BundleReader(std::string_view bytes) : left_(bytes) {}
  template <class... Ts>
  void operator()(Ts&... values) {
    (get(values), ...);
  }
  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && left_.empty(); }

 private:
  uint64_t number() {
    uint64_t value = 0;
    if (left_.size() < sizeof value) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  uint64_t fail() {
    failed_ = true;
    left_ = {};
    return 0;
  }
  // Of elements: each takes a byte at least, so a length is never beyond what is left.
  uint64_t length() {
    const uint64_t size = number();
    return size > left_.size() ? fail() : size;
  }
  template <class T>
    requires(std::integral<T> || std::is_enum_v<T>)
  void get(T& value) {
    const uint64_t read = number();
    if constexpr (std::is_enum_v<T>) {
      if (read > greatest<T>()) return void(fail());
      value = static_cast<T>(read);
    } else if constexpr (std::same_as<T, bool>) {
      if (read > 1) return void(fail());
      value = read != 0;
    } else {
      value = static_cast<T>(read);
      if (static_cast<uint64_t>(value) != read) return void(fail());
    }
  }
  void get(std::string& text) {
    const uint64_t size = length();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  void get(FileAddress& address) { address = FileAddress(number()); }
  template <class T>
  void get(std::vector<T>& values) {
    const uint64_t size = length();
    values.clear();
    if constexpr (std::same_as<T, uint8_t>) {
      values.assign(left_.begin(), left_.begin() + static_cast<ptrdiff_t>(size));
      left_.remove_prefix(size);
    } else {
      for (uint64_t i = 0; i < size && !failed_; ++i) {
        T value{};
        get(value);
        values.push_back(std::move(value));
      }
    }
  }
  template <class T>
  void get(std::set<T, std::less<>>& values) {
    std::vector<T> read;
    get(read);
    values.clear();
    values.insert(read.begin(), read.end());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <class T>
  void get(std::shared_ptr<const T>& value) {
    bool there = false;
    get(there);
    if (!there) return;
    auto made = std::make_shared<std::remove_const_t<T>>();
    get(*made);
    value = std::move(made);
  }
  template <class T>
    requires(!std::integral<T> && !std::is_enum_v<T>)
  void get(T& value) {
    fields(*this, value);
  }

  std::string_view left_;
  bool failed_ = false;
};

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
void fields(A& a, Like<kernelinfo::MemberLayout> auto& m) {
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
