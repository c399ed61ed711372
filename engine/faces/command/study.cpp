// `berth study`: what is in a file that berth.study wrote. The work is done by the Lua library.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_run.h"
#include "console.h"
#include "setting_options.h"
#include "subcommands.h"
#include "targets.h"

namespace berth::command {
namespace {

struct StudyOptions {
  std::string file;
  std::string name;
  std::string result;
  std::string direction;
  std::string output;
  std::string kind;
  bool runs = false;
  bool csv = false;
  bool log = false;
};

int run_library(std::vector<std::string> args) {
  CommandRun run{read_settings()};
  run.scripts().run_library("commands/study.lua", args);
  return 0;
}

void add_file_and_name(CLI::App& sub, StudyOptions& options) {
  sub.add_option("FILE", options.file, "a file that berth.study wrote")->required()->type_name("");
  sub.add_option("NAME", options.name, "the study; needed where the file has several")
      ->type_name("");
  sub.add_option("--result", options.result,
                 "the result to look at; default: the one that the study is for")
      ->type_name("NAME");
}

void add_ls(CLI::App& study, Action& chosen) {
  CLI::App* sub = study.add_subcommand("ls", "list the studies of a file and how far they are");
  const auto options = std::make_shared<StudyOptions>();
  sub->add_option("FILE", options->file, "a file that berth.study wrote")
      ->required()
      ->type_name("");
  sub->callback([&chosen, options] {
    chosen = [options] { return run_library({"ls", options->file}); };
  });
  sub->footer("Example:\n  berth study ls sweep.db");
}

void add_show(CLI::App& study, Action& chosen) {
  CLI::App* sub = study.add_subcommand(
      "show", "show a study: medians over seeds, their intervals, tests against the best");
  const auto options = std::make_shared<StudyOptions>();
  add_file_and_name(*sub, *options);
  sub->add_option("--direction", options->direction,
                  "whether the result is to be small or large; default: what the study says of it, "
                  "else as its goal")
      ->type_name("minimize|maximize")
      ->check(CLI::IsMember({"minimize", "maximize"}));
  sub->add_flag("--runs", options->runs, "every run instead of every choice of options");
  sub->add_flag("--csv", options->csv, "as comma-separated values");
  sub->footer("Example:\n  berth study show sweep.db --runs --csv > runs.csv");
  sub->callback([&chosen, options] {
    chosen = [options] {
      return run_library({"show", options->file, options->name, options->result,
                          options->runs ? "runs" : "groups", options->csv ? "csv" : "text",
                          options->direction});
    };
  });
}

void add_plot(CLI::App& study, Action& chosen) {
  CLI::App* sub = study.add_subcommand("plot", "draw a study as SVG or PNG");
  const auto options = std::make_shared<StudyOptions>();
  add_file_and_name(*sub, *options);
  sub->add_option("-o,--output", options->output, "the picture, FILE.svg or FILE.png")
      ->required()
      ->type_name("FILE");
  sub->add_option(
         "--kind", options->kind,
         "curves (medians with bands, where runs reported steps), boxes, distributions, or "
         "the name of an option, over which the results are drawn; default: curves, else boxes")
      ->type_name("KIND");
  sub->add_flag("--log", options->log, "the results on a logarithmic axis");
  sub->footer("Example:\n  berth study plot sweep.db -o curves.svg");
  sub->callback([&chosen, options] {
    chosen = [options] {
      check_targets({{"-o", options->output}}, {{"the study", options->file}});
      return run_library({"plot", options->file, options->name, options->result, options->output,
                          options->kind, options->log ? "log" : ""});
    };
  });
}

}  // namespace

void add_study(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("study", "list, show and draw studies: sweeps run by Lua scripts");
  add_ls(*sub, chosen);
  add_show(*sub, chosen);
  add_plot(*sub, chosen);
  sub->require_subcommand(1);
  sub->footer(
      "Examples:\n"
      "  berth study ls sweep.db                      written by `berth run sweep.lua`, which "
      "calls "
      "study.run\n"
      "  berth study show sweep.db --runs --csv > runs.csv\n"
      "  berth study plot sweep.db -o curves.svg");
}

}  // namespace berth::command
