// How all parallel algorithms and loops divide their work: into a part for each worker at once, and those again when
// somebody is there to take the other half.
//
// A worker goes through its range in pieces. Before each piece it looks at its own deque: empty means that thieves have
// taken all it offered, so it offers half of what is left. A piece grows until it takes about two microseconds, so the
// look costs nothing and nobody has to choose a chunk size. A range that nobody helps with is split log2(n) times.
//
// Thread safety: in_pieces() by any task or foreign thread; the piece is called by several workers at once. Cost: one
// closure per split, one look and one clock read per piece. Example: for_loop_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

#include "rt/task_group.hpp"

namespace plx::detail {

/// True when thieves have taken all that the calling worker offered. Requires: on_a_worker().
bool own_deque_is_empty() noexcept;
bool on_a_worker() noexcept;

/// Between two pieces: urgent tasks, timers and pollers go first. True when something did.
bool events_first(ticks now);

/// Into how many halves of halves a loop is cut for all workers to have a part: log2 of their number, rounded up.
unsigned shares() noexcept;

/// What is known about a loop from the last time it ran: how many indices take about two microseconds; 0: nothing.
struct loop_site {
  const std::type_info& code;
  std::atomic<std::int64_t> grain{0};
};

/// One run of a loop: how long a piece of it shall take, about two microseconds unless it is tuned (loop_tuning.hpp).
struct loop_run {
  ticks piece = 0;
  std::int64_t n = 0;
  void* place = nullptr;  // who is told how long the run took; null: nobody
  ticks began = 0;

  /// It came to its end.
  void done() noexcept {
    if (place != nullptr) [[unlikely]]
      tell(true);
  }
  ~loop_run() {
    if (place != nullptr) [[unlikely]]
      tell(false);
  }

 private:
  void tell(bool complete) noexcept;
};

/// Grows the number of indices between two looks at the deque until they take as long as a piece shall.
class loop_grain {
 public:
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// True when half of `n` indices takes less than a piece, as far as is known: too little to give away.
  [[nodiscard]] bool too_small(std::int64_t n) const noexcept { return n <= size_ || n < 2 * known_; }
  /// The first piece begins: of a loop over n indices, or (without) of a part of one.
  void begin(const loop_site& site, std::int64_t n, loop_run& run) noexcept;
  void begin() noexcept;
  /// The size of a first piece that shows whether this is the loop that is known from the last time: it should take a
  /// 64th of a piece or less. 0: nothing is known.
  [[nodiscard]] std::int64_t trial() const noexcept { return known_ > 1 ? (size_ + 63) / 64 : 0; }
  /// The trial of `done` indices ended. When it took half a piece, another loop runs at the same place.
  void judge(std::int64_t done, ticks piece) noexcept;
  /// `done` indices ended now, and the next begin; a piece shall take so long.
  void next(std::int64_t done, ticks piece) noexcept;
  /// When the last piece ended.
  [[nodiscard]] ticks now() const noexcept { return begin_; }
  /// The time since then was not the loop's.
  void resume() noexcept { begin_ = now_ticks(); }
  void remember(loop_site& site) const noexcept;

 private:
  std::int64_t size_ = 1;
  std::int64_t known_ = 0;  // what takes as long as a piece, from the last time; 0: nothing is known
  std::int64_t done_ = 0;
  ticks took_ = 0;  // for these
  ticks begin_ = 0;
};

/// What an algorithm is told by its policy.
struct spread {
  task_info info{};        // of the tasks that take a half
  std::int64_t chunk = 0;  // indices are handed out in multiples of it; 0: as the clock says
  bool parallel = true;
};

/// Where the range ends by now: a search that has found something needs no index behind it. Only falls.
class range_end {
 public:
  explicit range_end(std::int64_t n) noexcept : at_(n) {}
  [[nodiscard]] std::int64_t get() const noexcept { return at_.load(std::memory_order_relaxed); }
  /// relaxed: the index carries no other data; who wants what lies behind it joins the tasks first.
  void lower_to(std::int64_t i) noexcept {
    std::int64_t now = get();
    while (i < now && !at_.compare_exchange_weak(now, i, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::int64_t> at_;
};

/// Pieces are called as piece(begin, end) or piece(begin, end, run): the caller did [run, end) so far without a gap,
/// all in one task.
template <class Piece>
class partition {
 public:
  partition(task_info info, range_end& end, Piece& piece) noexcept : info_(info), end_(end), piece_(piece) {}

  /// The whole range: cut at once into parts for all workers, as far as they are worth it.
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
    // Cut as if nothing had been done, so that the parts are the same as the last time.
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
      end_.lower_to(-1);  // the others need not go on
      throw;
    }
  }

 private:
  /// Offers the second half; gives the end of the first.
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

  /// Requires: the caller did [run, begin).
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

  // Tasks with a place of their own are not in the deque: they are counted. Halves pinned to one worker help nobody.
  [[nodiscard]] bool offers_are_taken() const noexcept {
    if (info_.where.ordinary()) return own_deque_is_empty();
    return may_offer() && n_offered_.load(std::memory_order_relaxed) == 0;
  }

  const task_info info_;
  range_end& end_;
  Piece& piece_;
  std::atomic<int> n_offered_{0};
  loop_run run_;
  inline static loop_site site_{typeid(Piece)};  // of this very piece of code
};

/// in_pieces() without regard to how.chunk.
template <class Piece>
void in_free_pieces(const spread& how, std::int64_t n, range_end& end, Piece& piece) {
  partition<Piece> whole(how.info, end, piece);
  if (!how.parallel)
    whole.call(0, n, 0);
  else if (on_a_worker())
    whole.start(n);
  else  // a foreign thread has no deque to share: a task does it
    async(how.info, [&whole, n] { whole.start(n); }).get();
}

/// Calls `piece` for parts of [0, n), each index below `end` once, in no particular order; within one task in ascending
/// order. Returns when all have ended. The first exception stops the others as soon as they notice and is thrown here.
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
