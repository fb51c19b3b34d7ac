#include "probes/terms/translate_location.h"

#include "abi/machine.h"

namespace spile::probes {

namespace {

constexpr location::Register kStackPointer{abi::kConvention.stack_pointer};

// What the stack pointer is, or was, where debuginfo's operations read it. At a function's entry and return it follows from the
// CFA, so that trampolines need not save it.
void append_stack_pointer(location::Operations& to, Moment moment) {
  if (moment == Moment::kInside || moment == Moment::kCall) to.emplace_back(kStackPointer);
  else to.emplace_back(location::CallFrameCfa{});
  // The call that is about to be made will push the return address.
  if (moment == Moment::kEntry || moment == Moment::kCall) location::append_offset(to, -abi::kConvention.entry_cfa);
}

}  // namespace

Moment moment_of(const sema::ResolvedPoint& point, bool at_entry) {
  if (point.site.callee.value != 0 && !point.site.tail_call) return Moment::kCall;
  if (point.kind == sema::ProbeKind::kStatement) return Moment::kInside;
  return at_entry ? Moment::kEntry : Moment::kReturn;
}

location::Operations translate(const location::Operations& operations, Moment moment, bool in_other_module) {
  location::Operations translated;
  for (const location::Operation& operation : operations) {
    const auto* address = std::get_if<location::Address>(&operation);
    const auto* offset = std::get_if<location::PlusConstant>(&operation);
    if (operation == location::Operation(kStackPointer)) append_stack_pointer(translated, moment);
    else if (address) translated.emplace_back(location::Address{address->address, in_other_module});
    else if (offset) location::append_offset(translated, offset->value);
    else translated.push_back(operation);
  }
  return translated;
}

}  // namespace spile::probes
