#include "bpf/maps.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "bpf/bpf.h"
#include "bpf/elements.h"
#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {
namespace {

constexpr uint32_t kBatch = 64;

enum bpf_map_type kernel_type(MapSpec::Kind kind) {
  switch (kind) {
    case MapSpec::Kind::kPerCpuArray: return BPF_MAP_TYPE_PERCPU_ARRAY;
    case MapSpec::Kind::kArray: return BPF_MAP_TYPE_ARRAY;
    case MapSpec::Kind::kPerCpuHash: return BPF_MAP_TYPE_PERCPU_HASH;
    case MapSpec::Kind::kHash: return BPF_MAP_TYPE_HASH;
    case MapSpec::Kind::kLruHash: return BPF_MAP_TYPE_LRU_HASH;
    case MapSpec::Kind::kRing: return BPF_MAP_TYPE_RINGBUF;
  }
  return BPF_MAP_TYPE_UNSPEC;
}

// The kernel keeps 15 characters of a name, for bpftool and its like.
std::string kernel_name(const std::string& symbol) {
  std::string name = symbol.starts_with("spile_map_") ? "spile_" + symbol.substr(10) : symbol;
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
  return name.substr(0, BPF_OBJ_NAME_LEN - 1);
}

size_t page_rounded(size_t bytes) { return (bytes + 4095) & ~size_t{4095}; }

}  // namespace

int possible_cpus() {
  static const int count = [] {
    libbpf_set_print(nullptr);  // its warnings are not in our terms
    return libbpf_num_possible_cpus();
  }();
  return count > 0 ? count : 1;
}

Result<Map> Map::create(const MapSpec& spec) {
  bool ring = spec.kind == MapSpec::Kind::kRing;
  bool array = spec.kind == MapSpec::Kind::kArray || spec.kind == MapSpec::Kind::kPerCpuArray;
  MapSpec used = spec;
  if (array) used.key_size = 4;
  int fd = bpf_map_create(kernel_type(spec.kind), kernel_name(spec.symbol).c_str(), ring ? 0 : used.key_size,
                          ring ? 0 : used.value_size, used.entries, nullptr);
  if (fd >= 0) return Map(used, fd);
  if (is_privilege_error(fd)) return privilege_error("create the map of a global", -fd);
  std::string what =
      fmt::format("create kernel map {} ({} elements of {}+{} bytes)", spec.symbol, used.entries, used.key_size, used.value_size);
  return Error::from_errno(
      what, -fd, -fd == E2BIG || -fd == ENOMEM ? "smaller arrays or strings: -D MAXMAPENTRIES=N, -D MAXSTRINGLEN=N" : "");
}

bool Map::is_hash() const {
  using Kind = MapSpec::Kind;
  return spec_.kind == Kind::kHash || spec_.kind == Kind::kPerCpuHash || spec_.kind == Kind::kLruHash;
}
bool Map::is_per_cpu() const { return spec_.kind == MapSpec::Kind::kPerCpuArray || spec_.kind == MapSpec::Kind::kPerCpuHash; }
bool Map::one_element() const { return !is_hash() && (spec_.sharded || spec_.entries == 1); }
size_t Map::value_bytes() const {
  return is_per_cpu() ? static_cast<size_t>(cpu_stride()) * static_cast<size_t>(possible_cpus()) : spec_.value_size;
}

Error Map::failure(const char* what, int errnum) const {
  return Error::from_errno(fmt::format("{} kernel map {}", what, spec_.symbol), errnum);
}

std::vector<uint8_t> Map::kernel_key(std::span<const uint8_t> key, uint32_t shard) const {
  Bytes out;
  if (is_hash()) {
    out = pack_key(spec_, key);
    out.resize(script_key_size(spec_));
    if (spec_.sharded) {
      uint64_t part = shard;
      out.insert(out.end(), reinterpret_cast<uint8_t*>(&part), reinterpret_cast<uint8_t*>(&part) + sizeof part);
    }
    return out;
  }
  uint32_t index = shard;
  if (!one_element()) std::memcpy(&index, key.data(), std::min(sizeof index, key.size()));
  out.assign(reinterpret_cast<uint8_t*>(&index), reinterpret_cast<uint8_t*>(&index) + sizeof index);
  return out;
}

// In batches: one system call for many elements, and each is seen once though others are added or removed meanwhile.
Result<void> Map::raw_elements(const RawVisitor& visit) const {
  if (spec_.kind == MapSpec::Kind::kRing) return failure("read the elements of", EINVAL);
  int cpus = is_per_cpu() ? possible_cpus() : 1;
  uint32_t room = std::min(kBatch, spec_.entries);
  std::vector<uint8_t> keys, values;
  std::vector<uint8_t> cursor(std::max<size_t>(spec_.key_size, 8)), next(cursor.size());
  bool started = false;
  for (;;) {
    keys.resize(static_cast<size_t>(room) * spec_.key_size);
    values.resize(room * value_bytes());
    uint32_t count = room;
    int error =
        bpf_map_lookup_batch(fd(), started ? cursor.data() : nullptr, next.data(), keys.data(), values.data(), &count, nullptr);
    if (error == -ENOSPC && room < spec_.entries) {  // a bucket of the hash has more elements than we have room for
      room = std::min(room * 2, spec_.entries);
      continue;
    }
    if (error != 0 && error != -ENOENT) return failure("read", -error);
    for (uint32_t i = 0; i < count; ++i) {
      std::vector<std::span<const uint8_t>> parts;
      for (int cpu = 0; cpu < cpus; ++cpu)
        parts.emplace_back(values.data() + i * value_bytes() + static_cast<size_t>(cpu) * cpu_stride(), spec_.value_size);
      visit({keys.data() + static_cast<size_t>(i) * spec_.key_size, spec_.key_size}, parts);
    }
    if (error == -ENOENT) return {};
    started = true;
    std::swap(cursor, next);
  }
}

