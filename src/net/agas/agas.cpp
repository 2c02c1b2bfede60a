// Counters of global addresses: /agas{locality#N/total}/count/...

#include <algorithm>
#include <stdexcept>
#include <string>

#include "net/action.hpp"
#include "net/agas/agas.hpp"
#include "net/agas/agas_tables.hpp"
#include "net/error.hpp"
#include "rt/core/scheduler.hpp"

namespace plx {

std::string to_string(const gid& id) {
  return id ? std::to_string(id.origin) + ':' + std::to_string(id.number) : "none";
}

namespace net {

using plx::detail::spin_guard;

void detail::agas_updates(sender from, reference_updates l) { node_here().get<agas>().read(from.who, std::move(l)); }
bool detail::agas_entered(sender owner, gid id, locality_id holder, std::uint64_t stamp) {
  return node_here().get<agas>().note_entered(id, owner.who, holder, stamp);
}
bool detail::agas_moved(sender to, gid id, std::uint32_t moves) {
  return node_here().get<agas>().note_moved(id, to.who, moves);
}
bool detail::agas_take_back(sender owner, gid id, std::uint32_t moves) {
  return node_here().get<agas>().take_back(id, owner.who, moves);
}
void detail::agas_settle_asked(sender asker, locality_id lost) {
  node_here().get<agas>().settle_asked(lost, asker.who);
}
void detail::agas_settled(sender who, locality_id lost) { node_here().get<agas>().settled(lost, who.who); }

namespace {

void deliver(agas& a, locality_id to, detail::reference_updates&& l) {
  if (to == a.home().here()) return a.read(to, std::move(l));
  l.losses = a.losses();
  post<&detail::agas_updates>(to, sender{a.home().here()}, std::move(l));
}

}  // namespace

agas::agas(node& n) : node_(n), tables_(std::make_unique<detail::agas_tables>(n, *this, deliver)) {
  // Earlier losses are settled: no claim of this locality precedes them.
  for (locality_id i = 0; i < n.size(); ++i)
    if (n.is_lost(i)) tables_->losses.add(i, true);
  counters_ = detail::add_agas_counters(n, *this);
}

// No task of this locality runs any more, and nothing is sent.
agas::~agas() {
  counters_.clear();
  std::vector<std::unique_ptr<detail::object_record>> objects;
  for (detail::shard& s : tables_->shards) {
    for (auto& [id, record] : s.objects) objects.push_back(std::move(record));
    s.objects.clear();
  }
  objects.clear();  // also destroys the handles in them
  for (detail::transit_table& k : tables_->sent)
    for (auto& [id, item] : k.items)
      for (; item.handles > 0; --item.handles) detail::drop(item.ref);
  for (detail::shard& s : tables_->shards)
    for (auto& [id, r] : s.references) {
      // Handles that outlive this service delete the reference themselves.
      if (r->handles.load(std::memory_order_acquire) == 0)
        delete r;
      else
        r->home.store(nullptr, std::memory_order_release);
    }
}

gid agas::fresh_id(const object_type& type) {
  gid id{node_.here(), type.tag, 0};
  do id.number = 1 + numbers_.fetch_add(1, std::memory_order_relaxed);
  while (node_.is_lost(directory_of(id)));
  return id;
}

void agas::submit(plx::detail::task* first) noexcept {
  while (first != nullptr) {
    plx::detail::task* next = first->next;
    node_.home().get_scheduler().submit(first);
    first = next;
  }
}

void agas::peer_lost(locality_id which) {
  if (!tables_->losses.add(which)) return;
  detail::gid_map<detail::transit_table::item> kept;
  {
    const spin_guard guard(tables_->sent[which].lock);
    kept.swap(tables_->sent[which].items);
  }
  for (auto& [id, item] : kept)
    for (; item.handles > 0; --item.handles) detail::drop(item.ref);
  lose_references(which);
  lose_objects(which);
  lose_entries(which);
  for (locality_id i = 0; i < node_.size(); ++i)
    if (i != node_.here()) post<&detail::agas_settle_asked>(i, sender{node_.here()}, which);
  answer_settle_questions();
}

unsigned agas::losses() const noexcept { return tables_->losses.seen(); }

void agas::settle_asked(locality_id lost, locality_id asker) {
  if (lost >= node_.size()) return node_.refuse(asker, "it asks about the loss of a nonexistent locality");
  tables_->losses.ask({lost, asker});
  answer_settle_questions();
}

void agas::settled(locality_id lost, locality_id who) {
  tables_->losses.answer(lost, who);
  answer_settle_questions();
}

// Called after everything that may have settled a loss, here or on all localities.
void agas::answer_settle_questions() {
  for (const auto& q : tables_->losses.answerable()) post<&detail::agas_settled>(q.asker, sender{node_.here()}, q.lost);
  for (const gid& id : tables_->losses.ready()) destroy_if_settled(id, 0);
}

// Checks that the sender is entitled to each update.
bool agas::sound(locality_id from, const detail::reference_updates& l) const noexcept {
  const auto all = [](const auto& list, auto right) { return std::all_of(list.begin(), list.end(), right); };
  const auto ours = [this](const detail::claim& c) { return is_directory(c.id); };
  const auto theirs = [this, from](const gid& id) { return directory_of(id) == from; };
  return l.losses <= node_.size() && all(l.claims, ours) && all(l.releases, ours) && all(l.destroys, theirs) &&
         all(l.claim_results, [&](const detail::claim_result& v) { return theirs(v.id); }) &&
         all(l.places, [this](const detail::place_update& n) { return n.place.where < node_.size(); });
}

void agas::read(locality_id from, detail::reference_updates&& l) {
  if (from != node_.here() && !sound(from, l))
    return node_.refuse(from, "it sent reference updates it is not entitled to");
  for (const detail::claim& c : l.claims) claimed(from, c);
  for (const detail::claim_result& v : l.claim_results)
    end_claim(v.id, v.stamp, v.known != 0 ? detail::claim_state::registered : detail::claim_state::gone, no_locality);
  for (const detail::acknowledgement& t : l.acknowledged) end_transit(from, t.id, t.handles);
  for (const detail::place_update& n : l.places) {
    detail::shard& s = tables_->of(n.id);
    const spin_guard guard(s.lock);
    s.update_place(n.id, n.place);
  }
  for (const detail::claim& c : l.releases) released(from, c, static_cast<unsigned>(l.losses));
  if (!l.claim_results.empty()) answer_settle_questions();
  if (from == node_.here())
    for (const gid& id : l.destroys) destroy(id);
  else if (!l.destroys.empty())  // in a task, as destructors are program code and this is a poller
    tables_->out.put(node_.here(), [&l](detail::reference_updates& mine) {
      mine.destroys.insert(mine.destroys.end(), l.destroys.begin(), l.destroys.end());
    });
}

agas_counts agas::counts() const {
  const auto of = [](const std::atomic<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
  agas_counts c;
  c.lookups = of(lookups_), c.hits = of(hits_), c.misses = of(misses_), c.forwards = of(forwards_);
  for (detail::shard& s : tables_->shards) {
    const spin_guard guard(s.lock);
    c.created += s.counts.created, c.destroyed += s.counts.destroyed, c.migrations += s.counts.migrations;
    c.claims += s.counts.claims, c.releases += s.counts.releases;
    c.objects += s.objects.size();
    c.references += s.references.size();
    for (const auto& [id, e] : s.entries)
      if (!e.lost) ++c.entries, c.holders += e.holders.size();
  }
  return c;
}

std::exception_ptr detail::error_of(const node& n, const access& a, const gid& id) {
  switch (a.what) {
    case access::lost:
      return n.loss_of(a.where);
    case access::other_type:
      return std::make_exception_ptr(std::runtime_error("the object " + to_string(id) + " is of another type"));
    default:
      return std::make_exception_ptr(std::runtime_error("the object " + to_string(id) + " no longer exists"));
  }
}

}  // namespace net
}  // namespace plx

namespace plx::net::detail {
namespace {

struct counter {
  const char* name;
  const char* help;
  std::uint64_t agas_counts::*value;
  bool monotonic;
};

constexpr counter counters[] = {
    {"lookups", "Lookups of an object's place by callers on this locality", &agas_counts::lookups, true},
    {"cache-hits", "Lookups answered by the cache of this locality", &agas_counts::hits, true},
    {"cache-misses", "Lookups sent to the object's directory", &agas_counts::misses, true},
    {"forwards", "Calls that this locality forwarded to the object's place", &agas_counts::forwards, true},
    {"migrations", "Objects moved from this locality to another one", &agas_counts::migrations, true},
    {"references-registered", "References registered for this locality", &agas_counts::claims, true},
    {"references-released", "References released by this locality", &agas_counts::releases, true},
    {"created", "Objects created on this locality", &agas_counts::created, true},
    {"destroyed", "Objects destroyed on this locality", &agas_counts::destroyed, true},
    {"components", "Objects that live on this locality now", &agas_counts::objects, false},
    {"references", "Objects of which this locality holds handles now", &agas_counts::references, false},
    {"entries", "Objects whose directory is this locality", &agas_counts::entries, false},
};

}  // namespace

std::vector<probe::registration> add_agas_counters(node& n, const agas& a) {
  std::vector<probe::registration> added;
  probe::counter_registry& registry = n.home().counters();
  const std::string begin = "/agas{locality#" + std::to_string(n.here()) + "/total}/count/";
  for (const counter& c : counters)
    added.push_back(registry.add({begin + c.name, "1", c.help, c.monotonic},
                                 [&a, value = c.value] { return static_cast<double>(a.counts().*value); }));
  return added;
}

}  // namespace plx::net::detail
