// Phases of dense, sparse and bursty traffic with every setting: which is best for each, and which adapts to it.
#include <chrono>

#include "base/clock.hpp"
#include "net/job.hpp"
#include "parts.hpp"
#include "rt/thread.hpp"
#include "series.hpp"
#include "traffic.hpp"

namespace plx::bench {
namespace {

constexpr std::chrono::microseconds pause_between{50};
constexpr unsigned calls_of_sparse = 10, bursts = 10;

struct kind {
  const char* name;
  double (*unit)(traffic&);  // returns the seconds spent waiting for answers, without pauses
};

double separately(traffic& t, unsigned times, unsigned calls) {
  double s = 0;
  for (unsigned i = 0; i < times; ++i) {
    s += t.exchange(calls);
    this_thread::sleep_for(pause_between);
  }
  return s;
}

constexpr kind kinds[] = {
    {"dense", [](traffic& t) { return t.exchange(t.dense()); }},
    {"sparse", [](traffic& t) { return separately(t, calls_of_sparse, 1); }},
    {"bursty", [](traffic& t) { return separately(t, bursts, t.burst()); }},
};

// Units of one kind of traffic until the time is over, one line each.
void phase(series& s, traffic& t, const options& o, const std::string& setting, unsigned turn, const kind& k) {
  // A setting that tunes itself gets additional time for it.
  const double lasts_s = setting != "adaptive" || o.long_phase_s == 0 ? o.phase_s : o.long_phase_s;
  const double begin = s.all().all_reduce(s.elapsed_s(), minimum()).get();
  for (;;) {
    const sample one = s.measure([&] { return k.unit(t); });
    const double at_s = s.all().all_reduce(s.elapsed_s() - begin, maximum()).get();
    s.write({o.part, o.traffic, o.traffic == "toy" ? 0 : o.sizes.front(), turn, setting, k.name}, at_s, one);
    if (at_s >= lasts_s) return;
  }
}

}  // namespace

void run_phases(job& j, const options& o) {
  const bool is_toy = o.traffic == "toy";
  series s(j, o, is_toy ? toy_action : row_action);
  const auto t = is_toy ? toy_traffic() : rotation_traffic(o.sizes.front());
  s.set("self");
  s.measure([&] { return kinds[0].unit(*t); });  // allocates memory
  t->check();
  for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn)
    for (const unsigned i : shuffled(static_cast<unsigned>(o.settings.size()), turn)) {
      s.set(o.settings[i]);
      for (const kind& k : kinds) phase(s, *t, o, o.settings[i], turn, k);
    }
  t->check();
  s.all().barrier().get();
}

}  // namespace plx::bench
