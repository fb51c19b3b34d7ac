#include "debuginfo/dwarf/dwarf_types.h"

#include <dwarf.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "debuginfo/dwarf/dwarf_arrays.h"
#include "debuginfo/dwarf/name_search.h"
#include "debuginfo/dwarf/template_names.h"

namespace spile::debuginfo {
namespace {

constexpr size_t kMostMembers = 1 << 16;

void read_base_type(Dwarf_Die& die, TypeNode& node) {
  node.kind = TypeKind::kInteger;
  switch (die_number(die, DW_AT_encoding).value_or(0)) {
    case DW_ATE_boolean: node.is_boolean = true; break;
    case DW_ATE_signed_char: node.is_signed = true; [[fallthrough]];
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
    case DW_ATE_ASCII: node.is_character = node.size == 1; break;
    case DW_ATE_signed:
    case DW_ATE_signed_fixed: node.is_signed = true; break;
    case DW_ATE_unsigned:
      node.is_character = node.size == 1 && node.name == "char8_t";  // gcc's
      break;
    case DW_ATE_unsigned_fixed:
    case DW_ATE_address: break;
    case DW_ATE_complex_float: node.is_complex = true; [[fallthrough]];
    case DW_ATE_float:
    case DW_ATE_imaginary_float:
    case DW_ATE_decimal_float:
      node.kind = TypeKind::kFloat;
      node.is_extended = node.name.find("long double") != std::string::npos;
      break;
    default: node.kind = TypeKind::kUnknown;
  }
}

// Of a bit-field's type: an integer or enum behind typedefs.
uint64_t read_type_size(DwarfFile& file, uint64_t id) {
  for (int i = 0; i < 64; ++i) {
    const TypeNode node = read_type(file, id);
    if (node.alias == TypeNode::Alias::kNone) return node.size;
    id = node.target;
  }
  return 0;
}

// DWARF 4's DW_AT_data_bit_offset counts from the start of the structure; DWARF 2's DW_AT_bit_offset from the most
// significant bit of a storage unit, which on a little-endian machine ends where the unit ends.
void read_bit_field(Dwarf_Die& die, DwarfFile& file, MemberNode& member) {
  const auto bits = die_number(die, DW_AT_bit_size);
  if (!bits || *bits == 0 || *bits > 64) return;
  member.bit_size = static_cast<uint32_t>(*bits);
  int64_t from_start = 0;
  if (const auto position = die_number(die, DW_AT_data_bit_offset)) {
    from_start = static_cast<int64_t>(*position + member.offset * 8);
  } else if (const auto big_endian = die_number(die, DW_AT_bit_offset)) {
    auto storage = die_number(die, DW_AT_byte_size);
    if (!storage) storage = read_type_size(file, member.type);
    from_start = static_cast<int64_t>(member.offset * 8 + *storage * 8 - *big_endian - *bits);
  } else {
    from_start = static_cast<int64_t>(member.offset * 8);
  }
  const auto start = static_cast<uint64_t>(std::max<int64_t>(from_start, 0));
  // A load of the declared type's size at its natural place never leaves the structure; only packed fields may not fit.
  const uint64_t unit_bits = read_type_size(file, member.type) * 8;
  const uint64_t unit = unit_bits ? start / unit_bits * unit_bits : 0;
  const bool fits = unit_bits && start + *bits <= unit + unit_bits;
  const uint64_t base = fits ? unit : start / 8 * 8;
  member.offset = base / 8;
  member.bit_offset = static_cast<uint32_t>(start - base);
}

// A member's offset is a number, or (virtual bases, DWARF 2) an expression; of those only "plus a constant" is known.
std::optional<uint64_t> member_offset(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  if (!dwarf_attr_integrate(&die, DW_AT_data_member_location, &attribute)) return 0;
  Dwarf_Word number;
  if (dwarf_whatform(&attribute) != DW_FORM_exprloc && dwarf_formudata(&attribute, &number) == 0) return number;
  Dwarf_Op* operations;
  size_t count;
  if (dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 && operations[0].atom == DW_OP_plus_uconst)
    return operations[0].number;
  return std::nullopt;
}

// Types that a class template was made with; those of a parameter pack in its place.
void read_arguments(DwarfFile& file, Dwarf_Die& die, TypeNode& node) {
  for (ChildDies children(die); children.valid() && node.arguments.size() < kMostMembers; children.next()) {
    if (children.tag() == DW_TAG_template_type_parameter) node.arguments.push_back(type_id_of(file, children.die()));
    if (children.tag() == DW_TAG_template_value_parameter) node.arguments.push_back(kUnknownType);
    if (children.tag() == DW_TAG_GNU_template_parameter_pack) read_arguments(file, children.die(), node);
  }
}

// GCC leaves the arguments of some class templates out, such as those of std::_List_iterator. What such an iterator leads to is
// the result of its operator*.
void read_element(DwarfFile& file, Dwarf_Die& die, TypeNode& node) {
  for (ChildDies children(die); children.valid(); children.next()) {
    if (children.tag() != DW_TAG_subprogram || die_name(children.die()) != "operator*") continue;
    uint64_t id = type_id_of(file, children.die());
    constexpr int kMostNames = 8;
    for (int i = 0; i < kMostNames && id != kVoidType && id != kUnknownType; ++i) {
      const TypeNode result = read_type(file, id);
      if (result.kind == TypeKind::kPointer && result.is_reference) return node.arguments.push_back(result.target);
      if (result.alias == TypeNode::Alias::kNone) return;
      id = result.target;
    }
  }
}

// DWARF 5, section 5.7.10, as rustc writes it: a part with the discriminant, a member without a name, and a DW_TAG_variant for
// each form, whose one member is a structure with the data.
void read_variants(DwarfFile& file, Dwarf_Die& part, TypeNode& node) {
  Dwarf_Attribute attribute;
  Dwarf_Die discriminant;
  if (dwarf_formref_die(dwarf_attr(&part, DW_AT_discr, &attribute), &discriminant)) {
    node.discriminant.type = type_id_of(file, discriminant);
    node.discriminant.offset = member_offset(discriminant).value_or(0);
  }
  for (ChildDies children(part); children.valid() && node.variants.size() < kMostMembers; children.next()) {
    if (children.tag() != DW_TAG_variant) continue;
    VariantNode variant;
    Dwarf_Attribute* value = dwarf_attr(&children.die(), DW_AT_discr_value, &attribute);
    variant.is_default = value == nullptr;
    Dwarf_Word number = 0;
    if (value && dwarf_formudata(value, &number) == 0) variant.value = static_cast<int64_t>(number);
    for (ChildDies members(children.die()); members.valid(); members.next()) {
      if (members.tag() != DW_TAG_member) continue;
      variant.data.name = die_name(members.die());
      variant.data.type = type_id_of(file, members.die());
      variant.data.offset = member_offset(members.die()).value_or(0);
      node.variants.push_back(std::move(variant));
      break;
    }
  }
}

// The place of a virtual base, as gcc and clang describe it: dup, deref, constu N, minus, deref, plus. Returns the slot, -N.
std::optional<int64_t> virtual_slot(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations;
  size_t count;
  if (!dwarf_attr(&die, DW_AT_data_member_location, &attribute) || dwarf_getlocation(&attribute, &operations, &count) != 0 ||
      count != 6)
    return std::nullopt;
  const int atoms[] = {DW_OP_dup, DW_OP_deref, operations[2].atom, DW_OP_minus, DW_OP_deref, DW_OP_plus};
  for (size_t i = 0; i < count; ++i) {
    if (operations[i].atom != atoms[i]) return std::nullopt;
  }
  constexpr Dwarf_Word kFarthest = 1 << 20;
  const int constant = operations[2].atom;
  const bool is_literal = constant >= DW_OP_lit0 && constant <= DW_OP_lit31;
  const bool is_number =
      constant == DW_OP_constu || constant == DW_OP_const1u || constant == DW_OP_const2u || constant == DW_OP_const4u;
  const Dwarf_Word distance = is_literal ? static_cast<Dwarf_Word>(constant - DW_OP_lit0) : operations[2].number;
  if ((!is_literal && !is_number) || distance > kFarthest) return std::nullopt;
  return -static_cast<int64_t>(distance);
}

void read_members(DwarfFile& file, Dwarf_Die& die, TypeNode& node) {
  for (ChildDies children(die); children.valid() && node.members.size() < kMostMembers; children.next()) {
    Dwarf_Die& child = children.die();
    const int tag = children.tag();
    if (tag == DW_TAG_variant_part) read_variants(file, child, node);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    // Static members of C++ classes are variables.
    if (die_flag(child, DW_AT_external) || die_flag(child, DW_AT_declaration)) continue;
    if (tag == DW_TAG_inheritance) {
      if (const auto slot = virtual_slot(child)) {
        node.virtual_bases.push_back({type_id_of(file, child), *slot});
        continue;
      }
    }
    const auto offset = member_offset(child);
    if (!offset) continue;
    MemberNode member;
    member.name = die_name(child);
    member.type = type_id_of(file, child);
    member.offset = *offset;
    member.is_base = tag == DW_TAG_inheritance;
    read_bit_field(child, file, member);
    node.members.push_back(std::move(member));
  }
}

void read_enumerators(Dwarf_Die& die, bool has_underlying, TypeNode& node) {
  for (ChildDies children(die); children.valid() && node.enumerators.size() < kMostMembers; children.next()) {
    if (children.tag() != DW_TAG_enumerator) continue;
    Dwarf_Attribute attribute;
    Dwarf_Attribute* value = dwarf_attr(&children.die(), DW_AT_const_value, &attribute);
    Dwarf_Sword number = 0;
    Dwarf_Word unsigned_number = 0;
    // 200 in one byte: only the type behind the enum tells that it isn't -56.
    const bool known_unsigned = has_underlying && !node.is_signed;
    if (known_unsigned && dwarf_formudata(value, &unsigned_number) == 0) number = static_cast<Dwarf_Sword>(unsigned_number);
    else if (dwarf_formsdata(value, &number) != 0 && dwarf_formudata(value, &unsigned_number) == 0)
      number = static_cast<Dwarf_Sword>(unsigned_number);
    node.enumerators.push_back({die_name(children.die()), number});
    if (number < 0 && !has_underlying) node.is_signed = true;
  }
}

bool is_in_cpp(Dwarf_Die& die) {
  Dwarf_Die unit;
  if (!dwarf_diecu(&die, &unit, nullptr, nullptr)) return false;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return true;
    default: return false;
  }
}

// The class or union itself, without const and the like, or the elements' one of an array.
std::optional<Dwarf_Die> class_of(DwarfFile& file, Dwarf_Die& member) {
  constexpr int kMostAliases = 64;
  uint64_t id = type_id_of(file, member);
  for (int i = 0; i < kMostAliases; ++i) {
    auto die = id > kVoidType ? file.die_of(id & ~(kMostDimensions << kDimensionShift)) : std::nullopt;
    if (!die) return std::nullopt;
    switch (dwarf_tag(&*die)) {
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type: return die;
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_array_type: id = type_id_of(file, *die); break;
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

// Its one parameter behind `this` is a reference to its class.
bool copies_or_moves(DwarfFile& file, Dwarf_Die& constructor, Dwarf_Die& owner) {
  int parameters = 0;
  bool takes_own = false;
  for (ChildDies children(constructor); children.valid(); children.next()) {
    if (children.tag() != DW_TAG_formal_parameter || die_flag(children.die(), DW_AT_artificial)) continue;
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (++parameters > 1 || !file.referred(dwarf_attr_integrate(&children.die(), DW_AT_type, &attribute), &type)) return false;
    int tag = dwarf_tag(&type);
    if (tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) return false;
    auto target = class_of(file, type);
    takes_own = target && dwarf_dieoffset(&*target) == dwarf_dieoffset(&owner);
  }
  return takes_own;
}

// A class that its compiler (g++) does not say how it passes: by hidden reference where a copy or move constructor or the
// destructor does something, or all of the constructors are deleted (Itanium C++ ABI, 3.1.1 and "non-trivial for the purposes of
// calls").
bool is_nontrivial(DwarfFile& file, Dwarf_Die& die, int depth) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest || (depth == 0 && !is_in_cpp(die))) return false;
  std::string name = die_name(die);
  name.resize(std::min(name.find('<'), name.size()));
  bool deleted = false, kept = false;
  for (ChildDies children(die); children.valid(); children.next()) {
    Dwarf_Die& child = children.die();
    const int tag = children.tag();
    if (tag == DW_TAG_member || tag == DW_TAG_inheritance) {
      if (die_flag(child, DW_AT_external) || die_flag(child, DW_AT_declaration)) continue;
      if (die_number(child, DW_AT_virtuality).value_or(0) != 0 || die_name(child).starts_with("_vptr")) return true;
      auto part = class_of(file, child);
      if (!part) continue;
      auto convention = die_number(*part, DW_AT_calling_convention);
      if (convention ? *convention == DW_CC_pass_by_reference : is_nontrivial(file, *part, depth + 1)) return true;
    }
    if (tag != DW_TAG_subprogram) continue;
    if (die_number(child, DW_AT_virtuality).value_or(0) != 0) return true;
    const std::string function = die_name(child);
    const bool destroys = function.starts_with("~");
    if (!destroys && (function != name || !copies_or_moves(file, child, die))) continue;
    if (!destroys && die_flag(child, DW_AT_deleted)) {
      deleted = true;
      continue;
    }
    kept |= !destroys;
    const bool is_implicit =
        die_flag(child, DW_AT_artificial) || die_number(child, DW_AT_defaulted).value_or(0) == DW_DEFAULTED_in_class;
    if (!is_implicit) return true;
  }
  return deleted && !kept;
}

const char* tag_keyword(int tag) {
  switch (tag) {
    case DW_TAG_structure_type: return "struct ";
    case DW_TAG_class_type: return "class ";
    case DW_TAG_union_type: return "union ";
    default: return "enum ";
  }
}

void read_tagged(DwarfFile& file, Dwarf_Die& die, int tag, TypeNode& node) {
  const std::string name = die_name(die);
  node.name = tag_keyword(tag) + (name.empty() ? "{...}" : name);
  node.is_declaration = dwarf_hasattr(&die, DW_AT_declaration) != 0;  // not what it was declared as before
  if (tag == DW_TAG_enumeration_type) {
    node.kind = TypeKind::kEnum;
    const uint64_t underlying = type_id_of(file, die);
    if (underlying != kVoidType) {
      const TypeNode base = read_type(file, underlying);
      node.is_signed = base.is_signed;
      if (node.size == 0) node.size = base.size;
    }
    read_enumerators(die, underlying != kVoidType, node);
    return;
  }
  node.kind = tag == DW_TAG_union_type ? TypeKind::kUnion : TypeKind::kStruct;
  auto convention = die_number(die, DW_AT_calling_convention);
  node.passed_by_reference = convention ? *convention == DW_CC_pass_by_reference : is_nontrivial(file, die, 0);
  read_members(file, die, node);
  read_arguments(file, die, node);
  if (node.arguments.empty() && name.starts_with("_List_")) read_element(file, die, node);
  if (name.find('<') == name.npos) node.name += template_arguments(file, die);
}

void read_alias(DwarfFile& file, Dwarf_Die& die, int tag, TypeNode& node) {
  node.target = type_id_of(file, die);
  switch (tag) {
    case DW_TAG_const_type: node.alias = TypeNode::Alias::kConst; break;
    case DW_TAG_volatile_type: node.alias = TypeNode::Alias::kVolatile; break;
    case DW_TAG_typedef:
      node.alias = TypeNode::Alias::kTypedef;
      node.name = die_name(die);
      break;
    default: node.alias = TypeNode::Alias::kOther;
  }
}

// The names of the scopes around a type, outermost first, and its own. transparent: set to which of these may be left out.
std::vector<std::string> qualified_name(DwarfFile& file, Dwarf_Die& die, std::vector<bool>* transparent = nullptr) {
  std::vector<std::string> names;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&die, &scopes);
  for (int i = count - 1; i >= 0; --i) {
    const int tag = dwarf_tag(&scopes[i]);
    if (i == 0 || tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type) {
      names.push_back(die_name(scopes[i]));
      if (tag != DW_TAG_namespace && names.back().find('<') == std::string::npos)
        names.back() += template_arguments(file, scopes[i]);
      if (transparent)
        transparent->push_back(tag == DW_TAG_namespace &&
                               (is_inline_namespace(names.back()) || dwarf_hasattr(&scopes[i], DW_AT_export_symbols)));
    }
  }
  free(scopes);
  if (names.empty()) names.push_back(die_name(die));
  return names;
}

bool same_kind_of_tag(int a, int b) {
  auto classes = [](int tag) { return tag == DW_TAG_class_type ? DW_TAG_structure_type : tag; };
  return classes(a) == classes(b);
}

// A declaration may stand for a type unit (-fdebug-types-section): the type there, else what is given.
Dwarf_Die in_type_unit(DwarfFile& file, Dwarf_Die die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  return dwarf_hasattr(&die, DW_AT_signature) && file.referred(dwarf_attr(&die, DW_AT_signature, &attribute), &type) ? type : die;
}

// Whether the scopes of a declaration are those that a script writes; it may leave out namespaces that are inline or have no
// name.
bool is_within(DwarfFile& file, Dwarf_Die& declared, const std::vector<std::string>& names) {
  std::vector<bool> transparent;
  const std::vector<std::string> scopes = qualified_name(file, declared, &transparent);
  size_t next = 0;
  for (size_t i = 0; i + 1 < scopes.size(); ++i) {
    if (next + 1 < names.size() && scopes[i] == names[next]) ++next;
    else if (!transparent[i]) return false;
  }
  return next + 1 == names.size();
}

std::optional<Dwarf_Die> search_definition(DwarfFile& file, Dwarf_Die& parent, const std::vector<std::string>& names,
                                           size_t level, int tag, int transparent = 0) {
  constexpr int kMostTransparent = 4;
  for (ChildDies children(parent); children.valid(); children.next()) {
    const int child_tag = children.tag();
    const bool last = level + 1 == names.size();
    const bool scope = child_tag == DW_TAG_namespace || child_tag == DW_TAG_structure_type || child_tag == DW_TAG_class_type;
    if (!same_kind_of_tag(child_tag, tag) && (last ? child_tag != DW_TAG_namespace : !scope)) continue;
    // A declaration that stands for a type unit has a name only if something is declared within it.
    Dwarf_Die die = children.die();
    const char* name = dwarf_diename(&die);
    const bool nameless = !name;
    if (nameless || is_named(file, die, names[level])) die = in_type_unit(file, die);
    name = dwarf_diename(&die);
    Dwarf_Attribute attribute;
    Dwarf_Die declared = die;
    const bool elsewhere = dwarf_formref_die(dwarf_attr(&die, DW_AT_specification, &attribute), &declared) != nullptr;
    // GCC defines the types of type units outside of the namespaces that it declares them in there.
    if (level == 0 && (nameless || elsewhere) && same_kind_of_tag(child_tag, tag) &&
        (name && is_named(file, die, names.back()))) {
      if (is_within(file, declared, names) && !dwarf_hasattr(&die, DW_AT_declaration)) return die;
      continue;
    }
    if (!is_named(file, die, names[level])) {
      // What is in an inline namespace, or in one without a name, is called as if it were around it: std::__1::vector.
      const bool is_transparent =
          child_tag == DW_TAG_namespace && (!name || is_inline_namespace(name) || dwarf_hasattr(&die, DW_AT_export_symbols));
      if (!is_transparent || transparent == kMostTransparent) continue;
      if (auto found = search_definition(file, die, names, level, tag, transparent + 1)) return found;
      continue;
    }
    if (!last) {
      if (!scope) continue;
      if (auto found = search_definition(file, die, names, level + 1, tag)) return found;
    } else if (same_kind_of_tag(child_tag, tag) && !die_flag(die, DW_AT_declaration)) {
      return die;
    }
  }
  return std::nullopt;
}

bool has_enumerator(Dwarf_Die& type, const std::string& name) {
  for (ChildDies children(type); children.valid(); children.next()) {
    const char* own = children.tag() == DW_TAG_enumerator ? dwarf_diename(&children.die()) : nullptr;
    if (own && name == own) return true;
  }
  return false;
}

// The enumeration among a scope's children, or in the scopes within it, that has a constant of this name; `type`: its own
// name, empty for any.
std::optional<Dwarf_Die> search_enumeration(DwarfFile& file, Dwarf_Die& scope, const std::string& type,
                                            const std::string& constant, int depth) {
  constexpr int kDeepestScope = 16;
  for (ChildDies children(scope); children.valid(); children.next()) {
    const int tag = children.tag();
    Dwarf_Die die = in_type_unit(file, children.die());
    if (tag == DW_TAG_enumeration_type) {
      const char* own = dwarf_diename(&die);
      if ((type.empty() || type == (own ? own : "")) && has_enumerator(die, constant)) return die;
    }
    const bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
                          tag == DW_TAG_union_type || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
    if (!is_scope || depth == kDeepestScope) continue;
    if (auto found = search_enumeration(file, die, type, constant, depth + 1)) return found;
  }
  return std::nullopt;
}

// The units that may have a type or enumerator of that name.
std::vector<DwarfFile::Unit> units_with_type(DwarfFile& file, const std::string& name) {
  // A nameless declaration may stand for a type in a unit of its own.
  const bool has_type_units =
      !file.section(file.dwarf(), ".debug_types").empty() ||
      std::ranges::any_of(file.units(), [](DwarfFile::Unit unit) { return dwarf_tag(&unit.die) == DW_TAG_type_unit; });
  if (has_type_units || name.empty()) return file.units();
  std::vector<DwarfFile::Unit> units;
  for (NamingUnit& naming : units_naming(file, name.substr(0, name.find('<'))))
    if (naming.unsure || naming.has_type) units.push_back(naming.unit);
  return units;
}

// Returns the id of the first DIE that find(unit) finds. name: what the type or enumerator is called, without scopes.
template <typename Find>
uint64_t search_units(DwarfFile& file, const std::string& name, Find find) {
  auto search = [&](const std::vector<DwarfFile::Unit>& units) -> uint64_t {
    for (DwarfFile::Unit unit : units)
      if (std::optional<Dwarf_Die> found = find(unit.die)) return file.id_of(*found);
    return kUnknownType;
  };
  uint64_t id = search(units_with_type(file, name));
  if (id == kUnknownType) id = search(file.alternate_units());
  if (id == kUnknownType) id = search(file.split_type_units());
  return id;
}

// "NAME" or "TYPE::NAME".
uint64_t find_enumeration_with(DwarfFile& file, const std::string& name) {
  const size_t scope = name.rfind("::");
  const std::string constant = scope == std::string::npos ? name : name.substr(scope + 2);
  std::string type = scope == std::string::npos ? std::string() : name.substr(0, scope);
  if (const size_t outer = type.rfind("::"); outer != std::string::npos) type.erase(0, outer + 2);
  return search_units(file, constant, [&](Dwarf_Die& unit) { return search_enumeration(file, unit, type, constant, 0); });
}

}  // namespace

