// How values travel in tagged messages, send() and recv() of net/collectives.hpp, and the receptions that wait for
// them.
//
// Thread safety: values; send_tagged() and receive_tagged(): everything. Cost: a copy on each side;
// net/group/tagged_messages.hpp has the rest. Example: net/group/test/tagged_test.cpp
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "net/group/call.hpp"
#include "net/group/elements.hpp"
#include "rt/future.hpp"

namespace plx::net::collective {

/// The type of the values in a message, equal in all processes of a program.
struct value_type {
  std::uint64_t id = 0;
  std::uint32_t each_bytes = 0;  ///< of an element; 0: one serialized value
  std::uint32_t unused = 0;
  bool operator==(const value_type&) const = default;
};

/// The name of T as the compiler spells it, with the name of this function.
template <class T>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}

inline constexpr std::size_t any_count = ~std::size_t{0};

/// How a T travels in a message: as elements, or serialized. count: the number of elements that are expected.
template <class T>
struct carried {
  static constexpr std::size_t count = 1;
  static constexpr std::size_t each = is_element<T> ? sizeof(T) : 0;
  static constexpr value_type type{fnv1a(spelled<T>()), each};
  static payload pack(const T& value) { return payload::of(value); }
  static T unpack(const payload& p);
};
/// A vector is sent as its elements: it can be received into a span.
template <class T, class A>
requires is_element<T>
struct carried<std::vector<T, A>> {
  static constexpr std::size_t count = any_count;
  static constexpr value_type type = carried<T>::type;
  static payload pack(const std::vector<T, A>& v) {
    check_bitwise<T>();
    return payload(std::as_bytes(std::span(v)));
  }
  static std::vector<T, A> unpack(const payload& p) {
    check_bitwise<T>();
    std::vector<T, A> v(p.size() / sizeof(T));
    copy_elements(p, elements_of(std::span<T>(v)));
    return v;
  }
};
template <class T>
T carried<T>::unpack(const payload& p) {
  T value{};
  if constexpr (is_element<T>)
    check_bitwise<T>(), copy_elements(p, elements_of(std::span<T>(&value, 1)));
  else
    value = p.as<T>();
  return value;
}

/// The values that a recv() expects.
struct expected_values {
  value_type type;
  std::size_t count = any_count;  ///< of elements
  std::string_view type_name;     ///< spelled<T>()
};

/// A recv() in progress.
class tagged_reception {
 public:
  explicit tagged_reception(const expected_values& e) noexcept : expected(e) {}
  virtual ~tagged_reception() = default;
  tagged_reception(const tagged_reception&) = delete;
  tagged_reception& operator=(const tagged_reception&) = delete;
  /// Completes the future with the contents, which have the expected type and number of elements. Throws, without
  /// completing it, if they cannot be read.
  virtual void take(const payload& contents) = 0;
  virtual void fail(std::exception_ptr e) noexcept = 0;

  const expected_values expected;
};

/// Unpack: R operator()(const payload&).
template <class R, class Unpack>
class reception_of final : public tagged_reception {
 public:
  reception_of(const expected_values& e, Unpack u) : tagged_reception(e), unpack_(std::move(u)) {}
  future<R> get_future() { return result_.get_future(); }
  void take(const payload& contents) override {
    if constexpr (std::is_void_v<R>)
      unpack_(contents), result_.set_value();
    else
      result_.set_value(unpack_(contents));
  }
  void fail(std::exception_ptr e) noexcept override { result_.set_exception(std::move(e)); }

 private:
  Unpack unpack_;
  promise<R> result_;
};

/// See tagged_messages.hpp.
inline constexpr std::uint64_t most_waiting_bytes = std::uint64_t{16} << 20, bytes_of_head = 256;

future<void> send_tagged(const group& g, unsigned to, std::uint32_t tag, value_type type, payload contents);
void receive_tagged(const group& g, unsigned from, std::uint32_t tag, std::unique_ptr<tagged_reception> r);

template <class R, class T, class Unpack>
future<R> receive_tagged(const group& g, unsigned from, std::uint32_t tag, std::size_t count, Unpack u) {
  auto r =
      std::make_unique<reception_of<R, Unpack>>(expected_values{carried<T>::type, count, spelled<T>()}, std::move(u));
  auto f = r->get_future();
  receive_tagged(g, from, tag, std::move(r));
  return f;
}

}  // namespace plx::net::collective
