#include "probe/monitor/monitors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"

namespace {

using namespace plx::probe;
namespace fs = std::filesystem;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

/// Two packages, one with cores and dram, in the layout of sysfs.
struct fake_powercap {
  const std::string root = testing::TempDir() + "plx_powercap_" + std::to_string(::getpid());
  fake_powercap() {
    fs::remove_all(root);
    zone("intel-rapl:0", "package-0", 1'000'000, 10'000'000);
    zone("intel-rapl:0:0", "core", 500'000, 10'000'000);
    zone("intel-rapl:0:1", "dram", 200'000, 10'000'000);
    zone("intel-rapl:1", "package-1", 0, 10'000'000);
    zone("intel-rapl:2", "psys", 0, 10'000'000);
    zone("intel-rapl-mmio:0", "package-0", 0, 10'000'000);
    fs::create_directories(root + "/intel-rapl");
  }
  ~fake_powercap() { fs::remove_all(root); }
  void zone(const std::string& folder, const std::string& name, long energy_uj, long range_uj) {
    fs::create_directories(root + "/" + folder);
    EXPECT_TRUE(plx::write_file(root + "/" + folder + "/name", name + "\n"));
    EXPECT_TRUE(plx::write_file(root + "/" + folder + "/max_energy_range_uj", std::to_string(range_uj) + "\n"));
    energy(folder, energy_uj);
  }
  void energy(const std::string& folder, long uj) {
    EXPECT_TRUE(plx::write_file(root + "/" + folder + "/energy_uj", std::to_string(uj) + "\n"));
  }
};

TEST(Energy, CountsFromItsStartAndOverAWrap) {
  fake_powercap tree;
  tree.zone("intel-rapl:3", "total", 0, 10'000'000);  // the name of the sum
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_energy_counters(r, tree.root, &notes);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(r.list().size(), 7u);  // the second view of the same package is omitted
  EXPECT_EQ(value(r, "/system{package-0}/energy"), 0);
  tree.energy("intel-rapl:0", 4'000'000);
  tree.energy("intel-rapl:0:1", 700'000);
  tree.energy("intel-rapl:1", 250'000);
  tree.energy("intel-rapl:2", 9'000'000);
  EXPECT_DOUBLE_EQ(value(r, "/system{package-0}/energy"), 3);
  EXPECT_DOUBLE_EQ(value(r, "/system{package-0/dram}/energy"), 0.5);
  EXPECT_DOUBLE_EQ(value(r, "/system{package-0/core}/energy"), 0);
  EXPECT_DOUBLE_EQ(value(r, "/system/energy"), 3.75);  // packages and dram
  tree.energy("intel-rapl:0", 1'000'000);              // wraps around at 10 J
  EXPECT_DOUBLE_EQ(value(r, "/system{package-0}/energy"), 3 + 6 + 1);
  EXPECT_DOUBLE_EQ(value(r, "/system{package-0}/energy"), 10);
  ASSERT_TRUE(r.reset("/system{*}/energy"));
  EXPECT_DOUBLE_EQ(value(r, "/system/energy"), 0);
}

TEST(Energy, AZoneThatVanishesIsAProblemOfItsOwn) {
  fake_powercap tree;
  counter_registry r;
  const auto keep = add_energy_counters(r, tree.root);
  fs::remove_all(tree.root + "/intel-rapl:1");
  EXPECT_NE(r.query("/system{package-1}/energy").error().message.find("energy_uj"), std::string::npos);
  EXPECT_EQ(value(r, "/system{package-0}/energy"), 0);
}

/// Root can read everything: while this exists, the effective user is another one.
struct as_nobody {
  as_nobody() : changed(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~as_nobody() {
    if (changed && ::seteuid(0) != 0) ADD_FAILURE() << "cannot become root again";
  }
  const bool changed;
};

TEST(Energy, MissingPermissionsAndZonesAreReportedOnce) {
  fake_powercap tree;
  for (const char* folder : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl:2"})
    fs::permissions(tree.root + "/" + folder + "/energy_uj", fs::perms::none);
  counter_registry r;
  std::vector<std::string> notes;
  {
    const as_nobody asks;
    EXPECT_TRUE(add_energy_counters(r, tree.root, &notes).empty());
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].ends_with("intel-rapl:0/energy_uj': Permission denied; energy is omitted")) << notes[0];
  notes.clear();
  EXPECT_TRUE(add_energy_counters(r, "/no/such/folder", &notes).empty());
  EXPECT_EQ(notes.at(0), "no zones in '/no/such/folder'; energy is omitted");
}

TEST(Energy, OnThisMachine) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_energy_counters(r, "/sys/class/powercap", &notes);
  for (const std::string& n : notes) std::printf("%s\n", n.c_str());
  EXPECT_TRUE(!keep.empty() || !notes.empty());
  for (const counter_info& c : r.list()) EXPECT_GE(value(r, c.name), 0) << c.name;
}

}  // namespace