uint64_t type_id_of(DwarfFile& file, Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute)) return kVoidType;
  Dwarf_Die type;
  if (!file.referred(&attribute, &type)) return kUnknownType;
  type = in_type_unit(file, type);
  return file.id_of(type);
}

TypeNode read_type(DwarfFile& file, uint64_t id) {
  TypeNode node;
  if (id == kVoidType) node.kind = TypeKind::kVoid;
  auto found = id > kVoidType ? file.die_of(id & ~(kMostDimensions << kDimensionShift)) : std::nullopt;
  if (!found) return node;
  Dwarf_Die& die = *found;
  const int tag = dwarf_tag(&die);
  // Not integrated: a declaration's specification is not asked for its size.
  node.size = die_number(die, DW_AT_byte_size).value_or(0);
  node.alignment = die_number(die, DW_AT_alignment).value_or(0);
  switch (tag) {
    case DW_TAG_base_type:
      node.name = die_name(die);
      read_base_type(die, node);
      break;
    case DW_TAG_unspecified_type:  // decltype(nullptr)
      node.name = die_name(die);
      node.kind = TypeKind::kVoid;
      break;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: node.is_reference = true; [[fallthrough]];
    case DW_TAG_pointer_type:
      node.kind = TypeKind::kPointer;
      node.size = 8;
      node.target = type_id_of(file, die);
      break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: read_tagged(file, die, tag, node); break;
    case DW_TAG_array_type:
    case DW_TAG_string_type:
      read_array(file, die, id, type_id_of(file, die), node);
      if (node.kind == TypeKind::kFloat && node.size == 0) node.size = node.count * read_type_size(file, node.target);
      break;
    case DW_TAG_subroutine_type:
      node.kind = TypeKind::kFunction;
      node.target = type_id_of(file, die);
      break;
    case DW_TAG_ptr_to_member_type: {  // to data: an offset; to a function: 16 bytes, which nobody can use as a number
      constexpr uint64_t kData = 8, kFunction = 16;
      node.name = "member pointer";
      node.kind = TypeKind::kInteger;
      node.is_signed = true;
      if (node.size == 0) node.size = read_type(file, type_id_of(file, die)).kind == TypeKind::kFunction ? kFunction : kData;
      break;
    }
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_immutable_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_template_alias:
    case DW_TAG_subrange_type: read_alias(file, die, tag, node); break;
    default: break;
  }
  return node;
}

