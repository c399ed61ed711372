#include "simulator/placed.h"

#include <algorithm>

namespace berth::simulator {
namespace {

std::uint32_t device_in(std::span<const std::uint32_t> word, Index op) {
  return word[op] & kDeviceMask;
}

}  // namespace

void Placed::compile(const Plan& plan, std::span<const std::uint32_t> word) {
  rows = plan.rows;
  consumers.resize(plan.consumers.size());
  if (plan.placeto) {
    messages = plan.messages;
    sends.resize(messages.size());
  } else {
    parcels.resize(consumers.size());
  }
  for (Index op = 0; op < plan.op_count; ++op) wire(plan, word, op);
}

void Placed::wire(const Plan& plan, std::span<const std::uint32_t> word, Index op) {
  if (plan.placeto) {
    wire_placeto(plan, word, op);
  } else {
    wire_dataflow(plan, word, op);
  }
}

bool Placed::rewire(const Plan& plan, std::span<const std::uint32_t> word, Index op) {
  list_sent(plan, op, sent_before_);
  wire(plan, word, op);
  list_sent(plan, op, sent_after_);
  return sent_before_ != sent_after_;
}

void Placed::list_sent(const Plan& plan, Index op, std::vector<Sent>& to) const {
  to.clear();
  const OpRow& row = rows[op];
  for (std::uint32_t i = row.first_message; i < row.first_message + row.message_count; ++i) {
    if (plan.placeto) {
      to.push_back({sends[i], 0, messages[sends[i]].alone_us});
    } else {
      to.push_back({parcels[i].message, parcels[i].receiver, parcels[i].duration_us});
    }
  }
}

std::uint32_t Placed::sent(const Plan& plan, Index op, TensorId tensor,
                           std::uint32_t receiver) const {
  const std::uint32_t message = plan.message_of(plan.rows[op], tensor);
  if (plan.placeto) return message;
  std::uint32_t parcel = rows[op].first_message;
  while (parcels[parcel].message != message || parcels[parcel].receiver != receiver) ++parcel;
  return parcel;
}

void Placed::wire_placeto(const Plan& plan, std::span<const std::uint32_t> word, Index op) {
  const OpRow& from = plan.rows[op];
  const std::uint32_t here = device_in(word, op);
  OpRow& row = rows[op];
  row.end = row.begin;
  for (std::uint32_t e = from.begin; e < from.end; ++e) {
    if (device_in(word, plan.consumers[e]) == here) consumers[row.end++] = plan.consumers[e];
  }
  row.message_count = 0;
  for (std::uint32_t m = from.first_message; m < from.first_message + from.message_count; ++m) {
    const Message& whole = plan.messages[m];
    Message& message = messages[m];
    // The only message of an op shares its room with the consumers on the device.
    message.begin = message.end = from.message_count == 1 ? row.end : whole.begin;
    message.alone_us = plan.uniform_routes ? whole.alone_us : 0;
    for (std::uint32_t e = whole.begin; e < whole.end; ++e) {
      const std::uint32_t there = device_in(word, plan.consumers[e]);
      if (there == here) continue;
      consumers[message.end++] = plan.consumers[e];
      if (plan.uniform_routes) continue;
      message.alone_us = std::max(message.alone_us, plan.transfer_us(m, static_cast<DeviceId>(here),
                                                                     static_cast<DeviceId>(there)));
    }
    if (message.begin != message.end) sends[row.first_message + row.message_count++] = m;
  }
  if (row.message_count < 2) return;
  // In the order of their first consumer elsewhere, in the graph's order.
  row.message_count = 0;
  std::uint32_t* const first = sends.data() + row.first_message;
  for (const Edge& edge : plan.graph().out_edges(plan.ids[op])) {
    if (device_in(word, plan.index_of(edge.dst)) == here) continue;
    const std::uint32_t message = plan.message_of(from, edge.tensor);
    std::uint32_t* const last = first + row.message_count;
    if (std::find(first, last, message) != last) continue;
    first[row.message_count++] = message;
  }
}

void Placed::wire_dataflow(const Plan& plan, std::span<const std::uint32_t> word, Index op) {
  const OpRow& from = plan.rows[op];
  const std::uint32_t here = device_in(word, op);
  OpRow& row = rows[op];
  row.end = row.begin;
  for (std::uint32_t e = from.begin; e < from.end; ++e) {
    if (device_in(word, plan.consumers[e]) == here) consumers[row.end++] = plan.consumers[e];
  }
  // There are no more parcels than edges: they take the same numbers.
  row.first_message = row.begin;
  row.message_count = 0;
  Parcel* const first = parcels.data() + row.first_message;
  std::uint32_t next = row.end;
  for (std::uint32_t m = from.first_message; m < from.first_message + from.message_count; ++m) {
    const Message& message = plan.messages[m];
    const bool signal = plan.message_tensor[m] == kNoTensor;
    Parcel* const first_of_message = first + row.message_count;
    for (std::uint32_t e = message.begin; e < message.end; ++e) {
      const std::uint32_t there = device_in(word, plan.consumers[e]);
      Parcel* const last = first + row.message_count;
      if (there == here || std::any_of(first_of_message, last, [&](const Parcel& parcel) {
            return parcel.receiver == there;
          })) {
        continue;
      }
      const auto src = static_cast<DeviceId>(here);
      const auto dst = static_cast<DeviceId>(there);
      *last = {signal ? plan.cluster().route(src, dst).latency_us : plan.transfer_us(m, src, dst),
               m, there, next, next};
      for (std::uint32_t other = e; other < message.end; ++other) {
        if (device_in(word, plan.consumers[other]) != there) continue;
        consumers[last->end++] = plan.consumers[other];
      }
      next = last->end;
      ++row.message_count;
    }
  }
}

}  // namespace berth::simulator
