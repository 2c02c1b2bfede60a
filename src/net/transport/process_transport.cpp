#include "net/transport/process_transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "rt/core/worker.hpp"

namespace plx::net::detail {

result<void> process_transport::join(job_info job) {
  job_ = std::move(job);
  auto detector = failure_detector::listen(job_);
  if (!detector) return detector.error();
  detector_ = std::move(detector).value();
  return {};
}

result<std::vector<std::string>> process_transport::exchange_addresses(bootstrap& b, std::string_view library,
                                                                       bool with_rings, double deadline_s) {
  std::string mine;
  append_field(mine, library);
  append_field(mine, detector_->address());
  append_field(mine, with_rings ? rings_.offer(job_) : "");
  const auto sent = b.exchange(mine, deadline_s);
  if (!sent) return sent.error();
  std::vector<std::string> libraries, detectors, rings;
  for (locality_id i = 0; i < job_.size; ++i) {
    std::string_view fields = (*sent)[i];
    for (auto* to : {&libraries, &detectors, &rings}) {
      const auto field = take_field(fields);
      if (!field) return error{fmt::format("locality {} sent no valid addresses", i)};
      to->emplace_back(*field);
    }
  }
  rings_.open(job_, rings);
  if (auto r = detector_->connect(detectors, deadline_s); !r) return r.error();
  return libraries;
}

bool process_transport::receive_near(bool of_all) noexcept {
  if (receiver_ == nullptr) return false;
  locality_id invalid = no_locality;
  const bool any = of_all ? rings_.receive_of_all(*receiver_, invalid) : rings_.receive(*receiver_, invalid);
  if (invalid != no_locality) [[unlikely]]
    give_up_peer(invalid, "it wrote an invalid message to shared memory");
  return any;
}

void process_transport::close_rings() noexcept {
  for (int i = 0; i < most_polls && receive_near(true);) ++i;  // progress() does not look at all of them
  rings_.close();
}

void process_transport::wake(locality_id to, std::span<const std::byte> contents) noexcept {
  auto* m = new outgoing;
  m->head = contents;
  m->destination = to;
  m->sent = woken;
  lock_.send(*m, [this](transport_request& r) { issue_request(r); });
}

void process_transport::wake_neighbours() noexcept {
  // Long enough that UCX allocates the memory that it uses for messages of that size.
  static constexpr std::array<std::byte, 512> contents{};
  for (const locality_id id : rings_.reachable(64)) wake(id, contents);
}

void process_transport::send(locality_id to, outgoing& m) noexcept {
  PLX_ASSERT(to < job_.size && to != job_.here, to);
  if (m.pieces.empty()) {
    const auto how = rings_.send(to, m.head);
    if (how == near_rings::sending::sent_asleep) [[unlikely]]
      wake(to);
    if (how != near_rings::sending::left) return m.sent(&m, true);
  }
  m.destination = to;
  lock_.send(m, [this](transport_request& r) { issue_request(r); });
}

bool process_transport::send_raw(locality_id to, std::span<const std::byte> first,
                                 std::span<const std::byte> rest) noexcept {
  const auto how = rings_.send_raw(to, first, rest);
  if (how == near_rings::sending::sent_asleep) [[unlikely]]
    wake(to);
  return how != near_rings::sending::left;
}

void process_transport::receive_of(locality_id from) noexcept {
  while (!lock_.try_take()) std::this_thread::yield();
  rings_.receive_of(*receiver_, from);
  unlock();
}

void process_transport::send_access(locality_id to, remote_access& a) noexcept {
  a.destination = to;
  lock_.send(a, [this](transport_request& r) { issue_request(r); });
}

void process_transport::issue_request(transport_request& r) noexcept {
  if (r.is_access) [[unlikely]]
    issue_access(static_cast<remote_access&>(r));
  else
    issue(static_cast<outgoing&>(r));
}

void process_transport::unlock() noexcept {
  lock_.end([this](transport_request& r) { issue_request(r); });
}

bool process_transport::progress() noexcept {
  if (!lock_.try_take()) return false;  // a sending thread holds it for a moment
  // Losses go before messages, in which other localities may report failures that follow from them.
  bool happened = plx::detail::clock_of_poll() >= next_check_ && check_peers();
  happened |= advance();
  unlock();
  return happened;
}

bool process_transport::check_peers() noexcept {
  static const ticks every = ticks_from(5e-3);
  next_check_ = now_ticks() + every;
  const bool happened = detector_->poll();
  handle_losses();
  return happened;
}

bool process_transport::stop(double deadline_s) noexcept {
  const ticks end = now_ticks() + ticks_from(deadline_s);
  const auto progress_until = [&](auto done) {
    while (!done() && now_ticks() < end) progress();
    return done();
  };
  bool in_time = progress_until([&] { return !pending(); });
  in_time &= flush(end);
  detector_->report_finished();
  in_time &= progress_until([&] { return detector_->all_finished(); });
  all_finished();
  for (int i = 0; i < most_polls && progress();) ++i;
  give_up_all();
  detector_->close(std::max(0.0, seconds(end) - seconds(now_ticks())));
  return in_time;
}

}  // namespace plx::net::detail
