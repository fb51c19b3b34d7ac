// zlib's and ISA-L's inflate agree, about good streams and about damaged ones.
#include "debuginfo/files/inflate.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <random>

#include "base/unique_fd.h"

namespace spile::debuginfo {
namespace {

std::string packed_by_zlib(const std::string& text) {
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  packed.resize(size);
  return packed;
}

// What inflate() returns; "" if it has written `text` and nothing else.
std::string outcome(const std::string& packed, const std::string& text, bool by_zlib) {
  UniqueFd from(memfd_create("from", MFD_CLOEXEC)), to(memfd_create("to", MFD_CLOEXEC));
  EXPECT_EQ(write(from.get(), packed.data(), packed.size()), static_cast<ssize_t>(packed.size()));
  constexpr uint64_t kAt = 10;
  const std::string failed = inflate({from.get(), 0, packed.size(), Compression::kZlib, text.size()}, to.get(), kAt, by_zlib);
  if (!failed.empty()) return failed;
  std::string read(text.size() + 1, '\0');
  const ssize_t got = pread(to.get(), read.data(), read.size(), kAt);
  read.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return read == text ? "" : "other contents";
}

// Texts of many sizes around those of the pieces that are read and written.
TEST(Inflate, WritesWhatWasCompressed) {
  std::mt19937 random(5);
  for (size_t size : {size_t{0}, size_t{1}, size_t{262143}, size_t{262144}, size_t{262145}, size_t{524288}, size_t{1500000}}) {
    std::string same(size, 'x'), noise(size, '\0');
    for (char& c : noise) c = static_cast<char>(random() % 5 == 0 ? random() : 'n');
    for (const std::string& text : {same, noise})
      for (bool by_zlib : {false, true}) EXPECT_EQ(outcome(packed_by_zlib(text), text, by_zlib), "") << size << by_zlib;
  }
}

TEST(Inflate, FindsDamageByBothLibraries) {
  std::mt19937 random(6);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(random() % 1000) + " words and words\n";
  const std::string packed = packed_by_zlib(text);
  for (int i = 0; i < 500; ++i) {
    std::string changed = packed;
    changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
    for (bool by_zlib : {false, true})
      EXPECT_THAT(outcome(changed, text, by_zlib), testing::HasSubstr("is damaged: it")) << i << by_zlib;
  }
  for (size_t size : {size_t{0}, size_t{1}, packed.size() / 2, packed.size() - 5})
    for (bool by_zlib : {false, true})
      EXPECT_EQ(outcome(packed.substr(0, size), text, by_zlib), "is damaged: its compressed contents end too early") << size;
}

}  // namespace
}  // namespace spile::debuginfo
