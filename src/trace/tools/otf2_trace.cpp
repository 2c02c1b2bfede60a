#include "trace/tools/trace_export.hpp"

#include <fmt/format.h>

#if PLX_HAVE_OTF2
#include <fcntl.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "base/file.hpp"
#include "base/process.hpp"

extern "C" {
void __lsan_disable() __attribute__((weak));  // defined in programs with a leak detector
void __lsan_enable() __attribute__((weak));
}
#endif

namespace plx::probe {

#if !PLX_HAVE_OTF2

bool has_otf2() noexcept { return false; }

result<void> write_otf2_trace(const trace_data&, const trace_graph&, const std::string& path, const trace_job*) {
  return error{fmt::format(
      "cannot write '{}': built without OTF2; install libotf2-trace-dev and build again, or use plx-trace json", path)};
}

#else

bool has_otf2() noexcept { return true; }

namespace {

using index = trace_graph::index;

constexpr std::size_t most_otf2_parents = 1024;  // each attribute added to a list is compared with all of its
                                                 // attributes
constexpr OTF2_LocationType location_of_worker = OTF2_LOCATION_TYPE_CPU_THREAD;
constexpr OTF2_LocationType location_of_device = 2;  // OTF2_LOCATION_TYPE_ACCELERATOR_STREAM; called GPU before OTF2 3
constexpr std::uint64_t event_chunk = 1u << 20, definition_chunk = 4u << 20;

// The parents are last; their number is the maximum over all slices.
enum attribute : OTF2_AttributeRef {
  a_task,
  a_key,
  a_wait,
  a_finished,
  a_parcel,
  a_action,
  a_bytes,
  a_more_parents,
  a_tag,
  a_communicator,
  a_parents,
  a_parent_0
};

/// An error of the library, thrown through its frames: after a failed write some versions free a file's buffer twice,
/// so no function of the archive may be called again, and the archive is leaked.
struct archive_error {
  OTF2_ErrorCode code;
  std::string text;

  [[nodiscard]] error line(const std::string& path) const {
    std::string reason = OTF2_Error_GetDescription(code);
    if (!text.empty() && text.find('/') == std::string::npos)
      reason += " (" + text + ")";  // without the temporary
                                    // name
    for (char& c : reason)
      if (c == '\n') c = ' ';
    return {fmt::format("cannot write '{}': {}", path, reason)};
  }
};

/// Called by the library instead of printing. Warnings are not errors, and have codes below that of success.
OTF2_ErrorCode throw_error(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                           va_list arguments) {
  if (code <= OTF2_SUCCESS) return code;
  char text[256] = {};
  std::vsnprintf(text, sizeof text, format != nullptr ? format : "", arguments);
  throw archive_error{code, text};
}

void check(OTF2_ErrorCode code) {
  if (code > OTF2_SUCCESS) throw archive_error{code, {}};
}

template <class T>
T& check(T* made) {
  if (made == nullptr) throw archive_error{OTF2_ERROR_INVALID_CALL, {}};
  return *made;
}

/// Disables leak detection during its lifetime: an archive with an error is leaked, some MiB each.
struct leaks_are_known {
  leaks_are_known() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  ~leaks_are_known() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
  leaks_are_known(const leaks_are_known&) = delete;
  leaks_are_known& operator=(const leaks_are_known&) = delete;
};

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

class archive {
 public:
  archive(const trace_data& data, const trace_graph& graph, const trace_job* job)
      : data_(data), graph_(graph), job_(job), n_workers_(data.workers.size()) {
    for (std::size_t w = 0, n = 0; w < n_workers_; ++w)
      rank_.push_back(data.is_device(w) ? OTF2_UNDEFINED_UINT32 : static_cast<std::uint32_t>(n++));
  }
  ~archive() {
    if (list_ != nullptr) OTF2_AttributeList_Delete(list_);
  }
  archive(const archive&) = delete;
  archive& operator=(const archive&) = delete;

  void write(const std::string& folder) {
    archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, event_chunk, definition_chunk,
                                 OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    check(archive_);
    static const OTF2_FlushCallbacks flush{flush_always, nullptr};
    check(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr));
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    check(OTF2_Archive_SetCreator(archive_, "parallax"));
    check(OTF2_Archive_OpenEvtFiles(archive_));
    for (std::size_t w = 0; w < n_workers_; ++w) worker_events(w);
    counter_events();
    for (std::uint32_t l = 0; l < n_localities(); ++l) parcel_events(l);
    check(OTF2_Archive_CloseEvtFiles(archive_));
    local_definitions();
    global_definitions();
    markers();
    check(OTF2_Archive_Close(archive_));
    archive_ = nullptr;
  }

