#include "command_run.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "berth/evaluator.h"
#include "support/units.h"

namespace berth::command {

CommandRun::CommandRun(Settings settings)
    : settings_(std::move(settings)), engine_(make_engine(settings_)) {
  hooks_.knows = &is_script;
  hooks_.make = [this](std::string_view name, const OptionTexts& options) {
    return is_script(std::string(name)) ? scripts().make_policy(std::string(name), options)
                                        : engine_->make_policy(name, options, hooks_.make);
  };
  hooks_.should_stop = &InterruptGuard::interrupted;
  hooks_.note = [](const std::string& note) { log_note(note); };
  hooks_.stage = [this](const std::string& what, double within_s) {
    auto stage = std::make_shared<Stage>(what);
    stage->ends_within(within_s);
    innermost_ = stage;
    return stage;
  };
  hooks_.progress = [this](double best_us, const std::string& text) {
    if (const auto stage = innermost_.lock()) {
      stage->show(fmt::format("best so far {}  {}", format_us(best_us), text));
    }
    if (log_ != nullptr) log_->progress(best_us, text);
  };
  hooks_.ends = [this](const Outcome* outcome, const std::string& failure) {
    if (log_ == nullptr) return;
    outcome != nullptr ? log_->end(*outcome) : log_->fail(failure);
  };
  hooks_.begins = [this](const Task& task, const Origin& origin, double budget_s) {
    begins(task, origin, budget_s);
  };
}

Scripts& CommandRun::scripts() {
  if (!scripts_) {
    scripts_.emplace(*engine_);
    scripts_->set_settings(settings_);
  }
  return *scripts_;
}

void CommandRun::begins(const Task& task, const Origin& origin, double budget_s) {
  if (!guard_) guard_.emplace();
  if (!settings_.log) return;
  if (log_ == nullptr) log_ = std::make_unique<EventLog>(*settings_.log);
  // Measured runtimes have no bound.
  log_->start(*task.problem, origin, budget_s,
              task.session == nullptr ? lower_bound(*task.problem).us : 0);
}

void note_other_machine(const Task& task, const StoredPlacement& stored) {
  const std::string note = other_machine_text(task, stored);
  if (!note.empty()) log_note(note);
}

void warn_of_interrupt(const Outcome& outcome) {
  if (!InterruptGuard::interrupted()) return;
  if (outcome.search && outcome.search->end == SearchEnd::cancelled) {
    log_warning("interrupted: this is the best placement so far");
  } else if (outcome.bound.cut_short) {
    log_warning("interrupted: the search was done, and its lower bound could be larger");
  }
}

}  // namespace berth::command
