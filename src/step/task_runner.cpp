#include "step/task_runner.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "step/round_end.hpp"

namespace plx::step {

// One message of a link. Prepared for the next run when it is sent: values of the next run are added only after the end
// of this one.
struct task_runner::outgoing {
  int peer = 0;
  message_tag tag;
  std::int32_t nodes = 0;
  std::size_t doubles = 0;
  buffer<double> values;
  std::atomic<std::int32_t> missing{0};

  void prepare() {
    values = buffer<double>(doubles);
    missing.store(nodes, std::memory_order_relaxed);
  }
  // acq_rel: the task that sends sees all values.
  bool arrive() { return missing.fetch_sub(1, std::memory_order_acq_rel) == 1; }
};

// The values of a field at a stencil: passes that write it, and passes that read it at other nodes. A node's values are
// final when the last source that runs on it has ended.
struct task_runner::link {
  access values;
  std::uint64_t source_bits = 0, reader_bits = 0;
  std::vector<int> sources, readers;
  border* by = nullptr;
  bool is_published = false;
  int carrier = 0;  // the link whose messages bring these values, this one or an earlier one with the same border

  void add_reader(int pass) {
    readers.push_back(pass);
    reader_bits |= std::uint64_t{1} << pass;
  }
  // Places of local nodes in messages.
  struct place {
    std::int32_t group = 0, index = 0;
  };
  std::vector<std::uint32_t> place_begin{};  // by node, and one more; empty without messages
  std::vector<place> places{};
  std::vector<int> first_receive{};  // by peer
  std::unique_ptr<outgoing[]> out{};
};

struct task_runner::use_of final : border_use {
  use_of(const task_runner& r, const link& l) : runner(r), values(l) {}
  bool is_written(node_id node) const override { return (runner.passes_of(node) & values.source_bits) != 0; }
  bool reads(node_id node, stencil at) const override {
    for (const link& l : runner.links_)
      if (l.by == values.by && l.values.at == at && (l.is_published || (runner.passes_of(node) & l.reader_bits) != 0))
        return true;
    return false;
  }
  const task_runner& runner;
  const link& values;
};

task_runner::task_runner(const recipe& r, exchange& net) : recipe_(r), net_(net) { compile(); }

task_runner::~task_runner() = default;

void task_runner::compile() {
  const auto checked = recipe_.check();
  PLX_ASSERT(checked, checked ? "" : checked.error().message.c_str());
  for (const pass& p : recipe_.passes()) passes_.push_back({p.kernel.get(), probe::register_name(p.name), {}});
  stride_ = (passes_.size() + 3) / 4 * 4;
  for (std::size_t p = 0; p < passes_.size(); ++p)
    for (const access& a : recipe_.passes()[p].reads)
      if (const int l = link_of(a); l >= 0) links_[static_cast<std::size_t>(l)].add_reader(static_cast<int>(p));
  for (const access& a : recipe_.published())
    if (const int l = link_of(a); l >= 0) links_[static_cast<std::size_t>(l)].is_published = true;
  for (std::size_t l = 0; l < links_.size(); ++l)
    for (const int p : links_[l].sources) passes_[static_cast<std::size_t>(p)].provides.push_back(static_cast<int>(l));
  for (std::size_t l = 0; l < links_.size(); ++l) {
    links_[l].carrier = static_cast<int>(l);
    for (std::size_t earlier = l; earlier-- > 0;)
      if (links_[l].by != nullptr && links_[earlier].by == links_[l].by) {
        PLX_ASSERT(links_[earlier].values.field == links_[l].values.field, l, earlier);
        links_[l].carrier = static_cast<int>(earlier);
      }
  }
}

// -1: no task waits for these values, because they are on the node itself or there from the start.
int task_runner::link_of(const access& a) {
  std::vector<int> sources = recipe_.writers(a.field);
  if (a.at == stencil::own || sources.empty()) return -1;
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (links_[l].values == a) return static_cast<int>(l);
  link& l = links_.emplace_back();
  l.values = a;
  l.sources = std::move(sources);
  for (const int p : l.sources) l.source_bits |= std::uint64_t{1} << p;
  for (const transfer& t : recipe_.field(a.field).transfers)
    if (t.at == a.at) l.by = t.by;
  return static_cast<int>(links_.size() - 1);
}

bool task_runner::is_last_source(const link& l, int pass, node_id node) const {
  return ((passes_of(node) & l.source_bits) >> pass) == 1;
}

int task_runner::first_pass(node_id node) const {
  const std::uint64_t all = local_passes(node);
  return all == 0 ? -1 : std::countr_zero(all);
}

int task_runner::next_pass(node_id node, int after) const {
  const std::uint64_t later = local_passes(node) >> after >> 1;
  return later == 0 ? -1 : after + 1 + std::countr_zero(later);
}

void task_runner::adopt(const mesh::block_mesh& mesh, const mesh::curve_parts& parts) {
  graph_ = std::make_unique<node_graph>(mesh, parts, net_.here(), recipe_.uses_tree());
  workers_.resize(mesh.slot_count(), 0);
  list_passes();
  if (!net_.is_alone()) prepare_messages();
  count_inputs();
  order_nodes();
}

void task_runner::list_passes() {
  passes_of_.assign(graph_->node_count(), 0);
  local_passes_.assign(graph_->node_count(), 0);
  for (std::size_t n = 0; n < passes_of_.size(); ++n) {
    const auto node = static_cast<node_id>(n);
    if (graph_->is_block(node) && !graph_->mesh().is_live(node)) continue;
    for (std::size_t p = 0; p < passes_.size(); ++p)
      if (graph_->contains(recipe_.passes()[p].where, node)) passes_of_[n] |= std::uint64_t{1} << p;
    if (graph_->is_local(node)) local_passes_[n] = passes_of_[n];
  }
}

void task_runner::count_inputs() {
  const std::size_t size = graph_->node_count() * stride_;
  missing_ = std::make_unique<input_count[]>(size);
  inputs_.assign(size, 0);
  for (const link& l : links_)
    for (const int r : l.readers)
      for (const node_id node : graph_->local()) {
        if ((local_passes(node) >> r & 1) == 0) continue;
        for (const node_id from : graph_->read_by(l.values.at, node))
          inputs(node, r) += (passes_of(from) & l.source_bits) != 0;
      }
  for (const node_id node : graph_->local()) {
    const int first = first_pass(node);
    for (int p = first; p >= 0; p = next_pass(node, p)) missing(node, p).reset(inputs(node, p) + (p != first));
  }
}

// Nodes that other localities wait for come first, then those next to them, and so on: a result depends on nodes as
// many layers away as there are passes that read their neighbours. The rest follows along the curve.
void task_runner::order_nodes() {
  const auto local = graph_->local();
  order_.assign(local.begin(), local.end());
  std::erase_if(order_, [&](node_id node) { return first_pass(node) < 0; });
  to_finish_ = static_cast<std::int32_t>(order_.size());
  if (net_.is_alone()) return;
  int layers = 0;
  for (const link& l : links_) {
    if (l.values.at == stencil::neighbours) ++layers;
    if (&l == &links_[static_cast<std::size_t>(l.carrier)])
      to_finish_ += static_cast<std::int32_t>(l.by->receives().size());
  }
  std::vector<std::uint8_t> distance(graph_->node_count(), static_cast<std::uint8_t>(layers));
  for (const link& l : links_)
    if (l.by != nullptr)
      for (const border_group& g : l.by->sends())
        for (const node_id node : g.nodes) distance[static_cast<std::size_t>(node)] = 0;
  for (std::uint8_t d = 1; d < layers; ++d)
    for (const node_id node : order_)
      for (const node_id other : graph_->read_by(stencil::neighbours, node))
        if (distance[node] > d && distance[other] == d - 1 && graph_->is_local(other)) distance[node] = d;
  std::stable_sort(order_.begin(), order_.end(), [&](node_id a, node_id b) { return distance[a] < distance[b]; });
}

void task_runner::prepare_messages() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    link& l = links_[i];
    PLX_ASSERT(l.by != nullptr, recipe_.field(l.values.field).name.c_str(), to_string(l.values.at));
    if (l.carrier != static_cast<int>(i)) continue;
    l.by->adopt(*graph_, use_of(*this, l));
    const auto& sends = l.by->sends();
    l.out = std::make_unique<outgoing[]>(sends.size());
    l.place_begin.assign(graph_->node_count() + 1, 0);
    for (const border_group& g : sends)
      for (const node_id node : g.nodes) {
        PLX_ASSERT((local_passes(node) & l.source_bits) != 0, node);  // otherwise its message would never be sent
        ++l.place_begin[static_cast<std::size_t>(node) + 1];
      }
    for (std::size_t n = 1; n < l.place_begin.size(); ++n) l.place_begin[n] += l.place_begin[n - 1];
    l.places.resize(l.place_begin.back());
    std::vector<std::uint32_t> next(l.place_begin.begin(), l.place_begin.end() - 1);
    std::vector<std::uint32_t> numbers(static_cast<std::size_t>(net_.count()), 0);
    for (std::size_t g = 0; g < sends.size(); ++g) {
      outgoing& o = l.out[g];
      o.peer = sends[g].peer;
      o.tag.kind = static_cast<std::uint16_t>(i);
      o.tag.group = numbers[static_cast<std::size_t>(o.peer)]++;
      o.nodes = static_cast<std::int32_t>(sends[g].nodes.size());
      o.doubles = sends[g].doubles;
      o.prepare();
      for (std::size_t n = 0; n < sends[g].nodes.size(); ++n)
        l.places[next[static_cast<std::size_t>(sends[g].nodes[n])]++] = {static_cast<std::int32_t>(g),
                                                                         static_cast<std::int32_t>(n)};
    }
    l.first_receive.assign(static_cast<std::size_t>(net_.count()), 0);
    const auto& receives = l.by->receives();
    for (std::size_t g = receives.size(); g-- > 0;)
      l.first_receive[static_cast<std::size_t>(receives[g].peer)] = static_cast<int>(g);
  }
}

