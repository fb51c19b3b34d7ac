#pragma once
// The tree of a script, as the SystemTap language reference gives its grammar. One tree serves all passes: the parser
// makes it, sema's passes rewrite it and fill the fields marked "sema", codegen reads it. Nodes own their children;
// every node knows the text it came from (`range`). clone() copies a subtree, annotations included. One thread.
//
// Where no comment says otherwise, a child pointer is not null. Pointers to declarations (Global*, Local*, Function*) own nothing
// and are valid as long as sema's Program. Members without an initializer are set by whoever makes the node.
//
// To add a node: a Kind, a struct here, its line in visitor.cpp, clone.cpp, print_expression.cpp or print.cpp, and for
// the tests in tree_shape_test.cpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/source.h"
#include "syntax/array_kind.h"

namespace spile {

// The type of a value. kUnknown only before infer-types has finished.
enum class ValueType : uint8_t { kUnknown, kLong, kString, kStats };
const char* to_string(ValueType type);  // "long", "string", "stats", "unknown"

namespace syntax {

// ---------------------------------------------------------------- expressions

enum class ExpressionKind : uint8_t {
  kNumber,
  kString,
  kVariable,
  kIndex,
  kTargetVariable,
  kAtOperation,
  kUnary,
  kIncrement,
  kBinary,
  kLogical,
  kCompare,
  kConcatenation,
  kRegex,
  kTernary,
  kComma,
  kAssignment,
  kIn,
  kCall,
  kPrint,
  kStatistic,
  kHistogram,
  kHistogramIndex,
  kEmbedded,
  kDefined,
  kEntry,
  kEntryValue,
  kPerf,
  kDereference,
};

// An expression's tree is at most this high, and statements nest at most about this deep, so that every pass may
// recurse. The parser rejects more with an error. Only chains (a + b + c ..., else if ... else if ...) come near: brackets and
// blocks nest to a quarter of it.
inline constexpr int kMaximumNesting = 1000;

struct Expression {
  Expression(ExpressionKind k, SourceRange r) : kind(k), range(r) {}
  virtual ~Expression() = default;
  const ExpressionKind kind;
  SourceRange range;
  ValueType type = ValueType::kUnknown;  // sema: infer-types
  // parser: levels of nodes from here down, at most kMaximumNesting; passes don't update it
  uint16_t height = 1;
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct Global;    // declared below
struct Local;     // a local variable or a parameter, below
struct Function;  // below

struct Number : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kNumber;
  Number(SourceRange r, int64_t v) : Expression(kKind, r), value(v) {}
  int64_t value;
};

// A string literal, escapes already replaced, adjacent ones joined. May hold any byte but NUL.
struct String : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kString;
  String(SourceRange r, std::string v) : Expression(kKind, r), value(std::move(v)) {}
  std::string value;
};

struct Variable : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kVariable;
  Variable(SourceRange r, std::string n) : Expression(kKind, r), name(std::move(n)) {}
  std::string name;
  Global* global = nullptr;  // sema: resolve-symbols; exactly one of the two
  Local* local = nullptr;
};

// a[k1, k2]; a null index is the slice wildcard `*` (only where a slice may stand).
struct Index : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kIndex;
  explicit Index(SourceRange r) : Expression(kKind, r) {}
  std::unique_ptr<Variable> array;
  std::vector<ExpressionPtr> indexes;
};

// One step of a path through traced data. `name`, `number` and `expression` belong to the kinds that name them, and are empty, 0
// and null in others.
struct PathStep {
  enum class Kind : uint8_t {
    kMember,       // ->name
    kElement,      // [number]
    kElementExpr,  // [expression]
    kPretty,       // $ at the end
    kPrettyDeep,   // $$ at the end
    kText,         // sema only, at the end: the string that a char* or char[] stands for
    kWord,         // sema only, at the end: the 8 bytes from byte `number` on of a value that lies in registers
  };
  Kind kind;
  SourceRange range;
  std::string name;
  int64_t number = 0;
  ExpressionPtr expression;
};

// $name->a[3]$ or &$name; also $$vars, $$parms, $$locals, $$return, $$name (name keeps its leading dollars).
struct TargetVariable : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kTargetVariable;
  explicit TargetVariable(SourceRange r) : Expression(kKind, r) {}
  std::string name;  // "$fd", "$return", "$$vars"
  bool address_of = false;
  std::vector<PathStep> path;
  int binding = -1;  // sema: bind-targets; index into the probe's bindings; -1: not bound yet
};

