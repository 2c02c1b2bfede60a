#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"
#include "probe/monitor/monitors.hpp"

namespace {

using namespace plx::probe;
namespace fs = std::filesystem;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

/// Four processors, the threads of two cores of one package, in the layout of sysfs and /proc.
struct fake_machine {
  const std::string root = testing::TempDir() + "plx_processors_" + std::to_string(::getpid());
  const std::string sys = root + "/sys", proc = root + "/proc";
  fake_machine() {
    fs::remove_all(root);
    for (int i = 0; i < 4; ++i) {
      const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(i);
      file(cpu + "/cpufreq/scaling_cur_freq", std::to_string(2'000'000 + 100'000 * i));
      file(cpu + "/cpufreq/scaling_governor", i < 3 ? "performance" : "powersave");
      file(cpu + "/cpufreq/scaling_available_governors", "performance powersave userspace ");
      file(cpu + "/thermal_throttle/core_throttle_count", i < 2 ? "7" : "0");
      file(cpu + "/thermal_throttle/package_throttle_count", "3");
      file(cpu + "/topology/thread_siblings_list", i < 2 ? "0-1" : "2-3");
      file(cpu + "/topology/physical_package_id", "0");
    }
    fs::create_directories(sys + "/devices/system/cpu/cpufreq");  // no processor
    file("/sys/class/hwmon/hwmon0/name", "nvme");
    file("/sys/class/hwmon/hwmon0/temp1_input", "90000");
    file("/sys/class/hwmon/hwmon1/name", "coretemp");
    file("/sys/class/hwmon/hwmon1/temp1_input", "55000");
    file("/sys/class/hwmon/hwmon1/temp2_input", "61500");
    file("/proc/stat", "cpu  1000 200 300 4000 500 60 70 80 9 0");
    file("/proc/cpuinfo",
         "processor\t: 0\nmodel name\t: any\ncpu MHz\t\t: 1500.000\n\nprocessor\t: 1\ncpu MHz\t\t: 2500.000");
  }
  ~fake_machine() { fs::remove_all(root); }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    EXPECT_TRUE(plx::write_file(root + path, text + "\n"));
  }
};

const std::vector<unsigned> all_four{0, 1, 2, 3};

TEST(Processors, ValuesOfSys) {
  fake_machine m;
  counter_registry r;
  const auto keep = add_processor_counters(r, m.sys, m.proc, all_four);
  EXPECT_DOUBLE_EQ(value(r, "/system{cpu#3}/cpu/frequency"), 2.3e9);
  EXPECT_DOUBLE_EQ(value(r, "/system/cpu/frequency"), 2.15e9);  // the mean
  EXPECT_EQ(value(r, "/system{performance}/cpu/governor"), 3);
  EXPECT_EQ(value(r, "/system{powersave}/cpu/governor"), 1);
  EXPECT_EQ(value(r, "/system{userspace}/cpu/governor"), 0);
  EXPECT_EQ(value(r, "/system/throttles/core"), 7);  // the threads of a core count once
  EXPECT_EQ(value(r, "/system/throttles/package"), 3);
  EXPECT_DOUBLE_EQ(value(r, "/system/temperature/processor"), 61.5);
  m.file("/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "5");
  m.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "userspace");
  EXPECT_EQ(value(r, "/system/throttles/core"), 12);
  EXPECT_EQ(value(r, "/system{userspace}/cpu/governor"), 1);
  for (const counter_info& c : r.list()) {
    EXPECT_FALSE(c.help.empty()) << c.name;
    EXPECT_FALSE(c.unit.empty()) << c.name;
  }
}

TEST(Processors, OthersDoNotCount) {
  fake_machine m;
  counter_registry r;
  const auto keep = add_processor_counters(r, m.sys, m.proc, {3});
  EXPECT_DOUBLE_EQ(value(r, "/system/cpu/frequency"), 2.3e9);
  EXPECT_EQ(value(r, "/system{performance}/cpu/governor") + value(r, "/system{powersave}/cpu/governor"), 1);
  EXPECT_FALSE(r.query("/system{cpu#0}/cpu/frequency"));
  counter_registry of_cpuinfo;
  const auto kept = add_processor_counters(of_cpuinfo, m.root + "/none", m.proc, {1});
  EXPECT_DOUBLE_EQ(value(of_cpuinfo, "/system/cpu/frequency"), 2.5e9);
}

TEST(Processors, TheMeanIsThatOfAtMost16) {
  fake_machine m;
  std::vector<unsigned> many;
  for (unsigned i = 0; i < 64; ++i) {
    many.push_back(100 + i);
    m.file("/sys/devices/system/cpu/cpu" + std::to_string(100 + i) + "/cpufreq/scaling_cur_freq",
           i % 4 == 0 ? "1000000" : "9000000");
  }
  counter_registry r;
  const auto keep = add_processor_counters(r, m.sys, m.proc, many);
  EXPECT_DOUBLE_EQ(value(r, "/system/cpu/frequency"), 1e9) << "every fourth of 64";
  EXPECT_DOUBLE_EQ(value(r, "/system{cpu#101}/cpu/frequency"), 9e9);
}

TEST(Processors, AProcessorThatIsSwitchedOff) {
  fake_machine m;
  counter_registry r;
  const auto keep = add_processor_counters(r, m.sys, m.proc, all_four);
  fs::remove_all(m.sys + "/devices/system/cpu/cpu0/cpufreq");
  EXPECT_DOUBLE_EQ(value(r, "/system/cpu/frequency"), 2.2e9);
  EXPECT_NE(r.query("/system{cpu#0}/cpu/frequency").error().message.find("scaling_cur_freq"), std::string::npos);
}

TEST(Processors, FrequenciesOfCpuinfoWhereSysHasNone) {
  fake_machine m;
  counter_registry r;
  const auto keep = add_processor_counters(r, m.root + "/none", m.proc, all_four);
  EXPECT_DOUBLE_EQ(value(r, "/system{cpu#1}/cpu/frequency"), 2.5e9);
  EXPECT_DOUBLE_EQ(value(r, "/system/cpu/frequency"), 2e9);
  EXPECT_FALSE(r.query("/system/throttles/core"));
  EXPECT_FALSE(r.query("/system/temperature/processor"));
  EXPECT_FALSE(r.query("/system{*}/cpu/governor"));
}

TEST(Processors, ThermalZonesWhereNoChipIsKnown) {
  fake_machine m;
  fs::remove_all(m.sys + "/class/hwmon/hwmon1");
  m.file("/sys/class/thermal/thermal_zone0/type", "acpitz");
  m.file("/sys/class/thermal/thermal_zone0/temp", "80000");
  m.file("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp");
  m.file("/sys/class/thermal/thermal_zone1/temp", "47000");
  counter_registry r;
  const auto keep = add_processor_counters(r, m.sys, m.proc, all_four);
  EXPECT_DOUBLE_EQ(value(r, "/system/temperature/processor"), 47);
}

TEST(Processors, TheTimeOfOthersExcludesThisProcess) {
  fake_machine m;
  counter_registry r;
  const auto own_s = [] {
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    return static_cast<double>(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
  };
  const double before_s = own_s();
  const auto keep = add_processor_counters(r, m.sys, m.proc, all_four);
  EXPECT_NEAR(value(r, "/system/cpu/others"), 0, 1e-9);
  const double begin_s = own_s(), tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  while (own_s() - begin_s < 0.03) {
  }
  m.file("/proc/stat", "cpu  1500 200 400 9000 500 60 70 99 9 0");  // 500 + 100 ticks; idle and steal are not busy
  // The counter reads the time of this process between these two readings.
  const double least_s = own_s() - begin_s, others = value(r, "/system/cpu/others"), most_s = own_s() - before_s;
  EXPECT_LE(others, 600 * tick - least_s + 1e-6);
  EXPECT_GE(others, 600 * tick - most_s - 1e-6);
  m.file("/proc/stat", "cpu  1400 200 400 9000 500 60 70 99 9 0");
  const double later = value(r, "/system/cpu/others");
  EXPECT_GE(later, others) << "it never decreases";
  EXPECT_LE(later, 600 * tick - least_s + 1e-6);
}

TEST(Processors, NothingWithoutBoth) {
  counter_registry r;
  EXPECT_TRUE(add_processor_counters(r, "/no/such/sys", "/no/such/proc").empty());
}

TEST(Processors, OnThisMachine) {
  counter_registry r;
  const auto keep = add_processor_counters(r);
  for (const counter_info& c : r.list()) EXPECT_GE(value(r, c.name), 0) << c.name;
}

}  // namespace