 private:
  // Events

  void worker_events(std::size_t w) {
    OTF2_EvtWriter& writer = check(OTF2_Archive_GetEvtWriter(archive_, w));
    ticks last = 0;
    for (std::size_t i = 0; i < data_.workers[w].size(); ++i)
      last = piece(writer, *list_, data_.workers[w][i], graph_.piece_of(static_cast<unsigned>(w), i), last,
                   data_.is_device(w));
    close(&writer);
  }

  /// Returns the end time; no time is earlier than `last`.
  ticks piece(OTF2_EvtWriter& out, OTF2_AttributeList& list, const trace_slice& s, index node, ticks last,
              bool on_device) {
    const ticks begin = std::max(s.begin, last), end = std::max(s.end, begin);
    meet(begin), meet(end);
    const bool on_worker = s.id != 0 && !on_device;  // device operations are not tasks of the team
    if (on_worker) check(OTF2_EvtWriter_ThreadTaskSwitch(&out, nullptr, begin, 0, creator(s.id), serial(s.id)));
    attributes(list, s, node, on_device);
    check(OTF2_EvtWriter_Enter(&out, &list, begin, region_of(s.name)));
    check(OTF2_AttributeList_AddUint8(&list, a_finished, s.finished ? 1 : 0));
    check(OTF2_EvtWriter_Leave(&out, &list, end, region_of(s.name)));
    if (on_worker && s.finished)
      check(OTF2_EvtWriter_ThreadTaskComplete(&out, nullptr, end, 0, creator(s.id), serial(s.id)));
    return end;
  }

  /// Region numbers are dense, in the order of first use.
  OTF2_RegionRef region_of(name_id name) {
    if (name >= region_of_.size()) region_of_.resize(name + std::size_t{1}, OTF2_UNDEFINED_REGION);
    if (region_of_[name] == OTF2_UNDEFINED_REGION) {
      region_of_[name] = static_cast<OTF2_RegionRef>(regions_.size());
      regions_.push_back(name);
    }
    return region_of_[name];
  }

  void attributes(OTF2_AttributeList& list, const trace_slice& s, index node, bool on_device) {
    if (s.key != no_key) check(OTF2_AttributeList_AddUint64(&list, on_device ? a_bytes : a_key, s.key));
    if (s.ready != 0) check(OTF2_AttributeList_AddUint64(&list, a_wait, s.begin - std::min(s.ready, s.begin)));
    if (s.id == 0) return;
    check(OTF2_AttributeList_AddUint64(&list, a_task, s.id));
    const auto parents = parents_.of(node);
    if (parents.empty()) return;
    const auto n = static_cast<std::uint32_t>(parents.size());
    check(OTF2_AttributeList_AddUint32(&list, a_parents, n));
    if (parents_.cut()) check(OTF2_AttributeList_AddUint8(&list, a_more_parents, 1));
    for (std::uint32_t i = 0; i < n; ++i) check(OTF2_AttributeList_AddUint64(&list, a_parent_0 + i, parents[i]));
  }

  [[nodiscard]] std::uint32_t creator(task_id id) const {
    const std::uint64_t worker = id >> 40 & 0xffff;  // the bits above are the recorder's and join_bit
    return worker == 0 || worker > n_workers_ ? OTF2_UNDEFINED_UINT32 : rank_[worker - 1];
  }
  static std::uint32_t serial(task_id id) { return static_cast<std::uint32_t>(id); }

  void counter_events() {
    if (data_.samples.empty()) return;
    OTF2_EvtWriter& writer = check(OTF2_Archive_GetEvtWriter(archive_, n_workers_));
    for (const trace_sample& s : data_.samples) metrics_.try_emplace(s.name, 0);
    std::uint32_t next = 0;
    for (auto& [name, number] : metrics_) number = next++;
    ticks last = 0;
    for (const trace_sample& s : data_.samples) {
      last = std::max(last, s.when);
      meet(last);
      const OTF2_Type type = OTF2_TYPE_DOUBLE;
      OTF2_MetricValue value;
      value.floating_point = s.value;
      const auto instance = static_cast<OTF2_MetricRef>(metrics_.size() + metrics_[s.name]);
      check(OTF2_EvtWriter_Metric(&writer, nullptr, last, instance, 1, &type, &value));
    }
    close(&writer);
  }

