#pragma once
// BTF for tests, put together record by record as linux/btf.h lays it out.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernelinfo/btf.h"

namespace spile::kernelinfo {

// Makes BTF: each function adds one record and returns its id.
class BtfMaker {
 public:
  explicit BtfMaker(uint32_t first_id = 1, uint32_t first_string = 0) : next_(first_id), first_string_(first_string) {
    strings_.push_back('\0');
  }

  uint32_t string(const std::string& text) {
    const auto at = static_cast<uint32_t>(strings_.size()) + first_string_;
    strings_.append(text.c_str(), text.size() + 1);
    return at;
  }
  uint32_t add(uint32_t kind, const std::string& name, uint32_t size_or_type, const std::vector<uint32_t>& tail = {},
               uint32_t count = 0, bool flag = false) {
    word(name.empty() ? 0 : string(name));
    word(kind << 24 | count | (flag ? 1u << 31 : 0));
    word(size_or_type);
    for (uint32_t each : tail) word(each);
    return next_++;
  }
  uint32_t integer(const std::string& name, uint32_t size, uint32_t encoding) {
    return add(1, name, size, {encoding << 24 | size * 8});
  }
  uint32_t pointer(uint32_t to) { return add(2, "", to); }
  uint32_t function(const std::string& name, uint32_t returned, const std::vector<std::pair<std::string, uint32_t>>& parameters) {
    std::vector<uint32_t> tail;
    for (const auto& [parameter, type] : parameters) tail.insert(tail.end(), {parameter.empty() ? 0 : string(parameter), type});
    const uint32_t prototype = add(13, "", returned, tail, static_cast<uint32_t>(parameters.size()));
    return add(12, name, prototype);
  }

  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> all(24);
    const uint32_t header[] = {0x0001eb9f,
                               24,
                               0,
                               static_cast<uint32_t>(types_.size()),
                               static_cast<uint32_t>(types_.size()),
                               static_cast<uint32_t>(strings_.size())};
    std::memcpy(all.data(), header, sizeof header);
    all.insert(all.end(), types_.begin(), types_.end());
    all.insert(all.end(), strings_.begin(), strings_.end());
    return all;
  }
  uint32_t next() const { return next_; }
  uint32_t strings() const { return static_cast<uint32_t>(strings_.size()); }

 private:
  void word(uint32_t value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    types_.insert(types_.end(), bytes, bytes + sizeof value);
  }
  uint32_t next_, first_string_;
  std::vector<uint8_t> types_;
  std::string strings_;
};

// struct file { int flags:3; int mode:5; unsigned long pos; char name[8]; struct file *next; const void *ops; }
// long vfs_read(struct file *file, char *buf, unsigned long count), int printk(const char *fmt, ...)
struct SampleBtf {
  BtfMaker maker;
  uint32_t file = 0;
  SampleBtf() {
    const uint32_t integer = maker.integer("int", 4, 1), length = maker.integer("long unsigned int", 8, 0),
                   letter = maker.integer("char", 1, 1);
    const uint32_t name = maker.add(3, "", 0, {letter, integer, 8});
    const uint32_t constant = maker.add(10, "", 0);
    const uint32_t ops = maker.pointer(constant);
    const uint32_t next = maker.next();
    file = next + 1;
    maker.pointer(file);
    maker.add(4, "file", 48,
              {maker.string("flags"), integer, 3u << 24 | 0, maker.string("mode"), integer, 5u << 24 | 3, maker.string("pos"),
               length, 64, maker.string("name"), name, 128, maker.string("next"), next, 192, maker.string("ops"), ops, 256},
              6, true);
    const uint32_t text = maker.pointer(letter);
    maker.function("vfs_read", maker.integer("long int", 8, 1), {{"file", next}, {"buf", text}, {"count", length}});
    maker.function("printk", integer, {{"fmt", text}, {"", 0}});
    maker.add(6, "color", 4, {maker.string("RED"), 0, maker.string("BLUE"), static_cast<uint32_t>(-2)}, 2, true);
    maker.add(19, "mask", 8, {maker.string("HIGH"), 0, 1}, 1);
    maker.add(7, "file", 0);
    maker.add(7, "hidden", 0);
    maker.add(14, "runqueues", file, {0});
  }
  std::shared_ptr<Btf> read() const { return Btf::read(maker.bytes(), "vmlinux").value(); }
};

}  // namespace spile::kernelinfo
