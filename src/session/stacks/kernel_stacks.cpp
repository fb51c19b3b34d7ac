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
  TRY(code_, kernelinfo::read_code_map());
  modules_ = kernelinfo::loaded_modules();
  looked_ns_ = monotonic_ns();
  return {};
}

Result<void> KernelStacks::fill(std::span<uint8_t> arena, const codegen::ArenaLayout& layout, uint32_t needs) {
  if (layout.kernel_code_size == 0) return {};
  TRY_DO(read());
  uint64_t next = layout.kernel_code_offset;
  const uint64_t end = next + layout.kernel_code_size;
  auto allocate = [&](uint64_t bytes) -> uint64_t {
    uint64_t at = (next + kAlignment - 1) / kAlignment * kAlignment;
    if (at > end || bytes > end - at) return 0;
    next = at + bytes;
    return at;
  };
  const std::vector<abi::CodeRange> ranges = handler_callers(*code_);
  abi::KernelCodeTable table{0, ranges.size()};
  const uint64_t place = allocate(sizeof table + ranges.size() * sizeof(abi::CodeRange));
  bool has_room = place != 0;
  if (has_room && needs & sema::kNeedsKernelNames) {
    std::vector<abi::StackModule> modules;
    for (size_t i = 0; i < code_->modules().size(); ++i) {
      const auto& module = code_->modules()[i];
      const std::vector<uint8_t> names = names_of(*code_, module, i).bytes();
      const uint64_t at = allocate(names.size());
      has_room &= at != 0;
      if (at != 0) std::memcpy(arena.data() + at, names.data(), names.size());
      modules.push_back({module.begin, module.end, 0, module.begin, module.end - module.begin, at});
    }
    std::ranges::sort(modules, {}, &abi::StackModule::begin);
    table.module_map = allocate(sizeof(abi::ModuleMap) + modules.size() * sizeof(abi::StackModule));
    has_room &= table.module_map != 0;
    if (has_room) {
      const uint64_t count = modules.size();
      std::memcpy(arena.data() + table.module_map, &count, sizeof count);
      std::memcpy(arena.data() + table.module_map + sizeof(abi::ModuleMap), modules.data(),
                  modules.size() * sizeof(abi::StackModule));
    }
  }
  if (!has_room) {
    return Error{fmt::format("the kernel's {} symbols take more than the {} MiB that handlers have for them",
                             code_->functions().size(), layout.kernel_code_size >> 20),
                 "print addresses instead: print_syms(), print_stack() and print_backtrace() have names all the same"};
  }
  std::memcpy(arena.data() + place, &table, sizeof table);
  if (!ranges.empty()) std::memcpy(arena.data() + place + sizeof table, ranges.data(), ranges.size() * sizeof(abi::CodeRange));
  return {};
}

// A module may have been loaded since.
void KernelStacks::look_again(uint64_t address) {
  constexpr int64_t kOftenNs = 1'000'000'000;
  if (!code_ && !refused_) {
    if (Result<void> outcome = read(); !outcome.ok()) {
      refused_ = true;
      warn(outcome.error().message, outcome.error().hint);
    }
  }
  if (!code_ || code_->module_at(address) || monotonic_ns() - looked_ns_ < kOftenNs) return;
  looked_ns_ = monotonic_ns();
  if (kernelinfo::loaded_modules() != modules_) (void)read();
}

void KernelStacks::append_line(std::string& text, uint64_t address, uint64_t lookup) {
  look_again(lookup);
  const auto* function = code_ ? code_->function_at(lookup) : nullptr;
  const auto* module = code_ ? code_->module_at(lookup) : nullptr;
  if (function) {
    text += fmt::format(" {:#x} : {}+{:#x}/{:#x} [{}]\n", address, function->name, address - function->begin,
                        function->end - function->begin, code_->modules()[function->module].name);
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
