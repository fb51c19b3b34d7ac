// Types of Rust, as rustc describes them to gdb and lldb. Layouts of Rust are not fixed: all offsets are from the debug
// information.

#include <algorithm>

#include "probes/values/known_types.h"

namespace spile::probes {

namespace {

using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;

// Members of a tuple, or of a variant without names, are called __0, __1 ...
bool is_tuple(const std::vector<Member>& members) { return !members.empty() && members.front().name == "__0"; }

void plan_fields(ValuePlanner& planner, Routine& out, const std::vector<Member>& members, uint64_t offset, Detail detail) {
  const bool tuple = is_tuple(members);
  out.text(tuple ? "(" : "{");
  for (size_t i = 0; i < members.size(); ++i) {
    if (i) out.text(", ");
    if (!tuple) out.text("." + members[i].name + "=");
    planner.value(out, members[i].type, offset + members[i].offset, detail);
  }
  out.text(tuple ? ")" : "}");
}

// Option, Result, and enums of the program: the name of the variant, and its data behind it.
void plan_enum(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  std::vector<std::pair<int64_t, size_t>> cases;
  size_t otherwise = planner.text_routine("?");
  const std::vector<debuginfo::Variant> variants = type.variants();
  auto discriminant = type.discriminant();
  for (const debuginfo::Variant& variant : variants) {
    Routine form;
    std::string name = variant.data.name.empty() ? variant.data.type.plain_name() : variant.data.name;
    form.text(name);
    const std::vector<Member> members = variant.data.type.members();
    if (!members.empty()) plan_fields(planner, form, members, offset + variant.data.offset, ValuePlanner::inner(detail));
    const size_t routine = planner.add(std::move(form));
    if (variant.is_default || !discriminant) otherwise = routine;
    else cases.emplace_back(variant.value, routine);
  }
  const uint64_t size = discriminant ? discriminant->type.size() : 0;
  if (size != 1 && size != 2 && size != 4 && size != 8) return out.inlined(0, otherwise);
  // Values are written as unsigned numbers of that size.
  out.choose(Source().base(offset + discriminant->offset).load(static_cast<uint8_t>(size)), cases, otherwise);
}

// Vec<T> and String: somewhere within is a pointer, and the length is a member of its own.
bool plan_vec(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto length = type.member("len"), pointer = find_within(type, "pointer", TypeKind::kPointer);
  const std::vector<Type> arguments = type.arguments();
  if (!length || !pointer || arguments.empty() || arguments[0].size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  out.elements("[]", Source().base(offset + pointer->offset).load(), Source().base(offset + length->offset).load(),
               arguments[0].size(), planner.routine_of(arguments[0], ValuePlanner::inner(detail)));
  return true;
}

bool plan_string(Routine& out, const Type& type, uint64_t offset) {
  auto vec = type.member("vec");
  auto length = vec ? vec->type.member("len") : std::nullopt,
       pointer = vec ? find_within(vec->type, "pointer", TypeKind::kPointer) : std::nullopt;
  if (!length || !pointer) return false;
  const uint64_t at = offset + vec->offset;
  out.span(Source().base(at + pointer->offset).load(), Source().base(at + length->offset).load(), 1);
  return true;
}

// "&str", "&mut str", "Box<str, Global>", "Rc<str>": what the pointer leads to is text. Paths and strings of the system are, too.
bool is_text(std::string_view name) {
  if (const size_t open = name.find('<'); open != name.npos) name.remove_prefix(open + 1);
  name.remove_prefix(std::min(name.find_first_not_of("&* "), name.size()));
  for (std::string_view qualifier : {"mut ", "const "}) {
    if (name.starts_with(qualifier)) name.remove_prefix(qualifier.size());
  }
  name = name.substr(0, name.find_first_of(",>"));
  if (const size_t scope = name.rfind(':'); scope != name.npos) name.remove_prefix(scope + 1);
  return name == "str" || name == "Path" || name == "OsStr" || name == "CStr";
}

// &str, &[T] and their kin: a pointer and a length.
bool plan_slice(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset, Detail detail) {
  auto pointer = type.member("data_ptr"), length = type.member("length");
  if (!pointer || !length) return false;
  const Source first = Source().base(offset + pointer->offset).load(), count = Source().base(offset + length->offset).load();
  if (is_text(name) && pointer->type.kind() == TypeKind::kPointer) return out.span(first, count, 1), true;
  const Type element = pointer->type.target();
  if (element.size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  out.elements("[]", first, count, element.size(), planner.routine_of(element, ValuePlanner::inner(detail)));
  return true;
}

// &dyn Trait, Box<dyn Trait>: the address of the object, and a function of its type, whose name has the type: the first method of
// the table, else what drops it. In front of the methods are that one, the size and the alignment.
bool plan_trait_object(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset) {
  auto pointer = type.member("pointer"), table = type.member("vtable");
  if (!pointer || !table || pointer->type.kind() != TypeKind::kPointer || table->type.kind() != TypeKind::kPointer) return false;
  const Type slots = table->type.target();
  if (slots.kind() != TypeKind::kArray) return false;
  constexpr uint64_t kHead = 3;
  const bool has_methods = slots.count().value_or(0) > kHead;
  auto named = [&](uint64_t slot) {
    Routine there;
    there.number(offset + pointer->offset, 8, abi::ValueForm::kPointer);
    there.text(" (");
    there.code(abi::ValueCode::kFunction,
               Source().base(offset + table->offset).load().plus(static_cast<int64_t>(8 * slot)).load(), Source::constant(0));
    there.text(")");
    return planner.add(std::move(there));
  };
  Routine bare;
  bare.number(offset + pointer->offset, 8, abi::ValueForm::kPointer);
  const size_t unknown = planner.add(std::move(bare));
  if (has_methods) {
    out.choose(Source().base(offset + table->offset).load(), {{0, unknown}}, named(kHead));
    return true;
  }
  Routine some;
  some.choose(Source().base(offset + table->offset).load().load(), {{0, unknown}}, named(0));
  out.choose(Source().base(offset + table->offset).load(), {{0, unknown}}, planner.add(std::move(some)));
  return true;
}

// Rc, Arc and their Weak: a pointer to two counts and the value behind them; of text and slices with a length.
bool plan_counted(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset,
                  Detail detail) {
  auto pointer = find_within(type, "pointer", TypeKind::kPointer), fat = find_within(type, "data_ptr", TypeKind::kPointer),
       length = find_within(type, "length");
  if (fat && !length) return false;
  if (fat) pointer = fat;
  if (!pointer) return false;
  const Type shared = pointer->type.target();
  auto value = shared.member("value"), strong = shared.member("strong");
  if (!value) value = shared.member("data");
  if (!value || !strong || strong->type.size() != 8) return false;
  auto place = [&] { return Source().base(offset + pointer->offset).load().plus(static_cast<int64_t>(value->offset)); };
  const Source count = fat ? Source().base(offset + length->offset).load() : Source();
  Routine there;
  if (fat && is_text(name)) {
    there.span(place(), count, 1);
  } else if (fat) {
    if (value->type.size() == 0) return false;
    if (detail == Detail::kNested) there.text("[...]");
    else there.elements("[]", place(), count, value->type.size(), planner.routine_of(value->type, ValuePlanner::inner(detail)));
  } else {
    there.computed(place(), abi::ValueForm::kPointer);
    if (detail != Detail::kNested && value->type.size()) {
      there.text(" -> ");
      there.follow(place(), planner.routine_of(value->type, detail));
    }
  }
  there.text(" (use ");
  there.computed(Source().base(offset + pointer->offset).load().plus(static_cast<int64_t>(strong->offset)).load(),
                 abi::ValueForm::kUnsigned);
  there.text(")");
  // A Weak that was made without a value points to the last address.
  out.choose(Source().base(offset + pointer->offset).load(),
             {{0, planner.text_routine("NULL")}, {-1, planner.text_routine("dangling")}}, planner.add(std::move(there)));
  return true;
}

// The one member with a size: types that only say how their value may be used.
std::optional<Member> only_member(const Type& type) {
  std::optional<Member> found;
  for (const Member& member : type.members()) {
    if (member.type.size() == 0) continue;
    if (found) return std::nullopt;
    found = member;
  }
  return found;
}

bool plan_wrapper(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto member = only_member(type);
  if (!member) return false;
  planner.value(out, member->type, offset + member->offset, detail);
  return true;
}

// RefCell, Mutex, RwLock: the value, and behind it whether somebody uses it.
bool plan_guarded(ValuePlanner& planner, Routine& out, const Type& type, std::string_view base, uint64_t offset, Detail detail) {
  auto value = type.member("value"), state = type.member("borrow");
  if (!value) value = type.member("data");
  if (!state) state = type.member("inner");
  if (!value || !state || value->type.size() == 0) return false;
  const uint64_t size = state->type.size();
  if (base == "RefCell" ? size != 8 : size != 4 && size != 8) return false;
  planner.value(out, value->type, offset + value->offset, detail);
  // A RefCell counts readers, or -1 for a writer. Locks of Linux are numbers of 4 bytes (std::sys::sync, futex.rs): of a Mutex 0
  // is unlocked; the low 30 bits of a RwLock count readers, all of them set are a writer.
  if (base == "RefCell") {
    Routine borrowed;
    borrowed.text(" (borrowed ");
    borrowed.number(offset + state->offset, 8, abi::ValueForm::kSigned);
    borrowed.text(")");
    const size_t readers = planner.add(std::move(borrowed));
    out.choose(Source().base(offset + state->offset).load(),
               {{0, planner.text_routine("")}, {-1, planner.text_routine(" (borrowed mutably)")}}, readers);
    return true;
  }
  const bool is_mutex = base == "Mutex";
  constexpr uint32_t kReaderBits = 30;
  constexpr int64_t kWriter = (int64_t{1} << kReaderBits) - 1;
  const size_t otherwise = planner.text_routine(is_mutex ? " (locked)" : " (read-locked)");
  out.choose(Source().base(offset + state->offset).load(4).bits(0, is_mutex ? 32 : kReaderBits),
             {{0, planner.text_routine("")}, {kWriter, planner.text_routine(is_mutex ? " (locked)" : " (write-locked)")}},
             otherwise);
  return true;
}

// ---- containers

// Finds a type by the beginning of its name among the members of a type, and theirs.
std::optional<Member> find_type(const Type& type, std::string_view prefix, int depth = 0) {
  constexpr int kDeepest = 4;
  for (Member member : type.members()) {
    if (member.type.kind() != TypeKind::kStruct) continue;
    if (member.type.plain_name().starts_with(prefix)) return member;
    if (depth == kDeepest) continue;
    if (auto inner = find_type(member.type, prefix, depth + 1)) {
      inner->offset += member.offset;
      return inner;
    }
  }
  return std::nullopt;
}

// HashMap and HashSet, of the standard library and of the crate hashbrown; also those that are made of them.
bool plan_hash_table(ValuePlanner& planner, Routine& out, const Type& type, bool is_map, uint64_t offset, Detail detail) {
  auto table = find_type(type, "RawTable<");
  const std::vector<Type> arguments = table ? table->type.arguments() : std::vector<Type>();
  if (arguments.empty() || arguments[0].size() == 0) return false;
  auto mask = find_within(table->type, "bucket_mask"), items = find_within(table->type, "items"),
       control = find_within(table->type, "ctrl");
  auto key = arguments[0].member("__0"), value = arguments[0].member("__1");
  if (control && control->type.kind() == TypeKind::kStruct) {
    auto pointer = find_within(control->type, "pointer", TypeKind::kPointer);
    if (!pointer) return false;
    pointer->offset += control->offset;
    control = pointer;
  }
  if (!mask || !items || !control || control->type.kind() != TypeKind::kPointer || !key || (is_map && !value)) return false;
  if (detail == Detail::kNested) return out.text("{...}"), true;
  const Detail inner = ValuePlanner::inner(detail);
  Routine entry;
  planner.value(entry, key->type, key->offset, inner);
  if (is_map) {
    entry.text(": ");
    planner.value(entry, value->type, value->offset, inner);
  }
  const uint64_t at = offset + table->offset;
  auto word = [&](const Member& member) { return Source().base(at + member.offset).load(); };
  out.hash_table("{}", word(*control), word(*mask), word(*items), arguments[0].size(), planner.add(std::move(entry)));
  return true;
}

// BTreeMap, and BTreeSet, which has one. The nodes are described where they are used first.
bool plan_b_tree(ValuePlanner& planner, Routine& out, const Type& type, bool is_map, uint64_t offset, Detail detail) {
  uint64_t at = offset;
  Type map = type;
  if (!is_map) {
    auto inner = type.member("map");
    if (!inner) return false;
    map = inner->type;
    at += inner->offset;
  }
  const std::vector<Type> arguments = map.arguments();
  auto root = map.member("root"), length = map.member("length");
  if (arguments.size() < 2 || !root || !length) return false;
  std::optional<Member> reference;
  for (const debuginfo::Variant& variant : root->type.variants()) {
    if (auto found = find_type(variant.data.type, "NodeRef<")) {
      reference = found;
      reference->offset += variant.data.offset + root->offset;
    }
  }
  auto height = reference ? reference->type.member("height") : std::nullopt;
  auto node = reference ? find_within(reference->type, "pointer", TypeKind::kPointer) : std::nullopt;
  if (!height || !node) return false;
  const Type leaf = node->type.target();
  auto parent = leaf.member("parent"), place = leaf.member("parent_idx"), count = leaf.member("len"), keys = leaf.member("keys"),
       values = leaf.member("vals");
  if (!parent || !place || !count || !keys || !values || count->type.size() != 2 || arguments[0].size() == 0) return false;
  if (detail == Detail::kNested) return out.text("{...}"), true;
  const Detail inner = ValuePlanner::inner(detail);
  const uint64_t children = (leaf.size() + 7) / 8 * 8;  // InternalNode { data: LeafNode, edges }, in C's order
  std::optional<size_t> value;
  if (is_map) value = planner.routine_of(arguments[1], inner);
  out.b_tree("{}", Source().base(at + reference->offset + node->offset).load(),
             Source().base(at + reference->offset + height->offset).load(), Source().base(at + length->offset).load(),
             {keys->offset, values->offset, count->offset, place->offset, parent->offset, children, arguments[0].size(),
              arguments[1].size()},
             planner.routine_of(arguments[0], inner), value);
  return true;
}

// VecDeque: elements from `head` on, around the end of the array.
bool plan_deque(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto head = type.member("head"), length = type.member("len"), pointer = find_within(type, "pointer", TypeKind::kPointer);
  auto capacity = find_within(type, "cap");
  const std::vector<Type> arguments = type.arguments();
  if (!head || !length || !pointer || !capacity || capacity->type.size() != 8 || arguments.empty() || arguments[0].size() == 0)
    return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  auto word = [&](const Member& member) { return Source().base(offset + member.offset).load(); };
  out.ring("[]", word(*pointer), word(*head), word(*capacity), word(*length), arguments[0].size(),
           planner.routine_of(arguments[0], ValuePlanner::inner(detail)));
  return true;
}

// LinkedList: Option<NonNull<Node>> is a pointer, or 0.
bool plan_linked_list(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto head = type.member("head"), length = type.member("len");
  if (!head || !length) return false;
  std::optional<Member> node;
  for (const debuginfo::Variant& variant : head->type.variants()) {
    if (auto pointer = find_within(variant.data.type, "pointer", TypeKind::kPointer)) node = pointer;
  }
  auto next = node ? node->type.target().member("next") : std::nullopt,
       element = node ? node->type.target().member("element") : std::nullopt;
  if (!next || !element || element->type.size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  out.list("[]", Source().base(offset + head->offset).load(), Source::constant(0), Source().base(offset + length->offset).load(),
           static_cast<int64_t>(next->offset), element->offset, planner.routine_of(element->type, ValuePlanner::inner(detail)));
  return true;
}

// ---- texts of the system, and time

// OsString and PathBuf have a Vec<u8> somewhere within, CString a Box<[u8]> that ends with a 0.
bool plan_system_text(Routine& out, const Type& type, uint64_t offset) {
  if (auto data = find_within(type, "data_ptr", TypeKind::kPointer))
    return out.c_string(Source().base(offset + data->offset).load(), 1), true;
  auto vec = find_type(type, "Vec<u8");
  auto length = vec ? vec->type.member("len") : std::nullopt,
       pointer = vec ? find_within(vec->type, "pointer", TypeKind::kPointer) : std::nullopt;
  if (!length || !pointer) return false;
  out.span(Source().base(offset + vec->offset + pointer->offset).load(),
           Source().base(offset + vec->offset + length->offset).load(), 1);
  return true;
}

bool plan_duration(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset) {
  auto seconds = type.member("secs"), rest = type.member("nanos");
  if (!seconds || !rest || seconds->type.size() != 8 || rest->type.size() != 4) return false;
  Routine nanoseconds;
  nanoseconds.text(" ");
  nanoseconds.number(offset + rest->offset, 4, abi::ValueForm::kUnsigned);
  nanoseconds.text("ns");
  const size_t some = planner.add(std::move(nanoseconds));
  out.number(offset + seconds->offset, 8, abi::ValueForm::kUnsigned);
  out.text("s");
  out.choose(Source().base(offset + rest->offset).load(4), {{0, planner.text_routine("")}}, some);
  return true;
}

bool is_wrapper(std::string_view base) {
  constexpr std::string_view kWrappers[] = {"Cell",         "UnsafeCell", "SyncUnsafeCell", "OnceCell",      "Wrapping",
                                            "Saturating",   "Reverse",    "ManuallyDrop",   "MaybeDangling", "NonZero",
                                            "NonZeroInner", "Pin",        "CachePadded"};
  // AtomicU32, NonZeroU64Inner ...
  return std::ranges::find(kWrappers, base) != std::end(kWrappers) || (base.starts_with("Atomic") && base.size() > 6) ||
         base.starts_with("NonZero");
}

}  // namespace

bool plan_rust_type(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset,
                    Detail detail) {
  if (type.kind() != TypeKind::kStruct) return false;
  if (!type.variants().empty()) return plan_enum(planner, out, type, offset, detail), true;
  if (name == "String") return plan_string(out, type, offset);
  if (name.starts_with("Vec<")) return plan_vec(planner, out, type, offset, detail);
  if (name.starts_with('&') || name.starts_with("*") || name.starts_with("alloc::boxed::Box<") || name.starts_with("Box<"))
    return plan_slice(planner, out, type, name, offset, detail) || plan_trait_object(planner, out, type, offset);
  const std::string_view base = std::string_view(name).substr(0, name.find('<'));
  if (base == "Rc" || base == "Arc" || base == "Weak") return plan_counted(planner, out, type, name, offset, detail);
  if (base == "RefCell" || base == "Mutex" || base == "RwLock") return plan_guarded(planner, out, type, base, offset, detail);
  if (base == "HashMap" || base == "HashSet") return plan_hash_table(planner, out, type, base == "HashMap", offset, detail);
  if (base == "BTreeMap" || base == "BTreeSet") return plan_b_tree(planner, out, type, base == "BTreeMap", offset, detail);
  if (base == "VecDeque") return plan_deque(planner, out, type, offset, detail);
  if (base == "LinkedList") return plan_linked_list(planner, out, type, offset, detail);
  if (base == "OsString" || base == "PathBuf" || base == "CString") return plan_system_text(out, type, offset);
  if (base == "Duration") return plan_duration(planner, out, type, offset);
  if (base == "BinaryHeap" || is_wrapper(base)) return plan_wrapper(planner, out, type, offset, detail);
  if (name.starts_with('(') && is_tuple(type.members())) {
    if (detail == Detail::kNested) out.text("(...)");
    else plan_fields(planner, out, type.members(), offset, ValuePlanner::inner(detail));
    return true;
  }
  return false;
}

}  // namespace spile::probes
