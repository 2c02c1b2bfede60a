#include "probe/monitor/monitors.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "probe/monitor/shared_library.hpp"

namespace plx::probe {
namespace {

// Types and numbers of NVML's stable interface (versions 4 and newer).
using nvml_device = struct nvml_device_of_the_library*;
constexpr int nvml_success = 0;
constexpr unsigned nvml_temperature_gpu = 0;
constexpr unsigned nvml_clock_sm = 1, nvml_clock_memory = 2;
struct nvml_utilization {
  unsigned gpu, memory;  // percent
};
struct nvml_memory {
  unsigned long long total, free, used;
};

struct nvml_library {
  explicit nvml_library(shared_library l) : library(std::move(l)) {}
  nvml_library(const nvml_library&) = delete;
  nvml_library& operator=(const nvml_library&) = delete;
  ~nvml_library() {
    if (begun && shutdown != nullptr) shutdown();
  }

  shared_library library;
  bool begun = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, nvml_device*) = nullptr;
  int (*name)(nvml_device, char*, unsigned) = nullptr;
  int (*utilization)(nvml_device, nvml_utilization*) = nullptr;
  int (*memory)(nvml_device, nvml_memory*) = nullptr;
  int (*power_mw)(nvml_device, unsigned*) = nullptr;
  int (*energy_mj)(nvml_device, unsigned long long*) = nullptr;
  int (*temperature)(nvml_device, unsigned, unsigned*) = nullptr;
  int (*clock_mhz)(nvml_device, unsigned, unsigned*) = nullptr;

