#pragma once
// What the engine must know about a processor. Instructions are decoded, moved and written behind this interface only. All
// functions are without state, and may be called from any thread, except those that take a `tid` of a traced thread: they use
// ptrace, so the thread must be stopped, and the caller must be its tracer (the engine's thread). Addresses are run-time
// addresses in the target. The rest of engine/ uses registers by what they are for (abi/trampoline.h, abi/machine.h), and system
// calls by <sys/syscall.h>. README.md lists what a new processor needs.

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/code_image.h"
#include "abi/trampoline.h"
#include "base/address.h"
#include "base/result.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/module.h"

namespace spile::engine {

inline constexpr uint8_t kMaxPatch = 16;  // bytes of a site that change, at most

// A place where displaced code can be entered or left: `original` bytes from the window's begin is the same point of
// the program as `relocated` bytes from the trampoline's begin.
struct Boundary {
  uint8_t original;
  uint16_t relocated;
};

// Instruction punning (Chamith et al., "Instruction Punning: Lightweight Instrumentation for x86-64", PLDI 2017; with
// prefixes: Duck et al., "Binary Rewriting without Control Flow Recovery", PLDI 2020, B2 and T1): a jump is laid over one
// short instruction such that the last bytes of its displacement are those of the following instructions, which stay as
// they are. It can lead to [low, low + count) only.
struct PunRange {
  uint8_t prefixes;     // bytes in front of the jump's opcode, without effect
  uint8_t overwritten;  // bytes from the site's begin that the jump consists of
  Address low;
  uint64_t count;
  uint8_t guarded = 0;  // as SitePlan::guarded
  Address behind = {};  // where the jump ends, if `guarded` is not 0
};

// How one site is going to be patched. `window` is the run of whole instructions that the patch displaces.
struct SitePlan {
  Mechanism mechanism = Mechanism::kRefused;
  std::string reason;       // of kRefused
  Address begin;            // the window's first byte, the first byte that changes
  uint8_t window = 0;       // bytes of displaced instructions (and of padding behind them); kNop: of the nop
  uint8_t displaced = 0;    // of these, bytes of code that have to be carried out elsewhere
  uint8_t overwritten = 0;  // bytes that the jump itself takes, from begin
  uint8_t lead = 0;         // kJump: its first byte, in front of the opcode and without effect; 0: none
  // kJump: bit n: byte n of its displacement, the lowest being byte 0, should be no instruction (VariableLengthPatching): an
  // instruction of the window begins there, to which a uprobe at the instruction before sends the thread; or the byte follows the
  // first instruction's prefix, which the kernel writes back when a uprobe goes.
  uint8_t guarded = 0;
  Address relay;               // kShortJump: where the 5-byte jump to the trampoline is; kPunned, guarded kJump: the stub
  std::vector<PunRange> puns;  // kPunned: where the stub may be, the best first
  uint8_t prefixes = 0;        // kPunned, once a range is chosen
  bool falls_through = true;   // control can leave the window at its end
  // not 0: the trampoline has only fragments, and goes on there, where the next client's fragments are
  Address continues;

  static SitePlan refused(std::string why) {
    SitePlan plan;
    plan.reason = std::move(why);
    return plan;
  }
};

// Returns the text at an address, as much as there is up to `length` bytes; empty if it isn't executable.
using TextSource = std::function<std::span<const uint8_t>(Address at, uint64_t length)>;

// Reads up to into.size() bytes at an address. Returns how many could be read.
using MemoryReader = std::function<size_t(Address from, std::span<uint8_t> into)>;

// Where a function ends: by a return, or by a transfer of control to a landing pad, where the second argument of gcc's
// __builtin_eh_return says, with the stack pointer that the fourth argument register holds there. `offset` may lie before the
// instruction that ends the function, but nothing on the stack above the stack pointer changes from there on.
struct FunctionExit {
  uint64_t offset;  // from the function's begin
  bool transfers;   // by such a transfer
};

// A return instruction at `offset`, which ends at `end`. From `first` on control can only go straight to it; `straight`, no
// earlier than `first`, is where a jump fits in front of it. All three may be one place. In bytes from the function's begin.
struct ReturnSite {
  uint64_t offset, straight, end, first;
};
struct FunctionReturns {
  std::vector<ReturnSite> sites;
  std::string obstacle;  // why the function may go back to its caller in other ways too, and `sites` is empty; empty: it does not
};

// What is known of a function's branches.
struct FunctionFlow {
  Address entry;
  uint64_t size = 0;
  bool known = true;              // false: it may branch to other places of its own than `targets`
  bool by_table = false;          // some of `targets` are a guess
  std::vector<uint32_t> targets;  // offsets from entry that its own branches lead to, sorted
  std::vector<uint32_t> cases;    // those among `targets` to which tables lead
  int table_jumps = 0;            // jumps that may be through tables; tail calls by a register are counted too
  // Padding that is never executed, in the function or right behind it: its address, and its size of at least 5 bytes.
  std::vector<std::pair<Address, uint64_t>> islands;

