#include "engine/arch/x86_64/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "abi/arena.h"
#include "engine/arch/x86_64/checker_code.h"
#include "engine/arch/x86_64/checker_list.h"
#include "engine/arch/x86_64/checker_state.h"

namespace spile::engine::x86_64 {
namespace {

// How much of the traced thread's stack a handler may use, in bytes, calls included. Recursion is bounded at run time
// (MAXNESTING).
constexpr int64_t kDeepestStack = 32768;
constexpr int64_t kRedZone = 128;

// What a function leaves in registers for its caller.
struct Returned {
  Value rax, rdx;
  std::array<bool, 16> keeps{};  // registers that are as they were
  bool operator==(const Returned&) const = default;
};

// How a function uses the stack.
struct StackUse {
  int64_t lowest = 0;                                 // of its own frame, below its return address
  std::set<std::pair<uint32_t, int64_t>> calls = {};  // of whom, and where rsp is then
};

class Checker {
 public:
  Checker(const abi::CodeImage& image, std::span<const HandlerEntry> entries)
      : image_(image), entries_(entries), code_(image), marks_(image.code_end - image.code_begin) {}

  Result<uint64_t> run() {
    find_functions();
    for (const HandlerEntry& entry : entries_) {
      std::array<bool, 16>& kept = kept_[entry.offset];
      for (size_t i = 0; i < 16; i++) kept[i] |= is_kept(i, entry.keeps);
      State state;
      state.function = entry.offset;
      for (uint8_t argument : {kRdi, kRsi, kRdx, kRcx, kR8, kR9}) state.registers[argument] = value_of(Kind::kTraced);
      if (entry.takes_registers) state.registers[kRdi] = Value{.kind = Kind::kSaved, .exact = true};
      begin_function(state);
      if (!reach(entry.offset, state, entry.offset)) return failure();
    }
    while (!pending_.empty()) {
      uint32_t at = *pending_.begin();
      pending_.erase(pending_.begin());
      if (!follow(at, *states_.at(at))) return failure();
    }
    // All is known now of every place.
    settled_ = true;
    for (auto& [at, state] : states_) {
      if (!follow(at, *state)) return failure();
    }
    if (!all_loops_end() || !stack_suffices()) return failure();
    return most_stack_;
  }

  // Unwinds a handler, by what is known of the places of registers. words: registers by Gpr; pc and rsp change with them. Returns
  // whether the handler's caller is reached, with all registers as the handler found them. REQUIRES: run() has succeeded.
  bool unwind(uint64_t image, uint64_t& pc, std::array<uint64_t, 16>& words, const WordReader& read) {
    constexpr int kMostFrames = 64;  // MAXNESTING and more
    std::array<bool, 16> known;
    known.fill(true);
    std::array<bool, 16> kept;  // of the outermost handler that was found
    kept.fill(true);
    for (int depth = 0; depth < kMostFrames; depth++) {
      const std::optional<State> state = state_at(pc - image);
      if (!state) return false;
      const Value& rsp = state->registers[kRsp];
      if (rsp.kind != Kind::kFrame || !rsp.exact) return false;
      const uint64_t entry = words[kRsp] - static_cast<uint64_t>(rsp.number);
      std::array<uint64_t, 16> found{};
      std::array<bool, 16> has{};
      for (size_t i = 0; i < 16; i++) has[i] = find_original(i, *state, entry, words, known, read, found[i]);
      const std::optional<uint64_t> caller = read(entry);
      if (!caller) return false;
      words = found;
      known = has;
      words[kRsp] = entry + 8;
      known[kRsp] = true;
      if (auto handler = kept_.find(state->function); handler != kept_.end()) kept = handler->second;
      if (*caller < image + image_.code_begin || *caller >= image + image_.code_end) {
        pc = *caller;
        if (!kept[kRax]) words[kRax] = 0;
        for (size_t i = 0; i < 16; i++) {
          if (kept[i] && !known[i]) return false;
        }
        return true;
      }
      constexpr uint64_t kCallSize = 5;  // of the only form that is allowed
      pc = *caller - kCallSize;
    }
    return false;
  }

