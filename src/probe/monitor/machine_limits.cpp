#include "probe/monitor/machine_limits.hpp"

#if defined(__unix__)
#include <unistd.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <charconv>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/available_memory.hpp"
#include "base/clock.hpp"
#include "base/file.hpp"

namespace plx::probe {
namespace {

constexpr unsigned chains = 12;          // independent: two pipelines of four to five cycles each
constexpr double multiply_add_s = 0.02;  // of a round
constexpr int rounds = 5;

// Inlined into functions for several instruction sets. This file is compiled with contraction to fused multiply-adds.

template <unsigned Bytes>
struct vector_of {
  typedef double type __attribute__((vector_size(Bytes)));
};

template <unsigned Bytes>
[[gnu::always_inline]] inline double multiply_add_chains(std::uint64_t n) {
  using vector = typename vector_of<Bytes>::type;
  vector x[chains] = {};
  vector factor{}, term{};
  factor += 0.999;
  term += 1e-3;
  for (std::uint64_t i = 0; i < n; ++i)
    for (vector& one : x) one = one * factor + term;
  double sum = 0;
  for (const vector& one : x) sum += one[0];
  return sum;
}

// For a[i] = b[i] + s c[i] the processor would read the lines of a as well, or not, depending on its type.
[[gnu::always_inline]] inline void update_of(double* __restrict a, const double* __restrict b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] += 1e-3 * b[i];
}

struct kernels {
  unsigned vector_bytes;
  double (*multiply_add)(std::uint64_t n);
  void (*update)(double* a, const double* b, std::size_t n);
};

double multiply_add_16(std::uint64_t n) { return multiply_add_chains<16>(n); }
void update_16(double* a, const double* b, std::size_t n) { update_of(a, b, n); }

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double multiply_add_32(std::uint64_t n) { return multiply_add_chains<32>(n); }
[[gnu::target("avx2,fma")]] void update_32(double* a, const double* b, std::size_t n) { update_of(a, b, n); }
[[gnu::target("avx512f,fma")]] double multiply_add_64(std::uint64_t n) { return multiply_add_chains<64>(n); }

kernels kernels_of_processor() {
  if (__builtin_cpu_supports("avx512f")) return {64, multiply_add_64, update_32};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {32, multiply_add_32, update_32};
  return {16, multiply_add_16, update_16};
}
#else
kernels kernels_of_processor() { return {16, multiply_add_16, update_16}; }
#endif

/// A round begins for all threads at once, and ends with the last of them.
struct round_times {
  explicit round_times(unsigned threads) : begin(threads), end(threads) {}
  std::vector<ticks> begin, end;
  [[nodiscard]] double length_s() const {
    const ticks first = *std::min_element(begin.begin(), begin.end()), last = *std::max_element(end.begin(), end.end());
    return std::max(seconds(last > first ? last - first : 1), 1e-9);
  }
};

class measurement {
 public:
  measurement(unsigned threads, std::size_t doubles)
      : threads_(threads), n_(doubles), together_(threads), times_(2 * rounds, round_times(threads)) {
    double one_s = 1;
    for (int i = 0; i < rounds; ++i) {  // the shortest: this thread may lose its core
      const ticks begin = now_ticks();
      keep_ += kernels_.multiply_add(calibration);
      one_s = std::min(one_s, std::max(seconds(now_ticks() - begin), 1e-9) / static_cast<double>(calibration));
    }
    n_multiply_adds_ = static_cast<std::uint64_t>(std::clamp(multiply_add_s / one_s, 1e3, 1e9));
  }

  /// The part of one thread, with an array of 2 * n_ doubles.
  void run(unsigned thread, double* arrays) {
    double *a = arrays, *b = a + n_;
    std::fill(a, a + 2 * n_, 1.0);  // the pages of this thread
    double sum = 0;
    for (int r = 0; r < rounds; ++r) timed(thread, r, [&] { sum += kernels_.multiply_add(n_multiply_adds_); });
    for (int r = rounds; r < 2 * rounds; ++r)
      timed(thread, r, [&] {
        kernels_.update(a, b, n_);
        asm volatile("" : : "r"(a) : "memory");
      });
    asm volatile("" : : "r"(&sum) : "memory");
  }

