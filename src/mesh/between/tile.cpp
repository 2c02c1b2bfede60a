#include "mesh/between/tile.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace plx::mesh {

void tile_scratch::release::operator()(double* p) const { std::free(p); }

std::unique_ptr<double[], tile_scratch::release> tile_scratch::allocate(std::size_t doubles) {
  const std::size_t bytes = (doubles * sizeof(double) + 63) / 64 * 64;
  auto* memory = static_cast<double*>(std::aligned_alloc(64, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::fill_n(memory, doubles, 0.0);
  return std::unique_ptr<double[], release>(memory);
}

void tile_scratch::reserve(int variables, int block_size) {
  const std::size_t doubles = static_cast<std::size_t>(variables) * tile_cells(block_size);
  if (doubles <= doubles_) return;
  tile_ = allocate(doubles + 2 * margin);
  coarse_ = allocate(static_cast<std::size_t>(variables) * tile_cells(block_size / 2) + 2 * margin);
  doubles_ = doubles;
}

}  // namespace plx::mesh
