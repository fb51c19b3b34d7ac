// Types of libstdc++ (GCC 5 and later; its members are called _M_...) and of libc++ (__..._), as of LLVM 19. Their layouts are
// facts of the libraries' ABIs; offsets are taken from the debug information of the program at hand wherever it has the members.

#include <algorithm>
#include <charconv>

#include "probes/values/cpp_value.h"
#include "probes/values/known_types.h"

namespace spile::probes {

namespace {

using abi::ValueForm;
using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;

using Value = CppValue;

constexpr int64_t kAny = INT64_MAX;  // a count that is not known

uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

uint8_t character_size(const Type& type) {
  const uint64_t size = type.size();
  return size == 1 || size == 2 || size == 4 ? static_cast<uint8_t>(size) : uint8_t{0};
}

// ---- texts

// libc++ keeps short texts in the object itself: of the two forms a bit says which. https://joellaity.com/2020/01/31/string.html
bool plan_short_string(const Value& v) {
  auto long_form = v.find({"__l"}), short_form = v.find({"__s"});
  if (!long_form || !short_form) return false;
  auto is_long = long_form->type.member("__is_long_"), length = long_form->type.member("__size_"),
       text = long_form->type.member("__data_");
  auto short_length = short_form->type.member("__size_"), short_text = short_form->type.member("__data_");
  if (!is_long || !is_long->bit_size || !length || !text || !short_length || !short_text) return false;
  const uint8_t unit = character_size(text->type.target());
  if (!unit) return false;
  auto byte_of = [&](const Member& outer, const Member& inner) {
    return Source().base(v.offset + outer.offset + inner.offset + inner.bit_offset / 8).load(1);
  };
  Routine in_heap, in_object;
  in_heap.span(Source().base(v.offset + long_form->offset + text->offset).load(),
               Source().base(v.offset + long_form->offset + length->offset).load(), unit);
  Source size = byte_of(*short_form, *short_length);
  if (short_length->bit_size) size.bits(short_length->bit_offset % 8, short_length->bit_size);
  in_object.span(Source().base(v.offset + short_form->offset + short_text->offset), size, unit);
  const size_t shorter = v.planner.add(std::move(in_object)), longer = v.planner.add(std::move(in_heap));
  v.out.choose(byte_of(*long_form, *is_long).bits(is_long->bit_offset % 8, 1), {{0, shorter}}, longer);
  return true;
}

bool plan_string(const Value& v) {
  auto text = v.find({"_M_p"});
  uint8_t unit = text ? character_size(text->type.target()) : uint8_t{0};
  // Clang describes _Alloc_hider where its constructor is compiled, which often is in the library only. It is this one pointer.
  if (auto hider = text ? std::nullopt : v.find({"_M_dataplus"}); hider && hider->type.is_only_declared()) {
    text = hider;
    unit = character_size(v.argument(0));
  }
  if (!text) return plan_short_string(v);
  if (!unit) return false;
  auto length = v.find({"_M_string_length"});
  // Before GCC 5, and with _GLIBCXX_USE_CXX11_ABI=0: the length is in front of the text, which several strings share.
  constexpr int64_t kLengthBefore = -24;
  v.out.span(v.word(*text), length ? v.word(*length) : v.word(*text).plus(kLengthBefore).load(), unit);
  return true;
}

bool plan_string_view(const Value& v) {
  auto text = v.find({"_M_str", "__data_", "__data"}), length = v.find({"_M_len", "__size_", "__size"});
  const uint8_t unit = text ? character_size(text->type.target()) : uint8_t{0};
  if (!unit || !length) return false;
  v.out.span(v.word(*text), v.word(*length), unit);
  return true;
}

// ---- sequences

bool plan_bits(const Value& v) {
  auto begin = v.find({"_M_start"}), end = v.find({"_M_finish"});
  if (begin && end) {
    auto word = find_within(begin->type, "_M_p"), bit = find_within(begin->type, "_M_offset");
    if (!word || !bit) return false;
    auto at = [&](const Member& iterator, const Member& part) { return Source().base(v.offset + iterator.offset + part.offset); };
    if (v.is_brief("[]")) return true;
    v.out.bit_vector("[]", at(*begin, *word).load(), at(*begin, *bit).load(4),
                     at(*end, *word)
                         .load()
                         .minus(at(*begin, *word).load())
                         .times(8)
                         .add(at(*end, *bit).load(4))
                         .minus(at(*begin, *bit).load(4)));
    return true;
  }
  begin = v.find({"__begin_"});
  auto size = v.find({"__size_"});
  if (!begin || !size) return false;
  if (!v.is_brief("[]")) v.out.bit_vector("[]", v.word(*begin), Source::constant(0), v.word(*size));
  return true;
}

bool plan_vector(const Value& v) {
  if (v.argument(0).is_boolean()) return plan_bits(v);
  auto begin = v.find({"_M_start", "__begin_"}), end = v.find({"_M_finish", "__end_"});
  if (!begin || !end || begin->type.kind() != TypeKind::kPointer || begin->type.target().size() == 0) return false;
  const Type element = begin->type.target();
  return plan_range(v, element, v.word(*begin), v.word(*end).minus(v.word(*begin)).divide(element.size()));
}

bool plan_array(const Value& v) {
  auto elements = v.find({"_M_elems", "__elems_"});
  if (!elements) return false;
  const bool is_empty = elements->type.kind() != TypeKind::kArray || elements->type.target().plain_name() == "__empty";
  if (is_empty) return v.out.text("[]"), true;
  v.planner.value(v.out, elements->type, v.offset + elements->offset, v.detail);
  return true;
}

// std::initializer_list and std::span.
bool plan_view(const Value& v) {
  auto begin = v.find({"_M_array", "_M_ptr", "__begin_", "__data_"}), size = v.find({"_M_len", "_M_extent_value", "__size_"});
  if (!begin || begin->type.kind() != TypeKind::kPointer) return false;
  if (size && size->type.size() == 8) return plan_range(v, begin->type.target(), v.word(*begin), v.word(*size));
  const auto fixed = number_of(v.type);  // span<int, 3>
  return fixed && plan_range(v, begin->type.target(), v.word(*begin), Source::constant(static_cast<int64_t>(*fixed)));
}

bool plan_deque(const Value& v) {
  auto start = v.find({"_M_start"}), finish = v.find({"_M_finish"});
  if (start && finish) {
    auto current = start->type.member("_M_cur"), first = start->type.member("_M_first"), node = start->type.member("_M_node");
    if (!current || !first || !node || current->type.kind() != TypeKind::kPointer || current->type.target().size() == 0)
      return false;
    const Type element = current->type.target();
    const uint64_t stride = element.size(), of_block = stride < 512 ? 512 / stride : 1;
    auto at = [&](const Member& iterator, const Member& part) {
      return Source().base(v.offset + iterator.offset + part.offset).load();
    };
    if (v.is_brief("[]")) return true;
    const Source begun = at(*start, *current).minus(at(*start, *first)).divide(stride);
    const Source count = at(*finish, *node)
                             .minus(at(*start, *node))
                             .divide(8)
                             .times(static_cast<int64_t>(of_block))
                             .add(at(*finish, *current).minus(at(*finish, *first)).divide(stride))
                             .minus(begun);
    v.out.blocks("[]", at(*start, *node), begun, count, of_block, stride, v.element(element));
    return true;
  }
  auto map = v.find({"__map_"}), begun = v.find({"__start_"});
  auto begin = map ? find_within(map->type, "__begin_") : std::nullopt;
  auto counted = v.find({"__size_"});
  const Type element = v.argument(0);
  if (!begin || !begun || !counted || element.size() == 0) return false;
  auto size = counted->type.kind() == TypeKind::kStruct ? find_within(counted->type, "__value_") : std::optional(Member{});
  if (!size) return false;
  const uint64_t stride = element.size(), of_block = stride < 256 ? 4096 / stride : 16;
  if (v.is_brief("[]")) return true;
  v.out.blocks("[]", Source().base(v.offset + map->offset + begin->offset).load(), v.word(*begun),
               Source().base(v.offset + counted->offset + size->offset).load(), of_block, stride, v.element(element));
  return true;
}

// Of nodes with pointers to the next and the previous one, and the element.
bool plan_list(const Value& v) {
  const Type element = v.argument(0);
  auto head = v.find({"_M_node", "__end_"});
  auto next = head ? find_within(head->type, "_M_next") : std::nullopt;
  if (head && !next) next = find_within(head->type, "__next_");
  if (!head || !next || element.size() == 0) return false;
  auto size = v.find({"_M_size"});
  if (v.is_brief("[]")) return true;
  const Source end = v.at(*head);
  v.out.list("[]", Source().base(v.offset + head->offset + next->offset).load(), end,
             size ? v.word(*size) : Source::constant(kAny), static_cast<int64_t>(next->offset), align_up(16, element.alignment()),
             v.element(element));
  return true;
}

bool plan_forward_list(const Value& v) {
  const Type element = v.argument(0);
  auto next = v.find({"_M_next", "__next_"});
  if (!next || element.size() == 0) return false;
  if (v.is_brief("[]")) return true;
  v.out.list("[]", v.word(*next), Source::constant(0), Source::constant(kAny), 0, align_up(8, element.alignment()),
             v.element(element));
  return true;
}

// ---- keys and values

// The element of a map, "key: value", or of a set, the key; its alignment in *alignment. No routine: a type is not known.
std::optional<size_t> entry_routine(const Value& v, bool is_map, uint64_t* alignment) {
  const Type key = v.argument(0);
  if (key.size() == 0) return std::nullopt;
  *alignment = key.alignment();
  if (!is_map) return v.element(key);
  const Type value = v.argument(1);
  if (value.size() == 0) return std::nullopt;
  *alignment = std::max(*alignment, value.alignment());
  Routine entry;
  const Detail inner = ValuePlanner::inner(v.detail);
  v.planner.value(entry, key, 0, inner);
  entry.text(": ");
  v.planner.value(entry, value, align_up(key.size(), value.alignment()), inner);
  return v.planner.add(std::move(entry));
}

bool plan_tree(const Value& v, bool is_map) {
  Routine::TreeShape shape{};
  Source first, count;
  uint64_t alignment = 1;
  auto header = v.find({"_M_header"}), size = v.find({"_M_node_count"});
  auto begin = v.find({"__begin_node_"});
  uint64_t of_node = 0;
  if (header && size) {
    auto left = find_within(header->type, "_M_left"), right = find_within(header->type, "_M_right"),
         parent = find_within(header->type, "_M_parent");
    if (!left || !right || !parent) return false;
    shape = {left->offset, right->offset, parent->offset, 0};
    of_node = header->type.size();
    first = Source().base(v.offset + header->offset + left->offset).load();
    count = v.word(*size);
  } else if (begin) {
    // __tree_node_base: left, right, parent, and a byte for the color.
    shape = {0, 8, 16, 0};
    of_node = 25;
    first = v.word(*begin);
    auto counted = v.find({"__pair3_", "__size_"});
    if (!counted) return false;
    auto value = counted->type.kind() == TypeKind::kStruct ? find_within(counted->type, "__value_") : std::optional(Member{});
    if (!value) return false;
    count = Source().base(v.offset + counted->offset + value->offset).load();
  } else {
    return false;
  }
  if (v.is_brief("{}")) return true;
  auto entry = entry_routine(v, is_map, &alignment);
  if (!entry) return false;
  shape.element = align_up(of_node, alignment);
  v.out.tree("{}", first, count, shape, *entry);
  return true;
}

// All elements of a hash table are in one list.
bool plan_hash(const Value& v, bool is_map) {
  Source first, count;
  uint64_t of_node = 0, alignment = 1;
  if (auto before = v.find({"_M_before_begin"}), size = v.find({"_M_element_count"}); before && size) {
    auto next = find_within(before->type, "_M_nxt");
    if (!next) return false;
    first = Source().base(v.offset + before->offset + next->offset).load();
    count = v.word(*size);
    of_node = 8;  // the hash code, where it is kept, is behind the element
  } else {
    auto begin = v.find({"__p1_", "__first_node_"}), counted = v.find({"__p2_", "__size_"});
    auto next_node = begin ? find_within(begin->type, "__next_") : std::nullopt;
    if (!next_node || !counted) return false;
    auto value = counted->type.kind() == TypeKind::kStruct ? find_within(counted->type, "__value_") : std::optional(Member{});
    if (!value) return false;
    first = Source().base(v.offset + begin->offset + next_node->offset).load();
    count = Source().base(v.offset + counted->offset + value->offset).load();
    of_node = 16;  // the next node and the hash code
  }
  if (v.is_brief("{}")) return true;
  auto entry = entry_routine(v, is_map, &alignment);
  if (!entry) return false;
  v.out.list("{}", first, Source::constant(0), count, 0, align_up(of_node, alignment), *entry);
  return true;
}

bool plan_map(const Value& v) { return plan_tree(v, true); }
bool plan_set(const Value& v) { return plan_tree(v, false); }
bool plan_hash_map(const Value& v) { return plan_hash(v, true); }
bool plan_hash_set(const Value& v) { return plan_hash(v, false); }

// std::stack, std::queue, std::priority_queue
bool plan_adapter(const Value& v) {
  auto container = v.type.member("c");
  if (!container) return false;
  v.planner.value(v.out, container->type, v.offset + container->offset, v.detail);
  return true;
}

// ---- one value, or several of different types

bool plan_pair(const Value& v) {
  auto first = v.type.member("first"), second = v.type.member("second");
  if (!first || !second) return false;
  if (v.is_brief("()")) return true;
  const Detail inner = ValuePlanner::inner(v.detail);
  v.out.text("(");
  v.planner.value(v.out, first->type, v.offset + first->offset, inner);
  v.out.text(", ");
  v.planner.value(v.out, second->type, v.offset + second->offset, inner);
  v.out.text(")");
  return true;
}

// The number and the place of each element of a tuple: of its bases' bases, one for each.
void collect_elements(const Type& type, uint64_t offset, std::vector<std::pair<int, Member>>& found, int depth) {
  constexpr int kMostElements = 64;
  if (depth > kMostElements || found.size() > kMostElements) return;
  for (const Member& member : type.members()) {
    const std::string name = member.type.plain_name();
    const bool is_leaf = name.starts_with("_Head_base<") || name.starts_with("__tuple_leaf<");
    if (!is_leaf) {
      if (name.starts_with("_Tuple_impl<") || name.starts_with("__tuple_impl<"))
        collect_elements(member.type, offset + member.offset, found, depth + 1);
      continue;
    }
    int number = 0;
    const char* digits = name.data() + name.find('<') + 1;
    std::from_chars(digits, name.data() + name.size(), number);
    Member element{};
    for (const char* name_of_value : {"_M_head_impl", "__value_"}) {
      if (auto value = member.type.member(name_of_value)) element = *value;
    }
    element.offset += offset + member.offset;  // a type of 0: an empty class, which is a base
    found.emplace_back(number, element);
  }
}

bool plan_tuple(const Value& v) {
  std::vector<std::pair<int, Member>> elements;
  collect_elements(v.type, 0, elements, 0);
  if (elements.empty() && !v.type.arguments().empty()) return false;
  if (v.is_brief("()")) return true;
  std::ranges::sort(elements, {}, [](const auto& element) { return element.first; });
  v.out.text("(");
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i) v.out.text(", ");
    const Member& element = elements[i].second;
    if (element.type.valid()) v.planner.value(v.out, element.type, v.offset + element.offset, ValuePlanner::inner(v.detail));
    else v.out.text("{}");
  }
  v.out.text(")");
  return true;
}

