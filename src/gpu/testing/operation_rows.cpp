// Rows of the operations in gpu/testing.
#include "gpu/testing/operation_table.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {
namespace {

// One item per size.
operation_row add_row(const std::string& shape, std::vector<std::uint32_t> sizes, row_use use) {
  return row(
      add, shape,
      [sizes](operation_data& d, std::vector<add_item>& items) {
        operation_cost cost;
        for (const std::uint32_t n : sizes) {
          std::vector<double> x(n), y(n);
          for (std::uint32_t i = 0; i < n; ++i) x[i] = 0.1 * i, y[i] = 1.0 / (1.0 + i);
          items.push_back({d.input<double>(x), d.input<double>(y), d.output<double>(n), n});
          cost.flops += n, cost.bytes += 24.0 * n;
        }
        return cost;
      },
      use);
}

operation_row chain_row(unsigned n) {
  return row(
      chain, "items=" + std::to_string(n),
      [n](operation_data& d, std::vector<chain_item>& items) {
        const std::uint64_t begin[1] = {7};
        std::uint64_t* word = d.in_out<std::uint64_t>(begin);
        for (unsigned i = 0; i < n; ++i) items.push_back({word, i});
        return operation_cost{0, 16.0 * n};
      },
      row_use::check);
}

operation_row add_multiply_row() {
  return row(
      add_multiply, "n=300,7",
      [](operation_data& d, std::vector<add_multiply_item>& items) {
        for (const std::uint32_t n : {300u, 7u}) items.push_back({d.output<double>(n), 0.999, 1e-3, n, 100});
        return operation_cost{16.0 * 307 * 100, 8.0 * 307};
      },
      row_use::check);
}

}  // namespace

std::vector<operation_row> operation_rows() {
  return {add_row("n=1000", {1000}, row_use::check),
          add_row("n=1,255,1025", {1, 255, 1025}, row_use::check),
          add_row("300 items", std::vector<std::uint32_t>(300, 33), row_use::check),
          add_row("n=16777216", {1u << 24}, row_use::time),
          chain_row(1),
          chain_row(16),
          chain_row(2100),
          add_multiply_row()};
}

}  // namespace plx::gpu::testing
