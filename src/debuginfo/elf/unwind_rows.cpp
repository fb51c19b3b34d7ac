#include "debuginfo/elf/unwind_rows.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "abi/machine.h"
#include "base/files/bytes.h"

namespace spile::debuginfo {
namespace {

using abi::UnwindRule;

// DWARF's numbers of the registers that rules here may name.
constexpr uint64_t kFramePointer = abi::kConvention.frame_pointer, kStackPointer = abi::kConvention.stack_pointer,
                   kReturnAddress = abi::kConvention.program_counter;

// Bytes of call frame information, which lie at an address.
class Reader : public ByteCursor {
 public:
  Reader(std::string_view bytes, uint64_t address) : ByteCursor(bytes), address_(address) {}
  // DW_EH_PE_*; 0 where it is omitted. Indirect ones are not resolved.
  uint64_t encoded(uint8_t encoding) {
    if (encoding == 0xff) return 0;
    uint64_t base = (encoding & 0x70) == 0x10 ? address_ + at() : 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c: return base + fixed<uint64_t>();
      case 0x01: return base + uleb();
      case 0x02: return base + fixed<uint16_t>();
      case 0x03: return base + fixed<uint32_t>();
      case 0x09: return base + static_cast<uint64_t>(sleb());
      case 0x0a: return base + static_cast<uint64_t>(int64_t{fixed<int16_t>()});
      case 0x0b: return base + static_cast<uint64_t>(int64_t{fixed<int32_t>()});
      default: return fail(), 0;
    }
  }

 private:
  uint64_t address_;
};

struct Cie {
  bool usable = false;
  bool signal = false;
  bool has_augmentation_data = false;
  uint8_t pointer_encoding = 0;
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  std::string_view instructions;
};

// What one row of the table says, before it is put into an UnwindRule.
struct State {
  UnwindRule rule{};
  uint64_t cfa_register = kStackPointer;
  int64_t cfa_offset = abi::kConvention.entry_cfa;
  bool cfa_is_expression = false;
  UnwindRule expression{};
  bool return_undefined = false;
  bool return_elsewhere = false;
};

struct Fde {
  uint64_t begin, end;
  std::vector<UnwindRow> rows;
};

bool fits(int64_t value) { return value == static_cast<int16_t>(value); }

UnwindRule rule_of(const State& state, bool signal) {
  UnwindRule rule = state.rule;
  if (signal) return {abi::kUnwindSignal, abi::kFrameSame, 0, 0, 0};
  if (state.return_undefined) return {abi::kUnwindEnd, abi::kFrameSame, 0, 0, 0};
  bool unknown = state.return_elsewhere;
  if (state.cfa_is_expression) {
    rule.kind = state.expression.kind;
    rule.offset = state.expression.offset;
    rule.addend = state.expression.addend;
  } else {
    rule.kind = state.cfa_register == kStackPointer ? abi::kUnwindStack : abi::kUnwindFrame;
    rule.offset = static_cast<int16_t>(state.cfa_offset);
    unknown |= (state.cfa_register != kStackPointer && state.cfa_register != kFramePointer);
    // Frames of more than 32 KiB count in units of 16: a large buffer on the stack, whose CFA is aligned.
    unknown |= !fits(state.cfa_offset);
  }
  return unknown ? UnwindRule{} : rule;
}

// DWARF expressions of CFAs as compilers and linkers emit them; all others are unknown.
UnwindRule expression_rule(std::string_view expression) {
  ByteCursor in(expression);
  UnwindRule rule{};
  auto op = in.fixed<uint8_t>();
  if (op != 0x70 + kStackPointer && op != 0x70 + kFramePointer) return {};  // DW_OP_bregN
  int64_t offset = in.sleb();
  if (!fits(offset) || in.failed()) return {};
  rule.offset = static_cast<int16_t>(offset);
  rule.kind = op == 0x70 + kStackPointer ? abi::kUnwindStack : abi::kUnwindFrame;
  if (in.at_end()) return rule;
  std::string_view rest = in.rest();
  // breg16 0, lit15, and, litN, ge, lit3, shl, plus: the procedure linkage table's
  if (op == 0x70 + kStackPointer && offset == 8 && rest.size() == 9 &&
      rest.substr(0, 4) == std::string_view("\x80\x00\x3f\x1a", 4) && rest.substr(5) == "\x2a\x33\x24\x22") {
    rule.kind = abi::kUnwindPlt;
    rule.offset = static_cast<int16_t>(static_cast<uint8_t>(rest[4]) - 0x30);
    return rule;
  }
  if (in.fixed<uint8_t>() != 0x06) return {};  // DW_OP_deref
  rule.kind = op == 0x70 + kStackPointer ? abi::kUnwindStackLoad : abi::kUnwindFrameLoad;
  if (in.at_end()) return rule;
  if (in.fixed<uint8_t>() != 0x23) return {};  // DW_OP_plus_uconst
  uint64_t addend = in.uleb();
  if (!in.at_end() || in.failed() || addend > INT16_MAX) return {};
  rule.addend = static_cast<int16_t>(addend);
  return rule;
}

// Runs a CIE's and an FDE's instructions.
class Interpreter {
 public:
  Interpreter(const Cie& cie, uint64_t begin, std::vector<UnwindRow>& rows) : cie_(cie), rows_(rows), pc_(begin) {}

