// Plans (abi/value_plan.h) that are written by hand, followed over memory of this process: good, unreadable, and hostile.

#include <gmock/gmock.h>
#include <string.h>

#include <random>
#include <string>

#include "abi/value_plan.h"
#include "runtime/test_arena.h"

namespace spile::rt {
extern "C" {
void spile_fn___pretty_value(Context*, int64_t address, const char* plan, char* out);
void spile_fn___pretty_words(Context*, const char* plan, int64_t a, int64_t b, int64_t c, int64_t d, char* out);
}

namespace {

using abi::ValueForm;
using abi::ValueStep;
using testing::EndsWith;
using testing::StartsWith;
using Computed = abi::ValueSource;

// Bytes of a plan, in order. Numbers are below 128 unless they are written by `large`.
class Plan {
 public:
  Plan& step(ValueStep op, std::initializer_list<unsigned> operands = {}) {
    bytes_ += static_cast<char>(op);
    for (unsigned operand : operands) bytes_ += static_cast<char>(operand);
    return *this;
  }
  Plan& text(const std::string& text) {
    step(ValueStep::kText);
    large(text.size());
    bytes_ += text;
    return *this;
  }
  Plan& number(unsigned offset, unsigned size, ValueForm form) {
    return step(ValueStep::kNumber, {offset, size, static_cast<unsigned>(form)});
  }
  Plan& large(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Plan& bytes(const std::string& bytes) { return bytes_ += bytes, *this; }
  Plan& form(ValueForm form) { return bytes_ += static_cast<char>(form), *this; }
  // The offset of a routine or table.
  Plan& target(uint32_t offset) {
    for (unsigned i = 0; i < 4; ++i) bytes_ += static_cast<char>(offset >> (8 * i));
    return *this;
  }
  // Ends the routine.
  Plan& end() { return step(ValueStep::kEnd); }
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  std::string with_limits(uint32_t levels, uint32_t elements, uint32_t most) const {
    std::string plan;
    for (uint32_t limit : {levels, elements, most})
      for (unsigned i = 0; i < 4; ++i) plan += static_cast<char>(limit >> (8 * i));
    return plan + bytes_;
  }

 private:
  std::string bytes_;
};

std::string op(Computed o) { return {static_cast<char>(o)}; }
// The word at an offset of the value; a constant below 64.
std::string word_at(unsigned offset) {
  return op(Computed::kBase) + op(Computed::kPlus) + static_cast<char>(offset) + op(Computed::kLoad) + "\x08" +
         std::string(1, '\0') + op(Computed::kEnd);
}
std::string constant(unsigned value) { return op(Computed::kConstant) + static_cast<char>(value) + op(Computed::kEnd); }

class ValueWalkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(spile_rt_enter(&context_));
    pages_ = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(pages_ + kPage, kPage, PROT_NONE), 0);
  }
  void TearDown() override { munmap(pages_, 2 * kPage); }

  std::string show(const void* value, const Plan& plan, uint32_t levels = 8, uint32_t elements = 32, uint32_t most = 200) {
    return show(reinterpret_cast<int64_t>(value), plan, levels, elements, most);
  }
  std::string show(int64_t address, const Plan& plan, uint32_t levels = 8, uint32_t elements = 32, uint32_t most = 200) {
    memset(out_, '\x1b', sizeof out_);
    spile_fn___pretty_value(&context_, address, plan.with_limits(levels, elements, most).data(), out_);
    EXPECT_EQ(out_[512], '\x1b') << "behind the string";
    EXPECT_EQ(strchr(out_, '\x1b'), nullptr) << "what was in the buffer before";
    EXPECT_LT(strnlen(out_, 512), 512u);
    return out_;
  }
  std::string one(const void* value, unsigned size, ValueForm form) { return show(value, Plan().number(0, size, form).end()); }

  static constexpr size_t kPage = 4096;
  TestArena arena_;
  Context context_{};
  char* pages_ = nullptr;  // a readable one, and one that is not
  char out_[520];
};

