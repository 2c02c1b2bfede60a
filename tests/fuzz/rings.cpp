#include "rings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "net/transport/near_rings.hpp"
#include "net/transport/shm_segment.hpp"
#include "script.hpp"

namespace fuzz {

using namespace plx;
using net::detail::most_shm_bytes;
using net::detail::near_rings;
using net::detail::shm_line;
using net::detail::shm_ring;
using net::detail::shm_segment;

namespace {

// Locality 0 is under test; the others are its neighbours.
constexpr unsigned localities = 3;
// Messages of one neighbour that a call takes; calls for the last messages make at most that many rounds.
constexpr unsigned most_at_once = 16, most_rounds = 1000;

/// The types of steps: the first byte of each, modulo 14.
enum step : std::uint8_t {
  message,    ///< neighbour, size (u16), value of all bytes: as a correct writer puts it, at the reader's position
  stamped,    ///< neighbour, size (u16): a stamp of any size for the next message
  memory,     ///< a place (u16) in the memory of locality 0, a stamp (u64), contents: a line of arbitrary bytes
  others,     ///< neighbour, a place (u16) in its memory, a number (u64): what it has read, or whether it sleeps
  receive,    ///< odd: of all
  send,       ///< neighbour, size (u16)
  sleep,      ///< odd: awake
  last,       ///< neighbour: it is lost
  meanwhile,  ///< how many messages neighbours write while others are received; 255: one for each, indefinitely
  reads,      ///< neighbour: it reads all that was sent to it
  raw,        ///< neighbour, size (u16), value of all bytes: a raw message, as a correct writer puts it
  send_raw,   ///< neighbour, size (u16)
  await,      ///< neighbour, size and value of the bytes that begin the message: receives raw messages until it comes
  of_one      ///< neighbour: receives what it has written
};

class play final : public net::receiver {
 public:
  play(const std::uint8_t* data, std::size_t size) : script_(data, size) {
    for (auto& m : memory_) m = std::make_unique<shm_line[]>(lines);  // exactly that many: accesses beyond are detected
    std::vector<near_rings::owner> owners;
    for (unsigned i = 1; i < localities; ++i) owners.push_back({i, i, true, segment(i)});
    rings_.open(segment(0), 0, localities, std::move(owners));
    for (unsigned i = 1; i < localities; ++i) in_[i] = segment(0).ring_of(i);
    for (unsigned i = 1; i < localities; ++i) readers_[i] = net::detail::shm_reader(segment(i).ring_of(0));
  }
  rings_outcome steps() {
    while (script_.any()) take_step();
    rings_.close();
    arriving_ = most_at_once * localities;
    receive_some(true);
    PLX_ASSERT(arriving_ == most_at_once * localities && "messages are received after the end");
    return seen_;
  }

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    PLX_ASSERT(!awaits_ && "a head is delivered by a call that receives raw messages only");
    take(from, head, false);
  }
  void raw_arrived(locality_id from, std::span<const std::byte> message) noexcept override {
    take(from, message, true);
  }
  void* announced(locality_id, std::span<const std::byte>, std::span<net::place>) noexcept override { return nullptr; }
  void pieces_arrived(locality_id, void*, bool) noexcept override {}
  void pieces_lost(locality_id, void*) noexcept override {}
  void lost(locality_id, std::string_view) noexcept override {}

 private:
  static inline const std::size_t lines = shm_segment::bytes_for(localities) / sizeof(shm_line);

  shm_segment segment(unsigned i) {
    return shm_segment::at(reinterpret_cast<std::byte*>(memory_[i].get()), localities);
  }
  void take(locality_id from, std::span<const std::byte> contents, bool is_raw) noexcept {
    PLX_ASSERT(from > 0 && from < localities, from);
    PLX_ASSERT(!ended_[from] && "a message of a neighbour that has ended");
    PLX_ASSERT(!contents.empty() && contents.size() <= most_shm_bytes, contents.size());
    PLX_ASSERT(arriving_ != 0 && "a call does not end while neighbours write");
    const std::uint64_t stamp = in_[from].line(at_[from]).stamp.load();
    PLX_ASSERT(stamp == shm_ring::stamp(at_[from], contents.size() | (is_raw ? shm_ring::raw_bit : 0)), is_raw);
    --arriving_;
    for (const std::byte b : contents) sum_ += std::to_integer<unsigned>(b);
    ++seen_.received;
    seen_.raw += is_raw ? 1 : 0;
    at_[from] += shm_ring::lines_of(contents.size());
    if (meanwhile_ == 0) return;
    if (meanwhile_ != 255) --meanwhile_;
    const std::size_t kind = (sum_ >> 3) % 2 != 0 ? shm_ring::raw_bit : 0;
    in_[from].line(at_[from]).stamp.store(shm_ring::stamp(at_[from], (1 + sum_ % most_shm_bytes) | kind));
  }
  locality_id neighbour() { return 1 + script_.byte() % (localities - 1); }
  std::size_t size() { return 1 + script_.number<std::uint16_t>() % most_shm_bytes; }