bool plan_optional(const Value& v) {
  auto engaged = v.find({"_M_engaged", "__engaged_"}), value = v.find({"_M_value", "__val_"});
  if (!engaged || !value) return false;
  Routine there;
  v.planner.value(there, value->type, v.offset + value->offset, v.detail);
  const size_t present = v.planner.add(std::move(there));
  v.out.choose(v.at(*engaged).load(1), {{0, v.planner.text_routine("nullopt")}}, present);
  return true;
}

bool plan_variant(const Value& v) {
  auto index = v.find({"_M_index", "__index"}), data = v.find({"_M_u", "__data"});
  const std::vector<Type> types = v.type.arguments();
  if (!index || !data || types.empty() || index->type.size() > 8) return false;
  std::vector<std::pair<int64_t, size_t>> cases;
  for (size_t i = 0; i < types.size(); ++i) {
    Routine alternative;
    alternative.text("{[" + std::to_string(i) + "]=");
    v.planner.value(alternative, types[i], v.offset + data->offset, v.detail);
    alternative.text("}");
    cases.emplace_back(static_cast<int64_t>(i), v.planner.add(std::move(alternative)));
  }
  // Of one that is valueless it is the greatest number of its type.
  v.out.choose(v.at(*index).load(static_cast<uint8_t>(index->type.size())), cases, v.planner.text_routine("{valueless}"));
  return true;
}

