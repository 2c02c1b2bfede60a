// How all parallel algorithms and loops divide their work: one part per worker at the start, and a part is split again
// while other workers can take half of it.
//
// A worker processes its range in chunks. Before each chunk it checks its own deque: if that is empty, thieves have
// taken everything it offered, so it offers half of the remaining range. Chunks grow until one takes about two
// microseconds, so the check is cheap and no chunk size has to be chosen. A range that no other worker joins is split
// log2(n) times.
//
// Thread safety: in_pieces() from any task or external thread; the body is called by several workers concurrently.
// Cost: one closure per split, one check and one clock read per chunk. Example: for_loop_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

#include "rt/task_group.hpp"

namespace plx::detail {

/// True if thieves have taken everything that the calling worker offered. Requires: on_a_worker().
bool own_deque_is_empty() noexcept;
bool on_a_worker() noexcept;

/// Between two chunks: runs urgent tasks, timers and pollers first. True if there were any.
bool events_first(ticks now);

/// How often a loop is halved so that each worker gets a part: log2 of the number of workers, rounded up.
unsigned shares() noexcept;

/// The size estimate from the last run of a loop: how many indices take about two microseconds; 0: unknown.
struct loop_site {
  const std::type_info& code;
  std::atomic<std::int64_t> grain{0};
};

/// One run of a loop: the target duration of a chunk, about two microseconds unless it is tuned (loop_tuning.hpp).
struct loop_run {
  ticks piece = 0;
  std::int64_t n = 0;
  void* place = nullptr;  // receives the duration of the run; null: not measured
  ticks began = 0;

  /// The run has completed.
  void done() noexcept {
    if (place != nullptr) [[unlikely]]
      report(true);
  }
  ~loop_run() {
    if (place != nullptr) [[unlikely]]
      report(false);
  }

 private:
  void report(bool complete) noexcept;
};

/// Adapts the number of indices between two checks of the deque until they take as long as a chunk should.
class loop_grain {
 public:
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// True if half of `n` indices is estimated to take less than a chunk: too little to offer.
  [[nodiscard]] bool too_small(std::int64_t n) const noexcept { return n <= size_ || n < 2 * known_; }
  /// The first chunk starts: of a loop over n indices, or (without arguments) of a part of one.
  void begin(const loop_site& site, std::int64_t n, loop_run& run) noexcept;
  void begin() noexcept;
  /// The size of a first chunk that verifies the estimate from the last run: it should take a 64th of a chunk or less.
  /// 0: there is no estimate.
  [[nodiscard]] std::int64_t trial() const noexcept { return known_ > 1 ? (size_ + 63) / 64 : 0; }
  /// The trial of `done` indices has ended. If it took half a chunk, another loop runs at the same place.
  void judge(std::int64_t done, ticks piece) noexcept;
  /// `done` indices have ended, and the next ones start; `piece` is the target duration of a chunk.
  void next(std::int64_t done, ticks piece) noexcept;
  /// When the last chunk ended.
  [[nodiscard]] ticks now() const noexcept { return begin_; }
  /// Excludes the time since then, which was not spent in the loop.
  void resume() noexcept { begin_ = now_ticks(); }
  void remember(loop_site& site) const noexcept;

