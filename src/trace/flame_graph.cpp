#include "trace/flame_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "probe/sample/sample_tree.hpp"
#include "trace/profile.hpp"
#include "trace/stacks/flame_picture.hpp"

namespace plx::probe {

std::string collapsed_stacks(const std::vector<call_path>& tree) {
  std::vector<sampled_call> calls;
  calls.reserve(tree.size());
  for (const call_path& p : tree)
    calls.push_back({.parent = p.parent,
                     .name = std::string(name_of(p.name)),
                     .own = static_cast<std::uint64_t>(std::max(0LL, std::llround(1e6 * p.own_s)))});
  return collapsed_stacks(calls);
}

std::string flame_svg(const std::vector<call_path>& tree) {
  double total_s = 0;
  std::uint64_t tasks = 0;
  for (const call_path& p : tree) total_s += p.own_s, tasks += p.tasks;
  flame_picture out{.title = "Task types by the types that caused them",
                    .about = fmt::format("{} {}, {}; the width is the time of the tasks and of those that they caused",
                                         count_text(tasks), noun(tasks, "task"), time_text(total_s)),
                    .total = time_text(total_s),
                    .frames = {}};
  out.frames.reserve(tree.size());
  for (const call_path& p : tree)
    out.frames.push_back(
        {p.parent, p.depth, p.below_s, std::string(name_of(p.name)),
         fmt::format("{} ({}), of it {} in {} of its own", time_text(p.below_s),
                     share_text(total_s > 0 ? p.below_s / total_s : 0), time_text(p.own_s), plural(p.tasks, "task"))});
  return flame_svg(out);
}

}  // namespace plx::probe
