#include "debuginfo/answers/records.h"

#include <unordered_map>

#include "base/check.h"
#include "base/files/bytes.h"
#include "debuginfo/terms/register_numbers.h"

namespace spile::debuginfo {
namespace {

// The operations that DWARF's expressions are compiled to, by the numbers that stand for them. ORDER RECORDS.
enum class Code : uint8_t {
  kRegister,
  kConstant,
  kAddress,
  kPlusConstant,
  kDeref,
  kConvert,
  kEntryValue,
  kFormTlsAddress,
  kUnary,
  kBinary,
  kStack,
  kPick,
};

void write(ByteWriter& out, const location::Operation& operation) {
  auto code = [&](Code number) { out.number(static_cast<uint64_t>(number)); };
  auto number = [&](Code kind, auto value) {
    code(kind);
    out.number(static_cast<uint64_t>(value));
  };
  auto bytes = [&](Code kind, const auto& o) { number(kind, uint64_t{o.bytes} << 1 | (o.is_signed ? 1 : 0)); };
  location::visit(
      operation, [&](location::Register o) { number(Code::kRegister, o.number); },
      [&](location::Constant o) { code(Code::kConstant), out.signed_number(o.value); },
      [&](const location::Address& o) { number(Code::kAddress, o.address.value); },
      [&](location::PlusConstant o) { code(Code::kPlusConstant), out.signed_number(o.value); },
      [&](location::Deref o) { bytes(Code::kDeref, o); }, [&](location::Convert o) { bytes(Code::kConvert, o); },
      [&](const location::EntryValue& o) { number(Code::kEntryValue, o.number); },
      [&](location::FormTlsAddress) { code(Code::kFormTlsAddress); }, [&](location::Unary o) { number(Code::kUnary, o); },
      [&](location::Binary o) { number(Code::kBinary, o); }, [&](location::Stack o) { number(Code::kStack, o); },
      [&](location::Pick o) { number(Code::kPick, o.depth); }, [](const auto&) { CHECK(false); });
}

void write(ByteWriter& out, const location::Operations& operations) {
  out.number(operations.size());
  for (const location::Operation& operation : operations) write(out, operation);
}

template <typename Sized>
Sized read_sized(ByteReader& in) {
  const uint64_t number = in.number_up_to(8 << 1 | 1);
  return {static_cast<uint8_t>(number >> 1), (number & 1) != 0};
}

// function: of an EntryValue, which bytes must not choose, since engine writes to functions whose entry values are wanted; 0:
// there is none.
location::Operation read_operation(ByteReader& in, FileAddress function) {
  switch (in.enumerator(Code::kPick)) {
    case Code::kRegister: {
      const auto number = static_cast<int64_t>(in.number_up_to(UINT8_MAX));
      if (!is_general_register(number) && !abi::is_vector_register(number)) in.refuse();
      return location::Register{number};
    }
    case Code::kConstant: return location::Constant{in.signed_number()};
    case Code::kAddress: return location::Address{FileAddress(in.number())};
    case Code::kPlusConstant: return location::PlusConstant{in.signed_number()};
    case Code::kDeref: return read_sized<location::Deref>(in);
    case Code::kConvert: return read_sized<location::Convert>(in);
    case Code::kEntryValue: {
      const auto number = static_cast<int64_t>(in.number_up_to(UINT8_MAX));
      if (!is_kept_register(number) || function == FileAddress()) in.refuse();
      return location::EntryValue{number, function};
    }
    case Code::kFormTlsAddress: return location::FormTlsAddress{};
    case Code::kUnary: return in.enumerator(location::Unary::kFloatToDouble);
    case Code::kBinary: return in.enumerator(location::Binary::kGe);
    case Code::kStack: return in.enumerator(location::Stack::kRot);
    case Code::kPick: return location::Pick{static_cast<uint8_t>(in.number_up_to(UINT8_MAX))};
  }
  in.refuse();
  return {};
}

// Empty only for a place that has no value.
location::Operations read_operations(ByteReader& in, FileAddress function, bool has_value) {
  location::Operations operations;
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) operations.push_back(read_operation(in, function));
  if (has_value ? !location::is_well_formed(operations) : !operations.empty()) in.refuse();
  return operations;
}

void write(ByteWriter& out, const VariableRecord& record) {
  out.text(record.name);
  out.number(static_cast<uint64_t>(record.kind));
  out.number(record.type);
  out.number(static_cast<uint64_t>(record.slot));
  out.number(record.is_declaration);
  out.number(record.is_result);
  const Place& place = record.place;
  out.number(static_cast<uint64_t>(place.kind));
  out.text(place.reason);
  write(out, place.operations);
  out.number(place.pieces.size());
  for (const Piece& piece : place.pieces) {
    out.number(static_cast<uint64_t>(piece.kind));
    out.number(piece.size);
    write(out, piece.operations);
  }
}

VariableRecord read_variable(ByteReader& in, FileAddress function) {
  VariableRecord record;
  record.name = in.text();
  record.kind = in.enumerator(Variable::Kind::kGlobal);
  record.type = in.number();
  record.slot = in.enumerator(VariableRecord::Slot::kNotThereYetByReference);
  record.is_declaration = in.number();
  record.is_result = in.number();
  Place& place = record.place;
  place.kind = in.enumerator(Place::Kind::kPieces);
  place.reason = in.text();
  place.operations = read_operations(in, function, place.kind == Place::Kind::kMemory || place.kind == Place::Kind::kValue);
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    Piece piece;
    piece.kind = in.enumerator(Piece::Kind::kValue);
    piece.size = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
    piece.operations = read_operations(in, function, piece.kind != Piece::Kind::kMissing);
    place.pieces.push_back(std::move(piece));
  }
  return record;
}

