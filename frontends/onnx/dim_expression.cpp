#include "onnx/dim_expression.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

namespace berth::onnx_frontend {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr int kDeepest = 100;
constexpr std::int64_t kLargestPower = 64;

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '.';
}

/// A fraction in lowest terms, its denominator above 0.
struct Fraction {
  std::int64_t top = 0;
  std::int64_t bottom = 1;
};

std::optional<Fraction> reduced(std::int64_t top, std::int64_t bottom) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (bottom == 0 || top == kLeast || bottom == kLeast) return std::nullopt;
  if (bottom < 0) {
    top = -top;
    bottom = -bottom;
  }
  const std::int64_t common = std::gcd(top, bottom);
  return Fraction{top / common, bottom / common};
}

std::optional<Fraction> times(Fraction a, Fraction b) {
  std::int64_t top = 0, bottom = 0;
  if (__builtin_mul_overflow(a.top, b.top, &top) ||
      __builtin_mul_overflow(a.bottom, b.bottom, &bottom)) {
    return std::nullopt;
  }
  return reduced(top, bottom);
}

std::optional<Fraction> plus(Fraction a, Fraction b) {
  std::int64_t left = 0, right = 0, top = 0, bottom = 0;
  if (__builtin_mul_overflow(a.top, b.bottom, &left) ||
      __builtin_mul_overflow(b.top, a.bottom, &right) ||
      __builtin_add_overflow(left, right, &top) ||
      __builtin_mul_overflow(a.bottom, b.bottom, &bottom)) {
    return std::nullopt;
  }
  return reduced(top, bottom);
}

std::optional<Fraction> negative(Fraction a) {
  return reduced(-a.top, a.bottom);
}

std::optional<Fraction> quotient(Fraction a, Fraction b) {
  const auto inverse = reduced(b.bottom, b.top);
  return inverse ? times(a, *inverse) : std::nullopt;
}

Fraction floor_of(Fraction a) {
  const std::int64_t whole = a.top / a.bottom;
  return {whole - (a.top % a.bottom < 0 ? 1 : 0), 1};
}

Fraction ceil_of(Fraction a) {
  const std::int64_t whole = a.top / a.bottom;
  return {whole + (a.top % a.bottom > 0 ? 1 : 0), 1};
}

std::optional<Fraction> power_of(Fraction base, Fraction exponent) {
  if (exponent.bottom != 1 || exponent.top > kLargestPower || exponent.top < -kLargestPower) {
    return std::nullopt;
  }
  std::optional<Fraction> result = Fraction{1, 1};
  for (std::int64_t i = std::abs(exponent.top); i > 0 && result; --i) result = times(*result, base);
  return result && exponent.top < 0 ? quotient({1, 1}, *result) : result;
}

std::optional<bool> less(Fraction a, Fraction b) {
  const auto minus = negative(b);
  const auto difference = minus ? plus(a, *minus) : std::nullopt;
  if (!difference) return std::nullopt;
  return difference->top < 0;
}

}  // namespace

/// Recursive descent; each level of brackets, signs and powers counts against the depth.
class DimExpression::Parser {
 public:
  Parser(std::string_view text, DimExpression& out) : text_(text), out_(out) {}

