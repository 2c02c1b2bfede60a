#include "probe/wait_log.hpp"

#include <mutex>
#include <new>
#include <unordered_map>

namespace plx::probe {

wait_log::~wait_log() { delete[] cells_.load(std::memory_order_relaxed); }

wait_log::cell* wait_log::cell_of(const wait_kind& what) noexcept {
  cell* cells = cells_.load(std::memory_order_relaxed);  // own store
  if (cells == nullptr) cells = make_table();
  if (cells == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(what.object);
  const auto kind = reinterpret_cast<std::uintptr_t>(what.kind);
  const std::uint64_t mixed = ((address >> 3) + kind * 31 + what.name) * 0x9e3779b97f4a7c15ull;  // Knuth's
  // Ends: a quarter of the places stays free of objects, and kinds with names that fill that end up in rest_.
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
// Never destroyed: a runtime that ends late still asks.
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

}  // namespace plx::probe
