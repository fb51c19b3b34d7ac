#include "engine/arch/x86_64/checker_code.h"

#include "engine/arch/x86_64/checker_list.h"

namespace spile::engine::x86_64 {
namespace {

uint8_t number_of(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_NONE) return kNoRegister;
  switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR16: return static_cast<uint8_t>(ZydisRegisterGetId(reg));
    case ZYDIS_REGCLASS_GPR8: {
      int id = ZydisRegisterGetId(reg);  // al cl dl bl ah ch dh bh spl bpl sil dil r8b ...
      return static_cast<uint8_t>(id < 4 ? id : id - 4);
    }
    case ZYDIS_REGCLASS_FLAGS: return kFlags;
    case ZYDIS_REGCLASS_IP: return kRip;
    default: return kOtherRegister;
  }
}

bool is_high_byte(ZydisRegister reg) {
  return reg == ZYDIS_REGISTER_AH || reg == ZYDIS_REGISTER_BH || reg == ZYDIS_REGISTER_CH || reg == ZYDIS_REGISTER_DH;
}

CheckedOperand shorten(const ZydisDecodedOperand& operand) {
  CheckedOperand result{};
  result.base = result.index = kNoRegister;
  result.reads = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
  result.writes = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  result.size = operand.size;
  result.hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      result.type = CheckedOperand::kRegister;
      result.base = number_of(operand.reg.value);
      result.high_byte = is_high_byte(operand.reg.value);
      break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
      result.type = CheckedOperand::kMemory;
      result.base = number_of(operand.mem.base);
      result.index = number_of(operand.mem.index);
      result.scale = operand.mem.scale;
      result.value = operand.mem.disp.value;
      result.own_segment = operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS;
      result.computes = operand.mem.type != ZYDIS_MEMOP_TYPE_MEM;
      break;
    default:
      result.type = CheckedOperand::kImmediate;
      result.value = operand.imm.value.s;
      break;
  }
  return result;
}

// Forms of listed instructions that mean something else than the checker takes them for.
bool is_strange(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  bool memory = false;
  for (int i = 0; i < raw.operand_count_visible; i++) memory |= operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_RET: return raw.opcode != 0xc3;  // taking arguments off, or far
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LEAVE: return raw.operand_width != 64;
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
      // The bit's number moves the address by as much as it likes.
      return memory && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    case ZYDIS_MNEMONIC_MOVQ:  // vector registers are the program's: read, never written
      return operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
             ZydisRegisterGetClass(operands[0].reg.value) != ZYDIS_REGCLASS_GPR64 ||
             ZydisRegisterGetClass(operands[1].reg.value) != ZYDIS_REGCLASS_XMM;
    case ZYDIS_MNEMONIC_MOVSD: return raw.meta.category != ZYDIS_CATEGORY_STRINGOP;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_LEA: return false;
    default: return memory && raw.address_width != 64;
  }
}

}  // namespace

CheckedCode::CheckedCode(const abi::CodeImage& image) : image_(image), index_(image.code_end - image.code_begin, -1) {
  ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  instructions_.reserve(index_.size() / 4 + 1);
  operands_.reserve(index_.size() / 4 * 3 + 1);
}

const CheckedInstruction* CheckedCode::at(uint32_t offset) {
  int32_t& known = index_[offset - image_.code_begin];
  if (known == -1) known = decode(offset) ? static_cast<int32_t>(instructions_.size() - 1) : -2;
  return known < 0 ? nullptr : &instructions_[static_cast<size_t>(known)];
}

bool CheckedCode::decode(uint32_t offset) {
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder_, &image_.bytes[offset], image_.code_end - offset, &raw, operands))) {
    return false;
  }
  CheckedInstruction short_form{};
  short_form.mnemonic = raw.mnemonic;
  short_form.first_operand = static_cast<uint32_t>(operands_.size());
  short_form.operand_count = raw.operand_count;
  short_form.length = raw.length;
  short_form.listed = is_listed(raw) && !is_strange(raw, operands);
  short_form.conditional = raw.meta.category == ZYDIS_CATEGORY_COND_BR;
  short_form.moves_if = raw.meta.category == ZYDIS_CATEGORY_CMOV;
  short_form.string = raw.meta.category == ZYDIS_CATEGORY_STRINGOP;
  bool direct = raw.operand_count > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative;
  short_form.target = direct ? int64_t{offset} + raw.length + operands[0].imm.value.s : -1;
  for (int i = 0; i < raw.operand_count; i++) operands_.push_back(shorten(operands[i]));
  if (raw.operand_count == 0) operands_.push_back({});
  instructions_.push_back(short_form);
  return true;
}

}  // namespace spile::engine::x86_64