  // Parcels are sends and receives at a separate location per locality, whose number is its rank. OTF2 readers match
  // those with the same sender, receiver and tag in order; the tag is the parcel's number, for a message of MPI its
  // number among all messages of the job, so overtaking does not matter.
  void parcel_events(std::uint32_t locality) {
    struct event {
      ticks when;
      const trace_message* m;
      bool sent;
    };
    std::vector<event> events;
    for (const trace_message& m : job_->messages) {
      if (m.from == locality) events.push_back({m.sent, &m, true});
      if (m.to == locality && m.received != 0) events.push_back({m.received, &m, false});
    }
    std::stable_sort(events.begin(), events.end(), [](const event& a, const event& b) { return a.when < b.when; });
    OTF2_EvtWriter& writer = check(OTF2_Archive_GetEvtWriter(archive_, n_events_.size()));
    for (const event& e : events) {
      meet(e.when);
      const bool mpi = e.m->channel != 0;
      const auto tag = static_cast<std::uint32_t>(mpi ? e.m - job_->messages.data() : e.m->number);
      check(OTF2_AttributeList_AddUint64(list_, a_parcel, e.m->number));
      if (mpi) check(OTF2_AttributeList_AddInt32(list_, a_tag, e.m->tag));
      if (mpi) check(OTF2_AttributeList_AddUint32(list_, a_communicator, e.m->channel));
      if (e.m->name != unnamed) check(OTF2_AttributeList_AddRegionRef(list_, a_action, region_of(e.m->name)));
      check(e.sent ? OTF2_EvtWriter_MpiSend(&writer, list_, e.when, e.m->to, 1, tag, e.m->bytes)
                   : OTF2_EvtWriter_MpiRecv(&writer, list_, e.when, e.m->from, 1, tag, e.m->bytes));
    }
    close(&writer);
  }

  void close(OTF2_EvtWriter* writer) {
    std::uint64_t n = 0;
    check(OTF2_EvtWriter_GetNumberOfEvents(writer, &n));
    n_events_.push_back(n);
    check(OTF2_Archive_CloseEvtWriter(archive_, writer));
  }

  void meet(ticks t) {
    first_ = std::min(first_, t);
    last_ = std::max(last_, t);
  }

  // Definitions

