// Whether this locality still gets what others on this host send, after one of them died.
//
// A neighbour that is asked sends a message by UCX and then answers by its lifeline, so it was able to send. When
// neighbours have answered three times, each time followed by a second of asking UCX, and not one message of any kind
// has come from this host, none will.
#include <fmt/core.h>

#include "net/ucx/ucx_transport.hpp"

namespace plx::net::detail {

namespace {

constexpr unsigned rounds_needed = 3;
constexpr double round_s = 1;

}  // namespace

void ucx_transport::doubt_hearing(locality_id dead) noexcept {
  doubt_ = {dead, near_arrivals_, 0, 0};
  ask_neighbours();
}

void ucx_transport::ask_neighbours() noexcept {
  doubt_.patience = 0;
  bool any = false;
  for (const peer& p : peers_) any |= p.near && !p.lost && p.id != meeting_.here && lifelines_->ask(p.id);
  if (!any) doubt_.dead = no_locality;  // nobody is left here
}

void ucx_transport::check_hearing() noexcept {
  for (const locality_id who : lifelines_->take_questions())
    if (!peers_[who].lost) send_probe(peers_[who]);
  const bool answered = !lifelines_->take_answers().empty();
  if (doubt_.dead == no_locality) return;
  if (near_arrivals_ != doubt_.arrivals) {
    doubt_.dead = no_locality;
  } else if (doubt_.patience == 0) {
    if (answered) doubt_.patience = now_ticks() + ticks_from(round_s);
  } else if (now_ticks() > doubt_.patience) {
    if (++doubt_.rounds < rounds_needed) return ask_neighbours();
    lifelines_->resign(fmt::format("shared memory of locality {} was left broken by the death of locality {}",
                                   meeting_.here, doubt_.dead));
    doubt_.dead = no_locality;
  }
}

void ucx_transport::send_probe(peer& p) noexcept {
  const ucp_ep_h endpoint = endpoint_to(p);
  if (endpoint == nullptr) return;
  ucp_request_param_t how{};
  const ucs_status_ptr_t request =
      ucx_.am_send_nbx(endpoint, ucx_probe, &signature_, sizeof signature_, nullptr, 0, &how);
  if (UCS_PTR_IS_PTR(request)) ucx_.request_free(request);  // once it has ended
  lifelines_->answer(p.id);
}

}  // namespace plx::net::detail
