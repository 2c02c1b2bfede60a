#include "attach/core/lock_holds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
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

void lock_holds::record(const release& r, const void* mutex, const void* released_in) noexcept {
  const int before = errno;
  program::event([&](thread_row& row, ticks) {
    program::record_hold(row, mutex, r.taken_in, released_in, r.held);
    return true;
  });
  errno = before;
}

namespace {

struct sum_of_holds {
  std::uint64_t holds = 0;
  ticks total = 0, longest = 0;
};

/// The name that wait_sites::name_all() gave to a site before its code was unloaded: "in f", or the variable. "": none.
std::string_view kept_name(const void* site) {
  const name_id name = object_name(site);
  return name != unnamed ? name_of(name) : std::string_view();
}

/// The locations of the places with the longest totals; empty for the others.
std::vector<std::vector<code_location>> locate_longest(const std::vector<const void*>& places,
                                                       const std::vector<ticks>& totals) {
  constexpr std::size_t most = 20;
  constexpr double limit_s = 5;
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
  order.resize(std::min(order.size(), most));
  std::vector<const void*> longest;
  for (const std::size_t i : order) longest.push_back(places[i]);
  auto located = locate(longest, limit_s);
  std::vector<std::vector<code_location>> found(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) found[order[i]] = std::move(located[i]);
  return found;
}

}  // namespace

std::string holds_csv(std::span<const wait_log* const> logs, const wait_sites& sites, bool lines) {
  using sum = sum_of_holds;
  std::map<const void*, sum> by_site;
  for (const wait_log* log : logs)
    log->for_each([&](const wait_kind& what, std::uint64_t holds, ticks total, ticks longest) {
      sum& s = by_site[what.object];
      s.holds += holds, s.total += total, s.longest = std::max(s.longest, longest);
    });
  std::vector<const void*> places;
  std::vector<std::string> functions;
  std::vector<ticks> totals;
  std::map<const void*, std::string_view> variables;  // of unloaded code
  for (const auto& [site, s] : by_site) {
    wait_sites::code at = sites.code_of(site);
    const std::string_view kept = kept_name(site);
    const bool is_function = kept.starts_with("in ");
    if (at.function.empty() && is_function) at.function = kept.substr(3);
    if (!kept.empty() && !is_function) variables.emplace(sites.object_of(site), kept);
    places.push_back(at.address);
    functions.push_back(std::move(at.function));
    totals.push_back(s.total);
  }
  std::vector<std::vector<code_location>> found(places.size());
  if (lines) found = locate_longest(places, totals);
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
    std::string name = own != unnamed ? std::string(name_of(own)) : readable_name(variable_name(mutex));
    if (const auto kept = variables.find(mutex); name.empty() && kept != variables.end()) name = kept->second;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.9g},{:.9g}\n", fmt::ptr(mutex), csv_field(name),
                   csv_field(function), csv_field(file), line == 0 ? std::string() : fmt::format("{}", line), s.holds,
                   seconds(s.total), seconds(s.longest));
  }
  return text;
}

}  // namespace plx::probe
