// The sum of 8 MiB of every process: element by element, and by an operation on whole vectors, alternating.
#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

constexpr std::size_t count = std::size_t{1} << 20;

/// Times of one form on this process, and the bytes that it sends.
struct turns {
  std::vector<double> ms, mib;

  template <class F>
  void measure(const communicator& all, net::node& n, F f) {
    all.barrier().get();
    const std::uint64_t before = n.port().counts().bytes_sent;
    const double begin = monotonic_seconds();
    f();
    ms.push_back((monotonic_seconds() - begin) * 1e3);
    mib.push_back(static_cast<double>(n.port().counts().bytes_sent - before) / (1 << 20));
  }
  void report_as(const inside& in, const std::string& variant) const {
    const std::string name = fmt::format("net/allreduce8MiB{}/{}{}", in.suffix, variant, in.j.size());
    in.rows.add(name, median(ms), "ms", lower);
    in.rows.add(name + "/sent", median(mib), "MiB", lower);
  }
};

std::vector<double> sum(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
  return a;
}

}  // namespace

void large_all_reduce(inside& in) {
  turns elements, whole;
  in.j.run([&] {
    const communicator all;
    std::vector<double> values(count, 1.0);
    for (int i = 0; all.broadcast(in.more(i, 200)).get(); ++i) {
      elements.measure(all, in.j.node(), [&] { all.all_reduce(std::span<double>(values), std::plus<>()).get(); });
      whole.measure(all, in.j.node(), [&] { values = all.all_reduce(std::move(values), sum).get(); });
      values.assign(count, 1.0);
    }
  });
  if (in.j.here() != 0) return;
  elements.report_as(in, "elements");
  whole.report_as(in, "whole");
}

}  // namespace plx::bench
