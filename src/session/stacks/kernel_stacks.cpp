#include "session/stacks/kernel_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/record.h"
#include "abi/stack_tables.h"
#include "base/clock.h"
#include "base/messages.h"
#include "sema/terms/intrinsics.h"
#include "session/stacks/stack_table.h"

namespace spile::session {

namespace {

constexpr uint64_t kAlignment = 64;

// Functions by which the kernel calls handlers of tracepoints: include/linux/tracepoint.h, include/trace/bpf_probe.h,
// kernel/trace/bpf_trace.c.
bool calls_handlers(std::string_view name) {
  return name.starts_with("__traceiter_") || name.starts_with("__bpf_trace_") || name.starts_with("bpf_trace_run");
}

std::vector<abi::CodeRange> handler_callers(const kernelinfo::CodeMap& code) {
  std::vector<abi::CodeRange> ranges;
  for (const auto& function : code.functions()) {
    if (!calls_handlers(function.name)) continue;
    if (!ranges.empty() && ranges.back().end == function.begin) ranges.back().end = function.end;
    else ranges.push_back({function.begin, function.end});
  }
  return ranges;
}

// A module's functions; offsets within the table count from the module's begin.
StackTable names_of(const kernelinfo::CodeMap& code, const kernelinfo::CodeMap::Module& module, size_t index) {
  StackTable table;
  table.header.path = table.header.name = table.text.add(module.name);
  table.header.build_id = table.text.add("");
  table.header.text_begin = module.begin;
  table.header.text_size = module.end - module.begin;
  for (const auto& function : code.functions()) {
    if (function.module != index) continue;
    table.symbols.push_back({table.offset_of(FileAddress(function.begin)), static_cast<uint32_t>(function.end - function.begin),
                             table.text.add(std::string(function.name))});
  }
  return table;
}

}  // namespace

Result<void> KernelStacks::read() {
  constexpr size_t kMostCodes = 8;
  looked_ns_ = monotonic_ns();
  modules_ = kernelinfo::without_users(kernelinfo::loaded_modules());
  TRY(kernelinfo::CodeMap code, kernelinfo::read_code_map());
  codes_.push_front(std::move(code));
  if (codes_.size() > kMostCodes) codes_.pop_back();
  return {};
}

// Returns an offset; 0: the memory is full.
uint64_t KernelStacks::allocate(uint64_t bytes) {
  const uint64_t at = (next_ + kAlignment - 1) / kAlignment * kAlignment;
  if (at > end_ || bytes > end_ - at) return 0;
  next_ = at + bytes;
  return at;
}

// Writes the names of functions, and returns the offset of their ModuleMap; 0: the memory is full.
uint64_t KernelStacks::place_names() {
  const kernelinfo::CodeMap& code = codes_.front();
  std::vector<abi::StackModule> modules;
  for (size_t i = 0; i < code.modules().size(); ++i) {
    const auto& module = code.modules()[i];
    uint64_t& at = names_[{module.name, module.begin, module.end}];
    // Another build of a module may be where the one before was.
    if (at == 0 || module.name != kernelinfo::kVmlinux) {
      const std::vector<uint8_t> names = names_of(code, module, i).bytes();
      if (at == 0 || names.size() > end_ - at || std::memcmp(arena_.data() + at, names.data(), names.size()) != 0) {
        at = allocate(names.size());
        if (at == 0) return 0;
        std::memcpy(arena_.data() + at, names.data(), names.size());
      }
    }
    modules.push_back({module.begin, module.end, 0, module.begin, module.end - module.begin, at});
  }
  std::ranges::sort(modules, {}, &abi::StackModule::begin);
  const uint64_t count = modules.size(), at = allocate(sizeof(abi::ModuleMap) + count * sizeof(abi::StackModule));
  if (at == 0) return 0;
  std::memcpy(arena_.data() + at, &count, sizeof count);
  std::memcpy(arena_.data() + at + sizeof(abi::ModuleMap), modules.data(), count * sizeof(abi::StackModule));
  return at;
}

Result<void> KernelStacks::fill(std::span<uint8_t> arena, const codegen::ArenaLayout& layout, uint32_t needs) {
  if (layout.kernel_code_size == 0) return {};
  TRY_DO(read());
  arena_ = arena;
  next_ = layout.kernel_code_offset;
  end_ = next_ + layout.kernel_code_size;
  const std::vector<abi::CodeRange> ranges = handler_callers(codes_.front());
  abi::KernelCodeTable table{0, ranges.size()};
  table_ = allocate(sizeof table + ranges.size() * sizeof(abi::CodeRange));
  bool has_room = table_ != 0;
  has_names_ = needs & sema::kNeedsKernelNames;
  if (has_room && has_names_) {
    table.module_map = place_names();
    has_room = table.module_map != 0;
  }
  if (!has_room) {
    return Error{fmt::format("the kernel's {} symbols take more than the {} MiB that handlers have for them",
                             codes_.front().functions().size(), layout.kernel_code_size >> 20),
                 "print addresses instead: print_syms(), print_stack() and print_backtrace() have names all the same"};
  }
  std::memcpy(arena.data() + table_, &table, sizeof table);
  if (!ranges.empty()) std::memcpy(arena.data() + table_ + sizeof table, ranges.data(), ranges.size() * sizeof(abi::CodeRange));
  return {};
}

// Handlers that run meanwhile use the names of before: what they read is not written to again.
void KernelStacks::renew() {
  if (codes_.empty()) return;
  looked_ns_ = monotonic_ns();
  if (kernelinfo::without_users(kernelinfo::loaded_modules()) == modules_ || !read() || !has_names_ || is_full_) return;
  const uint64_t module_map = place_names();
  if (module_map == 0) {
    is_full_ = true;
    warn("handlers have no room for the names of functions of modules that are loaded from now on: they are numbers",
         "run spile again, or use print_syms(), print_stack() and print_backtrace(), which have names all the same");
    return;
  }
  auto* table = reinterpret_cast<abi::KernelCodeTable*>(arena_.data() + table_);
  __atomic_store_n(&table->module_map, module_map, __ATOMIC_RELEASE);
}

KernelStacks::Found KernelStacks::find(uint64_t address) const {
  for (const kernelinfo::CodeMap& code : codes_) {
    if (const auto* module = code.module_at(address)) return {&code, code.function_at(address), module};
  }
  return {};
}

bool KernelStacks::is_of_kernel(uint64_t address) const {
  const auto* module = codes_.front().module_at(address);
  return module && module->name == kernelinfo::kVmlinux;
}

// A module may have been loaded since, also where another one was.
void KernelStacks::look_again(uint64_t address) {
  constexpr int64_t kOftenNs = 100'000'000;
  if (codes_.empty() && !refused_) {
    if (Result<void> outcome = read(); !outcome.ok()) {
      refused_ = true;
      warn(outcome.error().message, outcome.error().hint);
    }
  }
  if (codes_.empty() || is_of_kernel(address) || monotonic_ns() - looked_ns_ < kOftenNs) return;
  renew();
}

void KernelStacks::append_line(std::string& text, uint64_t address, uint64_t lookup) {
  look_again(lookup);
  const auto [code, function, module] = find(lookup);
  if (function) {
    text += fmt::format(" {:#x} : {}+{:#x}/{:#x} [{}]\n", address, function->name, address - function->begin,
                        function->end - function->begin, code->modules()[function->module].name);
  } else if (module) {
    text += fmt::format(" {:#x} [{}+{:#x}/{:#x}]\n", address, module->name, address - module->begin, module->end - module->begin);
  } else {
    text += fmt::format(" {:#x}\n", address);
  }
}

// The first address is the probed place, the others are return addresses.
std::string KernelStacks::backtrace_text(size_t count, runs::PayloadReader& payload) {
  std::string text;
  count = std::min<size_t>(count, abi::kMostFrames);
  for (size_t i = 0; i < count; ++i) {
    auto address = static_cast<uint64_t>(payload.next_long());
    append_line(text, address, address - (i ? 1 : 0));
  }
  return text.empty() ? "<no kernel backtrace>\n" : text;
}

std::string KernelStacks::symbols_text(runs::PayloadReader& payload) {
  std::string text;
  bool first = true;
  for (uint64_t address : runs::addresses_in(payload.next_string(), abi::kMostFrames)) {
    append_line(text, address, address - (std::exchange(first, false) ? 0 : 1));
  }
  return text;
}

}  // namespace spile::session
