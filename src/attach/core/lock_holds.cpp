#include "attach/core/lock_holds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <tuple>

#include "base/symbols.hpp"
#include "base/text.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {

constinit std::array<contended_mutex, lock_holds::most_mutexes> lock_holds::contended_{};
constinit thread_local lock_holds::taken_locks lock_holds::mine_{};

void lock_holds::forget_oldest() noexcept {
  std::copy(mine_.locks.begin() + 1, mine_.locks.end(), mine_.locks.begin());
  --mine_.n;
}

contended_mutex* lock_holds::waits(const void* mutex) noexcept {
  if (!program::measures() || this_slot.inside != 0) return nullptr;
  for (std::size_t i = place_of(mutex), end = i + longest_search; i < end; ++i) {
    contended_mutex& c = contended_[i % most_mutexes];
    const void* there = nullptr;
    if (!c.mutex.compare_exchange_strong(there, mutex, std::memory_order_relaxed) && there != mutex) continue;
    if (c.waiting.load(std::memory_order_relaxed) == 0) c.since.store(now_ticks(), std::memory_order_relaxed);
    c.waiting.fetch_add(1, std::memory_order_release);  // pairs with releases()
    return &c;
  }
  return nullptr;
}

void lock_holds::record(contended_mutex& c, const void* taken_in, const void* released_in) noexcept {
  const int before = errno;
  program::event([&](thread_row& row, ticks now) {
    const ticks since = c.since.load(std::memory_order_relaxed);
    c.since.store(now, std::memory_order_relaxed);
    const void* mutex = c.mutex.load(std::memory_order_relaxed);
    program::record_hold(row, mutex, taken_in, released_in, now > since ? now - since : 0);
    return true;
  });
  errno = before;
}

std::string holds_csv(std::span<const wait_log* const> logs, const wait_sites& sites, bool lines) {
  struct sum {
    std::uint64_t holds = 0;
    ticks total = 0, longest = 0;
  };
  std::map<const void*, sum> by_site;
  for (const wait_log* log : logs)
    log->for_each([&](const wait_kind& what, std::uint64_t holds, ticks total, ticks longest) {
      sum& s = by_site[what.object];
      s.holds += holds, s.total += total, s.longest = std::max(s.longest, longest);
    });
  std::vector<const void*> places;
  std::vector<std::string> functions;
  for (const auto& [site, s] : by_site) {
    wait_sites::code at = sites.code_of(site);
    places.push_back(at.address);
    functions.push_back(std::move(at.function));
  }
  std::vector<std::vector<code_location>> found(places.size());
  if (lines) found = locate(places);
  std::map<std::tuple<const void*, std::string, std::string, int>, sum> rows;  // mutex, function, file, line
  std::size_t i = 0;
  for (const auto& [site, s] : by_site) {
    code_location at;  // the innermost inlined function that is the program's
    for (const code_location& l : found[i])
      if (at.line == 0 && !wait_sites::is_between(l.function)) at = l;
    sum& row = rows[{sites.object_of(site), functions[i], at.line != 0 ? at.file : std::string(), at.line}];
    row.holds += s.holds, row.total += s.total, row.longest = std::max(row.longest, s.longest);
    ++i;
  }
  std::vector<std::pair<decltype(rows)::key_type, sum>> order(rows.begin(), rows.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  std::string text = "object,name,function,file,line,holds,total_s,max_s\n";
  for (const auto& [where, s] : order) {
    const auto& [mutex, function, file, line] = where;
    const name_id own = object_name(mutex);
    const std::string name = own != unnamed ? std::string(name_of(own)) : readable_name(variable_name(mutex));
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.9g},{:.9g}\n", fmt::ptr(mutex), csv_field(name),
                   csv_field(function), csv_field(file), line == 0 ? std::string() : fmt::format("{}", line), s.holds,
                   seconds(s.total), seconds(s.longest));
  }
  return text;
}

}  // namespace plx::probe
