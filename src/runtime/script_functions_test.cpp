// The library's functions, as codegen calls them: spile_fn_NAME(Context*, arguments..., [char* out], [bool* fault]).

#include <gtest/gtest.h>
#include <time.h>

#include <random>
#include <string>
#include <utility>

#include "runtime/test_arena.h"

namespace spile::rt {
extern "C" {
int64_t spile_fn_strlen(Context*, const char*);
void spile_fn_substr(Context*, const char*, int64_t, int64_t, char*);
int64_t spile_fn_stringat(Context*, const char*, int64_t, bool*);
int64_t spile_fn_isinstr(Context*, const char*, const char*);
int64_t spile_fn_strtol(Context*, const char*, int64_t);
void spile_fn_str_replace(Context*, const char*, const char*, const char*, char*);
void spile_fn_text_str(Context*, const char*, char*);
int64_t spile_fn_user_char(Context*, int64_t);
int64_t spile_fn_user_uint16_error(Context*, int64_t, bool*);
int64_t spile_fn_user_long_error(Context*, int64_t, bool*);
void spile_fn_user_string(Context*, int64_t, char*, bool*);
void spile_fn_user_string2(Context*, int64_t, const char*, char*);
void spile_fn_user_string_n(Context*, int64_t, int64_t, char*, bool*);
void spile_fn_user_string_n2(Context*, int64_t, int64_t, const char*, char*);
void spile_fn_user_string_quoted(Context*, int64_t, char*);
void spile_fn_ctime(Context*, int64_t, char*);
void spile_fn_errno_str(Context*, int64_t, char*);
int64_t spile_fn_randint(Context*, int64_t);
int64_t spile_fn_ppid(Context*);
int64_t spile_fn_cpu_clock_us(Context*, int64_t);
}

namespace {

class ScriptFunctions : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(spile_rt_enter(&context_)); }
  std::string substr(const char* text, int64_t start, int64_t count) {
    return spile_fn_substr(&context_, text, start, count, out_), out_;
  }
  std::string replace(const char* text, const char* search, const char* by) {
    return spile_fn_str_replace(&context_, text, search, by, out_), out_;
  }
  std::string escaped(const char* text) { return spile_fn_text_str(&context_, text, out_), out_; }
  std::string quoted(const void* text) { return spile_fn_user_string_quoted(&context_, address(text), out_), out_; }
  std::string errno_str(int64_t number) { return spile_fn_errno_str(&context_, number, out_), out_; }
  std::string ctime(int64_t seconds) { return spile_fn_ctime(&context_, seconds, out_), out_; }
  static int64_t address(const void* p) { return reinterpret_cast<int64_t>(p); }
  TestArena arena_;
  Context context_{};
  char out_[512];
};

TEST_F(ScriptFunctions, Substr) {
  EXPECT_EQ(substr("abcdef", 1, 3), "bcd");
  EXPECT_EQ(substr("abcdef", 4, 100), "ef");
  EXPECT_EQ(substr("abcdef", 0, INT64_MAX), "abcdef");
  EXPECT_EQ(substr("abcdef", 6, 1), "");
  EXPECT_EQ(substr("abcdef", -1, 3), "");
  EXPECT_EQ(substr("abcdef", 2, -1), "");
  EXPECT_EQ(substr("abcdef", 2, 0), "");
}

TEST_F(ScriptFunctions, StringsAreSearched) {
  EXPECT_EQ(spile_fn_strlen(&context_, "four"), 4);
  bool fault = true;
  EXPECT_EQ(spile_fn_stringat(&context_, "abc", 2, &fault), 'c');
  EXPECT_FALSE(fault);
  for (const int64_t outside : {int64_t{3}, int64_t{-1}}) {
    EXPECT_EQ(spile_fn_stringat(&context_, "abc", outside, &fault), 0);
    EXPECT_TRUE(std::exchange(fault, false));
  }
  EXPECT_EQ(spile_fn_isinstr(&context_, "haystack", "sta"), 1);
  EXPECT_EQ(spile_fn_isinstr(&context_, "haystack", "stb"), 0);
  EXPECT_EQ(spile_fn_isinstr(&context_, "hay", "haystack"), 0);
  EXPECT_EQ(spile_fn_isinstr(&context_, "hay", ""), 1);
  EXPECT_EQ(spile_fn_isinstr(&context_, "", "a"), 0);
  EXPECT_EQ(spile_fn_isinstr(&context_, "aab", "ab"), 1);
}

