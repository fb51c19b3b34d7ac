#include "debuginfo/answers/records.h"

#include <unordered_map>

#include "base/check.h"
#include "base/files/archive.h"
#include "debuginfo/terms/register_numbers.h"

namespace spile::debuginfo {
namespace {

struct RecordFormat {
  static constexpr Numbers kNumbers = Numbers::kShort;
  static constexpr auto last(location::Unary) { return location::Unary::kFloatToDouble; }
  static constexpr auto last(location::Binary) { return location::Binary::kGe; }
  static constexpr auto last(location::Stack) { return location::Stack::kRot; }
  static constexpr auto last(Variable::Kind) { return Variable::Kind::kGlobal; }
  static constexpr auto last(VariableRecord::Slot) { return VariableRecord::Slot::kNotThereYetByReference; }
  static constexpr auto last(Place::Kind) { return Place::Kind::kPieces; }
  static constexpr auto last(Piece::Kind) { return Piece::Kind::kValue; }
  static constexpr auto last(FlexibleArrays) { return FlexibleArrays::kIgnored; }
  static constexpr auto last(TypeKind) { return TypeKind::kFunction; }
  static constexpr auto last(ArrayNumber::Kind) { return ArrayNumber::Kind::kUnknown; }
  static constexpr auto last(TypeNode::Alias) { return TypeNode::Alias::kOther; }

  // When reading, that of an EntryValue, which bytes must not choose, since engine writes to functions whose entry values are
  // wanted; 0: there is none.
  FileAddress function;
};

// ---- operations

// The number of a register, for which `is_valid` holds.
template <class A>
void register_number(A& a, auto& number, auto is_valid) {
  auto written = static_cast<uint64_t>(number);
  a(written);
  if constexpr (A::kReads) {
    number = static_cast<int64_t>(written);
    if (written > UINT8_MAX || !is_valid(number)) a.fail();
  }
}

template <class A>
void bytes_and_sign(A& a, auto& operation) {
  auto both = static_cast<uint8_t>(operation.bytes << 1 | (operation.is_signed ? 1 : 0));
  a(both);
  if constexpr (A::kReads) {
    operation.bytes = static_cast<uint8_t>(both >> 1);
    operation.is_signed = (both & 1) != 0;
    if (operation.bytes > 8) a.fail();
  }
}

template <class A>
void fields(A& a, Like<location::Register> auto& o) {
  register_number(a, o.number, [](int64_t number) { return is_general_register(number) || abi::is_vector_register(number); });
}
template <class A>
void fields(A& a, Like<location::Constant> auto& o) {
  a(o.value);
}
template <class A>
void fields(A& a, Like<location::Address> auto& o) {
  a(o.address);
}
template <class A>
void fields(A& a, Like<location::PlusConstant> auto& o) {
  a(o.value);
}
template <class A>
void fields(A& a, Like<location::Deref> auto& o) {
  bytes_and_sign(a, o);
}
template <class A>
void fields(A& a, Like<location::Convert> auto& o) {
  bytes_and_sign(a, o);
}
template <class A>
void fields(A& a, Like<location::EntryValue> auto& o) {
  register_number(a, o.number, [](int64_t number) { return is_kept_register(number); });
  if constexpr (A::kReads) {
    o.function = a.format().function;
    if (o.function == FileAddress()) a.fail();
  }
}
template <class A>
void fields(A&, Like<location::FormTlsAddress> auto&) {}
template <class A>
void fields(A& a, Like<location::Pick> auto& o) {
  a(o.depth);
}

// One of the kinds of operations, behind its number in the list.
template <class... Kinds>
struct OneOf {
  template <class A>
  static void fields(A& a, auto& operation) {
    uint64_t kind = sizeof...(Kinds), i = 0;
    if constexpr (!A::kReads) {
      ((std::holds_alternative<Kinds>(operation) ? void(kind = i) : void(), ++i), ...);
      CHECK(kind < sizeof...(Kinds));
      i = 0;
    }
    a(kind);
    if constexpr (A::kReads) {
      if (kind >= sizeof...(Kinds)) return a.fail();
    }
    ((i++ == kind ? fields_of<Kinds>(a, operation) : void()), ...);
  }

