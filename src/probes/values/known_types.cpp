#include "probes/values/known_types.h"

namespace spile::probes {

bool plan_known_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail) {
  const std::string name = type.plain_name();
  return plan_cpp_type(planner, out, type, name, offset, detail) || plan_rust_type(planner, out, type, name, offset, detail) ||
         plan_go_type(planner, out, type, name, offset, detail);
}

bool is_known_pointer(const debuginfo::Type& type) {
  if (type.kind() != debuginfo::TypeKind::kPointer) return false;
  const std::string name = type.target().plain_name();
  return name.starts_with("hash<") || name.starts_with("hchan<");
}

}  // namespace spile::probes
