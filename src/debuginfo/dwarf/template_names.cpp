#include "debuginfo/dwarf/template_names.h"

#include <dwarf.h>
#include <fmt/format.h>

namespace spile::debuginfo {
namespace {

// Types come from other people's files: arguments within each other, and all that are spelled for one name.
constexpr int kDeepest = 6, kMostSpelled = 200;

class Speller {
 public:
  explicit Speller(DwarfFile& file) : file_(file) {}

  std::string arguments(Dwarf_Die& die, int depth) {
    std::string text;
    return list(die, depth, text) ? "<" + text + ">" : std::string();
  }

 private:
  // Whether there are parameters of a template, if only an empty pack.
  bool list(Dwarf_Die& die, int depth, std::string& text) {
    bool any = false;
    for (ChildDies children(die); children.valid(); children.next()) {
      const int tag = children.tag();
      if (tag == DW_TAG_GNU_template_parameter_pack) {
        list(children.die(), depth, text);
        any = true;
      }
      if (tag != DW_TAG_template_type_parameter && tag != DW_TAG_template_value_parameter &&
          tag != DW_TAG_GNU_template_template_param)
        continue;
      any = true;
      if (++spelled_ > kMostSpelled) break;
      if (!text.empty()) text += ", ";
      text += tag == DW_TAG_template_type_parameter ? type_of(children.die(), depth) : value_of(children.die());
    }
    return any;
  }

  std::string value_of(Dwarf_Die& parameter) {
    Dwarf_Attribute attribute;
    Dwarf_Attribute* value = dwarf_attr(&parameter, DW_AT_const_value, &attribute);
    Dwarf_Sword number = 0;
    Dwarf_Word large = 0;
    if (value && dwarf_whatform(value) == DW_FORM_udata && dwarf_formudata(value, &large) == 0) return fmt::format("{}", large);
    return value && dwarf_formsdata(value, &number) == 0 ? fmt::format("{}", number) : "...";
  }

  // The type that an attribute of the DIE refers to.
  std::string type_of(Dwarf_Die& die, int depth) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute)) return "void";
    if (depth > kDeepest || !file_.referred(&attribute, &type)) return "...";
    const std::string name = die_name(type);
    switch (dwarf_tag(&type)) {
      case DW_TAG_pointer_type: return type_of(type, depth + 1) + "*";
      case DW_TAG_reference_type: return type_of(type, depth + 1) + "&";
      case DW_TAG_rvalue_reference_type: return type_of(type, depth + 1) + "&&";
      case DW_TAG_const_type: return "const " + type_of(type, depth + 1);
      case DW_TAG_volatile_type: return "volatile " + type_of(type, depth + 1);
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type: return name.find('<') == name.npos ? name + arguments(type, depth + 1) : name;
      default: return name.empty() ? "..." : name;
    }
  }

  DwarfFile& file_;
  int spelled_ = 0;
};

// Without spaces, but for those between two words; without scopes within arguments if these are not wanted, and in any case
// without those of inline namespaces of libraries: std::__1::, std::__cxx11::.
std::string normal(std::string_view name, bool with_scopes) {
  auto is_word = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == ' ') {
      if (!out.empty() && is_word(out.back()) && i + 1 < name.size() && is_word(name[i + 1])) out += c;
    } else if (c == ':' && i + 1 < name.size() && name[i + 1] == ':') {
      constexpr std::string_view kNameless = "(anonymous namespace)";
      size_t word = out.size();
      while (word > 0 && is_word(out[word - 1])) --word;
      if (out.ends_with(kNameless)) out.resize(word - kNameless.size());
      else if (!with_scopes || is_inline_namespace(std::string_view(out).substr(word))) out.resize(word);
      else out += "::";
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string template_arguments(DwarfFile& file, Dwarf_Die& die) {
  const std::string arguments = Speller(file).arguments(die, 0);
  Dwarf_Die unit;
  // The parts of a Rust enum have the parameters of the whole, and none of them in their names.
  if (!arguments.empty() && dwarf_diecu(&die, &unit, nullptr, nullptr) && dwarf_srclang(&unit) == DW_LANG_Rust) return {};
  return arguments;
}

bool is_named(DwarfFile& file, Dwarf_Die& die, const std::string& wanted) {
  const char* name = dwarf_diename(&die);
  const std::string_view own = name ? name : "";
  const size_t open = wanted.find('<');
  // "Pair" is none of the classes Pair<int>, Pair<char> ..., and all of them without arguments in their names.
  if (own == wanted) return open != wanted.npos || template_arguments(file, die).empty();
  if (open == wanted.npos ||
      own.substr(0, own.find('<')) != std::string_view(wanted).substr(0, wanted.find_last_not_of(' ', open - 1) + 1))
    return false;
  const bool is_simple = own.find('<') == own.npos;
  const std::string has = normal(is_simple ? std::string(own) + template_arguments(file, die) : std::string(own), !is_simple);
  const std::string asked = normal(wanted, !is_simple);
  if (has == asked) return true;
  // Arguments that are left out: in place of the last '>' there is a comma.
  const size_t end = asked.size() - 1;
  return asked.back() == '>' && has.size() > asked.size() && has.compare(0, end, asked, 0, end) == 0 && has[end] == ',';
}

bool is_inline_namespace(std::string_view name) {
  return name.empty() || name == "__1" || name == "__2" || name == "__cxx11" || name == "__ndk1" || name == "_V2";
}

std::vector<std::string> scopes_of_type(std::string_view name) {
  std::vector<std::string> scopes(1);
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth == 0 && name[i] == ':' && i + 1 < name.size() && name[i + 1] == ':') {
      scopes.emplace_back();
      ++i;
    } else {
      scopes.back() += name[i];
    }
  }
  return scopes;
}

}  // namespace spile::debuginfo
