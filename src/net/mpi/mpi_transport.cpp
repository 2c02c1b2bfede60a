// Start and end of the transport, its turn, and peers that are lost. See mpi_messages.cpp.
#include "net/mpi/mpi_transport.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.hpp"

namespace plx::net::detail {

result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, double deadline_s) {
  if (b.name() != "mpi")
    return error{
        fmt::format("expected a start by MPI for the transport mpi, found {}; name the same transport to "
                    "find_bootstrap()",
                    b.name())};
  auto t = std::make_unique<mpi_transport>(static_cast<mpi_bootstrap&>(b));
  if (auto r = t->open(deadline_s); !r) return r.error();
  return std::unique_ptr<transport>(std::move(t));
}

mpi_transport::mpi_transport(mpi_bootstrap& b) : bootstrap_(b), mpi_(b.mpi()), lost_(b.size()) {}

mpi_transport::~mpi_transport() {
  for (auto& u : given_up_) (void)u.release();  // MPI may still look at them
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
  if (!turn_.try_take()) return false;  // a thread that sends has it, for a moment
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
  for (int i = 0; i < 1000 && receive_heads();) ++i;  // what it sent before
  lost_[l.who] = 1;
  receiver_->lost(l.who, l.why);
  give_up(l.who);
}

// What was under way with it may never end. Until it does, MPI may read and write its memory; receives for which
// nothing has come yet are taken back.
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
  for (locality_id i = 0; i < lost_.size(); ++i) give_up(i);  // what comes now goes nowhere
  lifelines_->close(std::max(0.0, seconds(end) - seconds(now_ticks())));
  for (auto& p : heads_) mpi_.Cancel(&p.request);
  return in_time;
}

}  // namespace plx::net::detail
