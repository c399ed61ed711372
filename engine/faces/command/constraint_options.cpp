#include "constraint_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "model_options.h"

namespace berth::command {

void add_constraints(CLI::App& app, std::vector<ConstraintRule>& rules) {
  add_repeated(app, "--pin", "REGEX=DEVICE",
               "keep ops whose whole name matches on this device, or on devices of this kind; "
               "repeatable; a --config can also forbid, co-locate and separate",
               [&rules](const std::string& text) {
                 auto [regex, device] = split_assignment(text, "--pin");
                 ConstraintRule rule;
                 rule.kind = ConstraintRule::Kind::pin;
                 rule.ops.emplace_back().regex = std::move(regex);
                 rule.devices.push_back(std::move(device));
                 rule.text = cat("--pin '", text, "'");
                 rules.push_back(std::move(rule));
               });
  app.add_flag_callback(
      "--respect-devices",
      [&rules] {
        ConstraintRule rule;
        rule.kind = ConstraintRule::Kind::respect_devices;
        rule.text = "--respect-devices";
        rules.push_back(std::move(rule));
      },
      "keep ops on the devices that the model file asks for");
  add_repeated(app, "--memory-margin", "[DEVICE=]AMOUNT",
               "keep this much memory free, on every device or on one device or kind: 10%, 2GiB, "
               "gpu:0=500MB; repeatable",
               [&rules](const std::string& text) {
                 const std::size_t equals = text.rfind('=');
                 std::vector<std::string> devices;
                 if (equals != std::string::npos) devices.push_back(text.substr(0, equals));
                 try {
                   rules.push_back(memory_margin_rule(
                       equals == std::string::npos ? text : text.substr(equals + 1), devices));
                 } catch (const Error& error) {
                   throw CLI::ValidationError("--memory-margin", error.what());
                 }
                 rules.back().text = cat("--memory-margin '", text, "'");
               });
}

}  // namespace berth::command
