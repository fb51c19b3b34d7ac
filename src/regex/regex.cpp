// Thompson's construction, and the subset construction over it (Aho, Sethi, Ullman, 3.7): the automaton for the table
// begins anew at every byte, and stops at the first sign of a match.

#include "regex/regex.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "regex/program.h"
#include "regex/syntax.h"

namespace spile::regex {

namespace {

constexpr size_t kMaxStates = 2000;
constexpr size_t kMaxTableBytes = 256 << 10;

class Emitter {
 public:
  explicit Emitter(const Tree& tree) : tree_(tree) {}

  bool run() {
    put(kSave, 0);
    emit(tree_.root);
    put(kSave, 1);
    put(kMatch);
    return code.size() <= kMaxInstructions;
  }

  std::vector<Instruction> code;
  std::vector<ByteSet> sets;

 private:
  size_t put(Operation operation, size_t x = 0, size_t y = 0) {
    code.push_back({operation, 0, static_cast<uint16_t>(x), static_cast<uint16_t>(y)});
    return code.size() - 1;
  }
  size_t here() const { return code.size(); }

  void emit(int index) {
    if (code.size() > kMaxInstructions) return;  // run() says so
    const Node& node = tree_.nodes[static_cast<size_t>(index)];
    switch (node.kind) {
      case Node::Kind::kEmpty: return;
      case Node::Kind::kSet: put(kSet, set_number(node.set)); return;
      case Node::Kind::kSequence:
        for (int child : node.children) emit(child);
        return;
      case Node::Kind::kChoice: return emit_choice(node);
      case Node::Kind::kRepeat: return emit_repeat(node);
      case Node::Kind::kGroup:
        put(kSave, static_cast<size_t>(2 * node.group));
        emit(node.children[0]);
        put(kSave, static_cast<size_t>(2 * node.group + 1));
        return;
      case Node::Kind::kBegin: put(kBegin); return;
      case Node::Kind::kEnd: put(kEnd); return;
    }
  }

  void emit_choice(const Node& node) {
    std::vector<size_t> to_end;
    for (size_t i = 0; i < node.children.size(); ++i) {
      bool last = i + 1 == node.children.size();
      size_t split = last ? 0 : put(kSplit, here() + 1);
      emit(node.children[i]);
      if (last) break;
      to_end.push_back(put(kJump));
      code[split].y = static_cast<uint16_t>(here());
    }
    for (size_t jump : to_end) code[jump].x = static_cast<uint16_t>(here());
  }

  void emit_repeat(const Node& node) {
    for (int i = 0; i < node.least; ++i) emit(node.children[0]);
    if (node.most < 0) {
      size_t split = put(kSplit, here() + 1);
      emit(node.children[0]);
      put(kJump, split);
      code[split].y = static_cast<uint16_t>(here());
      return;
    }
    std::vector<size_t> splits;
    for (int i = node.least; i < node.most && code.size() <= kMaxInstructions; ++i) {
      splits.push_back(put(kSplit, here() + 1));
      emit(node.children[0]);
    }
    for (size_t split : splits) code[split].y = static_cast<uint16_t>(here());
  }

  size_t set_number(const ByteSet& set) {
    auto found = std::find(sets.begin(), sets.end(), set);
    if (found != sets.end()) return static_cast<size_t>(found - sets.begin());
    sets.push_back(set);
    return sets.size() - 1;
  }

  const Tree& tree_;
};

class TableMaker {
 public:
  explicit TableMaker(const Emitter& automaton) : code_(automaton.code), sets_(automaton.sets) {}

  // Empty: too large.
  std::vector<uint8_t> run() {
    find_classes();
    States first;
    close(first, 0, true, false);
    again_.assign(1, 0);
    uint32_t start = number_of(sorted(first));
    for (size_t i = 2; i < states_.size(); ++i) {
      if (states_.size() > kMaxStates || rows_.size() * stride() * 2 > kMaxTableBytes) return {};
      fill_row(i, i == start);
    }
    return pack(start);
  }

 private:
  using States = std::vector<uint16_t>;  // of the automaton; sorted; kSet and kEnd only
  size_t stride() const { return classes_ + 1; }

  static States sorted(States states) {
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    return states;
  }

  // Bytes that are in the same sets form one class.
  void find_classes() {
    std::map<std::vector<bool>, uint8_t> known;
    for (size_t byte = 0; byte < 256; ++byte) {
      std::vector<bool> in;
      for (const ByteSet& set : sets_) in.push_back(set[byte]);
      auto [entry, fresh] = known.emplace(in, static_cast<uint8_t>(known.size()));
      if (fresh) representatives_.push_back(byte);
      class_of_[byte] = entry->second;
    }
    classes_ = known.size();
  }

