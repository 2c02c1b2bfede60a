// async and post: create tasks.
//
// Thread safety: everything may be called from tasks and external threads. Cost: one allocation from the worker's pool,
// a push and a pop; see docs/runtime.md. Example: future_test.cpp, examples/01_hello_task.cpp.
#pragma once

#include <tuple>

#include "rt/future.hpp"

namespace plx {
namespace detail {

/// A task and the state of its future in one allocation.
template <class R, class F, class... A>
class async_state final : public future_state<R> {
 public:
  template <class G, class... B>
  async_state(task_info info, G&& g, B&&... b)
      : future_state<R>(destroy_state<async_state>, 2),
        call_{std::forward<G>(g), std::tuple<A...>(std::forward<B>(b)...)} {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
    this->own_task_ = &task_;
  }
  ~async_state() {
    if (!called_) call_.~call();
  }
  void start() { submit_task(&task_); }
  /// call_now() runs the call in this frame; fork() runs it on this worker, and another worker may resume the caller.
  void call_now() { run(&task_, run_mode::run_inline); }
  void fork() { fork_task(alone()); }
  task* as_task() noexcept { return &task_; }
  /// The task gets a worker and an identity of its own and is never run inline by its waiter. Returns the task.
  task* alone() noexcept {
    this->own_task_ = nullptr;
    return &task_;
  }
  /// The task is not submitted: the first waiter runs it and holds a reference meanwhile.
  void defer() noexcept {
    this->deferred_.store(true, std::memory_order_release);
    this->release();
  }

 private:
  static void run(task* t, run_mode mode) {
    auto* self = const_cast<async_state*>(static_cast<const async_state*>(t->owner));
    const task_frame frame;
    auto error = self->emplace_result_of(
        [self]() -> R { return std::apply(std::move(self->call_.f), std::move(self->call_.args)); });
    // Destroy the callable before the result becomes visible: what it holds must not outlive the task.
    self->call_.~call();
    self->called_ = true;
    frame.end();
    if (error)
      self->complete_with(std::move(error));
    else
      self->complete(mode == run_mode::scheduled);
    self->release();
  }

  struct call {
    F f;
    std::tuple<A...> args;
  };
  task task_;
  bool called_ = false;
  union {
    call call_;
  };
};

/// A task without a future.
template <class F>
struct posted_task final : task {
  posted_task(task_info i, F&& g) : f(std::move(g)) { fill(i); }
  posted_task(task_info i, const F& g) : f(g) { fill(i); }
  void fill(task_info i) noexcept {
    info = i;
    run = [](task* t, run_mode) noexcept {  // an exception ends the program, as in std::thread
      auto* self = static_cast<posted_task*>(t);
      self->f();
      self->~posted_task();
      pool_put(self, sizeof(posted_task));
    };
  }
  F f;
};

/// Named after the callable's type, or after the function that `f` wraps, unless `info` has a name.
template <class F>
task_info named(task_info info) {
  if (info.name == probe::unnamed) info.name = probe::register_type_name<std::decay_t<F>>();
  return info;
}
template <class F>
task_info named(task_info info, const F& f) {
  if (info.name == probe::unnamed) info.name = probe::register_callable_name(f);
  return info;
}

template <class F>
task* make_posted(task_info info, F&& f) {
  using t = posted_task<std::decay_t<F>>;
  return pool_new<t>(named(info, f), std::forward<F>(f));
}

template <class F, class... A>
using async_result = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

template <class F, class... A>
auto* make_async(task_info info, F&& f, A&&... a) {
  using state = async_state<async_result<F, A...>, std::decay_t<F>, std::decay_t<A>...>;
  return make_state<state>(named(info, f), std::forward<F>(f), std::forward<A>(a)...);
}

template <class F>
inline constexpr bool is_plain_callable =
    !std::is_same_v<std::decay_t<F>, task_info> && !std::is_same_v<std::decay_t<F>, launch> && !is_executor<F>;

}  // namespace detail

/// Runs `f(args...)` as a task with the name and key of `info`, and returns the future of its result.
/// Arguments are decay-copied. Errors: get() rethrows an exception of the call.
template <class F, class... A>
future<detail::async_result<F, A...>> async(task_info info, F&& f, A&&... args) {
  auto* s = detail::make_async(info, std::forward<F>(f), std::forward<A>(args)...);
  s->start();
  return detail::adopt_state<detail::async_result<F, A...>>(s);
}
template <class F, class... A>
requires detail::is_plain_callable<F> future<detail::async_result<F, A...>> async(F&& f, A&&... args) {
  return async(task_info{}, std::forward<F>(f), std::forward<A>(args)...);
}
/// Runs the call according to `policy`; see launch.
template <class F, class... A>
future<detail::async_result<F, A...>> async(launch policy, F&& f, A&&... args) {
  auto* s = detail::make_async(task_info{}, std::forward<F>(f), std::forward<A>(args)...);
  auto result = detail::adopt_state<detail::async_result<F, A...>>(s);
  switch (detail::chosen(policy)) {
    case launch::deferred:
      s->defer();
      break;
    case launch::sync:
      s->call_now();
      break;
    case launch::fork:
      s->fork();
      break;
    default:
      s->start();
  }
  return result;
}

/// Runs `f()` as a detached task. An exception thrown by it ends the program.
template <class F>
void post(task_info info, F&& f) {
  detail::submit_task(detail::make_posted(info, std::forward<F>(f)));
}
template <class F>
requires detail::is_plain_callable<F>
void post(F&& f) { post(task_info{}, std::forward<F>(f)); }

}  // namespace plx
