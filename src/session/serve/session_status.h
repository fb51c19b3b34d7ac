#pragma once
// Gathers what a session says about itself (status_socket.h).

#include <optional>
#include <span>
#include <vector>

#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/serve/status_socket.h"

namespace spile::session {

// The probe's resolved point; of several, as the script wrote it. "": it has none.
std::string point_text(const sema::Probe& probe);

// "process", "kernel" or "spile": where the probe's handler runs.
const char* place_of(const sema::Probe& probe);
// How often the probe's handler has run; null: not counted. runs: as below.
std::optional<uint64_t> hits_of(const sema::Probe& probe, const codegen::CompiledScript& script, ArenaView& arena,
                                std::span<const uint64_t> runs);

// runs: by index into Program::probes, how often spile itself has run the probe's handler. processes: those that are traced, or
// that handlers in the kernel are for; empty where handlers run for all. since: seconds since the epoch.
SessionStatus describe_session(const sema::Program& program, const codegen::CompiledScript& script, ArenaView& arena,
                               std::span<const uint64_t> runs, std::vector<pid_t> processes, int64_t since);

}  // namespace spile::session
