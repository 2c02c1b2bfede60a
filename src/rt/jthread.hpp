// jthread: a thread that is asked to stop and joined when it is destroyed, as in the standard.
//
// Thread safety: as std::jthread. Cost: that of async, and one allocation for the stop state. Example:
// jthread_test.cpp.
#pragma once

#include "rt/stop_token.hpp"
#include "rt/thread.hpp"

namespace plx {

class jthread {
 public:
  using id = thread::id;

  jthread() noexcept : source_(nostopstate) {}
  /// Runs `f(stop_token, args...)`, or `f(args...)` when it takes no token, as a task.
  template <class F, class... A>
  requires(!std::is_same_v<std::remove_cvref_t<F>, jthread>) explicit jthread(F&& f, A&&... args)
      : thread_(start(source_, std::forward<F>(f), std::forward<A>(args)...)) {}
  jthread(jthread&&) noexcept = default;
  /// Asks the thread that was here to stop, and waits for it.
  jthread& operator=(jthread&& o) noexcept {
    jthread(std::move(o)).swap(*this);
    return *this;
  }
  ~jthread() { end(); }

  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
  [[nodiscard]] id get_id() const noexcept { return thread_.get_id(); }
  /// Throws std::system_error as thread::join().
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  void swap(jthread& o) noexcept {
    std::swap(source_, o.source_);
    thread_.swap(o.thread_);
  }
  friend void swap(jthread& a, jthread& b) noexcept { a.swap(b); }

  [[nodiscard]] stop_source get_stop_source() const noexcept { return source_; }
  [[nodiscard]] stop_token get_stop_token() const noexcept { return source_.get_token(); }
  bool request_stop() noexcept { return source_.request_stop(); }
  static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }

 private:
  template <class F, class... A>
  static thread start(const stop_source& source, F&& f, A&&... args) {
    if constexpr (std::is_invocable_v<std::decay_t<F>, stop_token, std::decay_t<A>...>)
      return thread(std::forward<F>(f), source.get_token(), std::forward<A>(args)...);
    else
      return thread(std::forward<F>(f), std::forward<A>(args)...);
  }
  void end() noexcept {
    if (!joinable()) return;
    request_stop();
    join();
  }

  stop_source source_;
  thread thread_;
};

}  // namespace plx
