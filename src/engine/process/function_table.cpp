#include "engine/process/function_table.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <set>

namespace spile::engine {
namespace {

constexpr uint8_t kSigned4 = 0x0b, kUnsigned4 = 0x03, kFromTable = 0x30;  // DW_EH_PE_*
constexpr uint32_t kMostFunctions = 1 << 22;
constexpr uint64_t kPage = 4096, kPiece = uint64_t{64} << 10;
constexpr uint64_t kMostBytes = 256 << 20;
// Entry::description: of Go's functions, which end where the next one begins; and behind the last one.
constexpr int32_t kEndsAtNext = 0, kNoFunction = -1;

// The description of what others have in common, as compilers write it: identifier 0, version 1, "zR", how code and data are
// aligned, the return address's register, and that addresses are relative and have 4 bytes.
constexpr uint8_t kCommon[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b};

}  // namespace

FunctionTable::FunctionTable(const TargetMemory& memory, const Module& module) : memory_(memory) {
  auto header = memory.read_value<Elf64_Ehdr>(module.lowest);
  if (!header.ok()) return;
  std::vector<Elf64_Phdr> loaded;
  for (int i = 0; i < header->e_phnum; i++) {
    auto program = memory.read_value<Elf64_Phdr>(module.lowest + static_cast<int64_t>(header->e_phoff + i * sizeof(Elf64_Phdr)));
    if (!program.ok()) return;
    if (program->p_type == PT_LOAD && (program->p_flags & PF_R)) loaded.push_back(*program);
    if (program->p_type != PT_GNU_EH_FRAME) continue;
    struct Head {
      uint8_t version, frame_encoding, count_encoding, table_encoding;
      int32_t frame;
      uint32_t count;
    };
    Address at(program->p_vaddr + module.bias);
    auto head = memory.read_value<Head>(at);
    bool known = head.ok() && head->version == 1 && head->count_encoding == kUnsigned4 &&
                 head->table_encoding == (kFromTable | kSigned4) && head->count <= kMostFunctions;
    if (!known) return;
    entries_.resize(head->count);
    std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(entries_.data()), entries_.size() * sizeof(Entry));
    if (!memory.read(at + sizeof(Head), bytes).ok()) entries_.clear();
    table_ = at;
    if (!module.go) return;
  }
  bool has_table = table_ != Address();
  if (!has_table) table_ = module.lowest;
  for (const Elf64_Phdr& program : loaded) {
    if (program.p_filesz > kMostBytes) continue;
    std::vector<uint8_t> bytes(program.p_filesz);
    Address at(program.p_vaddr + module.bias);
    bytes.resize(memory.read_some(at, bytes));
    if (!has_table) find_descriptions(at, bytes);
    if (module.go) find_go_functions(module, at, bytes);
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.function < b.function; });
}

// From the first of what they have in common on, they stand one behind the other.
void FunctionTable::find_descriptions(Address begin, const std::vector<uint8_t>& bytes) {
  auto word = [&](size_t at) {
    uint32_t value = 0;
    if (at + sizeof value <= bytes.size()) memcpy(&value, &bytes[at], sizeof value);
    return value;
  };
  for (size_t at = 0;;) {
    auto found = std::search(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), std::begin(kCommon), std::end(kCommon));
    if (found == bytes.end()) return;
    size_t next = static_cast<size_t>(found - bytes.begin());
    at = next + sizeof kCommon;
    if (next < 4) continue;
    std::set<size_t> common;
    for (next -= 4; next + 16 <= bytes.size();) {
      uint32_t length = word(next), back = word(next + 4);
      if (length < 12 || length > bytes.size() - next - 4) break;
      if (back == 0) {
        if (next + 4 + sizeof kCommon <= bytes.size() && memcmp(&bytes[next + 4], kCommon, sizeof kCommon) == 0)
          common.insert(next);
      } else if (common.contains(next + 4 - back)) {
        int64_t function = (begin - table_) + static_cast<int64_t>(next) + 8 + static_cast<int32_t>(word(next + 8));
        int64_t description = (begin - table_) + static_cast<int64_t>(next);
        entries_.push_back({static_cast<int32_t>(function), static_cast<int32_t>(description)});
      }
      next += 4 + length;
      at = std::max(at, next);
    }
    if (at >= bytes.size()) return;
  }
}

