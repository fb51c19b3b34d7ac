#include "codegen/module/site_texts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "abi/map_layout.h"
#include "abi/point_tables.h"
#include "base/check.h"

namespace spile::codegen {

std::string text_of(const sema::ResolvedPoint& point, const std::string& what) {
  if (what == "pp") return point.text;
  if (what == "pn") return point.name.empty() ? point.text : point.name;
  if (what == "__tracepoint") return point.site.tracepoint.substr(point.site.tracepoint.find(':') + 1);
  return point.site.function;
}

namespace {

// Which of the probe's points every site is; -1: none.
std::vector<std::vector<int>> points_by_site(const sema::Program& program) {
  std::vector<std::vector<int>> points(program.probes.size());
  for (size_t site = 0; site < program.sites.size(); ++site) {
    const sema::ArmedSite& armed = program.sites[site];
    const sema::SiteGroup& group = program.site_groups[static_cast<size_t>(armed.group)];
    size_t position = 0;
    auto note = [&](int probe) {
      std::vector<int>& of_probe = points[static_cast<size_t>(probe)];
      if (of_probe.empty()) of_probe.assign(program.sites.size(), 0);
      if (position < armed.points.size()) of_probe[site] = armed.points[position];
      ++position;
    };
    for (int probe : group.entry_probes) note(probe);
    for (int probe : group.return_probes) note(probe);
  }
  return points;
}

}  // namespace

// Fills in offsets, base and mask: offset_of says what stands for a point, by the probe and the point's index (of a probe without
// points: 0). in_kernel: for handlers there, which know the number of the point; a probe of the kernel has no sites.
template <typename Tables, typename OffsetOf>
static void add_offsets(const sema::Program& program, Tables& tables, bool in_kernel, OffsetOf&& offset_of) {
  std::vector<std::vector<int>> points = points_by_site(program);
  for (size_t i = 0; i < program.probes.size(); ++i) {
    const sema::Probe& probe = program.probes[i];
    tables.base.push_back(static_cast<uint32_t>(tables.offsets.size()));
    // the number of the point is that of the site
    if (probe.points.size() > 1 && (sema::is_for_some_calls(probe) || (in_kernel && probe.domain == sema::Domain::kKernel))) {
      tables.mask.push_back(~0u);
      for (size_t point = 0; point < probe.points.size(); ++point) tables.offsets.push_back(offset_of(probe, point));
      continue;
    }
    bool many = probe.points.size() > 1 && !points[i].empty();
    tables.mask.push_back(many ? ~0u : 0);
    if (!many) {
      tables.offsets.push_back(offset_of(probe, 0));
      continue;
    }
    for (int point : points[i]) tables.offsets.push_back(offset_of(probe, static_cast<size_t>(point)));
  }
}

// Returns the offset of the text.
static uint32_t append_key_text(std::string& blob, std::string text) {
  const uint32_t length = abi::packed_text_bytes(static_cast<uint32_t>(text.size()));
  text.resize(length);
  uint64_t hash = 0;
  for (uint32_t at = 0; at < length; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    hash = abi::hash_next(hash, word);
  }
  const abi::KeyTextHead head{abi::hash_end(hash), length};
  blob.append(reinterpret_cast<const char*>(&head), sizeof head);
  const auto offset = static_cast<uint32_t>(blob.size());
  blob += text;
  return offset;
}

static const sema::ResolvedPoint* point_at(const sema::Probe& probe, size_t index) {
  return index < probe.points.size() ? &probe.points[index] : nullptr;
}

SiteTexts make_site_texts(const sema::Program& program, const std::string& what, uint32_t string_size, bool in_kernel) {
  SiteTexts texts;
  std::map<std::string, uint32_t> known;
  add_offsets(program, texts, in_kernel, [&](const sema::Probe& probe, size_t index) {
    const sema::ResolvedPoint* point = point_at(probe, index);
    std::string text = point ? text_of(*point, what) : "";
    auto [entry, fresh] = known.emplace(text.substr(0, string_size - 1), 0);
    if (fresh && in_kernel) {
      entry->second = static_cast<uint32_t>(texts.blob.size());
      texts.blob.append(entry->first.c_str(), entry->first.size() + 1);
    } else if (fresh) {
      entry->second = append_key_text(texts.blob, entry->first);
    }
    return entry->second;
  });
  return texts;
}

SiteCallers make_site_callers(const sema::Program& program) {
  SiteCallers callers;
  std::map<std::vector<uint64_t>, uint32_t> known;
  add_offsets(program, callers, false, [&](const sema::Probe& probe, size_t index) -> uint32_t {
    const sema::ResolvedPoint* point = point_at(probe, index);
    if (!point || !point->site.callers) return 0;
    auto [entry, fresh] = known.emplace(*point->site.callers, static_cast<uint32_t>(callers.words.size()));
    if (fresh) callers.words.insert(callers.words.end(), entry->first.begin(), entry->first.end());
    return entry->second;
  });
  return callers;
}

namespace {

using abi::place_step;

// Makes the tables of all points; equal places, lists and texts stand there once.
class PointTableMaker {
 public:
  PointTableMaker(const sema::Program& program, uint32_t string_size, bool in_kernel, const EntryIdOf& entry_id)
      : string_size_(string_size), entry_id_(entry_id), kept_registers_(program.sites.kept_registers()) {
    std::set<int64_t> registers;
    for (const sema::Probe& probe : program.probes) {
      if ((probe.domain == sema::Domain::kKernel) != in_kernel) continue;
      for (const auto& slots : probe.tables) {
        for (const sema::PointSlot& slot : slots) {
          for (const sema::PointVariable& variable : slot) add_registers(variable.ops, registers);
        }
      }
    }
    made_.registers.assign(registers.begin(), registers.end());
    CHECK(kFirstRegisterValue + made_.registers.size() <= abi::kPointValues);
    add_offsets(program, made_, in_kernel, [&](const sema::Probe& probe, size_t point) {
      return (probe.domain == sema::Domain::kKernel) == in_kernel ? slots_of(probe, point) : 0;
    });
  }
  PointTables take() { return std::move(made_); }

