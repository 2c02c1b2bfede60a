#include "step/task_runner.hpp"

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

// The messages of a link that is a carrier.
struct task_runner::messages {
  // Places of local nodes in messages.
  struct place {
    std::int32_t group = 0, index = 0;
  };
  std::vector<std::uint32_t> place_begin{};  // by node, and one more; empty without messages
  std::vector<place> places{};
  std::vector<int> first_receive{};  // by peer
  std::unique_ptr<outgoing[]> out{};
};

task_runner::task_runner(const recipe& r, exchange& net) : net_(net), graph_(r), messages_(graph_.links().size()) {
  for (const pass& p : r.passes()) passes_.push_back({p.kernel.get(), probe::register_name(p.name)});
  stride_ = (passes_.size() + 3) / 4 * 4;
}

task_runner::~task_runner() = default;

void task_runner::adopt(const mesh::block_mesh& mesh, const mesh::curve_parts& parts) {
  nodes_ = std::make_unique<node_graph>(mesh, parts, net_.here(), graph_.of().uses_tree());
  graph_.adopt(*nodes_);
  workers_.resize(mesh.slot_count(), 0);
  local_passes_.assign(nodes_->node_count(), 0);
  for (const node_id node : nodes_->local()) local_passes_[static_cast<std::size_t>(node)] = graph_.passes_of(node);
  if (!net_.is_alone()) prepare_messages();
  count_inputs();
  order_ = graph_.order(net_.is_alone());
  to_finish_ = static_cast<std::int32_t>(order_.size());
  for (std::size_t l = 0; l < messages_.size() && !net_.is_alone(); ++l)
    if (graph_.is_carrier(l)) to_finish_ += static_cast<std::int32_t>(graph_.links()[l].by->receives().size());
}

void task_runner::count_inputs() {
  const std::size_t size = nodes_->node_count() * stride_;
  missing_ = std::make_unique<input_count[]>(size);
  inputs_.assign(size, 0);
  for (const node_id node : nodes_->local()) {
    const int first = first_pass(local_passes(node));
    for (int p = first; p >= 0; p = next_pass(local_passes(node), p)) {
      inputs(node, p) = graph_.inputs(node, p);
      missing(node, p).reset(inputs(node, p) + (p != first));
    }
  }
}

void task_runner::prepare_messages() {
  graph_.adopt_borders();
  for (std::size_t l = 0; l < messages_.size(); ++l)
    if (graph_.is_carrier(l)) prepare_messages(l);
}

void task_runner::prepare_messages(std::size_t number) {
  const link& l = graph_.links()[number];
  messages& m = messages_[number];
  const auto& sends = l.by->sends();
  m.out = std::make_unique<outgoing[]>(sends.size());
  m.place_begin.assign(nodes_->node_count() + 1, 0);
  for (const border_group& g : sends)
    for (const node_id node : g.nodes) {
      PLX_ASSERT((local_passes(node) & l.source_bits) != 0, node);  // otherwise its message would never be sent
      ++m.place_begin[static_cast<std::size_t>(node) + 1];
    }
  for (std::size_t n = 1; n < m.place_begin.size(); ++n) m.place_begin[n] += m.place_begin[n - 1];
  m.places.resize(m.place_begin.back());
  std::vector<std::uint32_t> next(m.place_begin.begin(), m.place_begin.end() - 1);
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(net_.count()), 0);
  for (std::size_t g = 0; g < sends.size(); ++g) {
    outgoing& o = m.out[g];
    o.peer = sends[g].peer;
    o.tag.kind = static_cast<std::uint16_t>(number);
    o.tag.group = numbers[static_cast<std::size_t>(o.peer)]++;
    o.nodes = static_cast<std::int32_t>(sends[g].nodes.size());
    o.doubles = sends[g].doubles;
    o.prepare();
    for (std::size_t n = 0; n < sends[g].nodes.size(); ++n)
      m.places[next[static_cast<std::size_t>(sends[g].nodes[n])]++] = {static_cast<std::int32_t>(g),
                                                                       static_cast<std::int32_t>(n)};
  }
  m.first_receive.assign(static_cast<std::size_t>(net_.count()), 0);
  const auto& receives = l.by->receives();
  for (std::size_t g = receives.size(); g-- > 0;)
    m.first_receive[static_cast<std::size_t>(receives[g].peer)] = static_cast<int>(g);
}

void task_runner::run() {
  PLX_ASSERT(nodes_ != nullptr);
  round_end end(to_finish_ > 0 ? 1 : 0);
  end_ = &end;
  unfinished_.reset(to_finish_);
  has_failed_.store(false, std::memory_order_relaxed);
  why_failed_ = nullptr;
  bool whole = false;
  {
    exchange::open_round round(net_);
    try {
      round.begin(*this);
      start();
    } catch (...) {  // out of memory: tasks that were posted use this object until they end
      failed(std::current_exception());
      end.end();
    }
    whole = end.wait();
  }
  while (tasks_.load(std::memory_order_acquire) > 0) round_end::let_others_run();  // pairs with the end of a task
  unfinished_.passed();
  if (!whole) end.fail();
  if (why_failed_ != nullptr) std::rethrow_exception(why_failed_);
}

