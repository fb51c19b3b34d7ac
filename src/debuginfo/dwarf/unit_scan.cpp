#include "debuginfo/dwarf/unit_scan.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "base/files/bytes.h"

namespace spile::debuginfo {
namespace {

constexpr size_t kOffsetSize = 4;  // of 32-bit DWARF; 64-bit DWARF is left to libdw
constexpr uint64_t kMostCodes = 1 << 18;
constexpr size_t kDeepest = 1 << 12;
constexpr int kNone = -1;  // not the size of a form

// What to do with the next bytes of a DIE. Neighbors that are only skipped are one step.
struct Step {
  enum Kind : uint8_t {
    kSkip,       // `size` bytes
    kSkipUlebs,  // `size` of them
    kSkipBlock,  // `size`: of its length; 0: a ULEB128
    kSkipString,
    kNameOffset,  // in .debug_str
    kNameIndex,   // in .debug_str_offsets; size as of kSkipBlock
    kNameString,
    kOrigin,  // in the unit; size as of kSkipBlock
    kOriginInSection,
    kOriginInAlternate,
    kSibling,      // in the unit; size as of kSkipBlock
    kStringsBase,  // of the unit in .debug_str_offsets
  };
  Kind kind;
  uint32_t size;
};

struct Abbreviation {
  uint16_t tag = 0;
  bool children = false, declaration = false;
  uint32_t first = 0, count = 0;  // its steps
};

bool is_function(unsigned tag) { return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine; }

bool is_type(unsigned tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
         tag == DW_TAG_typedef || tag == DW_TAG_base_type || tag == DW_TAG_enumerator;
}

// A static member of a class is a member there (DWARF 4), or a variable.
bool is_variable(unsigned tag) { return tag == DW_TAG_variable || tag == DW_TAG_member; }

bool is_unit(unsigned tag) { return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_type_unit; }

// Nothing that is asked for is inside.
bool is_skipped_whole(const Abbreviation& abbreviation) {
  switch (abbreviation.tag) {
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type: return true;
    case DW_TAG_subprogram: return abbreviation.declaration;
    default: return false;
  }
}

// Bytes of a form of fixed size; kNone: another one.
int fixed_size(uint64_t form, size_t address_size) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return static_cast<int>(address_size);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_ref_addr:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return kOffsetSize;
    default: return kNone;
  }
}

std::optional<Step> step_over(uint64_t form, size_t address_size) {
  if (const int size = fixed_size(form, address_size); size != kNone) return Step{Step::kSkip, static_cast<uint32_t>(size)};
  switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return Step{Step::kSkipUlebs, 1};
    case DW_FORM_block1: return Step{Step::kSkipBlock, 1};
    case DW_FORM_block2: return Step{Step::kSkipBlock, 2};
    case DW_FORM_block4: return Step{Step::kSkipBlock, 4};
    case DW_FORM_block:
    case DW_FORM_exprloc: return Step{Step::kSkipBlock, 0};
    case DW_FORM_string: return Step{Step::kSkipString, 0};
    default: return std::nullopt;
  }
}

// A reference within the unit. nullopt: it leads elsewhere.
std::optional<Step> step_of_reference(Step::Kind kind, uint64_t form) {
  if (form == DW_FORM_ref_udata) return Step{kind, 0};
  if (form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 || form == DW_FORM_ref8)
    return Step{kind, static_cast<uint32_t>(fixed_size(form, 0))};
  return std::nullopt;
}

std::optional<Step> step_of_name(uint64_t form) {
  switch (form) {
    case DW_FORM_strp: return Step{Step::kNameOffset, kOffsetSize};
    case DW_FORM_string: return Step{Step::kNameString, 0};
    case DW_FORM_strx: return Step{Step::kNameIndex, 0};
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4: return Step{Step::kNameIndex, static_cast<uint32_t>(fixed_size(form, 0))};
    default: return std::nullopt;
  }
}

// The abbreviations of a unit, with what to do with DIEs that use them.
class Abbreviations {
 public:
  // False: there are forms that only libdw follows, or they are damaged.
  bool read(std::string_view section, uint64_t offset, uint16_t version, size_t address_size) {
    if (version == 2) return false;  // a reference has the size of an address there
    ByteCursor bytes(section, offset);
    while (const uint64_t code = bytes.uleb()) {
      if (code >= kMostCodes || bytes.failed()) return false;
      if (code >= by_code_.size()) by_code_.resize(code + 1);
      Abbreviation abbreviation;
      abbreviation.tag = static_cast<uint16_t>(bytes.uleb());
      abbreviation.children = bytes.number(1) != 0;
      abbreviation.first = static_cast<uint32_t>(steps_.size());
      while (true) {
        const uint64_t attribute = bytes.uleb(), form = bytes.uleb();
        if (form == DW_FORM_implicit_const) bytes.uleb();  // as long as an SLEB128
        if (bytes.failed()) return false;
        if (attribute == 0 && form == 0) break;
        if (attribute == DW_AT_declaration) abbreviation.declaration = true;
        if (!add(abbreviation, attribute, form, address_size)) return false;
      }
      abbreviation.count = static_cast<uint32_t>(steps_.size()) - abbreviation.first;
      by_code_[code] = abbreviation;
    }
    return !bytes.failed();
  }

