#include "gpu/buffer.hpp"

#include "gpu/detail/device_core.hpp"

namespace plx::gpu {
namespace detail {

block_ref::block_ref(stream& s, std::size_t bytes, memory_kind kind)
    : block_(s.core().home.pool(kind).get(s.core(), bytes)), stream_(&s.core()), at_(block_->at), kind_(kind) {}

void block_ref::give_back() noexcept { stream_->home.pool(kind_).put(*stream_, block_); }

void block_ref::move_to(stream& s) {
  if (block_ == nullptr || &s.core() == stream_) return;
  s.core().home.wait_for(s.core(), *stream_);
  stream_ = &s.core();
}

}  // namespace detail

detail::memory_counts memory_counts_of(device& d, memory_kind kind) { return d.core().pool(kind).counts(); }
void trim(device& d) { d.core().trim_all(); }

}  // namespace plx::gpu