bool plan_unique_pointer(const Value& v) {
  auto pointer = v.find({"_M_head_impl"});
  if (!pointer) {
    pointer = v.find({"__ptr_"});
    if (auto value =
            pointer && pointer->type.kind() == TypeKind::kStruct ? find_within(pointer->type, "__value_") : std::nullopt) {
      value->offset += pointer->offset;
      pointer = value;
    }
  }
  if (!pointer || pointer->type.kind() != TypeKind::kPointer) return false;
  v.planner.owner(v.out, pointer->type.target(), v.offset + pointer->offset, v.detail);
  return true;
}

// std::shared_ptr and std::weak_ptr: how many owners there are stands in a block of its own.
bool plan_shared_pointer(const Value& v) {
  auto pointer = v.find({"_M_ptr", "__ptr_"}), block = v.find({"_M_pi", "__cntrl_"});
  if (!pointer || !block || pointer->type.kind() != TypeKind::kPointer) return false;
  auto owners = find_within(block->type.target(), "_M_use_count");
  int64_t more = 0;
  if (!owners) {
    owners = find_within(block->type.target(), "__shared_owners_");
    more = 1;  // it counts those beyond the first
  }
  const uint64_t at = owners ? owners->offset : 8;  // behind the block's table of virtual functions
  const auto size = static_cast<uint8_t>(owners && owners->type.size() == 8 ? 8 : 4);
  Routine count;
  count.text(" (use ");
  count.computed(v.word(*block).plus(static_cast<int64_t>(at)).load(size, true).plus(more), ValueForm::kSigned);
  count.text(")");
  const size_t counted = v.planner.add(std::move(count));
  v.planner.owner(v.out, pointer->type.target(), v.offset + pointer->offset, v.detail);
  v.out.choose(v.word(*block), {{0, v.planner.text_routine("")}}, counted);
  return true;
}

