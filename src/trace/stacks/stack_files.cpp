#include "trace/stacks/stack_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/symbols.hpp"
#include "base/text.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/profile.hpp"
#include "trace/stacks/flame_picture.hpp"

namespace plx::probe {
namespace {

/// The samples in one function itself, while tasks of one type ran.
struct function_row {
  std::string task, function;
  std::uint64_t own = 0;
  std::vector<std::pair<const void*, std::uint64_t>> places;  // the most frequent first
  std::string file;
  int line = 0;
  std::uint64_t own_of_line = 0;
};

std::vector<function_row> rows_of(const sample_tree& tree, std::size_t most) {
  std::map<std::pair<std::string, std::string>, function_row> rows;
  for (const sampled_place& p : tree.places(sample_tree::most_nodes)) {
    function_row& row = rows[{p.task, sampled_function(p.address)}];
    row.own += p.own;
    row.places.emplace_back(p.address, p.own);
  }
  std::vector<function_row> out;
  for (auto& [key, row] : rows) {
    std::tie(row.task, row.function) = key;
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.own > b.own; });
  if (out.size() > most) out.resize(most);
  return out;
}

/// Finds the line with the most samples of each row, among its most frequent addresses.
void find_lines(std::vector<function_row>& rows) {
  constexpr std::size_t per_row = 32, per_file = 1000;
  std::vector<const void*> addresses;
  for (const function_row& row : rows)
    for (std::size_t i = 0; i < std::min(row.places.size(), per_row) && addresses.size() < per_file; ++i)
      addresses.push_back(row.places[i].first);
  const auto found = locate(addresses);
  std::size_t next = 0;
  for (function_row& row : rows) {
    std::map<std::pair<std::string, int>, std::uint64_t> lines;
    for (std::size_t i = 0; i < std::min(row.places.size(), per_row) && next < found.size(); ++i, ++next)
      if (const code_location& innermost = found[next].front(); innermost.line != 0)
        lines[{innermost.file, innermost.line}] += row.places[i].second;
    for (const auto& [line, own] : lines)
      if (own > row.own_of_line) std::tie(row.file, row.line) = line, row.own_of_line = own;
  }
}

}  // namespace

std::string stacks_svg(const sample_tree& tree, const std::vector<sampled_call>& calls, double period_s) {
  const auto cpu_s = [&](std::uint64_t periods) { return static_cast<double>(periods) * period_s; };
  const double total_s = cpu_s(tree.total());
  flame_picture out{
      .title = "CPU time by function, below the type of the running task",
      .about = fmt::format("{} {}, {}; the width is the CPU time of a function and of those that it called",
                           count_text(tree.samples()), noun(tree.samples(), "sample"), time_text(total_s)),
      .total = time_text(total_s),
      .frames = {}};
  for (const sampled_call& c : calls)
    out.frames.push_back(
        {c.parent, c.depth, static_cast<double>(c.below), c.name,
         fmt::format("{} ({}), of it {} itself", time_text(cpu_s(c.below)),
                     share_text(total_s > 0 ? cpu_s(c.below) / total_s : 0), time_text(cpu_s(c.own)))});
  return flame_svg(out);
}

std::string stacks_csv(const sample_tree& tree, double period_s, bool lines, std::size_t most) {
  std::vector<function_row> rows = rows_of(tree, most);
  if (lines) find_lines(rows);
  std::string text = "task,function,cpu_s,share,file,line,line_cpu_s\n";
  const auto total = static_cast<double>(std::max<std::uint64_t>(tree.total(), 1));
  for (const function_row& row : rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{:.6g},{:.4g},", csv_field(row.task), csv_field(row.function),
                   static_cast<double>(row.own) * period_s, static_cast<double>(row.own) / total);
    if (row.line != 0)
      fmt::format_to(std::back_inserter(text), "{},{},{:.6g}\n", csv_field(row.file), row.line,
                     static_cast<double>(row.own_of_line) * period_s);
    else
      text += ",,\n";
  }
  return text;
}

}  // namespace plx::probe
