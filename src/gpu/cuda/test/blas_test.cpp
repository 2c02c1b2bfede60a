#include "gpu/cuda/blas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/buffer.hpp"
#include "gpu/test/message_of_test.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu {
namespace {

using complex = std::complex<double>;

TEST(cuda_blas, says_in_one_line_why_it_is_missing) {
  plx::runtime rt({.workers = 1, .bind = false});
  const std::string missing = rt.run([] { return cuda::blas_missing(); });
  EXPECT_EQ(missing.find('\n'), std::string::npos);
  if (!missing.empty()) {
    EXPECT_NE(missing.find("cuBLAS"), std::string::npos) << missing;
  }
}

struct batch_item {
  const complex* a;
  const complex* b;
  complex* c;
  int n, count;
};
void batch_cpu(const batch_item&) {}
void batch_cuda(const launch& where, const batch_item* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    cuda::multiply(where, items[i].n, items[i].a, items[i].b, items[i].c,
                   static_cast<std::ptrdiff_t>(items[i].n) * items[i].n, items[i].count);
}
constexpr operation<batch_item> batch{{"batch", sizeof(batch_item), alignof(batch_item),
                                       detail::cpu_of<batch_item, batch_cpu>, detail::launch_of<batch_item, batch_cuda>,
                                       nullptr, nullptr}};

// Ordered with copies and launches in its stream, in several streams at once.
TEST(cuda_blas, multiplies_in_its_stream) {
  const backend& b = find_backend("cuda");
  if (device_count(b) == 0) GTEST_SKIP() << "no device";
  if (const std::string missing = cuda::blas_missing(); !missing.empty()) GTEST_SKIP() << missing;
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, b);
  rt.run([&] {
    constexpr int n = 37, count = 3, size = n * n;
    std::vector<complex> a(count * size), x(count * size);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = {std::sin(1.0 * static_cast<double>(i)), 0.3};
      x[i] = {0.5, std::cos(0.7 * static_cast<double>(i))};
    }
    std::vector<stream> streams;
    std::vector<buffer<complex>> on, back;
    for (int s = 0; s < 3; ++s) {
      streams.emplace_back(d);
      for (int i = 0; i < 3; ++i) on.emplace_back(streams[s], a.size());
      back.emplace_back(streams[s], a.size(), memory_kind::pinned);
    }
    for (int s = 0; s < 3; ++s) {
      streams[s].copy(on[3 * s].data(), a.data(), on[3 * s].bytes());
      streams[s].copy(on[3 * s + 1].data(), x.data(), on[3 * s].bytes());
      streams[s].launch(batch, batch_item{on[3 * s].data(), on[3 * s + 1].data(), on[3 * s + 2].data(), n, count});
      streams[s].copy(back[s].data(), on[3 * s + 2].data(), on[3 * s].bytes());
    }
    double largest = 0;
    for (int s = 0; s < 3; ++s) {
      streams[s].wait();
      for (int i = 0; i < count; ++i)
        for (int column = 0; column < n; ++column)
          for (int row = 0; row < n; ++row) {
            complex sum = 0;
            for (int k = 0; k < n; ++k) sum += a[i * size + k * n + row] * x[i * size + column * n + k];
            largest = std::max(largest, std::abs(sum - back[s].data()[i * size + column * n + row]));
          }
    }
    EXPECT_LT(largest, 2 * n * 1.2e-16 * n * 2);  // rounding of n terms of at most 2
  });
}

}  // namespace
}  // namespace plx::gpu