// A worker takes its newest task first: submitted in reverse, nodes start in their order.
void task_runner::start() {
  for (std::size_t i = order_.size(); i-- > 0;) {
    const int first = first_pass(local_passes(order_[i]));
    if (inputs(order_[i], first) == 0) post(order_[i], first, nullptr);
  }
}

// Without memory for another task the run has failed. The caller then passes over the node and all that no other task
// runs after it, because tasks that have been posted use this object until the last one has ended. Calls nest as deep
// as passes depend on each other.
void task_runner::post(node_id node, int pass, input_count* ready) {
  const bool counted = !net_.is_alone();
  if (counted) tasks_.fetch_add(1, std::memory_order_relaxed);
  const auto run = [this, node, pass, counted] {
    run_from(node, pass);
    if (counted) tasks_.fetch_sub(1, std::memory_order_release);
  };
  const task_info info{passes_[static_cast<std::size_t>(pass)].name, static_cast<std::uint64_t>(node)};
  try {
    return ready != nullptr ? ready->post(info, run) : plx::post(info, run);
  } catch (...) {
    failed(std::current_exception());
  }
  run();
}

// The counter of a pass is reset for the next run by the task that its zero starts: all decrements of this run are done
// by then, and those of the next run come after its start. Decrements release what was written; the one that reaches
// zero acquires all of it. After completed(), the node's next pass may run elsewhere.
void task_runner::run_from(node_id node, int pass) {
  for (;;) {
    missing(node, pass).reset(inputs(node, pass) + (pass != first_pass(local_passes(node))));
    if (nodes_->is_block(node)) workers_[static_cast<std::size_t>(node)] = static_cast<std::uint16_t>(*worker_index());
    if (!has_failed_.load(std::memory_order_relaxed)) {
      try {
        passes_[static_cast<std::size_t>(pass)].kernel->run(node);
      } catch (...) {
        failed(std::current_exception());
      }
    }
    const int next = next_pass(local_passes(node), pass);
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
  const auto& provided = graph_.provided_by(pass);
  for (const int l : provided)
    if (!messages_[static_cast<std::size_t>(l)].places.empty() &&
        graph_.is_last_source(graph_.links()[static_cast<std::size_t>(l)], pass, node))
      try {
        send(l, node);
      } catch (...) {
        // Out of memory: others wait for this message until they are notified of the loss of this locality.
        failed(std::current_exception());
        end_->end();
      }
  const input_count::moment now;
  for (const int i : provided) {
    const link& l = graph_.links()[static_cast<std::size_t>(i)];
    if (graph_.is_last_source(l, pass, node)) notify(l, node);
  }
}

void task_runner::notify(const link& l, node_id node) {
  for (const int r : l.readers)
    for (const node_id reader : nodes_->readers_of(l.values.at, node))
      if ((local_passes(reader) >> r & 1) != 0) one_arrived(reader, r);
}

void task_runner::one_arrived(node_id node, int pass) {
  input_count& all = missing(node, pass);
  if (all.arrive()) post(node, pass, &all);
}

void task_runner::send(int number, node_id node) {
  const messages& m = messages_[static_cast<std::size_t>(number)];
  border& by = *graph_.links()[static_cast<std::size_t>(number)].by;
  for (std::uint32_t i = m.place_begin[node]; i < m.place_begin[node + 1]; ++i) {
    const messages::place at = m.places[i];
    outgoing& o = m.out[at.group];
    by.pack(static_cast<std::size_t>(at.group), static_cast<std::size_t>(at.index), o.values.data());
    if (o.arrive()) send(o);
  }
}

void task_runner::send(outgoing& o) {
  buffer<double> values = std::move(o.values);
  o.prepare();
  net_.send(o.peer, o.tag, std::move(values));
}

void task_runner::arrived(const message& m) {
  const link& l = graph_.links()[m.tag.kind];
  const auto group = static_cast<std::size_t>(messages_[m.tag.kind].first_receive[m.tag.from]) + m.tag.group;
  const border_group& g = l.by->receives()[group];
  PLX_ASSERT_EQ(m.values.size(), g.doubles);
  l.by->unpack(group, m.values.data());
  {
    const input_count::moment now;
    for (const link& to : graph_.links())
      if (to.carrier == m.tag.kind)
        for (const node_id node : g.nodes) notify(to, node);
  }
  one_finished();
}

void task_runner::lost(const std::exception_ptr& loss) { end_->lost(loss); }

void task_runner::one_finished() {
  if (unfinished_.arrive()) end_->end();
}

}  // namespace plx::step
