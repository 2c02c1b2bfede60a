#include "star/runners/distributed_device.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "mesh/tree/regrid.hpp"
#include "net/error.hpp"
#include "rt/future.hpp"
#include "star/device/data/machine.hpp"
#include "star/device/device_gas.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/options.hpp"
#include "star/refine/refinement.hpp"
#include "star/runners/device_course.hpp"
#include "star/runners/gravity_field.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

// ---- messages of a step between localities: per exchange (lane) at most one for each pair of them
//
// An exchange carries ghost cells of a stage, fluxes where levels meet, or values of nodes in a field of additional
// physics. Sender and receiver derive the layout of a message from the mesh and the partition alone
// (device_gas::lanes()). Data waits in pinned memory, from which the device reads all messages of a lane at once. Cost:
// two copies in host memory per message, one at each end.

// One task at a time; incoming messages are handled by tasks of the network. Errors: locality_lost and gpu::error,
// thrown.
class device_messages final : private step::message_handler {
 public:
  /// Requires: both arguments outlive it; `net` has several localities.
  device_messages(step::exchange& net, device::machine& on) : net_(net), on_(on) {}

  /// Prepares for another mesh or another partition. Requires: called between rounds; the lanes of all localities have
  /// the same meaning, by index.
  void adopt(std::vector<device::message_lane> lanes);
  /// Does this locality exchange messages of a lane with any other?
  bool has(int lane) const { return !lanes_[static_cast<std::size_t>(lane)].empty(); }

  /// A step: a round of the exchange that ends with this object, also when an exception is thrown.
  class round {
   public:
    explicit round(device_messages& all) : all_(all) { all.open(); }
    ~round() { all_.net_.close(); }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

   private:
    device_messages& all_;
  };
  /// Pinned memory for the data to send next, laid out as the lane says. It may be reused after send().
  double* out() { return out_.data(); }
  /// Sends the data in out(). Requires: it is complete.
  void send(int lane);
  /// Waits for the messages of all other localities. False: a device of another locality has failed.
  [[nodiscard]] bool wait(int lane);
  /// The data that has arrived, laid out as the lane says. Valid until the same lane of the next step.
  const double* in(int lane) const { return in_.data() + in_begin_[static_cast<std::size_t>(lane)]; }
  /// Notifies all other localities that nothing more will be sent in this step.
  void notify_failure();

 private:
  void open();
  void arrived(const step::message& m) override;
  void lost(const std::exception_ptr& loss) override;
  void end_all(const std::exception_ptr& loss);

  step::exchange& net_;
  device::machine& on_;
  std::vector<device::message_lane> lanes_;
  device::pinned_memory<double> out_;
  // Each lane has its own memory: its messages may arrive while the device still reads those of the lane before.
  device::pinned_memory<double> in_;
  std::vector<std::size_t> in_begin_;                   // by lane
  std::vector<std::unique_ptr<step::round_end>> ends_;  // by lane
  std::atomic<bool> ended_{false}, peer_failed_{false};
};

namespace {

enum class message_kind : std::uint16_t { data, failure };

}  // namespace

void device_messages::adopt(std::vector<device::message_lane> lanes) {
  lanes_ = std::move(lanes);
  std::size_t out = 0, in = 0;
  in_begin_.clear();
  for (const device::message_lane& l : lanes_) {
    out = std::max(out, device::message_lane::size(l.out));
    in_begin_.push_back(in);
    in += device::message_lane::size(l.in);
  }
  out_.reserve(on_, out);
  in_.reserve(on_, in);
}

void device_messages::open() {
  peer_failed_.store(false, std::memory_order_relaxed);  // net_.open() orders this before all reads of either
  ended_.store(false, std::memory_order_relaxed);
  ends_.clear();
  for (const device::message_lane& l : lanes_)
    ends_.push_back(std::make_unique<step::round_end>(static_cast<int>(l.in.size())));
  net_.open(*this);
}

