#include "engine/region.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "abi/arena.h"

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kCodeAlignment = 16;
constexpr unsigned kMemfdExec = 0x10, kMemfdNoExecSeal = 0x8;  // Linux 6.3

static_assert(kRegionListOffset + sizeof(abi::CodeRegionList) <= kPage);

constexpr uint64_t pages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Result<UniqueFd> create_memory(const char* name, uint64_t size, bool executable) {
  int fd = memfd_create(name, MFD_CLOEXEC | (executable ? kMemfdExec : kMemfdNoExecSeal));
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC);
  UniqueFd memory(fd);
  if (!memory) return Error::from_errno(std::string("memfd_create ") + name, errno);
  if (ftruncate(memory.get(), static_cast<off_t>(size)) != 0) {
    return Error::from_errno(std::string("size of ") + name, errno);
  }
  return memory;
}

uint64_t Region::size_for(uint64_t sites, uint64_t code_room, const abi::CodeImage& image) {
  return kPage + pages(sites * sizeof(JournalEntry)) + pages(image.bytes.size()) +
         pages(image.fixups.size() * sizeof(abi::FaultFixup)) + pages(code_room);
}

Result<std::shared_ptr<Region>> Region::create(uint64_t sites, uint64_t code_room, const abi::CodeImage& image) {
  std::shared_ptr<Region> region(new Region);
  region->size_ = size_for(sites, code_room, image);
  TRY(region->fd_, create_memory(kCodeName, region->size_, true));
  void* view = mmap(nullptr, region->size_, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd_.get(), 0);
  if (view == MAP_FAILED) return Error::from_errno("map a code region", errno);
  region->view_ = static_cast<uint8_t*>(view);
  RegionHeader& header = region->header();
  header.magic = kRegionMagic;
  header.size = region->size_;
  header.controller_pid = static_cast<uint64_t>(getpid());
  header.journal_offset = kPage;
  header.journal_capacity = pages(sites * sizeof(JournalEntry)) / sizeof(JournalEntry);
  header.image_offset = kPage + pages(sites * sizeof(JournalEntry));
  header.image_size = image.bytes.size();
  header.fixups_offset = header.image_offset + pages(image.bytes.size());
  header.fixup_count = image.fixups.size();
  uint64_t fixups_size = image.fixups.size() * sizeof(abi::FaultFixup);
  header.code_offset = header.fixups_offset + pages(fixups_size);
  if (!image.bytes.empty()) memcpy(region->view_ + header.image_offset, image.bytes.data(), image.bytes.size());
  if (fixups_size != 0) memcpy(region->view_ + header.fixups_offset, image.fixups.data(), fixups_size);
  region->next_ = header.code_offset;
  region->limit_ = region->size_;
  return region;
}

Region::~Region() {
  if (view_) munmap(view_, size_);
}

std::span<const JournalEntry> Region::journal() const {
  return {reinterpret_cast<const JournalEntry*>(view_ + header().journal_offset), header().journal_count};
}

bool Region::has_room(uint64_t sites, uint64_t code_room) const {
  return header().journal_count + sites <= header().journal_capacity && next_ + code_room <= limit_;
}

