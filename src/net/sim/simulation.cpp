#include "net/simulation.hpp"

#include <cmath>
#include <exception>
#include <thread>
#include <utility>

namespace plx::net {
namespace {

runtime_options options_of(const sim_options& o, locality_id which, stage& s) {
  runtime_options r;
  r.workers = o.workers;
  r.deterministic = true;
  r.seed = (o.seed + 1) * 0x9e3779b97f4a7c15u + which;
  r.conducted_by = s.conductor_of(which);
  r.shutdown_deadline_s = 0;
  return r;
}

}  // namespace

struct simulation::locality {
  locality(const sim_options& o, locality_id here, stage& s, sim_network& n)
      : rt(options_of(o, here, s)), of(rt, n.transport_of(here), here, o.localities) {}

  runtime rt;
  node of;
  std::exception_ptr thrown;
};

simulation::simulation(sim_options options)
    : stage_(options.localities, options.seed, ns_from(options.step_max_s), ns_from(options.time_limit_s)),
      network_(stage_, options) {
  for (locality_id i = 0; i < options.localities; ++i)
    places_.push_back(std::make_unique<locality>(options, i, stage_, network_));
}

simulation::~simulation() {
  for (auto& p : places_) p->of.stop(0);
}

node& simulation::at(locality_id which) noexcept { return places_[which]->of; }
runtime& simulation::runtime_at(locality_id which) noexcept { return places_[which]->rt; }

void simulation::run_all(locality_id first, locality_id last, void* body, void (*call)(void*)) {
  stage_.open();
  std::vector<std::thread> threads;
  for (locality_id i = 0; i < size(); ++i)
    threads.emplace_back([&, i] {
      locality& p = *places_[i];
      p.thrown = nullptr;
      try {
        p.rt.run([&, mine = i >= first && i < last] {
          if (mine) call(body);
        });
      } catch (...) {
        p.thrown = std::current_exception();
      }
    });
  for (auto& t : threads) t.join();
  std::string waits;
  std::exception_ptr failure;
  for (locality_id i = 0; i < size(); ++i) {
    if (!places_[i]->thrown || !network_.alive(i)) continue;
    try {
      std::rethrow_exception(places_[i]->thrown);
    } catch (const deadlock_error& e) {
      waits += e.what();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (!waits.empty()) throw deadlock_error(waits);
}

}  // namespace plx::net
