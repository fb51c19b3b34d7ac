#include "probes/values/part_list.h"

#include <algorithm>
#include <set>

namespace spile::probes {

namespace {

using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;
using sema::PrettyPart;
using syntax::FormatPart;
using syntax::PathStep;

constexpr size_t kMostValues = 32;  // of one string; more are "..."
constexpr int kDeepest = 16;
constexpr size_t kMostBases = 256;
constexpr size_t kMostText = 4096;  // bytes between two values: types come from other people's files

class Printer {
 public:
  explicit Printer(bool deep) : deep_(deep) {}

  std::vector<PrettyPart> list(const debuginfo::Place& place) {
    top(place);
    if (!text_.empty()) parts_.push_back({std::move(text_), false, {}, {}});
    return std::move(parts_);
  }

 private:
  void top(const debuginfo::Place& place) {
    if (place.bit_size) return value(FormatPart::Kind::kSigned);
    top(place.type, 0);
  }

  // References and pointers are followed at the top.
  void top(const Type& type, int depth) {
    if (type.kind() == TypeKind::kPointer && !type.is_string() && depth < 2) {
      Type target = type.target();
      TypeKind kind = target.kind();
      if (type.is_reference()) {
        if (kind != TypeKind::kStruct && kind != TypeKind::kUnion) text_ += "&";
        return top(target, depth + 1);
      }
      if (kind == TypeKind::kStruct || kind == TypeKind::kUnion) {
        return members(target, 0);
      }
      if (kind != TypeKind::kVoid && kind != TypeKind::kUnknown && kind != TypeKind::kFunction && kind != TypeKind::kArray) {
        path_.push_back(element(0));
        one(target, 0, true);
        path_.pop_back();
        return;
      }
    }
    one(type, 0, true);
  }

  static PathStep element(int64_t index) {
    PathStep step;
    step.kind = PathStep::Kind::kElement;
    step.number = index;
    return step;
  }
  static PathStep member_step(const std::string& name) {
    PathStep step;
    step.kind = PathStep::Kind::kMember;
    step.name = name;
    return step;
  }

  bool is_full() const { return values_ >= kMostValues || text_.size() > kMostText; }

  void value(FormatPart::Kind kind, bool alternate = false) {
    if (values_ >= kMostValues) {
      text_ += "...";
      return;
    }
    ++values_;
    PrettyPart part;
    part.literal = std::move(text_);
    text_.clear();
    part.has_value = true;
    for (const PathStep& step : path_) {
      PathStep& copy = part.path.emplace_back();
      copy.kind = step.kind;
      copy.range = step.range;
      copy.name = step.name;
      copy.number = step.number;
    }
    part.format.kind = kind;
    part.format.alternate = alternate;
    parts_.push_back(std::move(part));
  }

  void string(const Type& type) {
    PathStep step;
    step.kind = PathStep::Kind::kText;
    step.number = static_cast<int64_t>(std::min<uint64_t>(type.count().value_or(0), 1 << 20));
    path_.push_back(std::move(step));
    value(FormatPart::Kind::kString);
    path_.pop_back();
  }

  static bool is_wide_character(const Type& type) {
    std::string name = type.name();
    return name == "char16_t" || name == "char32_t" || name == "wchar_t";
  }

  void one(const Type& type, int depth, bool expand) {
    switch (type.kind()) {
      case TypeKind::kStruct:
      case TypeKind::kUnion:
        if (expand && depth < kDeepest) return members(type, depth);
        text_ += "{...}";
        return;
      case TypeKind::kArray:
        if (type.is_string() && (!type.shape() || type.count())) return string(type);
        if (expand && depth < kDeepest && !type.shape()) return elements(type, depth);
        text_ += "[...]";
        return;
      case TypeKind::kPointer:
        if (type.is_string()) return string(type);
        return value(FormatPart::Kind::kPointer);
      case TypeKind::kEnum: return value(FormatPart::Kind::kSigned);
      case TypeKind::kInteger:
        if (type.is_character()) {
          text_ += '\'';
          value(FormatPart::Kind::kChar, true);
          text_ += '\'';
          return;
        }
        if (is_wide_character(type)) return value(FormatPart::Kind::kString);
        if (!type.is_scalar()) break;
        return value(type.is_signed() ? FormatPart::Kind::kSigned : FormatPart::Kind::kUnsigned);
      case TypeKind::kFunction: text_ += "<function>:"; return value(FormatPart::Kind::kPointer);
      default: break;
    }
    text_ += '?';
  }

  void members(const Type& type, int depth) {
    if (!type.variants().empty()) {  // which of a Rust enum's variants it is, is known only at run time
      text_ += '?';
      return;
    }
    if (depth > kDeepest || is_full()) {
      text_ += "{...}";
      return;
    }
    text_ += '{';
    bool first = true;
    Listing listing;
    list_members(type, depth, first, listing);
    text_ += '}';
  }

  // A class whose bases' members are listed as its own.
  struct Listing {
    std::vector<std::string> bases;  // from the class to the base that is being listed
    std::set<std::string> masking;   // names that mean members of classes derived from that one
    std::set<std::string> listed;
  };

  void list_members(const Type& type, int depth, bool& first, Listing& listing) {
    // Members of another base may have the same name; a path to the second one names the base.
    const std::set<std::string> masked = listing.masking, ambiguous = listing.listed;
    for (const Member& member : type.members()) {
      if (member.is_base) continue;
      listing.masking.insert(member.name);
      listing.listed.insert(member.name);
    }
    for (const Member& member : type.members()) {
      if (member.name.starts_with("_vptr")) continue;
      TypeKind kind = member.type.kind();
      bool nameless = member.name.empty();
      if (nameless && kind != TypeKind::kStruct && kind != TypeKind::kUnion) continue;  // padding bits
      if (member.is_base) {
        if (listing.bases.size() >= kDeepest || ++bases_ > kMostBases) continue;
        listing.bases.push_back(member.type.name());
        list_members(member.type, depth, first, listing);
        listing.bases.pop_back();
        continue;
      }
      if (!nameless && masked.contains(member.name)) continue;
      if (!first) text_ += ", ";
      first = false;
      if (is_full()) {
        text_ += "...";
        return;
      }
      if (nameless) {  // its members are reached as if they were ours
        members(member.type, depth + 1);
        continue;
      }
      text_ += "." + member.name + "=";
      size_t outer = path_.size();
      if (ambiguous.contains(member.name)) {
        for (const std::string& base : listing.bases) path_.push_back(member_step(base));
      }
      path_.push_back(member_step(member.name));
      if (member.bit_size) value(member.type.is_signed() ? FormatPart::Kind::kSigned : FormatPart::Kind::kUnsigned);
      else one(member.type, depth + 1, deep_);
      path_.resize(outer);
    }
    listing.masking = masked;
  }

  void elements(const Type& type, int depth) {
    text_ += '[';
    uint64_t count = type.count().value_or(0);
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) text_ += ", ";
      if (is_full()) {
        text_ += "...";
        break;
      }
      path_.push_back(element(static_cast<int64_t>(i)));
      one(type.target(), depth + 1, deep_);
      path_.pop_back();
    }
    if (!type.count()) text_ += "...";
    text_ += ']';
  }

  bool deep_;
  std::vector<PrettyPart> parts_;
  std::vector<PathStep> path_;
  std::string text_;
  size_t values_ = 0;
  size_t bases_ = 0;
};

}  // namespace

std::vector<PrettyPart> list_parts(const debuginfo::Place& place, bool deep) { return Printer(deep).list(place); }

}  // namespace spile::probes
