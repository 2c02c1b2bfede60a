#include "parquet/distribution/rotation_exchange.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/coalescing.hpp"
#include "net/collectives.hpp"
#include "net/parcels/collector.hpp"
#include "parquet/distribution/exchange_place.hpp"
#include "parquet/distribution/network_use.hpp"
#include "rt/for_loop.hpp"
#include "rt/future.hpp"
#include "rt/thread.hpp"

namespace plx::parquet {

using complex = std::complex<double>;

// While it exists, actions find the exchange.
class rotation_exchange::presence {
 public:
  explicit presence(rotation_exchange& e) : place_(net::node_here().get<exchange_place>()), exchange_(e) {
    place_.enter(e, e.number_);
  }
  ~presence() { place_.leave(exchange_.number_, exchange_.receives_); }
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;

 private:
  exchange_place& place_;
  const rotation_exchange& exchange_;
};

// The end of a rotation: all slabs are complete, or a locality is lost.
class rotation_exchange::completion {
 public:
  void begin(int slabs) {
    const std::lock_guard guard(lock_);
    missing_ = slabs;
    ended_ = false;
    done_ = promise<void>();
    ready_ = done_.get_future();
    if (slabs == 0) end(nullptr);
  }
  void count_down() {
    const std::lock_guard guard(lock_);
    if (--missing_ == 0) end(nullptr);
  }
  void fail(std::exception_ptr e) {
    const std::lock_guard guard(lock_);
    end(std::move(e));
  }
  void wait() { ready_.get(); }

 private:
  // The lock is held. The first end counts.
  void end(std::exception_ptr e) {
    if (std::exchange(ended_, true)) return;
    if (e == nullptr)
      done_.set_value();
    else
      done_.set_exception(std::move(e));
  }
  mutex lock_;
  int missing_ = 0;
  bool ended_ = true;
  promise<void> done_;
  future<void> ready_;
};

// Messages that have been sent and not yet been stored.
class rotation_exchange::window {
 public:
  void add(future<void> sent) {
    std::unique_lock guard(lock_);
    while (on_way_.size() >= blocks_on_way) wait_for_oldest(guard);
    on_way_.push_back(std::move(sent));
  }
  void wait_for_all() {
    std::unique_lock guard(lock_);
    while (!on_way_.empty()) wait_for_oldest(guard);
  }

 private:
  void wait_for_oldest(std::unique_lock<mutex>& guard) {
    future<void> oldest = std::move(on_way_.front());
    on_way_.pop_front();
    guard.unlock();
    oldest.get();
    guard.lock();
  }
  mutex lock_;
  std::deque<future<void>> on_way_;
};

// Bounds the rows on their way: their receivers report what they have stored.
class rotation_exchange::room {
 public:
  // Waits until that many numbers may be sent. Throws the reason if a locality is lost.
  void take(std::size_t numbers) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return lost_ != nullptr || taken_ < most; });
    if (lost_ != nullptr) std::rethrow_exception(lost_);
    taken_ += static_cast<std::int64_t>(numbers);
  }
  void give_back(std::size_t numbers) {
    {
      const std::lock_guard guard(lock_);
      taken_ -= static_cast<std::int64_t>(numbers);
    }
    changed_.notify_all();
  }
  void fail(std::exception_ptr e) {
    {
      const std::lock_guard guard(lock_);
      if (lost_ == nullptr) lost_ = std::move(e);
    }
    changed_.notify_all();
  }

 private:
  static constexpr std::int64_t most = blocks_on_way * block_numbers;
  mutex lock_;
  condition_variable changed_;
  std::int64_t taken_ = 0;
  std::exception_ptr lost_;
};

rotation_exchange::rotation_exchange(const vertex_grid& grid, const team& members, rotation_form form)
    : grid_(grid),
      team_(members),
      form_(form),
      map_(grid),
      locks_(2 * static_cast<std::size_t>(grid.bosons())),
      window_(std::make_unique<window>()),
      room_(std::make_unique<room>()),
      completion_(std::make_unique<completion>()) {
  for (unsigned rank = 0; rank <= team_.size(); ++rank) firsts_.push_back(grid.first_slab(rank, team_.size()));
  for (unsigned rank = 0; rank < team_.size(); ++rank) runs_.push_back(runs_of(grid, firsts_[rank], firsts_[rank + 1]));
  const int own = firsts_[team_.rank() + 1] - firsts_[team_.rank()];
  missing_ = std::vector<std::atomic<std::int64_t>>(2 * static_cast<std::size_t>(own));
  stored_ = std::vector<std::atomic<std::size_t>>(team_.size());
  row_action_ = net::find_action("plx::parquet::parquet_store_row").value()->index;
  if (form_ != rotation_form::packed && !user_coalesces(row_action_)) coalesce<&parquet_store_row>(setting_of(form_));
  number_ =
      1 + team_.communicator().all_reduce(net::node_here().get<exchange_place>().last_number(), plx::maximum()).get();
  presence_ = std::make_unique<presence>(*this);
  team_.communicator().barrier().get();
}

