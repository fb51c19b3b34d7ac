#include "engine/arch/x86_64/checker_list.h"

#include <array>

namespace spile::engine::x86_64 {
namespace {

// clang-format off
constexpr ZydisMnemonic kMnemonics[] = {
#define Z(name) ZYDIS_MNEMONIC_##name,
    Z(MOV) Z(MOVZX) Z(MOVSX) Z(MOVSXD) Z(LEA) Z(ADD) Z(SUB) Z(ADC) Z(SBB) Z(INC) Z(DEC) Z(NEG) Z(NOT) Z(AND) Z(OR)
    Z(XOR) Z(TEST) Z(CMP) Z(SHL) Z(SHR) Z(SAR) Z(ROL) Z(ROR) Z(RCL) Z(RCR) Z(SHLD) Z(SHRD) Z(MUL) Z(IMUL) Z(DIV)
    Z(IDIV) Z(CDQ) Z(CQO) Z(CDQE) Z(CWDE) Z(CWD) Z(CBW) Z(BT) Z(BTS) Z(BTR) Z(BTC) Z(BSF) Z(BSR) Z(TZCNT) Z(LZCNT)
    Z(POPCNT) Z(BSWAP) Z(XCHG) Z(XADD) Z(CMPXCHG) Z(PUSH) Z(POP) Z(CALL) Z(RET) Z(JMP) Z(NOP) Z(ENDBR64) Z(UD2)
    Z(RDTSC) Z(RDTSCP) Z(RDFSBASE) Z(LFENCE) Z(MFENCE) Z(PAUSE) Z(ANDN) Z(BEXTR) Z(BLSR) Z(BLSI) Z(BLSMSK)
    Z(MULX) Z(SHLX) Z(SHRX) Z(SARX) Z(RORX) Z(BZHI) Z(CLD) Z(MOVBE) Z(MOVSB) Z(MOVSW) Z(MOVSD) Z(MOVSQ)
    Z(STOSB) Z(STOSW) Z(STOSD) Z(STOSQ) Z(CRC32) Z(PREFETCHT0) Z(LEAVE) Z(STC) Z(CLC) Z(CMC) Z(SAHF) Z(LAHF) Z(LSL)
    Z(MOVQ)
#undef Z
};
// clang-format on

constexpr auto kListed = [] {
  std::array<bool, ZYDIS_MNEMONIC_MAX_VALUE + 1> listed{};
  for (ZydisMnemonic mnemonic : kMnemonics) listed[mnemonic] = true;
  return listed;
}();

}  // namespace

bool is_listed(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_CMOV: return true;
    case ZYDIS_CATEGORY_SETCC: return true;
    case ZYDIS_CATEGORY_COND_BR:
      return instruction.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || (instruction.opcode & 0xf0) == 0x70 ||
             instruction.opcode == 0xe3;
    default: return kListed[instruction.mnemonic];
  }
}

}  // namespace spile::engine::x86_64
