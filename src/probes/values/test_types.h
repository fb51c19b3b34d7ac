#pragma once
// For the unit tests of this folder: types of programs made by hand, and plans as text.

#include <fmt/format.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "abi/value_plan.h"
#include "base/files/bytes.h"
#include "debuginfo/terms/type.h"
#include "debuginfo/terms/type_node.h"

namespace spile::probes {

// A module with only types. Ids count from 2, in the order in which types are made; a type may name one that is made later
// (next()).
class MadeTypes {
 public:
  using Members = std::vector<debuginfo::MemberNode>;

  uint64_t next() const { return kFirst + source_->nodes.size(); }
  uint64_t add(debuginfo::TypeNode node) {
    source_->nodes.push_back(std::move(node));
    return next() - 1;
  }
  uint64_t number(const std::string& name, uint64_t size, bool is_signed = true) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kInteger, .name = name, .size = size};
    node.is_signed = is_signed;
    node.is_boolean = name == "bool";
    node.is_character = size == 1 && name.ends_with("char");
    return add(node);
  }
  uint64_t floating(const std::string& name, uint64_t size, bool is_extended = false, bool is_complex = false) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kFloat, .name = name, .size = size};
    node.is_extended = is_extended;
    node.is_complex = is_complex;
    return add(node);
  }
  uint64_t pointer(uint64_t target, bool is_reference = false) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kPointer, .size = 8, .target = target};
    node.is_reference = is_reference;
    return add(node);
  }
  uint64_t array(uint64_t of, uint64_t count) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kArray, .target = of};
    node.has_count = true;
    node.count = count;
    return add(node);
  }
  uint64_t flexible_array(uint64_t of) { return add({.kind = debuginfo::TypeKind::kArray, .target = of}); }
  // name: without "struct ". arguments: of a template.
  uint64_t structure(const std::string& name, uint64_t size, Members members, std::vector<uint64_t> arguments = {}) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kStruct, .name = "struct " + name, .size = size};
    node.members = std::move(members);
    node.arguments = std::move(arguments);
    return add(node);
  }
  uint64_t declared(const std::string& name) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kStruct, .name = "struct " + name};
    node.is_declaration = true;
    return add(node);
  }
  uint64_t enumeration(const std::string& name, uint64_t size, std::vector<debuginfo::Enumerator> constants,
                       bool is_signed = false) {
    debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kEnum, .name = "enum " + name, .size = size};
    node.is_signed = is_signed;
    node.enumerators = std::move(constants);
    return add(node);
  }
  debuginfo::Type operator[](uint64_t id) const { return {source_, id}; }
  debuginfo::TypeNode& node(uint64_t id) { return source_->nodes.at(id - kFirst); }

 private:
  static constexpr uint64_t kFirst = 2;
  struct Source : debuginfo::TypeSource {
    const debuginfo::TypeNode& type_node(uint64_t id) override {
      static const debuginfo::TypeNode unknown, nothing{.kind = debuginfo::TypeKind::kVoid};
      if (id == debuginfo::kVoidType) return nothing;
      return id >= kFirst && id - kFirst < nodes.size() ? nodes[id - kFirst] : unknown;
    }
    uint64_t type_definition(uint64_t) override { return debuginfo::kUnknownType; }
    std::deque<debuginfo::TypeNode> nodes;
  };
  std::shared_ptr<Source> source_ = std::make_shared<Source>();
};

// A base class.
inline debuginfo::MemberNode base(uint64_t type, uint64_t offset) {
  debuginfo::MemberNode member{"", type, offset};
  member.is_base = true;
  return member;
}
inline debuginfo::MemberNode bits(const std::string& name, uint64_t type, uint64_t offset, uint32_t first, uint32_t count) {
  return {name, type, offset, first, count};
}

// A plan as text, routine 0 first; routines that are called by others follow on lines of their own, in the order of their use.
// Each step is a word, texts are in quotes: `"{.x=" signed4@0 "}"`. Computations are postfix: [base+8 load8].
class PlanText {
 public:
  static std::string of(const std::string& plan) {
    PlanText text(plan);
    std::string lines = text.routine(0);
    for (size_t i = 0; i < text.used_.size(); ++i) lines += fmt::format("\n#{}: ", i + 1) + text.routine(text.used_[i]);
    return lines;
  }