void FunctionTable::find_go_functions(const Module& module, Address at, const std::vector<uint8_t>& bytes) {
  constexpr uint32_t kGo118 = 0xfffffff0, kGo120 = 0xfffffff1;
  struct Header {
    uint32_t magic;
    uint8_t pad[2], quantum, pointer_size;
    uint64_t count, files, text, names, units, file_names, counters;
    // from the header: where each begins and where it is described, from `text`; then where the last one ends
    uint64_t functions;
  };
  struct Function {
    uint32_t begin, description;
  };
  for (size_t place = 0; place + sizeof(Header) <= bytes.size(); place += 8) {
    Header header;
    memcpy(&header, &bytes[place], sizeof header);
    if (header.magic != kGo118 && header.magic != kGo120) continue;
    uint64_t room = bytes.size() - place;
    bool fits = header.pad[0] == 0 && header.pad[1] == 0 && header.quantum == 1 && header.pointer_size == 8 &&
                header.count <= kMostFunctions && header.functions < room &&
                (header.count + 1) * sizeof(Function) <= room - header.functions;
    bool in_text = std::any_of(module.text.begin(), module.text.end(), [&](const Module::Range& range) {
      return Address(header.text) >= range.begin && Address(header.text) < range.end;
    });
    if (!fits || !in_text) continue;
    int64_t text = Address(header.text) - table_, last = -1;
    for (uint64_t i = 0; i <= header.count; i++) {
      Function function;
      memcpy(&function, &bytes[place + header.functions + i * sizeof function], sizeof function);
      if (function.begin <= last) return;  // it is something else
      last = function.begin;
      entries_.push_back({static_cast<int32_t>(text + last), i < header.count ? kEndsAtNext : kNoFunction});
    }
    return;
  }
}

template <typename T>
std::optional<T> FunctionTable::read_near(Address at) const {
  uint64_t number = at.value / kPiece, offset = at.value % kPiece;
  if (offset + sizeof(T) > kPiece) {
    auto value = memory_.read_value<T>(at);
    return value.ok() ? std::optional<T>(*value) : std::nullopt;
  }
  auto [piece, fresh] = pieces_.try_emplace(number);
  std::vector<uint8_t>& bytes = piece->second;
  if (fresh) {
    bytes.resize(kPiece);
    // Reads up to the first page that is not mapped; the piece may begin before the section.
    for (uint64_t page = 0; page < kPiece; page += kPage) {
      (void)memory_.read_some(Address(number * kPiece + page), std::span(bytes).subspan(page, kPage));
    }
  }
  T value;
  memcpy(&value, &bytes[offset], sizeof value);
  return value;
}

std::optional<FunctionTable::Function> FunctionTable::containing(Address at) const {
  auto found = before(at);
  if (!found || at >= found->second) return {};
  int64_t begin = found->first - table_;
  auto next = std::upper_bound(entries_.begin(), entries_.end(), begin,
                               [](int64_t value, const Entry& entry) { return value < entry.function; });
  Address behind = next == entries_.end() ? found->second : table_ + next->function;
  return Function{found->first, std::min(found->second, behind), behind};
}

std::optional<std::pair<Address, Address>> FunctionTable::before(Address at) const {
  int64_t wanted = at - table_;
  auto after = std::upper_bound(entries_.begin(), entries_.end(), wanted,
                                [](int64_t value, const Entry& entry) { return value < entry.function; });
  if (after == entries_.begin()) return {};
  const Entry& entry = *std::prev(after);
  if (entry.description == kNoFunction) return {};
  if (entry.description == kEndsAtNext) {
    if (after == entries_.end()) return {};
    return std::pair(table_ + entry.function, table_ + after->function);
  }
  // A frame description: length, distance back to what it has in common with others, function, size.
  struct Description {
    uint32_t length;
    int32_t common;
    int32_t function;
    uint32_t size;
  };
  Address place = table_ + entry.description;
  auto description = read_near<Description>(place);
  if (!description || description->length == 0xffffffff) return {};
  // There: length, 0, version, then "zR" or "zPLR", whose data end with how addresses are written.
  Address common = place + 4 - description->common;
  struct Common {
    uint32_t length, id;
    uint8_t version;
    char augmentation[11];
  };
  auto shared = read_near<Common>(common);
  if (!shared || shared->augmentation[0] != 'z' || !memchr(shared->augmentation, 'R', 5)) return {};
  Address begin = place + 8 + description->function;
  // Other encodings of the address don't lead to where the table says that the function is.
  if (begin != table_ + entry.function) return {};
  return std::pair(begin, begin + static_cast<int64_t>(description->size));
}

}  // namespace spile::engine
