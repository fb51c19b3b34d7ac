#pragma once
// Loops of handlers over the kernel's maps. The verifier of kernels before Linux 6.12 walks through each turn of a loop, so a
// loop becomes a function that the kernel calls again and again: bpf_for_each_map_elem(2), over an array with one element for
// each turn. The verifier follows it once.
//
//     head:  ...            values = what the loop uses of the code around it           callback.loop.N(map, key, value, values):
//            ...            *exit = 0                                                      head: ...
//            br head        for_each_map_elem(turns, callback.loop.N, values)                    go on:     return 0
//     done:                 switch (*exit) {done, where errors go, ...}                          leave to n: *exit = n, return 1
//
// Before Linux 6.7 the verifier takes what such a function leaves in the caller's registers and stack for the result of its only
// run, and drops code that can't be reached from there. So what a loop changes lies in memory of maps, of which the verifier
// knows no values (Frame, Body::actions_left).

#include <set>
#include <span>
#include <vector>

#include "codegen/terms/llvm.h"
#include "sema/terms/program.h"

namespace spile::codegen {

// A loop as the lowering has emitted it. The code between head and done is entered at head alone. What it changes of the code
// around it is not in variables of the function (allocas), and it leaves no values to that code.
struct ScriptLoop {
  llvm::BasicBlock* head;       // of each turn
  llvm::BasicBlock* done;       // behind the loop
  llvm::BasicBlock* exhausted;  // goes on where the loop has taken more turns than `turns` has elements
  llvm::Value* exit;            // the address of an int64_t in a map's value; computed before head
};

// Makes functions of loops. turns: the map over whose elements they repeat. loops: inner ones before those around them. REQUIRES:
// before anything is inlined or optimized.
void outline_loops(llvm::Module& module, std::span<const ScriptLoop> loops, llvm::Value* turns);

// What a probe's handler repeats, through script functions as well.
struct Repetitions {
  bool any = false;                         // it has a loop
  std::set<const syntax::Global*> visited;  // arrays of which it visits elements: foreach, [x, *] in a, delete a[x, *]
};
Repetitions repetitions_of(const sema::Probe& probe);
// Whether the statement itself has a loop, not looking into functions that it calls.
bool has_loop(const syntax::Statement& statement);

}  // namespace spile::codegen