void device_messages::send(int lane) {
  step::message_tag tag;
  tag.kind = static_cast<std::uint16_t>(message_kind::data);
  tag.group = static_cast<std::uint32_t>(lane);
  for (const device::message_lane::piece& p : lanes_[static_cast<std::size_t>(lane)].out) {
    buffer<double> values(p.size);
    std::copy_n(out_.data() + p.at, p.size, values.data());
    net_.send(p.peer, tag, std::move(values));
  }
}

bool device_messages::wait(int lane) {
  step::round_end& end = *ends_[static_cast<std::size_t>(lane)];
  if (end.wait()) return true;
  if (!peer_failed_.load(std::memory_order_acquire)) end.fail();  // pairs with arrived()
  return false;
}

void device_messages::notify_failure() {
  for (int peer = 0; peer < net_.count(); ++peer) {
    if (peer == net_.here()) continue;
    step::message_tag tag;
    tag.kind = static_cast<std::uint16_t>(message_kind::failure);
    buffer<double> nothing(1);
    nothing[0] = 0.0;
    try {
      net_.send(peer, tag, std::move(nothing));
    } catch (const locality_lost&) {  // the peer is gone and needs no notification
    }
  }
}

void device_messages::arrived(const step::message& m) {
  const auto from = static_cast<int>(m.tag.from);
  if (static_cast<message_kind>(m.tag.kind) == message_kind::failure) {
    peer_failed_.store(true, std::memory_order_release);  // pairs with wait()
    return end_all(nullptr);
  }
  const std::size_t lane = m.tag.group;
  PLX_ASSERT_LT(lane, lanes_.size());
  const std::vector<device::message_lane::piece>& in = lanes_[lane].in;
  const auto p = std::find_if(in.begin(), in.end(), [&](const auto& piece) { return piece.peer == from; });
  PLX_ASSERT(p != in.end() && m.values.size() == p->size, from, lane);
  std::copy_n(m.values.data(), p->size, in_.data() + in_begin_[lane] + p->at);
  ends_[lane]->arrive();
}

void device_messages::lost(const std::exception_ptr& loss) { end_all(loss); }

void device_messages::end_all(const std::exception_ptr& loss) {
  if (ended_.exchange(true)) return;
  for (const auto& end : ends_)
    if (end != nullptr) end->lost(loss);
}

using mesh::slot_id;

namespace {

/// Throws the error of a device of any locality, on all.
void throw_if(const std::string& complaint) {
  if (!complaint.empty()) throw gpu::error({gpu::failure::other, 0, "", "", complaint});
}

}  // namespace

/// Members in order of construction.
struct distributed_device::parts final : run_device, device::part_exchange {
  parts(runtime& rt, const gpu::backend& b, int index, const setup& s, gas& g)
      : run_device(rt, b, index), values(machine, gas_options_of(s)), messages(g.net, machine) {}

  bool exchange(int lane) override {
    if (!messages.has(lane)) return true;
    values.put_out(lane, messages.out());
    machine.stream().future().get();
    busy_s += monotonic_seconds() - begin_s;
    messages.send(lane);
    if (!messages.wait(lane)) return false;
    begin_s = monotonic_seconds();
    values.put_in(lane, messages.in(lane));
    return true;
  }

  device::device_gas values;
  device_messages messages;
  double begin_s = 0.0, busy_s = 0.0;  // of the device's work
};

distributed_device::distributed_device(const input& in, const setup& s, gas& g, std::unique_ptr<parts> on)
    : in_(in), setup_(s), gas_(g), on_(std::move(on)) {}

distributed_device::~distributed_device() = default;

result<std::unique_ptr<distributed_device>> distributed_device::open(const input& in, const setup& s, gas& g,
                                                                     runtime& rt, const gpu::backend* of) {
  PLX_ASSERT(!g.net.is_alone());
  const int rank = rank_on_host(g.net);
  return on_backend(in.run, of, [&](const gpu::backend& b) {
    return std::unique_ptr<distributed_device>(
        new distributed_device(in, s, g, std::make_unique<parts>(rt, b, device_index(b, rank), s, g)));
  });
}

