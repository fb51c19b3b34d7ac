#include "probes/bind_function.h"

#include <fmt/format.h>

#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using debuginfo::Opcode;
using sema::Binding;
using sema::LocationOp;
using sema::ProbeKind;
using sema::ResolvedPoint;
using Kind = LocationOp::Kind;

constexpr int64_t kStackPointer = 7;  // DWARF's number of rsp

// One operation of debug information as operations of a binding. Both are stack machines, and nearly the same one.
class Translator {
 public:
  explicit Translator(bool at_entry) : at_entry_(at_entry) {}

  std::vector<LocationOp> translate(const debuginfo::Operations& operations) {
    for (const debuginfo::Operation& operation : operations) add(operation);
    return std::move(ops_);
  }

 private:
  void push(Kind kind, int64_t value = 0, uint8_t size = 8, bool is_signed = false) {
    ops_.push_back({kind, value, size, is_signed});
  }

  void add(const debuginfo::Operation& operation) {
    switch (operation.opcode) {
      case Opcode::kRegister:
        add_register(operation.value);
        return;
      case Opcode::kConstant:
        push(Kind::kConstant, operation.value);
        return;
      case Opcode::kAddress:
        push(Kind::kLoadBias);
        add_constant(operation.value);
        return;
      case Opcode::kIndex:
        push(Kind::kIndex, operation.value);
        return;
      case Opcode::kOffset:
        add_constant(operation.value);
        return;
      case Opcode::kDeref:
        push(Kind::kLoad, 0, operation.size, operation.is_signed);
        return;
      case Opcode::kExtend:
        push(Kind::kExtend, 0, operation.size, operation.is_signed);
        return;
      case Opcode::kExtract:
        push(Kind::kBitField, operation.value, operation.size, operation.is_signed);
        return;
      case Opcode::kAdd:
        push(Kind::kAdd);
        return;
      case Opcode::kSub:
        push(Kind::kSubtract);
        return;
      case Opcode::kMul:
        push(Kind::kMultiply);
        return;
      case Opcode::kDiv:
        push(Kind::kDivide);
        return;
      case Opcode::kMod:
        push(Kind::kModulo);
        return;
      case Opcode::kAnd:
        push(Kind::kAnd);
        return;
      case Opcode::kOr:
        push(Kind::kOr);
        return;
      case Opcode::kXor:
        push(Kind::kXor);
        return;
      case Opcode::kShl:
        push(Kind::kShiftLeft);
        return;
      case Opcode::kShr:
        push(Kind::kShiftRight);
        return;
      case Opcode::kShra:
        push(Kind::kShiftRightArithmetic);
        return;
      case Opcode::kEq:
        push(Kind::kEqual);
        return;
      case Opcode::kNe:
        push(Kind::kNotEqual);
        return;
      case Opcode::kLt:
        push(Kind::kLess);
        return;
      case Opcode::kLe:
        push(Kind::kLessEqual);
        return;
      case Opcode::kGt:
        push(Kind::kGreater);
        return;
      case Opcode::kGe:
        push(Kind::kGreaterEqual);
        return;
      case Opcode::kNeg:
        push(Kind::kNegate);
        return;
      case Opcode::kNot:
        push(Kind::kNot);
        return;
      case Opcode::kAbs:
        push(Kind::kAbsolute);
        return;
      case Opcode::kDup:
        push(Kind::kDuplicate);
        return;
      case Opcode::kDrop:
        push(Kind::kDrop);
        return;
      case Opcode::kSwap:
        push(Kind::kSwap);
        return;
      case Opcode::kRot:
        push(Kind::kRotate);
        return;
      case Opcode::kPick:
        push(Kind::kPick, operation.value);
        return;
    }
  }

  // The stack pointer follows from the CFA on both sides: at the entry the return address is on the stack, at the
  // moment of return it is gone. Nothing needs saving for it.
  void add_register(int64_t number) {
    if (number != kStackPointer) {
      push(Kind::kRegister, number);
      return;
    }
    push(Kind::kCfa);
    if (at_entry_) add_constant(-8);
  }

