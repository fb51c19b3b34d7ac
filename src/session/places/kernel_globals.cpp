#include "session/places/kernel_globals.h"

#include <cstring>
#include <map>
#include <string>

namespace spile::session {

namespace {

std::span<const char> as_key(std::span<const uint8_t> key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

}  // namespace

std::vector<uint8_t> KernelGlobals::normal_value(const codegen::KernelMap& map, const uint8_t* bytes) const {
  std::vector<uint8_t> value(map.value_size);
  const bool is_string = program_.globals[static_cast<size_t>(map.global)]->type == ValueType::kString;
  const size_t size = is_string ? strnlen(reinterpret_cast<const char*>(bytes), map.value_size - 1) : map.value_size;
  std::memcpy(value.data(), bytes, size);
  return value;
}

Result<void> KernelGlobals::add_shards(bpf::Kernel& kernel, Controller& controller) {
  std::map<std::string, int> globals;
  for (const codegen::KernelMap& map : script_.kernel.maps) {
    if (map.sharded && map.global >= 0) globals.emplace(map.symbol, map.global);
  }
  if (globals.empty()) return {};
  return kernel.collect([&](const bpf::MapSpec& map, std::span<const uint8_t> key, std::span<const uint8_t> value) {
    auto global = globals.find(map.symbol);
    if (global != globals.end()) controller.add_element(global->second, as_key(key), value);
  });
}

Result<void> KernelGlobals::import_all(bpf::Kernel& kernel, Controller& controller) {
  TRY_DO(add_shards(kernel, controller));
  for (size_t i = 0; i < script_.kernel.maps.size(); ++i) {
    const codegen::KernelMap& map = script_.kernel.maps[i];
    if (map.global < 0 || map.sharded) continue;
    imported_[i].clear();
    controller.clear_global(map.global);
    TRY_DO(kernel.elements(map.symbol, [&](std::span<const uint8_t> key, std::span<const uint8_t> value) {
      controller.put_element(map.global, as_key(key), value);
      imported_[i].push_back({{key.begin(), key.end()}, normal_value(map, value.data())});
    }));
  }
  return {};
}

// Writes back differences only, so that elements that the controller left alone keep what handlers write meanwhile.
Result<void> KernelGlobals::export_changes(bpf::Kernel& kernel, Controller& controller) {
  for (size_t i = 0; i < script_.kernel.maps.size(); ++i) {
    const codegen::KernelMap& map = script_.kernel.maps[i];
    if (map.global < 0 || map.sharded) continue;
    std::map<std::vector<uint8_t>, std::vector<uint8_t>> before;
    for (Element& element : imported_[i]) before.emplace(std::move(element.key), std::move(element.value));
    imported_[i].clear();
    Result<void> outcome;
    controller.for_each_element(map.global, [&](std::span<const char> packed, const void* memory) {
      std::vector<uint8_t> value = normal_value(map, static_cast<const uint8_t*>(memory));
      std::vector<uint8_t> key(packed.begin(), packed.end());
      auto known = before.find(key);
      const bool same = known != before.end() && known->second == value;
      if (known != before.end()) before.erase(known);
      if (!same && outcome.ok()) outcome = kernel.put(map.symbol, key, value);
    });
    TRY_DO(std::move(outcome));
    for (const auto& [key, value] : before) TRY_DO(kernel.erase(map.symbol, key));
  }
  return {};
}

}  // namespace spile::session
