#include "gpu/testing/trial.hpp"

#include <cstring>

namespace plx::gpu::testing {

trial::trial(const backend& b) : b_(b) {
  expect(b_.open(b_, 0, device_));
  try {
    expect(b_.describe(device_, info_));
    expect(b_.make_stream(device_, stream_));
    expect(b_.make_event(device_, true, begin_));
    expect(b_.make_event(device_, true, end_));
  } catch (...) {
    b_.close(device_);
    throw;
  }
}

trial::~trial() {
  static_cast<void>(b_.synchronize(device_, stream_));
  for (const native_graph g : graphs_) b_.free_graph(device_, g);
  b_.free_event(device_, begin_);
  b_.free_event(device_, end_);
  b_.free_stream(device_, stream_);
  for (const memory& m : memory_) b_.release(device_, m.kind, m.at);
  b_.close(device_);
}

void trial::expect(const outcome& o) const {
  if (!o) throw make_error(b_, o, kernel_, info_.name);
}

void* trial::allocate(std::size_t bytes, memory_kind kind) {
  void* p = nullptr;
  expect(b_.allocate(device_, kind, bytes > 0 ? bytes : 1, p));
  memory_.push_back({p, kind});
  return p;
}

void trial::copy(void* to, const void* from, std::size_t bytes) { expect(b_.copy(device_, stream_, to, from, bytes)); }

// Kept until destruction: graphs may read it.
const void* trial::stage(const gpu::launch& where, const void* items, std::size_t bytes) {
  void* p = static_cast<trial*>(where.owner)->allocate(bytes, memory_kind::pinned);
  std::memcpy(p, items, bytes);
  return p;
}

void trial::launch(const any_operation& op, const std::vector<std::byte>& items) {
  kernel_ = op.name;
  const auto n = static_cast<unsigned>(items.size() / op.item_bytes);
  expect(b_.launch(device_, op, {stream_, stage, this}, items.data(), n, nullptr));
}

void trial::synchronize() { expect(b_.synchronize(device_, stream_)); }

void trial::start() { expect(b_.record(device_, begin_, stream_)); }

double trial::stop() {
  expect(b_.record(device_, end_, stream_));
  synchronize();
  double seconds = 0;
  expect(b_.elapsed(device_, begin_, end_, seconds));
  return seconds;
}

native_graph trial::end_capture() {
  native_graph g = nullptr;
  expect(b_.end_capture(device_, stream_, g));
  graphs_.push_back(g);
  return g;
}

}  // namespace plx::gpu::testing