  // Whether a branch leads to an offset from entry in [first, last]. False says little unless `known`.
  bool leads_into(uint64_t first, uint64_t last) const {
    auto at = std::lower_bound(targets.begin(), targets.end(), first);
    return at != targets.end() && *at <= last;
  }
};

// Offsets into a piece of text; `to` may lie outside, and is negative modulo 2^64 where it lies before the text.
struct TextBranch {
  uint64_t from, to;
  bool operator==(const TextBranch&) const = default;
};

// One probe at a site: what its trampoline calls.
struct Fragment {
  abi::SiteKind kind;
  uint32_t flags;
  uint32_t site_id;
  Address enter;          // the handlers; abi/trampoline.h shows which ones a kind has
  Address exit;           // 0: none
  uint32_t client = 0;    // ClientId
  uint8_t offset = 0;     // bytes from the window's begin: the fragment runs before the displaced instruction that stood there
  uint32_t touches = 0;   // SiteRequest::touches
  int32_t goroutine = 0;  // not 0: find_goroutine_offset(); kWantsRegisters then leaves the goroutine's stack
};

// Where a kSwitchable fragment is switched: an aligned 8-byte word in the trampoline, which is written at once while threads run.
struct Gate {
  uint32_t client, site_id;
  uint32_t offset;   // from the trampoline's begin
  uint64_t on, off;  // values of the word; the emitted code has `on`
};

// Reads 8 bytes of a process's memory.
using WordReader = std::function<std::optional<uint64_t>(uint64_t address)>;

// Where control enters an image.
struct HandlerEntry {
  uint32_t offset;       // in the image
  bool takes_registers;  // its argument is an abi::Registers of ours; else its arguments are the traced program's
  // Which registers are as they were when it returns: those that its trampoline does not restore.
  enum class Keeps : uint8_t { kAll, kAllButResult, kAllButArguments, kNone } keeps = Keeps::kAll;
  auto operator<=>(const HandlerEntry&) const = default;
};

// A trampoline, ready for one address.
struct Trampoline {
  std::vector<uint8_t> code;
  uint32_t displaced_begin = 0;  // offset of the first relocated instruction; 0 with SitePlan::continues
  // By original offset, except that a system call instruction adds three behind its own: the first with an original offset is the
  // way in. The last is the window's end if control can come there. Empty with SitePlan::continues.
  std::vector<Boundary> boundaries;
  std::vector<Gate> gates;
  // Of SiteKind::kSystemCall: the offset of its instruction in the window, and in the trampoline those of the call itself, and of
  // what comes behind the call and its handlers.
  uint16_t call_original = 0, call = 0, behind_call = 0;  // call 0: the trampoline makes no call
};

// Returns [begin, end) of the last function that begins at `at` or before; it may end before `at`. Empty: no such function is
// known.
using FunctionBefore = std::function<std::optional<std::pair<Address, Address>>(Address at)>;

// A system call instruction that was found in text.
struct FoundSystemCall {
  Address at;
  // False: it may be data or part of another instruction, makes calls of another kind (int $0x80, sysenter), or frees the stack
  // that its handlers would need.
  bool certain = false;
  Address before;  // the begin of its function; 0: unknown
  // The members from here on are set only if it is certain.
  uint64_t behind = 0;       // bytes from `at` to the end of the code around it
  bool ends_thread = false;  // its number, which the instruction before it sets, is that of exit
  uint8_t returning = 0;     // bytes of the instruction before it, if that sets the number of rt_sigreturn; 0: it does not
};

// Code that handles a signal within the target: its entry comes first.
struct SignalHandler {
  std::vector<uint8_t> bytes;
  // Of emit_trap_handler: pairs of 64-bit words {address behind the breakpoint, where to go on}, up to a pair of zeros. Else 0.
  uint64_t table_offset;
  uint64_t restorer_offset;  // sigaction's sa_restorer
};

// The tracer writes this to si_errno of a signal when it has moved the thread on, before it drops the signal. If the tracer is
// killed in between, the signal is delivered, and our handler sees that there is nothing left to do.
inline constexpr int32_t kMovedOn = 0x6c7073;  // "spl"

// Registers of a stopped thread, as the architecture's ptrace regset has them. Undefined until Architecture::read_registers has
// succeeded.
struct ThreadRegisters {
  alignas(8) std::array<uint8_t, 512> bytes;
};

// Instructions that any program has somewhere.
struct SystemCallText {
  Address call;          // a system call instruction; 0: not found
  bool returns = false;  // a return instruction stands behind it
  Address restore;       // what signal handlers return to: it makes the kernel restore registers from the stack; 0: not found

