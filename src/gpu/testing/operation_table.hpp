// The table of operations: every kernel of the project is a row, which one test runs on every backend against the
// operation's own cpu function, and a benchmark times. Rows stand beside their kernels
// (gpu/testing/operation_rows.cpp).
//
//   operation_row add_row(unsigned n) {
//     return row(add, "n=1000", [](operation_data& d, std::vector<add_item>& items) {
//       items.push_back({d.input<double>(x), d.input<double>(y), d.output<double>(1000), 1000});
//       return operation_cost{1000, 24000};
//     });
//   }
//
// What surrounds each array is guarded: nothing may be written there, and what is read from there is different in the
// reference and in the trial, so that the results are.
// Thread safety: none. Errors: gpu::error where the device fails. Cost: each array three times, on the host too.
// Example: gpu/test/operation_table_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/operation.hpp"

namespace plx::gpu::testing {

/// What one launch of a row's items has to do at least. 0 flops: not counted.
struct operation_cost {
  double flops = 0, bytes = 0;
};

/// What an operation does with an array.
enum class array_use : std::uint8_t {
  input,      // reads; it must not change
  in_out,     // may read and change: all of it is compared
  output,     // must write every value: holds poison before
  scratch,    // may write, and read what it has written: not compared
  addresses,  // reads; it holds addresses of other arrays, so it is not compared
};

/// Where a row puts what its items point to. The row's function runs several times and must do the same each time.
class operation_data {
 public:
  virtual ~operation_data() = default;
  template <class T>
  const T* input(std::type_identity_t<std::span<const T>> values) {
    return add<T>(values.data(), values.size(), array_use::input);
  }
  template <class T>
  T* in_out(std::type_identity_t<std::span<const T>> values) {
    return add<T>(values.data(), values.size(), array_use::in_out);
  }
  template <class T>
  T* output(std::size_t n) {
    return add<T>(nullptr, n, array_use::output);
  }
  template <class T>
  T* scratch(std::size_t n) {
    return add<T>(nullptr, n, array_use::scratch);
  }
  template <class T>
  const T* addresses(std::type_identity_t<std::span<const T>> values) {
    return add<T>(values.data(), values.size(), array_use::addresses);
  }

 protected:
  /// `values` null: poison. Returns the address for the item.
  virtual void* place(const void* values, std::size_t count, std::size_t element_bytes, bool real, array_use use) = 0;

 private:
  template <class T>
  T* add(const T* values, std::size_t n, array_use use) {
    static_assert(std::is_trivially_copyable_v<T>, "devices copy bytes");
    return static_cast<T*>(place(values, n, sizeof(T), std::is_same_v<T, double>, use));
  }
};

/// A shape that is small enough for tests, one large enough to be timed, or both.
enum class row_use : std::uint8_t { check = 1, time = 2, both = 3 };

struct operation_row {
  std::string name;  // "advance_stage/ppm/hllc/n=8"
  const any_operation* op = nullptr;
  /// Places the arrays and appends the items, as bytes.
  std::function<operation_cost(operation_data&, std::vector<std::byte>&)> make;
  row_use use = row_use::both;
  /// Of arrays of double: largest difference over the largest value of the reference's array. 0: the same bits.
  double error_bound = 0;
};

/// A row whose function is `operation_cost make(operation_data&, std::vector<Item>&)`.
template <class Item, class Make>
operation_row row(const operation<Item>& op, const std::string& shape, Make make, row_use use = row_use::both,
                  double error_bound = 0) {
  return {std::string(op.name) + "/" + shape, &op,
          [make = std::move(make)](operation_data& d, std::vector<std::byte>& bytes) {
            std::vector<Item> items;
            const operation_cost cost = make(d, items);
            const auto* begin = reinterpret_cast<const std::byte*>(items.data());
            bytes.assign(begin, begin + items.size() * sizeof(Item));
            return cost;
          },
          use, error_bound};
}

/// False: the backend has no kernel for it, and a launch there is an error that says so
/// (PLX_GPU_OPERATION_WITHOUT_SYCL).
inline bool is_written_for(const backend& b, const any_operation& op) { return b.name != "sycl" || op.sycl != nullptr; }

struct check_options {
  std::size_t guard_bytes = 4096;  // before and after each array; a multiple of 256. 0: a memory checker sees to it
};
/// Runs the row on the first device of the backend and compares with the operation's cpu function, which runs here.
/// Empty: all is well; otherwise a line for each array with something wrong.
std::string check_row(const operation_row& r, const backend& b, const check_options& o = {});

/// What a device reaches: bytes of a copy within its memory, read and written both counted, and additions and
/// multiplications of doubles, each rounded (no fused ones).
struct device_limits {
  double bytes_per_s = 0, flops_per_s = 0;
};
device_limits measure_limits(const backend& b);

struct row_time {
  double seconds = 0;  // of one launch, on the device: median of five
  operation_cost cost;
};
/// Launches follow each other as a graph, so that the host's cost is not seen.
row_time time_row(const operation_row& r, const backend& b);
/// Name, us, GB/s, GFLOP/s and the shares of the limits; and the title of these.
std::string row_time_title();
std::string row_time_line(const operation_row& r, const row_time& t, const device_limits& most);

/// The rows of the library gpu itself.
std::vector<operation_row> operation_rows();

}  // namespace plx::gpu::testing