  // Adds the states that are reached from `state` without a byte. True: a match is among them.
  bool close(States& into, uint16_t state, bool at_begin, bool at_end) {
    std::vector<bool> seen(code_.size());
    return close(into, state, at_begin, at_end, seen);
  }
  bool close(States& into, uint16_t from, bool at_begin, bool at_end, std::vector<bool>& seen) {
    std::vector<uint16_t> open{from};
    bool matched = false;
    while (!open.empty()) {
      uint16_t state = open.back();
      open.pop_back();
      if (seen[state]) continue;
      seen[state] = true;
      auto next = static_cast<uint16_t>(state + 1);
      const Instruction& instruction = code_[state];
      switch (instruction.operation) {
        case kJump: open.push_back(instruction.x); break;
        case kSplit:
          open.push_back(instruction.x);
          open.push_back(instruction.y);
          break;
        case kSave: open.push_back(next); break;
        case kBegin:
          if (at_begin) open.push_back(next);
          break;
        case kEnd:
          into.push_back(state);
          if (at_end) open.push_back(next);
          break;
        case kMatch:
          matched = true;
          into.push_back(state);
          break;
        default: into.push_back(state);
      }
    }
    return matched;
  }

  uint32_t number_of(const States& states) {
    if (std::any_of(states.begin(), states.end(), [&](uint16_t s) { return code_[s].operation == kMatch; })) return kAcceptState;
    auto [entry, fresh] = numbers_.emplace(states, static_cast<uint32_t>(states_.size()));
    if (fresh) states_.push_back(states);
    return entry->second;
  }

  void fill_row(size_t number, bool is_start) {
    const States from = states_[number];
    std::vector<uint16_t> row(stride());
    for (size_t c = 0; c < classes_; ++c) {
      States next;
      std::vector<bool> seen(code_.size());
      for (uint16_t state : from) {
        const Instruction& instruction = code_[state];
        if (instruction.operation == kSet && sets_[instruction.x][representatives_[c]]) {
          close(next, static_cast<uint16_t>(state + 1), false, false, seen);
        }
      }
      for (uint16_t start : again_) close(next, start, false, false, seen);
      next = sorted(std::move(next));
      row[c] = next.empty() ? kDeadState : static_cast<uint16_t>(number_of(next));
    }
    bool matched = false;
    for (uint16_t state : from) {
      States ignored;
      if (code_[state].operation == kEnd) matched |= close(ignored, static_cast<uint16_t>(state + 1), is_start, true);
    }
    row[classes_] = matched ? kAcceptState : kDeadState;
    rows_.push_back(std::move(row));
  }

  std::vector<uint8_t> pack(uint32_t start) const {
    std::vector<uint8_t> bytes(sizeof(Table) + (rows_.size() + 2) * stride() * 2);
    Table table{static_cast<uint32_t>(stride()), start, static_cast<uint32_t>((rows_.size() + 2) * stride()), {}};
    std::copy(class_of_.begin(), class_of_.end(), table.class_of);
    std::memcpy(bytes.data(), &table, sizeof table);
    uint8_t* at = bytes.data() + sizeof table + 2 * stride() * 2;
    for (const auto& row : rows_) {
      std::memcpy(at, row.data(), row.size() * 2);
      at += row.size() * 2;
    }
    return bytes;
  }

  const std::vector<Instruction>& code_;
  const std::vector<ByteSet>& sets_;
  std::array<uint8_t, 256> class_of_{};
  std::vector<size_t> representatives_;
  size_t classes_ = 0;
  States again_;
  std::map<States, uint32_t> numbers_;
  std::vector<States> states_{{}, {}};  // kDeadState and kAcceptState have no rows
  std::vector<std::vector<uint16_t>> rows_;
};

std::vector<uint8_t> pack_program(const Emitter& automaton, uint32_t groups) {
  Program head{static_cast<uint32_t>(automaton.code.size()), groups};
  size_t code_bytes = automaton.code.size() * sizeof(Instruction);
  size_t sets_at = sizeof head + (code_bytes + 3) / 4 * 4;
  std::vector<uint8_t> bytes(sets_at + 32 * automaton.sets.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, automaton.code.data(), code_bytes);
  for (size_t s = 0; s < automaton.sets.size(); ++s) {
    for (size_t byte = 0; byte < 256; ++byte) {
      if (automaton.sets[s][byte]) bytes[sets_at + 32 * s + byte / 8] |= static_cast<uint8_t>(1 << (byte & 7));
    }
  }
  return bytes;
}

}  // namespace

Outcome compile(std::string_view pattern) {
  Outcome outcome;
  Tree tree;
  if (!parse(pattern, tree, outcome.mistake)) return outcome;
  Emitter automaton(tree);
  if (!automaton.run()) {
    outcome.mistake = {0, pattern.size(), "the pattern is too large", "a repetition {n,m} counts as m copies"};
    return outcome;
  }
  Compiled compiled;
  compiled.groups = static_cast<uint32_t>(tree.groups) + 1;
  compiled.program = pack_program(automaton, compiled.groups);
  compiled.table = TableMaker(automaton).run();
  outcome.compiled = std::move(compiled);
  return outcome;
}

}  // namespace spile::regex