 private:
  enum Mark : uint8_t { kStart = 1, kInside = 2, kTarget = 4 };  // of a byte

  static bool is_kept(size_t number, HandlerEntry::Keeps keeps) {
    using Keeps = HandlerEntry::Keeps;
    if (keeps == Keeps::kNone) return false;
    if (keeps == Keeps::kAllButResult) return number != size_t{kRax};
    return keeps == Keeps::kAll || (number != size_t{kRdi} && number != size_t{kRsi});  // those of abi::SiteKind::kReturn's exit
  }

  // --- Errors ---

  bool refuse(uint32_t at, std::string what) {
    where_ = at;
    problem_ = std::move(what);
    return false;
  }
  Error failure() const {
    std::string hex;
    for (uint32_t i = where_; i < std::min<size_t>(where_ + 12, image_.bytes.size()); i++) {
      hex += fmt::format("{:02x} ", image_.bytes[i]);
    }
    return Error{fmt::format("a compiled handler is not safe: {} at {:#x} (bytes {}...)", problem_, where_, hex),
                 "in a bundle: somebody has changed it, make it again; else please report it with the script"};
  }
  uint8_t& mark(uint32_t at) { return marks_[at - image_.code_begin]; }
  bool in_code(int64_t at) const { return at >= image_.code_begin && at < image_.code_end; }

  // Whatever is called: a jump to such a place is a call, too. (Bytes that are no code may add a few.)
  void find_functions() {
    for (uint32_t at = image_.code_begin; at < image_.code_end;) {
      const CheckedInstruction* instruction = code_.at(at);
      if (instruction && instruction->mnemonic == ZYDIS_MNEMONIC_CALL && in_code(instruction->target)) {
        functions_.insert(static_cast<uint32_t>(instruction->target));
      }
      at += instruction ? instruction->length : 1;
    }
  }

  // --- Following control ---

  bool reach(uint32_t to, const State& state, uint32_t from) {
    if (!in_code(to)) return refuse(from, "a branch leaves the code");
    if (mark(to) & kInside) return refuse(from, "a branch leads into an instruction");
    mark(to) |= kTarget;
    if (settled_) {
      came_from_[to].push_back(block_of(from));
      return true;
    }
    // A place that has been followed as the middle of a piece is the start of one from now on.
    if ((mark(to) & kStart) && !states_.contains(to)) pending_.insert(block_of(to));
    auto [entry, fresh] = states_.try_emplace(to);
    if (fresh) entry->second = &stored_.emplace_back(state);
    if (fresh || entry->second->join_with(state)) pending_.insert(to);
    return true;
  }

  bool follow(uint32_t at, State state) {
    zero_ = Zero::kUnknown;
    for (;;) {
      if (!in_code(at)) return refuse(at, "control flow leaves the end of the code");
      const CheckedInstruction* found = code_.at(at);
      if (!found) return refuse(at, "no instruction");
      CheckedInstruction instruction = *found;
      if (!claim(at, instruction)) return refuse(at, "a branch leads into an instruction");
      if (!check_instruction(at, instruction, state)) return false;
      uint32_t next = at + instruction.length;
      if (instruction.mnemonic == ZYDIS_MNEMONIC_RET) {
        return leave(at, state);
      } else if (instruction.mnemonic == ZYDIS_MNEMONIC_UD2) {
        if (settled_) ends_.push_back(block_of(at));
        return true;
      } else if (instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
        if (instruction.target < 0) return refuse(at, "an indirect call");
        uint32_t target = static_cast<uint32_t>(instruction.target);
        if (!call(at, target, add(state.registers[kRsp], exactly(-8)), state)) return false;
        // What comes back is not yet known (it will be followed again), or the function does not return.
        if (!returned_.contains(target)) return !settled_ || (ends_.push_back(block_of(at)), true);
      } else if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP || instruction.conditional) {
        if (instruction.target < 0) return refuse(at, "an indirect jump");
        auto [taken, passed] = decide(instruction);
        if (taken && !branch(at, static_cast<uint32_t>(instruction.target), state)) return false;
        if (!passed) return true;
      } else {
        note_zero(instruction, state);
        execute(at, instruction, state);
      }
      at = next;
      if (in_code(at) && (mark(at) & kTarget)) return reach(at, state, next - instruction.length);
    }
  }

