#include "gpu/testing/add_multiply.hpp"

namespace plx::gpu::testing {

void add_multiply_cpu(const add_multiply_item& a) {
  for (std::uint32_t i = 0; i < a.n; ++i) {
    double x[add_multiply_chains];
    for (int c = 0; c < add_multiply_chains; ++c) x[c] = static_cast<double>(i) + c;
    for (std::uint32_t r = 0; r < a.rounds; ++r)
      for (double& v : x) v = v * a.factor + a.term;
    double sum = 0;
    for (const double v : x) sum += v;
    a.out[i] = sum;
  }
}

}  // namespace plx::gpu::testing