 private:
  static void add_registers(const location::Operations& ops, std::set<int64_t>& registers) {
    for (const location::Operation& op : ops) {
      if (const auto* read = std::get_if<location::Register>(&op)) registers.insert(read->number);
    }
  }

  uint32_t slots_of(const sema::Probe& probe, size_t point) {
    if (probe.tables.empty()) return 0;
    CHECK(probe.tables.size() == probe.points.size());
    std::vector<uint32_t> slots;
    for (const sema::PointSlot& slot : probe.tables[point]) {
      const std::string& module = probe.points[point].site.module;
      const bool is_value = slot.size() == 1 && slot[0].text.empty();
      slots.push_back(is_value ? place_of(slot[0], module) : list_of(slot, module));
    }
    return added(made_.slots, known_slots_, std::move(slots));
  }

  uint32_t list_of(const sema::PointSlot& slot, const std::string& module) {
    std::vector<uint32_t> words = {static_cast<uint32_t>(slot.size())};
    for (const sema::PointVariable& variable : slot) {
      auto [text, fresh] = known_texts_.emplace(variable.text, static_cast<uint32_t>(made_.texts.size()));
      if (fresh) made_.texts += variable.text;
      words.push_back(text->second);
      words.push_back(static_cast<uint32_t>(variable.text.size()));
      words.push_back(variable.ops.empty() ? abi::kUnknownPlace : place_of(variable, module));
    }
    return added(made_.lists, known_lists_, std::move(words));
  }

