// `berth completion`: what shells are told is what the command has.
#include "berth.h"

using namespace berth::test;

namespace {

/// Words that bash offers behind these.
std::vector<std::string> offered(const Workplace& work, const std::vector<std::string>& words) {
  std::string script = "source berth.bash\nCOMP_WORDS=(berth";
  for (const std::string& word : words) script += " '" + word + "'";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
            "\n_berth\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  work.write_text("ask.sh", script);
  const ProcessResult result = run_process({"/bin/bash", "ask.sh"}, work.settings);
  CHECK(result.err == "");
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < result.out.size();) {
    const std::size_t end = result.out.find('\n', begin);
    if (end > begin) lines.push_back(result.out.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("bash completes subcommands, options and the values that are known") {
  const Workplace work;
  work.write_text("berth.bash", work.berth({"completion", "bash"}).out);
  CHECK(offered(work, {"pla"}) == Words{"place"});
  CHECK(offered(work, {"--v"}) == Words{"--version"});
  CHECK(offered(work, {"place", "--obj"}) == Words{"--objective"});
  CHECK(offered(work, {"place", "--objective", ""}) == Words{"latency", "throughput"});
  CHECK(offered(work, {"place", "model.onnx", "--cluster", "k80x"}).size() > 1);
  CHECK(offered(work, {"completion", ""}) == Words{"bash", "zsh", "fish"});
  CHECK(offered(work, {"study", "sh"}) == Words{"show"});
  // Nothing of its own: the shell completes names of files.
  CHECK(offered(work, {"place", ""}).empty());
  CHECK(offered(work, {"place", "model.onnx", "-o", ""}).empty());
}

TEST_CASE("every shell is told of every subcommand") {
  const Workplace work;
  const std::string help = work.berth({"--help"}).out;
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    CAPTURE(std::string(shell));
    const ProcessResult result = work.berth({"completion", shell});
    CHECK(result.status == 0);
    CHECK(result.err == "");
    for (const char* const name : {"place", "compare", "completion", "watch"}) {
      CHECK(help.find(std::string("\n  ") + name) != std::string::npos);
      CHECK(result.out.find(name) != std::string::npos);
    }
    CHECK(result.out.find("objective") != std::string::npos);
  }
  const ProcessResult other = work.berth({"completion", "fsh"});
  CHECK(other.status == 2);
  CHECK(other.err.find("no completion for the shell 'fsh'; did you mean 'fish'?") !=
        std::string::npos);
}
