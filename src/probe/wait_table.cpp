// The workers' waits, summed by what was waited for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/file.hpp"
#include "probe/csv.hpp"
#include "probe/recorder_detail.hpp"

namespace plx::probe {
namespace {

/// "shared_mutex, to read" is of the kind "shared_mutex".
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
  return write_file(std::string(path), text);
}

}  // namespace plx::probe
