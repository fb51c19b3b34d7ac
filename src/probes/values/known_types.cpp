#include "probes/values/known_types.h"

namespace spile::probes {

bool plan_known_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail) {
  const std::string name = type.plain_name();
  return plan_cpp_type(planner, out, type, name, offset, detail) || plan_rust_type(planner, out, type, name, offset, detail) ||
         plan_go_type(planner, out, type, name, offset, detail);
}

bool is_known_pointer(const debuginfo::Type& type) {
  return type.kind() == debuginfo::TypeKind::kPointer && type.target().plain_name().starts_with("hash<");
}

}  // namespace spile::probes