TEST_F(ScriptFunctions, StrReplace) {
  EXPECT_EQ(replace("a.b.c", ".", "::"), "a::b::c");
  EXPECT_EQ(replace("aaa", "aa", "b"), "ba");
  EXPECT_EQ(replace("abc", "", "x"), "abc");
  EXPECT_EQ(replace("abc", "abc", ""), "");
  EXPECT_EQ(replace("abc", "c", "d"), "abd");
  test_string_size = 16;
  EXPECT_EQ(replace("xxxxx", "x", "1234"), "123412341234123");
}

// But for white space and a plus sign at the start, which are not digits here.
TEST_F(ScriptFunctions, StrtolAgreesWithTheCLibrary) {
  std::mt19937 random(1);
  const std::string letters = "0123456789abfxXz-+ ";
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text += letters[random() % letters.size()];
    int base = static_cast<int>(random() % 37);
    if (base == 1) base = 0;
    bool digits_follow = !text.starts_with(' ') && !text.starts_with('+');
    ASSERT_EQ(spile_fn_strtol(&context_, text.c_str(), base), digits_follow ? strtol(text.c_str(), nullptr, base) : 0)
        << text << " " << base;
  }
  EXPECT_EQ(spile_fn_strtol(&context_, "12", 1), 0);
  EXPECT_EQ(spile_fn_strtol(&context_, "12", 99), 0);
  EXPECT_EQ(spile_fn_strtol(&context_, "-9223372036854775808", 10), INT64_MIN);
}

TEST_F(ScriptFunctions, TextIsEscaped) {
  EXPECT_EQ(escaped("a\tb\n\"q\" \\ \x01\xff"), "a\\tb\\n\\\"q\\\" \\\\ \\001\\377");
  test_string_size = 8;
  EXPECT_EQ(escaped("abcd\x01z"), "abcd");  // no half escape
}

TEST_F(ScriptFunctions, UserMemory) {
  bool fault = false;
  struct {
    int8_t small = -2;
    uint8_t pad;
    uint16_t medium = 65534;
    uint32_t pad2;
    int64_t large = -5;
  } data;
  EXPECT_EQ(spile_fn_user_char(&context_, address(&data.small)), -2);
  EXPECT_EQ(spile_fn_user_uint16_error(&context_, address(&data.medium), &fault), 65534);
  EXPECT_EQ(spile_fn_user_long_error(&context_, address(&data.large), &fault), -5);
  EXPECT_FALSE(fault);
  EXPECT_EQ(spile_fn_user_char(&context_, 16), 0);
  EXPECT_EQ(spile_fn_user_long_error(&context_, 16, &fault), 0);
  EXPECT_TRUE(fault);
  fault = false;
  spile_fn_user_string(&context_, address("text"), out_, &fault);
  EXPECT_STREQ(out_, "text");
  spile_fn_user_string_n(&context_, address("text"), 2, out_, &fault);
  EXPECT_STREQ(out_, "te");
  spile_fn_user_string_n(&context_, address("text"), -2, out_, &fault);
  EXPECT_STREQ(out_, "");
  EXPECT_FALSE(fault);
  spile_fn_user_string(&context_, 16, out_, &fault);
  EXPECT_TRUE(fault);
  spile_fn_user_string2(&context_, 16, "unknown", out_);
  EXPECT_STREQ(out_, "unknown");
  spile_fn_user_string_n2(&context_, 16, 3, "unknown", out_);
  EXPECT_STREQ(out_, "unknown");
  EXPECT_EQ(quoted("say \"hi\"\n"), "\"say \\\"hi\\\"\\n\"");
  EXPECT_EQ(quoted(nullptr), "NULL");
  EXPECT_EQ(quoted(reinterpret_cast<void*>(16)), "0x10");
  EXPECT_EQ(context_.slot->scratch_top, 0u);
  test_string_size = 8;
  EXPECT_EQ(quoted("0123456789"), "\"01\"...");  // dots stand for what was cut off
}

