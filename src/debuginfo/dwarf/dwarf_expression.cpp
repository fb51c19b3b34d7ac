#include "debuginfo/dwarf/dwarf_expression.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "abi/machine.h"
#include "debuginfo/terms/register_numbers.h"

namespace spile::debuginfo {
namespace {

using abi::kConvention;

constexpr int kDeepest = 4;  // frame base -> CFA -> ...
constexpr size_t kMostOperations = 256;
// Where the frame pointer will point once the prologue has made it, relative to the stack pointer at the first instruction.
constexpr int64_t kFutureFrame = kConvention.entry_cfa + kConvention.saved_frame;
constexpr const char* kNoFrameYet = "has no location before the function has set up its stack frame";

bool passes_parameters(int64_t number) {
  return kConvention.argument_registers.has(number) ||
         (abi::is_vector_register(number) && number < kConvention.first_vector + kConvention.vector_arguments);
}

// For the whole function, as opposed to a location list's entry for some addresses.
bool is_for_whole_function(Dwarf_Attribute& attribute) {
  const unsigned form = dwarf_whatform(&attribute);
  return form == DW_FORM_exprloc || form == DW_FORM_block1;
}

class Compiler {
 public:
  Compiler(Dwarf_Attribute* attribute, const FrameContext& context, int depth)
      : attribute_(attribute), context_(context), depth_(depth) {}

  Place compile(Dwarf_Op* operations, size_t count);
  // Lets DW_OP_push_object_address stand for the object of a type.
  void take_object() { takes_object_ = true; }
  // A register was read that says nothing of the function at its entry, and may have a frame's address later (the frame
  // pointer, the stack pointer, others; on x86-64 rax with GCC's address sanitizer). The CFA is not meant: at the entry that
  // is computed from the entry's stack pointer.
  bool reads_frame_register() const { return reads_frame_register_; }

 private:
  bool compile_one(const Dwarf_Op& op);
  bool compile_variable_data(const Dwarf_Op& op);
  bool compile_typed(const Dwarf_Op& op);
  bool compile_entry_value(const Dwarf_Op& op);
  bool push_register_at_entry(const Dwarf_Op* operations, size_t count);
  bool push_frame_base(int64_t offset);
  bool push_cfa();
  bool push_attribute_of(const Dwarf_Op& op, bool is_address);
  bool finish_piece(uint64_t size);
  // What the operations so far describe: an object in a register, a computed value, or memory.
  Piece::Kind kind() const { return is_value_ ? Piece::Kind::kValue : Piece::Kind::kMemory; }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  bool push(location::Operation operation) {
    code_.push_back(operation);
    return true;
  }
  bool offset(int64_t by) {
    location::append_offset(code_, by);
    return true;
  }
  bool push_register(int64_t number, int64_t by) {
    const bool vector = abi::is_vector_register(number) && is_value_;  // no address is in one
    if (!vector && !is_general_register(number))
      return fail(fmt::format("is in a register that is not saved (DWARF number {})", number));
    reads_frame_register_ |= !passes_parameters(number);
    push(location::Register{number});
    return offset(by);
  }