  // Instructions don't overlap.
  bool claim(uint32_t at, const CheckedInstruction& instruction) {
    if (mark(at) & kStart) return true;
    if (mark(at) & kInside) return false;
    mark(at) |= kStart;
    for (uint32_t i = at + 1; i < at + instruction.length; i++) {
      if (mark(i) & (kStart | kTarget)) return false;
      mark(i) |= kInside;
    }
    return true;
  }

  bool branch(uint32_t at, uint32_t target, const State& state) {
    if (!functions_.contains(target)) return reach(target, state, at);
    // A tail call: what the other function returns is returned here too.
    State copy = state;
    if (!call(at, target, state.registers[kRsp], copy)) return false;
    return !returned_.contains(target) || leave(at, copy);
  }

  static void begin_function(State& state) {
    for (uint8_t unused : {kRax, kRbx, kRbp, kR10, kR11, kR12, kR13, kR14, kR15}) {
      state.registers[unused] = value_of(Kind::kUnused);
    }
    for (int8_t i = 0; i < 16; i++) state.registers[static_cast<size_t>(i)].origin = i;
    state.registers[kRsp] = frame_at(0);
  }

  // rsp: where the return address will be.
  bool call(uint32_t at, uint32_t target, const Value& rsp, State& state) {
    if (settled_) {
      if (rsp.kind != Kind::kFrame || !rsp.exact) return refuse(at, "a call with a stack of unknown depth");
      stack_[state.function].calls.insert({target, rsp.number});
    } else {
      functions_.insert(target);
      callers_[target].insert(block_of(at));
      State inner;
      inner.function = target;
      for (size_t i = 0; i < 16; i++) {
        inner.registers[i] = state.registers[i];
        if (inner.registers[i].kind == Kind::kFrame) inner.registers[i] = value_of(Kind::kFrame);
      }
      begin_function(inner);
      if (!reach(target, inner, at)) return false;
    }
    state.forget_numbers();
    zero_ = Zero::kUnknown;
    auto back = returned_.find(target);
    if (back == returned_.end()) return true;
    for (size_t i = 0; i < 16; i++) {
      if (!back->second.keeps[i]) state.registers[i] = value_of(Kind::kNumber);
    }
    if (!back->second.keeps[kRax]) state.registers[kRax] = back->second.rax;
    if (!back->second.keeps[kRdx]) state.registers[kRdx] = back->second.rdx;
    return true;
  }

  bool leave(uint32_t at, const State& state) {
    if (settled_) {
      ends_.push_back(block_of(at));
      const Value& rsp = state.registers[kRsp];
      bool whole = rsp.kind == Kind::kFrame && rsp.exact && rsp.number == 0;
      return whole ? keeps_registers(at, state) : refuse(at, "a return with a misplaced stack pointer");
    }
    auto value = [](Value given) {
      bool exact = given.exact && given.kind == Kind::kNumber;
      return Value{.kind = given.kind, .exact = exact, .number = exact || given.may_be_number() ? given.number : 0};
    };
    auto [known, fresh] = returned_.try_emplace(state.function);
    Returned joined{join(known->second.rax, value(state.registers[kRax])), join(known->second.rdx, value(state.registers[kRdx])),
                    known->second.keeps};
    for (size_t i = 0; i < 16; i++) {
      bool kept = i == size_t{kRsp} || state.registers[i].origin == static_cast<int>(i);
      joined.keeps[i] = (fresh || joined.keeps[i]) && kept;
    }
    if (!fresh && joined == known->second) return true;
    known->second = joined;
    for (uint32_t caller : callers_[state.function]) pending_.insert(caller);
    return true;
  }

