#include "support/pattern.h"

#include <cctype>
#include <optional>
#include <tuple>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

constexpr int kMaxNesting = 200;
constexpr std::int32_t kMaxRepeats = 1000;
constexpr std::size_t kMaxSteps = 20'000;

}  // namespace

/// Parses an expression and writes its steps; a repeated part is written once per repetition.
class PatternCompiler {
 public:
  explicit PatternCompiler(std::string_view expression, Pattern& pattern)
      : text_(expression), pattern_(pattern) {}

  void run() {
    const Node whole = alternatives(0);
    if (position_ < text_.size()) fail("this ')' closes nothing");
    write(whole);
    step(Pattern::Opcode::accept);
    find_beginning();
  }

 private:
  struct Node {
    enum class Kind { bytes, begin, end, sequence, either, repeat } kind = Kind::sequence;
    Pattern::Bytes bytes;
    std::vector<Node> parts;
    std::int32_t least = 0;
    std::int32_t most = 0;  ///< -1: no limit
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                cat("the regular expression '", text_, "' is not one: at character ", position_ + 1,
                    ", ", what));
  }

  [[nodiscard]] bool more() const { return position_ < text_.size(); }
  [[nodiscard]] char peek() const { return text_[position_]; }
  bool skip(std::string_view what) {
    if (text_.substr(position_, what.size()) != what) return false;
    position_ += what.size();
    return true;
  }

  Node alternatives(int depth) {
    if (depth > kMaxNesting) fail(cat("parentheses are nested deeper than ", kMaxNesting));
    Node either;
    either.kind = Node::Kind::either;
    do either.parts.push_back(sequence(depth));
    while (skip("|"));
    if (either.parts.size() > 1) return either;
    Node only = std::move(either.parts.front());
    return only;
  }

  Node sequence(int depth) {
    Node all;
    all.kind = Node::Kind::sequence;
    while (more() && peek() != '|' && peek() != ')') all.parts.push_back(repeated(depth));
    return all;
  }

  Node repeated(int depth) {
    Node node = atom(depth);
    const auto range = quantifier();
    if (!range) return node;
    skip("?");  // how much it takes first does not matter to whether all of it matches
    Node repeat;
    repeat.kind = Node::Kind::repeat;
    std::tie(repeat.least, repeat.most) = *range;
    repeat.parts.push_back(std::move(node));
    return repeat;
  }

  std::optional<std::pair<std::int32_t, std::int32_t>> quantifier() {
    if (skip("*")) return std::pair(0, -1);
    if (skip("+")) return std::pair(1, -1);
    if (skip("?")) return std::pair(0, 1);
    if (!more() || peek() != '{') return std::nullopt;
    ++position_;
    const std::int32_t least = number();
    std::int32_t most = least;
    if (skip(",")) most = more() && peek() == '}' ? -1 : number();
    if (!skip("}")) fail("'}' is missing; a repetition is {n}, {n,} or {n,m}");
    if (most != -1 && most < least) fail("a repetition ends below where it begins");
    return std::pair(least, most);
  }

  std::int32_t number() {
    if (!more() || std::isdigit(static_cast<unsigned char>(peek())) == 0) {
      fail("a number is missing; write '\\{' for the character itself");
    }
    std::int32_t value = 0;
    while (more() && std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      value = value * 10 + (peek() - '0');
      if (value > kMaxRepeats) fail(cat("a repetition is at most ", kMaxRepeats));
      ++position_;
    }
    return value;
  }

  Node atom(int depth) {
    Node node;
    const char c = peek();
    if (c == '*' || c == '+' || c == '?' || c == '{') fail("there is nothing to repeat");
    if (c == '(') return group(depth);
    ++position_;
    if (c == '^' || c == '$') {
      node.kind = c == '^' ? Node::Kind::begin : Node::Kind::end;
      return node;
    }
    node.kind = Node::Kind::bytes;
    if (c == '.') {
      node.bytes.set();
    } else if (c == '[') {
      node.bytes = bracket();
    } else if (c == '\\') {
      node.bytes = escaped();
    } else {
      node.bytes.set(static_cast<unsigned char>(c));
    }
    return node;
  }

  Node group(int depth) {
    const std::size_t opened = position_++;
    if (skip("?") && !skip(":")) fail("look-around and flags are not known");
    Node inside = alternatives(depth + 1);
    if (!skip(")")) {
      position_ = opened;
      fail("this '(' is not closed");
    }
    return inside;
  }

  /// After a backslash: a class of bytes or the next character itself.
  Pattern::Bytes escaped() {
    if (!more()) fail("nothing follows the '\\'");
    const char c = text_[position_++];
    Pattern::Bytes bytes;
    const auto add = [&bytes](int (*member)(int)) {
      for (int b = 0; b < 128; ++b) {
        if (member(b) != 0) bytes.set(static_cast<std::size_t>(b));
      }
    };
    switch (std::tolower(static_cast<unsigned char>(c))) {
      case 'd':
        add([](int b) { return static_cast<int>(b >= '0' && b <= '9'); });
        break;
      case 'w':
        add([](int b) { return static_cast<int>(b == '_' || std::isalnum(b) != 0); });
        break;
      case 's':
        add([](int b) { return std::isspace(b); });
        break;
      default:
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
          --position_;
          fail(cat("'\\", c,
                   "' is not known; known are \\d \\w \\s, their capitals, and '\\' "
                   "before punctuation"));
        }
        bytes.set(static_cast<unsigned char>(c));
        return bytes;
    }
    return std::isupper(static_cast<unsigned char>(c)) != 0 ? ~bytes : bytes;
  }

  Pattern::Bytes bracket() {
    const std::size_t opened = position_ - 1;
    const bool negated = skip("^");
    Pattern::Bytes bytes;
    for (bool first = true; !more() || peek() != ']' || first; first = false) {
      if (!more()) {
        position_ = opened;
        fail("this '[' is not closed");
      }
      const char low = text_[position_++];
      if (low == '\\') {
        bytes |= escaped();
        continue;
      }
      char high = low;
      if (position_ + 1 < text_.size() && peek() == '-' && text_[position_ + 1] != ']') {
        high = text_[position_ + 1];
        position_ += 2;
        if (static_cast<unsigned char>(high) < static_cast<unsigned char>(low)) {
          fail("a range ends below where it begins");
        }
      }
      for (int b = static_cast<unsigned char>(low); b <= static_cast<unsigned char>(high); ++b) {
        bytes.set(static_cast<std::size_t>(b));
      }
    }
    ++position_;
    return negated ? ~bytes : bytes;
  }

  std::int32_t here() const { return static_cast<std::int32_t>(pattern_.steps_.size()); }

  std::int32_t step(Pattern::Opcode what, std::int32_t next = -1) {
    if (pattern_.steps_.size() >= kMaxSteps) {
      fail(cat("its repetitions make more than ", kMaxSteps, " steps"));
    }
    pattern_.steps_.push_back({what, next, -1});
    return here() - 1;
  }

  void write(const Node& node) {
    switch (node.kind) {
      case Node::Kind::bytes:
        pattern_.sets_.push_back(node.bytes);
        step(Pattern::Opcode::take, static_cast<std::int32_t>(pattern_.sets_.size()) - 1);
        break;
      case Node::Kind::begin:
        step(Pattern::Opcode::at_begin);
        break;
      case Node::Kind::end:
        step(Pattern::Opcode::at_end);
        break;
      case Node::Kind::sequence:
        for (const Node& part : node.parts) write(part);
        break;
      case Node::Kind::either:
        write_either(node);
        break;
      case Node::Kind::repeat:
        write_repeat(node);
        break;
    }
  }

  void write_either(const Node& node) {
    std::vector<std::int32_t> jumps;
    for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const std::int32_t split = step(Pattern::Opcode::split, here() + 1);
      write(node.parts[i]);
      jumps.push_back(step(Pattern::Opcode::jump));
      pattern_.steps_[at(split)].other = here();
    }
    write(node.parts.back());
    for (const std::int32_t jump : jumps) pattern_.steps_[at(jump)].next = here();
  }

  void write_repeat(const Node& node) {
    const Node& body = node.parts.front();
    for (std::int32_t i = 0; i < node.least; ++i) {
      const std::int32_t begin = here();
      write(body);
      if (here() == begin) break;  // nothing, however often: billions of times is soon written
    }
    if (node.most == -1) {
      const std::int32_t split = step(Pattern::Opcode::split, here() + 1);
      write(body);
      step(Pattern::Opcode::jump, split);
      pattern_.steps_[at(split)].other = here();
      return;
    }
    std::vector<std::int32_t> splits;
    for (std::int32_t i = node.least; i < node.most; ++i) {
      splits.push_back(step(Pattern::Opcode::split, here() + 1));
      write(body);
    }
    for (const std::int32_t split : splits) pattern_.steps_[at(split)].other = here();
  }

  /// Of the names of a large graph most differ from an expression within its first letters.
  void find_beginning() {
    using enum Pattern::Opcode;
    const auto& steps = pattern_.steps_;
    std::size_t s = 0;
    for (; steps[s].what == take; ++s) {
      const Pattern::Bytes& bytes = pattern_.sets_[at(steps[s].next)];
      if (bytes.count() != 1) break;
      std::size_t byte = 0;
      while (!bytes.test(byte)) ++byte;
      pattern_.beginning_ += static_cast<char>(byte);
    }
    // As `.*` is written.
    pattern_.matches_any_rest_ = s + 4 == steps.size() && steps[s].what == split &&
                                 steps[s + 1].what == take && steps[s + 2].what == jump &&
                                 pattern_.sets_[at(steps[s + 1].next)].all();
  }

  std::string_view text_;
  Pattern& pattern_;
  std::size_t position_ = 0;
};

