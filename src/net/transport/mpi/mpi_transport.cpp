// Sending and receiving by MPI.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "net/transport/mpi/mpi_transport.hpp"

namespace plx::net::detail {

// Start and end of the transport, its turn, and lost peers.

result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, double deadline_s) {
  if (b.name() != "mpi")
    return error{
        fmt::format("expected a start by MPI for the transport mpi, found {}; pass the same transport to "
                    "find_bootstrap()",
                    b.name())};
  auto t = std::make_unique<mpi_transport>(static_cast<mpi_bootstrap&>(b));
  if (auto r = t->open(deadline_s); !r) return r.error();
  return std::unique_ptr<transport>(std::move(t));
}

mpi_transport::mpi_transport(mpi_bootstrap& b) : bootstrap_(b), mpi_(b.mpi()), lost_(b.size()) {}

mpi_transport::~mpi_transport() {
  for (auto& u : given_up_) (void)u.release();  // MPI may still access them
}

result<void> mpi_transport::open(double deadline_s) {
  auto met = meet(bootstrap_, deadline_s);
  if (!met) return met.error();
  meeting_ = std::move(met).value();
  auto lines = lifelines::listen(meeting_);
  if (!lines) return lines.error();
  lifelines_ = std::move(lines).value();
  const auto addresses = bootstrap_.exchange(lifelines_->address(), deadline_s);
  if (!addresses) return addresses.error();
  return lifelines_->connect(*addresses, deadline_s);
}

void mpi_transport::start(receiver& r) {
  receiver_ = &r;
  heads_.resize(16);
  for (auto& p : heads_) listen(p);
}

void mpi_transport::send(locality_id to, outgoing& m) noexcept {
  PLX_ASSERT(to < lost_.size() && to != meeting_.here, to);
  m.destination = to;
  turn_.send(m, [this](outgoing& one) { issue(one); });
}

void mpi_transport::end_turn() noexcept {
  turn_.end([this](outgoing& one) { issue(one); });
}

bool mpi_transport::progress() noexcept {
  if (!turn_.try_take()) return false;  // a sending thread holds it for a moment
  bool happened = receive_heads();
  happened |= finish_some();
  if (now_ticks() >= next_look_) happened |= look_at_lifelines();
  end_turn();
  return happened;
}

bool mpi_transport::look_at_lifelines() noexcept {
  static const ticks every = ticks_from(5e-3);
  next_look_ = now_ticks() + every;
  const bool happened = lifelines_->look();
  for (const loss& l : lifelines_->take_losses()) lose(l);
  finish_given_up();
  return happened;
}

void mpi_transport::lose(const loss& l) noexcept {
  for (int i = 0; i < 1000 && receive_heads();) ++i;  // what it sent before it was lost
  lost_[l.who] = 1;
  receiver_->lost(l.who, l.why);
  give_up(l.who);
}

// Unfinished operations with a lost peer may never complete. Until they do, MPI may access their memory; receives that
// have not been matched are cancelled.
void mpi_transport::give_up(locality_id who) noexcept {
  lost_[who] = 1;
  const auto gone =
      std::stable_partition(under_way_.begin(), under_way_.end(), [&](const auto& u) { return u->peer != who; });
  std::vector<std::unique_ptr<under_way>> ended(std::make_move_iterator(gone),
                                                std::make_move_iterator(under_way_.end()));
  under_way_.erase(gone, under_way_.end());
  for (auto& u : ended) {
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    if (u->message == nullptr)
      for (MPI_Request& r : u->requests) mpi_.Cancel(&r);
    if (finished(*u)) {
      hand_back(*u, false);
      continue;
    }
    if (u->announced != nullptr) receiver_->pieces_lost(u->peer, u->announced);
    given_up_.push_back(std::move(u));
  }
}

bool mpi_transport::stop(double deadline_s) noexcept {
  const ticks end = now_ticks() + ticks_from(deadline_s);
  const auto progress_until = [&](auto done) {
    while (!done() && now_ticks() < end) progress();
    return done();
  };
  bool in_time = progress_until([&] { return !pending(); });
  lifelines_->tell_finished();
  in_time &= progress_until([&] { return lifelines_->all_finished(); });
  for (int i = 0; i < 1000 && progress();) ++i;
  for (locality_id i = 0; i < lost_.size(); ++i) give_up(i);  // later messages are discarded
  lifelines_->close(std::max(0.0, seconds(end) - seconds(now_ticks())));
  for (auto& p : heads_) mpi_.Cancel(&p.request);
  return in_time;
}

namespace {

constexpr int head_tag = 1, announcement_tag = 2, piece_tag = 3;
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
  if (lost_[m.destination] != 0) return m.sent(&m, false);
  auto u = std::make_unique<under_way>();
  u->peer = m.destination;
  u->message = &m;
  if (m.pieces.empty())
    send_bytes(*u, m.head, head_tag, bootstrap_.heads());
  else
    issue_pieces(m, *u);
  if (finished(*u)) return m.sent(&m, u->ok);
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  under_way_.push_back(std::move(u));
}

// MPI preserves the order of messages between two processes, and both count the pieces alike: they need no number.
void mpi_transport::issue_pieces(outgoing& m, under_way& u) noexcept {
  append(u.bytes, std::uint64_t{m.pieces.size()});
  for (const piece& p : m.pieces) append(u.bytes, std::uint64_t{p.size_bytes});
  u.bytes.insert(u.bytes.end(), m.head.begin(), m.head.end());
  send_bytes(u, u.bytes, announcement_tag, bootstrap_.heads());
  for (const piece& p : m.pieces) {
    std::span<const std::byte> rest{static_cast<const std::byte*>(p.data), p.size_bytes};
    for (std::size_t i = messages_of(p.size_bytes); i != 0; --i) {
      const auto part = rest.first(std::min(rest.size(), most_bytes));
      send_bytes(u, part, piece_tag, bootstrap_.pieces());
      rest = rest.subspan(part.size());
    }
  }
}

