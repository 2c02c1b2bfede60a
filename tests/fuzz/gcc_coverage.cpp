// Adapts the calls of g++'s -fsanitize-coverage=trace-pc to libFuzzer: which edges ran, and how often. For comparisons
// (trace-cmp) both use the same functions, except for floating-point numbers, which libFuzzer ignores.
// A code address selects a counter by its hash: a few of some 20,000 addresses share one of 2^18 counters, which may
// hide a path but adds none. libFuzzer's own __sanitizer_cov_trace_pc ends the program: the linker's --wrap replaces it
// by this one (CMakeLists.txt).
#include <cstddef>
#include <cstdint>

extern "C" {
void __sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);
void __wrap___sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_cmpf(float, float);
void __sanitizer_cov_trace_cmpd(double, double);
}

namespace {

constexpr unsigned bits = 18;
std::uint8_t counters[std::size_t{1} << bits];

[[maybe_unused]] const bool registered =
    (__sanitizer_cov_8bit_counters_init(counters, counters + sizeof counters), true);

}  // namespace

// This function must not be instrumented itself. Concurrent threads may lose counts.
__attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  ++counters[(place * 0x9e3779b97f4a7c15u) >> (64 - bits)];
}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
