#include "syntax/visitor.h"

#include <gtest/gtest.h>

namespace spile::syntax {
namespace {

ExpressionPtr number(int64_t value) { return std::make_unique<Number>(SourceRange{}, value); }

std::unique_ptr<Index> element(std::string array, ExpressionPtr key) {
  auto index = std::make_unique<Index>(SourceRange{});
  index->array = std::make_unique<Variable>(SourceRange{}, std::move(array));
  index->indexes.push_back(std::move(key));
  return index;
}

ExpressionPtr sum(ExpressionPtr left, ExpressionPtr right) {
  auto node = std::make_unique<Binary>(SourceRange{});
  node->op = Binary::Operator::kAdd;
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

TEST(Visitor, ReplacesEverySlotChildrenFirst) {
  ExpressionPtr root = sum(sum(number(1), number(2)), number(3));
  rewrite(root, [](ExpressionPtr& slot) {
    auto* binary = as<Binary>(slot);
    if (!binary) return;
    slot = number(as<Number>(binary->left)->value + as<Number>(binary->right)->value);
  });
  ASSERT_NE(as<Number>(root), nullptr);
  EXPECT_EQ(as<Number>(root)->value, 6);
}

TEST(Visitor, MayWrapTheOldNodeWithoutVisitingItAgain) {
  ExpressionPtr root = number(1);
  int visits = 0;
  rewrite(root, [&](ExpressionPtr& slot) {
    ++visits;
    slot = sum(std::move(slot), number(9));
  });
  EXPECT_EQ(visits, 1);
}

TEST(Visitor, SeesArraysAndKeysOfForeach) {
  Foreach loop{SourceRange{}};
  loop.keys.push_back(std::make_unique<Variable>(SourceRange{}, "k"));
  loop.array = std::make_unique<Variable>(SourceRange{}, "a");
  loop.slice.push_back(nullptr);
  auto body = std::make_unique<ExpressionStatement>(SourceRange{});
  body->expression = element("b", number(1));
  loop.body = std::move(body);

  std::string names;
  for_each_expression(static_cast<const Statement&>(loop), [&](const Expression& e) {
    if (auto* variable = as<Variable>(e)) names += variable->name;
  });
  EXPECT_EQ(names, "kab");
}

TEST(Visitor, RewritesIndexesInsideAHistogramThatIsIterated) {
  Foreach loop{SourceRange{}};
  loop.histogram = std::make_unique<Histogram>(SourceRange{});
  loop.histogram->stats = element("s", number(1));
  loop.body = std::make_unique<Null>(SourceRange{});
  int numbers = 0;
  rewrite(static_cast<Statement&>(loop), [&](ExpressionPtr& slot) { numbers += as<Number>(slot) != nullptr; });
  EXPECT_EQ(numbers, 1);
}

TEST(Clone, CopiesAnnotationsAndOwnsItsNodes) {
  Global global;
  auto original = element("a", sum(number(1), number(2)));
  original->type = ValueType::kLong;
  original->array->global = &global;
  ExpressionPtr copied = clone(*original);
  original.reset();
  auto* index = as<Index>(copied);
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(index->type, ValueType::kLong);
  EXPECT_EQ(index->array->global, &global);
  EXPECT_EQ(as<Number>(as<Binary>(index->indexes[0])->right)->value, 2);
}

TEST(Clone, KeepsAbsentPartsAbsent) {
  For loop{SourceRange{}};
  loop.body = std::make_unique<Null>(SourceRange{});
  StatementPtr copied = clone(static_cast<const Statement&>(loop));
  EXPECT_EQ(as<For>(copied)->condition, nullptr);
  EXPECT_EQ(as<For>(copied)->body->kind, StatementKind::kNull);
}

}  // namespace
}  // namespace spile::syntax
