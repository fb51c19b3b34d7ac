// How many variables can be read where they are in scope, and why the others can't:
//
//   variables [--every N] [--show REASON] FILE...
//
//   --every N       looks at every N-th statement (1); functions' entries are always looked at
//   --show REASON   also names each variable whose reason has this in it
//
// Counted are parameters and locals, once for each place, at the entries of functions and at the statements of all source
// files; whole structures count as readable where their place is known.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "debuginfo/debuginfo.h"

namespace {

using namespace spile;
using namespace spile::debuginfo;

struct Options {
  uint64_t every = 1;
  std::string show;
  std::vector<std::string> files;
};

struct Count {
  uint64_t places = 0, variables = 0, readable = 0, at_entry = 0;
  std::map<std::string, uint64_t> reasons;
};

// Without what differs from one variable to the next.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (char c : reason) {
    if (c >= '0' && c <= '9') {
      if (kind.empty() || kind.back() != '#') kind += '#';
    } else {
      kind += c;
    }
  }
  return kind;
}

std::string why_unreadable(const Place& place) {
  if (!place.available()) return place.reason;
  const TypeKind kind = place.type.kind();
  if (kind == TypeKind::kStruct || kind == TypeKind::kUnion) return {};
  auto operations = load(place);
  return operations.ok() ? std::string() : operations.error().message;
}

// Whether it is read from what the function's entry has kept.
bool depends_on_entry(const Place& place) {
  auto depends = [](const location::Operations& operations) { return std::ranges::any_of(operations, location::is<location::EntryValue>); };
  return depends(place.operations) ||
         std::any_of(place.pieces.begin(), place.pieces.end(), [&](const Piece& piece) { return depends(piece.operations); });
}

void look(Module& module, const CodePlace& place, const Options& options, Count& count) {
  auto variables = module.variables(place.function, place.address, place.scope);
  if (!variables.ok()) return;
  ++count.places;
  for (const Variable& variable : *variables) {
    ++count.variables;
    std::string reason = why_unreadable(variable.place);
    if (reason.empty()) {
      ++count.readable;
      count.at_entry += depends_on_entry(variable.place);
      continue;
    }
    ++count.reasons[kind_of(reason)];
    if (!options.show.empty() && reason.find(options.show) != reason.npos)
      fmt::print("{:#x} scope {:#x}: {} ({}) {}\n", place.address.value, place.scope, variable.name, variable.place.type.name(), reason);
  }
}

void print(const char* where, const Count& count) {
  double all = static_cast<double>(std::max<uint64_t>(count.variables, 1)) / 100;
  fmt::print("  {}: {} places, {} variables, {:.2f} % readable, of all {:.2f} % ({}) from the function's entry\n", where, count.places,
             count.variables, static_cast<double>(count.readable) / all, static_cast<double>(count.at_entry) / all, count.at_entry);
  std::multimap<uint64_t, std::string, std::greater<>> sorted;
  for (const auto& [reason, n] : count.reasons) sorted.emplace(n, reason);
  for (const auto& [n, reason] : sorted) fmt::print("    {:6.2f} %  {:8}  {}\n", static_cast<double>(n) / all, n, reason);
}

int count_in(const std::string& path, const Options& options) {
  OpenOptions no_cache;
  no_cache.use_cache = false;
  auto module = Module::open(path, no_cache);
  if (!module.ok()) {
    fmt::print(stderr, "{}\n", module.error().message);
    return 1;
  }
  auto functions = (*module)->functions({.name = "*", .file = {}});
  auto statements = (*module)->statements("*");
  if (!functions.ok() || !statements.ok()) {
    fmt::print(stderr, "{}\n", functions.ok() ? statements.error().message : functions.error().message);
    return 1;
  }
  fmt::print("{}\n", path);
  Count entries, inside;
  for (const Function& function : *functions) {
    CodePlace entry;
    entry.address = entry.function = function.address;
    look(**module, entry, options, entries);
  }
  for (size_t i = 0; i < statements->size(); i += options.every) {
    const CodePlace& place = (*statements)[i];
    if (place.address != place.function) look(**module, place, options, inside);
  }
  print("entries", entries);
  print("statements", inside);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--every") && i + 1 < argc) options.every = std::max(1ul, strtoul(argv[++i], nullptr, 10));
    else if (!strcmp(argv[i], "--show") && i + 1 < argc) options.show = argv[++i];
    else options.files.emplace_back(argv[i]);
  }
  int status = 0;
  for (const std::string& file : options.files) status |= count_in(file, options);
  return status;
}
