#pragma once
// What BTF says about the kernel's mechanisms and structures, and the same as text, for list_cache.h: reading BTF takes 25 ms.

#include <optional>
#include <string>
#include <string_view>

#include "kernelinfo/btf.h"
#include "kernelinfo/mechanisms.h"

namespace spile::kernelinfo {

// Returns all of Features but `kprobe`, from vmlinux's types.
Features read_features(Btf& types);

// Returns the names of everything that the text has, which is another one for each version of spile that knows others.
std::string feature_names();
// Returns the features as text, a line each; nullopt: the text has others.
std::string feature_text(const Features& features);
std::optional<Features> parse_features(std::string_view text);

}  // namespace spile::kernelinfo