// The name of what is called.
bool plan_function(const Value& v) {
  auto invoker = v.find({"_M_invoker"}), manager = v.find({"_M_manager"}), functor = v.find({"_M_functor"});
  Routine target;
  if (invoker && manager && functor) {
    target.code(abi::ValueCode::kStdFunction, v.word(*invoker), v.word(*functor));
    const size_t named = v.planner.add(std::move(target));
    v.out.choose(v.word(*manager), {{0, v.planner.text_routine("NULL")}}, named);
    return true;
  }
  auto outer = v.find({"__f_"});
  auto inner = outer && outer->type.kind() == TypeKind::kStruct ? find_within(outer->type, "__f_") : std::nullopt;
  if (!inner || inner->type.kind() != TypeKind::kPointer) return false;
  // __function::__base has nine virtual functions (two are destructors), of which operator() is the seventh; behind the table's
  // address is the functor.
  constexpr int64_t kCallSlot = 6 * 8, kFunctor = 8;
  auto object = [&] { return Source().base(v.offset + outer->offset + inner->offset).load(); };
  target.code(abi::ValueCode::kLibcxxFunction, object().load().plus(kCallSlot).load(), object().plus(kFunctor).load());
  const size_t named = v.planner.add(std::move(target));
  v.out.choose(object(), {{0, v.planner.text_routine("NULL")}}, named);
  return true;
}

