// Instances of Kokkos' execution spaces, from a pool, whose kernels have futures.
//
//   plx::kokkos::space<Kokkos::Serial> host(rt);            // spaces of the host: kernels are tasks of the runtime
//   plx::kokkos::space<Kokkos::Cuda> card(device);          // of a device: kernels go into its streams
//   plx::kokkos::instance<Kokkos::Cuda> i = card.take();    // what is put in one instance runs in that order
//
// The functions of gpu/kokkos/parallel.hpp take a space, which has them run in the instance with the least to do, in no
// order but that of futures; or an instance. On a device an instance is a stream of gpu/stream.hpp: completion is seen
// by the device's poll. On the host it is a strand: a kernel is one task, named after the kernel, and what it throws
// (in Serial; elsewhere Kokkos ends the program) is held by its future. Kernels of the host must not wait for futures.
// Serial and OpenMP have as many instances as the runtime has workers; those of OpenMP have one thread each unless told
// otherwise: with more, workers should not be bound (runtime_options::bind), because threads of OpenMP inherit that.
// Threads has one instance, whose kernels run on the guard's thread.
// Requires: a guard (gpu/kokkos/guard.hpp) and the runtime or device outlive the space, a space its instances.
// Thread safety: everything but construction, destruction and moves.
// Cost: of a kernel that of a task, or of a launch and an event (docs/gpu.md), and a lock for the name. Instances are
//   recycled; making one takes Kokkos up to some ms on a device. Errors: in futures; construction throws.
// Example: gpu/kokkos/parallel_test.cpp
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
  unsigned instances = 0;  // that a space spreads work over; 0: workers of the runtime, or 4 of a device
  int threads_each = 1;    // OpenMP: of each instance
};

/// Taken out of a space's pool, for one user at a time. Goes back when it is destroyed; what is in it still runs.
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
  /// Kokkos' own object. What is put in by hand is in no order with what goes through futures, on the host.
  [[nodiscard]] const Space& get() const noexcept { return core_->get(); }
  /// Ready when all that was put in so far is done. Errors: of a device, what failed since the last future.
  [[nodiscard]] plx::future<void> future() { return core_->future(); }
  /// Where its buffers come from; on a device, its stream.
  [[nodiscard]] gpu::stream& memory() { return core_->memory(); }

  /// For the library's own headers.
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
  /// Of a device. Errors: throws gpu::error when the device is not one of this space's backend.
  explicit space(gpu::device& d, space_options o = {}) requires detail::on_device<Space>
      : home_(d), n_(o.instances != 0 ? o.instances : 4u) {}
  /// Of the host: kernels become tasks of this runtime.
  explicit space(runtime& rt, space_options o = {}) requires(!detail::on_device<Space>)
      : home_(rt, o.threads_each), n_(detail::instances_of<Space>(o.instances, rt)) {}
  /// Waits until what was put in is done.
  ~space() = default;
  space(const space&) = delete;
  space& operator=(const space&) = delete;

  /// An instance that nobody else uses.
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
    idle_.reserve(all_.size());  // so that giving back does not allocate
    return {*this, all_.back().get()};
  }
  /// Where buffers of this space come from that belong to no instance.
  [[nodiscard]] gpu::stream& memory() {
    {
      const plx::detail::spin_guard guard(lock_);
      if (!spread_.empty()) return spread_.front()->memory();
    }
    return pick().memory();
  }
  /// How many instances there are, those that were taken included.
  [[nodiscard]] std::size_t size() const {
    const plx::detail::spin_guard guard(lock_);
    return all_.size() + spread_.size();
  }

  /// For the library's own headers: an instance without work, or the one with the least.
  [[nodiscard]] detail::instance_core<Space>& pick() {
    {
      const plx::detail::spin_guard guard(lock_);
      detail::instance_core<Space>* const best = least_busy();
      if (best != nullptr && (spread_.size() >= n_ || best->pending() == 0)) return *best;
    }
    auto made = home_.make();  // without the lock, which it outlives: both may take Kokkos some time
    const plx::detail::spin_guard guard(lock_);
    if (spread_.size() >= n_) return *least_busy();  // others have made the last ones meanwhile
    spread_.push_back(std::move(made));
    return *spread_.back();
  }

 private:
  friend class instance<Space>;
  void give_back(detail::instance_core<Space>* c) noexcept {
    const plx::detail::spin_guard guard(lock_);
    idle_.push_back(c);
  }
  // Of those that work is spread over; null when there is none. Requires: lock_ is held.
  detail::instance_core<Space>* least_busy() const noexcept {
    const auto least = std::min_element(spread_.begin(), spread_.end(),
                                        [](const auto& a, const auto& b) { return a->pending() < b->pending(); });
    return least == spread_.end() ? nullptr : least->get();
  }

  detail::space_home<Space> home_;
  const unsigned n_;
  mutable plx::detail::spinlock lock_;  // guards what follows
  std::vector<std::unique_ptr<detail::instance_core<Space>>> all_, spread_;
  std::vector<detail::instance_core<Space>*> idle_;
};

}  // namespace plx::kokkos
