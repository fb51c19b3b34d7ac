// register(name) where the name is only known when the script runs.

#include "abi/machine.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

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
  for (const abi::RegisterName& known : abi::machine::kRegisterNames) {
    if (!equal(known.text, name)) continue;
    uint32_t unused = 64u - known.bits;
    uint64_t shifted = registers[known.number] >> known.shift << unused;
    *value = is_signed ? static_cast<int64_t>(shifted) >> unused : static_cast<int64_t>(shifted >> unused);
    return true;
  }
  return false;
}

}  // extern "C"

}  // namespace spile::rt
