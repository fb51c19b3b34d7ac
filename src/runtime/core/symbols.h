#pragma once
// Names of addresses by the tables in the arena (abi/stack_tables.h), of processes and of the kernel, and the texts that the
// library's functions make of them. map: the offset of the ModuleMap to look into; 0: nothing has a name.

#include "runtime/core/script_functions.h"
#include "runtime/core/unwind.h"

namespace spile::rt {

struct Found {
  const abi::StackModule* module;  // null: absent, and so are the others
  const abi::ModuleTable* table;
  const abi::TableSymbol* symbol;  // null: the module has none there
  const char* string(uint32_t offset) const { return part_of<char>(table, table->text + offset); }
  uint64_t symbol_begin() const { return module->bias + table->text_begin + symbol->begin; }
};
Found find_symbol(Context* context, uint64_t map, uint64_t address);

// These append to a string of spile_rt_string_size bytes, whose text ends at `at` so far, as TextBuffer does, and return where it
// ends then. put_simple: "main+0x10 [x]", "0x7f12 [x+0x12]" or "0x7f12". lookup: the address to find.
uint32_t put_simple(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup);
// put_data: "main+0x10/0x25 [/usr/bin/x]"; what is not known is left out: "0x7f12 [/usr/bin/x+0x12/0x4000]", "0x7f12".
uint32_t put_data(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup);
// put_name: the symbol's name, or the address in hexadecimal.
uint32_t put_name(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup);
// put_simple_lines: a line of put_simple() for each of a text of addresses, of which the first is where the thread is, and others
// are return addresses.
uint32_t put_simple_lines(Context* context, char* out, uint32_t at, uint64_t map, const char* addresses);
// Writes addresses in hexadecimal with spaces between. Whole ones only: a string that is cut off is a shorter stack, not a wrong
// one. clear: bits of each that are not the address's.
void write_addresses(char* out, const uint64_t* addresses, uint32_t count, uint64_t clear);
// Returns the number of frames to show: `levels` (all for -1), and MAXBACKTRACE at most.
uint32_t frames_wanted(int64_t levels);

}  // namespace spile::rt
