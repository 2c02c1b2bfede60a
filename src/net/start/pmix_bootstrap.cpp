#include "net/start/bootstrap.hpp"

#include <fmt/core.h>
#include <pmix.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::net::detail {

namespace {

// PMIx is looked up when a launcher offers it, never linked: programs that run alone do not need it.
struct pmix_library {
  decltype(&::PMIx_Init) Init = nullptr;
  decltype(&::PMIx_Put) Put = nullptr;
  decltype(&::PMIx_Commit) Commit = nullptr;
  decltype(&::PMIx_Fence_nb) Fence_nb = nullptr;
  decltype(&::PMIx_Get) Get = nullptr;
  decltype(&::PMIx_Get_nb) Get_nb = nullptr;
  decltype(&::PMIx_Finalize) Finalize = nullptr;
  decltype(&::PMIx_Error_string) Error_string = nullptr;
};

result<const pmix_library*> load_pmix() {
  static auto file = probe::shared_library::open({"libpmix.so.2", PLX_PMIX_LIBDIR "/libpmix.so.2"});
  if (!file)
    return error{"cannot load PMIx, which the launcher expects: " + file.error().message +
                 "; install libpmix2 or set PLX_TRANSPORT=mpi"};
  static pmix_library library;
  const bool whole = file->find("PMIx_Init", library.Init) && file->find("PMIx_Put", library.Put) &&
                     file->find("PMIx_Commit", library.Commit) && file->find("PMIx_Fence_nb", library.Fence_nb) &&
                     file->find("PMIx_Get", library.Get) && file->find("PMIx_Get_nb", library.Get_nb) &&
                     file->find("PMIx_Finalize", library.Finalize) &&
                     file->find("PMIx_Error_string", library.Error_string);
  if (!whole) return error{"this PMIx lacks a function; expected version 3 or newer"};
  return &library;
}

// An operation that completes once, on another thread; a waiting thread may give up before.
struct ending {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  pmix_status_t status = PMIX_SUCCESS;
  std::string bytes;  // the result, if it has one; written before the end

  void end(pmix_status_t s) {
    std::lock_guard guard(mutex);
    ended = true;
    status = s;
    changed.notify_all();
  }
  bool wait(double deadline_s) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::duration<double>(deadline_s), [this] { return ended; });
  }
};

void fence_ended(pmix_status_t status, void* arg) {
  const std::unique_ptr<std::shared_ptr<ending>> e(static_cast<std::shared_ptr<ending>*>(arg));
  (*e)->end(status);
}

void value_arrived(pmix_status_t status, pmix_value_t* value, void* arg) {
  const std::unique_ptr<std::shared_ptr<ending>> e(static_cast<std::shared_ptr<ending>*>(arg));
  if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT)
    (*e)->bytes.assign(value->data.bo.bytes, value->data.bo.size);
  else if (status == PMIX_SUCCESS)
    status = PMIX_ERR_TYPE_MISMATCH;
  (*e)->end(status);
}

void set_flag(pmix_info_t& info, const char* key) {
  std::memset(&info, 0, sizeof info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
}

class pmix_bootstrap final : public bootstrap {
 public:
  pmix_bootstrap(const pmix_library& library, const pmix_proc_t& me, unsigned size)
      : pmix_(library), me_(me), size_(size) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "pmix"; }
  [[nodiscard]] locality_id here() const noexcept override { return me_.rank; }
  [[nodiscard]] unsigned size() const noexcept override { return size_; }
  void leave(double deadline_s) noexcept override;

 private:
  result<std::vector<std::string>> exchange_bytes(std::string_view mine, double deadline_s) override;
  result<void> fence(double deadline_s);
  result<std::string> get(pmix_rank_t rank, const std::string& key, double until, double deadline_s);
  [[nodiscard]] error failed(std::string_view what, pmix_status_t status) const {
    return error{fmt::format("{} failed: {}; is the launcher still running?", what, pmix_.Error_string(status))};
  }

  const pmix_library& pmix_;
  const pmix_proc_t me_;
  const unsigned size_;
  unsigned turn_ = 0;
  bool left_ = false;
};

result<std::vector<std::string>> pmix_bootstrap::exchange_bytes(std::string_view mine, double deadline_s) {
  const std::string key = "plx." + std::to_string(turn_++);
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(mine.data());
  value.data.bo.size = mine.size();
  if (const auto s = pmix_.Put(PMIX_GLOBAL, key.c_str(), &value); s != PMIX_SUCCESS) return failed("PMIx_Put", s);
  if (const auto s = pmix_.Commit(); s != PMIX_SUCCESS) return failed("PMIx_Commit", s);
  const double until = monotonic_seconds() + deadline_s;
  if (auto r = fence(deadline_s); !r) return r.error();
  std::vector<std::string> all;
  for (unsigned i = 0; i < size_; ++i) {
    auto one = i == me_.rank ? result<std::string>(std::string(mine)) : get(i, key, until, deadline_s);
    if (!one) return one.error();
    all.push_back(std::move(one).value());
  }
  return all;
}

