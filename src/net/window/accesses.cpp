// The accesses of a region: loads and stores, direct accesses of the transport, messages.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

#include "net/action.hpp"
#include "net/buffer.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/window/region.hpp"

// --------------------------------------------------------------------------------------------- messages and actions

namespace plx::net {

namespace {

/// Puts and gets by messages transfer at most this much with one message, which the receiver copies in its poller, and
/// have at most `open_chunks` of them in flight.
constexpr std::size_t chunk_bytes = std::size_t{64} << 10;
constexpr std::size_t open_chunks = 16;

constexpr std::uint64_t no_signal = ~std::uint64_t{0};

/// The argument of a put. The receiver reads the data directly into the memory of the region.
struct put_parcel {
  std::uint64_t id = 0;  // of the region
  std::uint64_t offset = 0, size = 0;
  std::uint64_t signal = no_signal, add = 0;
  const std::byte* data = nullptr;  // of the sender, valid while the parcel is written
  buffer<std::byte> kept;           // the data, if they are sent later; at the receiver: data that are discarded
  std::shared_ptr<region> into{};   // at the receiver; null: there is no such region, or no such bytes
};

template <class T>
T apply_to(access_kind kind, void* at, T operand, T expected) noexcept {
  const std::atomic_ref<T> word(*static_cast<T*>(at));
  switch (kind) {
    case access_kind::fetch_add:
      return word.fetch_add(operand);
    case access_kind::exchange:
      return word.exchange(operand);
    default:
      word.compare_exchange_strong(expected, operand);
      return expected;
  }
}

std::uint64_t apply_word(access_kind kind, void* at, unsigned word_bytes, std::uint64_t operand,
                         std::uint64_t expected) noexcept {
  if (word_bytes == 8) return apply_to<std::uint64_t>(kind, at, operand, expected);
  return apply_to<std::uint32_t>(kind, at, static_cast<std::uint32_t>(operand), static_cast<std::uint32_t>(expected));
}

[[noreturn]] void no_such_part() {
  throw std::runtime_error("the window has ended on this locality, or has no such elements there");
}

void put_here(const put_parcel& p) {
  if (p.into == nullptr) no_such_part();
  if (p.signal != no_signal) p.into->raise(p.signal, p.add);
}

buffer<std::byte> read_here(std::uint64_t id, std::uint64_t offset, std::uint64_t size) {
  const auto r = find_region(id);
  if (r == nullptr || !r->has(offset, size) || size > chunk_bytes) no_such_part();
  buffer<std::byte> b(size);
  if (size != 0) std::memcpy(b.data(), r->memory() + offset, size);
  return b;
}

std::uint64_t apply_here(std::uint64_t id, std::uint64_t offset, std::uint8_t kind, std::uint8_t word_bytes,
                         std::uint64_t operand, std::uint64_t expected) {
  const auto r = find_region(id);
  const bool known = kind >= static_cast<std::uint8_t>(access_kind::fetch_add) &&
                     kind <= static_cast<std::uint8_t>(access_kind::compare_exchange) &&
                     (word_bytes == 4 || word_bytes == 8) && offset % word_bytes == 0;
  if (r == nullptr || !known || !r->has(offset, word_bytes)) no_such_part();
  return apply_word(static_cast<access_kind>(kind), r->memory() + offset, word_bytes, operand, expected);
}

}  // namespace

template <>
struct wire_codec<put_parcel> {
  static void write(wire_writer& w, const put_parcel& p) {
    for (const std::uint64_t number : {p.id, p.offset, p.size, p.signal, p.add}) net::write(w, number);
    w.contiguous(p.kept.empty() ? p.data : p.kept.data(), p.size);
  }
  static void read(wire_reader& r, put_parcel& p) {
    for (std::uint64_t* number : {&p.id, &p.offset, &p.size, &p.signal, &p.add}) net::read(r, *number);
    if (r.failed() || !r.has_contiguous(p.size)) return r.fail();
    auto into = find_region(p.id);
    if (into != nullptr && into->has(p.offset, p.size) && (p.signal == no_signal || into->has_signal(p.signal)))
      p.into = std::move(into);
    else
      p.kept = buffer<std::byte>(p.size);
    r.contiguous(p.into != nullptr ? p.into->memory() + p.offset : p.kept.data(), p.size);
  }
};

template <>
inline constexpr bool is_direct<&put_here> = true;
template <>
inline constexpr bool is_direct<&read_here> = true;
template <>
inline constexpr bool is_direct<&apply_here> = true;

namespace {

/// Requires: from.size() <= chunk_bytes.
future<void> send_put(locality_id to, put_parcel p, std::span<const std::byte> from) {
  p.size = from.size();
  p.data = from.data();
  if (from.size() >= least_piece_bytes) {
    p.kept = buffer<std::byte>(from.size());
    std::memcpy(p.kept.data(), from.data(), from.size());
  }
  return async<&put_here>(to, std::move(p));
}

/// A get is complete when its data have arrived in `b`.
void take_data(const buffer<std::byte>& b, std::span<std::byte> to) {
  if (b.size() != to.size()) throw std::runtime_error("another locality sent a wrong number of bytes");
  if (!to.empty()) std::memcpy(to.data(), b.data(), to.size());
}

/// The state of the future of a direct access.
template <class R>
class waiting_access final : public plx::detail::future_state<R>, public remote_access {
 public:
  waiting_access(node& n, std::shared_ptr<const void> owner)
      : plx::detail::future_state<R>(destroy, 2), node_(n), owner_(std::move(owner)) {
    done = [](remote_access* a, bool ok) noexcept { static_cast<waiting_access&>(*a).ended(ok); };
    lost = [](remote_access* a) noexcept {
      auto& self = static_cast<waiting_access&>(*a);
      self.informed_ = true;
      self.complete_with(self.node_.loss_of(self.destination));
    };
  }