  // only_first: what follows the first row is left out.
  bool run(std::string_view instructions, bool initial, bool only_first) {
    Reader in(instructions, 0);
    while (!in.at_end() && !(only_first && !rows_.empty())) {
      auto byte = in.fixed<uint8_t>();
      if (!step(byte, in) || in.failed()) return false;
    }
    if (initial) initial_ = state_;
    return true;
  }
  void emit() {
    UnwindRule rule = rule_of(state_, cie_.signal);
    if (!rows_.empty() && rows_.back().address.value == pc_) rows_.pop_back();
    if (!rows_.empty() && memcmp(&rows_.back().rule, &rule, sizeof rule) == 0) return;
    rows_.push_back({FileAddress(pc_), rule});
  }

 private:
  void advance(uint64_t delta) {
    emit();
    pc_ += delta * cie_.code_factor;
  }
  void set_saved(uint64_t reg, int64_t offset) {
    if (reg == kFramePointer) {
      state_.rule.frame = fits(offset) ? abi::kFrameAtCfa : abi::kFrameSame;
      state_.rule.frame_offset = static_cast<int16_t>(offset);
    } else if (reg == kReturnAddress) {
      state_.return_undefined = false;
      state_.return_elsewhere = offset != abi::kConvention.return_slot;
    }
  }
  void restore(uint64_t reg) {
    if (reg == kFramePointer) {
      state_.rule.frame = initial_.rule.frame;
      state_.rule.frame_offset = initial_.rule.frame_offset;
    } else if (reg == kReturnAddress) {
      state_.return_undefined = initial_.return_undefined;
      state_.return_elsewhere = initial_.return_elsewhere;
    }
  }
  void set_same(uint64_t reg, bool undefined) {
    if (reg == kFramePointer) state_.rule.frame = abi::kFrameSame;
    if (reg == kReturnAddress) state_.return_undefined = undefined;
  }
  void set_expression(uint64_t reg, std::string_view expression) {
    if (reg == kReturnAddress) state_.return_elsewhere = true;
    if (reg != kFramePointer) return;
    UnwindRule rule = expression_rule(expression);
    state_.rule.frame = rule.kind == abi::kUnwindFrame ? abi::kFrameAtFrame : abi::kFrameSame;
    state_.rule.frame_offset = rule.offset;
  }
  void define_cfa(uint64_t reg, int64_t offset) {
    state_.cfa_is_expression = false;
    state_.cfa_register = reg;
    state_.cfa_offset = offset;
  }

  bool step(uint8_t byte, Reader& in) {
    switch (byte & 0xc0) {
      case 0x40: advance(byte & 0x3f); return true;
      case 0x80: set_saved(byte & 0x3f, static_cast<int64_t>(in.uleb()) * cie_.data_factor); return true;
      case 0xc0: restore(byte & 0x3f); return true;
      default: break;
    }
    uint64_t reg;
    switch (byte) {
      case 0x00: return true;
      case 0x01:  // set_loc
        emit();
        pc_ = in.encoded(cie_.pointer_encoding);
        return true;
      case 0x02: advance(in.fixed<uint8_t>()); return true;
      case 0x03: advance(in.fixed<uint16_t>()); return true;
      case 0x04: advance(in.fixed<uint32_t>()); return true;
      case 0x05:
        reg = in.uleb();
        set_saved(reg, static_cast<int64_t>(in.uleb()) * cie_.data_factor);
        return true;
      case 0x06: restore(in.uleb()); return true;
      case 0x07: set_same(in.uleb(), true); return true;
      case 0x08: set_same(in.uleb(), false); return true;
      case 0x09:
        reg = in.uleb();
        in.uleb();
        if (reg == kReturnAddress) state_.return_elsewhere = true;
        return true;
      case 0x0a:
        if (stack_.size() > 1000) return false;
        stack_.push_back(state_);
        return true;
      case 0x0b:
        if (stack_.empty()) return false;
        state_ = stack_.back();
        stack_.pop_back();
        return true;
      case 0x0c:
        reg = in.uleb();
        define_cfa(reg, static_cast<int64_t>(in.uleb()));
        return true;
      case 0x0d: define_cfa(in.uleb(), state_.cfa_offset); return true;
      case 0x0e: define_cfa(state_.cfa_register, static_cast<int64_t>(in.uleb())); return true;
      case 0x0f:
        state_.cfa_is_expression = true;
        state_.expression = expression_rule(in.take(in.uleb()));
        return true;
      case 0x10:
      case 0x16:
        reg = in.uleb();
        set_expression(reg, in.take(in.uleb()));
        return true;
      case 0x11:
        reg = in.uleb();
        set_saved(reg, in.sleb() * cie_.data_factor);
        return true;
      case 0x12:
        reg = in.uleb();
        define_cfa(reg, in.sleb() * cie_.data_factor);
        return true;
      case 0x13: define_cfa(state_.cfa_register, in.sleb() * cie_.data_factor); return true;
      case 0x14:
        reg = in.uleb();
        set_saved(reg, static_cast<int64_t>(in.uleb()) * cie_.data_factor);
        return true;
      case 0x15:
        reg = in.uleb();
        set_saved(reg, in.sleb() * cie_.data_factor);
        return true;
      case 0x2e: in.uleb(); return true;  // DW_CFA_GNU_args_size
      case 0x2f:
        reg = in.uleb();
        set_saved(reg, -static_cast<int64_t>(in.uleb()) * cie_.data_factor);
        return true;
      default: return false;
    }
  }