  [[nodiscard]] machine_limits result() const {
    machine_limits all{.threads = threads_, .vector_bits = 8 * kernels_.vector_bytes};
    const double lanes = static_cast<double>(kernels_.vector_bytes / sizeof(double));
    const double flops = 2.0 * lanes * chains * static_cast<double>(n_multiply_adds_) * threads_;
    const double bytes = 24.0 * static_cast<double>(n_) * threads_;
    for (int r = 0; r < rounds; ++r) {
      all.flops_per_s = std::max(all.flops_per_s, flops / times_[static_cast<std::size_t>(r)].length_s());
      all.bytes_per_s = std::max(all.bytes_per_s, bytes / times_[static_cast<std::size_t>(r + rounds)].length_s());
    }
    all.array_bytes = 2 * sizeof(double) * n_ * threads_;
    return all;
  }
  /// Instead of run(), by threads that cannot be started.
  void leave() { together_.arrive_and_drop(); }

 private:
  static constexpr std::uint64_t calibration = 100'000;

  template <class Work>
  void timed(unsigned thread, int round, Work work) {
    round_times& t = times_[static_cast<std::size_t>(round)];
    together_.arrive_and_wait();
    t.begin[thread] = now_ticks();
    work();
    t.end[thread] = now_ticks();
  }

  const kernels kernels_ = kernels_of_processor();
  const unsigned threads_;
  const std::size_t n_;
  std::uint64_t n_multiply_adds_ = 0;
  double keep_ = 0;
  std::barrier<> together_;
  std::vector<round_times> times_;
};

std::size_t cache_bytes() {
  std::size_t bytes = third_level_bytes("/sys");
#if defined(_SC_LEVEL3_CACHE_SIZE)
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    if (const long found = ::sysconf(level); found > 0) bytes = std::max(bytes, static_cast<std::size_t>(found));
#endif
  return bytes;
}

std::string line_of(const std::filesystem::path& file) {
  const std::string text = read_file(file.string()).value_or("");
  return text.substr(0, text.find('\n'));
}

/// Bytes of "32768K"; 0: not a number.
std::size_t bytes_of(const std::string& size) {
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), n);
  const std::string_view unit(end, size.data() + size.size());
  return unit == "K" ? n << 10 : unit == "M" ? n << 20 : n;
}

}  // namespace

std::size_t third_level_bytes(const std::string& sys) try {
  std::map<std::string, std::size_t> caches;  // by the processors that share it
  std::error_code none;
  for (const auto& cpu : std::filesystem::directory_iterator(sys + "/devices/system/cpu", none))
    for (const auto& cache : std::filesystem::directory_iterator(cpu.path() / "cache", none))
      if (line_of(cache.path() / "level") == "3")
        caches[line_of(cache.path() / "shared_cpu_list")] = bytes_of(line_of(cache.path() / "size"));
  std::size_t sum = 0;
  for (const auto& [processors, bytes] : caches) sum += bytes;
  return sum;
} catch (const std::filesystem::filesystem_error&) {  // a processor was removed
  return 0;
}

std::size_t limit_array_bytes(std::size_t cache_bytes, double available_bytes) {
  constexpr std::size_t least = std::size_t{64} << 20, most = std::size_t{512} << 20;
  const std::size_t bytes = std::clamp(4 * cache_bytes, least, std::max(most, 2 * cache_bytes));
  if (static_cast<double>(bytes) <= available_bytes / 2) return bytes;
  return std::max(static_cast<std::size_t>(available_bytes / 2), least);
}

result<machine_limits> measure_machine_limits(unsigned threads, std::size_t memory_bytes) {
  PLX_ASSERT(threads > 0);
  constexpr std::size_t least = std::size_t{1} << 16;
  const double available = available_memory_bytes();
  const std::size_t caches = cache_bytes();
  if (memory_bytes == 0) memory_bytes = limit_array_bytes(caches, available);
  if (static_cast<double>(memory_bytes) > available / 2)
    return error{
        fmt::format("the limits of the machine are not measured: {} MiB of memory are needed, and half of what "
                    "is available is less",
                    memory_bytes >> 20)};
  const std::size_t doubles = std::max(memory_bytes, least * threads) / threads / (2 * sizeof(double));
  std::vector<std::unique_ptr<double[]>> arrays(threads);
  for (auto& a : arrays) {
    a.reset(new (std::nothrow) double[2 * doubles]);
    if (a == nullptr) return error{"the limits of the machine are not measured: no memory for arrays"};
  }
  measurement all(threads, doubles);
  std::string failure;
  {
    std::vector<std::jthread> started;
    started.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
      try {
        started.emplace_back([&all, t, a = arrays[t].get()] { all.run(t, a); });
      } catch (const std::exception& x) {
        all.leave();  // first: the others wait for it
        failure = x.what();
      }
    }
  }
  if (!failure.empty())
    return error{fmt::format("the limits of the machine are not measured: no thread can be started: {}", failure)};
  machine_limits limits = all.result();
  limits.cache_bytes = caches;
  return limits;
}

}  // namespace plx::probe
