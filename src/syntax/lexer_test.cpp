#include "syntax/lexer.h"

#include <gtest/gtest.h>

#include "syntax/tree_shape_test.h"

namespace spile::syntax {
namespace {

// All tokens of a text, separated by spaces; what is wrong with one in <> after it.
std::string tokens(std::string text) {
  SourceFile file("t", std::move(text));
  Lexer lexer(file);
  std::string out;
  for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
    if (!out.empty()) out += " ";
    out += token.kind == TokenKind::kNumber   ? std::to_string(token.number)
           : token.kind == TokenKind::kString ? "'" + token.value + "'"
                                              : std::string(token.text);
    if (token.problem) out += "<" + token.problem->message + ">";
  }
  return out;
}

TEST(Lexer, SplitsOperatorsLongestFirst) {
  EXPECT_EQ(tokens("a<<<b>>>=c<<=d>>>e->f++--"), "a <<< b >>>= c <<= d >>> e -> f ++ --");
  EXPECT_EQ(tokens("a.=b=~c!~d!=e%=f"), "a .= b =~ c !~ d != e %= f");
  EXPECT_EQ(tokens("%(a%?b%:c%)"), "%( a %? b %: c %)");
  EXPECT_EQ(tokens("a % (b)"), "a % ( b )");
  EXPECT_EQ(tokens("**?!"), "* * ? !");
}

TEST(Lexer, ReadsNumbersInThreeBases) {
  EXPECT_EQ(tokens("0 7 010 0x1F 0XfF"), "0 7 8 31 255");
  EXPECT_EQ(tokens("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(tokens("0xffffffffffffffff 18446744073709551615"), "-1 -1");
}

TEST(Lexer, RefusesNumbersThatAreNone) {
  EXPECT_EQ(tokens("18446744073709551616"), "0<number out of range: 18446744073709551616>");
  EXPECT_EQ(tokens("0x10000000000000000"), "0<number out of range: 0x10000000000000000>");
  EXPECT_EQ(tokens("08"), "0<not a number: 08>");
  EXPECT_EQ(tokens("12ms"), "0<not a number: 12ms>");
  EXPECT_EQ(tokens("0x"), "0<not a number: 0x>");
  EXPECT_EQ(tokens("0b101"), "0<not a number: 0b101>");
  EXPECT_EQ(tokens("1.5"), "0<the language has no floating-point numbers>");
  EXPECT_EQ(tokens("1 . 5"), "1 . 5");
}

TEST(Lexer, ReplacesEscapes) {
  EXPECT_EQ(tokens(R"("\a\b\t\n\v\f\r\\\"\'")"), "'\a\b\t\n\v\f\r\\\"''");
  EXPECT_EQ(tokens(R"("\101\x42\1012\x431")"), "'ABA2C1'");
  EXPECT_EQ(tokens("\"a\\\nb\""), "'ab'");
  EXPECT_EQ(tokens("\"caf\xc3\xa9\""), "'caf\xc3\xa9'");
}

TEST(Lexer, WarnsOfEscapesThatAreNone) {
  EXPECT_EQ(tokens(R"("a\.b")"), "'a.b'<'\\.' is not an escape sequence; the backslash is dropped>");
}

TEST(Lexer, RefusesBadStrings) {
  EXPECT_EQ(tokens("\"abc"), "'abc'<this string is never closed>");
  EXPECT_EQ(tokens("\"abc\nd"), "'abc'<this string is never closed> d");
  EXPECT_EQ(tokens("\"abc\\"), "'abc'<this string is never closed>");
  EXPECT_EQ(tokens(R"("a\0")"), "'a'<a string ends at its first NUL byte>");
  EXPECT_EQ(tokens(R"("\400")"), "''<octal escape out of range>");
  EXPECT_EQ(tokens(R"("\xg")"), "'g'<\\x needs hexadecimal digits after it>");
  EXPECT_EQ(tokens(std::string("\"a\0b\"", 5)), "'ab'<a string can't hold a NUL byte>");
  EXPECT_EQ(tokens("'x'"), "'x'<strings need double quotes>");
  EXPECT_EQ(tokens("'x"), "'<strings need double quotes> x");
}

TEST(Lexer, PassesComments) {
  EXPECT_EQ(tokens("#!/usr/bin/env spile\na // b\nc /* d \n * e */ f # g"), "a c f");
  EXPECT_EQ(tokens("a /* b"), "a <this comment is never closed>");
  EXPECT_EQ(tokens("a /*/ b"), "a <this comment is never closed>");
  EXPECT_EQ(tokens("\"# no // comment /* \""), "'# no // comment /* '");
}

TEST(Lexer, ReadsSigils) {
  EXPECT_EQ(tokens("$x $$vars $x$ $x$$ @cast @1 $12 $# @#"), "$x $$vars $x$ $x$$ @cast @1 $12 $# @#");
  EXPECT_EQ(tokens("$x[1]$$ $y[2]$"), "$x [ 1 ] $$ $y [ 2 ] $");
  EXPECT_EQ(tokens("@ x"), "@<a name must follow '@'> x");
  EXPECT_EQ(tokens("$0"), "$0<script arguments are numbered from 1>");
}

TEST(Lexer, ReadsEmbeddedCodeAsOneToken) {
  EXPECT_EQ(tokens("a %{ if (x % {y}) \"\n %} b"), "a %{ if (x % {y}) \"\n %} b");
  EXPECT_EQ(tokens("%{ x"), "%{ x<this embedded code is never closed>");
}

TEST(Lexer, RefusesBytesThatCannotStand) {
  EXPECT_EQ(tokens("a \x01\x02\xff b"), "a \x01\x02\xff<invalid byte 0x01> b");
  EXPECT_EQ(tokens("caf\xc3\xa9 = 1"), "caf \xc3\xa9<invalid byte 0xc3> = 1");
  EXPECT_EQ(tokens("a \\ b ` c"), "a \\<unexpected character '\\'> b `<unexpected character '`'> c");
}

TEST(Lexer, SkipsAByteOrderMarkOnly) {
  EXPECT_EQ(tokens("\xef\xbb\xbf"
                   "a"),
            "a");
  EXPECT_EQ(tokens("a \xef\xbb\xbf"), "a \xef\xbb\xbf<invalid byte 0xef>");
}

TEST(Lexer, KnowsWhereEachTokenStands) {
  SourceFile file("t", "ab\n  \"c\" $d");
  Lexer lexer(file);
  EXPECT_EQ(lexer.next().range.to_string(), "t:1:1");
  Token text = lexer.next();
  EXPECT_EQ(text.range.to_string(), "t:2:3");
  EXPECT_EQ(text.range.text(), "\"c\"");
  EXPECT_TRUE(text.line_start);
  EXPECT_FALSE(lexer.next().line_start);
  EXPECT_EQ(lexer.next().kind, TokenKind::kEnd);
  EXPECT_EQ(lexer.next().kind, TokenKind::kEnd);
}

}  // namespace
}  // namespace spile::syntax
