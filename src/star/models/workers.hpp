// Loops of models over blocks, parallel where workers are there, and sums that do not depend on them.
//
// Thread safety: any. Cost: that of a for_loop. Example: star/models/self_consistent.cpp
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"

namespace plx::star::models {

/// Calls f(i) for 0 <= i < count, in parallel if the caller is a task.
template <class F>
void for_all(const char* name, std::size_t count, F&& f) {
  if (worker_index())
    for_loop(task_info{probe::register_name(name), probe::no_key}, std::size_t{0}, count, f);
  else
    for (std::size_t i = 0; i < count; ++i) f(i);
}

/// The sum of f(i), arrays of numbers, for 0 <= i < count, added in this order.
template <std::size_t N, class F>
std::array<double, N> sum_all(const char* name, std::size_t count, F&& f) {
  std::vector<std::array<double, N>> parts(count);
  for_all(name, count, [&](std::size_t i) { parts[i] = f(i); });
  std::array<double, N> sum{};
  for (const auto& part : parts)
    for (std::size_t k = 0; k < N; ++k) sum[k] += part[k];
  return sum;
}

}  // namespace plx::star::models
