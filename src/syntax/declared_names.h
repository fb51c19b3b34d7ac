#pragma once
// Which names a script's text declares, found without parsing it: the library is hundreds of files, of which a script
// needs a few. A scan costs about a nanosecond a byte. It reads all branches of conditions %( %) and so may report more names
// than the parser will find, never fewer; of broken text it reports the names that it recognizes.

#include <string_view>
#include <vector>

namespace spile::syntax {

// Views into the text, which outlives them; in the order of the text, a name twice where it is declared twice.
struct DeclaredNames {
  std::vector<std::string_view> functions;   // not the private ones, nor those in `intrinsics`
  std::vector<std::string_view> intrinsics;  // those whose body is %{ /* intrinsic */ %}
  std::vector<std::string_view> globals;     // not the private ones
  // of each alias's name the first component, with the second where both are plain: syscall.open
  std::vector<std::string_view> alias_heads;
  std::vector<std::string_view> macros;  // @define
};
// Never fails: reports what it recognizes.
DeclaredNames scan_declarations(std::string_view text);

// Returns the x of every @x outside of comments and strings, as views into the text: macros, or operators of the language.
std::vector<std::string_view> scan_macro_uses(std::string_view text);

}  // namespace spile::syntax
