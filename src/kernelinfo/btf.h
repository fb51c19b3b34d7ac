#pragma once
// Reads BTF, the kernel's own description of its types and functions: https://docs.kernel.org/bpf/btf.html. The kernel offers
// that of vmlinux and of each module in /sys/kernel/btf. The types are handed out as debuginfo's, so that paths, loads and pretty
// printing treat them like those of DWARF.
//
// The bytes may be damaged: read() checks every record's bounds, and questions about ids or strings that are not there find
// kUnknown types and empty names. Thread rule: one thread at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "debuginfo/terms/type.h"
#include "debuginfo/terms/type_node.h"

namespace spile::kernelinfo {

class Btf final : public debuginfo::TypeSource, public std::enable_shared_from_this<Btf> {
 public:
  struct Parameter {
    std::string name;  // may be empty
    debuginfo::Type type;
  };
  struct Function {
    uint32_t id = 0;  // as bpf(2) takes it in attach_btf_id
    std::string name;
    debuginfo::Type returned;
    std::vector<Parameter> parameters;
    bool variadic = false;  // takes `...` behind the parameters
  };

  // Reads BTF from memory. base: of vmlinux, whose types and strings a module's BTF continues; null for vmlinux's own. name: for
  // errors. Errors: not BTF, a record or section that leaves the bytes, a kind of record that is not known (its length isn't,
  // either).
  static Result<std::shared_ptr<Btf>> read(std::vector<uint8_t> bytes, const std::string& name,
                                           std::shared_ptr<Btf> base = nullptr);

  // Returns the function of a name that this BTF itself (rather than its base) describes; nullopt: absent.
  std::optional<Function> function(std::string_view name);
  // Finds a type as C names it: "struct sock", "sock" (a struct, union, enum or typedef), "unsigned int"; in the base, too. A
  // declaration is found only if the definition is absent. nullopt: both are.
  std::optional<debuginfo::Type> type_named(std::string_view name);
  // Returns the type of a variable ("runqueues"): the kernel describes those that exist once for each CPU. nullopt: not
  // described.
  std::optional<debuginfo::Type> variable(std::string_view name);
  // Returns the enum that has a constant of this name; nullopt: absent.
  std::optional<debuginfo::Type> enum_with(std::string_view constant);
  // Returns names of structs, unions, enums and typedefs, for did-you-mean.
  std::vector<std::string> type_names() const;

  // Returns the type of debuginfo's id, as Type::id() gave it.
  debuginfo::Type type_with_id(uint64_t id) { return {shared_from_this(), id}; }

  const debuginfo::TypeNode& type_node(uint64_t id) override;
  uint64_t type_definition(uint64_t id) override;

 private:
  struct Record;
  Btf() = default;
  Result<void> index(const std::string& name);
  Record record(uint32_t id) const;  // of kind 0 for ids that are not there
  std::string_view string(uint32_t offset) const;
  uint32_t word(size_t offset) const;
  uint32_t end_id() const { return first_id_ + static_cast<uint32_t>(offsets_.size()); }
  std::optional<uint32_t> find_function(std::string_view name);
  std::optional<uint32_t> find_kind(uint32_t kind, std::string_view name) const;
  debuginfo::TypeNode make_node(uint32_t id) const;
  debuginfo::Type type(uint32_t id);

  std::vector<uint8_t> bytes_;
  std::shared_ptr<Btf> base_;
  uint32_t first_id_ = 1, first_string_ = 0;
  size_t strings_ = 0, strings_size_ = 0;                     // in bytes_
  std::vector<uint32_t> offsets_;                             // of records in bytes_, by id - first_id_
  std::unordered_map<uint64_t, debuginfo::TypeNode> nodes_;   // by debuginfo's id
  std::unordered_map<std::string_view, uint32_t> functions_;  // filled in when the scans for single ones would cost more
  int scans_ = 0;
};

}  // namespace spile::kernelinfo
