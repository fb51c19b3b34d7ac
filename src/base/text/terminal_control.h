#pragma once

namespace spile {

// Returns whether a descriptor is a terminal that obeys the control sequences of ECMA-48, by which a line is overwritten and a
// screen drawn: any but those with TERM=dumb.
bool obeys_control_sequences(int descriptor);

}  // namespace spile