uint64_t find_named_type(DwarfFile& file, const std::string& name) {
  constexpr std::string_view kEnumerator = "enumerator ";
  if (name.starts_with(kEnumerator)) return find_enumeration_with(file, name.substr(kEnumerator.size()));
  static constexpr struct {
    const char* keyword;
    int tag;
  } kKeywords[] = {{"struct ", DW_TAG_structure_type},
                   {"class ", DW_TAG_class_type},
                   {"union ", DW_TAG_union_type},
                   {"enum ", DW_TAG_enumeration_type}};
  std::string plain = name;
  std::vector<int> tags;
  for (const auto& [keyword, tag] : kKeywords)
    if (name.starts_with(keyword)) {
      plain = name.substr(strlen(keyword));
      tags = {tag};
    }
  if (tags.empty()) tags = {DW_TAG_typedef, DW_TAG_structure_type, DW_TAG_union_type, DW_TAG_enumeration_type, DW_TAG_base_type};
  const std::vector<std::string> names = scopes_of_type(plain);
  return search_units(file, names.back(), [&](Dwarf_Die& unit) {
    std::optional<Dwarf_Die> found;
    for (size_t i = 0; i < tags.size() && !found; ++i) found = search_definition(file, unit, names, 0, tags[i]);
    return found;
  });
}

uint64_t find_definition(DwarfFile& file, uint64_t id) {
  auto declaration = file.die_of(id);
  if (!declaration) return kUnknownType;
  const int tag = dwarf_tag(&*declaration);
  if (Dwarf_Die type = in_type_unit(file, *declaration); type.addr != declaration->addr) return file.id_of(type);
  const std::vector<std::string> names = qualified_name(file, *declaration);
  if (names.back().empty()) return kUnknownType;
  return search_units(file, names.back(), [&](Dwarf_Die& unit) { return search_definition(file, unit, names, 0, tag); });
}

}  // namespace spile::debuginfo