  void add_constant(int64_t value) {
    if (value == 0) return;
    bool folds = !ops_.empty() && ops_.back().kind == Kind::kAdd && ops_.size() >= 2 &&
                 ops_[ops_.size() - 2].kind == Kind::kConstant;
    if (folds) {
      ops_[ops_.size() - 2].value += value;
      return;
    }
    push(Kind::kConstant, value);
    push(Kind::kAdd);
  }

  bool at_entry_;
  std::vector<LocationOp> ops_;
};

Result<std::vector<debuginfo::Step>> steps_of(const std::vector<syntax::PathStep>& path) {
  std::vector<debuginfo::Step> steps;
  for (size_t i = 0; i < path.size(); ++i) {
    const syntax::PathStep& step = path[i];
    switch (step.kind) {
      case syntax::PathStep::Kind::kMember:
        steps.push_back({debuginfo::Step::Kind::kMember, step.name, 0});
        break;
      case syntax::PathStep::Kind::kElement:
        steps.push_back({debuginfo::Step::Kind::kIndex, "", step.number});
        break;
      case syntax::PathStep::Kind::kElementExpr:
        steps.push_back({debuginfo::Step::Kind::kDynamicIndex, "", static_cast<int64_t>(i)});
        break;
      case syntax::PathStep::Kind::kPretty:
      case syntax::PathStep::Kind::kPrettyDeep:
        return Error{"pretty-printing of structures ('$' at the end) is not available in this version", ""};
    }
  }
  return steps;
}

Result<Binding> bind_place(const std::string& name, const debuginfo::Place& start,
                           const std::vector<syntax::PathStep>& path, bool address_of, bool at_entry) {
  if (!start.available()) return Error{fmt::format("'{}' {}", name, start.reason), ""};
  TRY(std::vector<debuginfo::Step> steps, steps_of(path));
  TRY(debuginfo::Place place, debuginfo::walk(start, steps));
  TRY(debuginfo::Operations operations, address_of ? debuginfo::address(place) : debuginfo::load(place));
  Binding binding;
  binding.ops = Translator(at_entry).translate(operations);
  return binding;
}

// Without debug information nothing is known by name; say what there is instead.
Error no_debug_info(const std::string& path, const std::string& name) {
  bool result = name == "$return";
  return {fmt::format("'{}' is not known: {} has no debug information", name, path),
          result ? "register(\"rax\") is what functions return integers and pointers in"
                 : "install its debug symbols, or use int_arg(1), pointer_arg(2) ..."};
}

}  // namespace

Result<Binding> bind_in_function(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                 const syntax::TargetVariable& variable) {
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(point.site.module));
  if (!module->has_debug_info()) return no_debug_info(module->path(), variable.name);
  if (variable.name == "$return") {
    if (point.kind != ProbeKind::kFunctionReturn || at_entry) {
      return Error{"$return is only known in .return probes, outside of @entry", ""};
    }
    TRY(debuginfo::Place place, module->return_value(point.site.address));
    return bind_place(variable.name, place, variable.path, variable.address_of, at_entry);
  }
  TRY(debuginfo::Variable found, module->variable(point.site.address, point.site.address, variable.name.substr(1)));
  return bind_place(variable.name, found.place, variable.path, variable.address_of, at_entry);
}

namespace {

const std::string* literal(const syntax::AtOperation& operation, size_t index) {
  if (index >= operation.arguments.size()) return nullptr;
  auto* text = syntax::as<syntax::String>(operation.arguments[index]);
  return text ? &text->value : nullptr;
}

// @cast(pointer, "type", "module"): what the pointer points to is of that type.
Result<Binding> bind_cast(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                          const syntax::AtOperation& operation) {
  const std::string* name = literal(operation, 1);
  const std::string* module_name = literal(operation, 2);
  if (!name || operation.arguments.size() > 3 || (operation.arguments.size() == 3 && !module_name)) {
    return Error{"@cast needs a pointer and a type's name as a literal", "@cast(pointer, \"struct node\")->next"};
  }
  if (operation.path.empty())
    return Error{"@cast without a path: nothing of the type is read", "@cast(pointer, \"struct node\")->next"};
  std::string path = point.site.module;
  if (module_name) {
    TRY(path, world.find_executable(*module_name));
  }
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(path));
  if (!module->has_debug_info()) return no_debug_info(module->path(), *name);
  debuginfo::Place place;
  place.kind = debuginfo::Place::Kind::kMemory;
  TRY(place.type, module->type_named(*name));
  constexpr int64_t kPointer = -1;  // sema: the operation's first argument
  place.operations = {{debuginfo::Opcode::kIndex, false, 0, kPointer}};
  return bind_place("@cast(" + *name + ")", place, operation.path, operation.address_of, at_entry);
}