template <typename T>
std::optional<T> if_ok(const ByteReader& in, T value) {
  return in.ok() ? std::optional<T>(std::move(value)) : std::nullopt;
}

}  // namespace

std::string to_bytes(const FunctionRecord& record) {
  ByteWriter out;
  out.number(record.return_type);
  out.number(record.standard_convention);
  out.number(static_cast<uint64_t>(record.flexible_arrays));
  out.number(record.go);
  out.number(record.go_registers);
  out.number(record.rust_version);
  out.number(record.rust_closure);
  out.number(record.variables.size());
  for (const VariableRecord& variable : record.variables) write(out, variable);
  return out.take();
}

std::optional<FunctionRecord> function_from_bytes(std::string_view bytes, FileAddress function) {
  ByteReader in(bytes);
  FunctionRecord record;
  record.return_type = in.number();
  record.standard_convention = in.number();
  record.flexible_arrays = in.enumerator(FlexibleArrays::kIgnored);
  record.go = in.number();
  record.go_registers = in.number();
  record.rust_version = static_cast<uint32_t>(in.number());
  record.rust_closure = in.number();
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) record.variables.push_back(read_variable(in, function));
  return if_ok(in, std::move(record));
}

std::string to_bytes(const VariableRecord& record) {
  ByteWriter out;
  write(out, record);
  return out.take();
}

std::optional<VariableRecord> variable_from_bytes(std::string_view bytes) {
  ByteReader in(bytes);
  VariableRecord record = read_variable(in, FileAddress());
  return if_ok(in, std::move(record));
}

static void write(ByteWriter& out, const MemberNode& member) {
  out.text(member.name);
  for (uint64_t n :
       {member.type, member.offset, uint64_t{member.bit_offset}, uint64_t{member.bit_size}, uint64_t{member.is_base}})
    out.number(n);
}

static MemberNode read_member(ByteReader& in) {
  MemberNode member;
  member.name = in.text();
  member.type = in.number();
  member.offset = in.number();
  member.bit_offset = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
  member.bit_size = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
  member.is_base = in.number();
  return member;
}

std::string to_bytes(const TypeNode& node) {
  ByteWriter out;
  out.number(static_cast<uint64_t>(node.kind));
  out.number(static_cast<uint64_t>(node.alias));
  out.text(node.name);
  out.number(node.size);
  out.number(node.target);
  for (bool flag : {node.is_signed, node.is_boolean, node.is_character, node.is_reference, node.is_declaration,
                    node.passed_by_reference, node.has_count, node.is_complex, node.is_extended})
    out.number(flag);
  out.number(node.count);
  out.number(node.alignment);
  out.number(node.members.size());
  for (const MemberNode& member : node.members) write(out, member);
  out.number(node.arguments.size());
  for (uint64_t argument : node.arguments) out.number(argument);
  out.number(node.variants.size());
  for (const VariantNode& variant : node.variants) {
    write(out, variant.data);
    out.number(variant.is_default);
    out.signed_number(variant.value);
  }
  if (!node.variants.empty()) write(out, node.discriminant);
  out.number(node.enumerators.size());
  for (const Enumerator& enumerator : node.enumerators) {
    out.text(enumerator.name);
    out.signed_number(enumerator.value);
  }
  out.number(node.virtual_bases.size());
  for (const VirtualBaseNode& base : node.virtual_bases) {
    out.number(base.type);
    out.signed_number(base.slot);
  }
  return out.take();
}