  const Cie& cie_;
  std::vector<UnwindRow>& rows_;
  uint64_t pc_;
  State state_, initial_;
  std::vector<State> stack_;
};

// One section of call frame information.
class FrameSection {
 public:
  FrameSection(std::string_view bytes, uint64_t address, bool is_debug_frame, bool only_first)
      : bytes_(bytes), address_(address), is_debug_frame_(is_debug_frame), only_first_(only_first) {}

  void read(std::vector<Fde>& fdes) {
    for (uint64_t at = 0; at + 4 <= bytes_.size();) {
      Reader in(bytes_.substr(at), address_ + at);
      Entry entry;
      if (!read_entry(at, entry)) return;
      if (entry.id != cie_id()) read_fde(entry, fdes);
      at = entry.end;
    }
  }

 private:
  struct Entry {
    uint64_t id_at = 0, id = 0, body = 0, end = 0;
  };
  uint64_t cie_id() const { return is_debug_frame_ ? 0xffffffff : 0; }

  bool read_entry(uint64_t at, Entry& entry) const {
    if (at >= bytes_.size()) return false;
    Reader in(bytes_.substr(at), 0);
    uint64_t length = in.fixed<uint32_t>();
    bool is_64 = length == 0xffffffff;
    if (is_64) length = in.fixed<uint64_t>();
    uint64_t begin = at + in.at();
    if (length == 0 || in.failed() || length > bytes_.size() - begin) return false;
    entry.id_at = begin;
    entry.end = begin + length;
    bool wide = is_64 && is_debug_frame_;
    entry.id = wide ? in.fixed<uint64_t>() : in.fixed<uint32_t>();
    if (wide && entry.id == ~uint64_t{0}) entry.id = 0xffffffff;
    entry.body = at + in.at();
    return !in.failed() && entry.body <= entry.end;
  }

  const Cie& cie_at(uint64_t at) {
    auto [known, added] = cies_.try_emplace(at);
    Cie& cie = known->second;
    Entry entry;
    if (!added || !read_entry(at, entry) || entry.id != cie_id()) return cie;
    Reader in(bytes_.substr(entry.body, entry.end - entry.body), address_ + entry.body);
    auto version = in.fixed<uint8_t>();
    std::string_view augmentation = in.text();
    if (version >= 4) in.fixed<uint16_t>();  // sizes of address and segment selector
    cie.code_factor = in.uleb();
    cie.data_factor = in.sleb();
    uint64_t return_register = version == 1 ? in.fixed<uint8_t>() : in.uleb();
    bool known_augmentation = true;
    for (char letter : augmentation) {
      switch (letter) {
        case 'z':
          in.uleb();
          cie.has_augmentation_data = true;
          break;
        case 'R': cie.pointer_encoding = in.fixed<uint8_t>(); break;
        case 'P': {
          auto encoding = in.fixed<uint8_t>();
          in.encoded(encoding & 0x7f);
          break;
        }
        case 'L': in.fixed<uint8_t>(); break;
        case 'S': cie.signal = true; break;
        default: known_augmentation = false; break;
      }
    }
    cie.usable = known_augmentation && !in.failed() && return_register == kReturnAddress;
    cie.instructions = bytes_.substr(entry.body + in.at(), entry.end - entry.body - in.at());
    return cie;
  }