// Calls f(), in which a device may fail; then all localities throw the error.
template <class F>
void distributed_device::all_or_none(F&& f) {
  std::string why;
  try {
    f();
  } catch (const gpu::error& e) {
    why = e.what();
  }
  throw_if(first_complaint(gas_.net, why));
}

double distributed_device::take_busy_s() { return std::exchange(on_->busy_s, 0.0); }

void distributed_device::take() {
  PLX_ASSERT(values_here_);
  all_or_none([this] {
    on_->values.adopt_part(gas_.mesh, gas_.parts, gas_.net.here());
    on_->values.upload_part(gas_.now);
    on_->messages.adopt(on_->values.lanes());
    has_field_ = false;
  });
}

// -------------------------------------------------------------------------------------------------------------- a step

template <class F>
std::string distributed_device::in_round(F&& f) {
  std::exception_ptr error;
  std::string why;
  {
    const device_messages::round open(on_->messages);
    try {
      f();
    } catch (const gpu::error& e) {
      why = e.what();
    } catch (...) {
      error = std::current_exception();
    }
    if (!why.empty()) on_->messages.notify_failure();
  }
  if (error != nullptr) std::rethrow_exception(error);
  return why;
}

// When a device fails, the other localities are notified, and all meet at the end of the step.
std::optional<bad_cell> distributed_device::advance(double dt, double time) {
  step_account mine;
  mine.wishes = std::exchange(my_wishes_, 0);
  std::vector<double> rates;
  const std::string why = in_round([&] {
    if (run_step(dt, time)) collect(mine, rates);
  });
  has_field_ = false;
  return end_step(mine, why, rates);
}

// False: another locality cannot complete the step. A device without blocks has no part in it.
bool distributed_device::run_step(double dt, double time) {
  values_here_ = false;
  outflow_.assign(static_cast<std::size_t>(mesh::face_count) * gas_.now.variable_count(), {});
  added_.assign(static_cast<std::size_t>(gas_.now.variable_count()), {});
  if (!on_->values.has_blocks()) return true;
  on_->begin_s = monotonic_seconds();
  return on_->values.run_part(time, dt, steps_, *on_);
}

// Combines the reports of the blocks, along the curve, as device/bodies/step_end_body.hpp and stepper::first_bad() do.
void distributed_device::collect(step_account& mine, std::vector<double>& rates) {
  sums_ = on_->values.sums(gas_.own());
  if (!on_->values.has_blocks()) return;
  std::uint64_t first = device::block_report::no_bad, key = first;
  floor_counts floors;
  std::uint64_t added_terms = 0;
  const std::vector<device::block_report> reports = on_->values.end_step();
  on_->busy_s += monotonic_seconds() - on_->begin_s;
  auto position = static_cast<std::size_t>(gas_.parts.begin(gas_.net.here()));
  for (const device::block_report& r : reports) {
    rates.push_back(std::bit_cast<double>(r.speed_bits) / gas_.mesh.cell_width(gas_.mesh.blocks()[position]));
    floors.add(floor_counts{static_cast<std::int64_t>(r.density_floors), static_cast<std::int64_t>(r.pressure_floors),
                            static_cast<std::int64_t>(r.input_floors)});
    added_terms += r.added_terms;
    if (r.bad != device::block_report::no_bad)
      if (const std::uint64_t order = r.bad >> 40 << 32 | position; order < first) first = order, key = r.bad;
    ++position;
  }
  if (added_terms > 0) added_ = on_->values.take_added();
  mine.take(floors);
  mine.signal_rate = *std::max_element(rates.begin(), rates.end());
  first != device::block_report::no_bad ? note_bad(first, key, mine) : on_->values.add_left(outflow_);
}