  // Trampolines save nothing for handlers. Functions that these call may change what they like.
  bool keeps_registers(uint32_t at, const State& state) {
    auto handler = kept_.find(state.function);
    if (handler == kept_.end()) return true;
    for (size_t i = 0; i < 16; i++) {
      const bool changed = i != size_t{kRsp} && state.registers[i].origin != static_cast<int>(i);
      if (changed && handler->second[i]) return refuse(at, "a return with a register that is not as it was");
    }
    return true;
  }

  // The start of the straight piece of code that `at` lies in.
  uint32_t block_of(uint32_t at) const {
    auto after = states_.upper_bound(at);
    return after == states_.begin() ? at : std::prev(after)->first;
  }

  // --- Branches that are never taken: where a null pointer has just been looked for ---

  enum class Zero : uint8_t { kUnknown, kYes, kNo };  // the zero flag

  void note_zero(const CheckedInstruction& instruction, const State& state) {
    bool test = instruction.mnemonic == ZYDIS_MNEMONIC_TEST, compare = instruction.mnemonic == ZYDIS_MNEMONIC_CMP;
    if (!test && !compare) {
      // Nothing else is remembered across, but for what leaves the flags alone.
      if (instruction.mnemonic != ZYDIS_MNEMONIC_MOV && instruction.mnemonic != ZYDIS_MNEMONIC_LEA) zero_ = Zero::kUnknown;
      return;
    }
    zero_ = Zero::kUnknown;
    auto operands = code_.operands(instruction);
    auto known = [&](const CheckedOperand& operand) {
      bool number = operand.type == CheckedOperand::kImmediate ||
                    (operand.type == CheckedOperand::kRegister && !operand.high_byte && operand.base < 16);
      if (!number) return value_of(Kind::kTraced);
      return truncate(operand.type == CheckedOperand::kImmediate ? exactly(operand.value) : state.registers[operand.base],
                      operand.size);
    };
    Value a = known(operands[0]), b = known(operands[1]);
    b = truncate(b, operands[0].size);
    if (a.kind != Kind::kNumber || b.kind != Kind::kNumber || !a.exact || !b.exact) return;
    bool zero = test ? (a.number & b.number) == 0 : a.number == b.number;
    zero_ = zero ? Zero::kYes : Zero::kNo;
  }

  // Whether a jump may be taken, and passed by.
  std::pair<bool, bool> decide(const CheckedInstruction& instruction) const {
    if (!instruction.conditional) return {true, false};
    if (zero_ != Zero::kUnknown && instruction.mnemonic == ZYDIS_MNEMONIC_JZ) return {zero_ == Zero::kYes, zero_ == Zero::kNo};
    if (zero_ != Zero::kUnknown && instruction.mnemonic == ZYDIS_MNEMONIC_JNZ) return {zero_ == Zero::kNo, zero_ == Zero::kYes};
    return {true, true};
  }

  // --- Unwinding ---

  // What holds before the instruction at an offset. Nothing: no path was seen to lead there.
  std::optional<State> state_at(uint64_t offset) {
    if (offset < image_.code_begin || offset >= image_.code_end) return {};
    const uint32_t wanted = static_cast<uint32_t>(offset);
    auto start = states_.upper_bound(wanted);
    if (start == states_.begin()) return {};
    --start;
    uint32_t at = start->first;
    State state = *start->second;
    while (at < wanted) {
      const CheckedInstruction* found = code_.at(at);
      if (!found) return {};
      const CheckedInstruction instruction = *found;
      if (instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
        if (instruction.target < 0 ||
            !call(at, static_cast<uint32_t>(instruction.target), add(state.registers[kRsp], exactly(-8)), state))
          return {};
      } else if (instruction.mnemonic != ZYDIS_MNEMONIC_JMP && !instruction.conditional) {
        execute(at, instruction, state);
      }
      at += instruction.length;
    }
    return at == wanted ? std::optional(std::move(state)) : std::nullopt;
  }

