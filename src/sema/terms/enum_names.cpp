#include "sema/terms/enum_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "sema/terms/target_texts.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

constexpr const char* kUsage = "@enumname($x), @enumname(value, \"type\", \"module\")";
constexpr const char* kValue = "value";

ExpressionPtr compare(SourceRange range, Compare::Operator operation, int64_t with) {
  auto comparison = std::make_unique<Compare>(range);
  comparison->op = operation;
  comparison->left = std::make_unique<Variable>(range, kValue);
  comparison->right = std::make_unique<Number>(range, with);
  return comparison;
}

ExpressionPtr as_number(SourceRange range) {
  auto print = empty_sprintf(range);
  FormatPart part;
  part.kind = FormatPart::Kind::kSigned;
  print->parts.push_back(part);
  print->format = "%d";
  print->arguments.push_back(std::make_unique<Variable>(range, kValue));
  return print;
}

// A search among `constants`, ascending by value: as deep as the logarithm of their number.
ExpressionPtr search(SourceRange range, std::span<const EnumConstant> constants) {
  auto choice = std::make_unique<Ternary>(range);
  if (constants.size() == 1) {
    choice->condition = compare(range, Compare::Operator::kEqual, constants[0].value);
    choice->if_true = std::make_unique<String>(range, constants[0].name);
    choice->if_false = as_number(range);
    return choice;
  }
  size_t half = constants.size() / 2;
  choice->condition = compare(range, Compare::Operator::kLess, constants[half].value);
  choice->if_true = search(range, constants.first(half));
  choice->if_false = search(range, constants.subspan(half));
  return choice;
}

// function NAME:string (value:long) { return ... }
Function* declare(Elaboration& e, const std::string& name, SourceRange range, std::vector<EnumConstant> constants) {
  // Of several names for one value the first.
  std::stable_sort(constants.begin(), constants.end(), [](auto& a, auto& b) { return a.value < b.value; });
  constants.erase(std::unique(constants.begin(), constants.end(), [](auto& a, auto& b) { return a.value == b.value; }),
                  constants.end());
  auto function = std::make_unique<Function>();
  function->range = range;
  function->name = name;
  function->declared_type = ValueType::kString;
  auto parameter = std::make_unique<Local>();
  parameter->range = range;
  parameter->name = kValue;
  parameter->type = ValueType::kLong;
  function->parameters.push_back(std::move(parameter));
  function->defaults.emplace_back();
  auto leave = std::make_unique<Return>(range);
  leave->value = search(range, constants);
  auto body = std::make_unique<Block>(range);
  body->statements.push_back(std::move(leave));
  function->body = std::move(body);
  e.program.scripts[0].functions.push_back(std::move(function));
  return e.program.scripts[0].functions.back().get();
}

// Makes one function for all questions about the same constants. A script can't have a function of its name.
Function* function_for(Elaboration& e, SourceRange range, std::vector<EnumConstant> constants) {
  std::string key;
  for (const EnumConstant& constant : constants) key += fmt::format("{}={};", constant.name, constant.value);
  auto [known, added] = e.enum_names.try_emplace(key);
  if (added) known->second = declare(e, fmt::format("$(enumname {})", e.enum_names.size()), range, std::move(constants));
  return known->second;
}

}  // namespace

Result<bool> expand_enum_name(Elaboration& e, const ResolvedPoint* point, bool at_entry, ExpressionPtr& slot) {
  auto* operation = as<AtOperation>(slot);
  if (!operation || (operation->name != "@enumname" && operation->name != "@enum_name")) return false;
  const std::string spelled = operation->name;
  auto& arguments = operation->arguments;
  // The type is the variable's own, or the one that is named.
  const bool is_own = arguments.size() == 1;
  if (!is_own && as<String>(arguments[0])) std::swap(arguments[0], arguments[1]);
  bool well_formed =
      !as<String>(arguments[0]) && (is_own || as<String>(arguments[1])) && (arguments.size() < 3 || as<String>(arguments[2]));
  if (!well_formed) return Error{spelled + " needs a value, and the enumeration's name as a literal", kUsage};
  operation->name = "@cast";
  auto constants = is_own ? e.target.constants_of(point, at_entry, *arguments[0]) : e.target.constants(point, *operation);
  operation->name = spelled;
  if (!constants.ok())
    return std::move(constants).error().within(is_own ? spelled
                                                      : fmt::format("{}: \"{}\"", spelled, as<String>(arguments[1])->value));
  Function* function = function_for(e, slot->range, std::move(constants).value());
  auto call = std::make_unique<Call>(slot->range, function->name);
  call->function = function;
  call->arguments.push_back(std::move(arguments[0]));
  slot = std::move(call);
  return true;
}

}  // namespace spile::sema
