#include "engine/arch/x86_64/checker.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "abi/arena.h"
#include "engine/arch/x86_64/checker_list.h"

namespace spile::engine::x86_64 {
namespace {

// What a register or a word of the frame holds. ORDER KIND: joined, the greater one counts, but for what join() says.
enum class Kind : uint8_t {
  kNothing,  // no path has come here yet
  kNumber,   // no address: a constant, or the result of arithmetic
  kFrame,    // an address in the stack
  kOwn,      // an address in the arena or the process table
  kSaved,    // an address in the traced registers that a trampoline has saved
  kLoaded,   // read from our own memory
  kTraced,   // what the traced program chose: an argument, something read through such a value
};

struct Value {
  Kind kind = Kind::kNothing;
  bool exact = false;  // kNumber: is `number`; kFrame: lies `number` above where rsp was at the function's entry
  int64_t number = 0;
  int8_t origin = -1;  // the register whose value at the function's entry this still is
  bool operator==(const Value&) const = default;
};
constexpr Value kNumber{Kind::kNumber}, kTraced{Kind::kTraced}, kLoaded{Kind::kLoaded}, kOwn{Kind::kOwn};
constexpr Value exactly(int64_t number) { return {Kind::kNumber, true, number}; }
constexpr Value frame_at(int64_t place) { return {Kind::kFrame, true, place}; }

bool is_ours(const Value& value) {
  return value.kind == Kind::kFrame || value.kind == Kind::kOwn || value.kind == Kind::kSaved || value.kind == Kind::kLoaded;
}

Value join_kinds(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    bool same = a.exact && b.exact && a.number == b.number;
    return same ? Value{a.kind, true, a.number} : Value{a.kind};
  }
  // No address is what null pointers are made of: whoever uses one has looked first.
  auto null = [](const Value& value) { return value == exactly(0); };
  if (null(a)) return Value{b.kind};
  if (null(b)) return Value{a.kind};
  // Where paths disagree, ours is believed.
  if (is_ours(a) || is_ours(b)) return kLoaded;
  return kTraced;
}

Value join(const Value& a, const Value& b) {
  if (a == b || b.kind == Kind::kNothing) return a;
  if (a.kind == Kind::kNothing) return b;
  Value joined = join_kinds(a, b);
  joined.origin = a.origin == b.origin ? a.origin : int8_t{-1};
  return joined;
}

Value add(const Value& a, const Value& b, int sign = 1) {
  if (a.kind == Kind::kNumber && b.kind == Kind::kNumber) {
    return a.exact && b.exact ? exactly(a.number + sign * b.number) : kNumber;
  }
  if (a.kind == Kind::kSaved && b.kind == Kind::kNumber) return {Kind::kSaved, a.exact && b.exact, a.number + sign * b.number};
  if (a.kind == Kind::kFrame && b.kind == Kind::kNumber) return {Kind::kFrame, a.exact && b.exact, a.number + sign * b.number};
  if (b.kind == Kind::kFrame && a.kind == Kind::kNumber && sign > 0) return {Kind::kFrame, a.exact && b.exact, a.number + b.number};
  auto is_base = [](const Value& v) { return v.kind == Kind::kOwn || v.kind == Kind::kFrame || v.kind == Kind::kSaved; };
  bool own = is_base(a), other = is_base(b);
  if (own && other) return kNumber;  // a distance
  if (own) return {a.kind};
  if (other) return sign > 0 ? Value{b.kind} : kNumber;
  if (a.kind == Kind::kLoaded || b.kind == Kind::kLoaded) return kLoaded;
  return kTraced;
}

struct State {
  std::array<Value, 16> registers;
  std::map<int64_t, Value> frame;  // words whose place is known exactly
  uint32_t function = 0;