  Dwarf_Attribute* attribute_;
  const FrameContext& context_;
  int depth_;
  location::Operations code_;
  std::vector<Piece> pieces_;
  bool is_value_ = false;
  bool takes_object_ = false;
  bool reads_frame_register_ = false;
  std::string reason_;
};

// clang-format off
std::optional<location::Operation> plain_operation(int atom) {
  switch (atom) {
    case DW_OP_dup: return location::Stack::kDup;
    case DW_OP_drop: return location::Stack::kDrop;
    case DW_OP_swap: return location::Stack::kSwap;
    case DW_OP_rot: return location::Stack::kRot;
    case DW_OP_abs: return location::Unary::kAbs;
    case DW_OP_and: return location::Binary::kAnd;
    case DW_OP_div: return location::Binary::kDiv;
    case DW_OP_minus: return location::Binary::kMinus;
    case DW_OP_mod: return location::Binary::kMod;
    case DW_OP_mul: return location::Binary::kMul;
    case DW_OP_neg: return location::Unary::kNeg;
    case DW_OP_not: return location::Unary::kNot;
    case DW_OP_or: return location::Binary::kOr;
    case DW_OP_plus: return location::Binary::kPlus;
    case DW_OP_shl: return location::Binary::kShl;
    case DW_OP_shr: return location::Binary::kShr;
    case DW_OP_shra: return location::Binary::kShra;
    case DW_OP_xor: return location::Binary::kXor;
    case DW_OP_eq: return location::Binary::kEq;
    case DW_OP_ge: return location::Binary::kGe;
    case DW_OP_gt: return location::Binary::kGt;
    case DW_OP_le: return location::Binary::kLe;
    case DW_OP_lt: return location::Binary::kLt;
    case DW_OP_ne: return location::Binary::kNe;
    default: return std::nullopt;
  }
}
// clang-format on

// Go's linker writes expressions of DWARF 4 as blocks, where libdw accepts DW_FORM_exprloc alone. Below a length of 128, both
// have the same bytes (DWARF 5, 7.5.5).
void accept_block(Dwarf_Attribute& attribute) {
  if (attribute.form == DW_FORM_block1 && attribute.valp && *attribute.valp < 0x80) attribute.form = DW_FORM_exprloc;
}

bool Compiler::push_cfa() {
  if (context_.at_entry) {
    push(location::Register{kConvention.stack_pointer});
    return offset(kConvention.entry_cfa);
  }
  Dwarf_Op* operations;
  size_t count;
  if (depth_ >= kDeepest || !context_.file.frame_address(context_.pc, &operations, &count))
    return fail("is in the stack frame, but the file lacks the unwind information that locates the frame");
  Place cfa = Compiler(nullptr, context_, depth_ + 1).compile(operations, count);
  if (cfa.kind != Place::Kind::kMemory && cfa.kind != Place::Kind::kValue) return fail(cfa.reason);
  code_.insert(code_.end(), cfa.operations.begin(), cfa.operations.end());
  return true;
}

bool Compiler::push_frame_base(int64_t by) {
  Dwarf_Attribute base;
  Dwarf_Op* operations;
  size_t count;
  const bool has_base =
      context_.function && depth_ < kDeepest && dwarf_attr_integrate(context_.function, DW_AT_frame_base, &base);
  if (has_base) accept_block(base);
  if (!has_base || dwarf_getlocation_addr(&base, context_.pc.value, &operations, &count, 1) != 1 || count == 0)
    return fail("is in the stack frame, whose location is not described here");
  // Clang's frame base is the frame pointer that the prologue makes; before that, it is where that will be.
  if (context_.at_entry && count == 1 && operations[0].atom == DW_OP_reg0 + kConvention.frame_pointer) {
    push(location::Register{kConvention.stack_pointer});
    return offset(kFutureFrame) && offset(by);
  }
  if (context_.at_entry && count == 1 && operations[0].atom == DW_OP_reg0 + kConvention.stack_pointer) return fail(kNoFrameYet);
  Compiler compiler(&base, context_, depth_ + 1);
  Place frame = compiler.compile(operations, count);
  reads_frame_register_ |= compiler.reads_frame_register() && is_for_whole_function(base);
  if (frame.kind != Place::Kind::kMemory && frame.kind != Place::Kind::kValue) return fail(frame.reason);
  code_.insert(code_.end(), frame.operations.begin(), frame.operations.end());
  return offset(by);
}

bool Compiler::push_attribute_of(const Dwarf_Op& op, bool is_address) {
  Dwarf_Attribute indirect;
  Dwarf_Addr address;
  if (!attribute_ || dwarf_getlocation_attr(attribute_, &op, &indirect) != 0) return fail("has a damaged description");
  if (is_address)
    return dwarf_formaddr(&indirect, &address) == 0 ? push(location::Address{FileAddress(address)})
                                                    : fail("is at an address that can't be read");
  Dwarf_Word constant;
  // .debug_addr entries for DW_OP_constx are addresses by form.
  if (dwarf_formaddr(&indirect, &address) == 0) return push(location::Constant{static_cast<int64_t>(address)});
  if (dwarf_formudata(&indirect, &constant) == 0) return push(location::Constant{static_cast<int64_t>(constant)});
  return fail("is a constant that can't be read");
}

// A frame is known by its CFA. The stack pointer at the entry would follow from that; no compiler asks for it so.
bool Compiler::push_register_at_entry(const Dwarf_Op* operations, size_t count) {
  const bool is_register =
      count == 1 && ((operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31) || operations[0].atom == DW_OP_regx);
  if (!is_register) return fail("is optimized out here (it is only known from an expression at the function's entry)");
  const int64_t number =
      operations[0].atom == DW_OP_regx ? static_cast<int64_t>(operations[0].number) : operations[0].atom - DW_OP_reg0;
  if (!is_kept_register(number))
    return fail(fmt::format("was in a register at the function's entry that is not saved (DWARF number {})", number));
  return push_cfa() && push(location::EntryValue{number, context_.function_entry});
}

bool Compiler::compile_entry_value(const Dwarf_Op& op) {
  Dwarf_Attribute inner;
  Dwarf_Op* operations;
  size_t count;
  if (!attribute_ || depth_ >= kDeepest || dwarf_getlocation_attr(attribute_, &op, &inner) != 0 ||
      dwarf_getlocation(&inner, &operations, &count) != 0)
    return fail("has a damaged description");
  if (!context_.at_entry) return push_register_at_entry(operations, count);
  Place value = Compiler(&inner, context_, depth_ + 1).compile(operations, count);
  if (value.kind != Place::Kind::kMemory && value.kind != Place::Kind::kValue) return fail(value.reason);
  code_.insert(code_.end(), value.operations.begin(), value.operations.end());
  return true;
}

// Operations that take data out of the DWARF file or the target's memory.
bool Compiler::compile_variable_data(const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index: return push_attribute_of(op, true);
    case DW_OP_constx:
    case DW_OP_GNU_const_index: return push_attribute_of(op, false);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value: return compile_entry_value(op);
    case DW_OP_implicit_value: {
      Dwarf_Block block;
      uint64_t value = 0;
      if (!attribute_ || dwarf_getlocation_implicit_value(attribute_, &op, &block) != 0) return fail("has a damaged description");
      if (block.length > sizeof value) return fail("is a constant longer than 8 bytes");
      memcpy(&value, block.data, block.length);
      is_value_ = true;
      return push(location::Constant{static_cast<int64_t>(value)});
    }
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer: return fail("is optimized out (it points to something that has no address)");
    case DW_OP_GNU_parameter_ref: return fail("is optimized out here (only the caller knows its value)");
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
      // Old compilers wrote the offset as an address.
      if (code_.empty()) return fail("has a damaged description");
      if (const auto* address = std::get_if<location::Address>(&code_.back()))
        code_.back() = location::Constant{static_cast<int64_t>(address->address.value)};
      return push(location::FormTlsAddress{});
    case DW_OP_deref:
    case DW_OP_deref_size: {
      const auto size = static_cast<uint8_t>(op.atom == DW_OP_deref ? 8 : op.number);
      if (size != 1 && size != 2 && size != 4 && size != 8) return fail("has a damaged description");
      code_.emplace_back(location::Deref{size});
      return true;
    }
    default: return compile_typed(op);
  }
}

// DWARF 5's typed values, where the type is an integer: GCC writes them for narrowing conversions.
bool Compiler::compile_typed(const Dwarf_Op& op) {
  Dwarf_Die type;
  uint8_t size = 8;
  bool is_signed = false;
  switch (op.atom) {
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
      if (op.number == 0) return true;  // to the generic type
      [[fallthrough]];
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type: {
      if (!attribute_ || dwarf_getlocation_die(attribute_, &op, &type) != 0) return fail("has a damaged description");
      const auto bytes = die_number(type, DW_AT_byte_size).value_or(0);
      const auto encoding = die_number(type, DW_AT_encoding).value_or(0);
      if (encoding == DW_ATE_float || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
        return fail("is computed with a type that is not an integer");
      size = static_cast<uint8_t>(bytes);
      is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
      break;
    }
    default: return fail(fmt::format("is described by an unsupported DWARF operation (0x{:x})", op.atom));
  }
  if (op.atom == DW_OP_deref_type || op.atom == DW_OP_GNU_deref_type) {
    code_.emplace_back(location::Deref{size, is_signed});
    return true;
  }
  if ((op.atom == DW_OP_regval_type || op.atom == DW_OP_GNU_regval_type) && !push_register(static_cast<int64_t>(op.number), 0))
    return false;
  code_.emplace_back(location::Convert{size, is_signed});
  return true;
}

bool Compiler::finish_piece(uint64_t size) {
  if (size > 1 << 20) return fail("has a damaged description");
  if (!code_.empty() && !location::is_well_formed(code_)) return fail("has a damaged description");
  Piece piece;
  piece.size = static_cast<uint32_t>(size);
  if (!code_.empty()) piece.kind = kind();
  piece.operations = std::move(code_);
  code_.clear();
  is_value_ = false;
  pieces_.push_back(std::move(piece));
  return true;
}

bool Compiler::compile_one(const Dwarf_Op& op) {
  const auto number = static_cast<int64_t>(op.number);
  const int atom = op.atom;
  if (is_value_ && atom != DW_OP_piece && atom != DW_OP_bit_piece && atom != DW_OP_nop) return fail("has a damaged description");
  if (auto plain = plain_operation(atom)) return push(*plain);
  if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return push(location::Constant{atom - DW_OP_lit0});
  if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
    is_value_ = true;
    return push_register(atom - DW_OP_reg0, 0);
  }
  if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) return push_register(atom - DW_OP_breg0, number);
  switch (atom) {
    case DW_OP_nop: return true;
    case DW_OP_push_object_address:
      return takes_object_ ? push(location::ScriptPointer{}) : fail("is described by an object that is not known");
    case DW_OP_regx: is_value_ = true; return push_register(number, 0);
    case DW_OP_bregx: return push_register(number, static_cast<int64_t>(op.number2));
    case DW_OP_addr: return push(location::Address{FileAddress(op.number)});
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts: return push(location::Constant{number});
    case DW_OP_fbreg: return push_frame_base(number);
    case DW_OP_call_frame_cfa: return push_cfa();
    case DW_OP_plus_uconst: return offset(number);
    case DW_OP_over: return push(location::Pick{1});
    case DW_OP_pick: return push(location::Pick{static_cast<uint8_t>(op.number)});
    case DW_OP_stack_value: is_value_ = true; return true;
    case DW_OP_piece: return finish_piece(op.number);
    case DW_OP_bit_piece:
      if (op.number % 8 != 0 || op.number2 != 0) return fail("is scattered over single bits");
      return finish_piece(op.number / 8);
    case DW_OP_skip:
    case DW_OP_bra: return fail("is described by a DWARF expression with branches");
    default: return compile_variable_data(op);
  }
}

