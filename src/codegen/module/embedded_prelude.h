#pragma once
// What embedded C may use without including anything: SystemTap's macros, and those functions of C that need no library.

namespace spile::codegen {

// C, after `#define MAXSTRINGLEN n`.
extern const char kEmbeddedPrelude[];

}  // namespace spile::codegen
