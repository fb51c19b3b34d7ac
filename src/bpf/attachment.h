#pragma once
// What keeps a program attached to a place.

#include "base/unique_fd.h"
#include "bpf/tracefs_probe.h"

namespace spile::bpf {

// An attachment of a program; destroying it detaches the program from the event, and then removes an event of tracefs.
struct Attachment {
  TracefsProbe probe;
  UniqueFd event;  // -1: absent, as the link needs no event
  UniqueFd link;
};

}  // namespace spile::bpf
