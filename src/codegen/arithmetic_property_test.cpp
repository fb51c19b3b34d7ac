// Random expressions against the same computed in C++: once with their operands in globals, which nothing can fold, once as
// literals, which elaboration does.

#include <random>

#include "codegen/script_runner_test.h"

namespace spile::codegen {
namespace {

struct Made {
  std::string with_globals, with_literals;
  int64_t value;
};

class Maker {
 public:
  Made make(int depth) {
    if (depth == 0) return leaf();
    Made a = make(depth - 1), b = make(depth - 1);
    switch (random_() % 14) {
      case 0: return join(a, "+", b, wrap(u(a) + u(b)));
      case 1: return join(a, "-", b, wrap(u(a) - u(b)));
      case 2: return join(a, "*", b, wrap(u(a) * u(b)));
      case 3: return b.value == 0 ? a : join(a, "/", b, b.value == -1 ? wrap(0 - u(a)) : a.value / b.value);
      case 4: return b.value == 0 ? a : join(a, "%", b, b.value == -1 ? 0 : a.value % b.value);
      case 5: return join(a, "&", b, a.value & b.value);
      case 6: return join(a, "|", b, a.value | b.value);
      case 7: return join(a, "^", b, a.value ^ b.value);
      case 8: return join(a, "<<", b, wrap(u(a) << shift(b)));
      case 9: return join(a, ">>", b, a.value >> shift(b));
      case 10: return join(a, ">>>", b, wrap(u(a) >> shift(b)));
      case 11: return join(a, "<", b, a.value < b.value);
      case 12: return join(a, "==", b, a.value == b.value);
      default: return {"(~" + a.with_globals + ")", "(~" + a.with_literals + ")", ~a.value};
    }
  }
  std::string globals() const {
    std::string text;
    for (size_t i = 0; i < values_.size(); ++i) text += "global g" + std::to_string(i) + " = " + literal(values_[i]) + "\n";
    return text;
  }

 private:
  static uint64_t u(const Made& x) { return static_cast<uint64_t>(x.value); }
  static int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }
  static unsigned shift(const Made& x) { return x.value < 0 || x.value > 63 ? 0 : static_cast<unsigned>(x.value); }
  static std::string literal(int64_t value) { return std::to_string(value); }

  Made leaf() {
    constexpr int64_t kEdges[] = {0, 1, -1, 2, 7, 63, 64, 65, -8, INT64_MAX, INT64_MIN + 1, 1ll << 32, 255};
    int64_t value = random_() % 3 == 0 ? static_cast<int64_t>(static_cast<uint64_t>(random_()) << 32 | random_())
                                       : kEdges[random_() % std::size(kEdges)];
    if (value == INT64_MIN) value = 3;
    values_.push_back(value);
    return {"g" + std::to_string(values_.size() - 1), "(" + literal(value) + ")", value};
  }
  static Made join(const Made& a, const std::string& op, const Made& b, int64_t value) {
    std::string spaced = " " + op + " ";  // "%(" would begin a preprocessor's condition
    return {"(" + a.with_globals + spaced + b.with_globals + ")", "(" + a.with_literals + spaced + b.with_literals + ")", value};
  }

  std::mt19937 random_{11};
  std::vector<int64_t> values_;
};

TEST(ArithmeticProperty, AgreesWithC) {
  Maker maker;
  std::string body, expected;
  for (int i = 0; i < 60; ++i) {
    Made made = maker.make(i % 3 + 1);
    body += "printf(\"%d %d\\n\", " + made.with_globals + ", " + made.with_literals + ")\n";
    expected += std::to_string(made.value) + " " + std::to_string(made.value) + "\n";
  }
  for (int level : {2, 3}) {
    EXPECT_EQ(output_of(maker.globals() + "probe begin {\n" + body + "}", {}, level), expected) << "level " << level;
  }
}

// Statistics of random values against the definition, merged from shards or not.
TEST(ArithmeticProperty, AggregatesAgreeWithTheirDefinition) {
  std::mt19937 random(5);
  std::string adds;
  std::vector<int64_t> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(static_cast<int64_t>(random() % 20001) - 10000);
    adds += "s <<< " + std::to_string(values.back()) + "\n";
  }
  int64_t sum = 0, least = INT64_MAX, most = INT64_MIN, positive = 0;
  for (int64_t v : values) {
    sum += v;
    least = std::min(least, v);
    most = std::max(most, v);
    positive += v >= 0 && v < 1000;
  }
  EXPECT_EQ(
      output_of("global s probe begin {\n" + adds +
                "printf(\"%d %d %d %d %d\\n\", @count(s), @sum(s), @min(s), @max(s), @avg(s))\n"
                "println(@hist_linear(s, 0, 5000, 1000)[1]) }"),
      fmt::format("{} {} {} {} {}\n{}\n", values.size(), sum, least, most, sum / static_cast<int64_t>(values.size()), positive));
}

}  // namespace
}  // namespace spile::codegen