TEST_F(ScriptFunctions, ErrnoStr) {
  EXPECT_EQ(errno_str(2), "ENOENT");
  EXPECT_EQ(errno_str(110), "ETIMEDOUT");
  EXPECT_EQ(errno_str(133), "EHWPOISON");
  EXPECT_EQ(errno_str(11), "EAGAIN");
  EXPECT_EQ(errno_str(134), "E#134");
  EXPECT_EQ(errno_str(41), "E#41");
  EXPECT_EQ(errno_str(0), "E#0");
  EXPECT_EQ(errno_str(-2), "ENOENT");
  EXPECT_EQ(errno_str(-134), "E#-134");
  EXPECT_EQ(errno_str(INT64_MIN), "E#-9223372036854775808");
  EXPECT_EQ(errno_str(3333), "E#3333");
  for (int number = 1; number < 134; ++number) {
    if (number != 41 && number != 58) EXPECT_EQ(errno_str(number), strerrorname_np(number));
  }
}

TEST_F(ScriptFunctions, CtimeAgreesWithTheCLibrary) {
  EXPECT_EQ(ctime(0), "Thu Jan  1 00:00:00 1970");
  EXPECT_EQ(ctime(-2147483648LL), "Fri Dec 13 20:45:52 1901");
  EXPECT_EQ(ctime(2147483647LL), "Tue Jan 19 03:14:07 2038");
  EXPECT_EQ(ctime(2147483648LL), "far far in the future...");
  EXPECT_EQ(ctime(-2147483649LL), "a long, long time ago...");
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    time_t when = static_cast<int32_t>(random());
    tm parts;
    char expected[32];
    asctime_r(gmtime_r(&when, &parts), expected);
    ASSERT_EQ(ctime(when) + "\n", expected);
  }
}

TEST_F(ScriptFunctions, RandintStaysBelowItsBound) {
  bool seen[10] = {};
  for (int i = 0; i < 1000; ++i) {
    int64_t value = spile_fn_randint(&context_, 10);
    ASSERT_TRUE(value >= 0 && value < 10);
    seen[value] = true;
  }
  for (bool was : seen) EXPECT_TRUE(was);
  EXPECT_EQ(spile_fn_randint(&context_, 0), 0);
  EXPECT_EQ(spile_fn_randint(&context_, -5), 0);
}

TEST_F(ScriptFunctions, ClocksOfProcessors) {
  EXPECT_NEAR(static_cast<double>(spile_fn_cpu_clock_us(&context_, 0)), static_cast<double>(time(nullptr)) * 1e6, 2e6);
}

TEST_F(ScriptFunctions, EscapesUtf8ByItsNumber) {
  EXPECT_EQ(escaped("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"), "a\\u00e4\\u20ac\\U0001f600z");
  EXPECT_EQ(escaped("\xc2\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf"), "\\u0080\\uffff\\U0010ffff");
  // Cut off, overlong, a surrogate, beyond the last one, a byte that begins nothing.
  EXPECT_EQ(escaped("\xc3"), "\\303");
  EXPECT_EQ(escaped("\xc0\xaf"), "\\300\\257");
  EXPECT_EQ(escaped("\xe0\x80\xaf"), "\\340\\200\\257");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\355\\240\\200");
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\364\\220\\200\\200");
  EXPECT_EQ(escaped("\xc3(\xa4"), "\\303(\\244");
  EXPECT_EQ(quoted("\xc3\xa4"), "\"\\u00e4\"");
}

}  // namespace
}  // namespace spile::rt
