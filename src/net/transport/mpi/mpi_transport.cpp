// Sending and receiving by MPI.
#include "net/transport/mpi/mpi_transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"

namespace plx::net::detail {

// Start and end of the transport, and lost peers.

result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, job_info job, double deadline_s) {
  if (b.name() != "mpi")
    return error{
        fmt::format("expected a start by MPI for the transport mpi, found {}; pass the same transport to "
                    "find_bootstrap()",
                    b.name())};
  auto t = std::make_unique<mpi_transport>(static_cast<mpi_bootstrap&>(b));
  if (auto r = t->open(std::move(job), deadline_s); !r) return r.error();
  return std::unique_ptr<transport>(std::move(t));
}

mpi_transport::mpi_transport(mpi_bootstrap& b) : bootstrap_(b), mpi_(b.mpi()), lost_(b.size()) {}

mpi_transport::~mpi_transport() {
  if (requests_.empty()) return;
  bootstrap_.note_incomplete();
  for (auto& u : under_way_) (void)u.release();  // MPI may still access them
  (void)new std::vector<std::vector<std::byte>>(std::move(heads_));
}

result<void> mpi_transport::open(job_info job, double deadline_s) {
  if (auto r = join(std::move(job)); !r) return r.error();
  if (auto r = exchange_addresses(bootstrap_, "", true, deadline_s); !r) return r.error();
  return {};
}

void mpi_transport::start(receiver& r) {
  receiver_ = &r;
  // Heads that arrive while all receives are taken are copied by MPI: some for each peer, within some MiB of memory.
  heads_.resize(std::clamp<std::size_t>(8 * lost_.size(), 16, 64));
  requests_.resize(heads_.size());
  of_.resize(heads_.size());
  for (std::size_t i = 0; i < heads_.size(); ++i) listen(i);
}

// A completed operation may let others complete.
bool mpi_transport::advance() noexcept {
  constexpr int most = 8;
  bool happened = receive_near(false);
  for (int times = 0; times < most && complete_some(); ++times) happened = true;
  if (!waiting_.empty()) take_waiting();
  return happened;
}

void mpi_transport::handle_losses() noexcept {
  for (const loss& l : detector_->take_losses()) lose(l);
}

void mpi_transport::lose(const loss& l) noexcept {
  receive_before_loss(l.who, [this] { return complete_some(); });
  lost_[l.who] = 1;
  receiver_->lost(l.who, l.why);
  give_up(l.who);
}

// Unfinished operations with a lost peer may never complete. Until they do, MPI may access their memory; receives that
// have not been matched are cancelled, and then complete.
void mpi_transport::give_up(locality_id who) noexcept {
  lost_[who] = 1;
  for (std::size_t i = 0; i < under_way_.size(); ++i) {  // the receiver may send, which appends
    under_way& u = *under_way_[i];
    if (u.peer != who || std::exchange(u.given_up, true)) continue;
    u.discard.clear();
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    if (u.announced != nullptr) receiver_->pieces_lost(who, u.announced);
  }
  for (std::size_t i = heads_.size(); i < requests_.size(); ++i)
    if (of_[i]->peer == who && of_[i]->message == nullptr) mpi_.Cancel(&requests_[i]);
}

// A cancelled receive has to be completed like any other before MPI is finalized.
void mpi_transport::give_up_all() noexcept {
  close_rings();
  const bool any_lost = std::any_of(lost_.begin(), lost_.end(), [](char l) { return l != 0; });
  for (locality_id i = 0; i < lost_.size(); ++i) give_up(i);
  ending_ = true;
  for (std::size_t i = 0; i < heads_.size(); ++i) mpi_.Cancel(&requests_[i]);
  for (const double until = monotonic_seconds() + (any_lost ? 0.2 : 1);
       !requests_.empty() && monotonic_seconds() < until;)
    complete_some();
}

