#include "probe/monitor/monitors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "base/file.hpp"
#include "probe/monitor/proc_file.hpp"

namespace plx::probe {
namespace {

namespace fs = std::filesystem;

constexpr double sampling_period_s = 10;

result<double> number_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  if (const auto n = number_of(*text)) return *n;
  return error{fmt::format("expected a number in '{}', found '{}'", path, text->substr(0, 32))};
}

/// One zone: its energy consumption since this object was created.
class zone {
 public:
  zone(std::string path, double first_uj, double range_uj)
      : path_(std::move(path)), last_uj_(first_uj), range_uj_(range_uj) {}

  double joules() {
    const std::lock_guard lock(mutex_);
    const auto now = number_in(path_ + "/energy_uj");
    if (!now) throw std::runtime_error(now.error().message);
    if (*now >= last_uj_)
      sum_uj_ += *now - last_uj_;
    else if (range_uj_ >= last_uj_)
      sum_uj_ += range_uj_ - last_uj_ + *now;  // the counter wrapped around once
    last_uj_ = *now;
    return 1e-6 * sum_uj_;
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  double last_uj_;
  const double range_uj_;
  double sum_uj_ = 0;
};

struct named_zone {
  std::string name;
  bool counts_in_total;
  std::shared_ptr<zone> meter;
};

/// The folders "intel-rapl:0", "intel-rapl:0:1", in order. "intel-rapl-mmio:0" is a second view of the same package.
std::vector<std::string> zone_folders(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code failed;
  for (fs::directory_iterator it(root, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename();
    if (name.find(':') != std::string::npos && name.find("-mmio") == std::string::npos) folders.push_back(name);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<named_zone> zones_in(const std::string& root, std::vector<std::string>& notes) {
  std::vector<named_zone> zones;
  std::map<std::string, std::string> named;  // folder to name
  for (const std::string& folder : zone_folders(root)) {
    const std::string path = root + "/" + folder;
    std::string name = first_line_of(path + "/name");
    if (name.empty() || name.find_first_of("{}*") != std::string::npos) name = folder;
    const std::string parent = folder.substr(0, folder.rfind(':'));
    const bool inner = named.contains(parent);
    // A package and its memory; its cores are part of it, and "psys" includes all.
    const bool in_total = inner ? name == "dram" : name.starts_with("package");
    if (inner) name = named[parent] + "/" + name;
    const auto taken = [&] {
      return name == "total" || std::any_of(zones.begin(), zones.end(), [&](const auto& z) { return z.name == name; });
    };
    while (taken()) name += "'";
    named[folder] = name;
    const auto energy = number_in(path + "/energy_uj");
    if (!energy) {
      // All zones fail for the same reason: reported once.
      if (notes.empty()) notes.push_back(energy.error().message + "; energy is omitted");
      continue;
    }
    const double range = number_in(path + "/max_energy_range_uj").value_or(0);
    zones.push_back({name, in_total, std::make_shared<zone>(path, *energy, range)});
  }
  return zones;
}

}  // namespace

std::vector<registration> add_energy_counters(counter_registry& registry, const std::string& root,
                                              std::vector<std::string>* notes) {
  std::vector<std::string> messages;
  const std::vector<named_zone> zones = zones_in(root, messages);
  if (zones.empty() && messages.empty()) messages.push_back(fmt::format("no zones in '{}'; energy is omitted", root));
  if (notes != nullptr) notes->insert(notes->end(), messages.begin(), messages.end());
  if (zones.empty()) return {};

  const std::shared_ptr<void> sampled = registry.every(sampling_period_s, [zones] {
    for (const named_zone& z : zones) try {
        (void)z.meter->joules();
      } catch (const std::exception&) {  // reported when the counter is read; the zone may return
      }
  });
  std::vector<registration> all;
  const auto add = [&](const std::string& instance, const char* help, auto f) {
    all.push_back(
        registry.add({fmt::format("/system{{{}}}/energy", instance), "J", help, true}, [f, sampled] { return f(); }));
  };
  for (const named_zone& z : zones)
    add(z.name, "Energy used by this part of the machine, for all programs", [m = z.meter] { return m->joules(); });
  std::vector<std::shared_ptr<zone>> summed;
  for (const named_zone& z : zones)
    if (z.counts_in_total) summed.push_back(z.meter);
  if (!summed.empty())
    add("total", "Energy used by all packages and their memory, for all programs", [summed] {
      double sum = 0;
      for (const auto& m : summed) sum += m->joules();
      return sum;
    });
  return all;
}

}  // namespace plx::probe
