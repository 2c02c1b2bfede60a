#include "trace/tools/trace_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "trace/file/run_files.hpp"
#include "trace/profile.hpp"
#include "trace/tools/slice_sink.hpp"

namespace plx::probe {
namespace {

/// Whether `a` comes before `b` in the answer.
struct search_order {
  slice_search::order by;

  bool operator()(const found_slice& a, const found_slice& b) const noexcept {
    const auto rank = [this](const found_slice& s) {
      if (by == slice_search::order::longest) return -s.length_s;
      return by == slice_search::order::longest_wait ? -s.wait_s : 0.0;
    };
    return std::tuple(rank(a), a.begin_s, a.locality, a.row) < std::tuple(rank(b), b.begin_s, b.locality, b.row);
  }
};

/// Keeps the best slices as a heap whose top is the worst of them.
class slice_finder final : public slice_sink {
 public:
  slice_finder(const slice_search& search, const run_file& file, ticks origin, search_result& found,
               const tick_window& window)
      : slice_sink(window), search_(search), file_(file), origin_(origin), found_(found) {}

  void slice(unsigned row, const trace_slice& s, std::span<const trace_edge> edges) override {
    if (search_.task && s.id != *search_.task) return;
    if (search_.key && s.key != *search_.key) return;
    if (!is_sought(s.name)) return;
    const ticks begin = file_.clock(s.begin);
    found_slice f{.begin_s = begin > origin_ ? seconds(begin - origin_) : 0,
                  .length_s = seconds(ticks_between(begin, file_.clock(s.end))),
                  .name = s.name,
                  .task = s.id,
                  .key = s.key,
                  .locality = file_.start.locality,
                  .row = row};
    if (f.length_s < search_.at_least_s) return;
    if (s.ready != 0) f.wait_s = seconds(ticks_between(file_.clock(s.ready), begin));
    for (const trace_edge& e : edges)
      if (e.to == s.id) f.ready_by = e.from;
    ++found_.matches;
    found_.total_s += f.length_s;
    if (search_.by == slice_search::order::longest_wait && f.wait_s < 0) return;
    auto& best = found_.slices;
    if (best.size() == search_.rows) {
      if (best.empty() || !before_(f, best.front())) return;
      std::pop_heap(best.begin(), best.end(), before_);
      best.pop_back();
    }
    best.push_back(f);
    std::push_heap(best.begin(), best.end(), before_);
  }

 private:
  bool is_sought(name_id name) {
    if (search_.name.empty()) return true;
    if (name >= names_.size()) names_.resize(name + std::size_t{1}, unknown);
    if (names_[name] == unknown) names_[name] = name_of(name).find(search_.name) != std::string_view::npos ? yes : no;
    return names_[name] == yes;
  }
  enum answer : char { unknown, no, yes };

  const slice_search& search_;
  const run_file& file_;
  const ticks origin_;
  search_result& found_;
  const search_order before_{search_.by};
  std::vector<answer> names_;
};

std::string task_text(task_id id) {
  if (id == 0) return "-";
  return is_join(id) ? fmt::format("join {}", id & ~join_bit) : fmt::format("{}", id);
}

}  // namespace

result<search_result> find_slices(const std::vector<std::string>& files, const slice_search& search) {
  search_result found;
  const auto run = run_files(files, found.warnings);
  if (!run) return run.error();
  const ticks origin = run->front().clock(run->front().start.origin);
  found.several = run->size() > 1;
  for (const run_file& file : *run) {
    const tick_window window = window_of(*run, file, search.range);
    slice_finder finder(search, file, origin, found, window);
    const auto read = read_trace(file.path, finder, window);
    if (!read) return read.error();
    for (std::string& line : read->warnings(file.path)) found.warnings.push_back(std::move(line));
  }
  std::sort_heap(found.slices.begin(), found.slices.end(), search_order{search.by});
  return found;
}

std::string search_text(const search_result& r) {
  std::string text = fmt::format("{}, {} in total", plural(r.matches, "slice"), time_text(r.total_s));
  if (r.slices.size() < r.matches) text += fmt::format("; {} of them:", r.slices.size());
  text += '\n';
  if (r.slices.empty()) return text;
  text += fmt::format("\n{:>14} {:>9} {:>9} {:>{}}  {:<32} {:>16} {:>20} {}\n", "begin s", "length", "wait", "worker",
                      r.several ? 9 : 6, "task type", "task", "made ready by", "key");
  for (const found_slice& s : r.slices)
    text += fmt::format("{:>14.9f} {:>9} {:>9} {:>{}}  {:<32} {:>16} {:>20} {}\n", s.begin_s, time_text(s.length_s),
                        s.wait_s < 0 ? "-" : time_text(s.wait_s),
                        r.several ? fmt::format("{}:{}", s.locality, s.row) : fmt::format("{}", s.row),
                        r.several ? 9 : 6, shortened(name_of(s.name), 32), task_text(s.task), task_text(s.ready_by),
                        s.key == no_key ? "-" : fmt::format("{}", s.key));
  return text;
}

}  // namespace plx::probe