Place Compiler::compile(Dwarf_Op* operations, size_t count) {
  Place place;
  place.reason = "is optimized out";
  if (count == 0) return place;
  if (count > kMostOperations) return unavailable("is described by too long a DWARF expression");
  for (size_t i = 0; i < count; ++i) {
    if (compile_one(operations[i])) continue;
    // A part in a register that we can't read (xmm0) leaves the other parts readable.
    if (i + 1 == count || operations[i + 1].atom != DW_OP_piece) return unavailable(reason_);
    code_.clear();
  }
  place.reason.clear();
  if (!pieces_.empty()) {
    if (!code_.empty()) return unavailable("has a damaged description");
    place.kind = Place::Kind::kPieces;
    place.pieces = std::move(pieces_);
    return place;
  }
  if (!location::is_well_formed(code_)) return unavailable("has a damaged description");
  place.kind = is_value_ ? Place::Kind::kValue : Place::Kind::kMemory;
  place.operations = std::move(code_);
  return place;
}

// count: of the operations to look at.
bool is_below_cfa_at_entry(const location::Operations& operations, size_t count) {
  if (count == 0 || count > 2 || operations[0] != location::Operation(location::Register{kConvention.stack_pointer}))
    return false;
  const auto* offset = count == 2 ? std::get_if<location::PlusConstant>(&operations[1]) : nullptr;
  if (count == 2 && !offset) return false;
  return (offset ? offset->value : 0) < kConvention.entry_cfa;
}

}  // namespace

