// Kokkos' loops, reductions, scans and copies that return futures.
//
//   auto a = async_parallel_for(on, "scale", n, KOKKOS_LAMBDA(int i) { x(i) *= 2; });
//   auto s = async_parallel_reduce<double>(on, "sum", n, KOKKOS_LAMBDA(int i, double& t) { t += x(i); });
//   double total = s.get();
//
// `on` is a space or an instance (gpu/kokkos/space.hpp). The name is Kokkos' label; it names the task, or the operation
// in errors of the device. The iterations are
//   a number n                                                [0, n)
//   a RangePolicy or MDRangePolicy of the same space          its range, chunks or tiles, and work tag
//   a function from the instance to any policy                [=](const auto& s) { return TeamPolicy(s, 8, 32); }
// Results are returned in a future (the first template argument is the type of a value, then the result is the sum, or
// a reducer), or written to Views and reducers of Views that are passed, as in Kokkos; those must live until it is
// done.
// Dependent loops: use one instance, or .then().
// Thread safety, cost, errors: gpu/kokkos/space.hpp. Example: gpu/kokkos/test/parallel_test.cpp, examples/20_kokkos.cpp
#pragma once

#include <Kokkos_Core.hpp>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/kokkos/space.hpp"

namespace plx::kokkos {
namespace detail {

template <class T>
inline constexpr bool is_range = false;
template <class... P>
inline constexpr bool is_range<Kokkos::RangePolicy<P...>> = true;
template <class T>
inline constexpr bool is_md_range = false;
template <class... P>
inline constexpr bool is_md_range<Kokkos::MDRangePolicy<P...>> = true;

/// The policy `p` on the instance `s`.
template <class Space, class P>
auto bind(const Space& s, const P& p) {
  if constexpr (std::is_integral_v<P>) {
    return Kokkos::RangePolicy<Space>(s, 0, p);
  } else if constexpr (is_range<P>) {
    static_assert(std::is_same_v<typename P::execution_space, Space>,
                  "the RangePolicy has another execution space: use RangePolicy<Space>");
    return P(s, p.begin(), p.end(), Kokkos::ChunkSize(static_cast<int>(p.chunk_size())));
  } else if constexpr (is_md_range<P>) {
    static_assert(std::is_same_v<typename P::execution_space, Space>,
                  "the MDRangePolicy has another execution space: use MDRangePolicy<Space, Rank<n>>");
    return P(s, p.m_lower, p.m_upper, p.m_tile);
  } else {
    static_assert(std::is_invocable_v<const P&, const Space&>,
                  "expected a number, a RangePolicy, an MDRangePolicy, or a function from the instance to a "
                  "policy, such as [=](const auto& s) { return Kokkos::TeamPolicy(s, 8, 32); }");
    return p(s);
  }
}

template <class T>
struct result_of {
  using type = T;
  template <class View>
  static const View& into(const View& v) {
    return v;
  }
};

// A reducer for results in another memory space, given by its last argument.
template <class R>
struct reducer_in;
template <template <class, class> class R, class T, class Old>
struct reducer_in<R<T, Old>> {
  template <class Space>
  using type = R<T, Space>;
};
template <template <class, class, class> class R, class T, class I, class Old>
struct reducer_in<R<T, I, Old>> {
  template <class Space>
  using type = R<T, I, Space>;
};

template <class R>
requires Kokkos::is_reducer_v<R>
struct result_of<R> {
  using type = typename R::value_type;
  template <class View>
  static auto into(const View& v) {
    return typename reducer_in<R>::template type<typename View::memory_space>(v);
  }
};

template <class R>
using result_type = typename result_of<R>::type;

template <class T>
inline constexpr bool is_kept_result = Kokkos::is_view_v<T> || Kokkos::is_reducer_v<T>;

}  // namespace detail

/// Ready when f(i) has been called for all i.
template <class On, class P, class F>
[[nodiscard]] plx::future<void> async_parallel_for(On& on, const std::string& name, P iterations, F f) {
  return on.pick().put(
      name, [name, iterations, f](const auto& s) { Kokkos::parallel_for(name, detail::bind(s, iterations), f); });
}

/// R is the type of a value (then the result is the sum) or a reducer of Kokkos, such as Kokkos::Max<double>. On a
/// device the value must be trivially copyable; it is written to recycled pinned memory, without blocking the host.
template <class R, class On, class P, class F>
[[nodiscard]] plx::future<detail::result_type<R>> async_parallel_reduce(On& on, const std::string& name, P iterations,
                                                                        F f) {
  return on.pick().template put_for<detail::result_type<R>>(
      name, [name, iterations, f](const auto& s, const auto& result) {
        Kokkos::parallel_reduce(name, detail::bind(s, iterations), f, detail::result_of<R>::into(result));
      });
}

/// Writes the results to the Views and reducers of Views `into`.
template <class On, class P, class F, class... Into>
requires(sizeof...(Into) > 0) [[nodiscard]] plx::future<void> async_parallel_reduce(On& on, const std::string& name,
                                                                                    P iterations, F f, Into... into) {
  static_assert((detail::is_kept_result<Into> && ...),
                "results must be Views or reducers of Views; for a single value use async_parallel_reduce<T>()");
  return on.pick().put(name, [name, iterations, f, into...](const auto& s) {
    Kokkos::parallel_reduce(name, detail::bind(s, iterations), f, into...);
  });
}

/// A prefix sum: calls f(i, partial sum, is_final).
template <class On, class P, class F>
[[nodiscard]] plx::future<void> async_parallel_scan(On& on, const std::string& name, P iterations, F f) {
  return on.pick().put(
      name, [name, iterations, f](const auto& s) { Kokkos::parallel_scan(name, detail::bind(s, iterations), f); });
}

/// A prefix sum that returns the total, of type T.
template <class T, class On, class P, class F>
[[nodiscard]] plx::future<T> async_parallel_scan(On& on, const std::string& name, P iterations, F f) {
  return on.pick().template put_for<T>(name, [name, iterations, f](const auto& s, auto result) {
    Kokkos::parallel_scan(name, detail::bind(s, iterations), f, result);
  });
}

/// Copies a View to a View, or assigns a value to all of a View, as Kokkos::deep_copy does, between any memory spaces
/// that it supports. On a device, copies from or to pageable host memory block the caller; pinned memory
/// (gpu/kokkos/view.hpp) does not.
template <class On, class To, class From>
[[nodiscard]] plx::future<void> async_deep_copy(On& on, const To& to, const From& from) {
  static_assert(Kokkos::is_view_v<To>, "the target must be a View; to read a value, use a View of pinned memory");
  return on.pick().put("deep_copy " + to.label(), [to, from](const auto& s) { Kokkos::deep_copy(s, to, from); });
}

}  // namespace plx::kokkos
