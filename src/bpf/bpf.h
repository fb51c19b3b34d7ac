#pragma once
// The kernel side: takes an ELF object made by LLVM's BPF back end, creates its maps, loads its programs through the
// verifier, attaches them to tracepoints, timers and uprobes, and reads what they leave: records and map elements.
// libbpf and libelf stay inside this folder. Thread rule: one thread at a time per Kernel.
//
// Needs CAP_BPF and CAP_PERFMON (root has both), and Linux 5.15: BPF links for perf events, with cookies.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/arena.h"
#include "abi/kernel.h"
#include "abi/record.h"
#include "base/result.h"

namespace spile::bpf {

// A map to create for an undefined symbol of the object.
struct MapSpec : abi::KernelMapShape {
  std::string symbol;
};

// One place where a program is to run.
struct AttachPoint {
  enum class Kind {
    kTracepoint,
    kRawTracepoint,  // the program's context is an array of the tracepoint's arguments
    kSample,         // of what a perf event counts (sample.h)
    kPacket,         // at a hook of netfilter (packet.h)
    kUprobe,
    kUretprobe,
    kUprobeMulti,
    kUretprobeMulti,  // of files: the latter two where has_uprobe_multi() says so
    kKprobe,
    kKretprobe,
    kMulti,
    kMultiReturn,
    kFentry,
    kFexit,  // of the kernel's functions: kernelinfo/mechanisms.h
  } kind = Kind::kTracepoint;
  std::string tracepoint;    // "sched:sched_switch"
  std::string path;          // uprobes: the ELF file
  uint64_t file_offset = 0;  // uprobes: of the instruction in the file
  // uprobes: in the file, of a 16-bit counter that the kernel raises in each process while attached; 0: absent
  uint64_t semaphore_offset = 0;
  pid_t process = -1;  // uprobes and kSample: only this process; -1: all. Tracepoints: always all
  // kSample: type and config of perf_event_attr, and after how many events a handler runs (of clocks: ns), or how many times a
  // second. The default is the CPU's clock, 100 times a second.
  struct Sample {
    uint32_t type = 1;
    uint64_t config = 0;
    uint64_t period = 10'000'000;
    bool is_rate = false;
    // Of type 5, a breakpoint of the processor's: bp_type, bp_addr and bp_len.
    uint32_t access = 0;
    uint64_t address = 0, length = 0;
  } sample = {};
  bool of_threads = false;                      // kSample: hits only in threads that were given to Kernel::follow(),
  std::string program;                          // and of processes that run this program; "": any
  uint32_t packet_family = 0, packet_hook = 0;  // kPacket: numbers of linux/netfilter.h
  int32_t packet_priority = 0;
  // Of the kernel's functions:
  std::string function;          // "vfs_read", "loop:lo_open"; "": the address says where
  uint64_t address = 0;          // of the function; 0: not known
  uint64_t function_offset = 0;  // kKprobe: from there, in bytes
  uint32_t description = 0;      // kFentry, kFexit: its number in vmlinux's type information
  // kKprobe, kUprobe, kUretprobe: one of many places that a name stands for: where the kernel refuses it, the others are attached
  bool may_be_refused = false;
  bool optional = false;  // where it is refused, nothing is said
  uint64_t cookie = 0;    // the program reads it with bpf_get_attach_cookie
  std::string text;       // how messages name it: the probe point
  std::string place;      // of the probe in the script, "a.stp:3:5"; "": not known
};

// A program of the object and where it goes. All points of one program are of one family: tracepoint, samples, uprobes.
struct ProgramSpec {
  std::string section;  // of the object; has one program
  std::vector<AttachPoint> points;
  // Programs with the same choice are ways to do the same: those with the lowest `way` are used that the kernel loads and
  // attaches, all of them or nothing at all. -1: it is the only way.
  int choice = -1;
  int way = 0;
};

// Bytes to write over a symbol of the object's data before programs are loaded; read-only data can't change afterwards. A symbol
// that the object does not have is ignored.
struct DataSpec {
  std::string symbol;
  std::vector<uint8_t> bytes;
};

struct ObjectSpec {
  std::span<const uint8_t> object;  // ELF64, EM_BPF, relocatable
  std::vector<MapSpec> maps;
  std::vector<ProgramSpec> programs;
  std::vector<DataSpec> data;
  // the map of the BPF arena that the programs use, kept open by the caller while programs are loaded; -1: they use no arena
  int arena = -1;
  int shared = -1;    // the array (make_shared_array) of globals that processes use, too; the same holds for it
  int verbosity = 0;  // above 2: errors of the verifier have its log
};

// Visitors: what they get is valid during the call only.
// One element of a map, merged and repacked as its MapSpec says. The value has MapSpec::value_size bytes; those behind a string's
// NUL may be anything.
using ElementVisitor = std::function<void(std::span<const uint8_t> key, std::span<const uint8_t> value)>;
using CollectVisitor = std::function<void(const MapSpec& map, std::span<const uint8_t> key, std::span<const uint8_t> value)>;
// One element as the kernel has it: the key's bytes, and one value for each possible CPU (for maps that are not per CPU: one
// value).
using RawVisitor = std::function<void(std::span<const uint8_t> key, std::span<const std::span<const uint8_t>> values)>;
using RecordVisitor = std::function<void(const abi::RecordHeader& record, std::span<const uint8_t> payload)>;

// What the kernel's verifier did for the programs that are loaded.
struct Verification {
  size_t programs = 0;
  uint64_t instructions = 0;  // that it followed, an instruction once for each way to it; 0: this kernel does not count them
  std::chrono::nanoseconds time{0};  // of the processor, in bpf(2): compilation for it and rejected programs included
};

// A switch of the kernel's that is off, so that handlers of some points don't run although they are attached.
struct SwitchedOff {
  std::string what;        // "function tracing"
  std::string file;        // by which it is switched, as messages name it: "kernel.ftrace_enabled"
  std::string remedy;      // what to do
  std::string point = {};  // the text of the first of the points
  size_t points = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;  // detaches, and waits until nothing is attached; the kernel frees programs and maps