namespace {

constexpr int head_tag = 1, announcement_tag = 2, first_piece_tag = 3;
constexpr int piece_tags = 32'000;                              // every MPI has tags up to 32767
constexpr std::size_t most_piece_bytes = std::size_t{1} << 46;  // more than any memory
constexpr std::size_t most_bytes = std::size_t{1} << 30;        // of one MPI message, whose count is an int

std::size_t messages_of(std::size_t bytes) { return std::max<std::size_t>(1, (bytes + most_bytes - 1) / most_bytes); }

void append(std::vector<std::byte>& to, const auto& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::uint64_t take_number(std::span<const std::byte>& from) {
  std::uint64_t n = 0;
  if (from.size() < sizeof n) return n;
  std::memcpy(&n, from.data(), sizeof n);
  from = from.subspan(sizeof n);
  return n;
}

}  // namespace

void mpi_transport::issue(outgoing& m) noexcept {
  if (only_wakes(m)) return m.sent(&m, true);  // all receivers poll
  if (lost_[m.destination] != 0) return m.sent(&m, false);
  if (!m.pieces.empty()) return issue_pieces(m);
  MPI_Request request;
  int done = 0;
  if (!send_bytes(m.destination, m.head, head_tag, bootstrap_.heads(), request)) return m.sent(&m, false);
  if (mpi_.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) return m.sent(&m, true);
  under_way& u = begin(m.destination);
  u.message = &m;
  add(u, request);
}

// The pieces have the tag that the announcement names; those of one tag arrive in order.
void mpi_transport::issue_pieces(outgoing& m) noexcept {
  under_way& u = begin(m.destination);
  u.message = &m;
  u.tag = first_piece_tag + static_cast<int>(messages_++ % piece_tags);
  append(u.bytes, std::uint64_t{m.pieces.size()});
  append(u.bytes, static_cast<std::uint64_t>(u.tag));
  for (const piece& p : m.pieces) append(u.bytes, std::uint64_t{p.size_bytes});
  u.bytes.insert(u.bytes.end(), m.head.begin(), m.head.end());
  send_part(u, u.bytes, announcement_tag, bootstrap_.heads());
  for (const piece& p : m.pieces) {
    std::span<const std::byte> rest{static_cast<const std::byte*>(p.data), p.size_bytes};
    for (std::size_t i = messages_of(p.size_bytes); i != 0; --i) {
      const auto part = rest.first(std::min(rest.size(), most_bytes));
      send_part(u, part, u.tag, bootstrap_.pieces());
      rest = rest.subspan(part.size());
    }
  }
  if (u.open == 0) end(u);
}

bool mpi_transport::send_bytes(locality_id to, std::span<const std::byte> bytes, int tag, MPI_Comm where,
                               MPI_Request& request) noexcept {
  const int r =
      mpi_.Isend(bytes.data(), static_cast<int>(bytes.size()), mpi_.byte, static_cast<int>(to), tag, where, &request);
  if (r != MPI_SUCCESS) detector_->report_lost(to, "MPI cannot send to it: " + mpi_.text(r));
  return r == MPI_SUCCESS;
}

void mpi_transport::send_part(under_way& u, std::span<const std::byte> bytes, int tag, MPI_Comm where) noexcept {
  MPI_Request request;
  if (send_bytes(u.peer, bytes, tag, where, request))
    add(u, request);
  else
    u.ok = false;
}

void mpi_transport::receive_bytes(under_way& u, void* to, std::size_t bytes) noexcept {
  MPI_Request request;
  const int r = mpi_.Irecv(to, static_cast<int>(bytes), mpi_.byte, static_cast<int>(u.peer), u.tag, bootstrap_.pieces(),
                           &request);
  if (r == MPI_SUCCESS) return add(u, request);
  u.ok = false;
  detector_->report_lost(u.peer, "MPI cannot receive from it: " + mpi_.text(r));
}

// The next piece of a refused message: one at a time, because they share memory.
void mpi_transport::receive_next(under_way& u) noexcept {
  const std::size_t bytes = u.discard.back();
  u.discard.pop_back();
  receive_bytes(u, u.bytes.data(), bytes);
}

mpi_transport::under_way& mpi_transport::begin(locality_id peer) noexcept {
  auto& u = *under_way_.emplace_back(std::make_unique<under_way>());
  u.peer = peer;
  u.at = under_way_.size() - 1;
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  return u;
}

void mpi_transport::add(under_way& u, MPI_Request request) noexcept {
  ++u.open;
  requests_.push_back(request);
  of_.push_back(&u);
}

// MPI no longer uses its memory.
void mpi_transport::end(under_way& u) noexcept {
  under_way_.back()->at = u.at;
  std::swap(under_way_[u.at], under_way_.back());
  const std::unique_ptr<under_way> ended = std::move(under_way_.back());
  under_way_.pop_back();
  if (!u.given_up) unfinished_.fetch_sub(1, std::memory_order_relaxed);
  const bool ok = u.ok && !u.given_up;
  if (u.message != nullptr) u.message->sent(u.message, ok);
  if (u.announced != nullptr) receiver_->pieces_arrived(u.peer, u.announced, ok);
}

void mpi_transport::listen(std::size_t i) noexcept {
  // An announcement also contains the number, the tag and the sizes of its pieces.
  heads_[i].resize(max_head_bytes() + (2 + most_pieces) * sizeof(std::uint64_t));
  const int r = mpi_.Irecv(heads_[i].data(), static_cast<int>(heads_[i].size()), mpi_.byte, MPI_ANY_SOURCE, MPI_ANY_TAG,
                           bootstrap_.heads(), &requests_[i]);
  PLX_ASSERT(r == MPI_SUCCESS, mpi_.text(r));
}

// One call of MPI for all requests. The receiver, and `sent`, may send meanwhile, which appends to the tables.
bool mpi_transport::complete_some() noexcept {
  if (requests_.empty()) return false;
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int n = 0;
  int r = MPI_SUCCESS;
  // MPI may make progress in a call and report what completed only in the next one.
  for (int calls = 0; calls < 2 && n == 0; ++calls)
    r = mpi_.Testsome(static_cast<int>(requests_.size()), requests_.data(), &n, completed_.data(), statuses_.data());
  if (n == MPI_UNDEFINED) requests_.clear(), of_.clear();  // at the end: all have completed
  if (n == MPI_UNDEFINED || n <= 0) return false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    const auto i = static_cast<std::size_t>(completed_[k]);
    const bool ok = r == MPI_SUCCESS || statuses_[k].MPI_ERROR == MPI_SUCCESS;
    if (i < heads_.size()) {
      if (ok && !ending_) take_head(i, statuses_[k]);
      if (!ending_) listen(i);
      continue;
    }
    under_way& u = *std::exchange(of_[i], nullptr);
    u.ok &= ok;
    --u.open;
    if (!u.discard.empty()) receive_next(u);
    if (u.open == 0) end(u);
  }
  std::size_t kept = heads_.size();
  for (std::size_t i = kept; i < of_.size(); ++i)
    if (of_[i] != nullptr) requests_[kept] = requests_[i], of_[kept++] = of_[i];
  requests_.resize(kept);
  of_.resize(kept);
  return true;
}

