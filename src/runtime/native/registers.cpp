// register(name) where the name is only known when the script runs.

#include "abi/trampoline.h"
#include "runtime/native/native.h"

namespace spile::rt {

namespace {

struct Name {
  char text[7];
  uint8_t bits;
  uint8_t shift = 0;  // of the high bytes
};
// By DWARF number. ORDER REGISTER_NAMES (codegen/lower_registers.cpp)
constexpr Name kNames[][5] = {
    {{"rax", 64}, {"eax", 32}, {"ax", 64}, {"al", 8}, {"ah", 8, 8}}, {{"rdx", 64}, {"edx", 32}, {"dx", 64}, {"dl", 8}, {"dh", 8, 8}},
    {{"rcx", 64}, {"ecx", 32}, {"cx", 64}, {"cl", 8}, {"ch", 8, 8}}, {{"rbx", 64}, {"ebx", 32}, {"bx", 64}, {"bl", 8}, {"bh", 8, 8}},
    {{"rsi", 64}, {"esi", 32}, {"si", 64}, {"sil", 8}},      {{"rdi", 64}, {"edi", 32}, {"di", 64}, {"dil", 8}},
    {{"rbp", 64}, {"ebp", 32}, {"bp", 64}, {"bpl", 8}},      {{"rsp", 64}, {"esp", 32}, {"sp", 64}, {"spl", 8}},
    {{"r8", 64}, {"r8d", 32}, {"r8w", 16}, {"r8b", 8}},      {{"r9", 64}, {"r9d", 32}, {"r9w", 16}, {"r9b", 8}},
    {{"r10", 64}, {"r10d", 32}, {"r10w", 16}, {"r10b", 8}},  {{"r11", 64}, {"r11d", 32}, {"r11w", 16}, {"r11b", 8}},
    {{"r12", 64}, {"r12d", 32}, {"r12w", 16}, {"r12b", 8}},  {{"r13", 64}, {"r13d", 32}, {"r13w", 16}, {"r13b", 8}},
    {{"r14", 64}, {"r14d", 32}, {"r14w", 16}, {"r14b", 8}},  {{"r15", 64}, {"r15d", 32}, {"r15w", 16}, {"r15b", 8}},
    {{"rip", 64}, {"eip", 32}, {"ip", 64}},                  {{"rflags", 64}, {"eflags", 32}, {"flags", 32}},
};

bool equal(const char* a, const char* b) {
  for (; *a && *a == *b; ++a, ++b) compiler_barrier();
  return *a == *b;
}

}  // namespace

extern "C" {

SPILE_INLINE const uint64_t* spile_rt_subject_registers(Context* context) {
  const abi::Subject* subject = subject_of(context);
  return subject && subject->frame_kind ? subject->registers : nullptr;
}

[[gnu::noinline]] bool spile_rt_register(const uint64_t* registers, const char* name, bool is_signed, int64_t* value) {
  *value = 0;
  if (*name == '%') ++name;
  for (uint32_t number = 0; number < sizeof kNames / sizeof kNames[0]; ++number) {
    for (const Name& known : kNames[number]) {
      if (!known.bits || !equal(known.text, name)) continue;
      uint32_t unused = 64u - known.bits;
      uint64_t shifted = registers[number] >> known.shift << unused;
      *value = is_signed ? static_cast<int64_t>(shifted) >> unused : static_cast<int64_t>(shifted >> unused);
      return true;
    }
  }
  return false;
}

}  // extern "C"

}  // namespace spile::rt
