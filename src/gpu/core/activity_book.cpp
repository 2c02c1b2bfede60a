#include "gpu/core/activity_book.hpp"

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>
#include <string>

namespace plx::gpu::detail {

namespace {

/// "void plx::star::device::advance<8>(items)" gives "advance".
std::string short_name(const char* mangled) {
  int failed = 0;
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, &failed);
  std::string name = text != nullptr ? text : mangled;
  std::free(text);
  std::size_t end = 0;  // where the arguments of the template or of the function begin
  for (std::size_t i = 0; i < name.size() && end == 0; ++i)
    if (name.compare(i, 21, "(anonymous namespace)") == 0)
      i += 20;
    else if (name[i] == '<' || name[i] == '(')
      end = i;
  if (end != 0) name.resize(end);
  const std::size_t begin = name.find_last_of(": ");
  return begin == std::string::npos ? name : name.substr(begin + 1);
}

}  // namespace

activity_book& activity_book::of_process() {
  static auto* const book = new activity_book;  // never destroyed: records may arrive during process exit
  return *book;
}

std::uint64_t activity_book::submit(probe::device_lane& lane, told_path& owner, ticks path) noexcept {
  const std::lock_guard guard(lock_);
  const std::uint64_t tag = ++newest_;
  entry& e = (*entries_)[tag % places];
  if (e.tag != 0 && !e.heard) e.lane->lose(1);  // its record can no longer be matched
  e.tag = tag, e.lane = &lane, e.owner = &owner;
  e.path = path;
  e.described = e.heard = false;
  e.early.clear();
  return tag;
}

void activity_book::describe(std::uint64_t tag, const probe::device_operation& o) noexcept {
  const std::lock_guard guard(lock_);
  entry& e = (*entries_)[tag % places];
  if (e.tag != tag) return;
  e.operation = o;
  e.described = true;
  try {
    for (const activity& a : e.early) tell(e, a);
  } catch (...) {  // out of memory
  }
  e.early.clear();
}

void activity_book::forget(std::uint64_t tag) noexcept {
  const std::lock_guard guard(lock_);
  if (entry& e = (*entries_)[tag % places]; e.tag == tag) e.tag = 0;
}

void activity_book::heard(const activity& a) noexcept {
  const std::lock_guard guard(lock_);
  entry& e = (*entries_)[a.tag % places];
  if (a.tag == 0 || e.tag != a.tag) return;
  e.heard = true;
  grow(e, a);
  try {
    if (e.described)
      tell(e, a);
    else
      e.early.push_back(a);
  } catch (...) {  // out of memory
  }
}

// An earlier submission whose record arrives late is left out; the path is then too short.
void activity_book::grow(entry& e, const activity& a) noexcept {
  told_path& p = *e.owner;
  if (a.tag < p.tag) return;
  const ticks begin = std::max<ticks>(a.begin, p.end);
  p.path = std::max(p.path, e.path) + (a.end > begin ? a.end - begin : 0);
  p.end = std::max<ticks>(p.end, a.end);
  p.tag = a.tag;
  e.path = p.path;
}

ticks activity_book::path_behind(const told_path& owner, std::uint64_t tag) noexcept {
  const std::lock_guard guard(lock_);
  const entry& e = (*entries_)[tag % places];
  if (e.tag == tag && e.heard) return e.path;
  return owner.tag < tag ? owner.path : 0;
}

void activity_book::tell(const entry& e, const activity& a) {
  probe::device_operation o = e.operation;
  o.begin = std::max<ticks>(a.begin, o.submitted);
  o.end = std::max<ticks>(a.end, o.begin);
  o.part = o.kind != probe::device_work::graph;  // a call of another library may launch several kernels
  if (o.kind == probe::device_work::graph) {     // reported as its parts
    static const probe::name_id copy = probe::register_name("copy"), fill = probe::register_name("fill");
    const bool kernel = a.kind == activity::what::kernel, copies = a.kind == activity::what::copy;
    o.items = 1;
    o.bytes = a.bytes;
    o.kind = kernel ? probe::device_work::kernel : copies ? probe::device_work::copy : probe::device_work::fill;
    o.name = !kernel ? copies ? copy : fill : probe::register_name(short_name(a.kernel != nullptr ? a.kernel : ""));
  }
  e.lane->add(o);
}

std::uint64_t activity_book::leave(const told_path& owner) noexcept {
  std::uint64_t unheard = 0;
  const std::lock_guard guard(lock_);
  for (entry& e : *entries_)
    if (e.owner == &owner && e.tag != 0) {
      unheard += e.heard ? 0 : 1;
      e.tag = 0;
    }
  return unheard;
}

}  // namespace plx::gpu::detail
