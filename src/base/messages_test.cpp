#include "base/messages.h"

#include <gmock/gmock.h>

#include <vector>

#include "base/diagnostics.h"
#include "base/print.h"
#include "base/result.h"

namespace spile {
namespace {

struct Kept : MessageSink {
  Kept() { set_message_sink(this); }
  ~Kept() override { set_message_sink(nullptr); }
  void take(Message message) override { messages.push_back(std::move(message)); }
  std::vector<Message> messages;
};

TEST(Messages, ComeWithTheirPartsWhereASinkIs) {
  Kept kept;
  warn("a");
  warn("b", "do c");
  fail(Error{"no\nwhere", ""});
  EXPECT_EQ(refuse("nothing", "do d"), 1);
  print_to(stderr, "WARNING: of a file\n");
  print_to(stderr, "");
  ASSERT_EQ(kept.messages.size(), 5u);
  EXPECT_EQ(kept.messages[0].text, "a");
  EXPECT_EQ(kept.messages[1].hint, "do c");
  EXPECT_EQ(kept.messages[1].kind, MessageKind::kWarning);
  EXPECT_EQ(kept.messages[2].kind, MessageKind::kSystemError);
  EXPECT_EQ(kept.messages[2].text, "no\nwhere");
  EXPECT_EQ(kept.messages[3].hint, "do d");
  EXPECT_EQ(kept.messages[4].text, "WARNING: of a file");
  EXPECT_EQ(kept.messages[4].kind, MessageKind::kNote);
}

TEST(Messages, SayNoWarningWhereNoneIsWanted) {
  Kept kept;
  show_warnings(false);
  warn("a");
  fail("b");
  show_warnings(true);
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_EQ(kept.messages[0].text, "b");
}

TEST(Messages, AreLinesWhateverNamesAreInThem) {
  testing::internal::CaptureStderr();
  warn("file a\nERROR: b\x1b[31m", "see c\nd\te");
  refuse("f\r\ng");
  note("h\ni");
  Message own(MessageKind::kWarning, "j\nk");
  own.is_of_script = true;
  say(own);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "WARNING: file a\\nERROR: b\\033[31m\n  hint: see c\\nd\\te\nspile: f\\r\\ng\nh\\ni\nWARNING: j\nk\n");
}

TEST(Messages, ArePrintedWithHeadExcerptAndHint) {
  testing::internal::CaptureStderr();
  warn("a", "do b");
  fail("c");
  refuse(Error{"d", "do e"});
  note("f");
  Message message(MessageKind::kHandlerError, "g");
  message.excerpt = "    1 | x\n";
  message.hint = "h";
  say(message);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "WARNING: a\n  hint: do b\nERROR: c\nspile: d\n  hint: do e\nf\nERROR: g\n    1 | x\n  hint: h\n");
}

TEST(Messages, GiveRangeOfDiagnostic) {
  SourceFiles files;
  const SourceFile& file = files.add("a.stp", "probe end {\n  prnt()\n}\n");
  Diagnostics diagnostics;
  diagnostics.error({&file, 14, 18}, "unresolved").hint("print?");
  const Message message = message_of(diagnostics.all().front());
  EXPECT_EQ(message.kind, MessageKind::kScriptError);
  EXPECT_EQ(message.file, "a.stp");
  EXPECT_EQ((std::vector{message.line, message.column, message.end_line, message.end_column}),
            (std::vector<uint32_t>{2, 3, 2, 7}));
  EXPECT_THAT(message.excerpt, testing::HasSubstr("^~~~"));
  EXPECT_EQ(message.hint, "print?");
}

}  // namespace
}  // namespace spile