 private:
  static void destroy(plx::detail::future_state_base* base) noexcept {
    auto& self = static_cast<waiting_access&>(*base);  // by reference: a null pointer need not stay null
    self.~waiting_access();
    plx::detail::pool_put(&self, sizeof self);
  }
  void ended(bool ok) noexcept {
    const auto owner = std::move(owner_);
    if (informed_) return this->release();
    if (ok) {
      if constexpr (std::is_void_v<R>)
        this->emplace();
      else
        this->emplace(this->result);
      this->complete();
    } else {
      this->complete_with(node_.is_lost(destination) ? node_.loss_of(destination)
                                                     : std::make_exception_ptr(locality_lost(
                                                           destination, "its memory could not be accessed")));
    }
    this->release();
  }

  node& node_;
  std::shared_ptr<const void> owner_;
  bool informed_ = false;  // the future has failed: the locality is lost
};

}  // namespace

// ------------------------------------------------------------------------------------------------------- the accesses

bool region::is_lost(const member& m) const noexcept { return node_ != nullptr && node_->is_lost(m.where); }
std::exception_ptr region::loss_of(const member& m) const { return node_->loss_of(m.where); }

template <class R>
future<R> region::tracked(future<R> f) {
  const std::uint64_t epoch = epochs_.begin();
  return f.then(launch::sync, [self = shared_from_this(), epoch](future<R> ended) {
    try {
      if constexpr (std::is_void_v<R>) {
        ended.get();
        self->epochs_.end(epoch, nullptr);
      } else {
        R result = ended.get();
        self->epochs_.end(epoch, nullptr);
        return result;
      }
    } catch (...) {
      self->epochs_.end(epoch, std::current_exception());
      throw;
    }
  });
}

future<void> region::put(unsigned rank, std::size_t offset, std::span<const std::byte> from,
                         std::shared_ptr<const void> owner) {
  const member& m = members_[rank];
  if (m.mapped == nullptr) return tracked(put_remotely(m, offset, from, std::move(owner)));
  if (is_lost(m)) [[unlikely]]
    return tracked(make_exceptional_future<void>(loss_of(m)));
  if (!from.empty()) std::memcpy(m.mapped + offset, from.data(), from.size());
  // release: pairs with the acquire of whatever informs a reader of this put, be it in this process or by a message.
  std::atomic_thread_fence(std::memory_order_release);
  return make_ready_future();
}

future<void> region::put_remotely(const member& m, std::size_t offset, std::span<const std::byte> from,
                                  std::shared_ptr<const void> owner) {
  if (is_lost(m)) return make_exceptional_future<void>(loss_of(m));
  if (transport_ == nullptr) return put_by_messages(m, offset, from, std::move(owner));
  if (from.empty()) return make_ready_future();
  auto* a = plx::detail::make_state<waiting_access<void>>(*node_, std::move(owner));
  auto f = plx::detail::adopt_state<void>(a);
  a->kind = access_kind::put;
  a->key = m.key;
  a->offset = offset;
  a->data = const_cast<std::byte*>(from.data());
  a->size_bytes = from.size();
  transport_->start(m.where, *a);
  return f;
}

future<void> region::get(unsigned rank, std::size_t offset, std::span<std::byte> to,
                         std::shared_ptr<const void> owner) {
  const member& m = members_[rank];
  if (is_lost(m)) [[unlikely]]
    return tracked(make_exceptional_future<void>(loss_of(m)));
  if (m.mapped != nullptr) {
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!to.empty()) std::memcpy(to.data(), m.mapped + offset, to.size());
    return make_ready_future();
  }
  if (transport_ == nullptr) return tracked(get_by_messages(m, offset, to, std::move(owner)));
  if (to.empty()) return make_ready_future();
  auto* a = plx::detail::make_state<waiting_access<void>>(*node_, std::move(owner));
  auto f = plx::detail::adopt_state<void>(a);
  a->kind = access_kind::get;
  a->key = m.key;
  a->offset = offset;
  a->data = to.data();
  a->size_bytes = to.size();
  transport_->start(m.where, *a);
  return tracked(std::move(f));
}

