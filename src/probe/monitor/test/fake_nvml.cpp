// A substitute for NVIDIA's library with two GPUs, of which the second has no energy counter. For nvml_test.cpp.
#include <cstring>

namespace {
struct device {
  unsigned n;
  unsigned long long energy_mj;
};
device devices[] = {{0, 5000}, {1, 0}};
int begun = 0;
constexpr int not_supported = 3, uninitialized = 1;
}  // namespace

extern "C" {
int nvmlInit_v2() { return ++begun, 0; }
int nvmlShutdown() { return --begun, 0; }
int fake_nvml_begun() { return begun; }
const char* nvmlErrorString(int code) { return code == not_supported ? "Not Supported" : "Uninitialized"; }
int nvmlDeviceGetCount_v2(unsigned* n) { return *n = 2, begun > 0 ? 0 : uninitialized; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, device** d) { return *d = &devices[n], 0; }
int nvmlDeviceGetName(device*, char* name, unsigned size) { return std::strncpy(name, "Fake 100", size), 0; }
int nvmlDeviceGetUtilizationRates(device* d, unsigned* u) { return u[0] = 75 - d->n, u[1] = 25, 0; }
int nvmlDeviceGetMemoryInfo(device*, unsigned long long* m) { return m[0] = 1000, m[1] = 600, m[2] = 400, 0; }
int nvmlDeviceGetPowerUsage(device*, unsigned* mw) { return *mw = 250'500, 0; }
int nvmlDeviceGetTotalEnergyConsumption(device* d, unsigned long long* mj) {
  if (d->n == 1) return not_supported;
  return *mj = d->energy_mj += 1000, 0;
}
int nvmlDeviceGetTemperature(device*, unsigned, unsigned* t) { return *t = 61, 0; }
int nvmlDeviceGetClockInfo(device*, unsigned which, unsigned* mhz) { return *mhz = 1000 * which, 0; }
}