void task_runner::run() {
  PLX_ASSERT(graph_ != nullptr);
  round_end end(to_finish_ > 0 ? 1 : 0);
  end_ = &end;
  unfinished_.reset(to_finish_);
  has_failed_.store(false, std::memory_order_relaxed);
  why_failed_ = nullptr;
  net_.open(*this);
  start();
  const bool whole = end.wait();
  net_.close();
  while (tasks_.load(std::memory_order_acquire) > 0) this_thread::yield();  // pairs with the end of a task
  unfinished_.passed();
  if (!whole) end.fail();
  if (why_failed_ != nullptr) std::rethrow_exception(why_failed_);
}

// A worker takes its newest task first: submitted in reverse, nodes start in their order.
void task_runner::start() {
  for (std::size_t i = order_.size(); i-- > 0;) {
    const int first = first_pass(order_[i]);
    if (inputs(order_[i], first) == 0) post(order_[i], first, nullptr);
  }
}

void task_runner::post(node_id node, int pass, input_count* ready) {
  const bool counted = !net_.is_alone();
  if (counted) tasks_.fetch_add(1, std::memory_order_relaxed);
  const auto run = [this, node, pass, counted] {
    run_from(node, pass);
    if (counted) tasks_.fetch_sub(1, std::memory_order_release);
  };
  const task_info info{passes_[static_cast<std::size_t>(pass)].name, static_cast<std::uint64_t>(node)};
  ready != nullptr ? ready->post(info, run) : plx::post(info, run);
}

