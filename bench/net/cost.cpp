// Cost of a call to a process, in core time: the transport is a mirror.
#include <complex>
#include <vector>

#include "mirror.hpp"
#include "net/action.hpp"
#include "net/core/node.hpp"
#include "parts.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "timing.hpp"

namespace plx::bench {
namespace {

using number = std::complex<double>;
number mirrored(number z) { return std::conj(z); }
void take(number) {}
void nothing() {}

constexpr int batch = 10'000;

void calls() {
  static std::vector<future<number>> results;
  results.clear();
  results.reserve(batch);
  for (int i = 0; i < batch; ++i) results.push_back(async<&mirrored>(1, number(i, 1)));
  for (auto& r : results) r.wait();
}
// No coalescing: each call and each answer is a message, and the caller waits in between.
void one_by_one() {
  for (int i = 0; i < batch; ++i) async<&nothing>(1).get();
}
void posts() {
  net::node& n = net::node_here();
  const std::uint64_t before = n.parcels().done;
  for (int i = 0; i < batch; ++i) post<&take>(1, number(i, 1));
  while (n.parcels().done - before < batch) this_thread::yield();
}

template <class F>
double ns_per_call(F f, int turns) {
  runtime rt({.workers = 1});
  net::node n(rt, std::make_unique<mirror_transport>(), 0, 2);
  std::vector<double> ns;
  for (int i = 0; i < turns; ++i) {
    const double begin = core_seconds();
    rt.run(f);
    ns.push_back((core_seconds() - begin) / batch * 1e9);
  }
  n.stop(1);
  return median(ns);
}

}  // namespace

void cost(report& r, bool quick) {
  const int turns = quick ? 5 : 301;
  r.add("net/cost/call", ns_per_call(calls, turns), "ns", lower);
  r.add("net/cost/single", ns_per_call(one_by_one, quick ? 5 : 31), "ns", lower);
  r.add("net/cost/post", ns_per_call(posts, turns), "ns", lower);
}

}  // namespace plx::bench