  // True if that brought something new.
  bool join_with(const State& other) {
    bool changed = false;
    for (size_t i = 0; i < 16; i++) {
      Value joined = join(registers[i], other.registers[i]);
      changed |= !(joined == registers[i]);
      registers[i] = joined;
    }
    for (auto& [place, value] : frame) {
      auto found = other.frame.find(place);
      Value joined = join(value, found == other.frame.end() ? kLoaded : found->second);
      changed |= !(joined == value);
      value = joined;
    }
    return changed;
  }
};

// What a function leaves to its caller.
struct Returned {
  Value rax, rdx;
  std::array<bool, 16> keeps{};  // registers that are as they were
  bool operator==(const Returned&) const = default;
};

class Checker {
 public:
  Checker(const abi::CodeImage& image, std::span<const HandlerEntry> entries) : image_(image), entries_(entries) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  Result<void> run() {
    find_functions();
    for (const HandlerEntry& entry : entries_) {
      State state;
      state.function = entry.offset;
      for (Value& value : state.registers) value = kTraced;
      if (entry.takes_registers) state.registers[kRdi] = {Kind::kSaved, true, 0};
      begin_function(state);
      if (!reach(entry.offset, state, entry.offset)) return failure();
    }
    while (!pending_.empty()) {
      uint32_t at = *pending_.begin();
      pending_.erase(pending_.begin());
      if (!follow(at, states_[at])) return failure();
    }
    // All is known now of every place.
    settled_ = true;
    std::vector<uint32_t> places;
    for (auto& [at, state] : states_) places.push_back(at);
    for (uint32_t at : places) {
      if (!follow(at, states_[at])) return failure();
    }
    return {};
  }