// The counter of a pass is reset for the next run by the task that its zero starts: all decrements of this run are done
// by then, and those of the next run come after its start. Decrements release what was written; the one that reaches
// zero acquires all of it. After completed(), the node's next pass may run elsewhere.
void task_runner::run_from(node_id node, int pass) {
  for (;;) {
    missing(node, pass).reset(inputs(node, pass) + (pass != first_pass(node)));
    if (graph_->is_block(node)) workers_[static_cast<std::size_t>(node)] = static_cast<std::uint16_t>(*worker_index());
    if (!has_failed_.load(std::memory_order_relaxed)) {
      try {
        passes_[static_cast<std::size_t>(pass)].kernel->run(node);
      } catch (...) {
        failed(std::current_exception());
      }
    }
    const int next = next_pass(node, pass);
    completed(node, pass);
    if (next < 0) return one_finished();
    if (inputs(node, next) != 0) return one_arrived(node, next);
    pass = next;
  }
}

void task_runner::failed(std::exception_ptr why) {
  if (!has_failed_.exchange(true)) why_failed_ = std::move(why);
}

void task_runner::completed(node_id node, int pass) {
  const auto& provides = passes_[static_cast<std::size_t>(pass)].provides;
  for (const int i : provides) {
    const link& l = links_[static_cast<std::size_t>(i)];
    if (!l.places.empty() && is_last_source(l, pass, node)) send(l, node);
  }
  const input_count::moment now;
  for (const int i : provides) {
    const link& l = links_[static_cast<std::size_t>(i)];
    if (is_last_source(l, pass, node)) notify(l, node);
  }
}

void task_runner::notify(const link& l, node_id node) {
  for (const int r : l.readers)
    for (const node_id reader : graph_->readers_of(l.values.at, node))
      if ((local_passes(reader) >> r & 1) != 0) one_arrived(reader, r);
}

void task_runner::one_arrived(node_id node, int pass) {
  input_count& all = missing(node, pass);
  if (all.arrive()) post(node, pass, &all);
}

void task_runner::send(const link& l, node_id node) {
  for (std::uint32_t i = l.place_begin[node]; i < l.place_begin[node + 1]; ++i) {
    const link::place at = l.places[i];
    outgoing& o = l.out[at.group];
    l.by->pack(static_cast<std::size_t>(at.group), static_cast<std::size_t>(at.index), o.values.data());
    if (o.arrive()) send(o);
  }
}

void task_runner::send(outgoing& o) {
  buffer<double> values = std::move(o.values);
  o.prepare();
  net_.send(o.peer, o.tag, std::move(values));
}

void task_runner::arrived(const message& m) {
  const link& l = links_[m.tag.kind];
  const auto group = static_cast<std::size_t>(l.first_receive[m.tag.from]) + m.tag.group;
  const border_group& g = l.by->receives()[group];
  PLX_ASSERT_EQ(m.values.size(), g.doubles);
  l.by->unpack(group, m.values.data());
  {
    const input_count::moment now;
    for (const link& to : links_)
      if (to.carrier == m.tag.kind)
        for (const node_id node : g.nodes) notify(to, node);
  }
  one_finished();
}

void task_runner::lost(int peer, const std::string& why) { end_->lost(peer, why); }

void task_runner::one_finished() {
  if (unfinished_.arrive()) end_->end();
}

}  // namespace plx::step