/// The steps that wait for the next byte of one text.
class Pattern::Run {
 public:
  Run(const Pattern& pattern, std::string_view text)
      : pattern_(pattern), text_(text), seen_(pattern.steps_.size(), 0) {}

  bool matches() {
    enter(0);
    for (position_ = 1; position_ <= text_.size() && !waiting_.empty(); ++position_) {
      before_.swap(waiting_);
      waiting_.clear();
      ++round_;
      const auto byte = static_cast<unsigned char>(text_[position_ - 1]);
      for (const std::int32_t s : before_) {
        const Step& step = pattern_.steps_[at(s)];
        if (step.what == Opcode::take && pattern_.sets_[at(step.next)].test(byte)) enter(s + 1);
      }
    }
    if (position_ <= text_.size()) return false;
    for (const std::int32_t s : waiting_) {
      if (pattern_.steps_[at(s)].what == Opcode::accept) return true;
    }
    return false;
  }

 private:
  /// Follows what takes no byte from `first` on.
  void enter(std::int32_t first) {
    stack_.assign(1, first);
    while (!stack_.empty()) {
      const std::int32_t s = stack_.back();
      stack_.pop_back();
      if (seen_[at(s)] == round_) continue;
      seen_[at(s)] = round_;
      const Step& step = pattern_.steps_[at(s)];
      switch (step.what) {
        case Opcode::take:
        case Opcode::accept:
          waiting_.push_back(s);
          break;
        case Opcode::jump:
          stack_.push_back(step.next);
          break;
        case Opcode::split:
          stack_.push_back(step.next);
          stack_.push_back(step.other);
          break;
        case Opcode::at_begin:
          if (position_ == 0) stack_.push_back(s + 1);
          break;
        case Opcode::at_end:
          if (position_ == text_.size()) stack_.push_back(s + 1);
          break;
      }
    }
  }

  const Pattern& pattern_;
  std::string_view text_;
  std::size_t position_ = 0;  // bytes taken
  std::size_t round_ = 1;
  std::vector<std::size_t> seen_;  // by step: the round that entered it
  std::vector<std::int32_t> waiting_;
  std::vector<std::int32_t> before_;
  std::vector<std::int32_t> stack_;
};

Pattern::Pattern(std::string_view expression) {
  PatternCompiler(expression, *this).run();
}

bool Pattern::matches(std::string_view text) const {
  if (!text.starts_with(beginning_)) return false;
  return matches_any_rest_ || Run(*this, text).matches();
}

}  // namespace berth