  void read_fde(const Entry& entry, std::vector<Fde>& fdes) {
    uint64_t cie_offset = is_debug_frame_ ? entry.id : entry.id_at - entry.id;
    if (cie_offset >= bytes_.size()) return;
    const Cie& cie = cie_at(cie_offset);
    if (!cie.usable) return;
    Reader in(bytes_.substr(entry.body, entry.end - entry.body), address_ + entry.body);
    Fde fde;
    fde.begin = in.encoded(cie.pointer_encoding);
    fde.end = fde.begin + in.encoded(cie.pointer_encoding & 0x0f);
    if (cie.has_augmentation_data) in.take(in.uleb());
    if (in.failed() || fde.begin == 0 || fde.end <= fde.begin) return;
    Interpreter interpreter(cie, fde.begin, fde.rows);
    bool whole = interpreter.run(cie.instructions, true, only_first_) &&
                 interpreter.run(bytes_.substr(entry.body + in.at(), entry.end - entry.body - in.at()), false, only_first_);
    if (whole) {
      if (!only_first_ || fde.rows.empty()) interpreter.emit();
    } else {
      fde.rows.push_back({FileAddress(fde.rows.empty() ? fde.begin : fde.rows.back().address.value + 1), {}});
    }
    fdes.push_back(std::move(fde));
  }

  std::string_view bytes_;
  uint64_t address_;
  bool is_debug_frame_, only_first_;
  std::unordered_map<uint64_t, Cie> cies_;
};

// only_first: of each FDE only the row of its first address is read.
void read_section(const ElfImage* image, std::string_view name, std::vector<Fde>& fdes, bool only_first = false) {
  const ElfImage::Section* section = image ? image->section(name) : nullptr;
  if (!section || section->flags & SHF_COMPRESSED) return;
  FrameSection(image->contents(*section), section->address, name == ".debug_frame", only_first).read(fdes);
}

bool in_linkage_table(const ElfImage& image, uint64_t address) {
  return std::any_of(image.sections().begin(), image.sections().end(), [&](const ElfImage::Section& section) {
    return section.name.starts_with(".plt") && address >= section.address && address - section.address < section.size;
  });
}

UnwindRange::Start start_of(const Fde& fde) {
  if (fde.rows.empty()) return UnwindRange::Start::kUnclear;
  const UnwindRule& rule = fde.rows.front().rule;
  switch (rule.kind) {
    case abi::kUnwindUnknown:
    case abi::kUnwindPlt:
    case abi::kUnwindSignal: return UnwindRange::Start::kUnclear;
    case abi::kUnwindEnd: return UnwindRange::Start::kCalled;  // _start
    case abi::kUnwindStack: {
      const bool untouched = rule.offset == abi::kConvention.entry_cfa && rule.frame == abi::kFrameSame;
      return untouched ? UnwindRange::Start::kCalled : UnwindRange::Start::kInside;
    }
    default: return UnwindRange::Start::kInside;
  }
}

}  // namespace

std::vector<UnwindRange> read_unwind_ranges(const ElfImage& image) {
  std::vector<Fde> fdes;
  read_section(&image, ".eh_frame", fdes, true);
  std::stable_sort(fdes.begin(), fdes.end(), [](const Fde& a, const Fde& b) { return a.begin < b.begin; });
  std::vector<UnwindRange> ranges;
  uint64_t end = 0;
  for (const Fde& fde : fdes) {
    if (fde.begin < end || in_linkage_table(image, fde.begin)) continue;
    ranges.push_back({FileAddress(fde.begin), fde.end - fde.begin, start_of(fde)});
    end = fde.end;
  }
  return ranges;
}

std::vector<UnwindRow> read_unwind_rows(const ElfImage& image, const ElfImage* debug) {
  std::vector<Fde> fdes;
  read_section(&image, ".eh_frame", fdes);
  read_section(&image, ".debug_frame", fdes);
  read_section(debug, ".debug_frame", fdes);
  // Of two for one place the first read stays: .eh_frame, which exceptions depend on.
  std::stable_sort(fdes.begin(), fdes.end(), [](const Fde& a, const Fde& b) { return a.begin < b.begin; });
  std::vector<UnwindRow> rows;
  uint64_t end = 0;
  // Padding between functions is never returned to: it need not be told apart.
  constexpr uint64_t kPadding = 64;
  for (const Fde& fde : fdes) {
    if (fde.begin < end) continue;
    if (!rows.empty() && fde.begin - end > kPadding) rows.push_back({FileAddress(end), {}});
    for (const UnwindRow& row : fde.rows) {
      if (row.address.value >= fde.end) break;
      if (!rows.empty() && memcmp(&rows.back().rule, &row.rule, sizeof row.rule) == 0) continue;
      rows.push_back(row);
    }
    end = fde.end;
  }
  if (!rows.empty()) rows.push_back({FileAddress(end), {}});
  return rows;
}

}  // namespace spile::debuginfo