future<std::uint64_t> region::apply(access_kind kind, unsigned rank, std::size_t offset, unsigned word_bytes,
                                    std::uint64_t operand, std::uint64_t expected) {
  const member& m = members_[rank];
  if (is_lost(m)) [[unlikely]]
    return tracked(make_exceptional_future<std::uint64_t>(loss_of(m)));
  if (m.mapped != nullptr && (maps_all_ || transport_ == nullptr))
    return make_ready_future(apply_word(kind, m.mapped + offset, word_bytes, operand, expected));
  if (transport_ == nullptr)
    return tracked(async<&apply_here>(m.where, m.id, std::uint64_t{offset}, static_cast<std::uint8_t>(kind),
                                      static_cast<std::uint8_t>(word_bytes), operand, expected));
  auto* a = plx::detail::make_state<waiting_access<std::uint64_t>>(*node_, nullptr);
  auto f = plx::detail::adopt_state<std::uint64_t>(a);
  a->kind = kind;
  a->word_bytes = static_cast<std::uint8_t>(word_bytes);
  a->key = m.key;
  a->offset = offset;
  a->operand = operand;
  a->expected = expected;
  transport_->start(m.where, *a);
  return tracked(std::move(f));
}

// Data of up to this size share the message of the signal.
constexpr std::size_t with_signal_bytes = least_piece_bytes - 1;

future<void> region::put_signal(unsigned rank, std::size_t offset, std::span<const std::byte> from,
                                std::shared_ptr<const void> owner, unsigned signal, std::uint64_t add) {
  const member& m = members_[rank];
  if (rank == rank_) {
    auto f = put(rank, offset, from, std::move(owner));
    raise(signal, add);
    return f;
  }
  if (is_lost(m)) return tracked(make_exceptional_future<void>(loss_of(m)));
  if (m.mapped == nullptr && from.size() <= (transport_ == nullptr ? chunk_bytes : with_signal_bytes)) {
    put_parcel p;
    p.id = m.id, p.offset = offset, p.signal = signal, p.add = add;
    return tracked(send_put(m.where, std::move(p), from));
  }
  auto f = m.mapped != nullptr ? put(rank, offset, from, nullptr) : put_remotely(m, offset, from, std::move(owner));
  return tracked(f.then(launch::sync, [self = shared_from_this(), &m, signal, add](future<void> data) {
                    data.get();
                    return self->raise_remotely(m, signal, add);
                  }).unwrap());
}

future<void> region::raise_remotely(const member& m, unsigned signal, std::uint64_t add) {
  put_parcel p;
  p.id = m.id, p.signal = signal, p.add = add;
  return send_put(m.where, std::move(p), {});
}

future<void> region::put_by_messages(const member& m, std::size_t offset, std::span<const std::byte> from,
                                     std::shared_ptr<const void> owner) {
  const auto put_one = [](const member& to, std::size_t at, std::span<const std::byte> chunk) {
    put_parcel p;
    p.id = to.id, p.offset = at;
    return send_put(to.where, std::move(p), chunk);
  };
  if (from.size() <= chunk_bytes) return put_one(m, offset, from);
  return async([self = shared_from_this(), &m, offset, from, owner = std::move(owner), put_one] {
    std::deque<future<void>> open;
    for (std::size_t at = 0; at < from.size(); at += chunk_bytes) {
      if (open.size() == open_chunks) {
        open.front().get();
        open.pop_front();
      }
      open.push_back(put_one(m, offset + at, from.subspan(at, std::min(chunk_bytes, from.size() - at))));
    }
    for (auto& f : open) f.get();
  });
}

future<void> region::get_by_messages(const member& m, std::size_t offset, std::span<std::byte> to,
                                     std::shared_ptr<const void> owner) {
  if (to.size() <= chunk_bytes)
    return async<&read_here>(m.where, m.id, std::uint64_t{offset}, std::uint64_t{to.size()})
        .then(launch::sync,
              [to, owner = std::move(owner)](future<buffer<std::byte>> data) { take_data(data.get(), to); });
  return async([self = shared_from_this(), &m, offset, to, owner = std::move(owner)] {
    struct chunk {
      future<buffer<std::byte>> data;
      std::span<std::byte> to;
    };
    std::deque<chunk> open;
    const auto take_first = [&open] {
      take_data(open.front().data.get(), open.front().to);
      open.pop_front();
    };
    for (std::size_t at = 0; at < to.size(); at += chunk_bytes) {
      if (open.size() == open_chunks) take_first();
      const std::size_t n = std::min(chunk_bytes, to.size() - at);
      open.push_back(
          {async<&read_here>(m.where, m.id, std::uint64_t{offset + at}, std::uint64_t{n}), to.subspan(at, n)});
    }
    while (!open.empty()) take_first();
  });
}

}  // namespace plx::net
