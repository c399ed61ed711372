// `berth completion`: a shell's completion of this command, made of the parser's own tables.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/support/text.h"
#include "console.h"
#include "subcommands.h"

namespace berth::command {
namespace {

constexpr const char* kShells = "bash|zsh|fish";

struct OptionWords {
  std::vector<std::string> names;  ///< "--output", "-o"
  std::string meaning;
  bool takes_value = false;
  bool takes_file = false;
  std::vector<std::string> values;  ///< those that are known
};

struct CommandWords {
  std::string name;
  std::string meaning;
  std::vector<OptionWords> options;
  std::vector<std::string> operands;  ///< those that are known
};

/// The part of a text before the first of these characters.
std::string before(const std::string& text, const char* ends) {
  return text.substr(0, std::min(text.find_first_of(ends), text.size()));
}

/// The words of "latency|throughput"; what is in capitals stands for a value.
std::vector<std::string> words_of(const std::string& form) {
  std::vector<std::string> words;
  if (form.find('|') == std::string::npos) return words;
  for (std::size_t begin = 0; begin <= form.size();) {
    const std::size_t end = std::min(form.find('|', begin), form.size());
    const std::string word = form.substr(begin, end - begin);
    const bool plain = !word.empty() && std::none_of(word.begin(), word.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || std::string_view("[]=<>").find(c) != std::string_view::npos;
    });
    if (plain) words.push_back(word);
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> machines() {
  std::vector<std::string> names = {"here"};
  for (const auto& preset : Cluster::presets()) names.emplace_back(preset.name);
  return names;
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  words.meaning = before(option.get_description(), ";");
  words.takes_value = option.get_items_expected_max() > 0;
  const std::string form = option.get_type_name();
  words.takes_file = form.find("FILE") != std::string::npos;
  words.values = option.check_lname("cluster") ? machines() : words_of(form);
  return words;
}

std::vector<const CLI::App*> all_under(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Adds what `app` takes, and its own subcommands with what they take.
void add_words(const CLI::App& app, CommandWords& command) {
  for (const CLI::Option* option : app.get_options()) {
    OptionWords words = words_of(*option);
    if (option->get_positional()) {
      command.operands.insert(command.operands.end(), words.values.begin(), words.values.end());
      continue;
    }
    const bool known = std::any_of(
        command.options.begin(), command.options.end(),
        [&](const OptionWords& other) { return other.names.front() == words.names.front(); });
    if (!known) command.options.push_back(std::move(words));
  }
  for (const CLI::App* sub : all_under(app)) {
    command.operands.push_back(sub->get_name());
    add_words(*sub, command);
  }
}

std::vector<CommandWords> commands_of(const CLI::App& app) {
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : all_under(app)) {
    add_words(*sub,
              commands.emplace_back(CommandWords{sub->get_name(), sub->get_description(), {}, {}}));
  }
  return commands;
}

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Puts `text` between single quotes, with `escape` instead of one within.
std::string quoted(const std::string& text, std::string_view escape) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '\'';
}

/// The subcommands, and what may stand in the place of one.
std::vector<std::string> first_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : all_under(app)) words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : words_of(*option).names) words.push_back(name);
  }
  return words;
}

std::string bash_text(const std::vector<CommandWords>& commands,
                      const std::vector<std::string>& first) {
  std::string text =
      "# berth in bash; made by `berth completion bash`\n"
      "_berth() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= known=\n"
      "  case $COMP_CWORD,${COMP_WORDS[1]},$before in\n" +
      fmt::format("    1,*) words='{}' known=$words ;;\n", spaced(first));
  for (const CommandWords& command : commands) {
    std::string others;
    std::vector<std::string> all;
    for (const OptionWords& option : command.options) {
      for (const std::string& name : option.names) {
        all.push_back(name);
        const std::string state = fmt::format("*,{},{}", command.name, name);
        if (!option.values.empty()) {
          text += fmt::format("    {}) words='{}' known=$words ;;\n", state, spaced(option.values));
        } else if (option.takes_value) {
          others += (others.empty() ? "" : "|") + state;
        }
      }
    }
    // Without words the shell completes names of files.
    if (!others.empty()) text += fmt::format("    {}) return ;;\n", others);
    text += fmt::format("    *,{},*) words='{}' known='{}' ;;\n", command.name, spaced(all),
                        spaced(command.operands));
  }
  return text +
         "  esac\n"
         "  [[ $word == -* ]] || words=$known\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _berth berth\n";
}