  // Null: there is none of this code.
  const Abbreviation* find(uint64_t code) const {
    return code < by_code_.size() && by_code_[code].tag != 0 ? &by_code_[code] : nullptr;
  }
  const Step* steps(const Abbreviation& abbreviation) const { return steps_.data() + abbreviation.first; }
  // Whether functions, or variables, have parts of their description in other units.
  bool refers_elsewhere() const { return functions_elsewhere_ || variables_elsewhere_; }
  bool variables_elsewhere() const { return variables_elsewhere_; }

 private:
  bool add(const Abbreviation& abbreviation, uint64_t attribute, uint64_t form, size_t address_size) {
    const unsigned tag = abbreviation.tag;
    const bool has_sought_name = is_function(tag) || is_type(tag) || is_variable(tag);
    std::optional<Step> step;
    if (attribute == DW_AT_name || attribute == DW_AT_linkage_name || attribute == DW_AT_MIPS_linkage_name) {
      if (has_sought_name) {
        if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) return false;
        step = step_of_name(form);
      }
    } else if ((attribute == DW_AT_abstract_origin || attribute == DW_AT_specification) && is_function(tag)) {
      step = step_of_reference(Step::kOrigin, form);
      if (!step) {
        if (form == DW_FORM_ref_addr) step = Step{Step::kOriginInSection, kOffsetSize};
        else if (form == DW_FORM_GNU_ref_alt) step = Step{Step::kOriginInAlternate, kOffsetSize};
        else return false;
        functions_elsewhere_ = true;
      }
    } else if ((attribute == DW_AT_abstract_origin || attribute == DW_AT_specification) && tag == DW_TAG_variable) {
      variables_elsewhere_ |= !step_of_reference(Step::kOrigin, form);
    } else if (attribute == DW_AT_sibling && is_skipped_whole(abbreviation)) {
      step = step_of_reference(Step::kSibling, form);
    } else if (attribute == DW_AT_str_offsets_base && is_unit(tag)) {
      step = Step{Step::kStringsBase, kOffsetSize};
    }
    if (!step) step = step_over(form, address_size);
    if (!step) return false;
    const bool joins = steps_.size() > abbreviation.first && (step->kind == Step::kSkip || step->kind == Step::kSkipUlebs) &&
                       steps_.back().kind == step->kind;
    if (joins) steps_.back().size += step->size;
    else if (step->kind != Step::kSkip || step->size > 0) steps_.push_back(*step);
    return true;
  }

  std::vector<Abbreviation> by_code_;
  std::vector<Step> steps_;
  bool functions_elsewhere_ = false, variables_elsewhere_ = false;
};

struct Header {
  uint16_t version = 0;
  size_t address_size = 0, size = 0;  // size: of the header, bytes
  uint64_t unit_size = 0;             // with the header
  uint64_t abbreviations = 0;
};

std::optional<Header> read_header(std::string_view unit) {
  ByteCursor bytes(unit);
  Header header;
  const uint64_t length = bytes.number(kOffsetSize);
  if (length >= 0xfffffff0) return std::nullopt;  // 64-bit DWARF, or reserved
  header.unit_size = kOffsetSize + length;
  header.version = static_cast<uint16_t>(bytes.number(2));
  if (header.version == 5) {
    const uint64_t kind = bytes.number(1);
    header.address_size = bytes.number(1);
    header.abbreviations = bytes.number(kOffsetSize);
    if (kind == DW_UT_type) bytes.skip(8 + kOffsetSize);  // signature, offset of the type
    else if (kind != DW_UT_compile && kind != DW_UT_partial) return std::nullopt;
  } else if (header.version >= 2 && header.version <= 4) {
    header.abbreviations = bytes.number(kOffsetSize);
    header.address_size = bytes.number(1);
  } else {
    return std::nullopt;
  }
  header.size = bytes.at();
  if (bytes.failed() || header.address_size != 8) return std::nullopt;
  return header;
}

class Scan {
 public:
  Scan(DieKey begin, std::string_view unit, const ScannedSections& sections, const SoughtName& name,
       const Abbreviations& abbreviations)
      : begin_(begin), sections_(sections), name_(name), abbreviations_(abbreviations), bytes_(unit) {}

  // False: damaged.
  bool run(size_t header_size, ScannedUnit& found) {
    found.has_variable = abbreviations_.variables_elsewhere();
    bytes_.skip(header_size);
    std::vector<DieKey> functions;  // around, by depth; 0: none
    DieKey function = 0;
    while (!bytes_.at_end()) {
      const DieKey die = begin_ + bytes_.at();
      const uint64_t code = bytes_.uleb();
      if (code == 0) {
        if (functions.empty()) break;
        function = functions.back();
        functions.pop_back();
        if (functions.empty()) break;  // behind the unit's children
        continue;
      }
      const Abbreviation* abbreviation = abbreviations_.find(code);
      if (!abbreviation || !read_die(*abbreviation)) return false;
      note(die, function, *abbreviation, found);
      if (!abbreviation->children) continue;
      if (sibling_ > die - begin_ && is_skipped_whole(*abbreviation)) {
        bytes_.move_to(sibling_);
        if (bytes_.failed()) return false;
        continue;
      }
      if (functions.size() >= kDeepest) return false;
      functions.push_back(function);
      if (abbreviation->tag == DW_TAG_subprogram) function = die;
    }
    return !bytes_.failed();
  }

