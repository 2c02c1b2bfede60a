// An instance of a host space: a strand whose tasks call Kokkos.
//
// Invariant: `pending_` counts the calls that were submitted and are not yet destroyed. Kokkos' object is used by one
// task at a time, because the strand runs one at a time.
#pragma once

#include <Kokkos_Core.hpp>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "gpu/backend.hpp"
#include "gpu/kokkos/detail/device_instance.hpp"
#include "probe/record/names.hpp"
#include "rt/executor.hpp"
#include "rt/runtime.hpp"

namespace Kokkos {  // declares only the spaces that it was built with
class OpenMP;
class Serial;
class Threads;
}  // namespace Kokkos

namespace plx::kokkos::detail {

template <class S>
inline constexpr bool is_openmp = std::is_same_v<S, Kokkos::OpenMP>;
template <class S>
inline constexpr bool is_serial = std::is_same_v<S, Kokkos::Serial>;
template <class S>
inline constexpr bool is_threads = std::is_same_v<S, Kokkos::Threads>;

template <class Space>
Space make_space([[maybe_unused]] int threads) {
  if constexpr (is_openmp<Space>)
    return Space(threads);
  else if constexpr (is_serial<Space>)
    return Space(Kokkos::NewInstance{});
  else
    return Space();
}

/// Host memory for the instances of one space, from the pools of a cpu device that is opened on first use.
class host_memory {
 public:
  explicit host_memory(runtime& rt) noexcept : rt_(rt) {}
  gpu::stream& stream() {
    std::call_once(once_, [this] {
      device_ = std::make_unique<gpu::device>(rt_, gpu::find_backend("cpu"));
      stream_ = std::make_unique<gpu::stream>(*device_);
    });
    return *stream_;
  }

 private:
  runtime& rt_;
  std::once_flag once_;
  std::unique_ptr<gpu::device> device_;
  std::unique_ptr<gpu::stream> stream_;
};

template <class Space>
class host_instance {
 public:
  host_instance(runtime& rt, int threads, host_memory& memory)
      : memory_(memory), space_(make_space<Space>(threads)), order_(rt.get_executor()) {}
  /// Waits until all submitted work is done and destroyed.
  ~host_instance() {
    try {
      if (!idle()) future().get();  // of the last call; earlier ones are destroyed by then
    } catch (...) {                 // errors are held by other futures
    }
    while (!idle()) std::this_thread::yield();  // the last call is about to be destroyed
  }

  [[nodiscard]] const Space& get() const noexcept { return space_; }
  [[nodiscard]] gpu::stream& memory() { return memory_.stream(); }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool idle() const noexcept { return pending_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] plx::future<void> future() {
    return put("kokkos instance", [](const Space&) {});
  }

  /// Calls `f(space)` in a task of that name, after earlier work.
  template <class F>
  plx::future<void> put(std::string_view name, F f) {
    return call<void>(name, [this, f = std::move(f)] { run(f); });
  }
  /// As put(), and returns the T written by f(space, view of a T).
  template <class T, class F>
  plx::future<T> put_for(std::string_view name, F f) {
    return call<T>(name, [this, f = std::move(f)] {
      T result{};
      run([&](const Space& s) { f(s, Kokkos::View<T, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&result)); });
      return result;
    });
  }
  /// Destroys `kept` after earlier work.
  template <class Kept>
  void drop(Kept kept) {
    if (!idle())
      static_cast<void>(put("kokkos memory", [kept = std::make_shared<Kept>(std::move(kept))](const Space&) {}));
  }

 private:
  // Counts a call until its destruction.
  class place {
   public:
    explicit place(std::atomic<std::size_t>& n) noexcept : n_(&n) { n.fetch_add(1, std::memory_order_relaxed); }
    place(place&& o) noexcept : n_(std::exchange(o.n_, nullptr)) {}
    ~place() {
      if (n_ != nullptr) n_->fetch_sub(1, std::memory_order_release);  // pairs with the acquire loads that wait for 0
    }

   private:
    std::atomic<std::size_t>* n_;
  };
  // The callable of a task: `f` and its captures are destroyed before `in`.
  template <class F>
  struct counted {
    place in;
    F f;
    auto operator()() { return f(); }
  };

  template <class F>
  void run(const F& f) {
    f(space_);
    if constexpr (!is_serial<Space> && !is_openmp<Space> && !is_threads<Space>) space_.fence("plx: end of a kernel");
  }

  template <class R, class F>
  plx::future<R> call(std::string_view name, F f) {
    counted<F> c{place(pending_), std::move(f)};
    if constexpr (is_threads<Space>) {
      return call_on_kokkos_thread<R>(std::move(c));
    } else {
      task_info info = order_.info();
      info.name = probe::register_name(name);
      auto* s = plx::detail::make_async(info, std::move(c));
      auto result = plx::detail::adopt_state<R>(s);
      plx::detail::execute_on(order_, s->alone());
      return result;
    }
  }
  template <class R, class F>
  plx::future<R> call_on_kokkos_thread(F f) {
    struct call final : job {
      explicit call(F&& g) : f(std::make_unique<F>(std::move(g))) {}
      void run() noexcept override {
        try {
          if constexpr (std::is_void_v<R>) {
            (*f)();
            f.reset();  // its captures must not outlive the kernel
            result.set_value();
          } else {
            R r = (*f)();
            f.reset();
            result.set_value(std::move(r));
          }
        } catch (...) {
          f.reset();
          result.set_exception(std::current_exception());
        }
      }
      std::unique_ptr<F> f;
      plx::promise<R> result;
    };
    auto c = std::make_unique<call>(std::move(f));
    plx::future<R> result = c->result.get_future();
    try {
      post_to_kokkos_thread(std::move(c));
    } catch (...) {
      return plx::make_exceptional_future<R>(std::current_exception());
    }
    return result;
  }

  host_memory& memory_;
  Space space_;
  plx::strand order_;
  std::atomic<std::size_t> pending_{0};
};

template <class Space>
class host_home {
 public:
  host_home(runtime& rt, int threads) : rt_(rt), threads_(threads), memory_(rt) { space_begins(Space::name()); }
  ~host_home() { space_ends(); }
  host_home(const host_home&) = delete;
  host_home& operator=(const host_home&) = delete;
  std::unique_ptr<host_instance<Space>> make() {
    return std::make_unique<host_instance<Space>>(rt_, threads_, memory_);
  }

 private:
  runtime& rt_;
  const int threads_;
  host_memory memory_;
};

template <class Space>
unsigned instances_of(unsigned wanted, runtime& rt) {
  if constexpr (is_serial<Space> || is_openmp<Space>)
    return wanted != 0 ? wanted : rt.get_executor().worker_count();
  else
    return 1;
}

template <class Space>
struct space_parts {
  using core = host_instance<Space>;
  using home = host_home<Space>;
};
template <on_device Space>
struct space_parts<Space> {
  using core = device_instance<Space>;
  using home = device_home<Space>;
};
template <class Space>
using instance_core = typename space_parts<Space>::core;
template <class Space>
using space_home = typename space_parts<Space>::home;

}  // namespace plx::kokkos::detail