Place unavailable(std::string reason) {
  Place place;
  place.reason = std::move(reason);
  return place;
}

LocatedValue compile_location(Dwarf_Attribute& attribute, const FrameContext& context) {
  accept_block(attribute);
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  int found = 0;
  // Outside functions there is one location for every pc.
  if (context.function) found = dwarf_getlocation_addr(&attribute, context.pc.value, &operations, &count, 1);
  else found = dwarf_getlocation(&attribute, &operations, &count) == 0 ? 1 : -1;
  LocatedValue value;
  if (found <= 0) {
    value.place = unavailable(found < 0 ? "has a damaged description" : "is optimized out here");
    return value;
  }
  Compiler compiler(&attribute, context, 0);
  value.place = compiler.compile(operations, count);
  if (!context.at_entry) return value;

  const location::Operations& code = value.place.operations;
  if (value.place.kind == Place::Kind::kUnavailable) {
    value.in_future_frame = value.place.reason == kNoFrameYet;
  } else if (value.place.kind == Place::Kind::kMemory) {
    const bool ends_in_load = !code.empty() && code.back() == location::Operation(location::Deref{8});
    value.in_future_frame = (compiler.reads_frame_register() && is_for_whole_function(attribute)) ||
                            is_below_cfa_at_entry(code, code.size() - (ends_in_load ? 1 : 0));
    value.by_reference = value.in_future_frame && ends_in_load;
  } else if (value.place.kind == Place::Kind::kValue) {  // "register int x", unoptimized
    value.in_future_frame = compiler.reads_frame_register() && is_for_whole_function(attribute);
  }
  return value;
}