TEST_F(ValueWalkTest, PrintsNumbersInTheirForms) {
  const int64_t value = -2;
  EXPECT_EQ(one(&value, 4, ValueForm::kSigned), "-2");
  EXPECT_EQ(one(&value, 4, ValueForm::kUnsigned), "4294967294");
  EXPECT_EQ(one(&value, 8, ValueForm::kUnsigned), "18446744073709551614");
  EXPECT_EQ(one(&value, 8, ValueForm::kPointer), "0xfffffffffffffffe");
  const uint32_t words[] = {'a', 0x20ac, 0x110000, 0, 1, 7, '\n', 0xd800, 0x85};
  EXPECT_EQ(one(&words[0], 1, ValueForm::kByte), "'a'");
  EXPECT_EQ(one(&words[1], 4, ValueForm::kCharacter), "'€'");
  EXPECT_EQ(one(&words[2], 4, ValueForm::kCharacter), "'\xef\xbf\xbd'") << "no code point";
  EXPECT_EQ(one(&words[3], 8, ValueForm::kPointer), "0x0000000100000000") << "two words";
  EXPECT_EQ(one(&words[3], 4, ValueForm::kPointer), "NULL");
  EXPECT_EQ(one(&words[3], 1, ValueForm::kTruth) + one(&words[4], 1, ValueForm::kTruth) + one(&words[5], 1, ValueForm::kTruth),
            "falsetrue7");
  EXPECT_EQ(one(&words[6], 4, ValueForm::kCharacter), "'\\n'");
  EXPECT_EQ(one(&words[7], 4, ValueForm::kCharacter), "'\xef\xbf\xbd'") << "half of a pair";
  EXPECT_EQ(one(&words[8], 4, ValueForm::kCharacter), "'\\205'") << "a control character";
}

TEST_F(ValueWalkTest, ShowsWhereItCantRead) {
  const Plan number = Plan().number(0, 8, ValueForm::kSigned).end();
  EXPECT_EQ(show(int64_t{0}, number), "NULL");
  EXPECT_EQ(show(int64_t{16}, number), "<0x10: unreadable>");
  EXPECT_EQ(show(INT64_MIN, number), "<0x8000000000000000: unreadable>");
  // A structure at the end of a page: what is on it is shown.
  const Plan pair =
      Plan().text("{.a=").number(0, 4, ValueForm::kSigned).text(", .b=").number(4, 4, ValueForm::kSigned).text("}").end();
  char* at = pages_ + kPage - 4;
  *reinterpret_cast<int32_t*>(at) = 7;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "{.a=7, .b=<%#lx: unreadable>}", reinterpret_cast<unsigned long>(at) + 4);
  EXPECT_EQ(show(at, pair), wanted);
}

TEST_F(ValueWalkTest, TakesBitsOutOfWords) {
  const uint32_t word = 0b1011'0110;
  auto bits = [&](unsigned first, unsigned count, ValueForm form) {
    return show(&word, Plan().step(ValueStep::kBits, {0, 4, first, count, static_cast<unsigned>(form)}).end());
  };
  EXPECT_EQ(bits(1, 3, ValueForm::kUnsigned), "3");
  EXPECT_EQ(bits(4, 4, ValueForm::kUnsigned), "11");
  EXPECT_EQ(bits(4, 4, ValueForm::kSigned), "-5");
  EXPECT_EQ(bits(0, 32, ValueForm::kSigned), "182");
}

TEST_F(ValueWalkTest, NamesConstants) {
  auto plan = [](abi::ValueTable kind) {
    Plan made;
    made.step(ValueStep::kEnumerator, {0, 4, 0, 32, 1}).target(11).end();
    EXPECT_EQ(made.size(), 11u);
    // The count of constants, and for each the value, the length of its name, and the name.
    return made.bytes({static_cast<char>(kind), 4}).bytes(std::string("\0\4ZERO\1\1R\2\1W\3\2RW", 17));
  };
  for (auto [value, name, flags] : {std::tuple(0, "ZERO", "ZERO"),
                                    {1, "R", "R"},
                                    {3, "RW", "RW"},
                                    {4, "4", "0x4"},
                                    {5, "5", "R | 0x4"},
                                    {-1, "-1", "R | W | 0xfffffffffffffffc"}}) {
    EXPECT_EQ(show(&value, plan(abi::ValueTable::kConstants)), name);
    EXPECT_EQ(show(&value, plan(abi::ValueTable::kFlags)), flags);
  }
}

