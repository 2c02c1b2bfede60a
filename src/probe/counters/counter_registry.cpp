#include "probe/counters/counter_registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/counters/counter_registry_detail.hpp"
#include "probe/counters/gauge.hpp"

namespace plx::probe {

// ---------------------------------------------------------------------------------------------------------- one
// counter

namespace {

/// The counters whose functions run on this thread, innermost first.
struct reading_now {
  const detail::counter_entry* entry;
  const reading_now* outer;
};
thread_local const reading_now* innermost = nullptr;

bool runs_here(const detail::counter_entry& e) {
  for (const reading_now* r = innermost; r != nullptr; r = r->outer)
    if (r->entry == &e) return true;
  return false;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

detail::reading failed(std::string why) { return {not_a_number, std::move(why)}; }

}  // namespace

namespace detail {

namespace {

thread_local const char this_reader = 0;  // its address identifies the thread

/// Readers that hold an entry and wait for the mutex of another.
struct wait_list {
  std::mutex mutex;
  std::vector<std::pair<const void*, const counter_entry*>> waits;

  /// The entry that the reader waits for; null if none. Requires: `mutex` is held.
  [[nodiscard]] const counter_entry* of(const void* reader) const {
    for (const auto& [who, what] : waits)
      if (who == reader) return what;
    return nullptr;
  }
};
/// Never destroyed: counters may be read while the process exits.
wait_list& waiting() {
  static wait_list& all = *new wait_list;
  return all;
}

/// Locks e.mutex, unless its holder waits, possibly through other readers, for an entry that this thread is reading:
/// that would be a deadlock. Each thread sets the owner of the entry it reads before it waits under `waiting`, so that
/// the last thread of a cycle sees the whole cycle. An entry with waiting readers stays alive.
bool lock_unless_circular(counter_entry& e) {
  if (e.mutex.try_lock()) return true;
  if (innermost == nullptr) return e.mutex.lock(), true;  // this thread holds no entry that others wait for
  {
    wait_list& all = waiting();
    const std::lock_guard guard(all.mutex);
    for (const counter_entry* next = &e; next != nullptr;) {
      const void* const owner = next->owner.load(std::memory_order_acquire);
      if (owner == &this_reader) return false;
      next = all.of(owner);
    }
    all.waits.emplace_back(&this_reader, &e);
  }
  e.mutex.lock();
  wait_list& all = waiting();
  const std::lock_guard guard(all.mutex);
  std::erase_if(all.waits, [](const auto& w) { return w.first == &this_reader; });
  return true;
}

}  // namespace

result<void> counter_entry::make(std::string_view parameters) {
  const std::lock_guard lock(mutex);
  return pull == nullptr ? result<void>{} : pull->make(parameters);
}

reading counter_entry::read(after_reading then) {
  if (runs_here(*this) || !lock_unless_circular(*this)) return failed("its value depends on itself");
  struct unlock {
    counter_entry& e;
    ~unlock() {
      e.owner.store(nullptr, std::memory_order_release);
      e.mutex.unlock();
    }
  } const at_the_end{*this};
  owner.store(&this_reader, std::memory_order_release);  // pairs with the acquire in lock_unless_circular()
  return read_locked(then);
}

/// Requires: `mutex` is held by this thread.
reading counter_entry::read_locked(after_reading then) {
  if (pull == nullptr) return failed("it is no longer registered");
  const reading_now here{this, innermost};
  struct leave {
    ~leave() { innermost = innermost->outer; }
  };
  innermost = &here;
  const leave at_the_end;
  try {
    const double now = pull->pull();
    const double value = now - base;
    if (then == after_reading::reset) {
      if (about->monotonic) base = now;
      pull->reset();
    }
    return {value};
  } catch (const std::exception& x) {
    return failed(x.what());
  } catch (...) {
    return failed("its function threw an exception that is not a std::exception");
  }
}

void counter_entry::end() {
  PLX_ASSERT(!runs_here(*this) && "a counter's function must not end its own registration", about->name);
  std::unique_ptr<pull_base> last;
  const std::lock_guard lock(mutex);
  last = std::move(pull);
}

}  // namespace detail

double counter_handle::value() const {
  return entry_ == nullptr ? not_a_number : entry_->read(after_reading::keep).value;
}

result<double> counter_handle::read(after_reading then) const {
  PLX_ASSERT(entry_ != nullptr);
  detail::reading r = entry_->read(then);
  if (!r.problem.empty()) return error{fmt::format("cannot read '{}': {}", about().name, r.problem)};
  return r.value;
}

const counter_info& counter_handle::about() const noexcept {
  PLX_ASSERT(entry_ != nullptr);
  return *entry_->about;
}

// ----------------------------------------------------------------------------------------------------- registrations

registration::registration(std::shared_ptr<detail::registry_state> state, std::shared_ptr<detail::counter_entry> entry)
    : state_(std::move(state)), entry_(std::move(entry)) {}
registration::registration(registration&&) noexcept = default;
registration& registration::operator=(registration&& other) noexcept {
  if (this != &other) {
    remove();
    state_ = std::move(other.state_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}
registration::~registration() { remove(); }

void registration::remove() noexcept {
  if (!state_) return;
  try {
    state_->keep_last_value(*entry_);
  } catch (const std::exception&) {  // out of memory: no last value is kept
  }
  {
    const std::lock_guard lock(state_->mutex);
    // A family may have the same name as a counter.
    if (const auto it = state_->by_name.find(entry_->about->name); it != state_->by_name.end() && it->second == entry_)
      state_->by_name.erase(it);
    std::erase(state_->entries, entry_);
    std::erase(state_->families, entry_);
  }
  entry_->end();
}

void detail::registry_state::keep_last_value(counter_entry& e) {
  {
    const std::lock_guard lock(mutex);
    if (kept_patterns.empty() || last_values.size() >= 4096) return;
    if (std::none_of(kept_patterns.begin(), kept_patterns.end(), [&](const std::string& p) {
          const auto parsed = counter_name::parse(p);
          return parsed && (p == e.about->name || matches(*parsed, e.parts));
        }))
      return;
  }
  const reading r = e.read(after_reading::keep);
  if (!r.problem.empty()) return;
  const std::lock_guard lock(mutex);
  last_values.insert_or_assign(e.about->name, counter_value{e.about->name, r.value, e.about->unit, {}, e.about});
}

void counter_registry::keep_last_values(std::vector<std::string> patterns) {
  const std::lock_guard lock(state_->mutex);
  if (patterns.empty()) state_->last_values.clear();
  state_->kept_patterns = std::move(patterns);
}

std::vector<counter_value> counter_registry::last_values(std::string_view pattern) const {
  std::vector<counter_value> values;
  const auto parsed = counter_name::parse(pattern);
  if (!parsed) return values;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, value] : state_->last_values)
    if (!state_->by_name.contains(name) && (name == pattern || matches(*parsed, *counter_name::parse(name))))
      values.push_back(value);
  return values;
}

counter_registry::counter_registry(unsigned locality) : state_(std::make_shared<detail::registry_state>(locality)) {}
counter_registry::~counter_registry() {
  state_->sampler.end();
  const std::lock_guard lock(state_->mutex);
  state_->series.clear();
  state_->source.reset();
}

unsigned counter_registry::locality() const noexcept { return state_->locality; }
std::string counter_registry::locality_name() const { return fmt::format("locality#{}", state_->locality); }

registration counter_registry::add_pull(counter_info info, std::unique_ptr<detail::pull_base> pull) {
  PLX_ASSERT(counter_name::parse(info.name).has_value() && info.name.find('*') == std::string::npos, info.name);
  auto entry = std::make_shared<detail::counter_entry>(std::move(info), std::move(pull));
  const std::lock_guard lock(state_->mutex);
  const bool taken = state_->by_name.contains(entry->about->name);
  PLX_ASSERT(!taken, entry->about->name);
  state_->insert(entry);
  return {state_, std::move(entry)};
}

registration counter_registry::add_makers(counter_info info, std::unique_ptr<detail::pull_base> pull) {
  const auto name = counter_name::parse(info.name);
  PLX_ASSERT(name && name->parameters.empty() && info.name.find('*') == std::string::npos, info.name);
  auto entry = std::make_shared<detail::counter_entry>(std::move(info), std::move(pull));
  const std::lock_guard lock(state_->mutex);
  state_->families.push_back(entry);
  if (state_->added != nullptr) state_->added(state_->added_arg, *entry->about);
  return {state_, std::move(entry)};
}

// ------------------------------------------------------------------------------------------------------------- queries

namespace {

/// The localities of a pattern: this one, and others by number.
struct asked_localities {
  bool here = true;
  std::vector<unsigned> others = {};
  std::shared_ptr<counter_source> source = {};  // never null if there are others
};

result<asked_localities> localities_of(const detail::registry_state& state, std::string_view pattern) {
  const auto parsed = counter_name::parse(pattern);
  if (!parsed) return detail::malformed(pattern);
  const std::string_view locality = parsed->locality();
  const std::string own = std::to_string(state.locality);
  if (locality.empty() || locality == own) return asked_localities{};
  std::shared_ptr<counter_source> source;
  {
    const std::lock_guard lock(state.mutex);
    source = state.source;
  }
  const std::vector<unsigned> known = source ? source->localities() : std::vector<unsigned>{};
  asked_localities asked{.here = wildcard_match(locality, own), .source = source};
  for (const unsigned n : known)
    if (n != state.locality && wildcard_match(locality, std::to_string(n))) asked.others.push_back(n);
  if (asked.here || !asked.others.empty()) return asked;
  if (source == nullptr)
    return error{
        fmt::format("cannot read '{}': this process is locality#{} and is connected to no other", pattern, own)};
  return error{fmt::format("cannot read '{}': locality#{} does not exist, expected one of {}", pattern, locality,
                           fmt::join(known, ", "))};
}

counter_value value_of(detail::counter_entry& e, after_reading then) {
  detail::reading r = e.read(then);
  return {e.about->name, r.value, e.about->unit, std::move(r.problem), e.about};
}

/// Statistics of one counter share their samples: all are read before the first is reset.
std::vector<counter_value> values_of(const std::vector<detail::entry_ptr>& entries, after_reading then) {
  const auto shares = [](const detail::entry_ptr& e) { return e->parts.object == "statistics"; };
  std::vector<counter_value> values;
  for (const detail::entry_ptr& e : entries) values.push_back(value_of(*e, shares(e) ? after_reading::keep : then));
  if (then == after_reading::reset)
    for (const detail::entry_ptr& e : entries)
      if (shares(e)) (void)e->read(after_reading::reset);
  return values;
}

/// Calls `ask(source, n)` for each other locality, and returns the last error.
template <class Ask>
result<void> ask_others(const asked_localities& asked, Ask&& ask) {
  result<void> last;
  for (const unsigned n : asked.others)
    if (auto r = ask(*asked.source, n); !r) last = r.error();
  return last;
}

}  // namespace

result<std::vector<counter_value>> counter_registry::query(std::string_view pattern, after_reading then,
                                                           making derived) const {
  auto asked = localities_of(*state_, pattern);
  if (!asked) return asked.error();
  if (derived == making::never && detail::is_derived(*counter_name::parse(pattern)))
    asked = asked_localities{};  // other localities would create it
  std::vector<counter_value> values;
  result<void> failure;
  if (asked->here) {
    if (const auto found = derived == making::never ? state_->existing(pattern) : state_->resolve(pattern))
      values = values_of(*found, then);
    else
      failure = found.error();
  }
  auto others = ask_others(*asked, [&](counter_source& s, unsigned n) -> result<void> {
    auto answer = s.query(n, pattern, then);
    if (!answer) return answer.error();
    for (counter_value& v : *answer) values.push_back(std::move(v));
    return {};
  });
  if (!others) failure = others;
  if (values.empty()) return failure.error();
  const bool any = std::any_of(values.begin(), values.end(), [](const auto& v) { return v.problem.empty(); });
  if (!any) return error{fmt::format("cannot read '{}': {}", values[0].name, values[0].problem)};
  return values;
}

result<counter_handle> counter_registry::find(std::string_view name) const {
  const auto asked = localities_of(*state_, name);
  if (!asked) return asked.error();
  if (!asked->others.empty()) return error{fmt::format("'{}' is of another locality, which has no handle here", name)};
  const auto found = state_->resolve(name);
  if (!found) return found.error();
  if (found->size() > 1)
    return error{fmt::format("expected the name of one counter, found '{}', which matches {}: '{}', '{}', ...", name,
                             found->size(), found->at(0)->about->name, found->at(1)->about->name)};
  return counter_handle(found->front());
}

std::vector<counter_info> counter_registry::list(std::string_view pattern) const {
  std::vector<counter_info> infos;
  const auto asked = localities_of(*state_, pattern);
  if (!asked) return infos;
  if (asked->here)
    if (const auto found = state_->resolve(pattern))
      for (const detail::entry_ptr& e : *found) infos.push_back(*e->about);
  (void)ask_others(*asked, [&](counter_source& s, unsigned n) -> result<void> {
    auto answer = s.list(n, pattern);
    if (!answer) return answer.error();
    for (counter_info& i : *answer) infos.push_back(std::move(i));
    return {};
  });
  return infos;
}

result<void> counter_registry::reset(std::string_view pattern) {
  const auto asked = localities_of(*state_, pattern);
  if (!asked) return asked.error();
  if (asked->here) {
    const auto found = state_->resolve(pattern);
    if (!found && asked->others.empty()) return found.error();
    if (found)
      for (const detail::entry_ptr& e : *found) (void)e->read(after_reading::reset);
  }
  return ask_others(*asked, [&](counter_source& s, unsigned n) { return s.reset(n, pattern); });
}

result<void> counter_registry::append_csv(const std::string& path, double time_s, std::string_view pattern) const {
  auto values = query(pattern);
  if (!values) return values.error();
  return append_file(path, counters_csv_header, counters_as_csv(*values, time_s));
}

void counter_registry::set_source(std::shared_ptr<counter_source> source) {
  const std::lock_guard lock(state_->mutex);
  state_->source.swap(source);
}

void counter_registry::on_added(void (*added)(void*, const counter_info&), void* arg) {
  const std::lock_guard lock(state_->mutex);
  state_->added = added;
  state_->added_arg = arg;
}

void counter_registry::sample_with(periodic_thread* periodic) { state_->sampler.use(periodic); }

std::shared_ptr<void> counter_registry::sample_every(double period_s, std::unique_ptr<detail::pull_base> f) {
  const std::uint64_t id = state_->sampler.every(period_s, std::move(f));
  // The handle must not keep the state alive: sampling ends with the registry.
  return {nullptr, [weak = std::weak_ptr(state_), id](void*) {
            if (const auto state = weak.lock()) state->sampler.remove(id);
          }};
}

}  // namespace plx::probe
