#include "debuginfo/files/line_files.h"

#include <gmock/gmock.h>

namespace spile::debuginfo {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string with_length(const std::string& body) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(body.size() >> shift & 0xff);
  return bytes + body;
}

const std::string kTable4 = with_length(
    "\x04\0"s
    "\0\0\0\0"s
    "\x01\x01"s
    "\x01\xfb\x0e"s
    "\x03\x01\x01"s  // version to opcode lengths
    "include\0/usr/include\0\0"s
    "a.c\0\0\0\0"s
    "b.h\0\x01\0\0"s
    "c.h\0\x02\x81\x01\0"s
    "\0"s);

const std::string kTable5 = with_length(
    "\x05\0"s
    "\x08\0"s
    "\0\0\0\0"s
    "\x01\x01"s
    "\x01\xfb\x0e"s
    "\x03\x01\x01"s
    "\x01\x01\x1f"s
    "\x02"s
    "\x00\0\0\0"s
    "\x06\0\0\0"s  // directories: line_strp
    "\x03\x01\x08\x02\x0b\x05\x1e"s
    "\x02"s  // files: string, data1, data16
    "a.c\0\0"s
    "0123456789abcdef"s
    "b.h\0\x01"s
    "0123456789abcdef"s);
const std::string kLineStrings = "/work\0inc\0"s;

std::vector<std::string> files(const std::string& line, const std::string& directory) {
  return line_table_files({line, kLineStrings, {}}, 0, directory);
}

TEST(LineTableFiles, OfDwarf4AreCountedFromOne) {
  EXPECT_THAT(files(kTable4, "/work"), ElementsAre("", "/work/a.c", "/work/include/b.h", "/usr/include/c.h"));
}

TEST(LineTableFiles, OfDwarf5AreCountedFromZero) {
  EXPECT_THAT(files(kTable5, "/elsewhere"), ElementsAre("/work/a.c", "/work/inc/b.h"));
}

TEST(LineTableFiles, StayRelativeToAMappedRoot) {
  EXPECT_THAT(files(kTable4, "./src"), ElementsAre("", "./src/a.c", "include/b.h", "/usr/include/c.h"));
}

TEST(LineTableFiles, OfDamagedTablesAreFewer) {
  EXPECT_THAT(files("", ""), IsEmpty());
  EXPECT_THAT(line_table_files({kTable4, {}, {}}, 1000, ""), IsEmpty());
  EXPECT_THAT(files(with_length("\x09\0"s + std::string(30, '\1')), ""), IsEmpty());
  for (const std::string& table : {kTable4, kTable5})
    for (size_t length = 0; length < table.size(); ++length) EXPECT_LE(files(table.substr(0, length), "/work").size(), 4u);
}

}  // namespace
}  // namespace spile::debuginfo