  // Finds what a register held at the entry of the state's function: in a register, or in a word of its frame.
  static bool find_original(size_t wanted, const State& state, uint64_t entry, const std::array<uint64_t, 16>& words,
                            const std::array<bool, 16>& known, const WordReader& read, uint64_t& value) {
    for (size_t i = 0; i < 16; i++) {
      if (i == size_t{kRsp} || !known[i] || state.registers[i].origin != static_cast<int>(wanted)) continue;
      value = words[i];
      return true;
    }
    for (size_t word = 0; word < state.frame.size(); word++) {
      if (state.frame[word].kind == Kind::kNothing || state.frame[word].origin != static_cast<int>(wanted)) continue;
      const std::optional<uint64_t> kept = read(entry - 8 * (word + 1));
      value = kept.value_or(0);
      return kept.has_value();
    }
    return false;
  }

  // --- Single instructions ---

  bool check_instruction(uint32_t at, const CheckedInstruction& instruction, const State& state) {
    const char* name = ZydisMnemonicGetString(instruction.mnemonic);
    if (!instruction.listed) return refuse(at, fmt::format("an instruction that is not allowed ({})", name));
    for (const CheckedOperand& operand : code_.operands(instruction)) {
      bool only_reads = instruction.mnemonic == ZYDIS_MNEMONIC_MOVQ && !operand.writes;
      if (operand.type == CheckedOperand::kRegister && operand.base == kOtherRegister && !operand.hidden && !only_reads) {
        return refuse(at, fmt::format("{} on a register that is not saved", name));
      }
    }
    if (!settled_) return true;
    const Value& rsp = state.registers[kRsp];
    if (rsp.kind == Kind::kFrame && rsp.exact) {
      int64_t& lowest = stack_[state.function].lowest;
      lowest = std::min(lowest, rsp.number);
    }
    bool touches = instruction.mnemonic != ZYDIS_MNEMONIC_NOP && instruction.mnemonic != ZYDIS_MNEMONIC_PREFETCHT0;
    for (const CheckedOperand& operand : code_.operands(instruction)) {
      if (!touches || operand.type != CheckedOperand::kMemory || operand.computes) continue;
      if (!check_access(at, instruction, operand, state)) return false;
    }
    return true;
  }

  bool check_access(uint32_t at, const CheckedInstruction& instruction, const CheckedOperand& operand, const State& state) {
    // The thread pointer and the words beside it are the thread's own, and always there.
    if (operand.own_segment) return operand.writes ? refuse(at, "a store to the thread's own storage") : true;
    if (operand.base == kRip) {
      int64_t target = int64_t{at} + instruction.length + operand.value;
      bool inside = target >= 0 && target + operand.size / 8 <= static_cast<int64_t>(image_.bytes.size());
      if (operand.writes) return refuse(at, "a store to the image");
      return inside ? true : refuse(at, "a load outside the image");
    }
    Value address = address_of(at, instruction, operand, state);
    if (address.kind == Kind::kSaved && address.exact && operand.writes) {
      bool inside = address.number >= 0 && address.number + operand.size / 8 <= static_cast<int64_t>(sizeof(abi::Registers));
      if (!inside) return refuse(at, "a store beside the saved registers");
    }
    if (address.kind == Kind::kFrame && address.exact && operand.writes && !operand.hidden)
      return check_frame(at, operand, address.number, state);
    bool readable = address.kind == Kind::kImage || address.kind == Kind::kMixed;
    if (address.is_ours() || (readable && !operand.writes)) return true;
    bool guarded =
        std::binary_search(image_.fixups.begin(), image_.fixups.end(), abi::FaultFixup{at, 0},
                           [](const abi::FaultFixup& a, const abi::FaultFixup& b) { return a.fault_offset < b.fault_offset; });
    if (guarded && (!operand.writes || image_.guru)) return true;
    return refuse(at, operand.writes ? "a store through an address that is not the stack's or the arena's"
                                     : "a load that may fault and has no fix-up");
  }