result<void> pmix_bootstrap::fence(double deadline_s) {
  pmix_info_t collect;
  set_flag(collect, PMIX_COLLECT_DATA);
  const auto e = std::make_shared<ending>();
  auto arg = std::make_unique<std::shared_ptr<ending>>(e);
  const auto s = pmix_.Fence_nb(nullptr, 0, &collect, 1, fence_ended, arg.get());
  if (s != PMIX_SUCCESS && s != PMIX_OPERATION_SUCCEEDED) return failed("PMIx_Fence", s);
  if (s == PMIX_OPERATION_SUCCEEDED) return {};  // fence_ended() is not called
  (void)arg.release();                           // fence_ended() frees it
  if (!e->wait(deadline_s))
    return error{
        fmt::format("expected all {} localities at the start within {:g} s, but at least one is missing; check "
                    "that their processes run",
                    size_, deadline_s)};
  if (e->status != PMIX_SUCCESS)
    return error{fmt::format("expected all {} localities at the start, but at least one has ended (PMIx: {})", size_,
                             pmix_.Error_string(e->status))};
  return {};
}

// A locality that has ended between the fence and this call may leave no value: PMIx_Get would wait for it for ever.
result<std::string> pmix_bootstrap::get(pmix_rank_t rank, const std::string& key, double until, double deadline_s) {
  pmix_proc_t whom = me_;
  whom.rank = rank;
  const auto e = std::make_shared<ending>();
  auto arg = std::make_unique<std::shared_ptr<ending>>(e);
  if (const auto s = pmix_.Get_nb(&whom, key.c_str(), nullptr, 0, value_arrived, arg.get()); s != PMIX_SUCCESS)
    return failed(fmt::format("PMIx_Get of the value of locality {}", rank), s);
  (void)arg.release();  // value_arrived() frees it
  if (!e->wait(std::max(0.0, until - monotonic_seconds())))
    return error{
        fmt::format("expected the address of locality {} at the start within {:g} s; check that its process "
                    "runs",
                    rank, deadline_s)};
  if (e->status != PMIX_SUCCESS)
    return error{
        fmt::format("expected the address of locality {} at the start, but PMIx has none: {}; check that its "
                    "process runs",
                    rank, pmix_.Error_string(e->status))};
  return std::move(e->bytes);
}

// PMIx_Finalize has no deadline: a separate thread calls it, and is abandoned if it takes too long.
void pmix_bootstrap::leave(double deadline_s) noexcept try {
  if (left_) return;
  left_ = true;
  const auto e = std::make_shared<ending>();
  std::thread([e, finalize = pmix_.Finalize] { e->end(finalize(nullptr, 0)); }).detach();
  e->wait(deadline_s);
} catch (...) {  // out of memory or threads: the process ends without PMIx_Finalize
}

result<unsigned> size_of_job(const pmix_library& library, pmix_proc_t me) {
  me.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = nullptr;
  const pmix_status_t s = library.Get(&me, PMIX_JOB_SIZE, nullptr, 0, &value);
  if (s != PMIX_SUCCESS || value->type != PMIX_UINT32)
    return error{fmt::format("PMIx does not report the size of the job: {}", library.Error_string(s))};
  const unsigned size = value->data.uint32;
  std::free(value);
  return size;
}

struct started {
  pmix_proc_t me;
  unsigned size = 0;
};

result<started> start(const pmix_library& library) {
  started s;
  std::memset(&s.me, 0, sizeof s.me);
  if (const auto status = library.Init(&s.me, nullptr, 0); status != PMIX_SUCCESS)
    return error{fmt::format("PMIx_Init failed: {}; a launcher set PMIX_RANK, but its PMIx does not answer",
                             library.Error_string(status))};
  const auto size = size_of_job(library, s.me);
  if (!size) return size.error();
  s.size = *size;
  return s;
}

}  // namespace

// PMIx_Init and PMIx_Get have no deadline: a separate thread calls them, and is abandoned if they take too long.
result<std::unique_ptr<bootstrap>> make_pmix_bootstrap(double deadline_s) try {
  static std::atomic<bool> abandoned{false};
  if (abandoned)
    return error{
        "PMIx cannot be started: an earlier start in this process exceeded its deadline, and may still continue; start "
        "the process again"};
  auto library = load_pmix();
  if (!library) return library.error();
  std::promise<result<started>> promise;
  auto opened = promise.get_future();
  std::thread([&pmix = **library, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(start(pmix));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  if (opened.wait_for(std::chrono::duration<double>(deadline_s)) != std::future_status::ready) {
    abandoned = true;  // two threads must not start PMIx at the same time
    return error{
        fmt::format("PMIX_RANK is set, but the launcher that set it has not answered at the start within {:g} s; "
                    "start with mpirun or srun again, or set PLX_TRANSPORT=alone to run this process alone",
                    deadline_s)};
  }
  const auto s = opened.get();
  if (!s) return s.error();
  return std::unique_ptr<bootstrap>(std::make_unique<pmix_bootstrap>(**library, s->me, s->size));
} catch (const std::exception& e) {  // no memory, or no thread
  return error{fmt::format("cannot start PMIx: {}", e.what())};
}

}  // namespace plx::net::detail