  bool find_all() {
    library.find("nvmlShutdown", shutdown);
    library.find("nvmlErrorString", error_string);
    library.find("nvmlDeviceGetName", name);
    library.find("nvmlDeviceGetUtilizationRates", utilization);
    library.find("nvmlDeviceGetMemoryInfo", memory);
    library.find("nvmlDeviceGetPowerUsage", power_mw);
    library.find("nvmlDeviceGetTotalEnergyConsumption", energy_mj);
    library.find("nvmlDeviceGetTemperature", temperature);
    library.find("nvmlDeviceGetClockInfo", clock_mhz);
    return library.find("nvmlInit_v2", init) && library.find("nvmlDeviceGetCount_v2", count) &&
           library.find("nvmlDeviceGetHandleByIndex_v2", by_index);
  }
  std::string message(int code) const {
    const char* text = error_string != nullptr ? error_string(code) : nullptr;
    return text != nullptr ? text : fmt::format("error {}", code);
  }
  double checked(int code, double value) const {
    if (code != nvml_success) throw std::runtime_error("NVML: " + message(code));
    return value;
  }
};

result<std::shared_ptr<nvml_library>> load_nvml(const std::string& file) {
  auto opened = shared_library::open(file.empty() ? std::vector<std::string>{"libnvidia-ml.so.1", "libnvidia-ml.so"}
                                                  : std::vector<std::string>{file});
  if (!opened) return error{"GPUs are omitted: " + opened.error().message};
  auto nvml = std::make_shared<nvml_library>(std::move(opened).value());
  if (!nvml->find_all()) return error{"GPUs are omitted: NVML's library lacks functions of its version 2"};
  if (const int r = nvml->init(); r != nvml_success) return error{"GPUs are omitted: NVML: " + nvml->message(r)};
  nvml->begun = true;
  return nvml;
}

/// A value of a GPU: how to query it if the library has the function.
struct gpu_value {
  const char* name;
  const char* unit;
  const char* help;
  bool monotonic;
  bool (*known)(const nvml_library&);
  double (*ask)(const nvml_library&, nvml_device);
};

double utilization_of(const nvml_library& l, nvml_device d, unsigned nvml_utilization::*part) {
  nvml_utilization u{};
  const int r = l.utilization(d, &u);
  return l.checked(r, 0.01 * u.*part);
}
double memory_of(const nvml_library& l, nvml_device d, unsigned long long nvml_memory::*part) {
  nvml_memory m{};
  const int r = l.memory(d, &m);
  return l.checked(r, static_cast<double>(m.*part));
}
double clock_of(const nvml_library& l, nvml_device d, unsigned which) {
  unsigned mhz = 0;
  const int r = l.clock_mhz(d, which, &mhz);
  return l.checked(r, 1e6 * mhz);
}
double power_of(const nvml_library& l, nvml_device d) {
  unsigned mw = 0;
  const int r = l.power_mw(d, &mw);
  return l.checked(r, 1e-3 * mw);
}
double energy_of(const nvml_library& l, nvml_device d) {
  unsigned long long mj = 0;
  const int r = l.energy_mj(d, &mj);
  return l.checked(r, 1e-3 * static_cast<double>(mj));
}
double temperature_of(const nvml_library& l, nvml_device d) {
  unsigned degrees = 0;
  const int r = l.temperature(d, nvml_temperature_gpu, &degrees);
  return l.checked(r, degrees);
}

bool has_utilization(const nvml_library& l) { return l.utilization != nullptr; }
bool has_memory(const nvml_library& l) { return l.memory != nullptr; }
bool has_clock(const nvml_library& l) { return l.clock_mhz != nullptr; }

constexpr gpu_value gpu_values[] = {
    {"utilization", "1", "Share of the last interval in which a kernel was running", false, has_utilization,
     [](const nvml_library& l, nvml_device d) { return utilization_of(l, d, &nvml_utilization::gpu); }},
    {"memory-utilization", "1", "Share of the last interval in which its memory was read or written", false,
     has_utilization,
     [](const nvml_library& l, nvml_device d) { return utilization_of(l, d, &nvml_utilization::memory); }},
    {"memory/used", "bytes", "Used memory of the GPU", false, has_memory,
     [](const nvml_library& l, nvml_device d) { return memory_of(l, d, &nvml_memory::used); }},
    {"memory/free", "bytes", "Free memory of the GPU", false, has_memory,
     [](const nvml_library& l, nvml_device d) { return memory_of(l, d, &nvml_memory::free); }},
    {"memory/total", "bytes", "Memory of the GPU", false, has_memory,
     [](const nvml_library& l, nvml_device d) { return memory_of(l, d, &nvml_memory::total); }},
    {"power", "W", "Power of the GPU and its memory", false,
     [](const nvml_library& l) { return l.power_mw != nullptr; }, power_of},
    {"energy", "J", "Energy of the GPU since its driver was loaded, or the last reset", true,
     [](const nvml_library& l) { return l.energy_mj != nullptr; }, energy_of},
    {"temperature", "degrees C", "Temperature of the GPU", false,
     [](const nvml_library& l) { return l.temperature != nullptr; }, temperature_of},
    {"clock/sm", "Hz", "Frequency of its multiprocessors", false, has_clock,
     [](const nvml_library& l, nvml_device d) { return clock_of(l, d, nvml_clock_sm); }},
    {"clock/memory", "Hz", "Frequency of its memory", false, has_clock,
     [](const nvml_library& l, nvml_device d) { return clock_of(l, d, nvml_clock_memory); }},
};

std::string name_of(const nvml_library& l, nvml_device d) {
  char name[96] = "";
  if (l.name == nullptr || l.name(d, name, sizeof name) != nvml_success) return "GPU";
  return name;
}

void add_gpu(counter_registry& registry, const std::shared_ptr<nvml_library>& nvml, unsigned n, nvml_device device,
             std::vector<registration>& all, std::vector<std::string>& notes) {
  for (const gpu_value& v : gpu_values) {
    if (!v.known(*nvml)) continue;
    try {
      (void)v.ask(*nvml, device);
    } catch (const std::exception& x) {
      notes.push_back(fmt::format("/gpu{{gpu#{}}}/{} is omitted: {}", n, v.name, x.what()));
      continue;
    }
    all.push_back(registry.add({fmt::format("/gpu{{gpu#{}}}/{}", n, v.name), v.unit,
                                fmt::format("{} ({})", v.help, name_of(*nvml, device)), v.monotonic},
                               [nvml, device, ask = v.ask] { return ask(*nvml, device); }));
  }
}

}  // namespace

std::vector<registration> add_nvml_counters(counter_registry& registry, std::vector<std::string>* notes,
                                            const std::string& library) {
  std::vector<std::string> messages;
  std::vector<registration> all;
  unsigned count = 0;
  if (auto nvml = load_nvml(library); !nvml)
    messages.push_back(nvml.error().message);
  else if (const int r = (*nvml)->count(&count); r != nvml_success)
    messages.push_back("GPUs are omitted: NVML: " + (*nvml)->message(r));
  else
    for (unsigned n = 0; n < count; ++n) {
      nvml_device device = nullptr;
      if (const int found = (*nvml)->by_index(n, &device); found != nvml_success)
        messages.push_back(fmt::format("gpu#{} is omitted: NVML: {}", n, (*nvml)->message(found)));
      else
        add_gpu(registry, *nvml, n, device, all, messages);
    }
  if (count == 0 && messages.empty()) messages.push_back("GPUs are omitted: NVML found none");
  if (notes != nullptr) notes->insert(notes->end(), messages.begin(), messages.end());
  return all;
}

}  // namespace plx::probe
