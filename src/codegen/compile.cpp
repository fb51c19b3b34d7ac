// Passes 3 and 4 on one page. Every place where the script runs gets a module of its own: the runtime's bitcode, and the
// script's bodies lowered into it.

#include <chrono>

#include "codegen/backend.h"
#include "codegen/flatten.h"
#include "codegen/lower_native.h"
#include "codegen/native_places.h"

namespace spile::codegen {

namespace {

class Compiler {
 public:
  Compiler(const sema::Program& program, const Options& options) : program_(program), options_(options) {}
  Result<Compiled> run();

 private:
  Result<void> compile_controller();
  Result<void> compile_target();
  // Lowers with `lower`, then optimises, emits and flattens; an empty object with emit_ir_only.
  template <typename Lower>
  Result<FlatObject> compile_native(const std::string& name, Place& place, Lower&& lower);
  void define_constants(ScriptModule& module, bool in_controller);
  template <typename F>
  auto timed(const std::string& name, F&& f);
  bool has_domain(sema::Domain domain) const {
    return std::any_of(program_.probes.begin(), program_.probes.end(), [&](auto& p) { return p.domain == domain; });
  }

  const sema::Program& program_;
  const Options& options_;
  Layout layout_;
  Tables tables_;
  Compiled compiled_;
};

template <typename F>
auto Compiler::timed(const std::string& name, F&& f) {
  auto begin = std::chrono::steady_clock::now();
  auto result = f();
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  compiled_.timings.push_back({name, us.count()});
  return result;
}

void Compiler::define_constants(ScriptModule& module, bool in_controller) {
  const ArenaLayout& arena = layout_.arena;
  module.define_constant("spile_rt_string_size", layout_.string_size);
  module.define_constant("spile_rt_in_controller", in_controller);
  module.define_constant("spile_rt_shards_offset", arena.shards_offset);
  module.define_constant("spile_rt_epoch_stride", layout_.epoch_stride);
  module.define_constant("spile_rt_shadow_offset", arena.shadow_offset);
  module.define_constant("spile_rt_shadow_stride", arena.shadow_stride);
  module.define_constant("spile_rt_shadow_capacity", arena.shadow_capacity);
  module.define_constant("spile_rt_scratch_offset", arena.scratch_offset);
  module.define_constant("spile_rt_scratch_size", arena.scratch_size);
  module.define_constant("spile_rt_ring_offset", arena.ring_offset);
  module.define_constant("spile_rt_ring_size", arena.ring_size);
  module.cells();
}

template <typename Lower>
Result<FlatObject> Compiler::compile_native(const std::string& name, Place& place, Lower&& lower) {
  TRY(auto module, ScriptModule::create(name, options_.native_bitcode));
  define_constants(*module, place.domain() == sema::Domain::kController);
  if (place.domain() == sema::Domain::kTarget) module->module().setOverrideStackAlignment(8);
  Result<void> lowered = timed("lower " + name, [&]() -> Result<void> {
    Unit unit(program_, layout_, tables_, *module, place);
    lower(unit);
    unit.lower_functions();
    if (unit.refusal()) return *unit.refusal();
    return module->finish();
  });
  TRY_DO(std::move(lowered));
  if (options_.print_after == "lower-" + name) llvm::outs() << module->print();
  if (options_.emit_ir_only) {
    compiled_.ir += "; " + name + "\n" + module->print();
    return FlatObject{};
  }
  TRY_DO(timed("optimise " + name, [&] { return optimise(*module, Machine::kX86, options_.optimisation); }));
  if (options_.print_after == "optimise-" + name) llvm::outs() << module->print();
  TRY(auto object, timed("emit " + name, [&] { return emit_object(*module, Machine::kX86, options_.optimisation); }));
  return flatten({object.data(), object.size()});
}

Result<void> Compiler::compile_controller() {
  ControllerPlace place;
  TRY(FlatObject flat, compile_native("controller", place, [](Unit& unit) { lower_controller(unit); }));
  ControllerCode& code = compiled_.script.controller;
  code.init = flat.symbols["init"];
  code.merge = flat.symbols["merge"];
  code.global_clear = flat.symbols["global_clear"];
  code.global_put = flat.symbols["global_put"];
  code.global_next = flat.symbols["global_next"];
  for (const sema::Probe& probe : program_.probes) {
    code.probes.push_back(flat.symbols["probe." + std::to_string(probe.index)]);
  }
  code.image = std::move(flat.image);
  return {};
}

Result<void> Compiler::compile_target() {
  TargetPlace place;
  std::vector<TargetHandler> handlers;
  TRY(FlatObject flat, compile_native("target", place, [&](Unit& unit) { handlers = lower_target_handlers(unit); }));
  TargetCode& code = compiled_.script.target;
  for (const TargetHandler& handler : handlers) {
    code.groups.push_back({flat.symbols[handler.enter], handler.exit.empty() ? 0 : flat.symbols[handler.exit], handler.flags});
  }
  code.unwind = flat.symbols["unwind"];
  code.image = std::move(flat.image);
  return {};
}

Result<Compiled> Compiler::run() {
  TRY(layout_, make_layout(program_, options_.layout));
  TRY_DO(compile_controller());
  if (has_domain(sema::Domain::kTarget)) TRY_DO(compile_target());
  compiled_.script.layout = layout_.arena;
  compiled_.script.formats = std::move(tables_.formats);
  compiled_.script.errors = std::move(tables_.errors);
  return std::move(compiled_);
}

}  // namespace

Result<Compiled> compile(const sema::Program& program, const Options& options) {
  return Compiler(program, options).run();
}

}  // namespace spile::codegen