  // Attaches every program at all its points; on error none stays attached. Places that the kernel refuses are left out
  // (refused()) while others are attached. A point whose handler a switch of the kernel's keeps from running is an error, unless
  // another way of its choice does without. Handlers that look at KernelControl::enabled do
  // nothing until the caller sets it through data(). REQUIRES: nothing is attached.
  virtual Result<void> attach() = 0;
  // Tells the handlers to do nothing (KernelControl::enabled), returns when those that run have ended, and has the programs
  // detached meanwhile: that takes several grace periods, 60 ms for a tracepoint of Linux 6.18. So what is read from here on is
  // final. On error some handlers may still run. REQUIRES: handlers over an arena have been told (ArenaHeader::enabled).
  virtual Result<void> detach() = 0;

  // Returns the switches of the kernel's that keep handlers of attached points from running now.
  virtual std::vector<SwitchedOff> switched_off() const = 0;
  // Samples processors that have come online, or come back, since they were looked at last; does nothing where nothing is sampled
  // on processors. Returns their numbers, ascending. Called some times a second while attached. Error: an event can't be opened.
  virtual Result<std::vector<int>> sample_new_cpus() = 0;

  // Begins and ends hits of points with AttachPoint::of_threads in a thread; follow() again after it has executed another
  // program: points that are for both go on counting. program: the path of the program that its process runs. A thread that has
  // ended hits no more. Errors of follow(): the event can't be counted, no descriptor is left. REQUIRES: attached.
  virtual Result<void> follow(pid_t thread, const std::string& program) = 0;
  virtual void unfollow(pid_t thread) = 0;

  // Returns a descriptor, owned by this, that becomes readable when records wait; -1: the object has no ring.
  virtual int poll_fd() const = 0;
  // Calls `visit` for records that wait, in the order in which they were written, and frees their room. The number at once is
  // bounded, so that handlers that write without end do not hold up the caller. Returns the number of records; 0: none is left.
  virtual Result<size_t> consume(const RecordVisitor& visit) = 0;