  bool run() { return text_.size() <= kLongest && sum() && (skip(), at_ == text_.size()); }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool emit(Kind kind, std::int64_t argument = 0) {
    out_.steps_.push_back({kind, argument});
    return true;
  }
  bool sum() {
    if (++depth_ > kDeepest || !product()) return false;
    for (;;) {
      if (take("+")) {
        if (!product() || !emit(Kind::add)) return false;
      } else if (take("-")) {
        if (!product() || !emit(Kind::subtract)) return false;
      } else {
        --depth_;
        return true;
      }
    }
  }
  bool product() {
    if (!factor()) return false;
    for (;;) {
      skip();
      if (text_.substr(at_, 2) == "**") return false;  // a power without a base
      if (take("//")) {
        if (!factor() || !emit(Kind::floor_divide)) return false;
      } else if (take("/")) {
        if (!factor() || !emit(Kind::divide)) return false;
      } else if (take("*")) {
        if (!factor() || !emit(Kind::multiply)) return false;
      } else if (take("%")) {
        if (!factor() || !emit(Kind::modulo)) return false;
      } else {
        return true;
      }
    }
  }
  bool factor() {
    if (++depth_ > kDeepest) return false;
    const bool negated = take("-");
    if (negated || take("+")) {
      if (!factor()) return false;
      if (negated) emit(Kind::negate);
    } else {
      if (!atom()) return false;
      if (take("**") && (!factor() || !emit(Kind::power))) return false;
    }
    --depth_;
    return true;
  }
  bool atom() {
    skip();
    if (at_ == text_.size()) return false;
    if (take("(")) return sum() && take(")");
    if (is_digit(text_[at_])) return number();
    if (!starts_name(text_[at_])) return false;
    const std::string name = take_name();
    return take("(") ? call(name) : symbol(name);
  }
  std::string take_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  bool number() {
    std::int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return false;
      }
    }
    std::int64_t scale = 1;
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
      for (++at_; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text_[at_] - '0', &value) ||
            __builtin_mul_overflow(scale, 10, &scale)) {
          return false;
        }
      }
    }
    emit(Kind::number, value);
    if (scale != 1) {
      emit(Kind::number, scale);
      emit(Kind::divide);
    }
    if (at_ < text_.size() && starts_name(text_[at_])) {
      return symbol(take_name()) && emit(Kind::multiply);
    }
    return true;
  }
  bool symbol(const std::string& name) {
    auto& symbols = out_.symbols_;
    const auto found = std::find(symbols.begin(), symbols.end(), name);
    const auto index = static_cast<std::int64_t>(found - symbols.begin());
    if (found == symbols.end()) symbols.push_back(name);
    return emit(Kind::symbol, index);
  }
  bool call(const std::string& name) {
    struct Function {
      std::string_view name;
      Kind kind;
      int operands;  // 0: one or more
    };
    static constexpr Function kFunctions[] = {
        {"max", Kind::max, 0},
        {"min", Kind::min, 0},
        {"floor", Kind::floor, 1},
        {"floortoint", Kind::floor, 1},
        {"trunctoint", Kind::floor, 1},
        {"ceil", Kind::ceil, 1},
        {"ceiling", Kind::ceil, 1},
        {"ceiltoint", Kind::ceil, 1},
        {"round", Kind::round, 1},
        {"roundtoint", Kind::round, 1},
        {"abs", Kind::absolute, 1},
        {"tofloat", Kind::same, 1},
        {"identity", Kind::same, 1},
        {"floordiv", Kind::floor_divide, 2},
        {"cleandiv", Kind::floor_divide, 2},
        {"ceildiv", Kind::ceil_divide, 2},
        {"div", Kind::divide, 2},
        {"truediv", Kind::divide, 2},
        {"inttruediv", Kind::divide, 2},
        {"floattruediv", Kind::divide, 2},
        {"mod", Kind::modulo, 2},
        {"pythonmod", Kind::modulo, 2},
        {"pow", Kind::power, 2},
        {"powbynatural", Kind::power, 2},
    };
    std::string plain;
    for (const char c : name) {
      if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const auto* const function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                              [&](const Function& f) { return f.name == plain; });
    if (function == std::end(kFunctions)) return false;
    int operands = 0;
    do {
      if (!sum()) return false;
      ++operands;
    } while (take(","));
    if (!take(")") || (function->operands != 0 && operands != function->operands)) return false;
    return emit(function->kind, operands);
  }

  std::string_view text_;
  DimExpression& out_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class DimExpression::Machine {
 public:
  std::optional<std::int64_t> run(const DimExpression& expression, const Lookup& value_of) {
    for (const Step& step : expression.steps_) {
      if (step.kind == Kind::number) {
        stack_.push_back({step.argument, 1});
      } else if (step.kind == Kind::symbol) {
        const auto index = static_cast<std::size_t>(step.argument);
        const auto value = value_of(expression.symbols_[index]);
        if (!value) return std::nullopt;
        stack_.push_back({*value, 1});
      } else {
        const auto result = apply(step);
        if (!result) return std::nullopt;
        stack_.push_back(*result);
      }
    }
    return stack_.size() == 1 ? std::optional(floor_of(stack_.front()).top) : std::nullopt;
  }

 private:
  Fraction pop() {
    const Fraction top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::optional<Fraction> apply(const Step& step) {
    const Fraction last = pop();
    switch (step.kind) {
      case Kind::negate:
        return negative(last);
      case Kind::floor:
        return floor_of(last);
      case Kind::ceil:
        return ceil_of(last);
      case Kind::round:
        return round_of(last);
      case Kind::absolute:
        return last.top < 0 ? negative(last) : std::optional(last);
      case Kind::same:
        return last;
      case Kind::max:
      case Kind::min:
        return extreme(last, step);
      default:
        return stack_.empty() ? std::nullopt : binary(step.kind, pop(), last);
    }
  }
  /// As Python rounds: a half to the even neighbour.
  static std::optional<Fraction> round_of(const Fraction& value) {
    const auto moved = plus(value, {1, 2});
    if (!moved) return std::nullopt;
    Fraction whole = floor_of(*moved);
    const bool half = moved->bottom == 1;
    if (half && whole.top % 2 != 0) --whole.top;
    return whole;
  }
  std::optional<Fraction> extreme(Fraction best, const Step& step) {
    for (std::int64_t i = 1; i < step.argument; ++i) {
      const Fraction other = pop();
      const auto smaller = less(other, best);
      if (!smaller) return std::nullopt;
      if (*smaller == (step.kind == Kind::min)) best = other;
    }
    return best;
  }
  static std::optional<Fraction> binary(Kind kind, Fraction a, Fraction b) {
    if (kind == Kind::add) return plus(a, b);
    if (kind == Kind::multiply) return times(a, b);
    if (kind == Kind::power) return power_of(a, b);
    if (kind == Kind::subtract) {
      const auto minus = negative(b);
      return minus ? plus(a, *minus) : std::nullopt;
    }
    const auto ratio = quotient(a, b);
    if (!ratio || kind == Kind::divide) return ratio;
    if (kind == Kind::floor_divide) return floor_of(*ratio);
    if (kind == Kind::ceil_divide) return ceil_of(*ratio);
    // Modulo, with the sign of the divisor.
    const auto whole = times(floor_of(*ratio), b);
    const auto minus = whole ? negative(*whole) : std::nullopt;
    return minus ? plus(a, *minus) : std::nullopt;
  }

  std::vector<Fraction> stack_;
};

std::optional<DimExpression> DimExpression::parse(std::string_view text) {
  DimExpression expression;
  if (!Parser(text, expression).run()) return std::nullopt;
  return expression;
}

std::optional<std::int64_t> DimExpression::value(const Lookup& value_of) const {
  return Machine().run(*this, value_of);
}

}  // namespace berth::onnx_frontend