Result<void> Map::elements(const ElementVisitor& visit) const {
  std::map<Bytes, Bytes> merged;
  TRY_DO(raw_elements([&](std::span<const uint8_t> raw_key, std::span<const std::span<const uint8_t>> values) {
    Bytes key;
    if (!one_element()) key.assign(raw_key.begin(), raw_key.begin() + script_key_size(spec_));
    Bytes& to = merged.try_emplace(key, spec_.value_size).first->second;
    for (std::span<const uint8_t> value : values) merge_value(spec_, to, value);
  }));
  for (const auto& [key, value] : merged) visit(unpack_key(spec_, key), value);
  return {};
}

uint32_t Map::shard_of(std::span<const uint8_t> kernel_key) const {
  uint32_t shard = 0;
  std::memcpy(&shard, kernel_key.data() + (is_hash() ? kernel_key.size() - 8 : 0), sizeof shard);
  return shard;
}

Result<void> Map::take(uint32_t epoch, const ElementVisitor& visit) {
  std::map<Bytes, Bytes> merged;
  std::vector<Bytes> taken;
  TRY_DO(raw_elements([&](std::span<const uint8_t> raw_key, std::span<const std::span<const uint8_t>> values) {
    if (shard_of(raw_key) / abi::kKernelLevels != epoch) return;
    taken.emplace_back(raw_key.begin(), raw_key.end());
    Bytes key;
    if (!one_element()) key.assign(raw_key.begin(), raw_key.begin() + script_key_size(spec_));
    Bytes& to = merged.try_emplace(key, spec_.value_size).first->second;
    for (std::span<const uint8_t> value : values) merge_value(spec_, to, value);
  }));
  for (const Bytes& key : taken) {
    if (int error = remove(key); error != 0) return failure("clear", -error);
  }
  for (const auto& [key, value] : merged) visit(unpack_key(spec_, key), value);
  return {};
}

int Map::remove(const std::vector<uint8_t>& key) {
  if (!is_hash()) return bpf_map_update_elem(fd(), key.data(), std::vector<uint8_t>(value_bytes()).data(), BPF_ANY);
  int error = bpf_map_delete_elem(fd(), key.data());
  return error == -ENOENT ? 0 : error;
}

Result<void> Map::put(std::span<const uint8_t> key, std::span<const uint8_t> value, bool only_new) {
  // The other shards' parts must not be added to it.
  for (uint32_t shard = 1; shard < shards(); ++shard) {
    if (int error = remove(kernel_key(key, shard)); error != 0) return failure("write", -error);
  }
  std::vector<uint8_t> all(value_bytes());
  std::copy_n(value.begin(), std::min<size_t>(value.size(), spec_.value_size), all.begin());
  int error = bpf_map_update_elem(fd(), kernel_key(key, 0).data(), all.data(), only_new ? BPF_NOEXIST : BPF_ANY);
  if (error != 0 && !(only_new && error == -EEXIST)) return failure("write", -error);
  return {};
}

Result<void> Map::erase(std::span<const uint8_t> key) {
  for (uint32_t shard = 0; shard < shards(); ++shard) {
    if (int error = remove(kernel_key(key, shard)); error != 0) return failure("delete from", -error);
  }
  return {};
}

Result<void> Map::clear() {
  std::vector<Bytes> keys;
  TRY_DO(raw_elements([&](std::span<const uint8_t> key, std::span<const std::span<const uint8_t>>) {
    keys.emplace_back(key.begin(), key.end());
  }));
  for (const Bytes& key : keys) {
    if (int error = remove(key); error != 0) return failure("clear", -error);
  }
  return {};
}

Result<DataSection> DataSection::create(const Section& section, std::vector<uint8_t> bytes) {
  DataSection made;
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = section.writable ? BPF_F_MMAPABLE : BPF_F_RDONLY_PROG;
  std::string name = "spile" + section.name;
  int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, kernel_name(name).c_str(), 4, static_cast<uint32_t>(bytes.size()), 1, &options);
  if (fd < 0 && is_privilege_error(fd)) return privilege_error("create a kernel map", -fd);
  if (fd < 0) return Error::from_errno("create a kernel map for " + section.name, -fd);
  made.fd_.reset(fd);
  uint32_t zero = 0;
  if (int error = bpf_map_update_elem(fd, &zero, bytes.data(), BPF_ANY); error != 0)
    return Error::from_errno("fill the kernel map of " + section.name, -error);
  if (!section.writable) {
    if (int error = bpf_map_freeze(fd); error != 0) return Error::from_errno("freeze the kernel map of " + section.name, -error);
    return made;
  }
  void* memory = mmap(nullptr, page_rounded(bytes.size()), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Error::from_errno("map the kernel map of " + section.name, errno);
  made.memory_ = static_cast<uint8_t*>(memory);
  made.size_ = bytes.size();
  return made;
}

DataSection::DataSection(DataSection&& other) noexcept
    : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

DataSection::~DataSection() {
  if (memory_) munmap(memory_, page_rounded(size_));
}

}  // namespace spile::bpf