Address Region::append_code(std::span<const uint8_t> code) {
  CHECK(next_ + code.size() <= limit_);
  Address at = next();
  memcpy(view_ + next_, code.data(), code.size());
  next_ += (code.size() + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment;
  return at;
}

bool Region::StubPage::is_free(uint64_t at, uint64_t length) const {
  for (uint64_t i = at; i < at + length; i++) {
    if (i >= used.size() || used[i]) return false;
  }
  return true;
}

Region::StubPage* Region::add_stub_page() {
  if (next_ + 2 * kPage > limit_) return nullptr;
  limit_ -= kPage;
  stub_pages_.push_back({limit_, {}, std::vector<bool>(kPage)});
  return &stub_pages_.back();
}

void Region::put_stub(StubPage& page, uint64_t at, std::span<const uint8_t> code) {
  CHECK(page.is_free(at, code.size()));
  memcpy(view_ + page.offset + at, code.data(), code.size());
  std::fill_n(page.used.begin() + static_cast<int64_t>(at), code.size(), true);
}

bool Region::rewrite_stub(Address at, std::span<const uint8_t> code) {
  for (StubPage& page : stub_pages_) {
    for (Address base : page.mapped) {
      if (at < base || at >= base + static_cast<int64_t>(kPage)) continue;
      memcpy(view_ + page.offset + (at - base), code.data(), code.size());
      return true;
    }
  }
  return false;
}

void Region::put_word(Address at, uint64_t word) {
  CHECK(contains(at) && at.value % 8 == 0);
  __atomic_store_n(reinterpret_cast<uint64_t*>(view_ + (at - address_)), word, __ATOMIC_RELEASE);
}

uint64_t Region::word_at(Address at) const {
  CHECK(contains(at) && at.value % 8 == 0);
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(view_ + (at - address_)), __ATOMIC_RELAXED);
}

void Region::switch_site(uint32_t client, uint32_t site_id, bool on) {
  auto found = switches_.find(switch_key(client, site_id));
  if (found == switches_.end()) return;
  for (const Switch& gate : found->second) put_word(gate.word, on ? gate.on : gate.off);
}

void Region::append_journal(const JournalEntry& entry) {
  RegionHeader& head = header();
  CHECK(head.journal_count < head.journal_capacity);
  memcpy(view_ + head.journal_offset + head.journal_count * sizeof entry, &entry, sizeof entry);
  head.journal_count++;
}

void Region::strike_from_journal(const std::map<Address, Address>& trampolines) {
  auto* entries = reinterpret_cast<JournalEntry*>(view_ + header().journal_offset);
  for (uint64_t i = 0; i < header().journal_count; i++) {
    auto struck = trampolines.find(Address(entries[i].address));
    if (struck == trampolines.end() || struck->second != address_ + entries[i].trampoline_offset) continue;
    entries[i].semaphore = 0;
    entries[i].length = 0;
  }
}

void Region::list_region(Address at, Address end, bool foreign) {
  Address begin(at.value | (foreign ? abi::kForeignRegion : 0));
  auto* list = reinterpret_cast<abi::CodeRegionList*>(view_ + kRegionListOffset);
  for (uint64_t i = 0; i < list->count; i++) {
    if (list->ranges[i].end != 0) continue;
    __atomic_store_n(&list->ranges[i].begin, begin.value, __ATOMIC_RELAXED);
    __atomic_store_n(&list->ranges[i].end, end.value, __ATOMIC_RELEASE);
    return;
  }
  if (list->count >= abi::kMaxCodeRegions) return;
  list->ranges[list->count].begin = begin.value;
  list->ranges[list->count].end = end.value;
  __atomic_store_n(&list->count, list->count + 1, __ATOMIC_RELEASE);
}

void Region::unlist_region(Address begin) {
  auto* list = reinterpret_cast<abi::CodeRegionList*>(view_ + kRegionListOffset);
  for (uint64_t i = 0; i < list->count; i++) {
    if ((list->ranges[i].begin & ~abi::kForeignRegion) != begin.value) continue;
    __atomic_store_n(&list->ranges[i].end, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&list->ranges[i].begin, 0, __ATOMIC_RELEASE);
  }
}

void Region::fill_cells(Address arena, Address process_table, uint64_t bias, int32_t goroutine) {
  bias_ = bias;
  RegionHeader& head = header();
  head.arena = arena.value;
  head.process_table = process_table.value;
  if (head.image_size < sizeof(abi::ImageCells)) return;
  auto* cells = reinterpret_cast<abi::ImageCells*>(view_ + head.image_offset);
  cells->arena = arena.value;
  cells->process_table = process_table.value;
  cells->load_bias = bias;
  cells->returned_begin = address_.value;
  cells->returned_end = end().value;
  cells->goroutine = static_cast<uint64_t>(int64_t{goroutine});
  cells->code_regions = address_.value + kRegionListOffset;
}

}  // namespace spile::engine