  void take_step() {
    const std::uint8_t choice = script_.byte();
    switch (choice % 14) {
      case message: {
        const locality_id n = neighbour();
        return write_message(n, size(), 0);
      }
      case raw: {
        const locality_id n = neighbour();
        return write_message(n, size(), shm_ring::raw_bit);
      }
      case stamped: {
        const locality_id n = neighbour();
        return in_[n].line(at_[n]).stamp.store(shm_ring::stamp(at_[n], script_.number<std::uint16_t>()));
      }
      case memory: {
        shm_line& l = memory_[0][script_.number<std::uint16_t>() % lines];
        l.stamp.store(script_.number<std::uint64_t>());
        script_.bytes(l.bytes.data(), choice % (shm_line::room + 1));
        return;
      }
      case others: {
        const locality_id n = neighbour();
        return memory_[n][script_.number<std::uint16_t>() % lines].stamp.store(script_.number<std::uint64_t>());
      }
      case receive:
        arriving_ = most_at_once * (localities - 1);
        return receive_some(script_.byte() % 2 != 0);
      case send: {
        const locality_id n = neighbour();
        return send_one(n, size(), false);
      }
      case send_raw: {
        const locality_id n = neighbour();
        return send_one(n, size(), true);
      }
      case await:
        return await_one(neighbour());
      case of_one: {
        const locality_id n = neighbour();
        arriving_ = static_cast<unsigned>(in_[n].lines.size());
        return rings_.receive_of(*this, n);
      }
      case sleep:
        if (script_.byte() % 2 != 0) return rings_.awake();
        return static_cast<void>(rings_.sleep());
      case last: {
        const locality_id n = neighbour();
        arriving_ = most_at_once * most_rounds;
        rings_.receive_last(*this, n);
        ended_[n] = lost_[n] = true;
        return;
      }
      case meanwhile:
        meanwhile_ = script_.byte();
        return;
      default:
        return read_all(neighbour());
    }
  }
  void write_message(locality_id from, std::size_t size, std::size_t kind) {
    std::array<std::byte, most_shm_bytes> bytes;
    bytes.fill(static_cast<std::byte>(script_.byte()));
    for (std::size_t i = 0; i < shm_ring::lines_of(size); ++i)
      std::memcpy(in_[from].line(at_[from] + i).bytes.data(), bytes.data() + i * shm_line::room,
                  std::min(shm_line::room, size - i * shm_line::room));
    in_[from].line(at_[from]).stamp.store(shm_ring::stamp(at_[from], size | kind));
  }
  void receive_some(bool of_all) {
    locality_id invalid = no_locality;
    if (of_all)
      rings_.receive_of_all(*this, invalid);
    else
      rings_.receive(*this, invalid);
    if (invalid == no_locality) return;
    PLX_ASSERT(invalid > 0 && invalid < localities && !ended_[invalid], invalid);
    ended_[invalid] = true;
    ++seen_.invalid;
  }
  void await_one(locality_id from) {
    std::array<std::byte, 8> begin;
    const std::size_t size = script_.byte() % (begin.size() + 1);
    begin.fill(static_cast<std::byte>(script_.byte()));
    net::raw_message into;
    arriving_ = most_at_once;
    awaits_ = true;
    const std::size_t n = rings_.receive_awaited(*this, from, std::span<const std::byte>(begin).first(size), into);
    if (n != 0) {
      PLX_ASSERT(n >= size &&
                 std::equal(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(size), into.begin()));
      take(from, std::span<const std::byte>(into).first(n), true);
      ++seen_.awaited;
    }
    awaits_ = false;
  }
  void send_one(locality_id to, std::size_t size, bool is_raw) {
    std::array<std::byte, most_shm_bytes> bytes{};
    const std::span<const std::byte> all = std::span(bytes).first(size);
    const std::size_t first = std::min(size, shm_line::room);
    const auto how = is_raw ? rings_.send_raw(to, all.first(first), all.subspan(first)) : rings_.send(to, all);
    PLX_ASSERT(!lost_[to] || how == near_rings::sending::left);
    seen_.sent += how == near_rings::sending::left ? 0 : 1;
    seen_.wake_ups = static_cast<unsigned>(rings_.counted().wakeups);
  }
  void read_all(locality_id n) {
    std::array<std::byte, most_shm_bytes> into;
    std::size_t bytes = 0;
    using found = net::detail::shm_reader::found;
    for (std::size_t i = 0; i < readers_[n].most(); ++i)
      if (const found f = readers_[n].next(into, bytes); f == found::nothing || f == found::invalid) return;
  }

