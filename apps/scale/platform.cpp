#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <simgrid/s4u.hpp>

#include "replay.hpp"
#include "replay_run.hpp"

namespace plx::scale {

namespace s4u = simgrid::s4u;

struct platform::impl {
  std::unique_ptr<s4u::Engine> engine;
  std::vector<s4u::Host*> hosts;
};

platform::platform(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
platform::platform(platform&&) noexcept = default;
platform::~platform() = default;

int platform::hosts() const { return static_cast<int>(impl_->hosts.size()); }

namespace {

// Flows get the bandwidth given by the platform, shared fairly. The latency is added by replay.cpp, so that it does not
// delay the next message; hence factor 0 here.
constexpr const char* settings[] = {"network/model:CM02",
                                    "network/bandwidth-factor:1",
                                    "network/latency-factor:0",
                                    "network/weight-S:0",
                                    "network/TCP-gamma:0",
                                    "network/crosstraffic:no",
                                    "network/maxmin-selective-update:yes",
                                    "surf/precision:1e-12",
                                    "contexts/stack-size:64",
                                    "contexts/guard-size:0"};

// Orders node-2 before node-10.
bool by_number(const s4u::Host* a, const s4u::Host* b) {
  const std::string &x = a->get_name(), &y = b->get_name();
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

}  // namespace

result<platform> platform::load(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0)
    return error{fmt::format("{}: cannot be read; expected a platform file of SimGrid (apps/scale/platforms)", path)};
  char name[] = "plx-scale", quiet[] = "--log=root.thresh:critical";
  char* arguments[] = {name, quiet, nullptr};
  int count = 2;
  auto made = std::make_unique<impl>();
  try {
    made->engine = std::make_unique<s4u::Engine>(&count, arguments);
    for (const char* s : settings) s4u::Engine::set_config(s);
    made->engine->load_platform(path);
  } catch (const std::exception& e) {
    return error{fmt::format("{}: {}", path, e.what())};
  }
  made->hosts = made->engine->get_all_hosts();
  if (made->hosts.empty()) return error{path + ": has no hosts; expected at least one"};
  std::sort(made->hosts.begin(), made->hosts.end(), by_number);
  return platform(std::move(made));
}

result<replayed> platform::run(const work_graph& g, const layout& where, const costs& c) {
  const int needed = (g.localities() + where.per_host - 1) / where.per_host;
  if (needed > hosts())
    return error{fmt::format("{} localities, {} to a host, need {} hosts; the platform has {}", g.localities(),
                             where.per_host, needed, hosts())};
  return replay_on(impl_->hosts, g, where, c);
}

}  // namespace plx::scale
