#include "attach/preload/mpi_messages.hpp"

#include <algorithm>
#include <mutex>
#include <set>

using plx::probe::mpi_message;
using plx::probe::mpi_moment;
using plx::probe::mpi_table;

// Defined in libplx-exec.so, as plx_probe_preloaded_calls() (mpi.cpp).
extern "C" [[gnu::weak, gnu::visibility("default")]] const mpi_table* plx_exec_mpi_calls();

namespace plx_mpi {
namespace {

std::atomic<const mpi_table*> table{nullptr};  // set once messages are recorded

using receive = std::shared_ptr<posted_receive>;

/// A persistent request.
struct persistent {
  std::shared_ptr<channel> in;
  bool sends = false;
  int peer = MPI_PROC_NULL, tag = 0;
  std::uint64_t bytes = 0;
  receive posted{};  // while active
};

struct state {
  // Guarded by `guard`. A handle that was completed may be in use again before its receive is removed by the thread
  // that completed it: the oldest one of a handle is the one that completed.
  std::unordered_multimap<MPI_Request, receive> pending;
  std::unordered_map<MPI_Request, persistent> persistents;
  std::unordered_map<MPI_Message, receive> found;  // by MPI_Mprobe
  std::size_t posted = 0;                          // in the lists of all channels
  std::size_t pairs = 0;                           // in channel::sent and channel::came
  std::set<channel*> channels;
  // Relaxed: a thread that completes a request has started it, or has been handed it.
  std::atomic<std::size_t> followed{0};  // pending and persistent requests
};
/// Never destroyed: MPI may be in use until the process ends.
state& shared() {
  static state& s = *new state;
  return s;
}

void lose(std::uint64_t n = 1) { table.load(std::memory_order_relaxed)->lost(n); }

mpi_moment leaves() { return table.load(std::memory_order_relaxed)->leaves(); }
mpi_moment arrives() { return table.load(std::memory_order_relaxed)->arrives(); }

constexpr std::uint64_t pair_of(int peer, int tag) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | static_cast<std::uint32_t>(tag);
}

/// 0 if there are too many pairs. Requires: `guard`.
std::uint64_t next_number(std::unordered_map<std::uint64_t, std::uint64_t>& numbers, int peer, int tag) {
  const auto there = numbers.find(pair_of(peer, tag));
  if (there != numbers.end()) return ++there->second;
  if (shared().pairs >= most_tracked) return 0;
  ++shared().pairs;
  return numbers[pair_of(peer, tag)] = 1;
}

void pass(bool sent, const mpi_moment& at, const channel& c, int peer, int tag, std::uint64_t number,
          std::uint64_t bytes, unsigned timer) {
  const int rank = c.world_rank(peer);
  if (rank < 0 || number == 0 || at.when == 0) return lose();  // when == 0: the thread is not measured
  table.load(std::memory_order_relaxed)
      ->message(sent, {.at = at,
                       .number = number,
                       .bytes = bytes,
                       .peer = static_cast<unsigned>(rank),
                       .timer = timer,
                       .channel = c.id,
                       .tag = tag});
}

std::uint64_t bytes_of(double count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

/// Whether the message has arrived and has its number, so that this call of several is the one that passes it on.
/// Requires: `guard`.
bool is_complete(const posted_receive& p) { return p.number != 0 && p.arrival.when != 0; }

void pass_received(const posted_receive& p) {
  pass(false, p.arrival, *p.in, p.source, p.tag, p.number, p.bytes, p.timer);
}

bool may_match(int source, int tag, const posted_receive& p) {
  return (source == MPI_ANY_SOURCE || source == p.source) && (tag == MPI_ANY_TAG || tag == p.tag);
}

/// Numbers the matched receives that no earlier one can precede; with `at_end`, all. Passes on those that have arrived.
/// Cost: the receives up to the last matched one, times those of them without a number; a pending receive of any source
/// and tag ends the search.
void number_matched(const std::shared_ptr<channel>& c, bool at_end = false) {
  std::vector<receive> complete;          // destroyed without the lock
  std::vector<std::pair<int, int>> open;  // sources and tags that an earlier receive may have matched
  open.reserve(64);                       // few allocations with the lock
  {
    const std::lock_guard lock(guard);
    for (auto at = c->posted.begin(); at != c->posted.end() && c->matched > 0;) {
      posted_receive& p = **at;
      if (!at_end && !p.matched && p.source == MPI_ANY_SOURCE && p.tag == MPI_ANY_TAG)
        break;  // it may precede all later ones
      const bool waits = !p.matched || std::any_of(open.begin(), open.end(),
                                                   [&](const auto& o) { return may_match(o.first, o.second, p); });
      if (waits && !(at_end && p.matched)) {
        open.emplace_back(p.source, p.tag);
        ++at;
        continue;
      }
      p.number = next_number(c->came, p.source, p.tag);
      p.listed = false;
      --c->matched, --shared().posted;
      if (p.number == 0) lose();
      if (is_complete(p)) complete.push_back(*at);
      at = c->posted.erase(at);
    }
  }
  for (const receive& p : complete) pass_received(*p);
}

/// Null if the receive is not followed.
receive post(int from, int tag, const std::shared_ptr<channel>& c) {
  if (from == MPI_PROC_NULL) return nullptr;
  if (c == nullptr) return lose(), nullptr;
  auto p = std::make_shared<posted_receive>();
  p->in = c, p->source = from, p->tag = tag;
  const std::lock_guard lock(guard);
  c->cut = c->cut || shared().posted >= most_tracked;
  if (c->cut) return lose(), nullptr;
  ++shared().posted;
  c->posted.push_back(p);
  return p;
}

/// Removes a receive without a message.
void drop(const receive& p) {
  {
    const std::lock_guard lock(guard);
    if (!p->listed) return;
    p->listed = false;
    --shared().posted;
    if (p->matched) --p->in->matched;
    p->in->posted.remove(p);
  }
  number_matched(p->in);
}

/// The receive has this message. False if it has none (cancelled, MPI_PROC_NULL), and is dropped.
bool match(const receive& p, const MPI_Status& status) {
  int cancelled = 0;
  if (PMPI_Test_cancelled(&status, &cancelled) != MPI_SUCCESS || cancelled != 0 || status.MPI_SOURCE < 0)
    return drop(p), false;
  MPI_Count bytes = 0;
  if (PMPI_Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED) bytes = 0;
  const std::lock_guard lock(guard);
  if (p->matched) return true;
  p->source = status.MPI_SOURCE, p->tag = status.MPI_TAG;
  p->bytes = static_cast<std::uint64_t>(bytes);
  p->matched = true;
  ++p->in->matched;
  return true;
}

/// Its message arrives now. Called before number_matched().
void arrive(const receive& p, unsigned timer) {
  const mpi_moment now = arrives();
  if (now.when == 0) return lose();  // the thread is not measured
  {
    const std::lock_guard lock(guard);
    p->arrival = now, p->timer = timer;
    if (!is_complete(*p)) return;
  }
  pass_received(*p);
}

void follow(MPI_Request request, const receive& p) {
  const std::lock_guard lock(guard);
  shared().pending.emplace(request, p);
  shared().followed.fetch_add(1, std::memory_order_relaxed);
}

/// The receive of a completed request, which is then no longer pending. Null: none is followed.
receive take_pending(MPI_Request request) {
  const std::lock_guard lock(guard);
  if (const auto own = shared().persistents.find(request); own != shared().persistents.end())
    return std::exchange(own->second.posted, nullptr);
  const auto [first, last] = shared().pending.equal_range(request);
  if (first == last) return nullptr;
  receive p = std::move(first->second);
  shared().pending.erase(first);
  shared().followed.fetch_sub(1, std::memory_order_relaxed);
  return p;
}

int error_class(int code) {
  int kind = code;
  PMPI_Error_class(code, &kind);
  return kind;
}

}  // namespace

bool recording() {
  static std::atomic<int> known{-1};  // before the initialization of MPI
  if (const int k = known.load(std::memory_order_acquire); k >= 0) return k != 0;
  int ready = 0, rank = 0, ranks = 0;
  if (plx_exec_mpi_calls == nullptr || PMPI_Initialized(&ready) != MPI_SUCCESS || ready == 0) return false;
  const mpi_table* t = plx_exec_mpi_calls();
  if (t == nullptr || t->version != mpi_table::current) return false;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool records = t->records(static_cast<unsigned>(rank), static_cast<unsigned>(ranks));
  if (records) table.store(t, std::memory_order_release);
  known.store(records ? 1 : 0, std::memory_order_release);
  return records;
}

void note_channel(channel* c) {
  const std::lock_guard lock(guard);
  shared().channels.insert(c);
}
void forget_channel_now(channel* c) {
  const std::lock_guard lock(guard);
  shared().pairs -= c->sent.size() + c->came.size();
  shared().channels.erase(c);
}

void finish_messages() {
  if (!recording()) return;
  std::vector<std::shared_ptr<channel>> open;
  {
    const std::lock_guard lock(guard);
    for (channel* c : shared().channels)
      if (!c->posted.empty()) open.push_back(c->posted.front()->in);
  }
  for (const auto& c : open) number_matched(c, true);
}

// -------------------------------------------------------------------------------------------------------------- sends

sending::sending(unsigned timer, double count, MPI_Datatype type, int to, int tag, MPI_Comm c)
    : on_(to != MPI_PROC_NULL && recording()), timer_(timer), count_(count), type_(type), to_(to), tag_(tag), comm_(c) {
  if (on_) at_ = leaves();
}

void sending::end(int done) const {
  if (!on_ || done != MPI_SUCCESS) return;
  const std::shared_ptr<channel> c = channel_of(comm_);
  if (c == nullptr) return lose();
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(guard);
    number = next_number(c->sent, to_, tag_);
  }
  pass(true, at_, *c, to_, tag_, number, bytes_of(count_, type_), timer_);
}