 private:
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
                 "this is a fault of spile: please report it with the script"};
  }

  // Whatever is called: a jump to such a place is a call, too. (Bytes that are no code may add a few.)
  void find_functions() {
    for (uint32_t at = image_.code_begin; at < image_.code_end;) {
      ZydisDecodedInstruction raw;
      bool decoded = ZYAN_SUCCESS(
          ZydisDecoderDecodeInstruction(&decoder_, nullptr, &image_.bytes[at], image_.code_end - at, &raw));
      if (decoded && raw.mnemonic == ZYDIS_MNEMONIC_CALL && raw.raw.imm[0].is_relative) {
        functions_.insert(static_cast<uint32_t>(at + raw.length + raw.raw.imm[0].value.s));
      }
      at += decoded ? raw.length : 1;
    }
  }

  // --- Following control ---

  bool reach(uint32_t to, const State& state, uint32_t from) {
    if (to < image_.code_begin || to >= image_.code_end) return refuse(from, "a branch leaves the code");
    if (inside_.contains(to)) return refuse(from, "a branch leads into an instruction");
    auto [entry, fresh] = states_.try_emplace(to, state);
    if (fresh || entry->second.join_with(state)) pending_.insert(to);
    return true;
  }

  bool follow(uint32_t at, State state) {
    for (;;) {
      if (at >= image_.code_end) return refuse(at, "control runs out of the code");
      ZydisDecodedInstruction raw;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder_, &image_.bytes[at], image_.code_end - at, &raw, operands))) {
        return refuse(at, "no instruction");
      }
      for (uint32_t i = 1; i < raw.length; i++) {
        if (states_.contains(at + i)) return refuse(at, "a branch leads into an instruction");
        inside_.insert(at + i);
      }
      if (inside_.contains(at)) return refuse(at, "a branch leads into an instruction");
      if (!check_instruction(at, raw, operands, state)) return false;
      uint32_t next = at + raw.length;
      int64_t target = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative
                           ? next + operands[0].imm.value.s
                           : -1;
      bool conditional = raw.meta.category == ZYDIS_CATEGORY_COND_BR;
      if (raw.mnemonic == ZYDIS_MNEMONIC_RET) {
        return leave(at, state);
      } else if (raw.mnemonic == ZYDIS_MNEMONIC_UD2 || raw.mnemonic == ZYDIS_MNEMONIC_INT3) {
        return true;
      } else if (raw.mnemonic == ZYDIS_MNEMONIC_CALL) {
        if (target < 0) return refuse(at, "an indirect call");
        if (!call(at, static_cast<uint32_t>(target), state)) return false;
        // Not yet known what comes back: it will be followed again.
        if (!returned_.contains(static_cast<uint32_t>(target))) return true;
      } else if (raw.mnemonic == ZYDIS_MNEMONIC_JMP || conditional) {
        if (target < 0) return refuse(at, "an indirect jump");
        if (!branch(at, static_cast<uint32_t>(target), state)) return false;
        if (!conditional) return true;
      } else {
        execute(at, raw, operands, state);
      }
      at = next;
      if (states_.contains(at)) return reach(at, state, at);
    }
  }

  bool branch(uint32_t at, uint32_t target, const State& state) {
    if (!functions_.contains(target)) return reach(target, state, at);
    // A tail call: what the other function returns is returned here too.
    State copy = state;
    if (!call(at, target, copy)) return false;
    return !returned_.contains(target) || leave(at, copy);
  }

  static void begin_function(State& state) {
    for (int8_t i = 0; i < 16; i++) state.registers[static_cast<size_t>(i)].origin = i;
    state.registers[kRsp] = frame_at(0);
  }

  bool call(uint32_t at, uint32_t target, State& state) {
    functions_.insert(target);
    callers_[target].insert(block_of(at));
    State inner;
    inner.function = target;
    for (size_t i = 0; i < 16; i++) {
      inner.registers[i] = state.registers[i];
      if (inner.registers[i].kind == Kind::kFrame) inner.registers[i] = {Kind::kFrame};
    }
    begin_function(inner);
    if (!reach(target, inner, at)) return false;
    auto back = returned_.find(target);
    if (back == returned_.end()) return true;
    for (size_t i = 0; i < 16; i++) {
      if (!back->second.keeps[i]) state.registers[i] = kNumber;
    }
    if (!back->second.keeps[kRax]) state.registers[kRax] = back->second.rax;
    if (!back->second.keeps[kRdx]) state.registers[kRdx] = back->second.rdx;
    return true;
  }

  bool leave(uint32_t at, const State& state) {
    if (settled_ && !(state.registers[kRsp] == frame_at(0))) return refuse(at, "a return that does not find its address");
    auto value = [](Value given) { return Value{given.kind, given.exact && given.kind == Kind::kNumber, given.number}; };
    auto [known, fresh] = returned_.try_emplace(state.function);
    Returned joined{join(known->second.rax, value(state.registers[kRax])),
                    join(known->second.rdx, value(state.registers[kRdx])), known->second.keeps};
    for (size_t i = 0; i < 16; i++) {
      bool kept = i == size_t{kRsp} || state.registers[i].origin == static_cast<int>(i);
      joined.keeps[i] = (fresh || joined.keeps[i]) && kept;
    }
    if (!fresh && joined == known->second) return true;
    known->second = joined;
    for (uint32_t caller : callers_[state.function]) pending_.insert(caller);
    return true;
  }

  // The start of the straight piece of code that `at` lies in.
  uint32_t block_of(uint32_t at) const { return std::prev(states_.upper_bound(at))->first; }

  // --- Single instructions ---

  bool check_instruction(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands,
                         const State& state) {
    const char* name = ZydisMnemonicGetString(raw.mnemonic);
    if (!is_listed(raw.mnemonic)) return refuse(at, fmt::format("an instruction that is not allowed ({})", name));
    if (settled_ && raw.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
      auto argument = [&](Gpr reg) {
        const Value& value = state.registers[reg];
        return value.kind == Kind::kNumber && value.exact ? value.number : -1;
      };
      if (!is_listed_call(argument(kRax), argument(kRdi), argument(kRsi))) {
        return refuse(at, "a system call that is not allowed");
      }
    }
    for (int i = 0; i < raw.operand_count; i++) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        if (!is_general(operand.reg.value)) return refuse(at, fmt::format("{} on a register that is not saved", name));
      } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM) {
        bool nothing = raw.mnemonic == ZYDIS_MNEMONIC_NOP || raw.mnemonic == ZYDIS_MNEMONIC_PREFETCHT0;
        if (settled_ && !nothing && !check_access(at, raw, operand, state)) return false;
      }
    }
    return true;
  }

  bool check_access(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand& operand,
                    const State& state) {
    bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    // The thread pointer and the words beside it are the thread's own, and always there.
    if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS) {
      return writes ? refuse(at, "a store to the thread's own storage") : true;
    }
    if (operand.mem.base == ZYDIS_REGISTER_RIP) {
      int64_t target = static_cast<int64_t>(at) + raw.length + operand.mem.disp.value;
      bool inside = target >= 0 && target + operand.size / 8 <= static_cast<int64_t>(image_.bytes.size());
      if (writes) return refuse(at, "a store to the image");
      return inside ? true : refuse(at, "a load beside the image");
    }
    Value base = value_of(operand.mem.base, state), index = value_of(operand.mem.index, state);
    if (is_ours(base)) return true;
    if (operand.mem.scale <= 1 && is_ours(index)) return true;
    bool guarded = std::binary_search(
        image_.fixups.begin(), image_.fixups.end(), abi::FaultFixup{at, 0},
        [](const abi::FaultFixup& a, const abi::FaultFixup& b) { return a.fault_offset < b.fault_offset; });
    if (guarded && (!writes || image_.guru)) return true;
    // Constants of the image, addressed by a register.
    if (!writes && base.kind == Kind::kNumber && !base.exact) return true;
    return refuse(at, writes ? "a store through an address that is not the stack's or the arena's"
                             : "a load that may fault and has no fix-up");
  }

  static bool is_general(ZydisRegister reg) {
    switch (ZydisRegisterGetClass(reg)) {
      case ZYDIS_REGCLASS_GPR8:
      case ZYDIS_REGCLASS_GPR16:
      case ZYDIS_REGCLASS_GPR32:
      case ZYDIS_REGCLASS_GPR64:
      case ZYDIS_REGCLASS_FLAGS:
      case ZYDIS_REGCLASS_IP:
        return true;
      default:
        return reg == ZYDIS_REGISTER_MXCSR ? false : ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_SEGMENT;
    }
  }
  static std::optional<size_t> number_of(ZydisRegister reg) {
    if (reg == ZYDIS_REGISTER_NONE) return {};
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    int id = ZydisRegisterGetId(wide);
    if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64 || id < 0 || id > 15) return {};
    return static_cast<size_t>(id);
  }
  static Value value_of(ZydisRegister reg, const State& state) {
    auto number = number_of(reg);
    return number ? state.registers[*number] : exactly(0);
  }

  // --- What instructions make of values ---

  Value address_of(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand& operand, const State& state) {
    if (operand.mem.base == ZYDIS_REGISTER_RIP) return kNumber;
    (void)at;
    (void)raw;
    Value index = value_of(operand.mem.index, state);
    if (operand.mem.scale > 1 && !(index == exactly(0))) index = kNumber;
    return add(add(value_of(operand.mem.base, state), index), exactly(operand.mem.disp.value));
  }

  Value read(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand& operand, const State& state) {
    switch (operand.type) {
      case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return exactly(operand.imm.value.s);
      case ZYDIS_OPERAND_TYPE_REGISTER: {
        Value value = value_of(operand.reg.value, state);
        return operand.size == 64 || value.kind == Kind::kTraced ? value
               : value.kind == Kind::kNumber                     ? value
                                                                 : kNumber;
      }
      case ZYDIS_OPERAND_TYPE_MEMORY:
        return load(at, raw, operand, state);
      default:
        return kNumber;
    }
  }

  Value load(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand& operand, const State& state) {
    if (operand.mem.segment == ZYDIS_REGISTER_FS) return kNumber;
    if (operand.mem.base == ZYDIS_REGISTER_RIP) {
      int64_t cell = static_cast<int64_t>(at) + raw.length + operand.mem.disp.value;
      bool own = cell == offsetof(abi::ImageCells, arena) || cell == offsetof(abi::ImageCells, process_table) ||
                 cell == offsetof(abi::ImageCells, code_regions);
      return own ? kOwn : kNumber;
    }
    Value address = address_of(at, raw, operand, state);
    if (!is_ours(address)) return address.kind == Kind::kNumber && !address.exact ? kNumber : kTraced;
    // exit stores the real return address below the traced stack pointer.
    if (address.kind == Kind::kSaved) {
      bool stack = address.exact && address.number == offsetof(abi::Registers, rsp);
      return stack ? Value{Kind::kFrame} : kTraced;
    }
    if (address.kind == Kind::kFrame && address.exact) {
      auto found = state.frame.find(address.number);
      if (found != state.frame.end()) return operand.size == 64 ? found->second : found->second.kind == Kind::kTraced ? kTraced : kNumber;
    }
    return operand.size == 64 ? kLoaded : kNumber;
  }

  void write(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand& operand, const Value& value,
             State& state) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      if (auto number = number_of(operand.reg.value)) {
        bool whole = operand.size >= 32;
        state.registers[*number] = whole ? value : join(state.registers[*number], kNumber);
      }
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      Value address = address_of(at, raw, operand, state);
      if (address.kind == Kind::kFrame && address.exact) {
        state.frame[address.number] = operand.size == 64 ? value : join(value, kNumber);
      }
    }
  }

  void execute(uint32_t at, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands, State& state) {
    auto in = [&](int i) { return read(at, raw, operands[i], state); };
    auto out = [&](int i, const Value& value) { write(at, raw, operands[i], value, state); };
    switch (raw.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH: {
        Value value = in(0);
        state.registers[kRsp] = add(state.registers[kRsp], exactly(-8));
        if (state.registers[kRsp].exact) state.frame[state.registers[kRsp].number] = value;
        return;
      }
      case ZYDIS_MNEMONIC_POP: {
        Value top = state.registers[kRsp], value = kLoaded;
        if (auto found = state.frame.find(top.number); top.exact && found != state.frame.end()) value = found->second;
        state.registers[kRsp] = add(top, exactly(8));
        return out(0, value);
      }
      case ZYDIS_MNEMONIC_MOV:
        return out(0, in(1));
      case ZYDIS_MNEMONIC_LEA:
        return out(0, operands[0].size == 64 ? address_of(at, raw, operands[1], state) : kNumber);
      case ZYDIS_MNEMONIC_ADD:
        return out(0, add(in(0), in(1)));
      case ZYDIS_MNEMONIC_SUB:
        return out(0, add(in(0), in(1), -1));
      case ZYDIS_MNEMONIC_INC:
        return out(0, add(in(0), exactly(1)));
      case ZYDIS_MNEMONIC_DEC:
        return out(0, add(in(0), exactly(-1)));
      case ZYDIS_MNEMONIC_AND: {
        // Aligning the stack, or an address.
        Value value = in(0);
        bool aligns = in(1).exact && in(1).number < 0 && is_ours(value);
        return out(0, aligns ? Value{value.kind} : kNumber);
      }
      case ZYDIS_MNEMONIC_XOR:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            operands[0].reg.value == operands[1].reg.value) {
          return out(0, exactly(0));
        }
        return out(0, kNumber);
      case ZYDIS_MNEMONIC_CMP:
      case ZYDIS_MNEMONIC_TEST:
      case ZYDIS_MNEMONIC_BT:
      case ZYDIS_MNEMONIC_NOP:
        return;
      case ZYDIS_MNEMONIC_XCHG:
      case ZYDIS_MNEMONIC_XADD: {
        Value first = in(0), second = in(1);
        out(1, first);
        return out(0, raw.mnemonic == ZYDIS_MNEMONIC_XCHG ? second : add(first, second));
      }
      default:
        break;
    }
    if (raw.meta.category == ZYDIS_CATEGORY_CMOV) return out(0, join(in(0), in(1)));
    for (int i = 0; i < raw.operand_count; i++) {
      if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
      bool stack = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(operands[i].reg.value) == size_t{kRsp};
      // String instructions only move on.
      bool string = raw.meta.category == ZYDIS_CATEGORY_STRINGOP && operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER;
      if (string) {
        out(i, in(i).kind == Kind::kFrame ? Value{Kind::kFrame} : in(i));
      } else {
        out(i, stack ? kTraced : kNumber);
      }
    }
  }

  const abi::CodeImage& image_;
  std::span<const HandlerEntry> entries_;
  ZydisDecoder decoder_;
  std::map<uint32_t, State> states_;  // at the start of straight pieces of code
  std::set<uint32_t> pending_;
  std::set<uint32_t> inside_;  // bytes that are not the first of an instruction
  std::set<uint32_t> functions_;
  std::map<uint32_t, std::set<uint32_t>> callers_;            // of a function: pieces that call it
  std::map<uint32_t, Returned> returned_;                     // of a function
  bool settled_ = false;  // states are final: accesses are judged
  uint32_t where_ = 0;
  std::string problem_;
};

}  // namespace

Result<void> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries) {
  return Checker(image, entries).run();
}

}  // namespace spile::engine::x86_64
