#include "engine/space/site_table.h"

#include <gtest/gtest.h>

#include <string>

namespace spile::engine {
namespace {

PatchedSite site(uint64_t begin, uint8_t size = 5) {
  PatchedSite made;
  made.begin = Address(begin);
  made.trampoline = made.body = Address(0x100'0000 + begin);
  made.window = made.overwritten = size;
  for (uint8_t& byte : made.original) byte = static_cast<uint8_t>(begin);
  return made;
}

std::string begins(std::span<const PatchedSite> sites) {
  std::string text;
  for (const PatchedSite& each : sites) text += std::to_string(each.begin.value) + " ";
  return text;
}

SiteTable table(std::initializer_list<uint64_t> addresses) {
  std::vector<PatchedSite> sites;
  for (uint64_t address : addresses) sites.push_back(site(address));
  SiteTable made;
  made.replace({}, sites);
  return made;
}

TEST(SiteTable, KeepsSitesByBegin) {
  SiteTable sites = table({100, 200, 300});
  std::vector<PatchedSite> leaving = {site(200)}, coming = {site(150), site(400)};
  sites.replace(sites.without(leaving), coming);
  EXPECT_EQ(begins(sites.in_text()), "100 150 300 400 ");
  EXPECT_EQ(begins(sites.beginning_in(Address(150), Address(400))), "150 300 ");
  sites.remove({Address(300)});
  EXPECT_EQ(begins(sites.in_text()), "100 150 400 ");
}

TEST(SiteTable, OverlaysOriginalsOfPatchesThatReachIntoTheBytes) {
  SiteTable sites = table({98, 110, 118});
  std::vector<uint8_t> bytes(20, 1);
  sites.overlay_originals(Address(100), bytes);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{98, 98, 98, 1, 1, 1, 1, 1, 1, 1, 110, 110, 110, 110, 110, 1, 1, 1, 118, 118}));
}

TEST(SiteTable, FindsAllThatWasBuiltTogether) {
  SiteTable sites = table({100, 200, 300, 400});
  std::multimap<Address, Address> foundations = {{Address(100), Address(200)}, {Address(300), Address(200)}};
  sites.add_foundations(foundations);
  EXPECT_EQ(begins(sites.with_foundations({Address(300)})), "100 200 300 ");
  EXPECT_EQ(begins(sites.with_foundations({Address(400)})), "400 ");
  sites.retire(site(300));
  EXPECT_EQ(begins(sites.with_foundations({Address(200)})), "100 200 ");
}

TEST(SiteTable, KeepsWhereThreadsOfRetiredSitesComeBack) {
  SiteTable sites;
  PatchedSite returning = site(200), relay = site(300);
  returning.falls_through = false;
  relay.is_relay = true;
  for (const PatchedSite& each : {site(100), returning, relay}) sites.retire(each);
  EXPECT_EQ(begins(sites.retired()), "100 200 ");
  EXPECT_EQ(sites.reentries(), std::set<Address>{Address(105)});
  AddressRange code{Address(0x100'0000 + 100), Address(0x100'0000 + 101)};
  sites.forget_retired_in({&code, 1});
  EXPECT_EQ(begins(sites.retired()), "200 ");
  sites.forget_text(Address(0), Address(1000));
  EXPECT_TRUE(sites.retired().empty() && sites.reentries().empty());
}

TEST(SiteTable, KnowsWhoseRequestsASiteServes) {
  SiteTable sites;
  SiteRequest first, second;
  first.site_id = 1;
  second.site_id = 2;
  (void)sites.add_list(kOwnClient, std::make_shared<const std::vector<SiteRequest>>(1, first));
  std::vector<SiteUse> uses = sites.add_list(7, std::make_shared<const std::vector<SiteRequest>>(2, second));
  PatchedSite served = site(100);
  (void)sites.add_uses(uses);
  served.first_use = sites.add_uses(std::span(uses).subspan(1));
  served.use_count = 1;
  ASSERT_EQ(sites.uses_of(served).size(), 1u);
  EXPECT_EQ(sites.uses_of(served)[0], uses[1]);
  EXPECT_EQ(sites.client_of(uses[1]), 7u);
  EXPECT_EQ(sites.request(uses[1]).site_id, 2u);
}

TEST(SiteTable, IsNotRestoredInAForkedChild) {
  SiteTable parent = table({100}), child;
  parent.mark_restored();
  child.inherit(parent);
  EXPECT_TRUE(parent.is_restored());
  EXPECT_FALSE(child.is_restored());
  EXPECT_EQ(begins(child.in_text()), "100 ");
}

}  // namespace
}  // namespace spile::engine