  bool check_frame(uint32_t at, const CheckedOperand& operand, int64_t place, const State& state) {
    if (place < 8 && place + operand.size / 8 > 0) return refuse(at, "a store over the return address");
    const Value& rsp = state.registers[kRsp];
    bool above = rsp.kind != Kind::kFrame || !rsp.exact || place >= rsp.number - kRedZone;
    return above || refuse(at, "a store below the stack");
  }

  // --- What instructions make of values ---

  static Value register_value(uint8_t number, const State& state) { return number < 16 ? state.registers[number] : exactly(0); }

  Value address_of(uint32_t at, const CheckedInstruction& instruction, const CheckedOperand& operand, const State& state) const {
    if (operand.base == kRip) {
      int64_t target = int64_t{at} + instruction.length + operand.value;
      return value_of(target >= 0 && target < static_cast<int64_t>(image_.bytes.size()) ? Kind::kImage : Kind::kNumber);
    }
    Value index = register_value(operand.index, state);
    if (operand.scale > 1 && !index.is(0)) index = value_of(Kind::kNumber);
    return add(add(register_value(operand.base, state), index), exactly(operand.value));
  }

  Value read(uint32_t at, const CheckedInstruction& instruction, const CheckedOperand& operand, const State& state) const {
    switch (operand.type) {
      case CheckedOperand::kImmediate: return exactly(operand.value);
      case CheckedOperand::kRegister:
        if (operand.base >= 16) return value_of(Kind::kNumber);
        if (operand.high_byte)
          return value_of(state.registers[operand.base].kind == Kind::kTraced ? Kind::kTraced : Kind::kNumber);
        return truncate(state.registers[operand.base], operand.size);
      case CheckedOperand::kMemory: return load(at, instruction, operand, state);
    }
    return value_of(Kind::kNumber);
  }

  Value load(uint32_t at, const CheckedInstruction& instruction, const CheckedOperand& operand, const State& state) const {
    if (operand.own_segment) return value_of(Kind::kNumber);
    if (operand.base == kRip) {
      int64_t cell = int64_t{at} + instruction.length + operand.value;
      bool own = cell == offsetof(abi::ImageCells, arena) || cell == offsetof(abi::ImageCells, process_table) ||
                 cell == offsetof(abi::ImageCells, code_regions);
      return value_of(own && operand.size == 64 ? Kind::kArena : Kind::kNumber);
    }
    Value address = address_of(at, instruction, operand, state);
    if (address.kind == Kind::kImage) return value_of(Kind::kNumber);
    if (address.kind == Kind::kMixed) return value_of(operand.size == 64 ? Kind::kMixed : Kind::kTraced);
    if (!address.is_ours()) return value_of(Kind::kTraced);
    // exit stores the real return address below the traced stack pointer.
    if (address.kind == Kind::kSaved) {
      bool stack = address.exact && address.number == offsetof(abi::Registers, rsp) && operand.size == 64;
      return value_of(stack ? Kind::kFrame : Kind::kTraced);
    }
    if (address.kind == Kind::kFrame && address.exact) return state.load_frame(address.number, operand.size);
    return value_of(operand.size == 64 ? Kind::kLoaded : Kind::kNumber);
  }

