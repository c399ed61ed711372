// What is said of ops whose work no rule counts.
#include <algorithm>

#include "berth.h"

using namespace berth::test;

namespace {

const char* const kUncommonTypes = R"(
node { name: "x" op: "Placeholder"
       attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 1000 } } } } }
node { name: "known" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "made_up" op: "NoSuchOp" input: "known"
       attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "_output_shapes" value { list { shape { dim { size: 1000 } } } } } }
)";

// Relu and the other op read and write 4,000 bytes each.
const char* const kSaid =
    "1 op has no work rule, costed by the bytes moved alone (50.0 % of the step's)";

}  // namespace

TEST_CASE("inspect, place and compare name the types without a work rule and their share") {
  const Workplace work;
  work.write_text("model.pbtxt", kUncommonTypes);

  const Json json = work.berth_json({"inspect", "model.pbtxt", "--json"});
  CHECK(json["ops_without_rule"] == 1);
  CHECK(json["bytes_without_rule"] == 8000);
  bool noted = false;
  for (const Json& note : json["notes"]) {
    noted = noted || std::string(note).find("NoSuchOp (1)") != std::string::npos;
  }
  CHECK(noted);

  const ProcessResult inspected = work.berth({"inspect", "model.pbtxt"});
  CHECK(inspected.out.find(kSaid) != std::string::npos);

  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"place", "model.pbtxt", "--cluster", "v100x8", "--policy",
                                 "single"},
        {"compare", "model.pbtxt", "--cluster", "v100x8", "--policies", "single"}}) {
    CAPTURE(call[0]);
    const ProcessResult result = work.berth(call);
    CHECK(result.status == 0);
    CHECK(result.err.find(kSaid) != std::string::npos);
    CHECK(result.err.find("NoSuchOp (1)") != std::string::npos);
    CHECK(result.out.find("NoSuchOp") == std::string::npos);
  }
}

TEST_CASE("a reached bound says that it rests on bytes alone where an op has no work rule") {
  const Workplace work;
  work.write_text("model.pbtxt", kUncommonTypes);
  const std::vector<std::string> call = {"place",  "model.pbtxt", "--cluster",
                                         "v100x8", "--policy",    "single"};
  const ProcessResult guessed = work.berth(call);
  CHECK(guessed.out.find("reached, where ops without a work rule take what their bytes do") !=
        std::string::npos);
  CHECK(guessed.out.find("no placement is better") == std::string::npos);
  CHECK(guessed.out.find("Work that is not known may change all of this") != std::string::npos);

  std::string known = kUncommonTypes;
  known.replace(known.find("NoSuchOp"), 8, "Tanh");
  work.write_text("model.pbtxt", known);
  CHECK(work.berth(call).out.find("reached: no placement is better") != std::string::npos);
}

TEST_CASE("an op that holds a compiled program is told with what to place in its stead") {
  const Workplace work;
  std::string model = kUncommonTypes;
  model.replace(model.find("NoSuchOp"), 8, "XlaCallModule");
  work.write_text("model.pbtxt", model);
  const ProcessResult result =
      work.berth({"place", "model.pbtxt", "--cluster", "v100x8", "--policy", "single"});
  CHECK(result.status == 0);
  CHECK(result.err.find("1 XlaCallModule op holds a compiled program") != std::string::npos);
  CHECK(result.err.find("StableHLO") != std::string::npos);
}

TEST_CASE("nothing is said where every type has a rule or a stated cost") {
  const Workplace work;
  const ProcessResult result = work.berth({"inspect", "diamond.graph.json"});
  CHECK(result.out.find("no work rule") == std::string::npos);
}

TEST_CASE("a model without sizes takes no time, which every answer says") {
  const Workplace work;
  work.write_text("model.pbtxt", R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
)");
  const std::string said = "no op takes any time, because 2 of 2 tensors have no known size";
  const auto notes_say = [&](const Json& json) {
    return std::any_of(json["notes"].begin(), json["notes"].end(), [&](const Json& note) {
      return note.get<std::string>().find(said) != std::string::npos;
    });
  };
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"place", "model.pbtxt", "--cluster", "v100x8", "--policy",
                                 "single"},
        {"compare", "model.pbtxt", "--cluster", "v100x8", "--policies", "single"}}) {
    CAPTURE(call[0]);
    CHECK(work.berth(call).err.find(said) != std::string::npos);
    std::vector<std::string> as_json = call;
    as_json.emplace_back("--json");
    CHECK(notes_say(Json::parse(work.berth(as_json).out)));
  }
}