std::string zsh_text(const std::vector<CommandWords>& commands) {
  const auto escaped = [](const std::string& text, std::string_view special) {
    std::string out;
    for (const char c : text) {
      if (special.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
    return out;
  };
  std::string text =
      "#compdef berth\n"
      "# berth in zsh; made by `berth completion zsh`\n"
      "_berth() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandWords& command : commands) {
    text +=
        fmt::format("    {}:{}\n", command.name, quoted(escaped(command.meaning, "\\:"), "'\\''"));
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandWords& command : commands) {
    text += fmt::format("    {}) _arguments", command.name);
    for (const OptionWords& option : command.options) {
      const std::string value = !option.values.empty() ? fmt::format("({})", spaced(option.values))
                                : option.takes_file    ? "_files"
                                                       : " ";
      for (const std::string& name : option.names) {
        text +=
            " \\\n      " + quoted(fmt::format("*{}[{}]{}", name, escaped(option.meaning, "\\[]"),
                                               option.takes_value ? ":value:" + value : ""),
                                   "'\\''");
      }
    }
    const std::string operands =
        command.operands.empty() ? "_files" : fmt::format("({})", spaced(command.operands));
    text += fmt::format(" \\\n      '*:value:{}' ;;\n", operands);
  }
  return text +
         "  esac\n"
         "}\n"
         "_berth \"$@\"\n";
}

std::string fish_text(const std::vector<CommandWords>& commands) {
  const auto quote = [](const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '\\' ? std::string("\\\\") : std::string(1, c);
    return quoted(out, "\\'");
  };
  std::string text = "# berth in fish; made by `berth completion fish`\n";
  for (const CommandWords& command : commands) {
    text += fmt::format("complete -c berth -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        quote(command.meaning));
  }
  for (const CommandWords& command : commands) {
    const std::string within =
        fmt::format("complete -c berth -n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.operands.empty()) {
      text += fmt::format("{} -f -a '{}'\n", within, spaced(command.operands));
    }
    for (const OptionWords& option : command.options) {
      text += within;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.values.empty()) {
        text += fmt::format(" -x -a '{}'", spaced(option.values));
      } else if (option.takes_value) {
        text += " -r";
      }
      text += fmt::format(" -d {}\n", quote(option.meaning));
    }
  }
  return text;
}

int run_completion(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandWords> commands = commands_of(app);
  if (shell == "bash") {
    print(bash_text(commands, first_words(app)));
  } else if (shell == "zsh") {
    print(zsh_text(commands));
  } else if (shell == "fish") {
    print(fish_text(commands));
  } else {
    throw CLI::ValidationError(fmt::format("no completion for the shell '{}'{}", shell,
                                           known_names(shell, words_of(std::string(kShells)))));
  }
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("completion", "print what lets a shell complete this command");
  const auto shell = std::make_shared<std::string>();
  sub->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name(kShells);
  sub->footer(
      "An installed berth brings these files: a new shell finds them.\n"
      "Examples:\n"
      "  berth completion bash > ~/.local/share/bash-completion/completions/berth\n"
      "  berth completion zsh > \"${fpath[1]}/_berth\"\n"
      "  berth completion fish > ~/.config/fish/completions/berth.fish");
  sub->callback(
      [&app, &chosen, shell] { chosen = [&app, shell] { return run_completion(app, *shell); }; });
}

}  // namespace berth::command