  void write(uint32_t at, const CheckedInstruction& instruction, const CheckedOperand& operand, const Value& value,
             State& state) const {
    if (operand.type == CheckedOperand::kRegister && operand.base < 16) {
      Value& whole = state.registers[operand.base];
      if (operand.size >= 32) {
        whole = truncate(value, operand.size);
        if (operand.size == 32) whole.origin = -1;
      } else {
        bool traced = whole.kind == Kind::kTraced || value.kind == Kind::kTraced;
        whole = value_of(traced ? Kind::kTraced : Kind::kNumber);
      }
    } else if (operand.type == CheckedOperand::kMemory) {
      Value address = address_of(at, instruction, operand, state);
      if (address.kind == Kind::kFrame && address.exact) {
        state.store_frame(address.number, operand.size, value);
      } else if (address.kind == Kind::kFrame || address.kind == Kind::kLoaded) {
        state.forget_numbers();
      }
    }
  }

  static void push(const Value& value, State& state) {
    Value& rsp = state.registers[kRsp];
    rsp = add(rsp, exactly(-8));
    if (rsp.kind == Kind::kFrame && rsp.exact) state.store_frame(rsp.number, 64, value);
  }
  static Value pop(State& state) {
    Value& rsp = state.registers[kRsp];
    bool known = rsp.kind == Kind::kFrame && rsp.exact;
    Value value = known ? state.load_frame(rsp.number, 64) : value_of(Kind::kLoaded);
    rsp = add(rsp, exactly(8));
    return value;
  }
  // Masks align the stack, or an address.
  static Value masked(const Value& value, const Value& mask) {
    bool aligns = mask.kind == Kind::kNumber && mask.exact && mask.number < 0 && mask.number >= -4096;
    // As deep as it can be.
    if (aligns && value.kind == Kind::kFrame && value.exact) return frame_at((value.number + 1 + mask.number) & ~int64_t{7});
    return aligns && value.is_ours() ? value_of(value.kind) : value_of(Kind::kNumber);
  }

  void execute(uint32_t at, const CheckedInstruction& instruction, State& state) {
    auto operands = code_.operands(instruction);
    auto in = [&](size_t i) { return read(at, instruction, operands[i], state); };
    auto out = [&](size_t i, const Value& value) { write(at, instruction, operands[i], value, state); };
    switch (instruction.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH: return push(in(0), state);
      case ZYDIS_MNEMONIC_LEAVE:
        state.registers[kRsp] = state.registers[kRbp];
        state.registers[kRbp] = pop(state);
        return;
      case ZYDIS_MNEMONIC_POP: return out(0, pop(state));
      case ZYDIS_MNEMONIC_MOV: return out(0, in(1));
      case ZYDIS_MNEMONIC_LEA:
        return out(0, operands[0].size == 64 ? address_of(at, instruction, operands[1], state) : value_of(Kind::kNumber));
      case ZYDIS_MNEMONIC_ADD: return out(0, add(in(0), in(1)));
      case ZYDIS_MNEMONIC_SUB: return out(0, add(in(0), in(1), true));
      case ZYDIS_MNEMONIC_INC: return out(0, add(in(0), exactly(1)));
      case ZYDIS_MNEMONIC_DEC: return out(0, add(in(0), exactly(-1)));
      case ZYDIS_MNEMONIC_AND: return out(0, masked(in(0), in(1)));
      case ZYDIS_MNEMONIC_XOR:
      case ZYDIS_MNEMONIC_SBB: {
        bool same = operands[0].type == CheckedOperand::kRegister && operands[1].type == CheckedOperand::kRegister &&
                    operands[0].base == operands[1].base && operands[0].high_byte == operands[1].high_byte;
        return out(0, same && instruction.mnemonic == ZYDIS_MNEMONIC_XOR ? exactly(0) : value_of(Kind::kNumber));
      }
      case ZYDIS_MNEMONIC_CMP:
      case ZYDIS_MNEMONIC_TEST:
      case ZYDIS_MNEMONIC_BT:
      case ZYDIS_MNEMONIC_NOP: return;
      case ZYDIS_MNEMONIC_XCHG:
      case ZYDIS_MNEMONIC_XADD: {
        Value first = in(0), second = in(1);
        out(1, first);
        return out(0, instruction.mnemonic == ZYDIS_MNEMONIC_XCHG ? second : add(first, second));
      }
      default: break;
    }
    if (instruction.moves_if) return out(0, join(in(0), in(1)));
    for (size_t i = 0; i < operands.size(); i++) {
      if (!operands[i].writes) continue;
      // String instructions only move their pointers on.
      bool moves_on = instruction.string && operands[i].type == CheckedOperand::kRegister;
      out(i, value_of(moves_on ? in(i).kind : Kind::kNumber));
    }
  }

