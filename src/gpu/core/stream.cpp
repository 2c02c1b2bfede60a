#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "gpu/buffer.hpp"
#include "gpu/core/device_core.hpp"
#include "gpu/stream.hpp"

namespace plx::gpu {

using plx::detail::spin_guard;

stream::stream(device& d) : core_(d.core().take_stream()) {}

void stream::give_back() noexcept {
  if (core_ != nullptr) core_->home.give_stream(core_);
}

native_stream stream::native() const noexcept { return core_->native; }

void stream::launch_items(const any_operation& op, const void* items, unsigned count, item_errors errors) {
  PLX_ASSERT(count > 0 && "a launch needs at least one item");
  const spin_guard guard(core_->put_lock);
  core_->home.launch(*core_, op, items, count, errors);
}

void stream::copy(void* to, const void* from, std::size_t bytes) {
  const spin_guard guard(core_->put_lock);
  detail::device_core& d = core_->home;
  d.check(*core_);
  static const probe::name_id name = probe::register_name("copy");
  detail::timed t(d.timeline(), *core_);
  d.expect(core_, d.table.copy(d.native, core_->native, to, from, bytes));
  t.done(probe::device_work::copy, name, bytes);
  if (detail::graph_core* const graph = core_->captured.get()) {  // counted when it runs
    core_->timeline.note_captured(nullptr, bytes);
    ++graph->copies;
    graph->bytes += bytes;
    return;
  }
  core_->tallies.copies.add();
  core_->tallies.bytes.add(bytes);
}

void stream::fill(void* to, std::uint8_t byte, std::size_t bytes) {
  const spin_guard guard(core_->put_lock);
  detail::device_core& d = core_->home;
  d.check(*core_);
  static const probe::name_id name = probe::register_name("fill");
  detail::timed t(d.timeline(), *core_);
  d.expect(core_, d.table.fill(d.native, core_->native, to, byte, bytes));
  t.done(probe::device_work::fill, name, bytes);
  if (detail::graph_core* const graph = core_->captured.get()) {  // counted when it runs
    core_->timeline.note_captured(nullptr, bytes);
    ++graph->fills;
    return;
  }
  core_->tallies.fills.add();
}

void stream::wait_for(stream& other) {
  PLX_ASSERT(&core_->home == &other.core_->home && "streams of one device");
  core_->home.wait_for(*core_, *other.core_);
}

plx::future<void> stream::future() { return future(core_->home.options.way); }

plx::future<void> stream::future(completion_way way) {
  auto* c = plx::detail::make_state<detail::future_completion>();
  auto result = plx::detail::adopt_state<void>(c);
  core_->put_lock.lock();
  const bool added = core_->home.add(*core_, *c, way);
  core_->put_lock.unlock();
  if (!added) c->finish(*c);
  return result;
}

// -------------------------------------------------------------------------------------------------------------- graphs

void stream::begin_capture() {
  const spin_guard guard(core_->put_lock);
  detail::device_core& d = core_->home;
  d.check(*core_);
  d.expect(core_, d.table.begin_capture(d.native, core_->native));
  core_->capturing.store(true);
  core_->captured = std::make_unique<detail::graph_core>();
  core_->captured->before = std::exchange(core_->staged, {});
  core_->timeline.begin_capture();
}

namespace {

graph::contents contents_of(const detail::stream_timeline& t) {
  const std::string ends = t.captured_first == nullptr ? std::string()
                           : t.captured_first == t.captured_last
                               ? fmt::format(": {}", t.captured_first->name)
                               : fmt::format(": {}...{}", t.captured_first->name, t.captured_last->name);
  return {t.captured_bytes, t.captured, probe::register_name(fmt::format("graph of {}{}", t.captured, ends))};
}

}  // namespace

graph stream::end_capture(bool failed) {
  const spin_guard guard(core_->put_lock);
  detail::device_core& d = core_->home;
  std::unique_ptr<detail::graph_core> core = std::move(core_->captured);
  core->staged = std::exchange(core_->staged, std::move(core->before));  // owned by the graph from now on
  core->last_operation = core_->last_operation;
  native_graph g = nullptr;
  const outcome o = d.table.end_capture(d.native, core_->native, g);
  core_->capturing.store(false);
  d.drop_late(*core_);
  graph made(d, g, contents_of(core_->timeline));
  made.core_ = core.release();
  if (!failed) d.expect(core_, o);
  return made;
}

void stream::launch(const graph& g) {
  PLX_ASSERT(g && "a captured graph");
  const spin_guard guard(core_->put_lock);
  detail::device_core& d = core_->home;
  d.check(*core_);
  core_->last_operation = g.core_->last_operation;
  g.core_->launched_in(*core_);  // before the launch, since it may fail to allocate
  detail::timed t(d.timeline(), *core_);
  const ticks begin = now_ticks();
  const outcome o = d.table.launch_graph(d.native, g.native_, core_->native);
  core_->tallies.launch_ticks.add(now_ticks() - begin);
  d.expect(core_, o);
  t.done(probe::device_work::graph, g.made_of_.name, g.made_of_.bytes, g.made_of_.operations);
  core_->tallies.graphs.add();
  core_->tallies.launches.add(g.core_->launches);
  core_->tallies.items.add(g.core_->items);
  core_->tallies.copies.add(g.core_->copies);
  core_->tallies.bytes.add(g.core_->bytes);
  core_->tallies.fills.add(g.core_->fills);
}

void graph::free() noexcept {
  if (native_ != nullptr) home_->table.free_graph(home_->native, std::exchange(native_, nullptr));
  if (core_ != nullptr) home_->drop(std::unique_ptr<detail::graph_core>(std::exchange(core_, nullptr)));
}

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

const any_operation& named_operation(std::string_view name) {
  static std::mutex lock;
  static auto& all = *new std::map<std::string, any_operation, std::less<>>;
  const std::lock_guard guard(lock);
  auto found = all.find(name);
  if (found == all.end()) {
    found = all.try_emplace(std::string(name)).first;
    found->second.name = found->first.c_str();
  }
  return found->second;
}

plx::future<void> detail::async_put(stream& s, const any_operation& as, void (*put)(void*), void* arg) {
  auto* c = plx::detail::make_state<future_completion>();
  auto result = plx::detail::adopt_state<void>(c);
  stream_core& core = s.core();
  device_core& home = core.home;
  bool added = false;
  try {
    const plx::detail::spin_guard guard(core.put_lock);
    home.check(core);
    home.check_future(core);
    const ticks begin = now_ticks();
    core.last_operation = &as;
    timed t(home.timeline(), core);
    put(arg);
    t.kernel(as, 1);
    core.tallies.launches.add();
    core.tallies.items.add();
    core.tallies.launch_ticks.add(now_ticks() - begin);
    added = home.add(core, *c, home.options.way);
  } catch (...) {
    c->failed = std::current_exception();
  }
  if (!added) c->finish(*c);
  return result;
}

}  // namespace plx::gpu