  // Visit the elements of a map (by MapSpec::symbol), merged or raw, each key once. Elements that handlers add or remove
  // meanwhile may be missed. Errors, here and below: no map has the symbol, the map is a ring, the kernel refuses.
  virtual Result<void> elements(const std::string& map, const ElementVisitor& visit) = 0;
  virtual Result<void> raw_elements(const std::string& map, const RawVisitor& visit) = 0;
  // Moves out of the kernel what handlers have added to sharded maps since the last call: visits each key once, merged, for the
  // caller to add to its own copies. Nothing is lost or seen twice, also while handlers run; if it fails, a part may be lost.
  // Takes a grace period of the kernel's (some ms). REQUIRES: the object has abi::KernelControl.
  virtual Result<void> collect(const CollectVisitor& visit) = 0;
  // Sets an element; key and value as `elements` gives them, a shorter value is padded with zeroes. In a sharded map, shard 0
  // gets the value, and the other shards lose theirs; in a per-CPU map, CPU 0 gets it, the others zeroes.
  virtual Result<void> put(const std::string& map, std::span<const uint8_t> key, std::span<const uint8_t> value) = 0;
  // Sets an element that is not there. REQUIRES: the map is a hash, not sharded.
  virtual Result<void> add(const std::string& map, std::span<const uint8_t> key, std::span<const uint8_t> value) = 0;
  // Removes an element (arrays: zeroes it), all of its shards. No error when it is not there.
  virtual Result<void> erase(const std::string& map, std::span<const uint8_t> key) = 0;
  // Removes all elements (arrays: zeroes them).
  virtual Result<void> clear(const std::string& map) = 0;

  // Returns the bytes of the object's section kKernelConstantsSection (abi/kernel.h), which the arena has to have before programs
  // are attached; empty: absent.
  virtual std::span<const uint8_t> arena_constants() const = 0;
  // Returns the memory of a writable symbol of the object (.data*, .bss*), which handlers share; valid for the life of this.
  // Empty: the object has no such symbol.
  virtual std::span<uint8_t> data(const std::string& symbol) = 0;

  // Returns the sums over all CPUs of KernelState::skipped, abi::kSkipReasons numbers by abi::SkipReason; zeroes if the object
  // does not count. kSkipOutputFull counts lost records.
  virtual Result<std::vector<uint64_t>> skipped() = 0;

  // Returns the hits that the kernel itself has missed, by the text of the probe's first point: inside another handler or probe
  // on the same CPU, while a thread was interrupted in the same handler on the same CPU (Linux 7 interrupts them, and skips the
  // other), or without room for a pending return. Only what the kernel counts. REQUIRES: attached.
  virtual std::vector<std::pair<std::string, uint64_t>> missed() const = 0;

  // Returns whether the kernel does not count all hits that it misses: before Linux 6.7, those of kprobes that are hit inside
  // other handlers. REQUIRES: attached.
  virtual bool misses_uncounted() const = 0;

  // Returns the errors of points that the kernel has refused while others are attached, without those of optional ones.
  virtual const std::vector<Error>& refused() const = 0;

  // Returns the attached points, for -v: (text of the point, mechanism).
  virtual std::vector<std::pair<std::string, std::string>> attached() const = 0;
  virtual Verification verification() const = 0;
};

// Creates maps and loads programs; nothing is attached. The spec need not outlive the call. Errors: no privilege (with what to
// do), an object that is not what LLVM makes, a program that the verifier rejects (the message names its probe point).
Result<std::unique_ptr<Kernel>> load(const ObjectSpec& spec);

// Returns the number of CPUs that the machine may ever have, at least 1: per-CPU values have one part for each.
int possible_cpus();

// Returns whether the kernel has uprobe.multi (Linux 6.6): one link for all places in a file. of_one_process: the places are to
// be probed in one process (6.10). Asked once, then remembered. Without privilege: false.
bool has_uprobe_multi(bool of_one_process);

// Checks whether this process may load programs, by loading one. Errors: no privilege, no eBPF in this kernel; they say what to
// do.
Result<void> check_privilege();

}  // namespace spile::bpf
