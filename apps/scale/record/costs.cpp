#include "costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "mesh/between/halo.hpp"
#include "mesh/tree/regrid.hpp"
#include "net/job.hpp"
#include "rt/async.hpp"
#include "rt/latch.hpp"
#include "step/exchange.hpp"
#include "step/node_graph.hpp"
#include "step/round_end.hpp"

namespace plx::scale {

namespace {

constexpr int turns = 25;

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

double median_of(const std::function<double()>& seconds) {
  std::vector<double> all;
  for (int i = 0; i < turns; ++i) all.push_back(seconds());
  return median(std::move(all));
}

// Seconds to post and run an empty task.
double task_seconds(runtime& rt) {
  constexpr int tasks = 20000;
  return median_of([&] {
    return rt.run([] {
      latch all(tasks);
      const double begin = monotonic_seconds();
      for (int i = 0; i < tasks; ++i) post([&all] { all.count_down(); });
      all.wait();
      return (monotonic_seconds() - begin) / tasks;
    });
  });
}

// From a thread to a task and back: the start of each step.
double handoff_seconds(runtime& rt) {
  constexpr int times = 200;
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const double begin = monotonic_seconds();
    rt.run([] {});
    all.push_back(monotonic_seconds() - begin);
  }
  return median(std::move(all));
}

// Rounds of messages between localities 0 and 1. The send buffers are filled before: the sender's copying is a separate
// cost.
class traffic final : private step::message_handler {
 public:
  traffic(step::exchange& net, std::size_t bytes)
      : net_(net), doubles_(std::max<std::size_t>(1, bytes / sizeof(double))), other_(1 - net.here()) {}

  /// `trips` round trips of one message: seconds of one way.
  double one_way(int trips) {
    const bool begins = net_.here() == 0;
    return round(trips, begins ? 1 : 0, begins ? trips - 1 : trips) / (2.0 * trips);
  }
  /// Both localities send `messages` concurrently: seconds per pair of a sent and a received message.
  double both_ways(int messages) { return round(messages, messages, 0) / messages; }
  /// In the last round: seconds per message in the calls that sent the first ones.
  double call_s() const { return call_s_; }

 private:
  static std::vector<double> first(const std::vector<double>& a, const std::vector<double>&) { return a; }

  // Sends messages, and further ones as answers. From the arrival of both localities until each knows that both have
  // received all.
  double round(int to_come, int to_send, int answers) {
    full_.clear();
    for (int i = 0; i < to_send + answers; ++i) {
      full_.emplace_back(doubles_);
      std::fill_n(full_.back().data(), doubles_, 1.0);
    }
    step::round_end end(to_come);
    end_ = &end;
    answers_.store(answers, std::memory_order_relaxed);
    net_.all_reduce({0.0}, first);
    const double begin = monotonic_seconds();
    net_.open(*this);
    for (int i = 0; i < to_send; ++i) send(answers + i);
    call_s_ = (monotonic_seconds() - begin) / std::max(1, to_send);
    const bool whole = end.wait();
    net_.close();
    if (!whole) end.fail();
    net_.all_reduce({0.0}, first);
    return monotonic_seconds() - begin;
  }
  void send(int i) { net_.send(other_, {}, std::move(full_[i])); }
  void arrived(const step::message&) override {
    if (const int left = answers_.fetch_sub(1, std::memory_order_relaxed); left > 0) send(left - 1);
    end_->arrive();
  }
  void lost(const std::exception_ptr& loss) override { end_->lost(loss); }

  step::exchange& net_;
  std::size_t doubles_;
  int other_;
  step::round_end* end_ = nullptr;
  std::vector<buffer<double>> full_;
  std::atomic<int> answers_{0};
  double call_s_ = 0.0;
};

constexpr std::array<std::size_t, 6> sizes{64, 1024, 4096, 16384, 32768, 65536};

struct message_times {
  std::vector<double> one_way, both, call;
};

message_times measure_messages(step::exchange& net) {
  message_times t;
  for (const std::size_t bytes : sizes) {
    // About as many at once as in a stage.
    const int messages = bytes > 8192 ? 16 : 200;
    traffic between(net, bytes);
    std::vector<double> call;
    t.one_way.push_back(median_of([&] { return between.one_way(50); }));
    t.both.push_back(median_of([&] {
      const double s = between.both_ways(messages);
      call.push_back(between.call_s());
      return s;
    }));
    t.call.push_back(median(std::move(call)));
  }
  return t;
}

// As much data as the agreement at the end of a step.
double agree_seconds(step::exchange& net) {
  constexpr int times = 50;
  const auto largest = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> all = a;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], b[i]);
    return all;
  };
  return median_of([&] {
    const double begin = monotonic_seconds();
    for (int i = 0; i < times; ++i) net.all_reduce(std::vector<double>(40, 1.0), largest);
    return (monotonic_seconds() - begin) / times;
  });
}

