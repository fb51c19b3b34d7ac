// The functions of spile.h: no exception and no null pointer passes them.

#include <new>
#include <string>

#include "libspile/live_session.h"
#include "libspile/spile.h"
#include "runs/run/run_model.h"

struct spile_session {
  spile::client::LiveSession live;
};

namespace {

// An exception of the standard library means here that memory is used up.
template <typename Act>
int guarded(spile_session* session, Act act) noexcept {
  if (!session) return SPILE_ERROR_ARGUMENT;
  try {
    return act(session->live);
  } catch (...) {
  }
  try {
    return session->live.fail(SPILE_ERROR_MEMORY, "memory is used up");
  } catch (...) {
    return SPILE_ERROR_MEMORY;
  }
}

}  // namespace

extern "C" {

const char* spile_version(void) { return SPILE_VERSION; }

spile_session* spile_new(void) {
  try {
    return new spile_session;
  } catch (...) {
    return nullptr;
  }
}

void spile_free(spile_session* session) {
  try {
    delete session;
  } catch (...) {
  }
}

int spile_set_script(spile_session* session, const char* text) {
  return guarded(session, [&](auto& live) { return live.set_script(text); });
}
int spile_set_script_file(spile_session* session, const char* path) {
  return guarded(session, [&](auto& live) { return live.set_script_file(path); });
}
int spile_set_verb(spile_session* session, const char* verb) {
  return guarded(session, [&](auto& live) { return live.set_verb(verb); });
}
int spile_add_argument(spile_session* session, const char* argument) {
  return guarded(session, [&](auto& live) { return live.add_argument(argument); });
}
int spile_add_process(spile_session* session, pid_t pid) {
  return guarded(session, [&](auto& live) { return live.add_process(pid); });
}
int spile_set_command(spile_session* session, const char* command) {
  return guarded(session, [&](auto& live) { return live.set_command(command); });
}
int spile_add_option(spile_session* session, const char* option) {
  return guarded(session, [&](auto& live) { return live.add_option(option); });
}
int spile_start(spile_session* session) {
  return guarded(session, [](auto& live) { return live.start(); });
}
int spile_next_event(spile_session* session, int timeout_ms, const spile_event** event) {
  return guarded(session, [&](auto& live) { return live.next_event(timeout_ms, event); });
}
int spile_read(spile_session* session, int timeout_ms, const spile_snapshot** snapshot) {
  return guarded(session, [&](auto& live) { return live.read(timeout_ms, snapshot); });
}
int spile_stop(spile_session* session) { return session ? session->live.stop() : SPILE_ERROR_ARGUMENT; }
int spile_descriptor(spile_session* session) { return session ? session->live.descriptor() : -1; }

int spile_percentile(const spile_element* element, double percent, int64_t* value) {
  if (!element || !value || !(percent >= 0 && percent <= 100)) return SPILE_ERROR_ARGUMENT;
  if (!element->sketch) return SPILE_UNKNOWN;
  const auto found = spile::runs::percentile(*static_cast<const spile::runs::RunStatistics*>(element->sketch), percent);
  if (!found) return SPILE_UNKNOWN;
  *value = *found;
  return SPILE_OK;
}

const spile_message* spile_last_error(const spile_session* session) { return session ? session->live.last_error() : nullptr; }

const spile_message* spile_messages(const spile_session* session, size_t* count) {
  if (!session || !count) return nullptr;
  try {
    return session->live.messages(count);
  } catch (...) {
    *count = 0;
    return nullptr;
  }
}

}  // extern "C"