 private:
  bool read_die(const Abbreviation& abbreviation) {
    named_ = false;
    origin_ = 0;
    sibling_ = 0;
    const Step* steps = abbreviations_.steps(abbreviation);
    for (uint32_t i = 0; i < abbreviation.count; ++i) {
      const Step& step = steps[i];
      switch (step.kind) {
        case Step::kSkip: bytes_.skip(step.size); break;
        case Step::kSkipUlebs:
          for (uint32_t n = 0; n < step.size; ++n) bytes_.uleb();
          break;
        case Step::kSkipBlock: bytes_.skip(number(step)); break;
        case Step::kSkipString: bytes_.text(); break;
        case Step::kNameOffset: named_ |= name_.is_at(bytes_.number(kOffsetSize)); break;
        case Step::kNameIndex: named_ |= is_name_at(number(step)); break;
        case Step::kNameString: named_ |= name_.is_in(bytes_.text()); break;
        case Step::kOrigin: origin_ = begin_ + number(step); break;
        case Step::kOriginInSection: origin_ = (begin_ & kInAlternate) | bytes_.number(kOffsetSize); break;
        case Step::kOriginInAlternate: origin_ = kInAlternate | bytes_.number(kOffsetSize); break;
        case Step::kSibling: sibling_ = number(step); break;
        case Step::kStringsBase: strings_base_ = bytes_.number(kOffsetSize); break;
      }
    }
    return !bytes_.failed();
  }

  void note(DieKey die, DieKey function, const Abbreviation& abbreviation, ScannedUnit& found) {
    switch (abbreviation.tag) {
      case DW_TAG_inlined_subroutine:
        if (origin_) found.calls.push_back({die, function, origin_});
        break;
      case DW_TAG_subprogram:
        if (named_) found.named.push_back(die);
        if (origin_) found.described.emplace_back(die, origin_);
        break;
      case DW_TAG_variable: found.has_variable |= named_; break;
      case DW_TAG_member: found.has_variable |= named_ && abbreviation.declaration; break;
      default: found.has_type |= named_; break;
    }
  }

  uint64_t number(const Step& step) { return step.size == 0 ? bytes_.uleb() : bytes_.number(step.size); }

  bool is_name_at(uint64_t index) const {
    if (index > UINT32_MAX) return false;
    ByteCursor offset(sections_.string_offsets, strings_base_ + index * kOffsetSize);
    const uint64_t in_strings = offset.number(kOffsetSize);
    return !offset.failed() && name_.is_at(in_strings);
  }

  static constexpr uint64_t kFirstContribution = 8;  // behind the header of .debug_str_offsets
  DieKey begin_;
  const ScannedSections& sections_;
  const SoughtName& name_;
  const Abbreviations& abbreviations_;
  ByteCursor bytes_;
  uint64_t strings_base_ = kFirstContribution;
  // Of the DIE that was read last.
  bool named_ = false;
  DieKey origin_ = 0;
  uint64_t sibling_ = 0;
};

// Of a unit that refers to no other: leaves out the calls of functions of other names.
void keep_named(ScannedUnit& found) {
  const std::unordered_set<DieKey> named = named_functions({&found, 1});
  std::erase_if(found.calls, [&](const ScannedUnit::Call& call) { return !named.contains(call.origin); });
  found.named.assign(named.begin(), named.end());
  found.described = {};
  found.calls.shrink_to_fit();
}

}  // namespace

std::unordered_set<DieKey> named_functions(std::span<const ScannedUnit> units) {
  std::unordered_set<DieKey> named;
  for (const ScannedUnit& unit : units) named.insert(unit.named.begin(), unit.named.end());
  for (bool grown = !named.empty(); grown;) {
    grown = false;
    for (const ScannedUnit& unit : units)
      for (const auto& [function, description] : unit.described)
        if (named.contains(description)) grown |= named.insert(function).second;
  }
  return named;
}

ScannedUnit scan_unit(DieKey begin, std::string_view unit, const ScannedSections& sections, const SoughtName& name) {
  ScannedUnit found;
  const auto header = read_header(unit);
  Abbreviations abbreviations;
  const bool known =
      header && abbreviations.read(sections.abbreviations, header->abbreviations, header->version, header->address_size);
  found.refers_elsewhere = abbreviations.refers_elsewhere();
  if (known && Scan(begin, unit.substr(0, header->unit_size), sections, name, abbreviations).run(header->size, found)) {
    if (!found.refers_elsewhere) keep_named(found);
    return found;
  }
  found = {};
  found.unsure = true;
  return found;
}

}  // namespace spile::debuginfo
