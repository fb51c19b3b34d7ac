#include "base/location.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "abi/machine.h"

namespace spile::location {
namespace {

// How many entries an operation pops and pushes.
struct Effect {
  size_t pops, pushes;
};

template <typename T>
constexpr bool kOnlyPushes =
    std::is_same_v<T, Register> || std::is_same_v<T, Constant> || std::is_same_v<T, Address> || std::is_same_v<T, CallFrameCfa> ||
    std::is_same_v<T, Index> || std::is_same_v<T, ScriptPointer> || std::is_same_v<T, ThreadPointer> ||
    std::is_same_v<T, CallNumber> || std::is_same_v<T, CalledFrom> || std::is_same_v<T, RecordField>;

Effect effect_of(const Operation& operation) {
  return visit(
      operation, [](Binary) { return Effect{2, 1}; },
      [](Stack stack) {
        switch (stack) {
          case Stack::kDup: return Effect{1, 2};
          case Stack::kDrop: return Effect{1, 0};
          case Stack::kSwap: return Effect{2, 2};
          case Stack::kRot: return Effect{3, 3};
        }
        return Effect{0, 0};
      },
      [](Pick pick) { return Effect{pick.depth + size_t{1}, pick.depth + size_t{2}}; },
      [](const auto& other) { return kOnlyPushes<std::decay_t<decltype(other)>> ? Effect{0, 1} : Effect{1, 1}; });
}

bool is_word_size(uint8_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

bool is_within_bounds(const Operation& operation) {
  return visit(
      operation, [](const RecordField& field) { return is_word_size(field.bytes); },
      [](Deref deref) { return is_word_size(deref.bytes); }, [](Convert convert) { return is_word_size(convert.bytes); },
      [](BitField field) { return field.bits > 0 && field.first_bit + field.bits <= 64; }, [](const auto&) { return true; });
}

// ORDER of the enumerations.
constexpr const char* kUnaryWords[] = {"abs", "neg", "not", "double"};
constexpr const char* kBinaryWords[] = {"plus", "minus", "mul", "div", "mod", "and", "or", "xor", "shl",
                                        "shr",  "shra",  "eq",  "ne",  "lt",  "le",  "gt", "ge"};
constexpr const char* kStackWords[] = {"dup", "drop", "swap", "rot"};
static_assert(std::size(kUnaryWords) == static_cast<size_t>(Unary::kFloatToDouble) + 1);
static_assert(std::size(kBinaryWords) == static_cast<size_t>(Binary::kGe) + 1);
static_assert(std::size(kStackWords) == static_cast<size_t>(Stack::kRot) + 1);

std::string name_of_register(int64_t number) {
  if (abi::is_vector_register(number))
    return fmt::format("{}{}", abi::machine::kVectorName, number - abi::kConvention.first_vector);
  const char* name = abi::register_name(number);
  return name ? name : fmt::format("r?{}", number);
}

const char* sign_of(bool is_signed) { return is_signed ? "s" : ""; }

std::string word_of(const Operation& operation) {
  using fmt::format;
  using std::string;
  return visit(
      operation, [](Register r) { return name_of_register(r.number); }, [](Constant c) { return format("{}", c.value); },
      [](const Address& a) { return format("{}{:#x}", a.in_other_module ? "&&" : "&", a.address.value); },
      [](CallFrameCfa) { return string("cfa"); }, [](Index i) { return format("#{}", i.step); },
      [](ScriptPointer) { return string("pointer"); }, [](ThreadPointer) { return string("fs"); },
      [](CallNumber) { return string("call"); }, [](CalledFrom) { return string("called"); },
      [](const RecordField& f) { return format("field{}@{}{}", f.bytes, f.offset, sign_of(f.is_signed)); },
      [](PlusConstant p) { return format("{:+}", p.value); },
      [](Deref d) { return format("deref{}{}", d.bytes, sign_of(d.is_signed)); },
      [](Convert c) { return format("convert{}{}", c.bytes, sign_of(c.is_signed)); },
      [](BitField f) { return format("bits{}@{}{}", f.bits, f.first_bit, sign_of(f.is_signed)); },
      [](const EntryValue& v) { return format("entry({}, {:#x})", name_of_register(v.number), v.function.value); },
      [](const EntryKnown& v) { return format("known({}, {:#x})", name_of_register(v.number), v.function.value); },
      [](FormTlsAddress) { return string("tls"); }, [](ThreadBlock) { return string("block"); },
      [](Unary u) { return string(kUnaryWords[static_cast<size_t>(u)]); },
      [](Binary b) { return string(kBinaryWords[static_cast<size_t>(b)]); },
      [](Stack s) { return string(kStackWords[static_cast<size_t>(s)]); }, [](Pick p) { return format("pick{}", p.depth); });
}

}  // namespace

void append_offset(Operations& operations, int64_t value) {
  auto sum = static_cast<uint64_t>(value);
  if (auto* last = operations.empty() ? nullptr : std::get_if<PlusConstant>(&operations.back())) {
    sum += static_cast<uint64_t>(last->value);
    operations.pop_back();
  }
  if (sum != 0) operations.emplace_back(PlusConstant{static_cast<int64_t>(sum)});
}

bool is_well_formed(const Operations& operations) {
  size_t depth = 0;
  for (const Operation& operation : operations) {
    const Effect effect = effect_of(operation);
    if (depth < effect.pops || !is_within_bounds(operation)) return false;
    depth += effect.pushes - effect.pops;
  }
  return depth >= 1;
}

bool can_fail(const Operation& operation) {
  return visit(
      operation, [](Deref) { return true; }, [](const EntryValue&) { return true; }, [](ThreadBlock) { return true; },
      [](const Address& address) { return address.in_other_module; },
      [](Binary binary) { return binary == Binary::kDiv || binary == Binary::kMod; }, [](const auto&) { return false; });
}

std::string to_string(const Operations& operations) {
  std::vector<std::string> words;
  for (const Operation& operation : operations) words.push_back(word_of(operation));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace spile::location