// p->next->value of an expression whose type sema learns from where the value came from: (f = $file) f->f_path.
struct Dereference : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kDereference;
  explicit Dereference(SourceRange r) : Expression(kKind, r) {}
  bool address_of = false;
  ExpressionPtr pointer;
  std::vector<PathStep> path;  // starts with a kMember
  int binding = -1;            // sema: bind-dereferences, like those of other nodes: in a function's body an index
                               // into Program::function_bindings of the function
};

// @var("name@file","module")path, @cast(expr,"type","module")path, @const("..."), @probewrite(..), @kderef(size,addr),
// @uderef, @kregister, @uregister, @choose_defined(a,b), @enum, @task ...: operations with an at-name, arguments and perhaps
// a path. @defined, @entry and @perf have nodes of their own; macros are already gone.
struct AtOperation : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kAtOperation;
  explicit AtOperation(SourceRange r) : Expression(kKind, r) {}
  std::string name;  // "@var"
  bool address_of = false;
  std::vector<ExpressionPtr> arguments;
  std::vector<PathStep> path;
  int binding = -1;  // sema: bind-targets
};

struct Unary : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kUnary;
  explicit Unary(SourceRange r) : Expression(kKind, r) {}
  enum class Operator : uint8_t { kPlus, kMinus, kNot, kBitNot } op;
  ExpressionPtr operand;
};

struct Increment : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kIncrement;
  explicit Increment(SourceRange r) : Expression(kKind, r) {}
  bool is_prefix;
  int delta;  // +1 or -1
  ExpressionPtr operand;
};

struct Binary : Expression {  // arithmetic on longs
  static constexpr ExpressionKind kKind = ExpressionKind::kBinary;
  explicit Binary(SourceRange r) : Expression(kKind, r) {}
  enum class Operator : uint8_t {
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kShiftLeft,
    kShiftRight,
    kShiftRightLogical,
    kAnd,
    kOr,
    kXor
  } op;
  ExpressionPtr left, right;
};

struct Logical : Expression {  // && ||, short-circuit
  static constexpr ExpressionKind kKind = ExpressionKind::kLogical;
  explicit Logical(SourceRange r) : Expression(kKind, r) {}
  bool is_and;
  ExpressionPtr left, right;
};

struct Compare : Expression {  // of two longs or two strings
  static constexpr ExpressionKind kKind = ExpressionKind::kCompare;
  explicit Compare(SourceRange r) : Expression(kKind, r) {}
  enum class Operator : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual } op;
  ExpressionPtr left, right;
};

struct Concatenation : Expression {  // a . b
  static constexpr ExpressionKind kKind = ExpressionKind::kConcatenation;
  explicit Concatenation(SourceRange r) : Expression(kKind, r) {}
  ExpressionPtr left, right;
};

struct Regex : Expression {  // a =~ "pattern", a !~ "pattern"
  static constexpr ExpressionKind kKind = ExpressionKind::kRegex;
  explicit Regex(SourceRange r) : Expression(kKind, r) {}
  bool negated;
  ExpressionPtr subject;
  std::string pattern;
  SourceRange pattern_range;
};

struct Ternary : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kTernary;
  explicit Ternary(SourceRange r) : Expression(kKind, r) {}
  ExpressionPtr condition, if_true, if_false;
};

struct Comma : Expression {  // (a, b): a for its effects, the value of b
  static constexpr ExpressionKind kKind = ExpressionKind::kComma;
  explicit Comma(SourceRange r) : Expression(kKind, r) {}
  ExpressionPtr left, right;
};

struct Assignment : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kAssignment;
  explicit Assignment(SourceRange r) : Expression(kKind, r) {}
  enum class Operator : uint8_t { kSet, kArithmetic, kConcatenate, kAccumulate } op;  // = | += .. >>= | .= | <<<
  Binary::Operator arithmetic = Binary::Operator::kAdd;                               // for kArithmetic
  ExpressionPtr target, value;
};

struct In : Expression {  // [k1, *] in array
  static constexpr ExpressionKind kKind = ExpressionKind::kIn;
  explicit In(SourceRange r) : Expression(kKind, r) {}
  std::vector<ExpressionPtr> indexes;  // null: `*`
  std::unique_ptr<Variable> array;
};