 private:
  std::int64_t size_ = 1;
  std::int64_t known_ = 0;  // the estimate from the last run; 0: unknown
  std::int64_t done_ = 0;
  ticks took_ = 0;  // time of these
  ticks begin_ = 0;
};

/// The parameters that the policy passes to an algorithm.
struct spread {
  task_info info{};        // info of the tasks that take a half
  std::int64_t chunk = 0;  // indices are distributed in multiples of it; 0: by measured time
  bool parallel = true;
};

/// The current end of the range: a search that has found a match needs no index after it. Only decreases.
class range_end {
 public:
  explicit range_end(std::int64_t n) noexcept : at_(n) {}
  [[nodiscard]] std::int64_t get() const noexcept { return at_.load(std::memory_order_relaxed); }
  /// relaxed: the index publishes no other data; a reader of the elements after it joins the tasks first.
  void lower_to(std::int64_t i) noexcept {
    std::int64_t now = get();
    while (i < now && !at_.compare_exchange_weak(now, i, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::int64_t> at_;
};

/// Calls the body for each chunk as piece(begin, end) or piece(begin, end, run): all of [run, end) was processed by the
/// same task without a gap.
template <class Piece>
class partition {
 public:
  partition(task_info info, range_end& end, Piece& piece) noexcept : info_(info), end_(end), piece_(piece) {}

  /// The whole range: split immediately into parts for all workers, as far as they are large enough.
  void start(std::int64_t n) {
    loop_grain grain;
    grain.begin(site_, n, run_);
    task_group halves;
    halves.stay();
    std::int64_t begin = 0, end = n;
    if (const std::int64_t few = grain.trial(); few != 0) {
      call(0, few, 0);
      begin = few;
      grain.judge(few, run_.piece);
    }
    // Split as if the trial had not been made, so that the parts are the same as in the last run.
    for (unsigned i = may_offer() ? shares() : 0; i > 0 && end / 2 > begin && !grain.too_small(end); --i)
      end = give_half(halves, 0, end, grain);
    proceed(halves, begin, end, grain, 0);
    grain.remember(site_);
    halves.wait();
    run_.done();
  }

  void call(std::int64_t begin, std::int64_t end, std::int64_t run) {
    try {
      if constexpr (std::is_invocable_v<Piece&, std::int64_t, std::int64_t, std::int64_t>)
        piece_(begin, end, run);
      else
        piece_(begin, end);
    } catch (...) {
      end_.lower_to(-1);  // the other tasks can stop
      throw;
    }
  }

 private:
  /// Offers the second half; returns the end of the first.
  std::int64_t give_half(task_group& halves, std::int64_t begin, std::int64_t end, const loop_grain& grain) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (!info_.where.ordinary()) n_offered_.fetch_add(1, std::memory_order_relaxed);
    halves.offer(info_, [this, middle, end, grain] {
      if (!info_.where.ordinary()) n_offered_.fetch_sub(1, std::memory_order_relaxed);
      loop_grain mine = grain;
      mine.begin();
      task_group more;
      proceed(more, middle, end, mine, middle);
      more.wait();
    });
    return middle;
  }

  /// Requires: the caller has processed [run, begin).
  void proceed(task_group& halves, std::int64_t begin, std::int64_t end, loop_grain& grain, const std::int64_t run) {
    for (;;) {
      const std::int64_t cut = end_.get();
      if (cut < end) end = cut;
      const std::int64_t n = end - begin;
      if (n <= 0) return;
      if (n > 1 && !grain.too_small(n) && offers_are_taken()) {
        end = give_half(halves, begin, end, grain);
        grain.begin();
        continue;
      }
      const std::int64_t count = n < grain.size() ? n : grain.size();
      call(begin, begin + count, run);
      begin += count;
      grain.next(count, run_.piece);
      if (begin < end && events_first(grain.now())) grain.resume();
    }
  }

  [[nodiscard]] bool may_offer() const noexcept { return info_.where.worker == 0; }

  // Tasks with a priority or a fixed worker are not in the deque: they are counted. Halves pinned to one worker help
  // none.
  [[nodiscard]] bool offers_are_taken() const noexcept {
    if (info_.where.ordinary()) return own_deque_is_empty();
    return may_offer() && n_offered_.load(std::memory_order_relaxed) == 0;
  }

  const task_info info_;
  range_end& end_;
  Piece& piece_;
  std::atomic<int> n_offered_{0};
  loop_run run_;
  inline static loop_site site_{typeid(Piece)};  // one per instantiation
};

/// in_pieces() without how.chunk.
template <class Piece>
void in_free_pieces(const spread& how, std::int64_t n, range_end& end, Piece& piece) {
  partition<Piece> whole(how.info, end, piece);
  if (!how.parallel)
    whole.call(0, n, 0);
  else if (on_a_worker())
    whole.start(n);
  else  // an external thread has no deque: a task runs the loop
    async(how.info, [&whole, n] { whole.start(n); }).get();
}

/// Calls `piece` for parts of [0, n), each index below `end` once, in no particular order; within one task in ascending
/// order. Returns when all calls have returned. The first exception stops the other tasks as soon as they notice it,
/// and is rethrown here.
template <class Piece>
void in_pieces(const spread& how, std::int64_t n, range_end& end, Piece&& piece) {
  if (n <= 0) return;
  if (how.chunk <= 1) return in_free_pieces(how, n, end, piece);
  const auto some_chunks = [&piece, &end, n, size = how.chunk](std::int64_t c, std::int64_t c_end, std::int64_t run) {
    for (; c < c_end; ++c) {
      const std::int64_t begin = c * size, cut = end.get() < n ? end.get() : n;
      if (begin >= cut) return;
      const std::int64_t last = cut - begin < size ? cut : begin + size;
      if constexpr (std::is_invocable_v<Piece&, std::int64_t, std::int64_t, std::int64_t>)
        piece(begin, last, run * size);
      else
        piece(begin, last);
    }
  };
  range_end all(n);
  in_free_pieces(how, (n - 1) / how.chunk + 1, all, some_chunks);
}
template <class Piece>
void in_pieces(const spread& how, std::int64_t n, Piece&& piece) {
  range_end end(n);
  in_pieces(how, n, end, piece);
}

}  // namespace plx::detail
