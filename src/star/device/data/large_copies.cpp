#include "star/device/data/large_copies.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/error.hpp"
#include "rt/for_loop.hpp"

namespace plx::star::device {

namespace {

constexpr std::size_t lane_bytes = std::size_t{16} << 20;

struct lane {
  gpu::buffer<double> pinned;
  future<void> ready = {};          // its last copy
  std::size_t first = 0, rows = 0;  // of that copy
};

/// Up to four pinned buffers in turn, each for some rows; fewer for fewer rows, or if there is no pinned memory for
/// more.
class lanes {
 public:
  /// For `all` rows of `row` values.
  lanes(machine& on, std::size_t all, std::size_t row)
      : all_(all), rows_(std::max<std::size_t>(1, lane_bytes / (row * sizeof(double)))) {
    lanes_.reserve(most);
    try {
      while (lanes_.size() < most && lanes_.size() * rows_ < all)
        lanes_.push_back({gpu::buffer<double>(on.stream(), rows_ * row, gpu::memory_kind::pinned)});
    } catch (const gpu::error& e) {
      if (e.kind() != gpu::failure::out_of_memory) throw;
    }
  }

  bool empty() const { return lanes_.empty(); }
  std::size_t rows() const { return rows_; }
  /// The next lane, for rows that begin with `first`. Its last copy is complete, and `empty(lane)` has run after it.
  template <class Empty>
  lane& next(std::size_t first, Empty empty) {
    lane& l = lanes_[turn_++ % lanes_.size()];
    finish(l, empty);
    l.first = first;
    l.rows = std::min(rows_, all_ - first);
    return l;
  }
  template <class Empty>
  void finish_all(Empty empty) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) finish(lanes_[turn_++ % lanes_.size()], empty);
  }

 private:
  template <class Empty>
  void finish(lane& l, Empty empty) {
    if (!l.ready.valid()) return;
    l.ready.get();
    empty(l);
  }

  static constexpr std::size_t most = 4;
  std::size_t all_, rows_, turn_ = 0;
  std::vector<lane> lanes_;
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

/// Lanes for these rows; none if direct copies are made, because the rows are few or pinned memory is used up.
lanes lanes_for(machine& on, std::size_t rows, std::size_t row) {
  const bool is_large = rows * row * sizeof(double) > large_copy_bytes;
  return {on, is_large ? rows : 0, std::max<std::size_t>(1, row)};
}

}  // namespace

void copy_to_device(machine& on, double* to, std::span<const double* const> rows, std::size_t row) {
  lanes through = lanes_for(on, rows.size(), row);
  if (through.empty()) {
    by_neighbours(rows, row, [&](std::size_t first, std::size_t n) {
      on.to_device(to + first * row, rows[first], n * row * sizeof(double));
    });
  } else {
    const auto nothing = [](const lane&) {};
    for (std::size_t first = 0; first < rows.size(); first += through.rows()) {
      lane& l = through.next(first, nothing);
      by_workers(l.rows, [&](std::size_t i) { std::copy_n(rows[first + i], row, l.pinned.data() + i * row); });
      on.copy(to + first * row, l.pinned.data(), l.rows * row * sizeof(double));
      l.ready = on.stream().future();
    }
    through.finish_all(nothing);
  }
  on.synchronize();
}

void copy_from_device(machine& on, std::span<double* const> rows, const double* from, std::size_t row) {
  lanes through = lanes_for(on, rows.size(), row);
  if (through.empty()) {
    by_neighbours(rows, row, [&](std::size_t first, std::size_t n) {
      on.from_device(rows[first], from + first * row, n * row * sizeof(double));
    });
  } else {
    const auto empty = [&](const lane& l) {
      by_workers(l.rows, [&](std::size_t i) { std::copy_n(l.pinned.data() + i * row, row, rows[l.first + i]); });
    };
    for (std::size_t first = 0; first < rows.size(); first += through.rows()) {
      lane& l = through.next(first, empty);
      on.copy(l.pinned.data(), from + first * row, l.rows * row * sizeof(double));
      l.ready = on.stream().future();
    }
    through.finish_all(empty);
  }
  on.synchronize();
}

}  // namespace plx::star::device