// @var("name@file", "module"): a variable outside of functions.
Result<Binding> bind_global(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                            const syntax::AtOperation& operation) {
  const std::string* name = literal(operation, 0);
  const std::string* module_name = literal(operation, 1);
  if (!name || operation.arguments.size() > 2 || (operation.arguments.size() == 2 && !module_name)) {
    return Error{"@var needs the variable's name as a literal", "@var(\"name@file.c\")"};
  }
  if (module_name) {
    TRY(std::string path, world.find_executable(*module_name));
    // The load bias at hand is that of the probed module.
    if (path != point.site.module) return Error{"@var of another module is not available in this version", ""};
  }
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(point.site.module));
  if (!module->has_debug_info()) return no_debug_info(module->path(), *name);
  size_t at = name->find('@');
  std::string file = at == std::string::npos ? "" : name->substr(at + 1);
  TRY(debuginfo::Variable found, module->global_variable(name->substr(0, at), file));
  return bind_place(*name, found.place, operation.path, operation.address_of, at_entry);
}

}  // namespace

Result<Binding> bind_in_function(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                 const syntax::AtOperation& operation) {
  if (operation.name == "@cast") return bind_cast(world, point, at_entry, operation);
  if (operation.name == "@var") return bind_global(world, point, at_entry, operation);
  return Error{fmt::format("'{}' is not available in this version", operation.name), ""};
}

std::vector<std::string> function_variables(TracedWorld& world, const ResolvedPoint& point, const std::string& which) {
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return {};
  std::vector<std::string> names;
  bool all = which == "$$vars", parameters = all || which == "$$parms", locals = all || which == "$$locals";
  if (parameters || locals) {
    auto variables = (*module)->variables(point.site.address, point.site.address);
    if (variables.ok()) {
      for (const debuginfo::Variable& variable : *variables) {
        bool is_parameter = variable.kind == debuginfo::Variable::Kind::kParameter;
        if (is_parameter ? parameters : locals) names.push_back("$" + variable.name);
      }
    }
  }
  bool returns = point.kind == ProbeKind::kFunctionReturn && (all || which == "$$return");
  if (returns && (*module)->return_value(point.site.address).ok()) names.emplace_back("$return");
  return names;
}

void describe_function(TracedWorld& world, ResolvedPoint& point) {
  if (point.site.line > 0) return;
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return;
  auto place = (*module)->declaration(point.site.address);
  if (!place.ok() || place->line <= 0) return;
  point.site.source_file = place->file;
  point.site.line = place->line;
  // ...function("NAME") becomes ...function("NAME@FILE:LINE"); what follows stays.
  std::string plain = fmt::format(".function(\"{}\")", point.site.function);
  size_t at = point.text.find(plain);
  if (at == std::string::npos) return;
  point.text.insert(at + plain.size() - 2, fmt::format("@{}:{}", place->file, place->line));
}

std::vector<std::string> typed_function_variables(TracedWorld& world, const ResolvedPoint& point) {
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return {};
  std::vector<std::string> texts;
  if (point.kind == ProbeKind::kFunctionReturn) {
    auto result = (*module)->return_value(point.site.address);
    if (result.ok()) texts.push_back("$return:" + result->type.name());
  }
  auto variables = (*module)->variables(point.site.address, point.site.address);
  if (!variables.ok()) return texts;
  for (const debuginfo::Variable& variable : *variables) {
    // As at the function's first instruction: locals that live nowhere yet are no use there.
    if (variable.kind == debuginfo::Variable::Kind::kLocal && !variable.place.available()) continue;
    texts.push_back("$" + variable.name + ":" + variable.place.type.name());
  }
  return texts;
}

}  // namespace spile::probes
