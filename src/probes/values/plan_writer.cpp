#include "probes/values/plan_writer.h"

#include <fmt/format.h>

#include "base/files/bytes.h"

namespace spile::probes {

namespace {

using Step = abi::ValueStep;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f) out += c;
    else out += fmt::format("\\{:03o}", static_cast<uint8_t>(c));
  }
  return out;
}

}  // namespace

Source& Source::step(abi::ValueSource op) {
  bytes_ += static_cast<char>(op);
  return *this;
}
Source& Source::push(int64_t value) {
  step(abi::ValueSource::kConstant);
  append_sleb(bytes_, value);
  return *this;
}
Source& Source::base(uint64_t offset) {
  step(abi::ValueSource::kBase);
  return plus(static_cast<int64_t>(offset));
}
Source& Source::load(uint8_t size, bool is_signed) {
  step(abi::ValueSource::kLoad);
  bytes_ += static_cast<char>(size);
  bytes_ += static_cast<char>(is_signed);
  return *this;
}
Source& Source::plus(int64_t value) {
  if (value == 0) return *this;
  step(abi::ValueSource::kPlus);
  append_sleb(bytes_, value);
  return *this;
}
Source& Source::times(int64_t value) {
  step(abi::ValueSource::kTimes);
  append_sleb(bytes_, value);
  return *this;
}
Source& Source::divide(uint64_t value) {
  if (value == 1) return *this;
  step(abi::ValueSource::kDivide);
  append_uleb(bytes_, value);
  return *this;
}
Source& Source::bits(uint32_t first, uint32_t count) {
  step(abi::ValueSource::kShiftRight);
  append_uleb(bytes_, first);
  step(abi::ValueSource::kAnd);
  append_sleb(bytes_, count >= 64 ? -1 : static_cast<int64_t>((uint64_t{1} << count) - 1));
  return *this;
}
Source& Source::minus(const Source& other) {
  bytes_ += other.bytes_;
  return step(abi::ValueSource::kMinus);
}
Source& Source::add(const Source& other) {
  bytes_ += other.bytes_;
  return step(abi::ValueSource::kAdd);
}

Source& Source::multiply(const Source& other) {
  bytes_ += other.bytes_;
  return step(abi::ValueSource::kMultiply);
}

void Routine::flush() {
  if (text_.empty()) return;
  bytes_ += static_cast<char>(Step::kText);
  append_uleb(bytes_, text_.size());
  bytes_ += text_;
  text_.clear();
}
void Routine::step(Step op) {
  flush();
  bytes_ += static_cast<char>(op);
}
void Routine::put(uint64_t number) { append_uleb(bytes_, number); }
void Routine::put_signed(int64_t number) { append_sleb(bytes_, number); }
void Routine::target(size_t routine) {
  targets_.emplace_back(bytes_.size(), routine);
  bytes_.append(4, '\0');
}

