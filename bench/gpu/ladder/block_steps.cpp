#include "block_steps.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <unordered_map>
#include <utility>

#include "base/assert.hpp"
#include "block_operations.hpp"
#include "gpu/buffer.hpp"
#include "mesh/between/gather.hpp"
#include "rt/async.hpp"
#include "rt/future.hpp"
#include "star/device/data/mesh_tables.hpp"

namespace plx::star::device {

/// Buffers by which the kernels of one block pass values to each other.
struct block_steps::scratch {
  scratch(gpu::stream& s, const block_steps& of) : tile(s, of.tile_doubles_), parts(s, of.part_doubles_) {}
  gpu::buffer<double> tile, parts;
};

block_steps::block_steps(device_gas& gas, const mesh::block_mesh& mesh)
    : gas_(gas), home_(gas.on().device()), readers_(mesh.block_count()), read_(mesh.block_count()) {
  PLX_ASSERT(gas.options().hydro.scheme == hydro_scheme::full3d && gas.options().totals_every == 0);
  PLX_ASSERT_EQ(static_cast<int>(mesh.block_count()), gas.tiles_of(0).n_blocks);
  const int n = mesh.block_size(), n_var = variable_count(gas.options().hydro.n_species);
  const mesh_tables t(mesh, n_var, static_cast<std::size_t>(n_var) * n * n * n, tile_reach::full);
  boxes_ = (n / 8) * (n / 8) * (n / 8);
  tile_doubles_ = tile_variables(gas_.options().hydro) * mesh::tile_cells(n);
  part_doubles_ = static_cast<std::size_t>(boxes_) * full3d_part_doubles;
  flux_doubles_ = static_cast<std::ptrdiff_t>(t.flux_doubles);
  fluxes_.reserve(gas.on(), t.flux_doubles * static_cast<std::size_t>(gas.options().scheme.stages));

  std::unordered_map<std::int64_t, std::int32_t> position_of;
  for (std::size_t p = 0; p < t.blocks.size(); ++p) position_of[t.blocks[p].values] = static_cast<std::int32_t>(p);
  for (std::size_t p = 0; p < t.tiles.size(); ++p) {
    const tile_item& tile = t.tiles[p];
    one_level_ = one_level_ && tile.finer == 0 && tile.coarser == 0;
    std::vector<std::int32_t> from;
    for (int d = 0; d < mesh::direction_count; ++d)
      if ((tile.same >> d & 1) != 0) from.push_back(position_of.at(tile.from[d][0]));
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    read_[p] = static_cast<std::int32_t>(from.size());
    for (const std::int32_t f : from) readers_[static_cast<std::size_t>(f)].push_back(static_cast<std::int32_t>(p));
  }
}

// ------------------------------------------------------------------------------------------------- common to all steps

void block_steps::prepare() {
  gas_.on().synchronize();  // steps of the gas that were submitted and not waited for
  device_memory<stage_arguments>& stages = stages_[gas_.arena()];
  if (stages.data() != nullptr) return;
  std::vector<tiles_arguments> tiles_of;
  std::vector<stage_arguments> stages_of;
  for (int stage = 0; stage < gas_.options().scheme.stages; ++stage) {
    tiles_of.push_back(gas_.tiles_of(stage));
    stages_of.push_back(gas_.stage_of(stage));
    stages_of.back().fluxes = fluxes(stage);
  }
  tiles_[gas_.arena()].set(gas_.on(), tiles_of);
  stages.set(gas_.on(), stages_of);
  gas_.on().synchronize();
}

gather_item block_steps::gather_of(int stage, std::int32_t position, double* tile) const {
  return {tiles_[gas_.arena()].data() + stage, tile, nullptr, position, 1, false};
}

advance_item block_steps::advance_of(int stage, std::int32_t position, double* tile, double* parts) const {
  const bool steep = gas_.options().hydro.contact_steepening;
  return {stages_[gas_.arena()].data() + stage, tile, parts, position, boxes_, steep};
}

void block_steps::end_stage(int stage) {
  if (one_level_) return;
  gas_.put_correction(stage, fluxes(stage));
  gas_.on().synchronize();
}

void block_steps::end_step() {
  for (int stage = 0; stage < gas_.options().scheme.stages; ++stage) gas_.put_side_sums(stage, fluxes(stage));
  gas_.end_step_of_caller();
}

// ------------------------------------------------------------------------------------------------------------- tasks

namespace {

/// Waits for all of them, and then throws the first error.
void wait_for_all(std::vector<plx::future<void>>& all) {
  std::exception_ptr first;
  for (plx::future<void>& f : all) {
    try {
      f.get();
    } catch (...) {
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace

/// `advance(stage, position)` runs as a task per block.
template <class Advance>
void block_steps::step(Advance&& advance) {
  prepare();
  for (int stage = 0; stage < gas_.options().scheme.stages; ++stage) {
    std::vector<plx::future<void>> all;
    all.reserve(readers_.size());
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(readers_.size()); ++p)
      all.push_back(plx::async([&, p] { advance(stage, p); }));
    wait_for_all(all);
    end_stage(stage);
  }
  end_step();
}

void block_steps::step_in_streams() {
  step([this](int stage, std::int32_t p) {
    gpu::stream s(gas_.on().device());
    const scratch mine(s, *this);
    s.launch(gather_block, gather_of(stage, p, mine.tile.data()));
    s.launch(advance_block_stage, advance_of(stage, p, mine.tile.data(), mine.parts.data()));
    s.wait();
  });
}

// The buffers belong to another stream than the kernels: they are released when they are no longer in use.
template <class On>
void block_steps::tasks_by(const On& on) {
  step([this, &on](int stage, std::int32_t p) {
    const scratch mine(home_, *this);
    plx::future<void> gathered = plx::async(on, gather_block, gather_of(stage, p, mine.tile.data()));
    plx::async(on, advance_block_stage, advance_of(stage, p, mine.tile.data(), mine.parts.data()), std::move(gathered))
        .get();
  });
}

void block_steps::step_in_tasks(const gpu::executor& on) { tasks_by(on); }
void block_steps::step_in_tasks(const gpu::aggregating_executor& on) { tasks_by(on); }

// ----------------------------------------------------------------------------------------------------------- futures

/// Stages [first, last) of all blocks. A block's next stage is submitted by the last of the blocks whose values it
/// reads. The values that it overwrites two stages later were read by the same blocks, so it runs after them.
template <class On>
class block_steps::course {
 public:
  course(block_steps& of, const On& on, int first, int last)
      : of_(of),
        on_(on),
        last_(last),
        left_(static_cast<std::int32_t>(of.read_.size())),
        missing_(of.read_.size() * 4) {
    PLX_ASSERT(last <= 4);
    for (std::size_t i = 0; i < missing_.size(); ++i) missing_[i].store(of.read_[i / 4], std::memory_order_relaxed);
    for (std::size_t p = 0; p < of.read_.size(); ++p) mine_.emplace_back(of.home_, of);
    plx::future<void> done = done_.get_future();
    for (std::size_t p = 0; p < of.read_.size(); ++p) put(first, static_cast<std::int32_t>(p));
    done.get();
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(why_);
  }

 private:
  void put(int stage, std::int32_t p) {
    double *tile = mine_[static_cast<std::size_t>(p)].tile.data(),
           *parts = mine_[static_cast<std::size_t>(p)].parts.data();
    plx::future<void> gathered = plx::async(on_, gather_block, of_.gather_of(stage, p, tile));
    plx::future<void> stage_done =
        plx::async(on_, advance_block_stage, of_.advance_of(stage, p, tile, parts), std::move(gathered));
    static_cast<void>(stage_done.then([this, stage, p](plx::future<void> f) { advanced(stage, p, f); }));
  }

  // A failed stage counts as done: the others end, and then the error is reported.
  void advanced(int stage, std::int32_t p, plx::future<void>& f) {
    try {
      f.get();
    } catch (...) {
      // release: pairs with the acquire above. The first failure sets the error.
      if (!claimed_.exchange(true)) {
        why_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
      }
    }
    if (stage + 1 == last_) {
      // acq_rel: the last one sees the writes of the others.
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        plx::promise<void> done = std::move(done_);  // this object may be destroyed once the promise is set
        done.set_value();
      }
      return;
    }
    for (const std::int32_t reader : of_.readers_[static_cast<std::size_t>(p)])
      if (missing_[static_cast<std::size_t>(reader) * 4 + static_cast<std::size_t>(stage)].fetch_sub(
              1, std::memory_order_acq_rel) == 1)
        put(stage + 1, reader);
  }

  block_steps& of_;
  const On& on_;
  const int last_;
  std::atomic<std::int32_t> left_;
  std::vector<std::atomic<std::int32_t>> missing_;  // [position][stage]: missing inputs of the stage after that one
  std::vector<scratch> mine_;
  std::atomic<bool> claimed_{false}, failed_{false};
  std::exception_ptr why_;
  plx::promise<void> done_;
};

template <class On>
void block_steps::futures_by(const On& on) {
  prepare();
  const int stages = gas_.options().scheme.stages;
  for (int stage = 0; stage < stages; ++stage) {
    const int last = one_level_ ? stages : stage + 1;
    course<On>(*this, on, stage, last);
    stage = last - 1;
    end_stage(stage);
  }
  end_step();
}

void block_steps::step_by_futures(const gpu::executor& on) { futures_by(on); }
void block_steps::step_by_futures(const gpu::aggregating_executor& on) { futures_by(on); }

}  // namespace plx::star::device
