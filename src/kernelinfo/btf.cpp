#include "kernelinfo/btf.h"

#include <fmt/format.h>

#include <cstring>

namespace spile::kernelinfo {

namespace {

using debuginfo::MemberNode;
using debuginfo::Type;
using debuginfo::TypeKind;
using debuginfo::TypeNode;

// linux/btf.h
enum Kind : uint32_t {
  kVoid,
  kInt,
  kPointer,
  kArray,
  kStruct,
  kUnion,
  kEnum,
  kForward,
  kTypedef,
  kVolatile,
  kConst,
  kRestrict,
  kFunction,
  kPrototype,
  kVariable,
  kSection,
  kFloat,
  kDeclarationTag,
  kTypeTag,
  kEnum64,
};
constexpr uint16_t kMagic = 0xeb9f;
constexpr size_t kHeaderSize = 24;
constexpr size_t kRecordSize = 12;  // name, info, size or type
constexpr int kScansBeforeIndex = 8;
constexpr size_t kMostBytes = 1u << 30;

// Bytes behind the 12 of a record of `count` members; nullopt: a kind that is not known.
std::optional<size_t> tail_size(uint32_t kind, size_t count) {
  switch (kind) {
    case kInt:
    case kVariable:
    case kDeclarationTag: return 4;
    case kArray: return 12;
    case kStruct:
    case kUnion:
    case kSection:
    case kEnum64: return 12 * count;
    case kEnum:
    case kPrototype: return 8 * count;
    case kPointer:
    case kForward:
    case kTypedef:
    case kVolatile:
    case kConst:
    case kRestrict:
    case kFunction:
    case kFloat:
    case kTypeTag: return 0;
    default: return std::nullopt;
  }
}

// debuginfo has 0 for a type that is not known and 1 for void, BTF has 0 for void.
uint64_t outer_id(uint32_t id) { return uint64_t{id} + debuginfo::kVoidType; }

bool is_character_name(std::string_view name) { return name == "char" || name == "signed char" || name == "unsigned char"; }

const char* tag_of(uint32_t kind) {
  switch (kind) {
    case kStruct: return "struct ";
    case kUnion: return "union ";
    case kEnum:
    case kEnum64: return "enum ";
    default: return "";
  }
}

}  // namespace

struct Btf::Record {
  uint32_t kind = kVoid;
  uint32_t name = 0;
  uint32_t count = 0;  // of members
  bool flag = false;
  uint32_t size_or_type = 0;
  size_t tail = 0;  // where the members begin in bytes_
};

Result<std::shared_ptr<Btf>> Btf::read(std::vector<uint8_t> bytes, const std::string& name, std::shared_ptr<Btf> base) {
  std::shared_ptr<Btf> btf(new Btf);
  btf->bytes_ = std::move(bytes);
  btf->base_ = std::move(base);
  TRY_DO(btf->index(name));
  return btf;
}

uint32_t Btf::word(size_t offset) const {
  uint32_t value = 0;
  if (offset + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

Result<void> Btf::index(const std::string& name) {
  auto damaged = [&](const std::string& what) {
    return Error{fmt::format("{}: damaged type information (BTF): {}", name, what), ""};
  };
  if (bytes_.size() < kHeaderSize) return damaged("shorter than its header");
  if (bytes_.size() > kMostBytes) return damaged("longer than any kernel's");
  uint16_t magic;
  std::memcpy(&magic, bytes_.data(), sizeof magic);
  if (magic != kMagic) return Error{fmt::format("{}: not type information (BTF) of this kind of machine", name), ""};
  const uint64_t header = word(4), types = header + word(8), types_end = types + word(12), strings = header + word(16),
                 strings_end = strings + word(20);
  if (header < kHeaderSize || types_end > bytes_.size() || strings_end > bytes_.size())
    return damaged("a section leaves the file");
  strings_ = strings;
  strings_size_ = strings_end - strings;
  if (strings_size_ > 0 && bytes_[strings_end - 1] != 0) return damaged("the strings don't end");
  if (base_) {
    first_id_ = base_->end_id();
    first_string_ = base_->first_string_ + static_cast<uint32_t>(base_->strings_size_);
  }
  for (uint64_t at = types; at < types_end;) {
    if (types_end - at < kRecordSize) return damaged("a record leaves its section");
    const uint32_t info = word(at + 4);
    const std::optional<size_t> tail = tail_size(info >> 24 & 0x1f, info & 0xffff);
    if (!tail) return damaged(fmt::format("record {} has the unknown kind {}", offsets_.size() + first_id_, info >> 24 & 0x1f));
    if (types_end - at - kRecordSize < *tail) return damaged("a record leaves its section");
    offsets_.push_back(static_cast<uint32_t>(at));
    at += kRecordSize + *tail;
  }
  return {};
}

Btf::Record Btf::record(uint32_t id) const {
  if (id < first_id_) return base_ ? base_->record(id) : Record{};
  if (id - first_id_ >= offsets_.size()) return {};
  const size_t at = offsets_[id - first_id_];
  const uint32_t info = word(at + 4);
  return {info >> 24 & 0x1f, word(at), info & 0xffff, (info >> 31) != 0, word(at + 8), at + kRecordSize};
}

std::string_view Btf::string(uint32_t offset) const {
  if (offset < first_string_) return base_ ? base_->string(offset) : std::string_view();
  const size_t at = offset - first_string_;
  // index() has seen that the last string ends.
  return at < strings_size_ ? std::string_view(reinterpret_cast<const char*>(bytes_.data()) + strings_ + at) : std::string_view();
}

Type Btf::type(uint32_t id) { return {shared_from_this(), outer_id(id)}; }

std::optional<uint32_t> Btf::find_kind(uint32_t kind, std::string_view name) const {
  for (uint32_t i = 0; i < offsets_.size(); ++i) {
    const size_t at = offsets_[i];
    if ((word(at + 4) >> 24 & 0x1f) == kind && string(word(at)) == name) return first_id_ + i;
  }
  return base_ ? base_->find_kind(kind, name) : std::nullopt;
}

std::optional<uint32_t> Btf::find_function(std::string_view name) {
  const bool scan = scans_ < kScansBeforeIndex;
  if (scan) ++scans_;
  if (!scan && functions_.empty()) functions_.reserve(offsets_.size() / 2);
  if (scan || functions_.empty()) {
    for (uint32_t i = 0; i < offsets_.size(); ++i) {
      const size_t at = offsets_[i];
      if ((word(at + 4) >> 24 & 0x1f) != kFunction) continue;
      const std::string_view found = string(word(at));
      if (!scan) functions_.emplace(found, first_id_ + i);
      else if (found == name) return first_id_ + i;
    }
    if (scan) return std::nullopt;
  }
  auto known = functions_.find(name);
  return known == functions_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Btf::Function> Btf::function(std::string_view name) {
  const std::optional<uint32_t> id = find_function(name);
  if (!id) return std::nullopt;
  const Record prototype = record(record(*id).size_or_type);
  if (prototype.kind != kPrototype) return std::nullopt;
  Function function{*id, std::string(name), type(prototype.size_or_type), {}};
  for (uint32_t i = 0; i < prototype.count; ++i) {
    // A prototype in the base has its members there.
    const Btf* owner = record(*id).size_or_type < first_id_ ? base_.get() : this;
    const uint32_t parameter = owner->word(prototype.tail + 8 * size_t{i}), of = owner->word(prototype.tail + 8 * size_t{i} + 4);
    if (of == 0 && i + 1 == prototype.count) function.variadic = true;
    else function.parameters.push_back({std::string(string(parameter)), type(of)});
  }
  return function;
}

std::optional<Type> Btf::type_named(std::string_view name) {
  struct Prefix {
    std::string_view text;
    std::vector<uint32_t> kinds;
  };
  static const Prefix prefixes[] = {{"struct ", {kStruct}},
                                    {"union ", {kUnion}},
                                    {"enum ", {kEnum, kEnum64}},
                                    {"", {kTypedef, kStruct, kUnion, kEnum, kEnum64, kInt, kFloat}}};
  if (name == "void") return type(0);
  for (const Prefix& prefix : prefixes) {
    if (!name.starts_with(prefix.text)) continue;
    const std::string_view rest = name.substr(prefix.text.size());
    if (rest.empty()) return std::nullopt;
    for (uint32_t kind : prefix.kinds) {
      if (auto id = find_kind(kind, rest)) return type(*id);
    }
    if (!prefix.text.empty()) {
      const auto id = find_kind(kForward, rest);
      return id && type(*id).kind() == (prefix.kinds[0] == kUnion ? TypeKind::kUnion : TypeKind::kStruct)
                 ? std::optional(type(*id))
                 : std::nullopt;
    }
  }
  // How C may spell them beside BTF's one name.
  static const std::unordered_map<std::string_view, std::string_view> spellings = {
      {"unsigned", "unsigned int"},
      {"long", "long int"},
      {"unsigned long", "long unsigned int"},
      {"short", "short int"},
      {"unsigned short", "short unsigned int"},
      {"long long", "long long int"},
      {"unsigned long long", "long long unsigned int"},
      {"bool", "_Bool"},
      {"signed", "int"}};
  auto spelling = spellings.find(name);
  return spelling == spellings.end() ? std::nullopt : type_named(spelling->second);
}

std::optional<Type> Btf::variable(std::string_view name) {
  const std::optional<uint32_t> id = find_kind(kVariable, name);
  return id ? std::optional(type(record(*id).size_or_type)) : std::nullopt;
}

std::optional<Type> Btf::enum_with(std::string_view constant) {
  for (uint32_t i = 0; i < offsets_.size(); ++i) {
    const Record found = record(first_id_ + i);
    if (found.kind != kEnum && found.kind != kEnum64) continue;
    const size_t stride = found.kind == kEnum ? 8 : 12;
    for (uint32_t member = 0; member < found.count; ++member) {
      if (string(word(found.tail + stride * member)) == constant) return type(first_id_ + i);
    }
  }
  return base_ ? base_->enum_with(constant) : std::nullopt;
}

std::vector<std::string> Btf::type_names() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < offsets_.size(); ++i) {
    const Record found = record(first_id_ + i);
    const bool tagged = *tag_of(found.kind) != 0;
    const std::string_view name = tagged || found.kind == kTypedef ? string(found.name) : std::string_view();
    if (!name.empty()) names.push_back(fmt::format("{}{}", tag_of(found.kind), name));
  }
  return names;
}

namespace {

// A bit-field's bits are counted from the unit of its type that has them all, or else from their first byte.
void place_bits(MemberNode& member, uint32_t bits, uint64_t unit) {
  const uint32_t unit_bits = static_cast<uint32_t>(unit * 8);
  const bool fits = unit_bits > 0 && bits / unit_bits == (bits + member.bit_size - 1) / unit_bits;
  member.offset = fits ? bits / unit_bits * unit : bits / 8;
  member.bit_offset = bits - static_cast<uint32_t>(member.offset * 8);
}

}  // namespace

TypeNode Btf::make_node(uint32_t id) const {
  const Record from = record(id);
  TypeNode node;
  auto alias = [&](TypeNode::Alias how) {
    node.alias = how;
    node.target = outer_id(from.size_or_type);
  };
  if (*tag_of(from.kind)) {
    node.name = string(from.name).empty() ? fmt::format("{}{{...}}", tag_of(from.kind))
                                          : fmt::format("{}{}", tag_of(from.kind), string(from.name));
  } else {
    node.name = string(from.name);
  }
  switch (from.kind) {
    case kInt: {
      const uint32_t encoding = word(from.tail) >> 24 & 0xf;
      node.kind = TypeKind::kInteger;
      node.size = from.size_or_type;
      node.is_signed = encoding & 1;
      node.is_boolean = encoding & 4;
      node.is_character = node.size == 1 && !node.is_boolean && is_character_name(node.name);
      break;
    }
    case kFloat:
      node.kind = TypeKind::kFloat;
      node.size = from.size_or_type;
      break;
    case kPointer:
      node.kind = TypeKind::kPointer;
      node.size = 8;
      node.target = outer_id(from.size_or_type);
      break;
    case kArray:
      node.kind = TypeKind::kArray;
      node.target = outer_id(word(from.tail));
      node.count = word(from.tail + 8);
      node.has_count = node.count > 0;
      break;
    case kStruct:
    case kUnion:
      node.kind = from.kind == kStruct ? TypeKind::kStruct : TypeKind::kUnion;
      node.size = from.size_or_type;
      for (uint32_t i = 0; i < from.count; ++i) {
        const size_t at = from.tail + 12 * size_t{i};
        const uint32_t offset = word(at + 8);
        MemberNode& member = node.members.emplace_back();
        member.name = string(word(at));
        member.type = outer_id(word(at + 4));
        member.bit_size = from.flag ? offset >> 24 : 0;
        const uint32_t bits = from.flag ? offset & 0xffffff : offset;
        member.offset = bits / 8;
        if (member.bit_size == 0) continue;
        Record holder = record(word(at + 4));
        for (int depth = 0; depth < 16 && (holder.kind == kTypedef || holder.kind == kConst || holder.kind == kVolatile); ++depth)
          holder = record(holder.size_or_type);
        const bool sized = holder.kind == kInt || holder.kind == kEnum || holder.kind == kEnum64;
        place_bits(member, bits, sized && holder.size_or_type <= 8 ? holder.size_or_type : 0);
      }
      break;
    case kEnum:
    case kEnum64: {
      node.kind = TypeKind::kEnum;
      node.size = from.size_or_type;
      node.is_signed = from.flag;
      const size_t stride = from.kind == kEnum ? 8 : 12;
      for (uint32_t i = 0; i < from.count; ++i) {
        const size_t at = from.tail + stride * i;
        const uint32_t low = word(at + 4);
        const int64_t value = from.kind == kEnum64 ? static_cast<int64_t>(uint64_t{word(at + 8)} << 32 | low)
                              : from.flag          ? static_cast<int32_t>(low)
                                                   : static_cast<int64_t>(low);
        node.enumerators.push_back({std::string(string(word(at))), value});
      }
      break;
    }
    case kForward:
      node.kind = from.flag ? TypeKind::kUnion : TypeKind::kStruct;
      node.name = fmt::format("{}{}", from.flag ? "union " : "struct ", string(from.name));
      node.is_declaration = true;
      break;
    case kPrototype:
      node.kind = TypeKind::kFunction;
      node.target = outer_id(from.size_or_type);
      break;
    case kTypedef: alias(TypeNode::Alias::kTypedef); break;
    case kConst: alias(TypeNode::Alias::kConst); break;
    case kVolatile: alias(TypeNode::Alias::kVolatile); break;
    case kRestrict:
    case kTypeTag: alias(TypeNode::Alias::kOther); break;
    default: break;
  }
  return node;
}

const TypeNode& Btf::type_node(uint64_t id) {
  static const TypeNode unknown;
  static const TypeNode nothing{.kind = TypeKind::kVoid};
  if (id == debuginfo::kVoidType) return nothing;
  if (id <= debuginfo::kVoidType || id - debuginfo::kVoidType >= end_id()) return unknown;
  auto known = nodes_.find(id);
  if (known != nodes_.end()) return known->second;
  const auto inner = static_cast<uint32_t>(id - debuginfo::kVoidType);
  if (inner < first_id_) return base_ ? base_->type_node(id) : unknown;
  return nodes_.emplace(id, make_node(inner)).first->second;
}

uint64_t Btf::type_definition(uint64_t id) {
  if (id <= debuginfo::kVoidType || id - debuginfo::kVoidType >= end_id()) return debuginfo::kUnknownType;
  const Record from = record(static_cast<uint32_t>(id - debuginfo::kVoidType));
  if (from.kind != kForward) return debuginfo::kUnknownType;
  const std::optional<uint32_t> found = find_kind(from.flag ? kUnion : kStruct, string(from.name));
  return found ? outer_id(*found) : debuginfo::kUnknownType;
}

}  // namespace spile::kernelinfo
