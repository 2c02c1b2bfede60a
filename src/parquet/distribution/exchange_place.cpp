#include "parquet/distribution/exchange_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "net/action.hpp"
#include "net/archive.hpp"
#include "parquet/distribution/rotation_exchange.hpp"
#include "rt/thread.hpp"

namespace plx::parquet {

void exchange_place::leave(std::uint32_t number, bool incomplete) {
  if (incomplete) {
    const std::lock_guard guard(lock_);
    incomplete_.push_back(number);  // before current_: an action that finds no exchange finds its number
  }
  current_.store(nullptr, std::memory_order_seq_cst);
  while (users_.load(std::memory_order_seq_cst) != 0) this_thread::yield();
}

bool exchange_place::ended_incomplete(std::uint32_t number) {
  const std::lock_guard guard(lock_);
  return std::find(incomplete_.begin(), incomplete_.end(), number) != incomplete_.end();
}

void exchange_place::peer_lost(locality_id which) {
  const access here(*this);
  if (here.get() != nullptr) here.get()->peer_lost(which);
}

namespace {

// Calls f with the exchange of that number, unless it has ended incomplete.
template <class F>
void with_exchange(std::uint32_t number, F f) {
  auto& place = net::node_here().get<exchange_place>();
  const exchange_place::access here(place);
  if (here.get() != nullptr && here.get()->number() == number) return f(*here.get());
  if (place.ended_incomplete(number)) return;
  throw std::runtime_error(fmt::format(
      "a row of a vertex for the exchange {}, {}", number,
      number > place.last_number() ? "which has not begun on this locality" : "which has received all of its rows"));
}

}  // namespace

void parquet_store_block(const rotation_block& block, const buffer<std::complex<double>>& values) {
  with_exchange(block.exchange, [&](rotation_exchange& e) { e.receive(block, values); });
}
void parquet_rows_stored(std::uint32_t exchange, std::uint64_t numbers) {
  const exchange_place::access here(net::node_here().get<exchange_place>());
  if (here.get() != nullptr && here.get()->number() == exchange) here.get()->rows_stored(numbers);
}
void parquet_store_row(std::uint32_t exchange, std::uint64_t number, const parquet_row& row) {
  rotation_exchange::stored_report report;
  with_exchange(exchange, [&](rotation_exchange& e) { report = e.receive(number, row); });
  if (report.numbers > 0) post<&parquet_rows_stored>(report.to, exchange, report.numbers);
}

}  // namespace plx::parquet