  // Whether a thread that makes calls there goes on by itself if we are killed (RecoveryFrame).
  bool recovers() const { return returns && restore != Address(); }
};

// A signal frame that makes a thread go on as if nothing had been. While a thread makes system calls for us it stands
// on its stack: if we are killed in between, the thread returns from the call into it.
struct RecoveryFrame {
  Address at;                  // the stack pointer to make calls with
  std::vector<uint8_t> bytes;  // to be written there
};

// What is needed only for processors whose instructions differ in length: a patch may need more bytes than the instruction at its
// place has, and shorter jumps, which reach less far, may have to lead to it (patch/eviction.h).
class VariableLengthPatching {
 public:
  virtual ~VariableLengthPatching() = default;

  // Turns a plan of plan_single or plan_displacement into a kShortJump to `relay`, if a short jump fits and reaches that far.
  // Returns whether it did.
  virtual bool relay_nearby(SitePlan& plan, Address relay) const = 0;
  // Turns a plan for one byte into a kShortJump of which only the first byte is written. The byte behind it, `second`, stays as
  // it is and determines plan.relay.
  virtual void relay_by_next_byte(SitePlan& plan, uint8_t second) const = 0;
  // A jump over whole instructions, of which none but the last is a call, that take at least `room` bytes (with padding that
  // is not executed), so that what a 5-byte jump leaves of them can be used otherwise: kJump, or kRefused if they can't be moved.
  // The caller must know whether branches lead into them, and must shorten the jump by relay_nearby() if `room` is less than 5.
  // text: from `at`, with lookahead. left: bytes to the function's end, which must be known.
  virtual SitePlan plan_displacement(std::span<const uint8_t> text, Address at, uint64_t left, uint8_t room) const = 0;
  // What a kJump may begin with: 0 (its opcode comes first), or bytes for SitePlan::lead, by which it is one byte longer.
  virtual std::span<const uint8_t> leads() const = 0;
  // The first byte of a kJump with this lead.
  virtual uint8_t first_byte(uint8_t lead) const = 0;
  // Bytes that are no instruction, whatever stands behind them, also behind a prefix.
  virtual std::span<const uint8_t> invalid_bytes() const = 0;
  // Finds bytes that look like short branches, wherever these lead. By `from`.
  virtual std::vector<TextBranch> find_short_branches(std::span<const uint8_t> text) const = 0;
};

class Architecture {
 public:
  virtual ~Architecture() = default;

  // Null: all instructions have one length, and a jump fits in place of any of them.
  virtual const VariableLengthPatching* variable_length() const = 0;

  // --- Code ---

