#pragma once
// What handlers in the kernel can't do: one table of constructs and library functions, with the reason and what to do instead.

#include <string>
#include <string_view>

namespace spile::codegen {

struct KernelLack {
  std::string_view construct;  // as messages name it; of a function: its name
  std::string_view reason;
  std::string_view instead;  // a hint
};

// Returns the row of a construct or a function; null: handlers in the kernel have it, or it is refused elsewhere.
const KernelLack* kernel_lack(std::string_view construct);
// Returns the error of a construct that handlers in the kernel lack. shown: the construct as the message names it; lack: its row,
// or null: handlers over a BPF arena have it.
std::string kernel_lack_text(const std::string& shown, const KernelLack* lack);

}  // namespace spile::codegen