std::optional<location::Operations> compile_for_object(Dwarf_Attribute& attribute, DwarfFile& file) {
  accept_block(attribute);
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_getlocation(&attribute, &operations, &count) != 0) return std::nullopt;
  const FrameContext nowhere{file, nullptr, FileAddress(), FileAddress(), false};
  Compiler compiler(&attribute, nowhere, 0);
  compiler.take_object();
  Place made = compiler.compile(operations, count);
  if (made.kind != Place::Kind::kMemory && made.kind != Place::Kind::kValue) return std::nullopt;
  for (const location::Operation& operation : made.operations) {
    if (location::is<location::Register>(operation) || location::is<location::EntryValue>(operation) ||
        location::is<location::FormTlsAddress>(operation))
      return std::nullopt;
  }
  return std::move(made.operations);
}

bool is_passed_by_address(Dwarf_Attribute& attribute, const FrameContext& context) {
  if (!context.at_entry) return false;
  constexpr Dwarf_Addr kLongestPrologue = 64;  // bytes
  Dwarf_Addr base = 0, begin = 0, end = 0;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  const ptrdiff_t next = dwarf_getlocations(&attribute, 0, &base, &begin, &end, &operations, &count);
  if (next <= 0 || begin <= context.pc.value || begin - context.pc.value > kLongestPrologue || count == 0) return false;
  const bool is_based = operations[0].atom >= DW_OP_breg0 && operations[0].atom <= DW_OP_breg31;
  const bool is_in_register = count == 1 && is_based && operations[0].number == 0;
  const bool is_in_frame = count == 2 && is_based && operations[0].atom == DW_OP_breg0 + abi::kConvention.stack_pointer &&
                           operations[1].atom == DW_OP_deref;
  return is_in_register || is_in_frame;
}

}  // namespace spile::debuginfo