  script script_;
  std::array<std::unique_ptr<shm_line[]>, localities> memory_;
  near_rings rings_;
  std::array<shm_ring, localities> in_;                      // written by the neighbours
  std::array<net::detail::shm_reader, localities> readers_;  // of the neighbours
  std::array<std::uint64_t, localities> at_{};               // the next line that locality 0 reads
  std::array<bool, localities> ended_{}, lost_{};
  unsigned arriving_ = 0;  // messages that may still arrive in this call
  unsigned meanwhile_ = 0, sum_ = 0;
  bool awaits_ = false;  // a call that receives raw messages only
  rings_outcome seen_;
};

}  // namespace

rings_outcome play_rings(const std::uint8_t* data, std::size_t size) { return play(data, size).steps(); }

// -------------------------------------------------------------------------------------------------------------- seeds

void write_rings_seeds(const char* folder) {
  const auto save = [folder](const char* name, std::initializer_list<unsigned> bytes) {
    std::ofstream out(std::string(folder) + "/" + name, std::ios::binary);
    for (const unsigned b : bytes) out.put(static_cast<char>(b));
  };
  save("messages", {message, 0, 7, 0, 5, receive, 1, message, 1, 0, 1, 6, receive, 0});
  save("long_message", {message, 0, 0xbf, 1, 7, receive, 0});
  save("no_bytes", {stamped, 0, 0, 0, receive, 0, message, 1, 7, 0, 5, receive, 0});
  save("too_many_bytes", {stamped, 1, 0xff, 0xff, receive, 1});
  save("sent", {send, 0, 7, 0, send, 1, 0xbf, 1, reads, 0, send, 0, 7, 0});
  save("asleep", {others, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, send, 0, 7, 0, send, 0, 7, 0});
  save("asleep_raw", {others, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, send_raw, 0, 7, 0, send_raw, 0, 7, 0});
  save("taken", {others, 1, 2, 0, 255, 255, 255, 255, 255, 255, 255, 255, send, 1, 7, 0});
  save("sleeps", {sleep, 0, message, 0, 7, 0, 5, receive, 0, sleep, 1, sleep, 0});
  save("lost", {message, 0, 7, 0, 5, last, 0, send, 0, 7, 0, message, 0, 7, 0, 5, receive, 1});
  save("for_ever", {meanwhile, 255, message, 0, 7, 0, 5, receive, 0, receive, 1});
  save("raw", {raw, 0, 7, 0, 5, receive, 0, send_raw, 0, 7, 0, send_raw, 1, 0xbf, 1, reads, 1});
  save("awaited",
       {raw, 0, 7, 0, 5, await, 0, 8, 6, raw, 0, 7, 0, 6, await, 0, 8, 6, message, 0, 7, 0, 6, await, 0, 8, 6});
  save("of_one",
       {raw, 1, 7, 0, 5, of_one, 1, message, 1, 7, 0, 5, of_one, 1, meanwhile, 255, raw, 1, 7, 0, 5, of_one, 1});
  save("two_invalid", {stamped, 0, 0,       0x80, await, 0,    0,      0, raw,     1, 7,       0, 5,
                       of_one,  1, stamped, 1,    0,     0x80, of_one, 1, receive, 1, receive, 1});
  save("lost_for_ever", {meanwhile, 255, message, 0, 7, 0, 5, last, 0});
}

}  // namespace fuzz
