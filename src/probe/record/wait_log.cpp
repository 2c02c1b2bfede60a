// Wait logs, and counters of waits: for each worker, for all workers, and for all workers by kind.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <unordered_map>

#include "probe/counters/standard_counters.hpp"
#include "probe/record/recorder_detail.hpp"
#include "probe/record/text_sink.hpp"
#include "probe/record/wait_log.hpp"

namespace plx::probe {

wait_log::~wait_log() { delete[] cells_.load(std::memory_order_relaxed); }

wait_log::cell* wait_log::cell_of(const wait_kind& what) noexcept {
  cell* cells = cells_.load(std::memory_order_relaxed);  // own store
  if (cells == nullptr) cells = make_table();
  if (cells == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(what.object);
  const auto kind = reinterpret_cast<std::uintptr_t>(what.kind);
  const std::uint64_t mixed = ((address >> 3) + kind * 31 + what.name) * 0x9e3779b97f4a7c15ull;  // Knuth's
  // Terminates: a quarter of the cells stays free of objects, and kinds and names beyond that are recorded in rest_.
  for (std::size_t i = mixed >> 40;; ++i) {
    cell& c = cells[i % places];
    const char* there = c.kind.load(std::memory_order_relaxed);  // own store
    if (there == what.kind && c.object == what.object && c.name == what.name) return &c;
    if (there != nullptr) continue;
    if (what.object != nullptr && used_ >= for_objects) return cell_of({what.kind, nullptr, what.name});
    return used_ + 1 < places ? take_place(c, what) : &rest_;
  }
}

wait_log::cell* wait_log::make_table() noexcept {
  cell* cells = new (std::nothrow) cell[places];
  cells_.store(cells, std::memory_order_release);  // pairs with the acquire in for_each()
  return cells;
}

wait_log::cell* wait_log::take_place(cell& free, const wait_kind& what) noexcept {
  ++used_;
  free.object = what.object;
  free.name = what.name;
  free.kind.store(what.kind, std::memory_order_release);  // pairs with the acquire in for_each()
  return &free;
}

namespace {
struct object_names {
  std::mutex lock;
  std::unordered_map<const void*, name_id> names;
};
// Never destroyed: a runtime that ends late may still use it.
object_names& names_of_objects() {
  static auto* all = new object_names;
  return *all;
}
}  // namespace

void name_object(const void* object, std::string_view name) {
  object_names& all = names_of_objects();
  const name_id id = register_name(name);
  const std::lock_guard guard(all.lock);
  if (id == unnamed)
    all.names.erase(object);
  else
    all.names[object] = id;
}

name_id object_name(const void* object) {
  object_names& all = names_of_objects();
  const std::lock_guard guard(all.lock);
  const auto found = all.names.find(object);
  return found == all.names.end() ? unnamed : found->second;
}

// The waits of all workers, summed by kind and object.

namespace {

/// "shared_mutex, to read" has the kind "shared_mutex".
std::string_view plain(std::string_view kind) { return kind.substr(0, kind.find(',')); }

}  // namespace

wait_log& recorder::waits_of(unsigned i) noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->waits;
}

const wait_log& recorder::waits_of(unsigned i) const noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->waits;
}

std::vector<wait_statistics> recorder::waits() const {
  std::map<std::tuple<std::string_view, const void*, name_id>, wait_statistics> sums;
  for (const auto& w : state_->workers) {
    w->waits.for_each([&](const wait_kind& what, std::uint64_t waits, ticks total, ticks longest) {
      const name_id name = what.name != unnamed || what.object == nullptr ? what.name : object_name(what.object);
      wait_statistics& s = sums[{plain(what.kind), what.object, name}];
      s.kind = plain(what.kind);
      s.object = what.object;
      s.name = name == unnamed ? std::string_view() : name_of(name);
      s.waits += waits;
      s.total_s += seconds(total);
      s.max_s = std::max(s.max_s, seconds(longest));
    });
  }
  std::vector<wait_statistics> all;
  for (const auto& [what, s] : sums) all.push_back(s);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return all;
}

result<void> recorder::write_waits_csv(std::string_view path) const {
  std::string text = "kind,object,name,waits,total_s,max_s\n";
  for (const wait_statistics& s : waits()) {
    const std::string object = s.object == nullptr ? std::string() : fmt::format("{}", s.object);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9g},{:.9g}\n", csv_field(s.kind), object,
                   csv_field(s.name), s.waits, s.total_s, s.max_s);
  }
  return write_measurement(std::string(path), text);
}

namespace {

struct wait_sum {
  std::uint64_t waits = 0;
  ticks total = 0;
};

wait_sum sum_of(const wait_log& log, std::string_view kind) {
  wait_sum sum;
  log.for_each([&](const wait_kind& what, std::uint64_t waits, ticks total, ticks) {
    const std::string_view text = what.kind;
    if (!kind.empty() && text.substr(0, text.find(',')) != kind) return;
    sum.waits += waits;
    sum.total += total;
  });
  return sum;
}

wait_sum sum_of(const recorder& r, unsigned first, unsigned end, std::string_view kind) {
  wait_sum sum;
  for (unsigned i = first; i < std::min(end, r.worker_count()); ++i) {
    const wait_sum one = sum_of(r.waits_of(i), kind);
    sum.waits += one.waits;
    sum.total += one.total;
  }
  return sum;
}

constexpr std::string_view kinds[] = {
    "future",  "task_group", "mutex", "shared_mutex", "condition_variable", "latch", "barrier", "semaphore",
    "channel", "sleep",      "event", "call_once",    "sliding_semaphore"};

}  // namespace

std::vector<registration> add_wait_counters(counter_registry& registry, const recorder& r) {
  std::vector<registration> all;
  const auto add = [&](const std::string& instance, unsigned first, unsigned end, std::string_view kind) {
    const std::string tail = kind.empty() ? std::string() : fmt::format("/{}", kind);
    const std::string on = kind.empty() ? std::string() : fmt::format(" on a {}", kind);
    all.push_back(registry.add({fmt::format("/threads{{{}}}/wait/count{}", instance, tail), "1",
                                fmt::format("Times a task was suspended{}", on.empty() ? " to wait" : on), true},
                               [&r, first, end, kind] { return sum_of(r, first, end, kind).waits; }));
    all.push_back(registry.add({fmt::format("/threads{{{}}}/wait/time{}", instance, tail), "s",
                                fmt::format("Time for which tasks were suspended{}, summed over tasks", on), true},
                               [&r, first, end, kind] { return seconds(sum_of(r, first, end, kind).total); }));
  };
  const std::string here = registry.locality_name();
  add(here + "/total", 0, ~0u, "");  // includes workers that are added later
  for (unsigned i = 0; i < r.worker_count(); ++i) add(fmt::format("{}/worker-thread#{}", here, i), i, i + 1, "");
  for (const std::string_view kind : kinds) add(here + "/total", 0, ~0u, kind);
  return all;
}

}  // namespace plx::probe
