#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "berth/berth.h"

using namespace berth;

namespace {

std::shared_ptr<const Cluster> two_devices() {
  std::vector<Device> devices(2);
  for (std::size_t i = 0; i < 2; ++i) {
    devices[i].name = "gpu:" + std::to_string(i);
    devices[i].kind = "gpu";
  }
  return std::make_shared<const Cluster>("two", devices,
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 10, {}}});
}

/// A chain of `count` ops of 100 us; op i of it is called `name` + i.
std::shared_ptr<const Problem> chain(int count, const std::string& name) {
  GraphBuilder builder("chain");
  TensorId last = kNoTensor;
  for (int i = 0; i < count; ++i) {
    const OpId op = builder.add_op(name + std::to_string(i), "Layer");
    builder.set_cost(op, {}, 100);
    if (last != kNoTensor) builder.add_input(op, last);
    TensorInfo info;
    info.bytes = 1000;
    last = builder.add_output(op, info);
  }
  auto graph = builder.build();
  auto cluster = two_devices();
  auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(graph, cluster, costs);
}

std::string draw(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  return timeline_svg(*problem, placement, Simulator(problem).trace(placement));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a timeline shows every op and transfer, and the critical path") {
  const std::string svg = draw(chain(4, "op"), {0, 0, 1, 1});
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("<title>op0 (Layer): 100.0 us from 0 us</title>") != svg.npos);
  CHECK(svg.find("<title>1000 B of op1: 11.00 us from 200.0 us</title>") != svg.npos);
  CHECK(svg.find("gpu:0 -&gt; gpu:1") != svg.npos);
  // Four ops and one transfer, all of them critical, and the legend's sample.
  CHECK(count(svg, "class=\"cp\"") == 6);
  CHECK(svg.find("411.0 us, dataflow semantics, 4 ops") != svg.npos);
}

TEST_CASE("what is not of one problem is not drawn") {
  const auto problem = chain(4, "op");
  const StepTrace trace = Simulator(problem).trace(Placement{0, 0, 1, 1});
  for (const Placement& wrong : {Placement{}, Placement{0, 0, 1}, Placement{0, 0, 1, 1, 0},
                                 Placement{0, 0, 1, 2}, Placement{0, 0, 1, kNoDevice}}) {
    CHECK_THROWS_AS(static_cast<void>(timeline_svg(*problem, wrong, trace)), Error);
    CHECK_THROWS_AS(static_cast<void>(trace_json(*problem, wrong, trace)), Error);
  }
  const auto longer = chain(5, "op");
  CHECK_THROWS_AS(static_cast<void>(timeline_svg(*longer, {0, 0, 1, 1, 1}, trace)), Error);
  CHECK_THROWS_AS(static_cast<void>(trace_json(*longer, {0, 0, 1, 1, 1}, trace)), Error);
}

TEST_CASE("names cannot break the picture") {
  const std::string svg = draw(chain(2, "<a&\"b\x01\xFF"), {0, 1});
  CHECK(svg.find("&lt;a&amp;&quot;b??0") != svg.npos);
  for (const char c : svg) CHECK_MESSAGE((c == '\n' || (c >= 0x20 && c < 0x7F)), int{c});
}

TEST_CASE("the picture of a large graph stays small") {
  const auto problem = chain(50'000, "op");
  const std::string svg = draw(problem, Placement(50'000, 1));
  CHECK(svg.size() < 500'000);
  CHECK(svg.find(" more: ") != svg.npos);
}

TEST_CASE("a step that takes no time is drawn without an axis") {
  GraphBuilder builder("still");
  builder.set_cost(builder.add_op("only", "Layer"), {}, 0);
  const auto graph = builder.build();
  const auto cluster = two_devices();
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  const std::string svg = draw(problem, {0});
  CHECK(svg.find("nan") == svg.npos);
  CHECK(svg.find("inf") == svg.npos);
}