  uint32_t place_of(const sema::PointVariable& variable, const std::string& module) {
    const bool is_string = variable.type == ValueType::kString;
    const uint32_t most = variable.string_limit == 0 ? string_size_ : std::min(variable.string_limit, string_size_);
    std::vector<uint64_t> words = {abi::place_header(static_cast<uint32_t>(variable.ops.size()), is_string ? most : 0)};
    for (const location::Operation& op : variable.ops) add_step(words, op, module);
    return added(made_.places, known_places_, std::move(words));
  }

  void add_step(std::vector<uint64_t>& words, const location::Operation& op, const std::string& module) const {
    auto step = [&](uint64_t first, int64_t operand) {
      words.push_back(first);
      words.push_back(static_cast<uint64_t>(operand));
    };
    location::visit(
        op, [&](location::Register o) { step(place_step(abi::kPushValue), value_of(o.number)); },
        [&](location::Constant o) { step(place_step(abi::kPushConstant), o.value); },
        [&](const location::Address& o) {
          step(place_step(abi::kPushValue), kBiasValue);
          step(place_step(abi::kAddConstant), static_cast<int64_t>(o.address.value));
          ++words[0];  // one step more than there are operations
        },
        [&](location::CallFrameCfa) { step(place_step(abi::kPushValue), kCfaValue); },
        [&](location::PlusConstant o) { step(place_step(abi::kAddConstant), o.value); },
        [&](location::Deref o) { step(place_step(abi::kLoad, o.bytes, o.is_signed), 0); },
        [&](location::Convert o) { step(place_step(abi::kExtend, 8u * o.bytes, o.is_signed), 0); },
        [&](location::BitField o) { step(place_step(abi::kExtend, o.bits, o.is_signed, o.first_bit), 0); },
        [&](const location::EntryValue& o) {
          step(place_step(abi::kEntryValue), entry_id_(module, o.function) | int64_t{entry_register(o.number)} << 32);
        },
        [&](location::Unary o) {
          constexpr uint8_t kSteps[] = {abi::kAbsolute, abi::kNegate, abi::kInvert, abi::kWiden};  // ORDER location::Unary
          step(place_step(kSteps[static_cast<size_t>(o)]), 0);
        },
        [&](location::Binary o) { step(place_step(static_cast<uint8_t>(abi::kBinary + static_cast<int>(o))), 0); },
        [&](location::Stack o) { step(place_step(static_cast<uint8_t>(abi::kDuplicate + static_cast<int>(o))), 0); },
        [&](location::Pick o) { step(place_step(abi::kPick), o.depth); }, [](const auto&) { CHECK(false); });
  }

  int64_t value_of(int64_t number) const {
    auto found = std::ranges::lower_bound(made_.registers, number);
    return kFirstRegisterValue + (found - made_.registers.begin());
  }
  uint32_t entry_register(int64_t number) const {
    return static_cast<uint32_t>(std::ranges::find(kept_registers_, number) - kept_registers_.begin());
  }

  // Appends words to a table, unless they are there already; returns their offset.
  template <typename Word>
  static uint32_t added(std::vector<Word>& table, std::map<std::vector<Word>, uint32_t>& known, std::vector<Word> words) {
    auto [entry, fresh] = known.emplace(std::move(words), static_cast<uint32_t>(table.size()));
    if (fresh) table.insert(table.end(), entry->first.begin(), entry->first.end());
    return entry->second;
  }

  const uint32_t string_size_;
  const EntryIdOf& entry_id_;
  std::vector<uint8_t> kept_registers_;
  PointTables made_;
  std::map<std::string, uint32_t> known_texts_;
  std::map<std::vector<uint64_t>, uint32_t> known_places_;
  std::map<std::vector<uint32_t>, uint32_t> known_lists_, known_slots_;
};

}  // namespace

PointTables make_point_tables(const sema::Program& program, uint32_t string_size, bool in_kernel, const EntryIdOf& entry_id) {
  return PointTableMaker(program, string_size, in_kernel, entry_id).take();
}

}  // namespace spile::codegen
