// packaged_task: a callable whose result goes to a future, as in the standard.
//
// Thread safety: as std::packaged_task. Cost: two allocations to make one. Example: future_test.cpp.
#pragma once

#include <tuple>

#include "rt/future.hpp"

namespace plx {

/// A callable whose result goes to a future.
template <class Signature>
class packaged_task;

template <class R, class... A>
class packaged_task<R(A...)> {
 public:
  packaged_task() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task>) explicit packaged_task(F&& f)
      : body_(new holder<std::decay_t<F>>(std::forward<F>(f))) {
    static_assert(std::is_invocable_r_v<R, std::decay_t<F>&, A...>,
                  "a packaged_task's callable must take its arguments and return its result");
  }
  packaged_task(packaged_task&& o) noexcept
      : body_(std::exchange(o.body_, nullptr)), result_(std::move(o.result_)), called_(o.called_) {}
  /// Destroys the previous callable: its future throws future_error(broken_promise) if it was never called.
  packaged_task& operator=(packaged_task&& o) noexcept {
    packaged_task(std::move(o)).swap(*this);
    return *this;
  }
  ~packaged_task() { delete body_; }

  [[nodiscard]] bool valid() const noexcept { return body_ != nullptr; }
  void swap(packaged_task& o) noexcept {
    std::swap(body_, o.body_);
    std::swap(result_, o.result_);
    std::swap(called_, o.called_);
  }
  friend void swap(packaged_task& a, packaged_task& b) noexcept { a.swap(b); }

  /// Throws future_error(future_already_retrieved) on the second call, and no_state if not valid(), as all members do.
  future<R> get_future() {
    require_body();
    return result_.get_future();
  }
  /// Throws future_error(promise_already_satisfied) on the second call.
  void operator()(A... args) {
    begin_call();
    try {
      if constexpr (std::is_void_v<R>) {
        body_->call(std::forward<A>(args)...);
        result_.set_value();
      } else {
        result_.set_value(body_->call(std::forward<A>(args)...));
      }
    } catch (...) {
      result_.set_exception(std::current_exception());
    }
  }
  /// As operator(), but the future becomes ready when the calling task ends.
  void make_ready_at_thread_exit(A... args) {
    begin_call();
    try {
      if constexpr (std::is_void_v<R>) {
        body_->call(std::forward<A>(args)...);
        result_.set_value_at_thread_exit();
      } else {
        result_.set_value_at_thread_exit(body_->call(std::forward<A>(args)...));
      }
    } catch (...) {
      result_.set_exception_at_thread_exit(std::current_exception());
    }
  }
  void reset() {
    require_body();
    result_ = promise<R>();
    called_ = false;
  }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual R call(A&&... args) = 0;
  };
  template <class F>
  struct holder final : callable {
    explicit holder(F&& f) : f_(std::move(f)) {}
    explicit holder(const F& f) : f_(f) {}
    R call(A&&... args) override {
      auto passed = std::forward_as_tuple(std::forward<A>(args)...);
      if constexpr (std::is_void_v<R>)
        std::apply(f_, std::move(passed));  // calls members too
      else
        return std::apply(f_, std::move(passed));
    }
    F f_;
  };
  void begin_call() {
    require_body();
    if (std::exchange(called_, true)) detail::throw_future_error(future_errc::promise_already_satisfied);
  }
  void require_body() const {
    if (body_ == nullptr) detail::throw_future_error(future_errc::no_state);
  }

  callable* body_ = nullptr;
  promise<R> result_;
  bool called_ = false;
};

namespace detail {
template <class>
struct call_signature;
#define PLX_CALL_SIGNATURE(QUALIFIERS)               \
  template <class R, class F, class... A>            \
  struct call_signature<R (F::*)(A...) QUALIFIERS> { \
    using type = R(A...);                            \
  };
PLX_CALL_SIGNATURE()
PLX_CALL_SIGNATURE(const)
PLX_CALL_SIGNATURE(&)
PLX_CALL_SIGNATURE(const&)
PLX_CALL_SIGNATURE(noexcept)
PLX_CALL_SIGNATURE(const noexcept)
PLX_CALL_SIGNATURE(&noexcept)
PLX_CALL_SIGNATURE(const& noexcept)
#undef PLX_CALL_SIGNATURE
}  // namespace detail

template <class R, class... A>
packaged_task(R (*)(A...)) -> packaged_task<R(A...)>;
template <class F>
packaged_task(F) -> packaged_task<typename detail::call_signature<decltype(&F::operator())>::type>;

}  // namespace plx
