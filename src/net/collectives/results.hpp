// What the futures of collective calls hold, made of the payloads that came.
//
// Thread safety: as net/collectives/call.hpp says. Cost: a copy of each value. Example: net/collectives_test.cpp
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "net/collectives/algorithms.hpp"
#include "rt/future.hpp"

namespace plx::net::collective {

/// A call and the state of its future. Result: R operator()(std::span<payload>).
template <class R, class Result>
class waiting final : public plx::detail::future_state<R>, public call {
  using state = plx::detail::future_state<R>;

 public:
  waiting(group& g, kind k, bool heavy, Result r) : state(destroy, 2), call(g, k, heavy), result_(std::move(r)) {}
  void combine(payload& left, const payload& right) override {
    if constexpr (requires { result_.combine(left, right); }) result_.combine(left, right);
  }

 private:
  void finished(std::span<payload> results) noexcept override {
    this->complete_with_result_of([&]() -> R { return result_(results); });
    this->release();
  }
  void failed(std::exception_ptr e) noexcept override {
    this->complete_with(std::move(e));
    this->release();
  }
  static void destroy(plx::detail::future_state_base* base) noexcept {
    auto& self = static_cast<waiting&>(*base);  // of a reference: there is no null to keep
    self.~waiting();
    plx::detail::pool_put(&self, sizeof self);
  }

  [[no_unique_address]] Result result_;
};

template <class T>
inline constexpr bool is_light = is_bitwise<T> && sizeof(T) <= 256;

struct nothing {
  void operator()(std::span<payload>) const {}
};
template <class T>
struct one {
  T operator()(std::span<payload> p) const { return p[0].as<T>(); }
};
template <class T>
struct one_or_none {
  std::optional<T> operator()(std::span<payload> p) const {
    return p.empty() ? std::nullopt : std::optional<T>(p[0].as<T>());
  }
};
template <class T>
struct many {
  std::vector<T> operator()(std::span<payload> all) const {
    std::vector<T> values;
    values.reserve(all.size());
    for (const payload& p : all) values.push_back(p.as<T>());
    return values;
  }
};
/// A result that values are combined to.
template <class T, class Op, class Result>
struct combined : Result {
  explicit combined(Op o) : op(std::move(o)) {}
  void combine(payload& left, const payload& right) const { left = payload::of<T>(op(left.as<T>(), right.as<T>())); }
  Op op;
};

template <class T>
std::vector<payload> payloads_of(const std::vector<T>& values) {
  std::vector<payload> all;
  all.reserve(values.size());
  for (const T& v : values) all.push_back(payload::of(v));
  return all;
}

}  // namespace plx::net::collective
