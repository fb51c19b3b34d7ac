// Passes 3 and 4 on one page. Every place where the script runs gets a module of its own: the runtime's bitcode, and the
// script's bodies lowered into it.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include "abi/record.h"
#include "base/processes/threads.h"
#include "codegen/bodies/lowering.h"
#include "codegen/bodies/native_places.h"
#include "codegen/ebpf/loadable.h"
#include "codegen/ebpf/lower_arena.h"
#include "codegen/kernel/lower_kernel.h"
#include "codegen/machine/backend.h"
#include "codegen/machine/confine.h"
#include "codegen/machine/flatten.h"
#include "codegen/machine/object_cache.h"
#include "codegen/process/lower_native.h"

namespace spile::codegen {

namespace {

// The module of one place, from lowering to the object. Jobs of different places run at the same time.
struct Job {
  std::string name;
  Machine machine = Machine::kNative;
  std::unique_ptr<ScriptModule> module;
  std::vector<sema::PassTiming> timings;  // of pass 4: jobs run at the same time
  FlatObject flat;                        // kNative
  std::string object;
  std::optional<Error> error;
  bool has_embedded = false;  // C code of a guru
  bool keeps_values = false;  // as CodeImage::keeps_values, asks_of_others
  bool asks_of_others = false;
  bool is_complete = false;  // complete_module() was called
  bool from_cache = false;
};

class Compiler : public Translation {
 public:
  Compiler(const sema::Program& program, const Options& options) : program_(program), options_(options), own_text_(program) {
    target_.name = "target";
    controller_.name = "controller";
    kernel_.name = "kernel";
    kernel_.machine = Machine::kBpf;
  }
  // Pass 3.
  Result<void> translate();

  Result<std::string> ir() override;
  const std::vector<sema::PassTiming>& timings() const override { return timings_; }
  Result<Compiled> build() override;

 private:
  // Makes the job's module: the runtime, with the script lowered into it by `lower`.
  template <typename Lower>
  Result<void> lower_place(Job& job, const Layout& layout, std::span<const unsigned char> bitcode, Place& place, Lower&& lower);
  Result<void> embed_code(Job& job, Unit& unit, bool in_controller);
  Result<void> complete_module(Job& job);
  void print_after(const char* step, const Job& job) const;
  Result<void> report(const Diagnostics& refusals);
  Result<void> lower_kernel_place(Job& job);
  Result<void> lower_arena_place(Job& job);
  bool runs_long() const;
  int effort(const Job& job) const;
  LoadableOptions loadable_options() const;
  std::string cache_key(const Job& job) const;
  // Of CompiledScript::hit_counters.
  uint32_t hit_counter_of(const sema::Probe& probe) const;
  std::string why_over_maps() const;
  Error with_largest_handler(Error error, const llvm::Module& module) const;
  Result<void> build_job(Job& job);
  Result<void> flatten_job(Job& job) const;
  Result<void> build_all(std::vector<Job*> jobs);
  void define_constants(ScriptModule& module, const Layout& layout, bool in_controller);
  // Of handlers in the kernel over an arena.
  const Layout& kernel_layout() const { return layouts_.kernel ? *layouts_.kernel : layouts_.main; }
  void fill_controller(Job& job);
  void fill_target(Job& job, const std::vector<TargetHandler>& handlers);
  bool has_domain(sema::Domain domain) const {
    return std::any_of(program_.probes.begin(), program_.probes.end(), [&](auto& p) { return p.domain == domain; });
  }

