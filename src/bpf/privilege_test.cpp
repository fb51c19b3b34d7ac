#include "bpf/privilege.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace spile::bpf {
namespace {

constexpr uint64_t bit(int capability) { return uint64_t{1} << capability; }

TEST(Privilege, NamesTheCapabilityThatIsMissing) {
  EXPECT_EQ(missing_privileges(0), "CAP_BPF and CAP_PERFMON are missing");
  EXPECT_EQ(missing_privileges(bit(CAP_BPF)), "CAP_PERFMON is missing");
  EXPECT_EQ(missing_privileges(bit(CAP_PERFMON) | bit(CAP_NET_ADMIN)), "CAP_BPF is missing");
  EXPECT_EQ(missing_privileges(bit(CAP_BPF) | bit(CAP_PERFMON)), "");
  EXPECT_EQ(missing_privileges(bit(CAP_SYS_ADMIN)), "");
}

}  // namespace
}  // namespace spile::bpf