struct Call : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kCall;
  Call(SourceRange r, std::string n) : Expression(kKind, r), name(std::move(n)) {}
  std::string name;
  std::vector<ExpressionPtr> arguments;
  Function* function = nullptr;  // sema: resolve-symbols; null where `intrinsic` >= 0
  // sema: resolve-symbols; overloads of as many parameters, tried one after another with the same argument values when
  // the one before executes `next`. When the last one does, that is a script error.
  std::vector<Function*> fallbacks;
  int intrinsic = -1;  // sema: index into sema/terms/intrinsics.h's table
};

// One part of a printf format, parsed once: literal text, or a conversion of one argument (or of none: %%).
struct FormatPart {
  enum class Kind : uint8_t {
    kLiteral,
    kSigned,
    kUnsigned,
    kOctal,
    kHex,
    kHexUpper,
    kPointer,
    kString,
    kChar,
    kBinary,
    kMemory,
    kMemoryHex
  } kind = Kind::kLiteral;
  std::string literal;
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  int width = -1;               // in bytes; -1: none
  int precision = -1;           // -1: none
  bool width_argument = false;  // `*`: takes a long argument before the value
  bool precision_argument = false;
};

// print println printd printdln printf and the sprint forms.
struct Print : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kPrint;
  explicit Print(SourceRange r) : Expression(kKind, r) {}
  bool to_stream = true;        // false: sprint*, an expression of type string
  bool with_format = false;     // printf, sprintf
  bool with_delimiter = false;  // printd, printdln
  bool with_newline = false;    // println, printdln
  bool is_char = false;         // print_char
  std::string format;           // the literal's value, escapes replaced
  SourceRange format_range;
  std::vector<FormatPart> parts;  // of the format
  std::string delimiter;
  std::vector<ExpressionPtr> arguments;  // a Histogram may stand alone here
  std::string if_unreadable;             // the value of a sprintf if one of its arguments can't be read; empty: that is an error
};

struct Statistic : Expression {  // @count(stats) ...
  static constexpr ExpressionKind kKind = ExpressionKind::kStatistic;
  explicit Statistic(SourceRange r) : Expression(kKind, r) {}
  enum class Operator : uint8_t { kCount, kSum, kMin, kMax, kAverage, kVariance, kPercentile } op;
  ExpressionPtr stats;        // Variable or Index
  int64_t bits = 0;           // @variance's second argument, a precision: accepted, as the result is exact
  ExpressionPtr percent;      // @percentile's second argument, times percent_scale; null for the others
  int64_t percent_scale = 1;  // 10 for @percentile(s, "99.9"), whose `percent` is the number 999
};

struct Histogram : Expression {  // @hist_log(stats[, "unit"]), @hist_linear(stats, low, high, width[, "unit"])
  static constexpr ExpressionKind kKind = ExpressionKind::kHistogram;
  explicit Histogram(SourceRange r) : Expression(kKind, r) {}
  bool is_log;
  int64_t low = 0, high = 0, width = 0;  // of @hist_linear; `high` lies in the last bucket
  bool has_summary = false;              // a unit is given: percentiles are printed with the histogram, and ranges
  std::string unit;                      // of the values: "ns"; may be empty
  ExpressionPtr stats;
};

struct HistogramIndex : Expression {  // @hist_log(s)[bucket]; bucket in @hist_log(s)
  static constexpr ExpressionKind kKind = ExpressionKind::kHistogramIndex;
  explicit HistogramIndex(SourceRange r) : Expression(kKind, r) {}
  std::unique_ptr<Histogram> histogram;
  ExpressionPtr bucket;
  bool tests = false;  // true: `bucket in`, which is 1 where there is such a bucket, else 0; false: the bucket's count
};

// The globals that a piece of C names in its pragmas: those of STAP_GLOBAL_GET_x and STAP_GLOBAL_SET_x.
struct EmbeddedGlobals {
  std::vector<Global*> read, written;
};

struct Embedded : Expression {  // %{ C %}
  static constexpr ExpressionKind kKind = ExpressionKind::kEmbedded;
  explicit Embedded(SourceRange r) : Expression(kKind, r) {}
  std::string code;
  EmbeddedGlobals globals;  // sema: resolve-symbols
};

struct Defined : Expression {  // @defined(expr)
  static constexpr ExpressionKind kKind = ExpressionKind::kDefined;
  explicit Defined(SourceRange r) : Expression(kKind, r) {}
  ExpressionPtr operand;
};