rotation_exchange::~rotation_exchange() = default;

void rotation_exchange::rows_stored(std::uint64_t numbers) { room_->give_back(numbers); }

void rotation_exchange::prepare(const propagator& g, complex* gamma) {
  const int first = firsts_[team_.rank()], last = firsts_[team_.rank() + 1];
  gamma_ = gamma;
  listener_ = nullptr;
  receives_ = true;
  const vertex_reader beyond(grid_, g, nullptr);
  for_loop({probe::register_name("parquet/beyond"), probe::no_key}, first, last, [&](int s) {
    const transfer q = grid_.transfer_of(s);
    const int rows = grid_.rows(q.frequency);
    for (const bool ph : {true, false}) {
      complex* a = gamma + (grid_.offset(s, ph ? channel::density : channel::singlet) - grid_.slab_offset(first));
      complex* b = a + static_cast<std::size_t>(rows) * rows;
      map_.start(beyond, ph, q, {a, rows, rows, rows}, {b, rows, rows, rows});
      std::int64_t columns = 0;
      for (const rotation r : all_rotations)
        for (int m = 1 - grid_.bosons(); enters_particle_hole(r) == ph && m < grid_.bosons(); ++m)
          columns += map_.columns_of(r, q.frequency, m).count;
      // relaxed: the collective call that follows is before the first contribution.
      missing_[2 * (s - first) + (ph ? 0 : 1)].store(1 + columns * grid_.n_momenta(), std::memory_order_relaxed);
    }
  });
  completion_->begin(2 * (last - first));
  // A loss is either found here, or is reported to the rotation that has begun.
  for (const locality_id m : team_.communicator().members())
    if (net::node_here().is_lost(m)) peer_lost(m);
}

void rotation_exchange::peer_lost(locality_id which) {
  const auto& members = team_.communicator().members();
  if (std::find(members.begin(), members.end(), which) == members.end()) return;
  const std::exception_ptr loss = net::node_here().loss_of(which);
  completion_->fail(loss);
  room_->fail(loss);
}

// The next steps of a job with at most `most` numbers together, or one step: f(step, source momenta, numbers).
template <class F>
std::size_t rotation_exchange::take(const job& j, cursor& at, std::size_t most, F&& f) const {
  const auto& targets = runs_[j.to];
  const slab_run& source = source_of(j);
  const int source_m = j.sign * source.frequency;
  std::size_t taken = 0;
  while (at.target_run < static_cast<int>(targets.size())) {
    const slab_run& target = targets[at.target_run];
    const auto columns = map_.columns_of(j.r, target.frequency, source_m);
    if (at.column >= columns.count) {
      ++at.target_run;
      at.column = 0;
      continue;
    }
    const rotation_map::step s{j.r, source_m, target, columns.first + at.column};
    const std::size_t size = map_.size_of(s, source.momenta);
    if (taken > 0 && taken + size > most) break;
    f(s, source.momenta, size);
    taken += size;
    ++at.column;
  }
  return taken;
}

std::size_t rotation_exchange::fill(const vertex_reader& local, const job& j, cursor at, complex* out,
                                    std::size_t size) const {
  return take(j, at, size, [&](const rotation_map::step& s, const momentum_range& source, std::size_t numbers) {
    map_.gather(local, s, source, out);
    out += numbers;
  });
}

// A slab is complete when its last contribution arrives.
void rotation_exchange::arrived(bool particle_hole, int slab, int columns) {
  auto& missing = missing_[2 * (slab - firsts_[team_.rank()]) + (particle_hole ? 0 : 1)];
  // acq_rel: what others have added to the slab happens before complete().
  if (missing.fetch_sub(columns, std::memory_order_acq_rel) != columns) return;
  listener_->complete(slab, particle_hole);
  completion_->count_down();
}

