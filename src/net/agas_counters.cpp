// Counters of global addresses: /agas{locality#N/total}/count/...
#include <string>

#include "net/detail/agas_actions.hpp"

namespace plx::net::detail {
namespace {

struct counter {
  const char* name;
  const char* help;
  std::uint64_t agas_counts::*value;
  bool monotonic;
};

constexpr counter all[] = {
    {"lookups", "Times a caller here had to know where an object is", &agas_counts::lookups, true},
    {"cache-hits", "Times this locality knew it", &agas_counts::hits, true},
    {"cache-misses", "Times the object's directory was asked", &agas_counts::misses, true},
    {"forwards", "Calls that came here and went on to where the object is", &agas_counts::forwards, true},
    {"migrations", "Objects that moved from here to another locality", &agas_counts::migrations, true},
    {"references-registered", "References that this locality had registered", &agas_counts::claims, true},
    {"references-released", "References that this locality gave back", &agas_counts::releases, true},
    {"created", "Objects that were made here", &agas_counts::created, true},
    {"destroyed", "Objects that ended here", &agas_counts::destroyed, true},
    {"components", "Objects that live here now", &agas_counts::objects, false},
    {"references", "Objects that this locality holds handles of now", &agas_counts::references, false},
    {"entries", "Objects whose directory this locality is now", &agas_counts::entries, false},
};

}  // namespace

std::vector<probe::registration> add_agas_counters(node& n, const agas& a) {
  std::vector<probe::registration> added;
  probe::counter_registry& registry = n.home().counters();
  const std::string begin = "/agas{locality#" + std::to_string(n.here()) + "/total}/count/";
  for (const counter& c : all)
    added.push_back(registry.add({begin + c.name, "1", c.help, c.monotonic},
                                 [&a, value = c.value] { return static_cast<double>(a.counts().*value); }));
  return added;
}

}  // namespace plx::net::detail