std::optional<TypeNode> type_from_bytes(std::string_view bytes) {
  ByteReader in(bytes);
  TypeNode node;
  node.kind = in.enumerator(TypeKind::kFunction);
  node.alias = in.enumerator(TypeNode::Alias::kOther);
  node.name = in.text();
  node.size = in.number();
  node.target = in.number();
  for (bool* flag : {&node.is_signed, &node.is_boolean, &node.is_character, &node.is_reference, &node.is_declaration,
                     &node.passed_by_reference, &node.has_count, &node.is_complex, &node.is_extended})
    *flag = in.number();
  node.count = in.number();
  node.alignment = in.number();
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) node.members.push_back(read_member(in));
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) node.arguments.push_back(in.number());
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    VariantNode variant;
    variant.data = read_member(in);
    variant.is_default = in.number();
    variant.value = in.signed_number();
    node.variants.push_back(std::move(variant));
  }
  if (!node.variants.empty()) node.discriminant = read_member(in);
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    Enumerator enumerator;
    enumerator.name = in.text();
    enumerator.value = in.signed_number();
    node.enumerators.push_back(std::move(enumerator));
  }
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    VirtualBaseNode base;
    base.type = in.number();
    base.slot = in.signed_number();
    node.virtual_bases.push_back(base);
  }
  return if_ok(in, std::move(node));
}

std::string to_bytes(const SourcePlace& place) {
  ByteWriter out;
  out.text(place.file);
  out.signed_number(place.line);
  return out.take();
}

std::optional<SourcePlace> place_from_bytes(std::string_view bytes) {
  ByteReader in(bytes);
  SourcePlace place;
  place.file = in.text();
  place.line = static_cast<int>(in.signed_number());
  return if_ok(in, std::move(place));
}

// Names repeat: each is written once, where it first occurs, as the number after the last one known.
std::string to_bytes(const CodePlaces& places) {
  ByteWriter out;
  std::unordered_map<std::string_view, uint64_t> numbers;
  auto put = [&](const std::string& text) {
    auto [entry, is_new] = numbers.try_emplace(text, numbers.size());
    out.number(entry->second);
    if (is_new) out.text(text);
  };
  out.number(places.size());
  for (const CodePlace& place : places) {
    out.number(place.address.value);
    out.number(place.function.value);
    out.number(place.scope);
    out.number(uint64_t{place.length} << 1 | (place.tail ? 1 : 0));
    out.signed_number(place.source.line);
    put(place.linkage_name);
    put(place.name);
    put(place.source.file);
  }
  return out.take();
}

std::optional<CodePlaces> places_from_bytes(std::string_view bytes) {
  ByteReader in(bytes);
  CodePlaces places;
  std::vector<std::string> texts;
  auto get = [&]() -> const std::string& {
    static const std::string kNone;
    const uint64_t number = in.number();
    if (number == texts.size()) texts.push_back(in.text());
    return number < texts.size() ? texts[number] : kNone;
  };
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    CodePlace& place = places.emplace_back();
    place.address = FileAddress(in.number());
    place.function = FileAddress(in.number());
    place.scope = in.number();
    const uint64_t call = in.number();
    place.tail = call & 1;
    place.length = static_cast<uint8_t>(call >> 1);
    place.source.line = static_cast<int>(in.signed_number());
    place.linkage_name = get();
    place.name = get();
    place.source.file = get();
  }
  return if_ok(in, std::move(places));
}

std::string to_bytes(const std::vector<DwarfFunction>& functions) {
  ByteWriter out;
  out.number(functions.size());
  for (const DwarfFunction& function : functions) {
    out.text(function.linkage_name);
    out.number(function.address.value);
    out.number(function.size);
  }
  return out.take();
}

std::optional<std::vector<DwarfFunction>> functions_from_bytes(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<DwarfFunction> functions;
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    DwarfFunction& function = functions.emplace_back();
    function.linkage_name = in.text();
    function.address = FileAddress(in.number());
    function.size = in.number();
  }
  return if_ok(in, std::move(functions));
}

}  // namespace spile::debuginfo
