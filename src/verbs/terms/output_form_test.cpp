#include "verbs/terms/output_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spile::verbs {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTraces[] = {".pftrace"};
constexpr std::string_view kDocuments[] = {".spile-run"};

std::string hint(const OutputForms& forms, const std::string& file) {
  const Result<void> checked = check_output_form(forms, file);
  return checked.ok() ? "fits" : checked.error().hint;
}

TEST(OutputForm, TextFitsNamesThatSayNothing) {
  for (const char* file : {"", "x", "x.txt", "x.log", "x.html.txt", ".html", "/dev/null", "html"})
    EXPECT_EQ(hint({.verb = "syscalls"}, file), "fits") << file;
}

TEST(OutputForm, NamesOfOtherFormsAreErrorsThatSayWhatWritesThem) {
  const OutputForms forms{.verb = "syscalls", .has_json = true};
  EXPECT_EQ(hint(forms, "x.html"), "spile record syscalls ... -o FILE.spile-run, then spile report FILE.spile-run --html x.html");
  EXPECT_EQ(hint(forms, "X.HTM"), "spile record syscalls ... -o FILE.spile-run, then spile report FILE.spile-run --html X.HTM");
  EXPECT_THAT(hint(forms, "x.csv"), HasSubstr("--csv -o x.csv"));
  EXPECT_THAT(hint(forms, "x.pftrace"), HasSubstr("--perfetto x.pftrace"));
  EXPECT_EQ(hint(forms, "x.json"), "with --json it writes JSON Lines");
  EXPECT_THAT(hint(forms, "x.svg"), HasSubstr("spile flame -x PID -T 10 -o x.svg"));
  EXPECT_EQ(hint(forms, "x.spile-run"), "spile record syscalls ... -o x.spile-run");
  EXPECT_EQ(hint(forms, "x.pdf"), "use a name such as x.txt");
}

TEST(OutputForm, JsonLinesFitTheirNames) {
  const OutputForms forms{.verb = "syscalls", .has_json = true, .json = true};
  EXPECT_EQ(hint(forms, "x.json"), "fits");
  EXPECT_EQ(hint(forms, "x.jsonl"), "fits");
  EXPECT_EQ(hint(forms, "x.txt"), "fits");
  EXPECT_EQ(hint(forms, "x.html"), "leave out --json, or name the file .json");
}

TEST(OutputForm, FilesAndPagesOfAVerbFit) {
  EXPECT_EQ(hint({.verb = "trace", .files = kTraces}, "x.pftrace"), "fits");
  EXPECT_EQ(hint({.verb = "trace", .files = kTraces}, "x.html"), "use a name such as x.txt or x.pftrace");
  EXPECT_EQ(hint({.verb = "lat", .has_page = true}, "x.html"), "fits");
  EXPECT_EQ(hint({.verb = "lat", .has_page = true}, "x.HTM"), "fits");
  EXPECT_EQ(hint({.verb = "lat", .has_page = true}, "x.png"), "use a name such as x.txt or x.html");
}

TEST(OutputForm, DocumentsAreReportedInOtherForms) {
  const OutputForms record{.verb = "record", .files = kDocuments, .otherwise = "a document"};
  EXPECT_EQ(hint(record, "x.spile-run"), "fits");
  EXPECT_EQ(hint(record, "x.html"), "spile record ... -o FILE.spile-run, then spile report FILE.spile-run --html x.html");
  EXPECT_EQ(hint(record, "x.svg"), "use a name such as x.spile-run");
  EXPECT_EQ(hint({.verb = "report"}, "x.html"), "spile report FILE.spile-run --html x.html");
}

}  // namespace
}  // namespace spile::verbs
