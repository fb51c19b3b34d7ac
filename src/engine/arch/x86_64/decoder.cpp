#include "engine/arch/x86_64/decoder.h"

#include <Zydis/Zydis.h>

namespace spile::engine::x86_64 {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

bool reads_stack_pointer(const ZydisDecodedInstruction& raw) {
  const auto& modrm = raw.raw.modrm;
  bool extended = raw.raw.rex.B != 0;
  if (modrm.mod == 3) return modrm.rm == 4 && !extended;
  // rm 4 announces a SIB byte; its base 4 is rsp unless extended to r12.
  return modrm.rm == 4 && raw.raw.sib.base == 4 && !extended;
}

Flow classify(const ZydisDecodedInstruction& raw) {
  bool relative = raw.raw.imm[0].is_relative;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      if (raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return Flow::kUnmovable;
      return relative ? Flow::kJump : Flow::kLeaves;
    case ZYDIS_MNEMONIC_CALL:
      if (raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return Flow::kUnmovable;
      return relative ? Flow::kCall : Flow::kIndirectCall;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JCXZ: return Flow::kCounted;
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT: return Flow::kLeaves;
    case ZYDIS_MNEMONIC_INT3: return Flow::kBreakpoint;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ: return Flow::kUnmovable;
    default:
      if (raw.meta.category == ZYDIS_CATEGORY_COND_BR) return Flow::kConditional;
      return relative ? Flow::kUnmovable : Flow::kNext;
  }
}

Instruction describe(const ZydisDecodedInstruction& raw) {
  Instruction result;
  result.length = raw.length;
  result.flow = classify(raw);
  result.nop = raw.mnemonic == ZYDIS_MNEMONIC_NOP;
  result.end_branch = raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
  result.indirect_jump = raw.mnemonic == ZYDIS_MNEMONIC_JMP && result.flow == Flow::kLeaves;
  if (raw.raw.imm[0].is_relative) result.relative = raw.raw.imm[0].value.s;
  if (result.flow == Flow::kConditional) result.condition = raw.opcode & 15;
  if (result.flow == Flow::kCounted) result.opcode_offset = raw.raw.imm[0].offset - 1;
  if (result.flow == Flow::kIndirectCall) {
    result.opcode_offset = raw.raw.modrm.offset - 1;
    result.uses_stack_pointer = reads_stack_pointer(raw);
  }
  bool has_modrm = (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
  bool has_sib = has_modrm && raw.raw.modrm.mod != 3 && raw.raw.modrm.rm == 4;
  result.by_table = raw.raw.modrm.mod == 3 || (has_sib && (raw.raw.sib.index != 4 || raw.raw.rex.X != 0));  // with REX.X: r12
  if (has_sib && raw.raw.modrm.mod == 0 && raw.raw.sib.base == 5) result.absolute_displacement = raw.raw.disp.offset;
  // A nop's operand is never used: endless displacement rules don't matter to it.
  if (has_modrm && raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5 && raw.raw.disp.size == 32) {
    result.rip_displacement = raw.raw.disp.offset;
  }
  return result;
}

// Whether the operands may be on the stack: registers 4 and 5 are rsp and rbp unless they are extended.
bool may_use_stack(const ZydisDecodedInstruction& raw) {
  auto is_either = [](unsigned number) { return (number & 6) == 4; };
  if ((raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) == 0) return true;
  const auto& modrm = raw.raw.modrm;
  if (is_either(modrm.reg)) return true;
  if (modrm.mod == 3 || modrm.rm != 4) return is_either(modrm.rm);
  return is_either(raw.raw.sib.base);
}

}  // namespace

std::optional<Instruction> decode(std::span<const uint8_t> bytes) {
  ZydisDecodedInstruction raw;
  if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder(), nullptr, bytes.data(), bytes.size(), &raw))) return {};
  return describe(raw);
}