 private:
  template <class Kind, class A>
  static void fields_of(A& a, auto& operation) {
    if constexpr (A::kReads) operation = Kind{};
    a(std::get<Kind>(operation));
  }
};

// Those that DWARF's expressions are compiled to. ORDER RECORDS.
template <class A>
void fields(A& a, Like<location::Operation> auto& operation) {
  OneOf<location::Register, location::Constant, location::Address, location::PlusConstant, location::Deref, location::Convert,
        location::EntryValue, location::FormTlsAddress, location::Unary, location::Binary, location::Stack,
        location::Pick>::fields(a, operation);
}

// Those of a type over the address of its object, which codegen gets with that in the ScriptPointers' place.
struct ObjectOperation {
  location::Operation operation;
};
template <class A>
void fields(A&, Like<location::ScriptPointer> auto&) {}
template <class A>
void fields(A& a, Like<ObjectOperation> auto& o) {
  OneOf<location::ScriptPointer, location::Constant, location::Address, location::PlusConstant, location::Deref,
        location::Convert, location::Unary, location::Binary, location::Stack, location::Pick>::fields(a, o.operation);
}

// Empty only for a place that has no value.
template <class A>
void operations_of(A& a, auto& operations, bool has_value) {
  a(operations);
  if constexpr (A::kReads)
    if (has_value ? !location::is_well_formed(operations) : !operations.empty()) a.fail();
}

// ---- variables and functions. ORDER RECORDS, here and below.

template <class A>
void fields(A& a, Like<FrameNumber> auto& n) {
  a(n.array, n.dimension, n.is_end, n.variable);
  operations_of(a, n.operations, n.variable == 0);
}
template <class A>
void fields(A& a, Like<Piece> auto& p) {
  a(p.kind, p.size);
  operations_of(a, p.operations, p.kind != Piece::Kind::kMissing);
}
template <class A>
void fields(A& a, Like<Place> auto& p) {
  a(p.kind, p.reason);
  operations_of(a, p.operations, p.kind == Place::Kind::kMemory || p.kind == Place::Kind::kValue);
  a(p.pieces, p.array_numbers);
}
template <class A>
void fields(A& a, Like<VariableRecord> auto& v) {
  a(v.name, v.kind, v.type, v.slot, v.is_declaration, v.symbol, v.is_result, v.place);
}
template <class A>
void fields(A& a, Like<FunctionRecord> auto& f) {
  a(f.return_type, f.standard_convention, f.flexible_arrays, f.go, f.go_registers, f.rust_version, f.rust_closure, f.variables);
}
template <class A>
void fields(A& a, Like<DwarfFunction> auto& f) {
  a(f.linkage_name, f.address, f.size);
}
template <class A>
void fields(A& a, Like<CodeRange> auto& r) {
  a(r.begin, r.end);
}

// ---- types

template <class A>
void fields(A& a, Like<MemberNode> auto& m) {
  a(m.name, m.type, m.offset, m.bit_offset, m.bit_size, m.is_base);
}
template <class A>
void fields(A& a, Like<VariantNode> auto& v) {
  a(v.data, v.is_default, v.value);
}
template <class A>
void fields(A& a, Like<Enumerator> auto& e) {
  a(e.name, e.value);
}
template <class A>
void fields(A& a, Like<VirtualBaseNode> auto& b) {
  a(b.type, b.slot);
}
template <class A>
void fields(A& a, Like<ArrayNumber> auto& n) {
  a(n.kind, n.value);
  std::vector<ObjectOperation> operations;
  if constexpr (!A::kReads)
    for (const location::Operation& operation : n.operations) operations.push_back({operation});
  a(operations);
  if constexpr (A::kReads) {
    for (ObjectOperation& each : operations) n.operations.push_back(std::move(each.operation));
    if (n.kind == ArrayNumber::Kind::kComputed ? !location::is_well_formed(n.operations) : !n.operations.empty()) a.fail();
  }
}
template <class A>
void fields(A& a, Like<ArrayDimension> auto& d) {
  a(d.first, d.end, d.end_is_count, d.stride);
}
template <class A>
void fields(A& a, Like<TypeNode> auto& t) {
  a(t.kind, t.alias, t.name, t.size, t.target, t.is_signed, t.is_boolean, t.is_character, t.is_reference, t.is_declaration,
    t.passed_by_reference, t.has_count, t.is_complex, t.is_extended, t.count, t.alignment, t.members, t.arguments, t.variants);
  if (!t.variants.empty()) a(t.discriminant);
  a(t.enumerators, t.virtual_bases, t.shape.dimensions);
  if (!t.shape.dimensions.empty()) a(t.shape.first_varies_fastest, t.shape.data, t.shape.is_there, t.shape.element);
}

// ---- places in code

template <class A>
void fields(A& a, Like<SourcePlace> auto& p) {
  a(p.file, p.line);
}

// Names repeat: each is written once, where it first occurs, as the number after the last one known.
class KnownTexts {
 public:
  template <class A>
  void fields(A& a, auto& text) {
    if constexpr (A::kReads) {
      uint64_t number = 0;
      a(number);
      if (number == texts_.size()) a(texts_.emplace_back());
      text = number < texts_.size() ? texts_[number] : "";
    } else {
      auto [entry, is_new] = numbers_.try_emplace(text, numbers_.size());
      a(entry->second);
      if (is_new) a(text);
    }
  }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, uint64_t> numbers_;
};

template <class A>
void fields(A& a, Like<CodePlace> auto& p, KnownTexts& texts) {
  auto call = static_cast<uint16_t>(uint32_t{p.length} << 1 | (p.tail ? 1 : 0));
  a(p.address, p.function, p.scope, call, p.source.line);
  if constexpr (A::kReads) {
    p.tail = (call & 1) != 0;
    p.length = static_cast<uint8_t>(call >> 1);
  }
  texts.fields(a, p.linkage_name);
  texts.fields(a, p.name);
  texts.fields(a, p.source.file);
}
template <class A>
void fields_of_places(A& a, auto& places) {
  KnownTexts texts;
  uint64_t count = places.size();
  a(count);
  if constexpr (A::kReads) {
    for (; count > 0 && !a.failed(); --count) fields(a, places.emplace_back(), texts);
  } else {
    for (const CodePlace& place : places) fields(a, place, texts);
  }
}

// ---- both directions

template <class T>
std::string written(const T& record) {
  ArchiveWriter<RecordFormat> out;
  out(record);
  return out.take();
}

template <class T>
std::optional<T> read(std::string_view bytes, FileAddress function = {}) {
  T record;
  return ArchiveReader(bytes, RecordFormat{function})(record) ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace

std::string to_bytes(const FunctionRecord& record) { return written(record); }
std::string to_bytes(const VariableRecord& record) { return written(record); }
std::string to_bytes(const TypeNode& node) { return written(node); }
std::string to_bytes(const SourcePlace& place) { return written(place); }
std::string to_bytes(const std::vector<DwarfFunction>& functions) { return written(functions); }
std::string to_bytes(const std::vector<CodeRange>& ranges) { return written(ranges); }
std::string to_bytes(const CodePlaces& places) {
  ArchiveWriter<RecordFormat> out;
  fields_of_places(out, places);
  return out.take();
}

std::optional<FunctionRecord> function_from_bytes(std::string_view bytes, FileAddress function) {
  return read<FunctionRecord>(bytes, function);
}
std::optional<VariableRecord> variable_from_bytes(std::string_view bytes) { return read<VariableRecord>(bytes); }
std::optional<TypeNode> type_from_bytes(std::string_view bytes) { return read<TypeNode>(bytes); }
std::optional<SourcePlace> place_from_bytes(std::string_view bytes) { return read<SourcePlace>(bytes); }
std::optional<std::vector<DwarfFunction>> functions_from_bytes(std::string_view bytes) {
  return read<std::vector<DwarfFunction>>(bytes);
}
std::optional<std::vector<CodeRange>> ranges_from_bytes(std::string_view bytes) { return read<std::vector<CodeRange>>(bytes); }
std::optional<CodePlaces> places_from_bytes(std::string_view bytes) {
  ArchiveReader<RecordFormat> in(bytes);
  CodePlaces places;
  fields_of_places(in, places);
  return in.failed() ? std::nullopt : std::optional(std::move(places));
}

}  // namespace spile::debuginfo
