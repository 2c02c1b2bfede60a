// What g++'s -fsanitize-coverage=trace-pc calls, told to libFuzzer in its own way: which edges ran, and how often. Of
// comparisons (trace-cmp) both know the same functions, but for floating-point numbers, which libFuzzer does not use.
// A place of the code is a counter by its hash: two of some 20,000 places share one of 2^18 now and then, which hides
// a path and invents none. libFuzzer has a __sanitizer_cov_trace_pc of its own, which ends the program: the linker's
// --wrap puts this one in its place (CMakeLists.txt).
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

[[maybe_unused]] const bool told = (__sanitizer_cov_8bit_counters_init(counters, counters + sizeof counters), true);

}  // namespace

// Nothing here may be watched itself. Threads may lose a count to each other.
__attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  ++counters[(place * 0x9e3779b97f4a7c15u) >> (64 - bits)];
}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