 private:
  explicit PlanText(const std::string& plan) : plan_(plan) {}

  uint8_t byte(size_t& at) const { return static_cast<uint8_t>(plan_.at(at++)); }
  template <typename Read>
  auto read(size_t& at, Read read) const {
    ByteCursor in(plan_, at);
    const auto value = read(in);
    at = in.at();
    return value;
  }
  uint64_t number(size_t& at) const {
    return read(at, [](ByteCursor& in) { return in.uleb(); });
  }
  int64_t signed_number(size_t& at) const {
    return read(at, [](ByteCursor& in) { return in.sleb(); });
  }
  uint32_t offset(size_t& at) const {
    return read(at, [](ByteCursor& in) { return in.fixed<uint32_t>(); });
  }
  std::string target(size_t& at) {
    const uint32_t begin = offset(at);
    if (begin == 0) return "#0";
    auto known = std::find(used_.begin(), used_.end(), begin);
    if (known == used_.end()) known = used_.insert(used_.end(), begin);
    return fmt::format("#{}", known - used_.begin() + 1);
  }
  std::string source(size_t& at) {
    std::string text = "[";
    while (true) {
      const abi::ValueSource op{byte(at)};
      if (op == abi::ValueSource::kEnd) return text + "]";
      if (text.size() > 1 && op != abi::ValueSource::kPlus) text += " ";
      switch (op) {
        case abi::ValueSource::kBase: text += "base"; break;
        case abi::ValueSource::kConstant: text += fmt::format("{}", signed_number(at)); break;
        case abi::ValueSource::kLoad: {
          const unsigned size = byte(at);
          text += fmt::format("load{}{}", size, byte(at) ? "s" : "");
          break;
        }
        case abi::ValueSource::kPlus: text += fmt::format("{:+}", signed_number(at)); break;
        case abi::ValueSource::kMinus: text += "minus"; break;
        case abi::ValueSource::kAdd: text += "add"; break;
        case abi::ValueSource::kTimes: text += fmt::format("times{}", signed_number(at)); break;
        case abi::ValueSource::kDivide: text += fmt::format("divide{}", number(at)); break;
        case abi::ValueSource::kAnd: text += fmt::format("and{}", signed_number(at)); break;
        case abi::ValueSource::kShiftRight: text += fmt::format("shift{}", number(at)); break;
        case abi::ValueSource::kMultiply: text += "multiply"; break;
        default: return text + "bad";
      }
    }
  }
  static std::string name_of(uint8_t form) {
    static constexpr const char* kNames[] = {"unsigned", "signed", "pointer", "byte", "character", "truth"};
    return kNames[form];
  }
  std::string table(size_t& at) const {
    size_t entry = offset(at);
    std::string text = byte(entry) == static_cast<uint8_t>(abi::ValueTable::kFlags) ? "flags{" : "{";
    for (uint64_t left = number(entry); left > 0; --left) {
      const int64_t value = signed_number(entry);
      const uint64_t length = number(entry);
      text += fmt::format("{}{}={}", text.ends_with('{') ? "" : " ", plan_.substr(entry, length), value);
      entry += length;
    }
    return text + "}";
  }
  std::string container(const char* name, size_t& at, int sources, int numbers, int routines, bool first_is_signed = false) {
    std::string text = name;
    text += ' ';
    for (int i = 0; i < 2; ++i) text += static_cast<char>(byte(at));
    for (int i = 0; i < sources; ++i) text += ' ' + source(at);
    for (int i = 0; i < numbers; ++i)
      text += i == 0 && first_is_signed ? fmt::format(" {}", signed_number(at)) : fmt::format(" {}", number(at));
    for (int i = 0; i < routines; ++i) text += ' ' + target(at);
    return text;
  }
  std::string routine(size_t at) {
    std::string text;
    while (true) {
      const abi::ValueStep op{byte(at)};
      if (op == abi::ValueStep::kEnd) return text;
      if (!text.empty()) text += ' ';
      switch (op) {
        case abi::ValueStep::kText: {
          const uint64_t length = number(at);
          text += '"' + plan_.substr(at, length) + '"';
          at += length;
          break;
        }
        case abi::ValueStep::kNumber: {
          const uint64_t place = number(at);
          const unsigned size = byte(at);
          text += fmt::format("{}{}@{}", name_of(byte(at)), size, place);
          break;
        }
        case abi::ValueStep::kBits: {
          const uint64_t place = number(at);
          const unsigned size = byte(at), first = byte(at), count = byte(at);
          text += fmt::format("{}{}@{}:{}-{}", name_of(byte(at)), size, place, first, first + count);
          break;
        }
        case abi::ValueStep::kEnumerator: {
          const uint64_t place = number(at);
          const unsigned size = byte(at), first = byte(at), count = byte(at), is_signed = byte(at);
          text += fmt::format("enum{}{}@{}:{}-{}", size, is_signed ? "s" : "", place, first, first + count) + table(at);
          break;
        }
        case abi::ValueStep::kFloat: {
          const uint64_t place = number(at);
          text += fmt::format("float{}@{}", byte(at), place);
          break;
        }
        case abi::ValueStep::kCharacters: {
          const uint64_t place = number(at), count = number(at);
          text += fmt::format("characters{}@{}x{}", byte(at), place, count);
          break;
        }
        case abi::ValueStep::kCString: {
          const std::string from = source(at);
          text += fmt::format("text{}{}", byte(at), from);
          break;
        }
        case abi::ValueStep::kSpan: {
          const std::string from = source(at), length = source(at);
          text += fmt::format("span{}{}{}", byte(at), from, length);
          break;
        }
        case abi::ValueStep::kCall:
        case abi::ValueStep::kInline: {
          const uint64_t place = number(at);
          text += fmt::format("{}{}@{}", op == abi::ValueStep::kCall ? "call" : "inline", target(at), place);
          break;
        }
        case abi::ValueStep::kFollow: {
          const std::string from = source(at);
          text += "follow" + target(at) + from;
          break;
        }
        case abi::ValueStep::kSwitch: {
          text += "switch" + source(at) + "{";
          for (uint64_t left = number(at); left > 0; --left) {
            const int64_t value = signed_number(at);
            text += fmt::format("{}{}", value, target(at)) + " ";
          }
          text += "else" + target(at) + "}";
          break;
        }
        case abi::ValueStep::kElements: text += container("elements", at, 3, 0, 1); break;
        case abi::ValueStep::kList: text += container("list", at, 3, 2, 1, true); break;
        case abi::ValueStep::kTree: text += container("tree", at, 2, 4, 1); break;
        case abi::ValueStep::kBlocks: text += container("blocks", at, 3, 2, 1); break;
        case abi::ValueStep::kBitVector: text += container("bits", at, 3, 0, 0); break;
        case abi::ValueStep::kRing: text += container("ring", at, 4, 1, 1); break;
        case abi::ValueStep::kHashTable: text += container("hashtable", at, 3, 1, 1); break;
        case abi::ValueStep::kBTree: text += container("btree", at, 3, 8, 2); break;
        case abi::ValueStep::kGoMap: text += container("gomap", at, 3, 5, 2); break;
        case abi::ValueStep::kComputed: {
          const std::string from = source(at);
          text += name_of(byte(at)) + from;
          break;
        }
        case abi::ValueStep::kGoInterface: {
          text += fmt::format("interface{:#x}", number(at));
          text += source(at);
          text += source(at);
          break;
        }
        case abi::ValueStep::kInstant: {
          const uint64_t place = number(at);
          text += fmt::format("instant@{}/{}", place, number(at));
          break;
        }
        case abi::ValueStep::kCode: {
          text += fmt::format("code{}", byte(at));
          text += source(at);
          text += source(at);
          break;
        }
        default: return text + "bad";
      }
    }
  }

  const std::string& plan_;
  std::vector<size_t> used_;
};

}  // namespace spile::probes