// ----------------------------------------------------------------------------------------------------------- receives

receiving::receiving(unsigned timer, int from, int tag, MPI_Comm c) : timer_(timer) {
  if (c != MPI_COMM_NULL && recording()) posted_ = post(from, tag, channel_of(c));
}

receiving::~receiving() {
  if (posted_ != nullptr) drop(posted_);
}

void receiving::end(int done, const MPI_Status* status) {
  if (posted_ == nullptr || (done != MPI_SUCCESS && error_class(done) != MPI_ERR_TRUNCATE)) return;
  const receive p = std::exchange(posted_, nullptr);
  if (!match(p, *status)) return;
  arrive(p, timer_);
  number_matched(p->in);
}

void receiving::pending(int done, MPI_Request request) {
  if (posted_ != nullptr && done == MPI_SUCCESS) follow(request, std::exchange(posted_, nullptr));
}

void receiving::probed(int done, const int* found, const MPI_Message* message, const MPI_Status* status) {
  if (posted_ == nullptr || done != MPI_SUCCESS || (found != nullptr && *found == 0) || *message == MPI_MESSAGE_NO_PROC)
    return;
  const receive p = std::exchange(posted_, nullptr);
  if (!match(p, *status)) return;
  receive kept = p;  // then that of an earlier message of this handle, destroyed without the lock
  {
    const std::lock_guard lock(guard);
    shared().found[*message].swap(kept);
  }
  number_matched(p->in);
}