  // How many bytes from a site's address on a plan for it may look at.
  virtual uint64_t lookahead() const = 0;
  // Decides how the function at `entry` can be patched. text: its bytes as they are now, with at least lookahead()
  // bytes behind its end where there are any. size: of the function; 0 if unknown. The plan begins behind the entry_mark(): a
  // kJump, kNop, kShortJump to padding behind the function, or kRefused, for which plan_single may find something. Branches from
  // outside of the function are the caller's concern.
  virtual SitePlan plan_entry(std::span<const uint8_t> text, Address entry, uint64_t size) const = 0;
  // Decides how the instruction at `at` can be patched: kJump, kNop or kRefused. text: from `at`, with lookahead. left: bytes to
  // the function's end; 0 if unknown. flow: of the function; nullptr if nothing is known of it.
  virtual SitePlan plan_instruction(std::span<const uint8_t> text, Address at, uint64_t left, const FunctionFlow* flow) const = 0;
  // Finds where control can go within a function. text: from the entry, with lookahead; if it is shorter than `size`, only that
  // much is analyzed (FunctionFlow::size). read: reads jump tables.
  virtual FunctionFlow analyze_function(std::span<const uint8_t> text, Address entry, uint64_t size,
                                        const MemoryReader& read) const = 0;
  // Whether this is runtime.goexit of Go: a call between two nops of one byte (runtime/asm_amd64.s).
  virtual bool is_goroutine_exit(std::span<const uint8_t> function) const = 0;
  // Finds where an unwinder's function ends, up to the first bytes that are not an instruction. Tail jumps are not exits.
  virtual std::vector<FunctionExit> find_exits(std::span<const uint8_t> function) const = 0;
  // Finds the return instructions of a function of Go. flow: of the same function.
  virtual FunctionReturns find_returns(std::span<const uint8_t> function, const FunctionFlow& flow) const = 0;
  // How far into a function of Go its own code begins: behind the check whether the stack has room, after whose failure it
  // begins again. 0: the function has no such check.
  virtual uint64_t behind_stack_check(std::span<const uint8_t> function) const = 0;
  // Where instructions in `text` load the goroutine from, in bytes from the thread pointer, below 0; 0: no such instruction is
  // there.
  virtual int32_t find_goroutine_offset(std::span<const uint8_t> text) const = 0;
  // Plans a patch that displaces only the one instruction at `at`, so that no branch can spoil it: kPunned if there are ranges,
  // else kInt3 (the tracer moves the thread on); kRefused if the instruction can't be moved. text: from there, with
  // lookahead. most: bytes from `at` that may be part of the patch.
  virtual SitePlan plan_single(std::span<const uint8_t> text, Address at, uint64_t most) const = 0;
  // Whether the patch begins with a breakpoint. REQUIRES: `patch` is not empty.
  virtual bool is_breakpoint(std::span<const uint8_t> patch) const = 0;
  // The length in bytes of the instruction that `text` begins with; 0: it begins with none.
  virtual uint64_t instruction_length(std::span<const uint8_t> text) const = 0;
  // Adds to `called` where direct calls in `text`, which lies at `at`, lead, and where bytes lead that look like direct calls.
  virtual void find_called(std::span<const uint8_t> text, Address at, std::vector<Address>& called) const = 0;
  // Where the first direct jump or call in `code` leads that leaves `code`, which lies at `at`. Empty: none leaves it before the
  // first bytes that are not an instruction.
  virtual std::optional<Address> first_branch_out(std::span<const uint8_t> code, Address at) const = 0;
  // Whether `text` begins with a jump through a word at a fixed distance, as in a procedure linkage table.
  virtual bool is_stub(std::span<const uint8_t> text) const = 0;
  // How many bytes at the begin of a function do nothing and are left alone: the mark of a target of indirect branches (endbr64),
  // and the sled that XRay writes over. 0: the function begins with neither, or a branch in `function` leads to what is right
  // behind them.
  virtual uint64_t entry_mark(std::span<const uint8_t> function) const = 0;
  // Emits a jump from `at` to any address that keeps all registers and flags. Its size depends on the distance.
  virtual std::vector<uint8_t> emit_stub(Address at, Address target) const = 0;
  // Whether `offset`, from plan.begin, is where an instruction begins that the plan displaces. original: the window's bytes.
  virtual bool is_boundary(const SitePlan& plan, std::span<const uint8_t> original, uint64_t offset) const = 0;
  // Why the return address of the function at `entry` can't be replaced; empty if no reason was found (x86_64/return_safety.h
  // says what is looked for). text: gives no byte behind the end of that function. readers: in run-time addresses.
  virtual std::string return_obstacle(Address entry, const TextSource& text, const MemoryReader& read,
                                      const ReturnReaders& readers) const = 0;
  // Finds bytes in `text` that look like direct branches (on x86-64 those with 32-bit distances only; find_short_branches finds
  // the others) to bytes of `text` which are marked in `covered` (of text's size). By `from`.
  virtual std::vector<TextBranch> find_branches_into(std::span<const uint8_t> text, const std::vector<bool>& covered) const = 0;
  // Whether disassembly of `text` from its begin meets `offset`. Skips bytes that are not an instruction, one by one.
  // REQUIRES: offset <= text.size().
  virtual bool is_instruction(std::span<const uint8_t> text, uint64_t offset) const = 0;
  // Whether `code`, which lies at `at` and begins with an instruction, has a direct jump to `target`, conditional or not.
  virtual bool jumps_to(std::span<const uint8_t> code, Address at, Address target) const = 0;
  // Emits the trampoline for a plan, at address `at`. original: the window's bytes, or more. fragments: in the order in which
  // they are called, at most one kSystemCall for an instruction. Fails if something is out of reach, or a displaced instruction
  // can't be moved.
  virtual Result<Trampoline> emit_trampoline(const SitePlan& plan, std::span<const uint8_t> original,
                                             std::span<const Fragment> fragments, Address at) const = 0;
  // An upper bound for the size of a trampoline with these fragments, in bytes.
  virtual uint64_t trampoline_room(std::span<const Fragment> fragments) const = 0;
  // The bytes that make plan.begin jump to `trampoline`, or to plan.relay (kShortJump, kPunned): plan.overwritten bytes. kInt3: a
  // breakpoint. REQUIRES: the plan is not kRefused, and what it leads to is within reach.
  virtual std::vector<uint8_t> emit_jump(const SitePlan& plan, Address trampoline) const = 0;
  // For a thread that enters rt_sigreturn(2): the addresses in its signal frame of the program counter and the stack pointer with
  // which it goes on.
  virtual Address signal_frame_pc(const ThreadRegisters& registers) const = 0;
  virtual Address signal_frame_sp(const ThreadRegisters& registers) const = 0;
  // Whether `code` begins with an instruction that a trampoline has for abi::kTouchesStack.
  virtual bool is_stack_touch(std::span<const uint8_t> code) const = 0;
  // Emits code that runs before the displaced instructions and stops the thread with SIGTRAP at *trap_offset, unless the 32-bit
  // word at `word` has a bit of `mask` set. Changes the flags, so it is for a function's entry. only_for: the thread stops only
  // if the function's first argument (32 bits) has one of these values; empty: whatever value it has.
  virtual std::vector<uint8_t> emit_trap_unless(Address at, Address word, uint32_t mask, std::span<const uint32_t> only_for,
                                                uint32_t* trap_offset) const = 0;
  // Emits code that runs before the displaced instructions of a function's entry and adds 1 to the 64-bit word at `word`, in one
  // step for all threads. Changes the flags.
  virtual std::vector<uint8_t> emit_count(Address at, Address word) const = 0;
  // Refuses compiled handlers that could do harm (x86_64/checker.h). Returns how many bytes of stack the deepest of them takes.
  virtual Result<uint64_t> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries) const = 0;
  // Takes a thread out of a handler that can't go on, as if it had returned; its result is 0, where it has one. at: where the
  // image lies in the process. Returns false, with the registers as they were, where the checker has not seen what the handler
  // has made of the thread's registers. REQUIRES: check_handlers has let the entries pass.
  virtual bool leave_handler(const abi::CodeImage& image, std::span<const HandlerEntry> entries, Address at,
                             ThreadRegisters& registers, const WordReader& read) const = 0;
  // Emits a handler at `at` for SIGTRAP, which goes on where its table (all zero yet, at a multiple of 8) of at most `entries`
  // pairs says. A signal that our code has not raised does what it does by default, with all that came with it: the handler
  // resets the action. Another thread that meets a bad pointer in that moment ends the process first, and is what a core file
  // shows.
  virtual SignalHandler emit_trap_handler(Address at, uint64_t entries) const = 0;
  // Emits a handler at `at` for SIGSEGV and SIGBUS, which goes on where the fix-ups of the region say in which the signal was
  // raised. Other signals as above. regions: the address of a CodeRegionList.
  virtual SignalHandler emit_fault_handler(Address at, Address regions) const = 0;
  // Finds all that can make system calls in `text`, which lies at `at` and is executable. Not sorted.
  virtual std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at,
                                                         const FunctionBefore& function_before) const = 0;
  // How far a jump reaches in either direction, in bytes, with room for a module's data.
  virtual uint64_t reach() const = 0;

  // --- Threads ---

  virtual Result<void> read_registers(pid_t tid, ThreadRegisters& registers) const = 0;
  virtual Result<void> write_registers(pid_t tid, const ThreadRegisters& registers) const = 0;
  // The registers as handlers see them; site_id is the number of the system call that the thread makes, if it makes one.
  virtual abi::Registers script_registers(const ThreadRegisters& registers) const = 0;
  // Returns the registers of a thread that is stopped at a system call, as handlers see them. A call of another kind (32-bit
  // code's) has the registers of the native call of that name, or a number of its own (abi/system_calls.h).
  virtual abi::Registers call_registers(pid_t tid, const ThreadRegisters& registers) const = 0;
  // Whether a thread that is stopped at a system call stands before it rather than behind it. False also if the thread has ended.
  virtual bool enters_system_call(pid_t tid) const = 0;
  virtual Address pc(const ThreadRegisters& registers) const = 0;
  virtual void set_pc(ThreadRegisters& registers, Address pc) const = 0;
  virtual Address sp(const ThreadRegisters& registers) const = 0;
  virtual void set_sp(ThreadRegisters& registers, Address sp) const = 0;
  // The register by which a thread's slot is found (abi/arena.h).
  virtual uint64_t thread_pointer(const ThreadRegisters& registers) const = 0;
  // Whether the kernel will carry out the interrupted system call again, by moving the program counter back over its instruction.
  virtual bool restarts_system_call(const ThreadRegisters& registers) const = 0;
  // Makes the kernel carry out an interrupted system call again, from its begin, or end it with EINTR if a handler of a signal is
  // going to run. REQUIRES: the thread is stopped behind its call, and is on its way to signals.
  virtual void repeat_system_call(ThreadRegisters& registers) const = 0;
  // Ends a call that the kernel would carry out again. result: what the program gets, perhaps -errno.
  virtual void set_system_call_result(ThreadRegisters& registers, int64_t result) const = 0;
  // Makes the thread's next instruction a system call, by the instruction at `instruction`. stack: the stack pointer to
  // make it with; 0: as it is. arguments: at most 6.
  virtual void set_system_call(ThreadRegisters& registers, Address instruction, Address stack, uint64_t number,
                               std::span<const uint64_t> arguments) const = 0;
  // Builds the frame for a thread at rest with these registers and this signal mask (bit N-1 stands for signal N), below all that
  // the thread's stack holds. The caller writes it. restore: SystemCallText::restore, not 0.
  virtual Result<RecoveryFrame> build_recovery_frame(pid_t tid, const ThreadRegisters& registers, uint64_t signal_mask,
                                                     Address restore) const = 0;
  // The result of the system call that has just been made, or -errno.
  virtual int64_t system_call_result(const ThreadRegisters& registers) const = 0;
  // Looks in `text`, which lies at `at`, for what is not found yet: replaces a call without return, and an unknown restore.
  virtual void find_system_call(std::span<const uint8_t> text, Address at, SystemCallText& found) const = 0;
  // Whether the instructions that were found are still there.
  virtual bool is_intact(const SystemCallText& found, const TextSource& text) const = 0;
  // What the instruction at the program counter pushes if it saves the flags: under a single step it saves the trap flag with
  // them (pushf), and the thread would go on by single steps when it restores them. Empty: it does not save them.
  virtual std::optional<uint64_t> pushed_flags(const ThreadRegisters& registers, std::span<const uint8_t> instruction) const = 0;
  // Clears the trap flag, and returns whether it was set. The kernel leaves it to a thread whose single step onto an instruction
  // that restores the flags (popf) was interrupted.
  virtual bool clear_trap_flag(ThreadRegisters& registers) const = 0;
  // Clears the flags that let unaligned loads fault and each instruction trap. Returns those that were set, for
  // emit_flagged_return; 0: none.
  virtual uint64_t clear_checking_flags(ThreadRegisters& registers) const = 0;
  // Emits code at `at` that sets these flags again and goes on at `to`; the other flags are lost.
  virtual std::vector<uint8_t> emit_flagged_return(Address at, Address to, uint64_t flags) const = 0;
  // Offsets in a thread's stack memory, which begins at a multiple of 8, where a signal frame keeps the interrupted program
  // counter. Words that merely look like a frame's may be among them.
  virtual std::vector<uint64_t> find_signal_frames(std::span<const uint8_t> stack) const = 0;
};

// Returns the processor that spile was built for. Lives as long as spile.
const Architecture& native_architecture();

}  // namespace spile::engine
