#include "metg/graph.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace metg {
namespace {

/// A pseudorandom hash (the finalizer of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr int n_nearest = 5, n_spread = 5, n_random = 3, n_random_layers = 64;

std::vector<point> around(point p, point width, int radius) {
  std::vector<point> in;
  for (std::int64_t q = std::int64_t{p} - radius; q <= std::int64_t{p} + radius; ++q)
    if (q >= 0 && q < width) in.push_back(static_cast<point>(q));
  return in;
}

std::vector<point> inputs_of(pattern kind, step t, point p, point width) {
  std::vector<point> in;
  switch (kind) {
    case pattern::trivial:
      break;
    case pattern::stencil:
      in = around(p, width, 1);
      break;
    case pattern::nearest:
      in = around(p, width, n_nearest / 2);
      break;
    case pattern::fft: {
      const point other = p ^ (point{1} << (t % std::max<step>(1, static_cast<step>(std::bit_width(width) - 1))));
      in = {p};
      if (other < width) in.push_back(other);
      break;
    }
    case pattern::tree:
      in = {p / 2};
      break;
    case pattern::spread:
      for (point i = 0; i < n_spread; ++i) in.push_back((p + i * std::max<point>(1, width / n_spread) + t) % width);
      break;
    case pattern::random:
      for (int i = 0; i < n_random; ++i) in.push_back(static_cast<point>(mix((t * 1'000'003ull + p) * 31 + i) % width));
      break;
    case pattern::all_to_all:
      for (point q = 0; q < width; ++q) in.push_back(q);
      break;
  }
  std::sort(in.begin(), in.end());
  in.erase(std::unique(in.begin(), in.end()), in.end());
  return in;
}

step layers_before_repeating(pattern kind, point width) {
  return kind == pattern::tree ? static_cast<step>(std::bit_width(width - 1)) : 0;
}

step repeating_layers(pattern kind, point width) {
  switch (kind) {
    case pattern::fft:
      return std::max<step>(1, static_cast<step>(std::bit_width(width) - 1));
    case pattern::spread:
      return width;
    case pattern::random:
      return n_random_layers;
    default:
      return 1;
  }
}

}  // namespace

const char* name_of(pattern p) {
  constexpr const char* names[] = {"trivial", "stencil", "fft", "tree", "nearest", "spread", "random", "all_to_all"};
  return names[static_cast<int>(p)];
}
const char* name_of(kernel k) {
  constexpr const char* names[] = {"compute", "busy_wait", "memory", "imbalance", "empty"};
  return names[static_cast<int>(k)];
}

graph::graph(pattern kind, point width) : width_(width), start_(layers_before_repeating(kind, width)) {
  for (step t = 0; t < start_ + repeating_layers(kind, width); ++t) {
    const point active = t < start_ ? std::min(width, point{1} << t) : width;
    std::vector<std::vector<point>> inputs;
    for (point p = 0; p < active; ++p) inputs.push_back(inputs_of(kind, t, p, width));
    add_layer(active, inputs);
  }
}

void graph::add_layer(point active, const std::vector<std::vector<point>>& inputs) {
  layer l{active, {}, {0}, {}, {0}};
  std::vector<std::vector<point>> readers(width_);
  for (point p = 0; p < active; ++p) {
    for (point q : inputs[p]) {
      l.inputs.push_back(q);
      readers[q].push_back(p);
    }
    l.first_input.push_back(static_cast<point>(l.inputs.size()));
  }
  for (const auto& r : readers) {
    l.readers.insert(l.readers.end(), r.begin(), r.end());
    l.first_reader.push_back(static_cast<point>(l.readers.size()));
  }
  layers_.push_back(std::move(l));
}

std::uint64_t graph::tasks(step steps) const noexcept {
  std::uint64_t n = 0;
  for (step t = 0; t < std::min(steps, start_); ++t) n += active(t);
  return n + (steps > start_ ? std::uint64_t{steps - start_} * width_ : 0);
}

}  // namespace metg