  /// There are no local definitions, but readers require the files.
  void local_definitions() {
    check(OTF2_Archive_OpenDefFiles(archive_));
    for (std::size_t l = 0; l < n_events_.size(); ++l)
      check(OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, l)));
    check(OTF2_Archive_CloseDefFiles(archive_));
  }

  OTF2_StringRef text(const std::string& s) {
    const auto [there, fresh] = texts_.try_emplace(s, static_cast<OTF2_StringRef>(texts_.size()));
    if (fresh) check(OTF2_GlobalDefWriter_WriteString(defs_, there->second, s.c_str()));
    return there->second;
  }

  void global_definitions() {
    defs_ = &check(OTF2_Archive_GetGlobalDefWriter(archive_));
    clock();
    text("");
    places();
    regions();
    attribute_definitions();
    team();
    metrics();
    check(OTF2_Archive_CloseGlobalDefWriter(archive_, defs_));
  }

  /// The time of day of the run's begin is known if the run was in this process.
  void clock() {
    if (first_ > last_) first_ = last_ = data_.origin;
    const ticks begin = std::min(first_, data_.origin != 0 ? data_.origin : first_), now = now_ticks();
    std::uint64_t day = OTF2_UNDEFINED_TIMESTAMP;
    if (begin <= now) {
      const auto ago = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds(now - begin) * 1e9));
      const auto since_1970 = std::chrono::system_clock::now().time_since_epoch() - ago;
      if (since_1970.count() > 0)
        day = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
    }
    const auto rate = static_cast<std::uint64_t>(std::llround(ticks_per_second()));
    check(OTF2_GlobalDefWriter_WriteClockProperties(defs_, rate, begin, last_ - begin + 1, day));
  }

  void places() {
    groups();
    for (std::size_t w = 0; w < n_workers_; ++w)
      location(w, row_name(data_, static_cast<unsigned>(w), job_),
               data_.is_device(w) ? location_of_device : location_of_worker,
               job_ == nullptr ? 0 : job_->locality_of(static_cast<unsigned>(w)));
    if (!metrics_.empty()) location(n_workers_, "counters", OTF2_LOCATION_TYPE_METRIC, 0);
    for (std::uint32_t l = 0; l < n_localities(); ++l)
      location(first_rank() + l, job_->of_mpi ? "messages" : "parcels", OTF2_LOCATION_TYPE_CPU_THREAD, l);
  }

  void location(std::uint64_t number, const std::string& name, OTF2_LocationType type, std::uint32_t group) {
    check(OTF2_GlobalDefWriter_WriteLocation(defs_, number, text(name), type, n_events_[number], group));
  }
  [[nodiscard]] std::uint32_t n_localities() const {
    return job_ == nullptr ? 0 : static_cast<std::uint32_t>(job_->localities.size());
  }
  [[nodiscard]] std::uint64_t first_rank() const { return n_workers_ + (metrics_.empty() ? 0 : 1); }

  /// A machine per host, a group per locality.
  void groups() {
    const auto machine = [&](OTF2_SystemTreeNodeRef number, const std::string& host) {
      check(OTF2_GlobalDefWriter_WriteSystemTreeNode(defs_, number, text(host), text("machine"),
                                                     OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    };
    const auto group = [&](std::uint32_t number, const std::string& name, OTF2_SystemTreeNodeRef on) {
      check(OTF2_GlobalDefWriter_WriteLocationGroup(defs_, number, text(name), OTF2_LOCATION_GROUP_TYPE_PROCESS, on,
                                                    OTF2_UNDEFINED_LOCATION_GROUP));
    };
    if (job_ == nullptr) {
      machine(0, host_name());
      return group(0, fmt::format("locality {}", data_.locality), 0);
    }
    std::map<std::string, OTF2_SystemTreeNodeRef> machines;
    for (std::uint32_t l = 0; l < n_localities(); ++l) {
      const trace_locality& one = job_->localities[l];
      const std::string host = one.host.empty() ? "unknown" : one.host;
      const auto [there, fresh] = machines.try_emplace(host, static_cast<OTF2_SystemTreeNodeRef>(machines.size()));
      if (fresh) machine(there->second, host);
      group(l, fmt::format("locality {}{}", l, one.workers == 0 ? " (missing)" : ""), there->second);
    }
  }

  void regions() {
    for (OTF2_RegionRef id = 0; id < regions_.size(); ++id) {
      const OTF2_StringRef name = text(std::string(name_of(regions_[id])));
      check(OTF2_GlobalDefWriter_WriteRegion(defs_, id, name, name, text("task"), OTF2_REGION_ROLE_TASK,
                                             OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
    }
  }

  void attribute_definitions() {
    // In order, otherwise otf2-print warns.
    const auto define = [&](OTF2_AttributeRef ref, const std::string& name, const char* what, OTF2_Type type) {
      check(OTF2_GlobalDefWriter_WriteAttribute(defs_, ref, text(name), text(what), type));
    };
    define(a_task, "task", "number of the task, equal for all its slices", OTF2_TYPE_UINT64);
    define(a_key, "key", "object worked on", OTF2_TYPE_UINT64);
    define(a_wait, "wait", "ticks between ready and start", OTF2_TYPE_UINT64);
    define(a_finished, "finished", "1: the task ended; 0: it was suspended", OTF2_TYPE_UINT8);
    define(a_parcel, "parcel", "number of the parcel, assigned by its sender", OTF2_TYPE_UINT64);
    define(a_action, "action", "function called, or for a reply, the function that was called", OTF2_TYPE_REGION);
    define(a_bytes, "bytes", "bytes moved by a device operation", OTF2_TYPE_UINT64);
    define(a_more_parents, "more parents", "1: it waited for more tasks than are listed", OTF2_TYPE_UINT8);
    define(a_tag, "tag", "tag of a message of MPI", OTF2_TYPE_INT32);
    define(a_communicator, "communicator", "identifies the communicator of a message of MPI", OTF2_TYPE_UINT32);
    define(a_parents, "parents", "number of listed tasks that it waited for", OTF2_TYPE_UINT32);
    for (std::uint32_t i = 0; i < parents_.longest(); ++i)
      define(a_parent_0 + i, fmt::format("parent {}", i), "number of a task it waited for", OTF2_TYPE_UINT64);
  }

  /// The workers as a team, to which the task events refer.
  void team() {
    std::vector<std::uint64_t> members;
    for (std::size_t w = 0; w < n_workers_; ++w)
      if (!data_.is_device(w)) members.push_back(w);
    const auto n = static_cast<std::uint32_t>(members.size());
    const OTF2_StringRef name = text("workers");
    check(OTF2_GlobalDefWriter_WriteGroup(defs_, 0, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_USER,
                                          OTF2_GROUP_FLAG_NONE, n, members.data()));
    check(OTF2_GlobalDefWriter_WriteGroup(defs_, 1, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_USER,
                                          OTF2_GROUP_FLAG_NONE, n, members.data()));
    check(OTF2_GlobalDefWriter_WriteComm(defs_, 0, name, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    if (job_ != nullptr) ranks();
  }

  /// The localities as a communicator, to which sends and receives refer.
  void ranks() {
    const std::uint32_t n = n_localities();
    std::vector<std::uint64_t> locations(n), numbers(n);
    for (std::uint32_t l = 0; l < n; ++l) locations[l] = first_rank() + l, numbers[l] = l;
    const OTF2_StringRef name = text("localities");
    check(OTF2_GlobalDefWriter_WriteGroup(defs_, 2, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, n, locations.data()));
    check(OTF2_GlobalDefWriter_WriteGroup(defs_, 3, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, n, numbers.data()));
    check(OTF2_GlobalDefWriter_WriteComm(defs_, 1, name, 3, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
  }

  void metrics() {
    const auto n = static_cast<OTF2_MetricRef>(metrics_.size());
    for (const auto& [name, i] : metrics_) {
      check(OTF2_GlobalDefWriter_WriteMetricMember(defs_, i, text(name), text("a counter, sampled"),
                                                   OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE,
                                                   OTF2_BASE_DECIMAL, 0, text("#")));
      const OTF2_MetricMemberRef member = i;
      check(OTF2_GlobalDefWriter_WriteMetricClass(defs_, i, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                  OTF2_RECORDER_KIND_ABSTRACT));
      check(OTF2_GlobalDefWriter_WriteMetricInstance(defs_, n + i, i, n_workers_, OTF2_SCOPE_LOCATION_GROUP, 0));
    }
  }

  void markers() {
    if (data_.marks.empty()) return;
    OTF2_MarkerWriter* writer = &check(OTF2_Archive_GetMarkerWriter(archive_));
    std::map<std::string, OTF2_MarkerRef> categories;
    for (const trace_mark& m : data_.marks) {
      const auto [there, fresh] = categories.try_emplace(m.category, static_cast<OTF2_MarkerRef>(categories.size()));
      if (fresh)
        check(OTF2_MarkerWriter_WriteDefMarker(writer, there->second, "parallax", m.category.c_str(),
                                               OTF2_SEVERITY_NONE));
    }
    for (const trace_mark& m : data_.marks)
      check(OTF2_MarkerWriter_WriteMarker(writer, m.when, 0, categories[m.category], OTF2_MARKER_SCOPE_GLOBAL, 0,
                                          m.text.c_str()));
    check(OTF2_Archive_CloseMarkerWriter(archive_, writer));
  }

  const trace_data& data_;
  const trace_graph& graph_;
  const trace_job* const job_;       // null: trace of one process
  const std::size_t n_workers_;      // rows
  std::vector<std::uint32_t> rank_;  // of a row in the team of workers
  OTF2_Archive* archive_ = nullptr;
  OTF2_AttributeList* list_ = OTF2_AttributeList_New();
  OTF2_GlobalDefWriter* defs_ = nullptr;
  std::vector<std::uint64_t> n_events_;    // by location
  std::vector<OTF2_RegionRef> region_of_;  // by name
  std::vector<name_id> regions_;
  listed_parents parents_{graph_, most_otf2_parents};
  std::map<std::string, std::uint32_t> metrics_;
  std::map<std::string, OTF2_StringRef> texts_;
  ticks first_ = ~ticks{0}, last_ = 0;
};

/// Waits until the files are on the disk: the library does not report late write errors.
result<void> sync_files(const std::filesystem::path& folder, const std::string& path) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed)) {
    if (!entry.is_regular_file(failed)) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    const int number = errno;
    if (file >= 0) ::close(file);
    if (!synced) return file_error("write", path, number);
  }
  if (failed) return file_error("write", path, failed.value());
  return {};
}

/// Replaces the old folder by the new one.
result<void> take_place(const std::filesystem::path& fresh, const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path old = fresh.string() + ".old";
  const bool replaces = std::filesystem::exists(path, failed);
  if (replaces) std::filesystem::rename(path, old, failed);
  if (!failed) std::filesystem::rename(fresh, path, failed);
  if (failed) return file_error("write", path.string(), failed.value());
  if (replaces) std::filesystem::remove_all(old, failed);
  return {};
}

}  // namespace

result<void> write_otf2_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::string fresh = fmt::format("{}.{}.part", path, ::getpid());
  std::error_code failed;
  if (!std::filesystem::create_directory(fresh, failed) && failed) return file_error("write", path, failed.value());
  const OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(throw_error, nullptr);
  result<void> done;
  try {
    const leaks_are_known known;
    archive(data, graph, job).write(fresh);
    done = sync_files(fresh, path);
  } catch (const archive_error& e) {
    done = e.line(path);
  }
  OTF2_Error_RegisterCallback(before, nullptr);
  if (done) done = take_place(fresh, path);
  if (!done) std::filesystem::remove_all(fresh, failed);
  return done;
}

#endif

}  // namespace plx::probe
