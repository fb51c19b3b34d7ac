#pragma once
// The five passes, each a function of what it reads and what it makes. session.cpp calls them in order.
//
// Every pass prints its findings and its line of -v on standard error. If the script is wrong, the pass has printed the script's
// errors and returns an empty optional (or false, or null). If the world refused, it returns an error, which the caller must
// print.
//
// Thread rule: one session at a time, in one thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/source.h"
#include "codegen/codegen.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/live/run_pass.h"
#include "session/live/script_run.h"
#include "session/scripts/scripts.h"
#include "session/terms/options.h"

namespace spile::session {

enum Pass : int { kParse = 1, kElaborate = 2, kTranslate = 3, kBuild = 4 };

// Names of the steps that have run so far, for --print-after; each pass adds its own.
using StepNames = std::vector<std::string>;

// Pass 1: texts become trees. files: owns the texts, which trees and messages point into; must outlive them.
Result<std::optional<LoadedScripts>> parse_scripts(const ScriptOptions& script, const TargetOptions& target,
                                                   const MessageOptions& messages, SourceFiles& files);

// Makes a program of the trees, with the settings of -D, -G and the like; it is not elaborated yet. describe_points: as in
// sema::Program. Handlers of it in the kernel may share tables, if the kernel has arenas.
Result<sema::Program> begin_program(LoadedScripts scripts, const ScriptOptions& script, const ProgramOptions& options,
                                    const MessageOptions& messages, bool describe_points, SourceFiles& files);

// Pass 2: every name gets a declaration, every expression a type, every probe its sites. Returns false if the script is wrong.
// print_after: the step after which to print the program; "": none.
bool elaborate_program(sema::Program& program, probes::World& world, const std::vector<std::string>& symbol_modules,
                       const MessageOptions& messages, const std::string& print_after, StepNames& steps);

// Returns false if handlers in the kernel share tables, but the script's globals, whose types pass 2 has found, are too large for
// an arena, or something else of the script needs the kernel's maps. owned_records: as for translate_program().
bool may_translate_tables(const sema::Program& program, const OutputOptions& output, bool owned_records);
// Then: makes the program anew, from the texts, each point in the kernel with a handler of its own. What passes 1 and 2 have told
// is not told again. Returns an empty optional if the script is wrong without tables.
Result<std::optional<sema::Program>> elaborate_without_tables(const Options& options, probes::World& world, SourceFiles& files);

// Pass 3: the program becomes LLVM IR, one module for each place where it runs. program must outlive the translation.
// output: how large rings are; owned_records: whether records say which process and thread they are of; processes: of -x, whose
// rights limit what handlers may ask spile to do. Returns null if the script is wrong.
Result<std::unique_ptr<codegen::Translation>> translate_program(const sema::Program& program, const OutputOptions& output,
                                                                bool owned_records, const std::vector<pid_t>& processes,
                                                                const MessageOptions& messages, const std::string& print_after,
                                                                StepNames& steps);

// Pass 4: the IR becomes machine code, and its memory is freed.
Result<codegen::CompiledScript> build_program(std::unique_ptr<codegen::Translation> translation, const MessageOptions& messages,
                                              StepNames& steps);

// Checks that `name` of --print-after is a step of the passes that have run, or "". Errors: it is not.
Result<void> check_print_after(const std::string& name, const StepNames& steps);

}  // namespace spile::session
