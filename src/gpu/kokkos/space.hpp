// Pools of instances of Kokkos' execution spaces, whose kernels return futures.
//
//   plx::kokkos::space<Kokkos::Serial> host(rt);            // host spaces: kernels are tasks of the runtime
//   plx::kokkos::space<Kokkos::Cuda> card(device);          // device spaces: kernels are launched in its streams
//   plx::kokkos::instance<Kokkos::Cuda> i = card.take();    // the kernels of one instance run in order
//
// The functions of gpu/kokkos/parallel.hpp take a space or an instance. With a space, a kernel runs in the least busy
// instance, ordered only by futures. On a device an instance is a gpu::stream, and the device's poller detects
// completion. On the host it is a strand: a kernel is one task, named after the kernel. Its exception is held by its
// future (in Serial; in other spaces Kokkos ends the program). Host kernels must not wait for futures. Serial and
// OpenMP have as many instances as the runtime has workers. OpenMP instances have one thread each by default; with
// more, workers should not be bound (runtime_options::bind), because OpenMP threads inherit the binding. Threads has
// one instance, whose kernels run on the guard's thread.
// Requires: a guard (gpu/kokkos/guard.hpp) and the runtime or device outlive the space; a space outlives its instances.
// Thread safety: all functions except construction, destruction and moves.
// Cost: that of a task, or of a launch and an event (docs/gpu.md), and a lock for the name. Instances are recycled;
//   creating one takes Kokkos up to some ms on a device. Errors: in futures; construction throws.
// Example: gpu/kokkos/test/parallel_test.cpp
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/kokkos/detail/device_instance.hpp"
#include "gpu/kokkos/detail/host_instance.hpp"
#include "gpu/kokkos/guard.hpp"

namespace plx::kokkos {

template <class Space>
class space;

struct space_options {
  unsigned instances = 0;  // over which a space distributes work; 0: one per worker, or 4 on a device
  int threads_each = 1;    // OpenMP: threads of each instance
};

/// An instance taken from a space's pool by one user. Returned on destruction; its pending work still runs.
template <class Space>
class instance {
 public:
  instance(instance&& o) noexcept : home_(o.home_), core_(std::exchange(o.core_, nullptr)) {}
  instance& operator=(instance&& o) noexcept {
    std::swap(home_, o.home_);
    std::swap(core_, o.core_);
    return *this;
  }
  ~instance() {
    if (core_ != nullptr) home_->give_back(core_);
  }
  /// Kokkos' own object. On the host, work submitted to it directly is not ordered with work submitted through futures.
  [[nodiscard]] const Space& get() const noexcept { return core_->get(); }
  /// Ready when all work submitted so far is done. Errors: on a device, failures since the last future.
  [[nodiscard]] plx::future<void> future() { return core_->future(); }
  /// The stream whose pool provides its buffers; on a device, the instance's own stream.
  [[nodiscard]] gpu::stream& memory() { return core_->memory(); }

  /// For internal use.
  [[nodiscard]] detail::instance_core<Space>& core() const noexcept { return *core_; }
  [[nodiscard]] detail::instance_core<Space>& pick() const noexcept { return *core_; }

 private:
  friend class space<Space>;
  instance(space<Space>& home, detail::instance_core<Space>* core) noexcept : home_(&home), core_(core) {}
  space<Space>* home_;
  detail::instance_core<Space>* core_;
};

template <class Space>
class space {
  static_assert(Kokkos::is_execution_space_v<Space>, "an execution space of Kokkos, such as Kokkos::Serial");

 public:
  /// For a device. Errors: throws gpu::error if the device does not belong to this space's backend.
  explicit space(gpu::device& d, space_options o = {}) requires detail::on_device<Space>
      : home_(d), n_(o.instances != 0 ? o.instances : 4u) {}
  /// For the host: kernels become tasks of this runtime.
  explicit space(runtime& rt, space_options o = {}) requires(!detail::on_device<Space>)
      : home_(rt, o.threads_each), n_(detail::instances_of<Space>(o.instances, rt)) {}
  /// Waits until all submitted work is done.
  ~space() = default;
  space(const space&) = delete;
  space& operator=(const space&) = delete;

  /// An instance for exclusive use.
  [[nodiscard]] instance<Space> take() {
    {
      const plx::detail::spin_guard guard(lock_);
      if (!idle_.empty()) {
        detail::instance_core<Space>* const c = idle_.back();
        idle_.pop_back();
        return {*this, c};
      }
    }
    auto made = home_.make();
    const plx::detail::spin_guard guard(lock_);
    all_.push_back(std::move(made));
    idle_.reserve(all_.size());  // so that returning an instance does not allocate
    return {*this, all_.back().get()};
  }
  /// The stream whose pool provides buffers that belong to no instance.
  [[nodiscard]] gpu::stream& memory() {
    {
      const plx::detail::spin_guard guard(lock_);
      if (!spread_.empty()) return spread_.front()->memory();
    }
    return pick().memory();
  }
  /// Number of instances, including those in use.
  [[nodiscard]] std::size_t size() const {
    const plx::detail::spin_guard guard(lock_);
    return all_.size() + spread_.size();
  }

  /// For internal use: an idle instance, or the one with the least pending work.
  [[nodiscard]] detail::instance_core<Space>& pick() {
    {
      const plx::detail::spin_guard guard(lock_);
      detail::instance_core<Space>* const best = least_busy();
      if (best != nullptr && (spread_.size() >= n_ || best->pending() == 0)) return *best;
    }
    auto made = home_.make();  // without the lock: creation may take Kokkos some time
    const plx::detail::spin_guard guard(lock_);
    if (spread_.size() >= n_) return *least_busy();  // other threads have created the last ones meanwhile
    spread_.push_back(std::move(made));
    return *spread_.back();
  }

 private:
  friend class instance<Space>;
  void give_back(detail::instance_core<Space>* c) noexcept {
    const plx::detail::spin_guard guard(lock_);
    idle_.push_back(c);
  }
  // The least busy one of spread_; null if it is empty. Requires: lock_ is held.
  detail::instance_core<Space>* least_busy() const noexcept {
    const auto least = std::min_element(spread_.begin(), spread_.end(),
                                        [](const auto& a, const auto& b) { return a->pending() < b->pending(); });
    return least == spread_.end() ? nullptr : least->get();
  }

  detail::space_home<Space> home_;
  const unsigned n_;
  mutable plx::detail::spinlock lock_;  // guards the members below
  std::vector<std::unique_ptr<detail::instance_core<Space>>> all_, spread_;
  std::vector<detail::instance_core<Space>*> idle_;
};

}  // namespace plx::kokkos
