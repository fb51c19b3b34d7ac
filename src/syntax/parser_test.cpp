#include "syntax/tree_shape_test.h"

#include <gtest/gtest.h>

namespace spile::syntax {
namespace {

TEST(Expressions, FollowTheDocumentedPrecedence) {
  EXPECT_EQ(expression_shape("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(expression_shape("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression_shape("a . b + c"), "(. a (+ b c))");
  EXPECT_EQ(expression_shape("a << b . c"), "(<< a (. b c))");
  EXPECT_EQ(expression_shape("a < b << c"), "(< a (<< b c))");
  EXPECT_EQ(expression_shape("a == b < c"), "(< (== a b) c)");
  EXPECT_EQ(expression_shape("a & b == c"), "(& a (== b c))");
  EXPECT_EQ(expression_shape("a | b ^ c & d"), "(| a (^ b (& c d)))");
  EXPECT_EQ(expression_shape("a || b && c"), "(|| a (&& b c))");
  EXPECT_EQ(expression_shape("a && b | c"), "(&& a (| b c))");
  EXPECT_EQ(expression_shape("a ? b : c ? d : e"), "(? a b (? c d e))");
  EXPECT_EQ(expression_shape("a = b = c"), "(= a (= b c))");
  EXPECT_EQ(expression_shape("a = b ? c : d"), "(= a (? b c d))");
  EXPECT_EQ(expression_shape("!a + ~b"), "(+ (! a) (~ b))");
  EXPECT_EQ(expression_shape("-a++"), "(u- (a ++))");
  EXPECT_EQ(expression_shape("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(expression_shape("a % b >>> 3"), "(>>> (% a b) 3)");
}

}  // namespace
}  // namespace spile::syntax