struct Entry : Expression {  // @entry(expr)
  static constexpr ExpressionKind kKind = ExpressionKind::kEntry;
  explicit Entry(SourceRange r) : Expression(kKind, r) {}
  ExpressionPtr operand;
};

// sema only (lower-entry-values): the value that entry_saves[index] of this probe had when the function was entered.
struct EntryValue : Expression {
  static constexpr ExpressionKind kKind = ExpressionKind::kEntryValue;
  EntryValue(SourceRange r, int i) : Expression(kKind, r), index(i) {}
  int index;
};

struct Perf : Expression {  // @perf("counter")
  static constexpr ExpressionKind kKind = ExpressionKind::kPerf;
  explicit Perf(SourceRange r) : Expression(kKind, r) {}
  std::string counter;
};

// ---------------------------------------------------------------- statements

enum class StatementKind : uint8_t {
  kBlock,
  kExpression,
  kNull,
  kIf,
  kWhile,
  kFor,
  kForeach,
  kReturn,
  kDelete,
  kNext,
  kBreak,
  kContinue,
  kTry,
  kEmbedded
};

struct Statement {
  Statement(StatementKind k, SourceRange r) : kind(k), range(r) {}
  virtual ~Statement() = default;
  const StatementKind kind;
  SourceRange range;
};
using StatementPtr = std::unique_ptr<Statement>;

struct Block : Statement {
  static constexpr StatementKind kKind = StatementKind::kBlock;
  explicit Block(SourceRange r) : Statement(kKind, r) {}
  std::vector<StatementPtr> statements;
  bool ends_at_next = false;  // sema: time-probes; `next` in it goes on behind it
};
struct ExpressionStatement : Statement {
  static constexpr StatementKind kKind = StatementKind::kExpression;
  explicit ExpressionStatement(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr expression;
};
struct Null : Statement {
  static constexpr StatementKind kKind = StatementKind::kNull;
  explicit Null(SourceRange r) : Statement(kKind, r) {}
};
struct If : Statement {
  static constexpr StatementKind kKind = StatementKind::kIf;
  explicit If(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr condition;
  StatementPtr then_branch, else_branch;  // else_branch may be null
};
struct While : Statement {
  static constexpr StatementKind kKind = StatementKind::kWhile;
  explicit While(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr condition;
  StatementPtr body;
};
struct For : Statement {
  static constexpr StatementKind kKind = StatementKind::kFor;
  explicit For(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr init, condition, step;  // any may be null
  StatementPtr body;
};

// foreach (value = [k1-, k2] in array[*, 1] limit n), and over histogram buckets.
struct Foreach : Statement {
  static constexpr StatementKind kKind = StatementKind::kForeach;
  explicit Foreach(SourceRange r) : Statement(kKind, r) {}
  std::unique_ptr<Variable> value;  // may be null
  std::vector<std::unique_ptr<Variable>> keys;
  std::unique_ptr<Variable> array;  // null for histogram iteration
  std::unique_ptr<Histogram> histogram;
  std::vector<ExpressionPtr> slice;            // empty, or one per key; null: `*`
  int sort_direction = 0;                      // 0 none, +1 ascending, -1 descending
  int sort_column = 0;                         // 0: by value; n: by the n-th key
  std::optional<Statistic::Operator> sort_by;  // for aggregates by value: @sum etc.; default @count
  ExpressionPtr limit;                         // may be null
  StatementPtr body;
};
struct Return : Statement {
  static constexpr StatementKind kKind = StatementKind::kReturn;
  explicit Return(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr value;  // may be null
};
struct Delete : Statement {
  static constexpr StatementKind kKind = StatementKind::kDelete;
  explicit Delete(SourceRange r) : Statement(kKind, r) {}
  ExpressionPtr target;  // Variable (whole array or scalar) or Index (element or slice)
};
struct Next : Statement {
  static constexpr StatementKind kKind = StatementKind::kNext;
  explicit Next(SourceRange r) : Statement(kKind, r) {}
};
struct Break : Statement {
  static constexpr StatementKind kKind = StatementKind::kBreak;
  explicit Break(SourceRange r) : Statement(kKind, r) {}
};
struct Continue : Statement {
  static constexpr StatementKind kKind = StatementKind::kContinue;
  explicit Continue(SourceRange r) : Statement(kKind, r) {}
};
struct Try : Statement {
  static constexpr StatementKind kKind = StatementKind::kTry;
  explicit Try(SourceRange r) : Statement(kKind, r) {}
  StatementPtr body, handler;
  std::unique_ptr<Variable> message;  // catch (msg); may be null
};
struct EmbeddedStatement : Statement {
  static constexpr StatementKind kKind = StatementKind::kEmbedded;
  explicit EmbeddedStatement(SourceRange r) : Statement(kKind, r) {}
  std::string code;
  EmbeddedGlobals globals;  // sema: resolve-symbols
};

// ---------------------------------------------------------------- declarations

struct Global {
  SourceRange range;  // of the name
  std::string name;
  bool is_private = false;
  ArrayKind array_kind = ArrayKind::kPlain;
  bool declared_array = false;           // a[], a[100], a%
  std::optional<int64_t> declared_size;  // a[100]: elements
  ExpressionPtr initial;                 // a Number, a String, or null
  bool from_library = false;