TEST_F(ValueWalkTest, PrintsFloatingPointNumbers) {
  auto shown = [&](const void* value, unsigned kind) { return show(value, Plan().step(ValueStep::kFloat, {0, kind}).end()); };
  const float f = 0.1f;
  const double d = -2.5e300;
  const long double l = 1.0L / 3;
  EXPECT_EQ(shown(&f, 4), "0.1");
  EXPECT_EQ(shown(&d, 8), "-2.5e+300");
  EXPECT_EQ(shown(&l, 10), "0.333333333333333333");
}

TEST_F(ValueWalkTest, EscapesTexts) {
  auto array = [&](const std::string& text) { return show(text.data(), Plan().step(ValueStep::kCharacters, {0, 100, 1}).end()); };
  EXPECT_EQ(array("plain"), "\"plain\"");
  EXPECT_EQ(array("a\033[31m\"\\\n\tb\x7f"), R"("a\033[31m\"\\\n\tb\177")");
  EXPECT_EQ(array("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(array("\xc3"), R"("\303")") << "cut within a character";
  EXPECT_EQ(array("\xc2\x9b"), R"("\302\233")") << "CSI, in UTF-8";
  EXPECT_EQ(array("\xc0\x80"), R"("\300\200")") << "written too long";
  EXPECT_EQ(array("\xe0\x80\xbf\xed\xa0\x80\xf4\x90\x80\x80\xff"), R"("\340\200\277\355\240\200\364\220\200\200\377")");
  const char16_t wide[] = u"a\u20ac\U0001f600\xd800z";
  EXPECT_EQ(show(wide, Plan().step(ValueStep::kCharacters, {0, 100, 2}).end()), "\"a\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdz\"");
}

TEST_F(ValueWalkTest, CutsTextsAtTheirLimits) {
  const std::string text(600, 'a');
  struct {
    const char* at;
    uint64_t length;
  } span = {text.data(), 600};
  const Plan whole = Plan().step(ValueStep::kSpan).bytes(word_at(0) + word_at(8) + "\1").end();
  EXPECT_EQ(show(&span, whole, 8, 32, 3), "\"aaa\"...");
  EXPECT_EQ(show(&span, whole, 8, 32, 0).size(), 511u);
  EXPECT_THAT(show(&span, whole, 8, 32, 0), EndsWith("aa\"..."));
  span.length = 3;
  EXPECT_EQ(show(&span, whole, 8, 32, 3), "\"aaa\"");
  span.length = ~uint64_t{0};
  span.at = pages_ + kPage - 2;
  EXPECT_THAT(show(&span, whole), StartsWith("<0x")) << "its end is not there";
  span.at = nullptr;
  EXPECT_EQ(show(&span, whole), "NULL");
  span.length = 0;
  EXPECT_EQ(show(&span, whole), "\"\"");
}

TEST_F(ValueWalkTest, ComputesWithoutTrustingNumbers) {
  auto computed = [&](const std::string& source, int64_t value) {
    return show(&value, Plan().step(ValueStep::kComputed).bytes(source).form(ValueForm::kSigned).end());
  };
  auto load = op(Computed::kBase) + op(Computed::kLoad) + "\x08" + std::string(1, '\0');
  auto divided = load + op(Computed::kDivide) + "\x04" + op(Computed::kEnd);
  EXPECT_EQ(computed(divided, 41), "10");
  EXPECT_EQ(computed(divided, -41), "-10");
  EXPECT_EQ(computed(divided, INT64_MIN), "-2305843009213693952");
  EXPECT_EQ(computed(load + op(Computed::kTimes) + "\x7f" + op(Computed::kEnd), INT64_MIN), "-9223372036854775808") << "times -1";
  EXPECT_EQ(computed(load + op(Computed::kShiftRight) + "\x3c" + op(Computed::kAnd) + "\x07" + op(Computed::kEnd), -1), "7");
  EXPECT_EQ(computed(load + load + op(Computed::kMinus) + op(Computed::kEnd), 5), "0");
}

// ---- containers

struct Node {
  Node* next;
  int64_t value;
};
Plan list_plan() {
  Plan plan;
  plan.step(ValueStep::kList)
      .bytes("[]" + word_at(0) + constant(0) + op(Computed::kConstant) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
             std::string(1, '\0') + op(Computed::kEnd));
  plan.bytes({'\0', '\x08'});
  plan.target(plan.size() + 5).end();
  return plan.number(0, 8, ValueForm::kSigned).end();
}

TEST_F(ValueWalkTest, FollowsLists) {
  Node third = {nullptr, 3}, second = {&third, 2}, first = {&second, 1};
  Node* list = &first;
  EXPECT_EQ(show(&list, list_plan()), "[1, 2, 3]");
  EXPECT_EQ(show(&list, list_plan(), 8, 2), "[1, 2, ...]");
  list = nullptr;
  EXPECT_EQ(show(&list, list_plan()), "[]");
}

TEST_F(ValueWalkTest, EndsListsThatDontEnd) {
  Node self = {&self, 5};
  Node* list = &self;
  std::string fives = "[5";
  for (int i = 1; i < 32; ++i) fives += ", 5";
  EXPECT_EQ(show(&list, list_plan()), fives + ", ...]");
  EXPECT_THAT(show(&list, list_plan(), 8, ~0u), EndsWith("5, ...")) << "the string is full";
  self.next = reinterpret_cast<Node*>(0x10);
  EXPECT_EQ(show(&list, list_plan()), "[5, <0x10: unreadable>]");
}

struct Branch {
  Branch *left, *right, *parent;
  int64_t value;
};
Plan tree_plan() {
  Plan plan;
  plan.step(ValueStep::kTree).bytes("{}" + word_at(0) + word_at(8)).bytes({'\0', '\x08', '\x10', '\x18'});
  plan.target(plan.size() + 5).end();
  return plan.number(0, 8, ValueForm::kSigned).end();
}

TEST_F(ValueWalkTest, FollowsTreesInOrder) {
  Branch head = {}, root = {}, a = {}, b = {}, c = {};
  head.left = &root;
  root = {&a, &c, &head, 4};
  a = {nullptr, &b, &root, 1};
  b = {nullptr, nullptr, &a, 2};
  c = {nullptr, nullptr, &root, 9};
  struct {
    Branch* first;
    uint64_t count;
  } tree = {&a, 4};
  EXPECT_EQ(show(&tree, tree_plan()), "{1, 2, 4, 9}");
  EXPECT_EQ(show(&tree, tree_plan(), 8, 3), "{1, 2, 4, ...}");
  tree.count = 0;
  EXPECT_EQ(show(&tree, tree_plan()), "{}");
}

TEST_F(ValueWalkTest, EndsTreesThatLeadToThemselves) {
  Branch self = {&self, &self, &self, 1};
  struct {
    Branch* first;
    uint64_t count;
  } tree = {&self, ~uint64_t{0}};
  EXPECT_THAT(show(&tree, tree_plan()), EndsWith("1, ...}"));
  self.right = nullptr;  // the way up does not end either
  EXPECT_THAT(show(&tree, tree_plan()), EndsWith("1, ...}"));
  self.parent = reinterpret_cast<Branch*>(0xdead0000);
  EXPECT_EQ(show(&tree, tree_plan()), "{<0xdead0000: unreadable>}");
}

TEST_F(ValueWalkTest, PrintsNumbersOf16Bytes) {
  auto wide = [&](__int128 value, ValueForm form) { return one(&value, 16, form); };
  EXPECT_EQ(wide(0, ValueForm::kSigned), "0");
  EXPECT_EQ(wide(-1, ValueForm::kSigned), "-1");
  EXPECT_EQ(wide(-1, ValueForm::kUnsigned), "340282366920938463463374607431768211455");
  EXPECT_EQ(wide(__int128{1} << 127, ValueForm::kSigned), "-170141183460469231731687303715884105728");
  EXPECT_EQ(wide(1'000'000'000, ValueForm::kSigned), "1000000000") << "groups of nine digits keep their zeros";
  EXPECT_EQ(wide(__int128{1'000'000'000'000'000'000} * 1'000'000'007, ValueForm::kSigned), "1000000007000000000000000000");
  EXPECT_EQ(wide(-(__int128{1} << 64), ValueForm::kSigned), "-18446744073709551616");
  EXPECT_THAT(one(pages_ + kPage - 8, 16, ValueForm::kSigned), EndsWith(": unreadable>"));
}

Plan ring_plan() {
  Plan plan;
  plan.step(ValueStep::kRing).bytes("[]" + word_at(0) + word_at(8) + word_at(16) + word_at(24)).bytes({'\x04'});
  plan.target(plan.size() + 5).end();
  return plan.number(0, 4, ValueForm::kSigned).end();
}
TEST_F(ValueWalkTest, RingsGoOnAtTheirStart) {
  int32_t numbers[] = {4, 5, 2, 3};
  struct {
    const void* array;
    uint64_t first, length, count;
  } ring = {numbers, 2, 4, 4};
  EXPECT_EQ(show(&ring, ring_plan()), "[2, 3, 4, 5]");
  ring.count = ~uint64_t{0};
  EXPECT_THAT(show(&ring, ring_plan()), StartsWith("[2, 3, 4, 5, <0x")) << "more elements than the array has";
  ring.first = 4;
  EXPECT_THAT(show(&ring, ring_plan()), StartsWith("[<0x"));
}

Plan hash_plan() {
  Plan plan;
  plan.step(ValueStep::kHashTable).bytes("{}" + word_at(0) + word_at(8) + word_at(16)).bytes({'\x04'});
  plan.target(plan.size() + 5).end();
  return plan.number(0, 4, ValueForm::kSigned).end();
}
TEST_F(ValueWalkTest, HashTablesHaveElementsWhereTheirControlBytesSay) {
  struct {
    int32_t elements[16];
    uint8_t control[32];
  } made;
  for (int i = 0; i < 16; ++i) made.elements[15 - i] = i;
  memset(made.control, 0xff, sizeof made.control);
  made.control[1] = 5, made.control[7] = 0, made.control[8] = 0x7f, made.control[15] = 3, made.control[3] = 0x80;
  struct {
    const void* control;
    uint64_t mask, count;
  } table = {made.control, 15, 4};
  EXPECT_EQ(show(&table, hash_plan()), "{1, 7, 8, 15}");
  EXPECT_EQ(show(&table, hash_plan(), 8, 2), "{1, 7, ...}");
  table.count = 5;
  EXPECT_THAT(show(&table, hash_plan()), StartsWith("{1, 7, 8, 15, <0x")) << "fewer than it says";
  // A table without elements that claims to have all of memory, and to be all of it.
  memset(pages_, 0xff, kPage);
  table = {pages_, ~uint64_t{0}, ~uint64_t{0}};
  EXPECT_THAT(show(&table, hash_plan()), EndsWith(": unreadable>}"));
}

struct Leaf {
  void* parent;
  int32_t keys[3];
  uint16_t place, count;
  void* children[4];
};
Plan b_tree_plan() {
  Plan plan;
  plan.step(ValueStep::kBTree).bytes("{}" + word_at(0) + word_at(8) + word_at(16));
  for (size_t at : {offsetof(Leaf, keys), offsetof(Leaf, keys), offsetof(Leaf, count), offsetof(Leaf, place),
                    offsetof(Leaf, parent), offsetof(Leaf, children), size_t{4}, size_t{4}})
    plan.large(at);
  plan.target(plan.size() + 9).target(0).end();
  return plan.number(0, 4, ValueForm::kSigned).end();
}
TEST_F(ValueWalkTest, BTreesAreFollowedInOrder) {
  Leaf root = {}, first = {&root, {1, 2}, 0, 2, {}}, second = {&root, {4}, 1, 1, {}}, third = {&root, {6, 7, 8}, 2, 3, {}};
  root = {nullptr, {3, 5}, 0, 2, {&first, &second, &third, nullptr}};
  struct {
    const void* root;
    uint64_t height, count;
  } tree = {&root, 1, 8};
  EXPECT_EQ(show(&tree, b_tree_plan()), "{1, 2, 3, 4, 5, 6, 7, 8}");
  tree.count = 9;
  EXPECT_THAT(show(&tree, b_tree_plan()), StartsWith("{1, 2, 3, 4, 5, 6, 7, 8, <0x"));
  tree.height = 1'000'000;
  EXPECT_THAT(show(&tree, b_tree_plan()), EndsWith(": unreadable>}"));
}
TEST_F(ValueWalkTest, EndsBTreesThatLeadToThemselves) {
  Leaf self = {&self, {1, 2, 3}, 0, 3, {&self, &self, &self, &self}};
  struct {
    const void* root;
    uint64_t height, count;
  } tree = {&self, ~uint64_t{0}, ~uint64_t{0}};
  EXPECT_THAT(show(&tree, b_tree_plan()), EndsWith(": unreadable>}"));
  tree.height = 3;
  EXPECT_THAT(show(&tree, b_tree_plan()), EndsWith(", ...}"));
  self.count = 0;
  EXPECT_THAT(show(&tree, b_tree_plan()), EndsWith(": unreadable>}")) << "the way up does not end";
}

TEST_F(ValueWalkTest, ElementsMayLieApart) {
  Plan plan;  // every second number: the distance is a product
  plan.step(ValueStep::kElements)
      .bytes("[]" + word_at(0) + constant(3))
      .bytes({static_cast<char>(Computed::kConstant), 4, static_cast<char>(Computed::kConstant), 2,
              static_cast<char>(Computed::kMultiply), static_cast<char>(Computed::kEnd)});
  plan.target(plan.size() + 5).end().number(0, 4, ValueForm::kSigned).end();
  const int32_t numbers[] = {1, 2, 3, 4, 5};
  const void* first = numbers;
  EXPECT_EQ(show(&first, plan), "[1, 3, 5]");
}

TEST_F(ValueWalkTest, ElementsEndAtTheirCountOrTheEndOfMemory) {
  Plan plan;
  plan.step(ValueStep::kElements).bytes("[]" + word_at(0) + word_at(8) + constant(4));
  plan.target(plan.size() + 5).end().number(0, 4, ValueForm::kSigned).end();
  auto* numbers = reinterpret_cast<int32_t*>(pages_ + kPage) - 3;
  numbers[0] = 1, numbers[1] = 2, numbers[2] = 3;
  struct {
    const void* first;
    uint64_t count;
  } vector = {numbers, 3};
  EXPECT_EQ(show(&vector, plan), "[1, 2, 3]");
  for (uint64_t count : {uint64_t{4}, uint64_t{1} << 40, ~uint64_t{0}}) {
    vector.count = count;
    EXPECT_THAT(show(&vector, plan), StartsWith("[1, 2, 3, <0x"));
    EXPECT_THAT(show(&vector, plan), EndsWith(": unreadable>]")) << "one bad element ends it";
  }
  EXPECT_EQ(show(&vector, plan, 0), "[...]") << "no level is left";
  EXPECT_EQ(show(&vector, plan, 8, 0), "[...]");
}

TEST_F(ValueWalkTest, BlocksAndBitsAreFoundByTheirNumber) {
  int32_t first[] = {1, 2}, second[] = {3, 4};
  struct {
    const int32_t** blocks;
    uint64_t begun, count;
  } deque;
  const int32_t* blocks[] = {first, second, nullptr};
  deque = {blocks, 1, 3};
  Plan plan;
  plan.step(ValueStep::kBlocks).bytes("[]" + word_at(0) + word_at(8) + word_at(16)).bytes({'\x02', '\x04'});
  plan.target(plan.size() + 5).end().number(0, 4, ValueForm::kSigned).end();
  EXPECT_EQ(show(&deque, plan), "[2, 3, 4]");
  deque.count = 4;
  EXPECT_EQ(show(&deque, plan), "[2, 3, 4, NULL]");
  const uint64_t words[] = {uint64_t{1} << 63, 2};
  struct {
    const uint64_t* at;
    uint64_t first, count;
  } bits = {words, 62, 4};
  EXPECT_EQ(show(&bits, Plan().step(ValueStep::kBitVector).bytes("[]" + word_at(0) + word_at(8) + word_at(16)).end()),
            "[0, 1, 0, 1]");
}

// ---- routines

TEST_F(ValueWalkTest, ChoosesARoutineByANumber) {
  Plan plan;
  plan.step(ValueStep::kSwitch).bytes(word_at(0)).bytes({'\x02', '\x00'}).target(0).bytes({'\x7f'}).target(0).target(0).end();
  const uint32_t begins[] = {plan.size(), plan.size() + 6, plan.size() + 12};
  Plan made;
  made.step(ValueStep::kSwitch)
      .bytes(word_at(0))
      .bytes({'\x02', '\x00'})
      .target(begins[0])
      .bytes({'\x7f'})
      .target(begins[1])
      .target(begins[2])
      .end();
  made.text("nil").end().text("one").end().text("any").end();
  for (auto [value, name] : {std::pair(0, "nil"), {-1, "one"}, {1, "any"}}) {
    const int64_t word = value;
    EXPECT_EQ(show(&word, made), name);
  }
}

TEST_F(ValueWalkTest, FollowsAsDeepAsTheLimitAllows) {
  Plan plan;  // {a pointer to itself}
  plan.text("{").step(ValueStep::kFollow).bytes(word_at(0)).target(0).text("}").end();
  const void* self = nullptr;
  self = &self;
  EXPECT_EQ(show(&self, plan, 3), "{{{{{...}}}}}");
  EXPECT_EQ(show(&self, plan, 0), "{{...}}");
  EXPECT_THAT(show(&self, plan, ~0u), StartsWith("{{{{{{{{{{{{{{{{{{{{")) << "frames are bounded, too";
  self = nullptr;
  EXPECT_EQ(show(&self, plan), "{NULL}");
}

TEST_F(ValueWalkTest, EndsARoutineThatCallsItself) {
  const int64_t value = 1;
  EXPECT_EQ(show(&value, Plan().step(ValueStep::kInline, {0}).target(0).end()), "{...}") << "by the number of frames";
}

TEST_F(ValueWalkTest, CutsWhatDoesNotFitIntoAString) {
  const int64_t value = -1234567890123;
  Plan plan;
  for (int i = 0; i < 60; ++i) plan.number(0, 8, ValueForm::kSigned).text(",");
  const std::string shown = show(&value, plan.end());
  std::string wanted;
  while (wanted.size() + 14 + 3 <= 511) wanted += "-1234567890123,";
  EXPECT_EQ(shown, wanted + "...") << "no number is cut";
  test_string_size = 16;  // -D MAXSTRINGLEN
  EXPECT_EQ(show(&value, Plan().number(0, 8, ValueForm::kSigned).end()), "-1234567890123");
  EXPECT_EQ(show(&value, Plan().number(0, 8, ValueForm::kUnsigned).end()), "...");
  EXPECT_EQ(show(&value, Plan().text("{.a=").number(0, 8, ValueForm::kSigned).end()), "{.a=...");
  EXPECT_EQ(show(&value, Plan().step(ValueStep::kFloat, {0, 8}).end()), "...");
  EXPECT_EQ(show(&value, Plan().text("123456789012345678").end()), "123456789012...");
}

TEST_F(ValueWalkTest, PrintsTimesOfTheCalendar) {
  auto shown = [&](int64_t value, uint64_t ticks) {
    return show(&value, Plan().step(ValueStep::kInstant, {0}).large(ticks).end());
  };
  EXPECT_EQ(shown(0, 1), "1970-01-01 00:00:00");
  EXPECT_EQ(shown(1700000000123456789, 1'000'000'000), "2023-11-14 22:13:20.123456789");
  EXPECT_EQ(shown(-1, 1000), "1969-12-31 23:59:59.999");
  EXPECT_EQ(shown(951782400, 1), "2000-02-29 00:00:00");
  EXPECT_THAT(shown(INT64_MAX, 1), EndsWith(":07")) << "far away, and within its buffer";
  EXPECT_THAT(shown(INT64_MIN, 1), StartsWith("-"));
}

TEST_F(ValueWalkTest, ReadsValuesThatLieInRegisters) {
  const std::string plan = Plan()
                               .text("{")
                               .number(0, 4, ValueForm::kSigned)
                               .text(",")
                               .number(4, 4, ValueForm::kSigned)
                               .text(",")
                               .number(6, 4, ValueForm::kUnsigned)
                               .text(",")
                               .number(24, 8, ValueForm::kSigned)
                               .text(",")
                               .number(32, 8, ValueForm::kSigned)
                               .text("}")
                               .end()
                               .with_limits(8, 32, 200);
  spile_fn___pretty_words(&context_, plan.data(), int64_t{0x0002'0003'ffff'ffff}, 0x1122, 0, -9, out_);
  EXPECT_THAT(std::string(out_), StartsWith("{-1,131075," + std::to_string(0x1122'0002u) + ",-9,<0x8bad"));
}

// Whatever is in memory, what is printed is a string that a terminal can be given, within its buffer.
TEST_F(ValueWalkTest, PrintsRandomMemorySafely) {
  std::mt19937_64 random(20261126);
  const Plan plans[] = {list_plan(),
                        tree_plan(),
                        ring_plan(),
                        hash_plan(),
                        b_tree_plan(),
                        Plan().step(ValueStep::kSpan).bytes(word_at(0) + word_at(8) + "\1").end(),
                        Plan().step(ValueStep::kCharacters, {0, 120, 2}).end(),
                        Plan().step(ValueStep::kCharacters, {0, 120, 4}).end(),
                        Plan().step(ValueStep::kCString).bytes(word_at(0) + "\1").end(),
                        Plan().number(0, 4, ValueForm::kCharacter).end(),
                        Plan().step(ValueStep::kBitVector).bytes("[]" + word_at(0) + word_at(8) + word_at(16)).end(),
                        Plan().step(ValueStep::kFloat, {0, 10}).end(),
                        Plan().step(ValueStep::kInstant, {0}).large(1000).end()};
  auto* words = reinterpret_cast<uint64_t*>(pages_);
  for (int round = 0; round < 20'000; ++round) {
    for (int i = 0; i < 16; ++i) {
      // Pointers into the page, bytes, and anything.
      const uint64_t any = random();
      words[i] = any % 3 == 0 ? reinterpret_cast<uint64_t>(pages_) + any / 3 % kPage : any % 3 == 1 ? any >> (any % 64) : any;
    }
    for (const Plan& plan : plans) {
      const std::string shown = show(pages_ + random() % 64, plan);
      for (size_t i = 0; i < shown.size(); ++i) {
        const auto byte = static_cast<unsigned char>(shown[i]);
        ASSERT_TRUE(byte >= 0x20 && byte != 0x7f) << shown;
        ASSERT_FALSE(byte == 0xc2 && static_cast<unsigned char>(shown[i + 1]) < 0xa0) << shown;
      }
    }
  }
}

}  // namespace
}  // namespace spile::rt