bool plan_atomic(const Value& v) {
  auto value = v.find({"_M_i", "_M_p", "__a_value"});
  if (!value) return false;
  v.planner.value(v.out, value->type, v.offset + value->offset, v.detail);
  return true;
}

bool plan_complex(const Value& v) {
  auto value = v.find({"_M_value"});
  if (value) return v.planner.value(v.out, value->type, v.offset + value->offset, v.detail), true;
  auto real = v.find({"__re_"}), imaginary = v.find({"__im_"});
  if (!real || !imaginary) return false;
  v.planner.value(v.out, real->type, v.offset + real->offset, v.detail);
  v.out.text(" + ");
  v.planner.value(v.out, imaginary->type, v.offset + imaginary->offset, v.detail);
  v.out.text("i");
  return true;
}

// ---- time

// ratio<1, 1000>, ratio<1L, 1000L>
bool read_ratio(const std::string& name, int64_t* numerator, int64_t* denominator) {
  if (!name.starts_with("ratio<")) return false;
  const char* at = name.data() + 6;
  const char* end = name.data() + name.size();
  auto first = std::from_chars(at, end, *numerator);
  const size_t comma = name.find(',');
  if (first.ec != std::errc() || comma == std::string::npos) return false;
  at = name.data() + comma + 1;
  while (at < end && *at == ' ') ++at;
  return std::from_chars(at, end, *denominator).ec == std::errc() && *numerator > 0 && *denominator > 0;
}