double gather_seconds(step::exchange& net) {
  constexpr int times = 50;
  return median_of([&] {
    const double begin = monotonic_seconds();
    for (int i = 0; i < times; ++i) net.all_gather(std::vector<double>(64, 1.0));
    return (monotonic_seconds() - begin) / times;
  });
}

}  // namespace

std::string measure_costs(job& j) {
  std::string text = fmt::format("{{\"processes\": {}, \"task_s\": {}, \"handoff_s\": {}", j.size(),
                                 task_seconds(j.home()), handoff_seconds(j.home()));
  if (j.size() == 1) return text + "}\n";
  step::exchange all(j.node());
  const auto [agree_s, gather_s] = j.run([&] { return std::pair(agree_seconds(all), gather_seconds(all)); });
  text += fmt::format(", \"agree_s\": {}, \"gather_s\": {}", agree_s, gather_s);
  if (j.size() == 2) {
    const message_times t = j.run([&] { return measure_messages(all); });
    text += fmt::format(",\n \"bytes\": [{}],\n \"one_way_s\": [{}],\n \"both_s\": [{}],\n \"call_s\": [{}]",
                        fmt::join(sizes, ", "), fmt::join(t.one_way, ", "), fmt::join(t.both, ", "),
                        fmt::join(t.call, ", "));
  }
  return j.here() == 0 ? text + "}\n" : "";
}

// -------------------------------------------------------------------------------------------------------------- border

namespace {

constexpr int border_turns = 15;

template <class F>
double best_of(F&& f) {
  double best = 1e30;
  for (int i = 0; i < border_turns; ++i) {
    const double begin = monotonic_seconds();
    f();
    best = std::min(best, monotonic_seconds() - begin);
  }
  return best;
}

}  // namespace

border_costs measure_border(const star::gas& g, std::size_t group_bytes) {
  border_costs c;
  if (g.mesh.block_count() < 2) return c;
  const mesh::curve_parts parts = star::equal_parts(g.mesh, 2);
  const auto lists = [&] { return mesh::halo(g.mesh, parts, 0, g.now.variable_count(), group_bytes); };
  const mesh::halo halo = lists();
  std::size_t out = 0, in = 0, blocks = 0;
  std::vector<std::vector<double>> sent, received;
  for (const mesh::halo_group& s : halo.sends()) {
    sent.emplace_back(s.size());
    out += s.size() * sizeof(double);
    blocks += s.blocks.size();
  }
  for (const mesh::halo_group& r : halo.receives()) {
    received.emplace_back(r.size(), 1.0);
    in += r.size() * sizeof(double);
    blocks += r.blocks.size();
  }
  if (out == 0 || in == 0) return c;
  mesh::arena mirrors(g.now.fields(), g.now.block_size());
  mirrors.resize(g.mesh.slot_count());
  c.pack_s_per_byte = best_of([&] {
                        for (std::size_t i = 0; i < sent.size(); ++i)
                          for (std::size_t b = 0; b < halo.sends()[i].blocks.size(); ++b)
                            mesh::pack(halo.sends()[i], b, g.now, sent[i].data());
                      }) /
                      static_cast<double>(out);
  c.unpack_s_per_byte = best_of([&] {
                          for (std::size_t i = 0; i < received.size(); ++i)
                            mesh::unpack(halo.receives()[i], received[i].data(), mirrors);
                        }) /
                        static_cast<double>(in);
  std::vector<mesh::flag> flags(g.mesh.slot_count(), mesh::flag::keep);
  mesh::block_mesh counted = g.mesh;
  const auto all = static_cast<double>(g.mesh.block_count());
  c.decision_s_per_block = best_of([&] { return mesh::count_requests(counted, flags, 2); }) / all;
  for (const mesh::slot_id slot : g.mesh.blocks())
    if (g.mesh.level(slot) < g.mesh.box().max_level) {
      flags[slot] = mesh::flag::refine;
      break;
    }
  c.plan_s_per_block = best_of([&] { return mesh::plan_regrid(g.mesh, flags, 2); }) / all;
  c.tree_s_per_block = best_of([&] { return step::node_graph(g.mesh, parts, 0, true).node_count(); }) / all;
  c.lists_s_per_block = best_of(lists) / static_cast<double>(blocks);
  return c;
}

}  // namespace plx::scale