namespace {

// An instruction with its operands, as decode_stack_use needs them.
struct DecodedOperands {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  bool writes_register(ZydisRegister reg) const {
    return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[0].reg.value == reg &&
           (operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  }
  // lock or $0, (%rsp): a memory barrier, which touches nothing.
  bool is_barrier() const {
    return (raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 && raw.operand_count_visible == 2 &&
           (raw.mnemonic == ZYDIS_MNEMONIC_OR || raw.mnemonic == ZYDIS_MNEMONIC_ADD) &&
           operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[1].imm.value.u == 0;
  }
};

void find_stack_operands(const DecodedOperands& decoded, StackUse& use) {
  if (decoded.is_barrier()) return;
  for (int i = 0; i < decoded.raw.operand_count_visible; i++) {
    const auto& operand = decoded.operands[i];
    // An address that is only computed is not an access.
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
    if (operand.mem.index != ZYDIS_REGISTER_NONE) continue;
    if (operand.mem.base == ZYDIS_REGISTER_RSP) use.stack_operand = operand.mem.disp.value;
    if (operand.mem.base == ZYDIS_REGISTER_RBP) use.frame_operand = operand.mem.disp.value;
  }
}

void find_lea_change(const DecodedOperands& decoded, StackUse& use) {
  const auto& address = decoded.operands[1].mem;
  bool plain = address.index == ZYDIS_REGISTER_NONE;
  if (!decoded.writes_register(ZYDIS_REGISTER_RSP)) {
    if (plain && address.base == ZYDIS_REGISTER_RSP) use.limit = address.disp.value;
    return;
  }
  use.unknown_change = address.base != ZYDIS_REGISTER_RSP || !plain;
  use.change = address.disp.value;
  if (plain && address.base == ZYDIS_REGISTER_RBP) use.from_frame = address.disp.value;
}

void find_stack_change(const DecodedOperands& decoded, StackUse& use) {
  const ZydisDecodedInstruction& raw = decoded.raw;
  const ZydisDecodedOperand& second = decoded.operands[1];
  bool constant = raw.operand_count_visible == 2 && second.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ: use.change = -8; break;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ: use.change = 8; break;
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_ADD:
      if (!decoded.writes_register(ZYDIS_REGISTER_RSP)) break;
      use.unknown_change = !constant;
      if (constant) use.change = raw.mnemonic == ZYDIS_MNEMONIC_ADD ? second.imm.value.s : -second.imm.value.s;
      break;
    case ZYDIS_MNEMONIC_LEA: find_lea_change(decoded, use); break;
    case ZYDIS_MNEMONIC_MOV:
      use.frame_set = decoded.writes_register(ZYDIS_REGISTER_RBP) && second.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      second.reg.value == ZYDIS_REGISTER_RSP;
      [[fallthrough]];
    default:
      use.unknown_change = decoded.writes_register(ZYDIS_REGISTER_RSP) || raw.mnemonic == ZYDIS_MNEMONIC_LEAVE;
      if (raw.mnemonic == ZYDIS_MNEMONIC_LEAVE) use.from_frame = 8;
      if (raw.mnemonic == ZYDIS_MNEMONIC_MOV && use.unknown_change && second.type == ZYDIS_OPERAND_TYPE_REGISTER &&
          second.reg.value == ZYDIS_REGISTER_RBP) {
        use.from_frame = 0;
      }
  }
  use.frame_lost = !use.frame_set && (decoded.writes_register(ZYDIS_REGISTER_RBP) || raw.mnemonic == ZYDIS_MNEMONIC_LEAVE);
}

}  // namespace

std::optional<StackUse> decode_stack_use(std::span<const uint8_t> bytes) {
  DecodedOperands decoded;
  ZydisDecodedInstruction& raw = decoded.raw;
  ZydisDecoderContext context;
  if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder(), &context, bytes.data(), bytes.size(), &raw))) return {};
  StackUse use;
  use.instruction = describe(raw);
  if (!may_use_stack(raw)) return use;
  if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder(), &context, &raw, decoded.operands, raw.operand_count))) return {};
  if (raw.operand_count == 0) decoded.operands[0] = {};
  find_stack_operands(decoded, use);
  find_stack_change(decoded, use);
  return use;
}

}  // namespace spile::engine::x86_64
