// The table of operations: every kernel of the project has a row. A test runs each row on every backend and compares it
// with the operation's cpu function, and a benchmark times it. Rows are defined next to their kernels
// (gpu/testing/operation_rows.cpp).
//
//   operation_row add_row(unsigned n) {
//     return row(add, "n=1000", [](operation_data& d, std::vector<add_item>& items) {
//       items.push_back({d.input<double>(x), d.input<double>(y), d.output<double>(1000), 1000});
//       return operation_cost{1000, 24000};
//     });
//   }
//
// Each array is surrounded by guards that detect writes out of bounds. Their contents differ between the reference and
// the trial, so reads out of bounds give different results.
// Thread safety: none. Errors: gpu::error if the device fails. Cost: three copies of each array, one of them on the
// device. Example: gpu/test/operation_table_test.cpp
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

/// The minimum work of one launch of a row's items. 0 flops: not counted.
struct operation_cost {
  double flops = 0, bytes = 0;
};

/// How an operation uses an array.
enum class array_use : std::uint8_t {
  input,      // read; must not change
  in_out,     // read and written: all of it is compared
  output,     // every value must be written; filled with poison before
  scratch,    // may be written, and read after being written; not compared
  addresses,  // read; contains addresses of other arrays, so it is not compared
};

/// Where a row places the arrays that its items point to. The row's function runs several times and must be
/// deterministic.
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
  /// `values` null: fills with poison. Returns the address for the item.
  virtual void* place(const void* values, std::size_t count, std::size_t element_bytes, bool real, array_use use) = 0;

 private:
  template <class T>
  T* add(const T* values, std::size_t n, array_use use) {
    static_assert(std::is_trivially_copyable_v<T>, "devices copy bytes");
    return static_cast<T*>(place(values, n, sizeof(T), std::is_same_v<T, double>, use));
  }
};

/// Whether a shape is small enough for tests, large enough to be timed, or both.
enum class row_use : std::uint8_t { check = 1, time = 2, both = 3 };

struct operation_row {
  std::string name;  // "advance_stage/ppm/hllc/n=8"
  const any_operation* op = nullptr;
  /// Places the arrays and appends the items, as bytes.
  std::function<operation_cost(operation_data&, std::vector<std::byte>&)> make;
  row_use use = row_use::both;
  /// For arrays of double: largest difference relative to the largest reference value. 0: bitwise equality.
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

/// False if the backend has no kernel for it, so that a launch there fails (PLX_GPU_OPERATION_WITHOUT_SYCL, products of
/// matrices on hip).
inline bool is_written_for(const backend& b, const any_operation& op) {
  return (b.name != "sycl" || op.sycl != nullptr) && (b.name != "hip" || op.hip != nullptr);
}

struct check_options {
  std::size_t guard_bytes = 4096;  // before and after each array; a multiple of 256. 0: for runs under a memory checker
};
/// Runs the row on the first device of the backend and compares it with the operation's cpu function, run in this
/// thread. Returns "" on success, otherwise a line that lists the defects of each array.
std::string check_row(const operation_row& r, const backend& b, const check_options& o = {});

/// Peak rates of a device: bytes read plus written by a copy within its memory, and additions and multiplications of
/// doubles without fused operations.
struct device_limits {
  double bytes_per_s = 0, flops_per_s = 0;
};
device_limits measure_limits(const backend& b);

struct row_time {
  double seconds = 0;  // of one launch, on the device: median of five
  operation_cost cost;
};
/// Times launches within a graph, which excludes the host's cost.
row_time time_row(const operation_row& r, const backend& b);
/// The heading, and a line with name, us, GB/s, GFLOP/s and the shares of the limits.
std::string row_time_title();
std::string row_time_line(const operation_row& r, const row_time& t, const device_limits& most);

/// The rows of the library gpu itself.
std::vector<operation_row> operation_rows();

}  // namespace plx::gpu::testing