  const sema::Program& program_;
  const Options options_;
  sema::OwnText own_text_;
  Layouts layouts_;
  Tables tables_;
  Job target_, controller_, kernel_;  // without a module: the script does not run there
  std::vector<TargetHandler> handlers_;
  std::vector<sema::PassTiming> timings_;
  Compiled compiled_;
};

Error too_large_error() {
  return {"a handler is too large for the kernel", "split the probe, or do a part of it in a timer or end probe"};
}

template <typename F>
auto timed(std::vector<sema::PassTiming>& timings, const std::string& name, F&& f) {
  auto begin = std::chrono::steady_clock::now();
  auto result = f();
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  timings.push_back({name, us.count()});
  return result;
}

void Compiler::define_constants(ScriptModule& module, const Layout& layout, bool in_controller) {
  const ArenaLayout& arena = layout.arena;
  // spile's handlers see that of handlers in the kernel behind theirs.
  const uint64_t size = in_controller && arena.kernel_offset ? arena.kernel_offset + kernel_layout().arena.size : arena.size;
  const uint64_t kernel_code = in_controller && arena.kernel_offset && kernel_layout().arena.kernel_code_offset
                                   ? arena.kernel_offset + kernel_layout().arena.kernel_code_offset
                                   : arena.kernel_code_offset;
  module.define_constant("spile_rt_string_size", layout.string_limit);
  module.define_constant("spile_rt_in_controller", in_controller);
  module.define_constant("spile_rt_arena_pages", static_cast<uint32_t>(size / abi::kPageSize));
  module.define_constant("spile_rt_slots_page", static_cast<uint32_t>(arena.slots_offset / abi::kPageSize));
  module.define_constant("spile_rt_slot_stride", static_cast<uint32_t>(arena.slot_stride));
  module.define_constant("spile_rt_slot_count", arena.slot_count);
  module.define_constant("spile_rt_shards_offset", arena.shards_offset);
  module.define_constant("spile_rt_epoch_stride", layout.epoch_stride);
  module.define_constant("spile_rt_shadow_offset", arena.shadow_offset);
  module.define_constant("spile_rt_shadow_stride", arena.shadow_stride);
  module.define_constant("spile_rt_shadow_capacity", arena.shadow_capacity);
  module.define_constant("spile_rt_frames_page", static_cast<uint32_t>(arena.frames_offset / abi::kPageSize));
  module.define_constant("spile_rt_entries_page", static_cast<uint32_t>(arena.entries_offset / abi::kPageSize));
  module.define_constant("spile_rt_entry_registers", static_cast<uint32_t>(program_.sites.kept_registers().size()));
  module.define_constant("spile_rt_scratch_offset", arena.scratch_offset);
  module.define_constant("spile_rt_scratch_size", arena.scratch_size);
  module.define_constant("spile_rt_ring_offset", arena.ring_offset);
  module.define_constant("spile_rt_ring_size", arena.ring_size);
  module.define_constant("spile_rt_record_owner_size", arena.record_owner_size);
  module.define_constant("spile_rt_calls_offset", arena.calls_offset);
  module.define_constant("spile_rt_calls_capacity", arena.calls_capacity);
  module.define_constant("spile_rt_kernel_frame_offset", arena.kernel_frame_offset);
  module.define_constant("spile_rt_shared_size", static_cast<uint32_t>(layouts_.main.arena.shared_size));
  module.define_constant("spile_rt_kernel_code_page", static_cast<uint32_t>(kernel_code / abi::kPageSize));
  module.define_constant("spile_rt_processes_page", static_cast<uint32_t>(arena.processes_offset / abi::kPageSize));
  module.define_constant("spile_rt_max_backtrace", static_cast<uint32_t>(program_.limits.max_backtrace));
}

template <typename Lower>
Result<void> Compiler::lower_place(Job& job, const Layout& layout, std::span<const unsigned char> bitcode, Place& place,
                                   Lower&& lower) {
  TRY(job.module, ScriptModule::create(job.name, bitcode));
  define_constants(*job.module, layout, place.is_controller());
  if (job.machine == Machine::kNative) job.module->cells();
  if (unsigned alignment = place.stack_alignment()) job.module->module().setOverrideStackAlignment(alignment);
  Unit unit(program_, layout, tables_, *job.module, place);
  if (layouts_.kernel) unit.kernel_layout = &*layouts_.kernel;
  unit.over_maps = has_domain(sema::Domain::kKernel) && kernel_layout().arena.kernel_slots == 0;
  unit.own_text = &own_text_;
  if (job.machine == Machine::kArenaBpf) unit.lines.emplace(job.module->module());
  unit.untrusted_target = options_.untrusted_target;
  TRY_DO(timed(timings_, "lower-" + job.name, [&]() -> Result<void> {
    lower(unit);
    lower_functions(unit);
    return report(unit.refusals());
  }));
  return embed_code(job, unit, place.is_controller());
}

// Compiles the script's C code and links it. Code at the top level is compiled once at least, whether something calls it or not.
Result<void> Compiler::embed_code(Job& job, Unit& unit, bool in_controller) {
  const auto& top_level = program_.scripts.front().embedded;
  if (unit.embedded.empty() && (!in_controller || top_level.empty())) return {};
  job.has_embedded = true;
  for (uint32_t kind : {abi::kText, abi::kWarning, abi::kErrorText}) unit.note_record(kind);
  return timed(timings_, "embed-" + job.name,
               [&] { return unit.embedded.link(*job.module, top_level, program_.c_definitions, layouts_.main.string_limit); });
}

// Adds what the job needs of the runtime, once. It takes as long as all of pass 3, so an object from the cache does without.
Result<void> Compiler::complete_module(Job& job) {
  if (job.is_complete) return {};
  job.is_complete = true;
  TRY_DO(timed(job.timings, "link-" + job.name, [&] { return job.module->finish(); }));
  if (job.machine == Machine::kBpf) {
    if (too_large_program(job.module->module())) return with_largest_handler(too_large_error(), job.module->module());
    prepare_for_kernel(*job.module);
  }
  print_after("lower-", job);
  return {};
}

void Compiler::print_after(const char* step, const Job& job) const {
  if (options_.print_after == step + job.name) llvm::outs() << job.module->print();
}

// Says why a script runs over the kernel's maps on a kernel that has arenas.
std::string Compiler::why_over_maps() const {
  constexpr uint64_t kMiB = 1 << 20;
  return fmt::format(
      "this needs smaller arrays or strings (global a[N], -D MAXMAPENTRIES=N, -D MAXSTRINGLEN=N): on all processors together "
      "they take {} MiB, and "
      "may take {} MiB",
      layouts_.memory_wanted / kMiB, options_.layout.kernel_memory / kMiB);
}

Result<void> Compiler::report(const Diagnostics& refusals) {
  if (!refusals.has_errors()) return {};
  if (layouts_.memory_wanted > 0) {
    if (options_.diagnostics) {
      for (const Diagnostic& refusal : refusals.all())
        options_.diagnostics->error(refusal.range, refusal.message).hint(why_over_maps());
    }
    return Error{refusals.all().front().message, why_over_maps()};
  }
  if (options_.diagnostics) {
    for (const Diagnostic& refusal : refusals.all())
      options_.diagnostics->error(refusal.range, refusal.message).hint(refusal.hint_text);
  }
  const Diagnostic& first = refusals.all().front();
  std::string place = first.range.to_string();
  return Error{place.empty() ? first.message : place + ": " + first.message, first.hint_text};
}

// The kernel's module has a layout of its own: its globals are maps.
Result<void> Compiler::lower_kernel_place(Job& job) {
  auto made = make_kernel_layout(program_);
  if (!made.ok()) return layouts_.memory_wanted > 0 ? Error{made.error().message, why_over_maps()} : std::move(made).error();
  Layout layout = std::move(made).value();
  TRY(job.module, ScriptModule::create(job.name, options_.kernel_maps_bitcode));
  job.module->define_constant("spile_rt_string_size", layout.string_limit);
  job.module->define_constant("spile_rt_record_owner_size", layouts_.main.arena.record_owner_size);
  KernelPlace place;
  Unit unit(program_, layout, tables_, *job.module, place);
  unit.over_maps = true;
  unit.own_text = &own_text_;
  unit.lines.emplace(job.module->module());
  // Probes that are refused are lowered all the same: all refusals are reported together.
  timed(timings_, "refuse-for-kernel", [&] { return refuse_for_kernel(unit, false), true; });
  TRY_DO(timed(timings_, "lower-" + job.name, [&]() -> Result<void> {
    compiled_.script.kernel = lower_kernel(unit, place);
    return report(unit.refusals());
  }));
  if (!unit.loops.empty()) outline_loops(job.module->module(), unit.loops, map_symbol(*job.module, abi::kKernelTurnsMap));
  return {};
}

Result<void> Compiler::lower_arena_place(Job& job) {
  job.machine = Machine::kArenaBpf;
  ArenaKernelPlace place;
  return lower_place(job, kernel_layout(), options_.kernel_bitcode, place, [&](Unit& unit) {
    // The object depends on it, so its name in the cache has to.
    job.module->module().addModuleFlag(llvm::Module::Warning, "spile-arena-pages",
                                       static_cast<uint32_t>(kernel_layout().arena.size / abi::kPageSize));
    refuse_for_kernel(unit, true);
    compiled_.script.kernel = lower_arena_handlers(unit, place);
    if (layouts_.main.arena.shared_size > 0) keep_shared_accesses(*job.module);
    compiled_.script.kernel.arena = kernel_layout().arena;
    compiled_.script.kernel.copies = layouts_.copies;
  });
}

// Says of an error that a handler in the kernel is too large, which has no place, where the largest one is.
Error Compiler::with_largest_handler(Error error, const llvm::Module& module) const {
  const llvm::Function* largest = nullptr;
  for (const llvm::Function& function : module) {
    const bool is_handler = function.hasFnAttribute(kBodyAttribute) || function.getName().starts_with("run.");
    if (is_handler && (!largest || function.getInstructionCount() > largest->getInstructionCount())) largest = &function;
  }
  const auto& programs = compiled_.script.kernel.programs;
  auto program = std::ranges::find_if(programs, [&](const KernelProgram& each) {
    return largest && (largest->getName().ends_with("body." + each.section) || largest->getName() == "run." + each.section);
  });
  if (program == programs.end() || program->probe < 0) return error;
  return std::move(error).within(program_.probes[static_cast<size_t>(program->probe)].range.to_string());
}

// Whether handlers in spile itself may do more than their budget of actions usually lets them.
bool Compiler::runs_long() const {
  constexpr int64_t kManyActions = 100'000;
  return program_.limits.max_action > kManyActions || program_.limits.max_action_interruptible > kManyActions;
}

LoadableOptions Compiler::loadable_options() const {
  return {.constants_offset = kernel_layout().arena.constants_offset,
          .deepest = static_cast<uint32_t>(program_.limits.max_nesting),
          .shares = layouts_.main.arena.shared_size > 0};
}

// Of the module, and of what build_job() makes of it that the module does not show.
std::string Compiler::cache_key(const Job& job) const {
  const LoadableOptions loadable = loadable_options();
  return module_key(*job.module, job.machine,
                    fmt::format("{} {} {} {} {} {}", options_.optimization, runs_long(), job.has_embedded,
                                loadable.constants_offset, loadable.deepest, loadable.shares));
}

// The optimizer pays where code runs often. What runs in the controller can't, as far as its budget of actions goes.
int Compiler::effort(const Job& job) const {
  // eBPF never without the optimizer: the verifier needs registers where unoptimized code has memory.
  if (job.machine != Machine::kNative) return std::max(options_.optimization, 2);
  constexpr unsigned kMuchCode = 5'600;  // instructions before inlining; about half a second of full optimization
  bool is_hot = job.name == "target" || runs_long();
  const unsigned size = job.module->module().getInstructionCount();
  unsigned largest = 0;
  for (const llvm::Function& function : job.module->module()) largest = std::max(largest, function.getInstructionCount());
  if (options_.optimization != 2 || (is_hot && size <= kMuchCode)) return options_.optimization;
  if (job.name != "target") return kQuick;
  // Code made quickly has a stack slot for every value, and a handler in a process is on somebody else's stack, where it may
  // use 32 KiB (engine's check_handlers). A function of kMuchCode instructions takes up to 12 of them; of four times as many,
  // on little stack, 8.
  if (largest <= kMuchCode) return kQuick;
  return largest <= 4 * kMuchCode ? kQuickOnLittleStack : options_.optimization;
}

// Functions of the runtime that keep the controller's answers, which a thread may change by a call.
constexpr const char* kKeeping[] = {"spile_rt_execname", "spile_rt_uid", "spile_fn_euid", "spile_fn_gid", "spile_fn_egid"};
// Functions of the runtime that ask the controller about processes of the script's choice.
constexpr const char* kOfOthers[] = {"spile_fn_pid2execname", "spile_fn___process_number", "spile_fn___parent_of"};

// Returns whether the script calls one of these functions.
bool calls_any(const llvm::Module& script, std::span<const char* const> functions) {
  return std::ranges::any_of(functions, [&script](const char* name) {
    const llvm::Function* function = script.getFunction(name);
    return function && !function->use_empty();
  });
}

Result<void> Compiler::build_job(Job& job) {
  job.keeps_values = calls_any(job.module->module(), kKeeping);
  job.asks_of_others = calls_any(job.module->module(), kOfOthers);
  // A module that is printed on the way to its object has to be made.
  ObjectCache cache(options_.print_after.empty() ? options_.cache_directory : std::string());
  std::string key;
  job.from_cache = timed(job.timings, "find-" + job.name, [&] {
    if (!cache.is_used()) return false;
    key = cache_key(job);
    auto found = cache.find(key);
    if (found) job.object = std::move(*found);
    return found && flatten_job(job).ok();
  });
  if (job.from_cache) return {};
  TRY_DO(complete_module(job));
  const int level = effort(job);
  if (job.machine == Machine::kArenaBpf) limit_inlining(*job.module);
  TRY_DO(timed(job.timings, "optimize-" + job.name, [&] { return optimize(*job.module, job.machine, level); }));
  // C code of a guru is free to reach what it likes.
  if (job.name == "controller" && !job.has_embedded) {
    timed(job.timings, "confine-" + job.name, [&] { return confine_accesses(*job.module), true; });
  }
  if (job.machine == Machine::kArenaBpf) {
    auto fitted = timed(job.timings, "fit-" + job.name, [&] { return make_loadable(*job.module, loadable_options()); });
    if (!fitted.ok()) return with_largest_handler(std::move(fitted).error(), job.module->module());
  }
  if (job.machine == Machine::kBpf) {
    // Jumps reach 32,768 instructions there, and the code generator ends the program where one would have to reach further: with
    // 36,000 of LLVM's in a handler that makes strings, others have 80,000.
    constexpr unsigned kLargestProgram = 30'000;
    for (const llvm::Function& function : job.module->module()) {
      if (function.getInstructionCount() <= kLargestProgram) continue;
      return with_largest_handler(too_large_error(), job.module->module());
    }
  }
  if (job.machine != Machine::kNative) settle_lines(job.module->module());
  print_after("optimize-", job);
  auto object = timed(job.timings, "emit-" + job.name, [&] { return emit_object(*job.module, job.machine, level); });
  if (!object.ok())
    return job.machine == Machine::kArenaBpf ? with_largest_handler(std::move(object).error(), job.module->module())
                                             : std::move(object).error();
  job.object = std::move(object).value();
  TRY_DO(timed(job.timings, "flatten-" + job.name, [&] { return flatten_job(job); }));
  cache.keep(key, job.object);
  return {};
}

Result<void> Compiler::flatten_job(Job& job) const {
  if (job.machine != Machine::kNative) return {};
  TRY(job.flat, flatten(job.object));
  job.flat.image.guru = program_.guru;
  job.flat.image.unchecked = job.has_embedded;
  job.flat.image.keeps_values = job.keeps_values;
  job.flat.image.asks_of_others = job.asks_of_others;
  return {};
}

// Every module has an LLVM context of its own, so that they can be built at once: the first one here.
Result<void> Compiler::build_all(std::vector<Job*> jobs) {
  auto run = [this](Job* job) {
    if (Result<void> built = build_job(*job); !built.ok()) job->error = built.error();
  };
  std::vector<std::thread> others;
  std::vector<Job*> own = {jobs[0]};
  for (size_t i = 1; i < jobs.size(); ++i) {
    std::thread other;
    if (try_to_start(other, run, jobs[i])) others.push_back(std::move(other));
    else own.push_back(jobs[i]);
  }
  std::ranges::for_each(own, run);
  for (std::thread& other : others) other.join();
  compiled_.from_cache = true;
  for (Job* job : jobs) {
    compiled_.from_cache &= job->from_cache;
    compiled_.timings.insert(compiled_.timings.end(), job->timings.begin(), job->timings.end());
    if (job->error) return *job->error;
  }
  return {};
}

void Compiler::fill_controller(Job& job) {
  auto& symbols = job.flat.symbols;
  ControllerCode& code = compiled_.script.controller;
  code.init = symbols["init"];
  code.merge = symbols["merge"];
  code.walk_stack = symbols["walk_stack"];
  code.global_clear = symbols["global_clear"];
  code.global_put = symbols["global_put"];
  code.global_add = symbols["global_add"];
  code.global_next = symbols["global_next"];
  for (const sema::Probe& probe : program_.probes) {
    code.probes.push_back(symbols["probe." + std::to_string(probe.index)]);
    code.conditions.push_back(symbols["condition." + std::to_string(probe.index)]);
  }
  code.image = std::move(job.flat.image);
}

void Compiler::fill_target(Job& job, const std::vector<TargetHandler>& handlers) {
  auto& symbols = job.flat.symbols;
  TargetCode& code = compiled_.script.target;
  for (const TargetHandler& handler : handlers) {
    auto offset = [&](const std::string& name) { return name.empty() ? 0 : symbols[name]; };
    code.groups.push_back({offset(handler.enter), offset(handler.exit), offset(handler.entry), handler.flags});
  }
  code.unwind = symbols["unwind"];
  code.walked = symbols["walked"];
  code.landing = symbols["landing"];
  code.caught = symbols["caught"];
  code.step_enter = symbols["step.enter"];
  code.step_exit = symbols["step.exit"];
  code.keep_entry = symbols["keep_entry"];
  code.keep_entry_flags = keep_entry_flags(program_);
  code.call_enter = symbols["call_enter"];
  for (size_t i = 0; i < program_.site_groups.size(); ++i) {
    if (program_.site_groups[i].system_call == sema::SiteGroup::kCall) code.call_enter = code.groups[i].enter;
    if (program_.site_groups[i].system_call == sema::SiteGroup::kReturnOfCall) code.call_exit = code.groups[i].enter;
  }
  code.image = std::move(job.flat.image);
}

Result<void> Compiler::translate() {
  TRY(layouts_, timed(timings_, "layout", [&] { return layouts_of(program_, options_.layout); }));
  initialize_machines();
  if (has_domain(sema::Domain::kTarget)) {
    TargetPlace place;
    TRY_DO(lower_place(target_, layouts_.main, options_.process_bitcode, place,
                       [&](Unit& unit) { handlers_ = lower_target_handlers(unit); }));
  }
  if (has_domain(sema::Domain::kKernel))
    TRY_DO(kernel_layout().arena.kernel_slots > 0 ? lower_arena_place(kernel_) : lower_kernel_place(kernel_));
  ControllerPlace place;
  return lower_place(controller_, layouts_.main, options_.process_bitcode, place, [](Unit& unit) { lower_controller(unit); });
}

Result<std::string> Compiler::ir() {
  std::string text;
  for (Job* job : {&target_, &kernel_, &controller_}) {
    if (!job->module) continue;
    TRY_DO(complete_module(*job));
    text += "; " + job->name + "\n" + job->module->print();
  }
  return text;
}

uint32_t Compiler::hit_counter_of(const sema::Probe& probe) const {
  if (probe.hit_counter < 0 || program_.sharing[static_cast<size_t>(probe.hit_counter)] != sema::Sharing::kSharded) return 0;
  const Layout& layout = layouts_.main;
  return layout.arena.shards_offset + static_cast<uint32_t>(layout.globals[static_cast<size_t>(probe.hit_counter)].shard);
}

Result<Compiled> Compiler::build() {
  std::vector<Job*> jobs;
  for (Job* job : {&target_, &kernel_, &controller_}) {
    if (job->module) jobs.push_back(job);
  }
  TRY_DO(build_all(jobs));
  if (target_.module) fill_target(target_, handlers_);
  fill_controller(controller_);
  CompiledScript& script = compiled_.script;
  script.kernel.object.assign(kernel_.object.begin(), kernel_.object.end());
  script.layout = layouts_.main.arena;
  script.formats = std::move(tables_.formats);
  script.errors = std::move(tables_.errors);
  script.literals.insert(own_text_.literals().begin(), own_text_.literals().end());
  script.commands = std::move(tables_.commands);
  script.target_records = tables_.target_records;
  script.string_limit = layouts_.main.string_limit;
  for (const sema::Probe& probe : program_.probes) script.hit_counters.push_back(hit_counter_of(probe));
  return std::move(compiled_);
}

}  // namespace

Result<std::unique_ptr<Translation>> translate(const sema::Program& program, const Options& options) {
  auto compiler = std::make_unique<Compiler>(program, options);
  TRY_DO(compiler->translate());
  return std::unique_ptr<Translation>(std::move(compiler));
}

Result<Compiled> compile(const sema::Program& program, const Options& options) {
  TRY(std::unique_ptr<Translation> translation, translate(program, options));
  std::vector<sema::PassTiming> timings = translation->timings();
  TRY(Compiled compiled, translation->build());
  compiled.timings.insert(compiled.timings.begin(), timings.begin(), timings.end());
  return compiled;
}

}  // namespace spile::codegen
