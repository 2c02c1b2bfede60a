#include "gpu/kokkos/guard.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/assert.hpp"

namespace plx::kokkos {
namespace {

#if defined(KOKKOS_ENABLE_THREADS)
constexpr bool own_thread = true;
#else
constexpr bool own_thread = false;
#endif

std::atomic<int> living_spaces{0};

/// The one thread that Kokkos accepts kernels from.
class kokkos_thread {
 public:
  ~kokkos_thread() {
    {
      const std::lock_guard guard(lock_);
      ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void post(std::unique_ptr<detail::job> j) {
    {
      const std::lock_guard guard(lock_);
      jobs_.push_back(std::move(j));
    }
    wake_.notify_one();
  }

 private:
  void run() noexcept {
    std::unique_lock guard(lock_);
    for (;;) {
      wake_.wait(guard, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::unique_ptr<detail::job> j = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      j->run();
      j.reset();
      guard.lock();
    }
  }
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<detail::job>> jobs_;
  bool ending_ = false;
  std::thread thread_{[this] { run(); }};
};

std::unique_ptr<kokkos_thread> the_thread;

/// Calls `f` on that thread and waits; rethrows its exception.
template <class F>
void call_there(F f) {
  struct call final : detail::job {
    explicit call(F& g) : f(g) {}
    void run() noexcept override {
      std::exception_ptr e;
      try {
        f();
      } catch (...) {
        e = std::current_exception();
      }
      const std::lock_guard guard(*lock);
      *error = e;
      *done = true;
      seen->notify_one();
    }
    F& f;
    std::mutex* lock = nullptr;
    std::condition_variable* seen = nullptr;
    std::exception_ptr* error = nullptr;
    bool* done = nullptr;
  };
  std::mutex lock;
  std::condition_variable seen;
  std::exception_ptr error;
  bool done = false;
  auto c = std::make_unique<call>(f);
  c->lock = &lock, c->seen = &seen, c->error = &error, c->done = &done;
  the_thread->post(std::move(c));
  std::unique_lock guard(lock);
  seen.wait(guard, [&] { return done; });
  if (error) std::rethrow_exception(error);
}

}  // namespace

guard::guard(const settings& s) {
  if (Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized())
    throw std::runtime_error(
        "plx::kokkos::guard: Kokkos was already finalized and cannot be initialized a second time in a process: keep "
        "one guard in main");
  Kokkos::InitializationSettings with;
  if (s.threads > 0) with.set_num_threads(s.threads);
  if (s.device >= 0) with.set_device_id(s.device);
  with.set_disable_warnings(!s.warnings);
  with.set_print_configuration(s.print_configuration);
  if (own_thread) {
    the_thread = std::make_unique<kokkos_thread>();
    try {
      call_there([&] { Kokkos::initialize(with); });
    } catch (...) {
      the_thread.reset();
      throw;
    }
  } else {
    Kokkos::initialize(with);
  }
  here_ = true;
}

guard::~guard() {
  if (!here_) return;
  PLX_ASSERT(living_spaces.load() == 0 && "spaces must be destroyed before the guard", living_spaces.load());
  if (the_thread != nullptr) {
    call_there([] { Kokkos::finalize(); });
    the_thread.reset();
  } else {
    Kokkos::finalize();
  }
}

std::string_view execution_spaces() noexcept {
  constexpr std::string_view all =
#if defined(KOKKOS_ENABLE_CUDA)
      "Cuda "
#endif
#if defined(KOKKOS_ENABLE_HIP)
      "HIP "
#endif
#if defined(KOKKOS_ENABLE_SYCL)
      "SYCL "
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
      "OpenMP "
#endif
#if defined(KOKKOS_ENABLE_THREADS)
      "Threads "
#endif
#if defined(KOKKOS_ENABLE_HPX)
      "HPX "
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
      "Serial "
#endif
      "";
  return all.substr(0, all.size() - 1);
}

std::string version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
         std::to_string(KOKKOS_VERSION % 100);
}

void require_space(std::string_view name) {
  std::string_view left = execution_spaces();
  while (!left.empty()) {
    const std::size_t end = left.find(' ');
    if (left.substr(0, end) == name) return;
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
  }
  throw std::runtime_error("plx::kokkos: no execution space '" + std::string(name) + "': Kokkos " + version() +
                           " was built with " + std::string(execution_spaces()) +
                           "; use one of these, or build Kokkos with it (Kokkos_ENABLE_...=ON)");
}

namespace detail {

void post_to_kokkos_thread(std::unique_ptr<job> j) {
  if (the_thread == nullptr)
    throw std::runtime_error(
        "plx::kokkos: the space Threads accepts kernels only from the thread that initialized Kokkos: let "
        "plx::kokkos::guard initialize it");
  the_thread->post(std::move(j));
}

void space_begins(const char* name) {
  if (!Kokkos::is_initialized())
    throw std::runtime_error(std::string("plx::kokkos: the space ") + name +
                             " requires an initialized Kokkos: create a plx::kokkos::guard first, and "
                             "keep it until the space is destroyed");
  living_spaces.fetch_add(1);
}
void space_ends() noexcept { living_spaces.fetch_sub(1); }

}  // namespace detail
}  // namespace plx::kokkos
