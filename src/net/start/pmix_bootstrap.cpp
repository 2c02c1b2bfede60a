#include "net/start/bootstrap.hpp"

#include <fmt/core.h>
#include <pmix.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

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
                     file->find("PMIx_Get", library.Get) && file->find("PMIx_Finalize", library.Finalize) &&
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
  result<std::vector<std::string>> exchange(std::string_view mine, double deadline_s) override;
  void leave(double deadline_s) noexcept override;

 private:
  result<void> fence(double deadline_s);
  result<std::string> get(pmix_rank_t rank, const std::string& key);
  [[nodiscard]] error failed(std::string_view what, pmix_status_t status) const {
    return error{fmt::format("{} failed: {}; is the launcher still running?", what, pmix_.Error_string(status))};
  }

  const pmix_library& pmix_;
  const pmix_proc_t me_;
  const unsigned size_;
  unsigned turn_ = 0;
  bool left_ = false;
};

result<std::vector<std::string>> pmix_bootstrap::exchange(std::string_view mine, double deadline_s) {
  const std::string key = "plx." + std::to_string(turn_++);
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(mine.data());
  value.data.bo.size = mine.size();
  if (const auto s = pmix_.Put(PMIX_GLOBAL, key.c_str(), &value); s != PMIX_SUCCESS) return failed("PMIx_Put", s);
  if (const auto s = pmix_.Commit(); s != PMIX_SUCCESS) return failed("PMIx_Commit", s);
  if (auto r = fence(deadline_s); !r) return r.error();
  std::vector<std::string> all;
  for (unsigned i = 0; i < size_; ++i) {
    auto one = i == me_.rank ? result<std::string>(std::string(mine)) : get(i, key);
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
  if (e->status != PMIX_SUCCESS) return failed("PMIx_Fence", e->status);
  return {};
}

result<std::string> pmix_bootstrap::get(pmix_rank_t rank, const std::string& key) {
  pmix_proc_t whom = me_;
  whom.rank = rank;
  pmix_value_t* value = nullptr;
  if (const auto s = pmix_.Get(&whom, key.c_str(), nullptr, 0, &value); s != PMIX_SUCCESS)
    return failed(fmt::format("PMIx_Get of the value of locality {}", rank), s);
  if (value->type != PMIX_BYTE_OBJECT) return error{fmt::format("locality {} gave a value of another type", rank)};
  std::string bytes(value->data.bo.bytes, value->data.bo.size);
  std::free(value->data.bo.bytes);
  std::free(value);
  return bytes;
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

}  // namespace

result<std::unique_ptr<bootstrap>> make_pmix_bootstrap() {
  auto library = load_pmix();
  if (!library) return library.error();
  pmix_proc_t me;
  std::memset(&me, 0, sizeof me);
  if (const auto s = (*library)->Init(&me, nullptr, 0); s != PMIX_SUCCESS)
    return error{fmt::format("PMIx_Init failed: {}; a launcher set PMIX_RANK, but its PMIx does not answer",
                             (*library)->Error_string(s))};
  const auto size = size_of_job(**library, me);
  if (!size) return size.error();
  return std::unique_ptr<bootstrap>(std::make_unique<pmix_bootstrap>(**library, me, *size));
}

}  // namespace plx::net::detail
