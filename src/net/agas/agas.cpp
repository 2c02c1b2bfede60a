// Counters of global addresses: /agas{locality#N/total}/count/...

#include <algorithm>
#include <stdexcept>
#include <string>

#include "net/action.hpp"
#include "net/agas/agas.hpp"
#include "net/agas/agas_tables.hpp"
#include "net/agas/object_call.hpp"
#include "net/error.hpp"
#include "rt/core/scheduler.hpp"

namespace plx {

std::string to_string(const gid& id) {
  return id ? std::to_string(id.origin) + ':' + std::to_string(id.number) : "none";
}

namespace net {

using plx::detail::spin_guard;

namespace {

void fail_calls(const node& n, const std::vector<reply_target*>& calls, locality_id lost) {
  for (reply_target* t : calls) t->fail(n.loss_of(lost));
}

// The candidates for the directory of an object, in order: its origin, then all localities from the hash of its id on.
template <class Lost>
locality_id first_candidate(const gid& id, locality_id n, const Lost& lost) noexcept {
  if (!lost(id.origin)) return id.origin;
  auto at = static_cast<locality_id>(hash_of(id) % n);
  while (lost(at)) at = (at + 1) % n;  // this locality is not lost
  return at;
}

}  // namespace

void detail::agas_updates(sender from, reference_updates l) { node_here().get<agas>().read(from.who, std::move(l)); }
bool detail::agas_moved(sender to, gid id, std::uint32_t moves) {
  return node_here().get<agas>().note_moved(id, to.who, moves);
}
bool detail::agas_reclaim(sender owner, gid id, std::uint32_t moves) {
  return node_here().get<agas>().reclaim(id, owner.who, moves);
}

// After a loss either the thread that reports it finds the call, or this one sees that the locality is lost.
void detail::agas_call_forwarded(sender from, std::uint64_t call, std::uint32_t hops, locality_id to) {
  node& n = node_here();
  if (to >= n.size()) return n.refuse(from.who, "it forwards a call to a nonexistent locality");
  n.replies().forwarded(call, hops, to);
  if (n.is_lost(to)) fail_calls(n, n.replies().take_all(to), to);
}
void detail::agas_call_reached(sender who, std::uint64_t call, std::uint32_t hops) {
  node& n = node_here();
  n.replies().reached(call, hops, who.who);
  if (n.is_lost(who.who)) fail_calls(n, n.replies().take_all(who.who), who.who);
}

void detail::note_forwarded(const request& q, const call_target& t, locality_id to) {
  const locality_id here = q.here->here();
  if (q.answered() == here)
    agas_call_forwarded({here}, q.reply_to, t.hops, to);
  else
    post<&agas_call_forwarded>(q.answered(), sender{here}, q.reply_to, t.hops, to);
}
void detail::note_reached(const request& q, const call_target& t) {
  const locality_id here = q.here->here();
  if (q.answered() == here)
    q.here->replies().reached(q.reply_to, t.hops, here);
  else
    post<&agas_call_reached>(q.answered(), sender{here}, q.reply_to, t.hops);
}

namespace {

void deliver(agas& a, locality_id to, detail::reference_updates&& l) {
  if (to == a.home().here()) return a.read(to, std::move(l));
  l.losses = a.losses();
  post<&detail::agas_updates>(to, sender{a.home().here()}, std::move(l));
}

}  // namespace

agas::agas(node& n) : node_(n), tables_(std::make_unique<detail::agas_tables>(n, *this, deliver)) {
  tables_->counters = detail::add_agas_counters(n, *this);
}

// No task of this locality runs any more, and nothing is sent.
agas::~agas() {
  tables_->counters.clear();
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

// As far as this locality knows: localities may differ until all know of a loss.
locality_id agas::directory_of(const gid& id) const noexcept {
  return first_candidate(id, node_.size(), [this](locality_id l) { return tables_->losses.knows(l); });
}

locality_id agas::directory_for_call(const gid& id) const noexcept {
  return first_candidate(id, node_.size(), [this](locality_id l) { return node_.is_lost(l); });
}

void agas::submit(plx::detail::task* first) noexcept {
  while (first != nullptr) {
    plx::detail::task* next = first->next;
    node_.home().get_scheduler().submit(first);
    first = next;
  }
}

void agas::peer_lost(locality_id which) {
  const auto epoch = tables_->losses.add(which);
  if (!epoch) return;
  detail::gid_map<detail::transit_table::item> kept;
  {
    const spin_guard guard(tables_->sent[which].lock);
    kept.swap(tables_->sent[which].items);
  }
  for (auto& [id, item] : kept)
    for (; item.handles > 0; --item.handles) detail::drop(item.ref);
  claim_again(which, *epoch);
  register_again(which, *epoch);
  lose_entries(which);
  resume_calls();
  tables_->losses.end_claim(*epoch);
  request_settlement_if_needed();
  request_settlement();  // the locality that it was requested from may be this one
  advance_settlement();
}

unsigned agas::losses() const noexcept { return tables_->losses.seen(); }

// Checks that the sender is entitled to each update.
bool agas::sound(locality_id from, const detail::reference_updates& l) const noexcept {
  const auto all = [](const auto& list, auto right) { return std::all_of(list.begin(), list.end(), right); };
  // Whether this is the directory is not checked: the sender may know of a loss that this locality does not know yet.
  const auto possible = [this](const auto& c) { return c.id && c.id.origin < node_.size(); };
  const auto theirs = [this, from](const gid& id) { return id.origin < node_.size() && directory_of(id) == from; };
  return l.losses <= node_.size() && all(l.claims, possible) && all(l.releases, possible) &&
         all(l.registrations, possible) && all(l.destroys, theirs) &&
         all(l.claim_results, [&](const detail::claim_result& v) { return theirs(v.id); }) &&
         all(l.places, [this](const detail::place_update& n) { return n.place.where < node_.size(); });
}

void agas::read(locality_id from, detail::reference_updates&& l) {
  if (from != node_.here() && !sound(from, l))
    return node_.is_lost(from) ? void() : node_.refuse(from, "it sent reference updates it is not entitled to");
  const auto losses = static_cast<unsigned>(l.losses);
  for (const detail::registration& r : l.registrations) registered_again(from, r, losses);
  for (const gid& id : l.registered) end_registration(id, from);
  for (const detail::claim& c : l.claims) claimed(from, c, losses);
  for (const detail::claim_result& v : l.claim_results)
    end_claim(v.id, v.stamp, v.known != 0 ? detail::claim_state::registered : detail::claim_state::gone, no_locality);
  for (const detail::acknowledgement& t : l.acknowledged) end_transit(from, t.id, t.handles);
  for (const detail::place_update& n : l.places) {
    detail::shard& s = tables_->of(n.id);
    const spin_guard guard(s.lock);
    s.update_place(n.id, n.place);
  }
  for (const detail::claim& c : l.releases) released(from, c, losses);
  if (!l.claim_results.empty() || !l.registered.empty()) advance_settlement();
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
    for (const auto& [id, e] : s.entries) ++(e.lost ? c.lost : c.entries), c.holders += e.holders.size();
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
    {"cache-hits", "Lookups found in the cache of this locality", &agas_counts::hits, true},
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
    {"entries-lost", "Lost objects whose directory is this locality, and of which handles exist", &agas_counts::lost,
     false},
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
