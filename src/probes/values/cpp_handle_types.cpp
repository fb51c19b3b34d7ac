// Types of libstdc++ and libc++ that lead to a value elsewhere: iterators of containers, futures and promises, error codes. As in
// cpp_types.cpp, members are found by their names in the debug information; a class of that name without them is somebody else's.

#include <string.h>

#include "probes/values/cpp_value.h"

namespace spile::probes {

namespace {

using abi::ValueForm;
using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;
using Value = CppValue;

uint64_t align_up(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / std::max<uint64_t>(alignment, 1) * std::max<uint64_t>(alignment, 1);
}

// ---- iterators: the address of the element, and with enough levels the element, as for a pointer that owns it

// The routine that prints an element at this many bytes from where the iterator points to.
size_t element_routine(const Value& v, const Source& node, const Type& element, int64_t offset) {
  Routine there;
  there.computed(Source(node).plus(offset), ValueForm::kPointer);
  if (v.detail != Detail::kNested) {
    there.text(" -> ");
    there.follow(Source(node).plus(offset), v.planner.routine_of(element, v.detail));
  }
  return v.planner.add(std::move(there));
}

// libc++ keeps a pair of a map within a class.
Type without_wrapper(const Type& type) {
  auto pair = type.kind() == TypeKind::kStruct || type.kind() == TypeKind::kUnion ? type.member("__cc_") : std::nullopt;
  return pair ? pair->type : type;
}

// header: bytes of a node in front of its element.
bool plan_at_node(const Value& v, const Member& node, const Type& element, uint64_t header) {
  if (element.size() == 0) return false;
  const size_t there = element_routine(v, v.word(node), element, static_cast<int64_t>(align_up(header, element.alignment())));
  v.out.choose(v.word(node), {{0, v.planner.text_routine("NULL")}}, there);
  return true;
}

bool plan_list_iterator(const Value& v) {
  auto node = v.find({"_M_node", "__ptr_"});
  return node && plan_at_node(v, *node, v.argument(0), 16);  // the next and the previous node
}
bool plan_forward_iterator(const Value& v) {
  auto node = v.find({"_M_node"});
  if (node) return plan_at_node(v, *node, v.argument(0), 8);
  node = v.find({"__ptr_"});
  const Type of_node = v.argument(0).kind() == TypeKind::kPointer ? v.argument(0).target() : Type();
  return node && of_node.valid() && !of_node.arguments().empty() && plan_at_node(v, *node, of_node.arguments()[0], 8);
}

// The end of a map or set of libstdc++ is a node like others. It is red, as the root never is, and the parent of its parent, the
// root; without elements it has no parent.
bool plan_tree_iterator(const Value& v) {
  auto node = v.find({"_M_node"});
  if (!node) {
    node = v.find({"__ptr_"});
    constexpr uint64_t kNodeBase = 25;  // left, right, parent, and a byte for the color
    return node && plan_at_node(v, *node, without_wrapper(v.argument(0)), kNodeBase);
  }
  if (node->type.kind() != TypeKind::kPointer) return false;
  const Type base = node->type.target(), element = v.argument(0);
  auto color = find_within(base, "_M_color"), parent = find_within(base, "_M_parent");
  if (!color || !parent || color->type.size() != 4 || element.size() == 0) return false;
  const size_t there =
      element_routine(v, v.word(*node), element, static_cast<int64_t>(align_up(base.size(), element.alignment())));
  const size_t end = v.planner.text_routine("end");
  auto parent_of = [&](const Source& of) { return Source(of).plus(static_cast<int64_t>(parent->offset)).load(); };
  Routine of_root, of_red;
  of_root.choose(parent_of(parent_of(v.word(*node))).minus(v.word(*node)), {{0, end}}, there);
  of_red.choose(parent_of(v.word(*node)), {{0, end}}, v.planner.add(std::move(of_root)));
  Routine some;
  some.choose(v.word(*node).plus(static_cast<int64_t>(color->offset)).load(4), {{0, v.planner.add(std::move(of_red))}}, there);
  const size_t known = v.planner.add(std::move(some));
  v.out.choose(v.word(*node), {{0, v.planner.text_routine("NULL")}}, known);
  return true;
}

// Of unordered containers. Behind the last element there is no node.
bool plan_hash_iterator(const Value& v) {
  auto node = v.find({"_M_cur"});
  uint64_t header = 8;
  Type element;
  if (node) {
    element = v.argument(0);
  } else if (node = v.find({"__node_"}); node) {
    header = 16;  // the next node and the hash code
    Type of_node = v.argument(0);
    // __hash_map_iterator<__hash_iterator<...>>
    for (int i = 0; i < 2 && of_node.kind() == TypeKind::kStruct && !of_node.arguments().empty(); ++i)
      of_node = of_node.arguments()[0];
    if (of_node.kind() == TypeKind::kPointer) of_node = of_node.target();
    if (of_node.arguments().empty()) return false;
    element = without_wrapper(of_node.arguments()[0]);
  }
  if (!node || element.size() == 0) return false;
  const size_t there = element_routine(v, v.word(*node), element, static_cast<int64_t>(align_up(header, element.alignment())));
  v.out.choose(v.word(*node), {{0, v.planner.text_routine("end")}}, there);
  return true;
}

// libc++'s __map_iterator holds an iterator of the tree, its __hash_map_iterator one of the table.
bool plan_inner_iterator(const Value& v) {
  auto inner = v.type.member("__i_");
  if (!inner || inner->type.kind() != TypeKind::kStruct) return false;
  v.planner.value(v.out, inner->type, v.offset + inner->offset, v.detail);
  return true;
}

bool plan_deque_iterator(const Value& v) {
  auto element = v.find({"_M_cur", "__ptr_"});
  if (!element || element->type.kind() != TypeKind::kPointer) return false;
  v.planner.owner(v.out, element->type.target(), v.offset + element->offset, v.detail);
  return true;
}

// reverse_iterator of what is a pointer, or an iterator that holds one: the element is the one in front.
bool plan_reverse_iterator(const Value& v) {
  auto current = v.type.member("current");
  if (!current) return false;
  Member pointer = *current;
  if (pointer.type.kind() == TypeKind::kStruct) {
    const std::string name = pointer.type.plain_name();
    auto inner = name.starts_with("__normal_iterator<") ? find_within(pointer.type, "_M_current")
                 : name.starts_with("__wrap_iter<")     ? find_within(pointer.type, "__i_")
                                                        : std::nullopt;
    if (!inner) return false;
    inner->offset += pointer.offset;
    pointer = *inner;
  }
  if (pointer.type.kind() != TypeKind::kPointer || pointer.type.target().size() == 0) return false;
  const Type element = pointer.type.target();
  const size_t there = element_routine(v, v.word(pointer), element, -static_cast<int64_t>(element.size()));
  v.out.choose(v.word(pointer), {{0, v.planner.text_routine("NULL")}}, there);
  return true;
}

// Of a vector<bool>: the bit. A reference to one has the word's address and a mask.
bool plan_bit_iterator(const Value& v) {
  auto word = v.find({"_M_p", "__seg_"}), bit = v.find({"_M_offset", "__ctz_"});
  if (!word || !bit || bit->type.size() != 4) return false;
  Routine there;
  there.bit_vector("[]", v.word(*word), v.at(*bit).load(4), Source::constant(1));
  const size_t shown = v.planner.add(std::move(there));
  v.out.choose(v.word(*word), {{0, v.planner.text_routine("NULL")}}, shown);
  return true;
}

// ---- futures, promises and tasks, by the state that they share

// What is printed of a state with a value of this type, at this place.
size_t ready_routine(const Value& v, const Type& value, const Source& at) {
  Routine ready;
  ready.text("ready");
  if (value.kind() == TypeKind::kPointer && value.is_reference()) {
    ready.text("(");
    ready.computed(Source(at).load(), ValueForm::kPointer);
    ready.text(")");
  } else if (value.valid() && value.kind() != TypeKind::kVoid && value.kind() != TypeKind::kFunction && value.size() != 0) {
    ready.text("(");
    ready.follow(at, v.planner.routine_of(value, ValuePlanner::inner(v.detail)));
    ready.text(")");
  }
  return v.planner.add(std::move(ready));
}

bool plan_libcxx_future(const Value& v, const Member& pointer) {
  const Type shared = pointer.type.target();
  auto state = find_within(shared, "__state_"), exception = find_within(shared, "__exception_"),
       value = find_within(shared, "__value_");
  if (state && state->type.size() != 4) return false;
  // Where the class is only declared: __assoc_sub_state has a pointer to virtual functions, the count of owners, the exception, a
  // mutex, a condition of 48 bytes and the state; the value is behind it.
  constexpr uint64_t kException = 16, kState = 112;
  const Type of_value = v.argument(0);
  const bool is_reference = of_value.kind() == TypeKind::kPointer && of_value.is_reference();
  auto part = [&](uint64_t offset) { return v.word(pointer).plus(static_cast<int64_t>(offset)); };
  const uint64_t at = value ? value->offset
                            : align_up(kState + 4, is_reference       ? 8
                                                   : of_value.valid() ? of_value.alignment()
                                                                      : 1);
  constexpr uint32_t kReadyBit = 2;
  const size_t ready = ready_routine(v, of_value, part(at));
  Routine ended, some;
  ended.choose(part(exception ? exception->offset : kException).load(), {{0, ready}}, v.planner.text_routine("exception"));
  some.choose(part(state ? state->offset : kState).load(4).bits(kReadyBit, 1), {{0, v.planner.text_routine("not ready")}},
              v.planner.add(std::move(ended)));
  const size_t known = v.planner.add(std::move(some));
  v.out.choose(v.word(pointer), {{0, v.planner.text_routine("no state")}}, known);
  return true;
}

bool plan_future(const Value& v) {
  if (auto pointer = v.find({"__state_"}); pointer && pointer->type.kind() == TypeKind::kPointer)
    return plan_libcxx_future(v, *pointer);
  auto pointer = v.find({"_M_ptr"});
  if (!pointer || pointer->type.kind() != TypeKind::kPointer) return false;
  const Type shared = pointer->type.target();
  auto result = find_within(shared, "_M_result"), status = find_within(shared, "_M_status");
  auto held = result ? find_within(result->type, "_M_head_impl", TypeKind::kPointer) : std::nullopt;
  auto number = status ? find_within(status->type, "_M_i") : std::nullopt;
  if (!held || !number || number->type.size() != 4) return false;
  // The base of results is often only declared, as its virtual functions are in the library: a pointer to these, the exception,
  // and room for the value.
  auto described = find_within(held->type.target(), "_M_error");
  const uint64_t error = described ? described->offset : 8;
  const Source object = v.word(*pointer).plus(static_cast<int64_t>(result->offset + held->offset)).load();
  // A task's result is that of its function.
  const Type value = v.argument(0).kind() == TypeKind::kFunction ? v.argument(0).target() : v.argument(0);
  const bool is_reference = value.kind() == TypeKind::kPointer && value.is_reference();
  const uint64_t room = align_up(error + 8, is_reference ? 8 : value.valid() ? value.alignment() : 1);
  const size_t ready = ready_routine(v, value, Source(object).plus(static_cast<int64_t>(room)));
  Routine ended, taken, some;
  ended.choose(Source(object).plus(static_cast<int64_t>(error)).load(), {{0, ready}}, v.planner.text_routine("exception"));
  taken.choose(object, {{0, v.planner.text_routine("ready")}}, v.planner.add(std::move(ended)));
  constexpr uint32_t kWaiterBit = 31;  // the others say whether it is ready
  some.choose(v.word(*pointer).plus(static_cast<int64_t>(status->offset + number->offset)).load(4).bits(0, kWaiterBit),
              {{0, v.planner.text_routine("not ready")}}, v.planner.add(std::move(taken)));
  const size_t known = v.planner.add(std::move(some));
  v.out.choose(v.word(*pointer), {{0, v.planner.text_routine("no state")}}, known);
  return true;
}
bool plan_task(const Value& v) {
  if (auto promise = v.type.member("__p_"))
    return v.planner.value(v.out, promise->type, v.offset + promise->offset, v.detail), true;
  return plan_future(v);
}

// ---- error codes

size_t errno_table(const Value& v) {
  std::vector<std::pair<std::string, int64_t>> names;
  constexpr int kMostErrors = 134;
  for (int number = 1; number < kMostErrors; ++number) {
    if (const char* name = strerrorname_np(number)) names.emplace_back(name, number);
  }
  return v.planner.table(abi::ValueTable::kConstants, names);
}

// {"system": ENOENT}. What a category is called, only its virtual function name() says, which returns the address of a text:
// these are the beginnings of such functions as gcc and clang compile them. Of another one, its own name is printed.
bool plan_error_code(const Value& v) {
  auto value = v.find({"_M_value", "__val_"}), category = v.find({"_M_cat", "__cat_"});
  if (!value || value->type.size() != 4 || !category || category->type.kind() != TypeKind::kPointer) return false;
  constexpr int64_t kNameSlot = 2 * 8;  // behind two destructors
  auto code = [&] { return v.word(*category).load().plus(kNameSlot).load(); };
  Routine number, by_name, by_function;
  number.number(v.offset + value->offset, 4, ValueForm::kSigned);
  by_name.enumerator(v.offset + value->offset, 4, 0, 32, true, errno_table(v));
  const size_t numbered = v.planner.add(std::move(number)), named = v.planner.add(std::move(by_name));
  by_function.text("{");
  by_function.code(abi::ValueCode::kFunction, code(), Source::constant(0));
  by_function.text(": ");
  by_function.inlined(0, numbered);
  by_function.text("}");
  const size_t unknown = v.planner.add(std::move(by_function));

  // lea TEXT(%rip),%rax as the instruction at that offset: 48 8d 05, and the distance from its end
  auto text_by = [&](int64_t at) {
    auto text = [&] { return code().plus(at + 7).add(code().plus(at + 3).load(4, true)); };
    Routine shown, of_seven;
    shown.text("{");
    shown.c_string(text(), 1);
    shown.text(": ");
    constexpr int64_t kSystem = 0x6d6574737973, kGeneric = 0x636972656e6567;  // "system" and "generic", with their 0
    of_seven.choose(text().load(8), {{kGeneric, named}}, numbered);
    shown.choose(text().load(8).bits(0, 56), {{kSystem, named}}, v.planner.add(std::move(of_seven)));
    shown.text("}");
    const size_t there = v.planner.add(std::move(shown));
    Routine checked;
    constexpr int64_t kLea = 0x058d48;
    checked.choose(code().plus(at).load(4).bits(0, 24), {{kLea, there}}, unknown);
    return v.planner.add(std::move(checked));
  };
  // endbr64 · push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp), without optimization
  constexpr int64_t kLanding = 0xfa1e0ff3, kFrame = static_cast<int64_t>(0xf87d8948e5894855);
  Routine framed, some;
  framed.choose(code().load(8), {{kFrame, text_by(8)}}, text_by(0));
  some.choose(code().load(4), {{kLanding, text_by(4)}}, v.planner.add(std::move(framed)));
  const size_t known = v.planner.add(std::move(some));
  v.out.choose(v.word(*category), {{0, unknown}}, known);
  return true;
}

constexpr KnownCppType kTypes[] = {
    {"_List_iterator", plan_list_iterator},
    {"_List_const_iterator", plan_list_iterator},
    {"__list_iterator", plan_list_iterator},
    {"__list_const_iterator", plan_list_iterator},
    {"_Fwd_list_iterator", plan_forward_iterator},
    {"_Fwd_list_const_iterator", plan_forward_iterator},
    {"__forward_list_iterator", plan_forward_iterator},
    {"__forward_list_const_iterator", plan_forward_iterator},
    {"_Rb_tree_iterator", plan_tree_iterator},
    {"_Rb_tree_const_iterator", plan_tree_iterator},
    {"__tree_iterator", plan_tree_iterator},
    {"__tree_const_iterator", plan_tree_iterator},
    {"__map_iterator", plan_inner_iterator},
    {"__map_const_iterator", plan_inner_iterator},
    {"_Node_iterator", plan_hash_iterator},
    {"_Node_const_iterator", plan_hash_iterator},
    {"__hash_iterator", plan_hash_iterator},
    {"__hash_const_iterator", plan_hash_iterator},
    {"__hash_map_iterator", plan_hash_iterator},
    {"__hash_map_const_iterator", plan_hash_iterator},
    {"_Deque_iterator", plan_deque_iterator},
    {"__deque_iterator", plan_deque_iterator},
    {"reverse_iterator", plan_reverse_iterator},
    {"_Bit_iterator", plan_bit_iterator},
    {"_Bit_const_iterator", plan_bit_iterator},
    {"__bit_iterator", plan_bit_iterator},
    {"future", plan_future},
    {"shared_future", plan_future},
    {"promise", plan_future},
    {"packaged_task", plan_task},
    {"error_code", plan_error_code},
    {"error_condition", plan_error_code},
};

}  // namespace

bool plan_cpp_handle_type(const CppValue& value, std::string_view base) { return plan_known(kTypes, value, base); }

}  // namespace spile::probes
