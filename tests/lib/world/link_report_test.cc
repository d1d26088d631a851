// The bytes in which ranks say that their links stand.
#include "world/link_report.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

TEST(LinkReport, IsReadAsItWasWritten) {
  LinkReport report;
  report.trouble = "no route";
  report.measuring = Measuring::trials;
  report.has_devices = true;
  report.settings = {1, 0, 3, 0xfedcba9876543210, 5};
  report.device = std::string("gpu\0one", 7);
  report.round_trips = {{1, 0.035}, {3, 0}};
  const auto read = LinkReport::decode(report.encode(), 4);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->trouble, "no route");
  EXPECT_EQ(read->measuring, Measuring::trials);
  EXPECT_TRUE(read->has_devices);
  EXPECT_EQ(read->settings, report.settings);
  EXPECT_EQ(read->device, report.device);
  ASSERT_EQ(read->round_trips.size(), 2U);
  EXPECT_EQ(read->round_trips[0].first, 1);
  EXPECT_NEAR(read->round_trips[0].second, 0.035, 1e-9);
  EXPECT_EQ(read->round_trips[1].second, 0);
  ASSERT_TRUE(LinkReport::decode(LinkReport().encode(), 1).has_value());
}

TEST(LinkReport, WhatIsCutTooLongOrNamesStrangersIsRefused) {
  LinkReport report;
  report.round_trips = {{3, 0.1}};
  const std::string bytes = report.encode();
  EXPECT_FALSE(LinkReport::decode(bytes, 3).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(LinkReport::decode(bytes.substr(0, length), 4).has_value()) << length;
  EXPECT_FALSE(LinkReport::decode(bytes + '\0', 4).has_value());
}

TEST(LinkReport, NamesTheFirstSettingThatDiffers) {
  LinkReport report;
  EXPECT_EQ(report.settingUnlike({}), "");
  EXPECT_EQ(report.settingUnlike({1, 0, 0, 0, 0}), "GOSS_ALGORITHM");
  report.settings = {7, 7, 7, 7, 7};
  EXPECT_EQ(report.settingUnlike({7, 7, 7, 8, 8}), "GOSS_TUNING");
  EXPECT_EQ(report.settingUnlike({7, 7, 7, 7, 0}), "GOSS_LINKS");
  EXPECT_EQ(report.settingUnlike(report.settings), "");
}

TEST(LinkReport, AnUnknownWayOfMeasuringIsRefused) {
  LinkReport report;
  for (const auto measuring : {Measuring::nothing, Measuring::links, Measuring::trials}) {
    report.measuring = measuring;
    const auto read = LinkReport::decode(report.encode(), 4);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->measuring, measuring);
  }
  report.measuring = static_cast<Measuring>(3);
  EXPECT_FALSE(LinkReport::decode(report.encode(), 4).has_value());
}

} // namespace
} // namespace goss