receiving_found::receiving_found(unsigned timer, MPI_Message message) : timer_(timer), message_(message) {
  if (!recording()) return;
  const std::lock_guard lock(guard);
  if (const auto there = shared().found.find(message); there != shared().found.end()) {
    posted_ = std::move(there->second);
    shared().found.erase(there);
  }
}

void receiving_found::end(int done) {
  if (posted_ != nullptr && (done == MPI_SUCCESS || error_class(done) == MPI_ERR_TRUNCATE)) arrive(posted_, timer_);
}

void receiving_found::pending(int done, MPI_Request request) {
  if (posted_ != nullptr && done == MPI_SUCCESS) follow(request, posted_);
}

// -------------------------------------------------------------------------------------------------------- completions

completing::completing(unsigned timer, int n, const MPI_Request* requests) : timer_(timer) {
  if (n <= 0 || !recording() || shared().followed.load(std::memory_order_relaxed) == 0) return;
  requests_.assign(requests, requests + n);
}

MPI_Status* completing::status(MPI_Status* given) {
  if (requests_.empty() || given != MPI_STATUS_IGNORE) return given;
  own_.resize(1);
  return own_.data();
}

MPI_Status* completing::statuses(MPI_Status* given) {
  if (requests_.empty() || given != MPI_STATUSES_IGNORE) return given;
  own_.resize(requests_.size());
  return own_.data();
}

void completing::complete(std::size_t which, const MPI_Status& status) {
  const receive p = take_pending(requests_[which]);
  if (p == nullptr || !match(p, status)) return;
  arrive(p, timer_);
  if (std::find(touched_.begin(), touched_.end(), p->in) == touched_.end()) touched_.push_back(p->in);
}