void mpi_transport::take_head(std::size_t i, const MPI_Status& status) noexcept {
  int bytes = 0;
  mpi_.Get_count(&status, mpi_.byte, &bytes);
  const auto from = static_cast<locality_id>(status.MPI_SOURCE);
  const auto came = std::span<const std::byte>(heads_[i]).first(static_cast<std::size_t>(bytes));
  if (lost_[from] == 0) {
    if (status.MPI_TAG == head_tag) receiver_->arrived(from, came);
    if (status.MPI_TAG == announcement_tag) take_announcement(from, came);
  }
}

void mpi_transport::take_announcement(locality_id from, std::span<const std::byte> bytes) noexcept {
  const std::span<const std::byte> whole = bytes;
  const auto pieces = take_number(bytes), tag = take_number(bytes);
  if (pieces == 0 || pieces > most_pieces || bytes.size() < pieces * sizeof(std::uint64_t) || tag < first_piece_tag ||
      tag >= first_piece_tag + piece_tags)
    return refuse(from, "an announcement of pieces is invalid");
  std::vector<place> places(pieces);
  std::size_t largest = 0;
  for (place& p : places) {
    p.size_bytes = take_number(bytes);
    largest = std::max(largest, p.size_bytes);
    if (p.size_bytes > most_piece_bytes) return refuse(from, "an announced piece has an invalid size");
  }
  if (keep_announcement(from, whole, bytes, places)) return;
  void* const announced = receiver_->announced(from, bytes, places);
  std::vector<std::byte> discarded;
  if (announced == nullptr) {  // the pieces arrive nevertheless
    try {
      discarded.resize(std::min(largest, most_bytes));
    } catch (const std::bad_alloc&) {
      return refuse(from, "its pieces exceed the memory, also one by one");
    }
  }
  under_way& u = begin(from);
  u.tag = static_cast<int>(tag);
  u.announced = announced;
  std::vector<std::size_t> parts;
  for (const place& p : places)
    for (std::size_t i = 0; i < messages_of(p.size_bytes); ++i) {
      const std::size_t begins = i * most_bytes, n = std::min(p.size_bytes - begins, most_bytes);
      if (announced != nullptr)
        receive_bytes(u, static_cast<std::byte*>(p.data) + begins, n);
      else
        parts.push_back(n);
    }
  if (announced == nullptr) {
    u.bytes = std::move(discarded);
    u.discard.assign(parts.rbegin(), parts.rend());
    receive_next(u);
  }
  if (u.open == 0) end(u);
}

// True if the receiver has no room yet: take_waiting() takes the announcement later. MPI then does not receive pieces,
// except small ones, which it buffers.
bool mpi_transport::keep_announcement(locality_id from, std::span<const std::byte> whole,
                                      std::span<const std::byte> head, std::span<const place> places) noexcept {
  std::uint64_t bytes = 0;
  for (const place& p : places) bytes += p.size_bytes;
  if (receiver_->has_room(head, bytes, !takes_waiting_ && !waiting_.empty())) return false;
  waiting_.insert(takes_waiting_ ? waiting_.begin() : waiting_.end(), {from, {whole.begin(), whole.end()}});
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void mpi_transport::take_waiting() noexcept {
  std::size_t others = waiting_.size();
  while (others != 0 && waiting_.size() == others) {
    const waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    others = waiting_.size();
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    takes_waiting_ = true;
    if (lost_[first.from] == 0) take_announcement(first.from, first.bytes);  // puts it back if there is no room
    takes_waiting_ = false;
  }
}

// The pieces of a refused message arrive nevertheless, in unknown number: nothing from that peer can be interpreted.
void mpi_transport::refuse(locality_id from, const char* why) noexcept {
  log_warning("a message from locality {} was refused: {}", from, why);
  refused_.fetch_add(1, std::memory_order_relaxed);
  detector_->report_lost(from, std::string("it sends invalid messages: ") + why);
}

}  // namespace plx::net::detail