std::size_t rotation_exchange::store(const job& j, cursor at, const complex* in, std::size_t size) {
  const bool ph = enters_particle_hole(j.r);
  const int own = firsts_[team_.rank()];
  std::unique_lock<mutex> guard;
  const slab_run* target = nullptr;  // of the lock
  int columns = 0;
  const auto end_run = [&] {
    if (target == nullptr) return;
    guard.unlock();
    for (int q = target->momenta.first; q < target->momenta.last; ++q)
      arrived(ph, grid_.slab({q, target->frequency}), columns * source_of(j).momenta.count());
  };
  const slab_run* next = nullptr;
  const std::size_t taken =
      take(j, at, size, [&](const rotation_map::step& s, const momentum_range& source, std::size_t numbers) {
        next = &runs_[j.to][at.target_run];
        if (next != target) {
          end_run();
          target = next;
          columns = 0;
          guard = std::unique_lock(locks_[2 * static_cast<std::size_t>(target->frequency) + (ph ? 0 : 1)]);
        }
        map_.add(in, s, source, gamma_, own);
        in += numbers;
        ++columns;
      });
  end_run();
  return taken;
}

void rotation_exchange::receive(const rotation_block& block, const buffer<complex>& values) {
  const unsigned me = team_.rank();
  const auto malformed = [] { throw std::runtime_error("packed rows of a vertex of another size than expected"); };
  if (block.r >= all_rotations.size() || block.from >= team_.size() || block.source_run >= runs_[block.from].size() ||
      block.target_run >= runs_[me].size() || block.column < 0 || (block.sign != 1 && block.sign != -1))
    malformed();
  const job j{static_cast<rotation>(block.r), block.from, me, static_cast<int>(block.source_run), block.sign};
  const cursor begin{static_cast<int>(block.target_run), block.column};
  cursor end = begin;
  if (take(j, end, values.size(), [](auto&&...) {}) != values.size()) malformed();
  store(j, begin, values.data(), values.size());
}

void rotation_exchange::move_locally(const vertex_reader& local, const job& j) {
  std::vector<complex> together(block_numbers / 4);  // in the cache
  for (cursor at, end;; at = end) {
    const std::size_t size = take(j, end, together.size(), [](auto&&...) {});
    if (size == 0) return;
    if (size > together.size()) together.resize(size);
    fill(local, j, at, together.data(), size);
    store(j, at, together.data(), size);
  }
}

void rotation_exchange::send_blocks(const vertex_reader& local, const job& j, rotation_work& work) {
  for (cursor at, end;; at = end) {
    const std::size_t size = take(j, end, block_numbers, [](auto&&...) {});
    if (size == 0) return;
    buffer<complex> values(size);
    fill(local, j, at, values.data(), size);
    const rotation_block block{static_cast<std::uint32_t>(j.r),
                               team_.rank(),
                               static_cast<std::uint32_t>(j.source_run),
                               static_cast<std::uint32_t>(at.target_run),
                               j.sign,
                               at.column,
                               number_};
    window_->add(async<&parquet_store_block>(team_.communicator().members()[j.to], block, std::move(values)));
    work.sent_bytes += static_cast<double>(size) * sizeof(complex);
    ++work.parcels;
    ++work.messages;
  }
}

// Rows have numbers: (((rotation, target slab), source frequency), source momentum).
void rotation_exchange::send_rows(const vertex_reader& local, const job& j, rotation_work& work) const {
  const slab_run& source = source_of(j);
  const int source_m = j.sign * source.frequency;
  for (const slab_run& run : runs_[j.to]) {
    const auto columns = map_.columns_of(j.r, run.frequency, source_m);
    const std::size_t step = 2 * static_cast<std::size_t>(grid_.n_momenta());
    for (int target = run.momenta.first; columns.count > 0 && target < run.momenta.last; ++target)
      for (int q = source.momenta.first; q < source.momenta.last; ++q) {
        parquet_row row{std::vector<complex>(columns.count * step)};
        for (int c = 0; c < columns.count; ++c)
          map_.gather(local, {j.r, source_m, {run.frequency, {target, target + 1}}, columns.first + c}, {q, q + 1},
                      row.values.data() + c * step);
        const std::uint64_t slab =
            static_cast<std::uint64_t>(j.r) * grid_.n_slabs() + grid_.slab({target, run.frequency});
        const std::uint64_t number =
            (slab * (2 * grid_.bosons() - 1) + source_m + grid_.bosons() - 1) * grid_.n_momenta() + q;
        work.sent_bytes += static_cast<double>(row.values.size()) * sizeof(complex);
        ++work.parcels;
        room_->take(row.values.size());
        post<&parquet_store_row>(team_.communicator().members()[j.to], number_, number, std::move(row));
      }
  }
}