  // sema
  bool is_made = false;                  // by a pass, which does not mind which elements make room for others
  ValueType type = ValueType::kUnknown;  // of the value, also for arrays
  std::vector<ValueType> key_types;      // empty: scalar; unknown until the first use
  bool is_array = false;
  int index = -1;  // into sema::Program::globals
};

// A local variable or parameter. Function::parameters and Function::locals own those of functions, sema's Program those of
// probes.
struct Local {
  SourceRange range;
  std::string name;
  ValueType type = ValueType::kUnknown;  // declared, or sema
  int index = -1;                        // sema: position in its function's or probe's locals
};

struct Function {
  SourceRange range;
  std::string name;
  bool is_private = false;
  ValueType declared_type = ValueType::kUnknown;
  std::vector<std::unique_ptr<Local>> parameters;
  std::vector<ExpressionPtr> defaults;  // as many as parameters, null: none
  std::optional<int64_t> priority;      // function f:long (x) : 10; the lowest is tried first; none: 0, in the library 1
  StatementPtr body;                    // a Block, or an EmbeddedStatement
  bool from_library = false;

  // sema
  ValueType type = ValueType::kUnknown;  // of the result; kUnknown after inference: returns nothing
  std::vector<std::unique_ptr<Local>> locals;
  int index = -1;              // into sema::Program::functions
  bool falls_through = false;  // resolve-symbols: its own body has a `next` (see Call::fallbacks)
};

// One component of a probe point: functor, perhaps with a parameter: function("foo"), library(...), begin(-10).
struct PointComponent {
  SourceRange range;
  std::string name;                 // may hold globs and {a,b}
  std::optional<std::string> text;  // a string parameter
  std::optional<int64_t> number;    // a number parameter; negative ones too
};

struct ProbePoint {
  SourceRange range;
  std::vector<PointComponent> components;
  bool optional = false;    // ?: may resolve to nothing
  bool sufficient = false;  // !: if it resolves, the points after it are dropped
  ExpressionPtr condition;  // if (expr); may be null
};

struct Probe {
  SourceRange range;
  std::vector<ProbePoint> points;
  std::unique_ptr<Block> body;
  std::vector<std::unique_ptr<Global>> probe_globals;  // `probe`-local declarations, where the grammar has them
  bool from_library = false;
};

struct Alias {
  SourceRange range;
  std::vector<ProbePoint> names;  // probe NAME, NAME = ...
  bool epilogue = false;          // +=
  std::vector<ProbePoint> points;
  std::unique_ptr<Block> body;
  std::unique_ptr<Block> closing;  // probe a = b { prologue }, { epilogue }; may be null
  std::vector<ProbePoint> suffixed;
  bool from_library = false;
};

// %{ ... %} at top level.
struct TopLevelEmbedded {
  SourceRange range;
  std::string code;
};

struct Script {
  const SourceFile* file = nullptr;
  std::vector<std::unique_ptr<Global>> globals;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Alias>> aliases;
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<TopLevelEmbedded> embedded;
};

// Copies of a subtree with sema's fields; pointers to declarations are those of the original.
ExpressionPtr clone(const Expression& expression);
StatementPtr clone(const Statement& statement);
ProbePoint clone(const ProbePoint& point);

// Returns source text that parses again to the same tree (-p1), for a tree as the parser made it.
std::string to_source(const Script& script);
std::string to_source(const Expression& expression);
std::string to_source(const Statement& statement);
std::string to_source(const ProbePoint& point);

}  // namespace syntax
}  // namespace spile
