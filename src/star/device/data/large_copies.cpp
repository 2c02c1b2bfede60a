#include "star/device/data/large_copies.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "gpu/buffer.hpp"
#include "rt/for_loop.hpp"

namespace plx::star::device {

namespace {

constexpr std::size_t lane_bytes = std::size_t{16} << 20;

struct lane {
  gpu::buffer<double> pinned;
  future<void> ready;               // its last copy
  std::size_t first = 0, rows = 0;  // of that copy
};

/// Four pinned buffers in turn, each for some rows.
class lanes {
 public:
  lanes(machine& on, std::size_t row) : on_(on), row_(row), rows_(std::max<std::size_t>(1, lane_bytes / (row * sizeof(double)))) {}

  /// The next lane, for rows that begin with `first`. Its last copy is complete, and `empty(lane)` has run after it.
  template <class Empty>
  lane& next(std::size_t first, std::size_t all, Empty empty) {
    lane& l = lanes_[turn_++ % lanes_.size()];
    if (l.pinned.empty()) l.pinned = gpu::buffer<double>(on_.stream(), rows_ * row_, gpu::memory_kind::pinned);
    finish(l, empty);
    l.first = first;
    l.rows = std::min(rows_, all - first);
    return l;
  }
  template <class Empty>
  void finish_all(Empty empty) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) finish(lanes_[turn_++ % lanes_.size()], empty);
  }
  std::size_t rows() const { return rows_; }

 private:
  template <class Empty>
  void finish(lane& l, Empty empty) {
    if (!l.ready.valid()) return;
    l.ready.get();
    empty(l);
  }
  machine& on_;
  std::size_t row_, rows_, turn_ = 0;
  std::array<lane, 4> lanes_;
};

template <class F>
void by_workers(std::size_t rows, F f) {
  for_loop({probe::register_name("star.device.copy"), probe::no_key}, std::size_t{0}, rows, f);
}

/// Calls copy(first, rows) for rows that follow each other in memory, as many as possible at once.
template <class T, class F>
void by_neighbours(std::span<T* const> rows, std::size_t row, F copy) {
  for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
    while (last < rows.size() && rows[last] == rows[first] + (last - first) * row) ++last;
    copy(first, last - first);
  }
}

bool is_large(std::size_t rows, std::size_t row) { return rows * row * sizeof(double) > large_copy_bytes; }

}  // namespace

void copy_to_device(machine& on, double* to, std::span<const double* const> rows, std::size_t row) {
  if (is_large(rows.size(), row)) {
    lanes through(on, row);
    const auto nothing = [](const lane&) {};
    for (std::size_t first = 0; first < rows.size(); first += through.rows()) {
      lane& l = through.next(first, rows.size(), nothing);
      by_workers(l.rows, [&](std::size_t i) { std::copy_n(rows[first + i], row, l.pinned.data() + i * row); });
      on.copy(to + first * row, l.pinned.data(), l.rows * row * sizeof(double));
      l.ready = on.stream().future();
    }
    through.finish_all(nothing);
  } else {
    by_neighbours(rows, row, [&](std::size_t first, std::size_t n) {
      on.to_device(to + first * row, rows[first], n * row * sizeof(double));
    });
  }
  on.synchronize();
}

void copy_from_device(machine& on, std::span<double* const> rows, const double* from, std::size_t row) {
  if (is_large(rows.size(), row)) {
    lanes through(on, row);
    const auto empty = [&](const lane& l) {
      by_workers(l.rows, [&](std::size_t i) { std::copy_n(l.pinned.data() + i * row, row, rows[l.first + i]); });
    };
    for (std::size_t first = 0; first < rows.size(); first += through.rows()) {
      lane& l = through.next(first, rows.size(), empty);
      on.copy(l.pinned.data(), from + first * row, l.rows * row * sizeof(double));
      l.ready = on.stream().future();
    }
    through.finish_all(empty);
  } else {
    by_neighbours(rows, row, [&](std::size_t first, std::size_t n) {
      on.from_device(rows[first], from + first * row, n * row * sizeof(double));
    });
  }
  on.synchronize();
}

}  // namespace plx::star::device