std::string unit_of_time(int64_t numerator, int64_t denominator) {
  struct Unit {
    int64_t numerator, denominator;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1, 1'000'000'000, "ns"}, {1, 1'000'000, "us"}, {1, 1000, "ms"}, {1, 1, "s"},
                             {60, 1, "min"},           {3600, 1, "h"},       {86400, 1, "d"}};
  for (const Unit& unit : kUnits) {
    if (unit.numerator == numerator && unit.denominator == denominator) return unit.name;
  }
  return "[" + std::to_string(numerator) + (denominator == 1 ? std::string() : "/" + std::to_string(denominator)) + "]s";
}

bool plan_duration(const Value& v) {
  auto count = v.find({"__r", "__rep_"});
  int64_t numerator = 1, denominator = 1;
  if (!count || !read_ratio(v.argument(1).plain_name(), &numerator, &denominator)) return false;
  v.planner.value(v.out, count->type, v.offset + count->offset, v.detail);
  v.out.text(unit_of_time(numerator, denominator));
  return true;
}

bool plan_time_point(const Value& v) {
  auto since = v.find({"__d", "__d_"});
  if (!since) return false;
  auto count = find_within(since->type, "__r");
  if (!count) count = find_within(since->type, "__rep_");
  int64_t numerator = 1, denominator = 1;
  const std::vector<Type> of_duration = since->type.arguments();
  const bool known = count && of_duration.size() > 1 && read_ratio(of_duration[1].plain_name(), &numerator, &denominator);
  const bool is_whole = known && numerator == 1 && count->type.kind() == TypeKind::kInteger && count->type.size() == 8;
  if (is_whole && v.argument(0).plain_name() == "system_clock") {
    v.out.instant(v.offset + since->offset + count->offset, static_cast<uint64_t>(denominator));
    return true;
  }
  v.planner.value(v.out, since->type, v.offset + since->offset, v.detail);
  return true;
}

constexpr KnownCppType kTypes[] = {
    {"basic_string", plan_string},
    {"basic_string_view", plan_string_view},
    {"vector", plan_vector},
    {"array", plan_array},
    {"deque", plan_deque},
    {"list", plan_list},
    {"forward_list", plan_forward_list},
    {"initializer_list", plan_view},
    {"span", plan_view},
    {"map", plan_map},
    {"multimap", plan_map},
    {"set", plan_set},
    {"multiset", plan_set},
    {"unordered_map", plan_hash_map},
    {"unordered_multimap", plan_hash_map},
    {"unordered_set", plan_hash_set},
    {"unordered_multiset", plan_hash_set},
    {"stack", plan_adapter},
    {"queue", plan_adapter},
    {"priority_queue", plan_adapter},
    {"pair", plan_pair},
    {"tuple", plan_tuple},
    {"optional", plan_optional},
    {"variant", plan_variant},
    {"unique_ptr", plan_unique_pointer},
    {"shared_ptr", plan_shared_pointer},
    {"weak_ptr", plan_shared_pointer},
    {"function", plan_function},
    {"atomic", plan_atomic},
    {"complex", plan_complex},
    {"duration", plan_duration},
    {"time_point", plan_time_point},
};

}  // namespace

bool plan_range(const CppValue& v, const Type& element, const Source& first, const Source& count) {
  const uint64_t stride = element.size();
  if (stride == 0) return false;
  if (element.is_character()) return v.out.span(first, count, 1), true;
  if (!v.is_brief("[]")) v.out.elements("[]", first, count, stride, v.element(element));
  return true;
}

std::optional<uint64_t> number_of(const Type& type) {
  const std::string name = type.plain_name();
  size_t end = name.find_last_not_of("> uUlL");
  if (end == name.npos) return std::nullopt;
  size_t begin = ++end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  uint64_t number = 0;
  if (begin == end || begin == 0 || (name[begin - 1] != '<' && name[begin - 1] != ' ' && name[begin - 1] != ','))
    return std::nullopt;
  if (std::from_chars(name.data() + begin, name.data() + end, number).ec != std::errc()) return std::nullopt;
  return number;
}

bool plan_cpp_type(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset,
                   Detail detail) {
  if (type.kind() != TypeKind::kStruct) return false;
  const std::string_view base = std::string_view(name).substr(0, name.find('<'));
  const CppValue value{planner, out, type, offset, detail};
  if (plan_small_cpp_type(value, base) || plan_cpp_handle_type(value, base)) return true;
  if (base.size() == name.size()) return false;  // all others are templates
  return plan_known(kTypes, value, base);
}

}  // namespace spile::probes