void distributed_device::note_bad(std::uint64_t first, std::uint64_t key, step_account& mine) {
  fetch_local();
  const slot_id slot = gas_.mesh.blocks()[first & 0xffffffffu];
  const int cell = static_cast<int>(key & 0xffffffffu);
  const double* u = gas_.now.block(slot) + cell;
  const std::ptrdiff_t cells = gas_.now.cells();
  mine.take(gas_, {slot, static_cast<int>(first >> 32), cell, u[i_density * cells], u[i_energy * cells]});
}

// Returns the same outcome on all localities.
std::optional<bad_cell> distributed_device::end_step(step_account& mine, const std::string& why,
                                                     const std::vector<double>& rates) {
  if (!why.empty()) mine.failed = 1.0 + gas_.net.here();
  std::vector<exact_sum> sums = outflow_;
  sums.insert(sums.end(), added_.begin(), added_.end());
  const step_account all = agree_on_step(gas_.net, mine, sums);
  outflow_.assign(sums.begin(), sums.end() - std::ssize(added_));
  added_.assign(sums.end() - std::ssize(added_), sums.end());
  wishes_ = static_cast<std::uint32_t>(all.wishes);
  if (all.failed > 0.0) throw_if(first_complaint(gas_.net, why));
  if (all.is_bad()) {
    fetch();
    refresh_mirrors(gas_);  // fetch() has copied those of the step that failed
    return all.bad_found(gas_);
  }
  if (on_->values.has_blocks()) on_->values.commit();
  has_field_ = true;
  for (std::size_t b = 0; b < rates.size(); ++b) gas_.signal_rate[gas_.own()[b]] = rates[b];
  signal_rate_ = all.signal_rate;
  floors_ = all.floors_found();
  ++steps_;
  return std::nullopt;
}

// -------------------------------------------------------------------------------------------------------- other values

// An additional sum counts the localities that have failed.
std::vector<double> distributed_device::totals() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(gas_.now.variable_count()) + 1);
  const std::span<exact_sum> of_variables(sums.data(), sums.size() - 1);
  std::string why;
  try {
    if (on_->values.has_blocks()) on_->values.add_totals(of_variables);
  } catch (const gpu::error& e) {
    why = e.what();
    sums.back().add(1.0);
  }
  sum_over_localities(gas_.net, sums);
  if (sums.back().value() > 0.0) throw_if(first_complaint(gas_.net, why));
  std::vector<double> values;
  for (const exact_sum& s : of_variables) values.push_back(s.value());
  return values;
}

std::vector<mesh::flag> distributed_device::refinement_flags(double weakening, const gravity_field* gravity) {
  std::span<const std::uint32_t> marks;
  all_or_none([&] {
    if (on_->values.has_blocks()) marks = on_->values.marks(criteria_of(in_.refinement, setup_, weakening)).words;
  });
  return star::refinement_flags(gas_, in_.refinement, marks, weakening, gravity);
}

void distributed_device::gravity(gravity_field& to) {
  std::string why;
  if (!std::exchange(has_field_, true))
    why = in_round([&] {
      if (!on_->values.has_blocks()) return;
      on_->begin_s = monotonic_seconds();
      on_->values.solve_gravity(on_.get());
      on_->busy_s += monotonic_seconds() - on_->begin_s;
    });
  throw_if(first_complaint(gas_.net, why));
  all_or_none([&] {
    if (on_->values.has_blocks()) read_gravity(on_->values, gas_, to);
  });
}

void distributed_device::fetch() {
  all_or_none([this] { fetch_local(); });
}

// The mirrors of other localities' blocks come from the messages that arrived last.
void distributed_device::fetch_local() {
  if (values_here_) return;
  if (on_->values.has_blocks()) on_->values.download_part(gas_.now);
  const device::part_borders& borders = on_->values.borders();
  const double* ghosts = on_->messages.in(on_->values.last_ghosts());
  for (const mesh::halo_group& g : borders.ghosts.receives()) {
    unpack(g, ghosts, gas_.now);
    ghosts += g.size();
  }
  values_here_ = true;
}

}  // namespace plx::star