void completing::one(int done, const int* completed, const int* which, const MPI_Status* status) {
  if (requests_.empty() || (done != MPI_SUCCESS && error_class(done) != MPI_ERR_TRUNCATE)) return;
  if (completed != nullptr && *completed == 0) return;
  const int i = which == nullptr ? 0 : *which;
  if (i >= 0) complete(static_cast<std::size_t>(i), *status);  // MPI_UNDEFINED: no active request
}

void completing::all(int done, const int* completed, const MPI_Status* statuses) {
  if (requests_.empty()) return;
  const bool each = done != MPI_SUCCESS && error_class(done) == MPI_ERR_IN_STATUS;
  if ((done != MPI_SUCCESS && !each) || (completed != nullptr && *completed == 0)) return;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (!each || statuses[i].MPI_ERROR == MPI_SUCCESS || error_class(statuses[i].MPI_ERROR) == MPI_ERR_TRUNCATE)
      complete(i, statuses[i]);
}

void completing::some(int done, const int* n, const int* which, const MPI_Status* statuses) {
  if (requests_.empty()) return;
  const bool each = done != MPI_SUCCESS && error_class(done) == MPI_ERR_IN_STATUS;
  if (done != MPI_SUCCESS && !each) return;
  for (int i = 0; i < *n; ++i)  // MPI_UNDEFINED, which is negative: no active request
    if (!each || statuses[i].MPI_ERROR == MPI_SUCCESS) complete(static_cast<std::size_t>(which[i]), statuses[i]);
}

completing::~completing() {
  for (const auto& c : touched_) number_matched(c);
}

// --------------------------------------------------------------------------------------------------------- persistent

namespace {
void keep_persistent(int done, MPI_Request request, int peer, MPI_Comm c, persistent made) {
  if (done != MPI_SUCCESS || peer == MPI_PROC_NULL || !recording()) return;
  made.in = channel_of(c);
  if (made.in == nullptr) return;
  const std::lock_guard lock(guard);
  const auto [there, fresh] = shared().persistents.try_emplace(request);
  std::swap(there->second, made);  // an earlier one of this handle is destroyed without the lock, with the parameter
  if (fresh) shared().followed.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

void made_send(int done, double count, MPI_Datatype type, int to, int tag, MPI_Comm c, MPI_Request request) {
  keep_persistent(done, request, to, c,
                  {.in = {}, .sends = true, .peer = to, .tag = tag, .bytes = bytes_of(count, type)});
}

void made_receive(int done, int from, int tag, MPI_Comm c, MPI_Request request) {
  keep_persistent(done, request, from, c, {.in = {}, .peer = from, .tag = tag});
}

starting::starting(unsigned timer, int n, const MPI_Request* requests) : timer_(timer) {
  if (n <= 0 || !recording() || shared().followed.load(std::memory_order_relaxed) == 0) return;
  requests_.assign(requests, requests + n);
  at_ = leaves();
}

/// Receives are posted here, after the call: no other receive of this thread comes in between.
void starting::end(int done) const {
  if (done != MPI_SUCCESS) return;
  for (const MPI_Request request : requests_) {
    persistent one;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(guard);
      const auto there = shared().persistents.find(request);
      if (there == shared().persistents.end()) continue;
      one = there->second;
      if (one.sends) number = next_number(one.in->sent, one.peer, one.tag);
    }
    if (one.sends) {
      pass(true, at_, *one.in, one.peer, one.tag, number, one.bytes, timer_);
    } else if (receive p = post(one.peer, one.tag, one.in); p != nullptr) {
      const std::lock_guard lock(guard);
      if (const auto there = shared().persistents.find(request); there != shared().persistents.end())
        there->second.posted = std::move(p);
    }
  }
}

void freeing(const MPI_Request* request) {
  if (request == nullptr || !recording() || shared().followed.load(std::memory_order_relaxed) == 0) return;
  const receive p = take_pending(*request);
  decltype(state::persistents)::node_type gone;  // destroyed without the lock, which the end of its channel takes
  {
    const std::lock_guard lock(guard);
    gone = shared().persistents.extract(*request);
    if (!gone.empty()) shared().followed.fetch_sub(1, std::memory_order_relaxed);
  }
  if (p == nullptr) return;
  // The receive still takes a message, whose arrival is not seen.
  {
    const std::lock_guard lock(guard);
    if (p->matched || p->source == MPI_ANY_SOURCE || p->tag == MPI_ANY_TAG) return;
    p->matched = true;
    ++p->in->matched;
  }
  number_matched(p->in);
}

}  // namespace plx_mpi