  // --- What concerns more than one place ---

  // Whether a return can be reached from every place, so that each loop has a way out.
  bool all_loops_end() {
    std::set<uint32_t> ending(ends_.begin(), ends_.end());
    while (!ends_.empty()) {
      uint32_t block = ends_.back();
      ends_.pop_back();
      for (uint32_t before : came_from_[block]) {
        if (ending.insert(before).second) ends_.push_back(before);
      }
    }
    for (auto& [at, state] : states_) {
      if (!ending.contains(at)) return refuse(at, "a loop without an exit");
    }
    return true;
  }

  bool stack_suffices() {
    for (const HandlerEntry& entry : entries_) {
      std::set<uint32_t> open;
      int64_t depth = deepest(entry.offset, open);
      if (depth > kDeepestStack) return refuse(entry.offset, fmt::format("a stack of {} bytes", depth));
      most_stack_ = std::max(most_stack_, static_cast<uint64_t>(depth));
    }
    return true;
  }

  int64_t deepest(uint32_t function, std::set<uint32_t>& open) {
    if (auto known = depth_.find(function); known != depth_.end()) return known->second;
    if (!open.insert(function).second) return 0;  // recursion
    StackUse& use = stack_[function];
    int64_t depth = -use.lowest;
    for (auto& [callee, rsp] : use.calls) depth = std::max(depth, -rsp + deepest(callee, open));
    open.erase(function);
    depth_[function] = depth;
    return depth;
  }

  const abi::CodeImage& image_;
  std::span<const HandlerEntry> entries_;
  CheckedCode code_;
  std::vector<uint8_t> marks_;         // of each byte of code
  std::map<uint32_t, State*> states_;  // at the start of straight pieces of code
  std::deque<State> stored_;
  std::set<uint32_t> pending_;
  std::set<uint32_t> functions_;
  std::map<uint32_t, std::set<uint32_t>> callers_;  // of a function: pieces that call it
  std::map<uint32_t, Returned> returned_;           // of a function
  std::map<uint32_t, std::array<bool, 16>> kept_;   // of a handler: registers that it must keep, by Gpr
  Zero zero_ = Zero::kUnknown;
  bool settled_ = false;                                 // states are final: accesses are checked
  std::map<uint32_t, std::vector<uint32_t>> came_from_;  // pieces of code that lead to a piece
  std::vector<uint32_t> ends_;                           // pieces that return
  std::map<uint32_t, StackUse> stack_;
  std::map<uint32_t, int64_t> depth_;
  uint64_t most_stack_ = 0;
  uint32_t where_ = 0;
  std::string problem_;
};

}  // namespace

Result<uint64_t> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries) {
  return Checker(image, entries).run();
}

bool leave_handler(const abi::CodeImage& image, std::span<const HandlerEntry> entries, uint64_t at, uint64_t& pc,
                   std::array<uint64_t, 16>& registers, const WordReader& read) {
  Checker checker(image, entries);
  return checker.run().ok() && checker.unwind(at, pc, registers, read);
}

}  // namespace spile::engine::x86_64
