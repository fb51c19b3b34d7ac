#include "engine/space/region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "abi/arena.h"

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kCodeAlignment = 16, kCacheLine = 64;
constexpr unsigned kMemfdExec = 0x10, kMemfdNoExecSeal = 0x8;  // Linux 6.3
constexpr int kSealFutureWrite = 0x10;                         // F_SEAL_FUTURE_WRITE, Linux 5.1

static_assert(kRegionListOffset + sizeof(abi::CodeRegionList) <= kPage);

constexpr uint64_t pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Result<UniqueFd> create_memory(const char* name, uint64_t size, bool executable) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create(name, kFlags | (executable ? kMemfdExec : kMemfdNoExecSeal));
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, kFlags);
  UniqueFd memory(fd);
  if (!memory) return Error::from_errno(std::string("memfd_create ") + name, errno);
  if (ftruncate(memory.get(), static_cast<off_t>(size)) != 0) {
    return Error::from_errno(std::string("size of ") + name, errno);
  }
  // Code is sealed once it has been mapped for writing.
  int seals = F_SEAL_SHRINK | (executable ? 0 : F_SEAL_SEAL);
  if (fchmod(memory.get(), 0600) != 0 || fcntl(memory.get(), F_ADD_SEALS, seals) != 0) {
    return Error::from_errno(std::string("seal ") + name, errno);
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
  // From here on no other mapping of it is, or becomes, writable, and nothing but this one changes it.
  if (fcntl(region->fd_.get(), F_ADD_SEALS, F_SEAL_GROW | kSealFutureWrite | F_SEAL_SEAL) != 0) {
    return Error::from_errno("seal a code region", errno, "Linux 5.1 or later is needed");
  }
  RegionHeader& header = region->header_;
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
  region->publish_header();
  return region;
}

void Region::publish_header() { memcpy(view_, &header_, sizeof header_); }

void Region::record_geometry(const ArenaGeometry& geometry) {
  header_.arena_size = geometry.size;
  header_.shadow_offset = geometry.shadow_offset;
  header_.shadow_stride = geometry.shadow_stride;
  header_.shadow_capacity = geometry.shadow_capacity;
  header_.slots_offset = geometry.slots_offset;
  header_.slot_stride = geometry.slot_stride;
  header_.slot_count = geometry.slot_count;
  publish_header();
}

Region::~Region() {
  if (view_) munmap(view_, size_);
}

bool Region::has_room(uint64_t sites, uint64_t code_room) const {
  return header().journal_count + sites <= header().journal_capacity && next_ + code_room <= limit_;
}

Address Region::append_code(std::span<const uint8_t> code) {
  CHECK(next_ + code.size() <= limit_);
  Address at = next();
  memcpy(view_ + next_, code.data(), code.size());
  // Code like this one, which follows as a rule, lies in one line of the cache if it fits: with thousands of places, each line is
  // a miss.
  const uint64_t alignment = std::clamp(std::bit_ceil(code.size()), kCodeAlignment, kCacheLine);
  next_ += (code.size() + alignment - 1) / alignment * alignment;
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
  // A jump whose displacement another tracer has written into is seen where it leads (change/overwritten.h).
  if (const VariableLengthPatching* patching = native_architecture().variable_length())
    memset(view_ + limit_, patching->invalid_bytes().front(), kPage);
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
  CHECK(journal_.size() < header_.journal_capacity);
  shared_journal()[journal_.size()] = entry;
  journal_.push_back(entry);
  header_.journal_count = journal_.size();
  publish_header();
}

void Region::strike_from_journal(const std::map<Address, Address>& trampolines) {
  for (size_t i = 0; i < journal_.size(); i++) {
    JournalEntry& entry = journal_[i];
    auto struck = trampolines.find(Address(entry.address));
    if (struck == trampolines.end() || struck->second != address_ + entry.trampoline_offset) continue;
    entry.semaphore = 0;
    entry.length = 0;
    shared_journal()[i] = entry;
  }
}

// Readers take a range whose end is not 0.
void Region::publish_range(uint64_t index) {
  auto& range = shared_list()->ranges[index];
  if (list_.ranges[index].end == 0) __atomic_store_n(&range.end, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&range.begin, list_.ranges[index].begin, __ATOMIC_RELEASE);
  __atomic_store_n(&range.end, list_.ranges[index].end, __ATOMIC_RELEASE);
}

void Region::list_region(Address at, Address end, bool foreign) {
  uint64_t index = 0;
  while (index < list_.count && list_.ranges[index].end != 0) index++;
  if (index >= abi::kMaxCodeRegions) return;
  list_.ranges[index].begin = at.value | (foreign ? abi::kForeignRegion : 0);
  list_.ranges[index].end = end.value;
  publish_range(index);
  if (index < list_.count) return;
  list_.count++;
  __atomic_store_n(&shared_list()->count, list_.count, __ATOMIC_RELEASE);
}

void Region::unlist_region(Address begin) {
  for (uint64_t i = 0; i < list_.count; i++) {
    if ((list_.ranges[i].begin & ~abi::kForeignRegion) != begin.value) continue;
    list_.ranges[i].begin = list_.ranges[i].end = 0;
    publish_range(i);
  }
}

void Region::fill_cells(Address arena, Address process_table, uint64_t bias, int32_t goroutine) {
  bias_ = bias;
  header_.arena = arena.value;
  header_.process_table = process_table.value;
  publish_header();
  if (header_.image_size < sizeof(abi::ImageCells)) return;
  auto* cells = reinterpret_cast<abi::ImageCells*>(view_ + header_.image_offset);
  cells->arena = arena.value;
  cells->process_table = process_table.value;
  cells->load_bias = bias;
  cells->returned_begin = address_.value;
  cells->returned_end = end().value;
  cells->goroutine = static_cast<uint64_t>(int64_t{goroutine});
  cells->code_regions = address_.value + kRegionListOffset;
}

}  // namespace spile::engine