void Routine::text(std::string_view text) { text_ += escaped(text); }
void Routine::number(uint64_t offset, uint8_t size, abi::ValueForm form) {
  step(Step::kNumber);
  put(offset);
  put_byte(size);
  put_byte(static_cast<uint8_t>(form));
}
void Routine::bits(uint64_t offset, uint8_t size, uint8_t first, uint8_t count, abi::ValueForm form) {
  step(Step::kBits);
  put(offset);
  for (uint8_t byte : {size, first, count, static_cast<uint8_t>(form)}) put_byte(byte);
}
void Routine::enumerator(uint64_t offset, uint8_t size, uint8_t first, uint8_t count, bool is_signed, size_t table) {
  step(Step::kEnumerator);
  put(offset);
  for (uint8_t byte : {size, first, count, static_cast<uint8_t>(is_signed)}) put_byte(byte);
  tables_.emplace_back(bytes_.size(), table);
  bytes_.append(4, '\0');
}
void Routine::floating(uint64_t offset, uint8_t kind) {
  step(Step::kFloat);
  put(offset);
  put_byte(kind);
}
void Routine::characters(uint64_t offset, uint64_t count, uint8_t unit) {
  step(Step::kCharacters);
  put(offset);
  put(count);
  put_byte(unit);
}
void Routine::c_string(const Source& at, uint8_t unit) {
  step(Step::kCString);
  bytes_ += at.bytes();
  put_byte(unit);
}
void Routine::span(const Source& at, const Source& length, uint8_t unit) {
  step(Step::kSpan);
  bytes_ += at.bytes() + length.bytes();
  put_byte(unit);
}
void Routine::computed(const Source& value, abi::ValueForm form) {
  step(Step::kComputed);
  bytes_ += value.bytes();
  put_byte(static_cast<uint8_t>(form));
}
void Routine::call(uint64_t offset, size_t routine) {
  step(Step::kCall);
  put(offset);
  target(routine);
}
void Routine::inlined(uint64_t offset, size_t routine) {
  step(Step::kInline);
  put(offset);
  target(routine);
}
void Routine::follow(const Source& at, size_t routine) {
  step(Step::kFollow);
  bytes_ += at.bytes();
  target(routine);
}
void Routine::choose(const Source& value, const std::vector<std::pair<int64_t, size_t>>& cases, size_t otherwise) {
  step(Step::kSwitch);
  bytes_ += value.bytes();
  put(cases.size());
  for (const auto& [number, routine] : cases) {
    put_signed(number);
    target(routine);
  }
  target(otherwise);
}
void Routine::container(Step op, std::string_view brackets, std::initializer_list<const Source*> sources) {
  step(op);
  bytes_ += brackets;
  for (const Source* source : sources) bytes_ += source->bytes();
}
void Routine::elements(std::string_view brackets, const Source& first, const Source& count, uint64_t stride, size_t routine) {
  elements(brackets, first, count, Source::constant(static_cast<int64_t>(stride)), routine);
}
void Routine::elements(std::string_view brackets, const Source& first, const Source& count, const Source& stride,
                       size_t routine) {
  container(Step::kElements, brackets, {&first, &count, &stride});
  target(routine);
}
void Routine::list(std::string_view brackets, const Source& first, const Source& end, const Source& count, int64_t next,
                   uint64_t element, size_t routine) {
  container(Step::kList, brackets, {&first, &end, &count});
  put_signed(next);
  put(element);
  target(routine);
}
void Routine::tree(std::string_view brackets, const Source& first, const Source& count, const TreeShape& shape, size_t routine) {
  container(Step::kTree, brackets, {&first, &count});
  for (uint64_t offset : {shape.left, shape.right, shape.parent, shape.element}) put(offset);
  target(routine);
}
void Routine::blocks(std::string_view brackets, const Source& array, const Source& first, const Source& count, uint64_t of_block,
                     uint64_t stride, size_t routine) {
  container(Step::kBlocks, brackets, {&array, &first, &count});
  put(of_block);
  put(stride);
  target(routine);
}
void Routine::bit_vector(std::string_view brackets, const Source& words, const Source& first, const Source& count) {
  container(Step::kBitVector, brackets, {&words, &first, &count});
}
void Routine::ring(std::string_view brackets, const Source& array, const Source& first, const Source& length, const Source& count,
                   uint64_t stride, size_t routine) {
  container(Step::kRing, brackets, {&array, &first, &length, &count});
  put(stride);
  target(routine);
}
void Routine::hash_table(std::string_view brackets, const Source& control, const Source& mask, const Source& count,
                         uint64_t stride, size_t routine) {
  container(Step::kHashTable, brackets, {&control, &mask, &count});
  put(stride);
  target(routine);
}
void Routine::b_tree(std::string_view brackets, const Source& root, const Source& height, const Source& count,
                     const BTreeNode& node, size_t key, std::optional<size_t> value) {
  container(Step::kBTree, brackets, {&root, &height, &count});
  for (uint64_t n : {node.keys, node.values, node.count, node.place, node.parent, node.children, node.key_size, node.value_size})
    put(n);
  target(key);
  if (value) target(*value);
  else bytes_.append(4, '\0');  // routine 0 prints the whole value: it is nobody's element
}
void Routine::go_map(std::string_view brackets, const Source& power, const Source& buckets, const Source& old,
                     const GoBucket& bucket, size_t key, size_t value) {
  container(Step::kGoMap, brackets, {&power, &buckets, &old});
  for (uint64_t n : {bucket.keys, bucket.values, bucket.overflow, bucket.key_size, bucket.value_size}) put(n);
  target(key);
  target(value);
}
void Routine::go_interface(uint64_t types, const Source& type, const Source& data) {
  step(Step::kGoInterface);
  put(types);
  bytes_ += type.bytes() + data.bytes();
}
void Routine::instant(uint64_t offset, uint64_t ticks) {
  step(Step::kInstant);
  put(offset);
  put(ticks);
}
void Routine::code(abi::ValueCode kind, const Source& first, const Source& second) {
  step(Step::kCode);
  put_byte(static_cast<uint8_t>(kind));
  bytes_ += first.bytes() + second.bytes();
  names_code_ = true;
}

void PlanWriter::set(size_t index, Routine routine) {
  routine.step(Step::kEnd);
  size_ += routine.size();
  names_code_ |= routine.names_code();
  routines_[index] = std::move(routine);
}

size_t PlanWriter::add_table(abi::ValueTable kind, const std::vector<std::pair<std::string, int64_t>>& constants) {
  std::string table(1, static_cast<char>(kind));
  append_uleb(table, constants.size());
  for (const auto& [name, value] : constants) {
    const std::string shown = escaped(name);
    append_sleb(table, value);
    append_uleb(table, shown.size());
    table += shown;
  }
  size_ += table.size();
  tables_.push_back(std::move(table));
  return tables_.size() - 1;
}

std::string PlanWriter::finish() {
  std::string plan;
  std::vector<size_t> begins, tables;
  for (const Routine& routine : routines_) {
    begins.push_back(plan.size());
    plan += routine.bytes_;
  }
  for (const std::string& table : tables_) {
    tables.push_back(plan.size());
    plan += table;
  }
  auto put_at = [&](size_t at, size_t value) {
    for (size_t i = 0; i < 4; ++i) plan[at + i] = static_cast<char>(value >> (8 * i));
  };
  for (size_t i = 0; i < routines_.size(); ++i) {
    for (const auto& [at, routine] : routines_[i].targets_) put_at(begins[i] + at, begins[routine]);
    for (const auto& [at, table] : routines_[i].tables_) put_at(begins[i] + at, tables[table]);
  }
  return plan;
}

}  // namespace spile::probes