auto rotation_exchange::receive(std::uint64_t number, const parquet_row& row) -> stored_report {
  const std::vector<complex>& values = row.values;
  const std::uint64_t n_momenta = grid_.n_momenta(), n_m = 2 * grid_.bosons() - 1, n_slabs = grid_.n_slabs();
  if (number >= all_rotations.size() * n_slabs * n_m * n_momenta)
    throw std::runtime_error("a row of a vertex with an impossible number");
  const int q = static_cast<int>(number % n_momenta),
            source_m = static_cast<int>(number / n_momenta % n_m) - grid_.bosons() + 1;
  const std::uint64_t slab = number / n_momenta / n_m;
  const auto r = static_cast<rotation>(slab / n_slabs);
  const int target = static_cast<int>(slab % n_slabs), own = firsts_[team_.rank()];
  const transfer to = grid_.transfer_of(target);
  const auto columns = map_.columns_of(r, to.frequency, source_m);
  const std::size_t step = 2 * static_cast<std::size_t>(n_momenta);
  if (target < own || target >= firsts_[team_.rank() + 1] || values.size() != columns.count * step)
    throw std::runtime_error("a row of a vertex of another size, or of another locality, than expected");
  const bool ph = enters_particle_hole(r);
  {
    const std::lock_guard guard(locks_[2 * static_cast<std::size_t>(to.frequency) + (ph ? 0 : 1)]);
    for (int c = 0; c < columns.count; ++c)
      map_.add(values.data() + c * step,
               {r, source_m, {to.frequency, {to.momentum, to.momentum + 1}}, columns.first + c}, {q, q + 1}, gamma_,
               own);
  }
  arrived(ph, target, columns.count);
  return stored(grid_.slab({q, std::abs(source_m)}), values.size());
}

// A report to the owner of the source, for several rows together.
auto rotation_exchange::stored(int source, std::size_t numbers) -> stored_report {
  const auto owner = std::upper_bound(firsts_.begin(), firsts_.end(), source) - firsts_.begin() - 1;
  // relaxed: only sums count.
  const std::size_t before = stored_[owner].fetch_add(numbers, std::memory_order_relaxed), now = before + numbers;
  return {team_.communicator().members()[owner], (now / report_numbers - before / report_numbers) * report_numbers};
}

// In the order in which they begin: the particle-hole channels first, and values for others before local ones.
auto rotation_exchange::jobs() const -> std::vector<job> {
  std::vector<job> all;
  const unsigned me = team_.rank(), ranks = team_.size();
  for (const bool ph : {true, false})
    for (unsigned i = 1; i <= ranks; ++i)
      for (const rotation r : all_rotations)
        for (int run = 0; enters_particle_hole(r) == ph && run < static_cast<int>(runs_[me].size()); ++run)
          for (const int sign : {1, -1})
            if (sign > 0 || runs_[me][run].frequency > 0) all.push_back({r, me, (me + i) % ranks, run, sign});
  return all;
}

rotation_work rotation_exchange::rotate(const vertex_reader& local, rotation_listener& listener) {
  try {
    const auto work = send_and_wait(local, listener);
    receives_ = false;
    return work;
  } catch (...) {
    presence_.reset();  // others may still send
    throw;
  }
}

rotation_work rotation_exchange::send_and_wait(const vertex_reader& local, rotation_listener& listener) {
  const net::parcel_port& port = net::node_here().port();
  const std::uint64_t messages_before = port.counts_of(row_action_).messages;
  const double begin = monotonic_seconds();
  const int first = firsts_[team_.rank()], last = firsts_[team_.rank() + 1];
  listener_ = &listener;
  for (int s = first; s < last; ++s)
    for (const bool ph : {true, false}) arrived(ph, s, 1);
  const auto all = jobs();
  const unsigned workers = net::node_here().home().worker_count();
  std::vector<rotation_work> works(workers);
  std::atomic<std::size_t> next{0};
  for_loop({probe::register_name("parquet/rotate"), probe::no_key}, 0u, workers, [&](unsigned w) {
    // relaxed: each job is done once; what it reads was there before the loop.
    for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < all.size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      if (all[i].to == team_.rank())
        move_locally(local, all[i]);
      else if (form_ == rotation_form::packed)
        send_blocks(local, all[i], works[w]);
      else
        send_rows(local, all[i], works[w]);
    }
  });
  if (form_ != rotation_form::packed) flush_parcels();
  window_->wait_for_all();
  completion_->wait();
  rotation_work work;
  for (const auto& w : works) {
    work.sent_bytes += w.sent_bytes;
    work.parcels += w.parcels;
    work.messages += w.messages;
  }
  if (form_ != rotation_form::packed) {
    work.messages = static_cast<std::int64_t>(port.counts_of(row_action_).messages - messages_before);
    work.how = coalescing_of(row_action_);
  }
  work.seconds = monotonic_seconds() - begin;
  return work;
}

}  // namespace plx::parquet