void mpi_transport::send_bytes(under_way& u, std::span<const std::byte> bytes, int tag, MPI_Comm where) noexcept {
  MPI_Request request;
  const int r = mpi_.Isend(bytes.data(), static_cast<int>(bytes.size()), mpi_.byte, static_cast<int>(u.peer), tag,
                           where, &request);
  if (r == MPI_SUCCESS) return u.requests.push_back(request);
  u.ok = false;
  lifelines_->tell_lost(u.peer, "MPI cannot send to it: " + mpi_.text(r));
}

void mpi_transport::receive_bytes(under_way& u, void* to, std::size_t bytes) noexcept {
  MPI_Request request;
  const int r = mpi_.Irecv(to, static_cast<int>(bytes), mpi_.byte, static_cast<int>(u.peer), piece_tag,
                           bootstrap_.pieces(), &request);
  if (r == MPI_SUCCESS) return u.requests.push_back(request);
  u.ok = false;
  lifelines_->tell_lost(u.peer, "MPI cannot receive from it: " + mpi_.text(r));
}

void mpi_transport::listen(place_for_head& p) noexcept {
  // An announcement also contains the sizes of its pieces.
  p.bytes.resize(max_head_bytes() + (1 + most_pieces) * sizeof(std::uint64_t));
  const int r = mpi_.Irecv(p.bytes.data(), static_cast<int>(p.bytes.size()), mpi_.byte, MPI_ANY_SOURCE, MPI_ANY_TAG,
                           bootstrap_.heads(), &p.request);
  PLX_ASSERT(r == MPI_SUCCESS, mpi_.text(r));
}

// MPI matches receives in the order in which they were posted.
bool mpi_transport::receive_heads() noexcept {
  bool any = false;
  for (std::size_t n = 0; n < heads_.size(); ++n) {
    place_for_head& p = heads_.front();
    int done = 0;
    MPI_Status status;
    if (mpi_.Test(&p.request, &done, &status) != MPI_SUCCESS || done == 0) break;
    any = true;
    int bytes = 0;
    mpi_.Get_count(&status, mpi_.byte, &bytes);
    const auto from = static_cast<locality_id>(status.MPI_SOURCE);
    const auto came = std::span<const std::byte>(p.bytes).first(static_cast<std::size_t>(bytes));
    if (lost_[from] == 0) {
      if (status.MPI_TAG == head_tag) receiver_->arrived(from, came);
      if (status.MPI_TAG == announcement_tag) take_announcement(from, came);
    }
    listen(p);
    heads_.push_back(std::move(p));
    heads_.pop_front();
  }
  return any;
}

void mpi_transport::take_announcement(locality_id from, std::span<const std::byte> bytes) noexcept {
  const auto pieces = take_number(bytes);
  if (pieces == 0 || pieces > most_pieces || bytes.size() < pieces * sizeof(std::uint64_t))
    return refuse(from, "an announcement of pieces is invalid");
  std::vector<place> places(pieces);
  std::size_t largest = 0;
  for (place& p : places) {
    p.size_bytes = take_number(bytes);
    largest = std::max(largest, p.size_bytes);
    if (p.size_bytes > most_piece_bytes) return refuse(from, "an announced piece has an invalid size");
  }
  auto u = std::make_unique<under_way>();
  u->peer = from;
  u->announced = receiver_->announced(from, bytes, places);
  if (u->announced == nullptr) u->bytes.resize(std::min(largest, most_bytes));  // the pieces arrive nevertheless
  for (const place& p : places)
    for (std::size_t i = 0; i < messages_of(p.size_bytes); ++i) {
      const std::size_t begin = i * most_bytes;
      void* to = u->announced != nullptr ? static_cast<std::byte*>(p.data) + begin : u->bytes.data();
      receive_bytes(*u, to, std::min(p.size_bytes - begin, most_bytes));
    }
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  under_way_.push_back(std::move(u));
}

// The pieces of a refused message arrive nevertheless, in unknown number: nothing from that peer can be interpreted.
void mpi_transport::refuse(locality_id from, const char* why) noexcept {
  log_warning("a message from locality {} was refused: {}", from, why);
  refused_.fetch_add(1, std::memory_order_relaxed);
  lifelines_->tell_lost(from, std::string("it sends invalid messages: ") + why);
}

bool mpi_transport::finished(under_way& u) noexcept {
  while (!u.requests.empty()) {
    int done = 0;
    const int r = mpi_.Test(&u.requests.back(), &done, MPI_STATUS_IGNORE);
    if (r == MPI_SUCCESS && done == 0) return false;
    u.ok &= r == MPI_SUCCESS;
    u.requests.pop_back();
  }
  return true;
}

bool mpi_transport::finish_some() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < under_way_.size();) {
    if (!finished(*under_way_[i])) {
      ++i;
      continue;
    }
    const auto u = std::move(under_way_[i]);
    under_way_[i] = std::move(under_way_.back());
    under_way_.pop_back();
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    hand_back(*u, u->ok);
    any = true;
  }
  return any;
}

void mpi_transport::finish_given_up() noexcept {
  std::erase_if(given_up_, [this](const auto& u) { return finished(*u) && (hand_back(*u, false), true); });
}

void mpi_transport::hand_back(under_way& u, bool ok) noexcept {
  if (u.message != nullptr) u.message->sent(u.message, ok);
  if (u.announced != nullptr) receiver_->pieces_arrived(u.peer, u.announced, ok);
}

}  // namespace plx::net::detail
