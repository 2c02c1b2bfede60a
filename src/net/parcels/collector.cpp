#include "net/parcels/collector.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "net/parcels/frame.hpp"

namespace plx::net {

using plx::detail::spin_guard;

unsigned message_store::size_class(std::size_t bytes) noexcept {
  return static_cast<unsigned>(std::bit_width((std::max(bytes, least_bytes) - 1) / least_bytes));
}

frame_message* message_store::get(std::size_t wanted) {
  const unsigned c = size_class(wanted);
  if (c < n_sizes) {
    spin_guard guard(lock_);
    if (auto& free = free_[c]; !free.empty()) {
      frame_message* m = free.back();
      free.pop_back();
      return m;
    }
  }
  auto m = std::make_unique<frame_message>();
  m->capacity = c < n_sizes ? least_bytes << c : wanted;
  m->bytes = std::make_unique_for_overwrite<std::byte[]>(m->capacity);
  m->used = sizeof(frame_header);
  return m.release();
}

void message_store::put(frame_message* m) noexcept {
  const unsigned c = size_class(m->capacity);
  if (c < n_sizes && m->capacity == least_bytes << c) {
    m->used = sizeof(frame_header);
    m->parcels = 0;
    spin_guard guard(lock_);
    auto& free = free_[c];
    if (free.size() < most_kept_bytes / m->capacity) return free.push_back(m);
  }
  delete m;
}

void message_store::grow(frame_message& m, std::size_t wanted) {
  const std::size_t capacity = std::bit_ceil(wanted);
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::memcpy(larger.get(), m.bytes.get(), m.used);
  m.bytes = std::move(larger);
  m.capacity = capacity;
}

message_store::~message_store() {
  for (auto& free : free_)
    for (frame_message* m : free) delete m;
}

}  // namespace plx::net
