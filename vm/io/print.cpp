// Tensors as text, the way NumPy's arrayprint does it: one format for all elements, lines of 75 columns at most, and
// beyond 1000 elements only the first and last three along each axis.
#include "abi/repr.h"
#include "vm/io/io.h"
#include "vm/io/line_width.h"
#include "vm/io/number.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace tl {

namespace {

constexpr int64_t kThreshold = 1000, kEdge = 3, kBriefThreshold = 32;
constexpr int kPrecision = 8;

std::atomic<size_t> line_width = 75;

struct View {
  DType dtype;
  std::span<const int64_t> dims;
  const std::byte* data;
  bool summarised;

  Scalar at(int64_t index) const {
    Scalar s;
    std::memcpy(&s.bits, data + index * size_of(dtype), static_cast<size_t>(size_of(dtype)));
    return s;
  }
};

// Calls visit(element index) for every element that is shown, in order.
template <class Visit> void for_each_shown(const View& view, size_t axis, int64_t base, Visit& visit) {
  if (axis == view.dims.size()) return visit(base);
  int64_t n = view.dims[axis];
  bool cut = view.summarised && n > 2 * kEdge;
  for (int64_t i = 0; i < n; ++i) {
    if (cut && i == kEdge) i = n - kEdge;
    for_each_shown(view, axis + 1, base * n + i, visit);
  }
}

// ---- one format for all elements of a float tensor ----

struct FloatFormat {
  bool scientific = false;
  size_t left = 0, right = 0, exponent_digits = 0; // columns before and after the point; digits of the exponent
  int precision = kPrecision;
};

// Digits before and after the point, without padding. Positional: as many decimals as the value needs, `precision` at
// most. Scientific: likewise for the mantissa, with the exponent beside it.
struct Pieces {
  std::string whole, fraction;
  int exponent = 0;
};

Pieces positional(DType type, Scalar value, int precision) {
  Decimal d = shortest_decimal(type, value);
  const int places = static_cast<int>(d.digits.size()) - d.point;
  // Before the point are the digits of the value itself, as in NumPy: 27504. in f16, whose shortest form is 27500.
  if (places > precision || places < 0) d = fixed_decimal(float_value(type, value), places < 0 ? 0 : precision);
  Pieces p;
  auto digit = [&](int i) {
    return i >= 0 && i < static_cast<int>(d.digits.size()) ? d.digits[static_cast<size_t>(i)] : '0';
  };
  if (d.negative) p.whole += '-';
  for (int i = 0; i < d.point; ++i)
    p.whole += digit(i);
  if (d.point <= 0) p.whole += '0';
  for (int i = d.point; i < static_cast<int>(d.digits.size()); ++i)
    p.fraction += digit(i);
  if (d.digits == "0") p.fraction.clear();
  return p;
}

// `least` decimals are shown: where the shortest form has fewer, those of the value itself follow (0.3 in f32 with 7:
// 3.0000001e-01), as in NumPy.
Pieces scientific(DType type, Scalar value, int precision, int least = 0) {
  Decimal d = shortest_decimal(type, value);
  const int decimals = static_cast<int>(d.digits.size()) - 1;
  if (decimals > precision || decimals < least) d = significant_decimal(float_value(type, value), precision + 1);
  Pieces p;
  if (d.negative) p.whole += '-';
  p.whole += d.digits[0];
  p.fraction = d.digits.substr(1);
  p.exponent = d.digits == "0" ? 0 : d.point - 1;
  return p;
}

std::string exponent_text(int exponent, size_t digits) {
  return fmt::format("e{}{:0{}}", exponent < 0 ? '-' : '+', std::abs(exponent), static_cast<int>(digits));
}

double rounded_to(DType type, double value) {
  if (type == DType::F64) return value;
  auto narrow = static_cast<float>(value);
  return type == DType::F16 ? f16_to_float(float_to_f16(narrow)) : narrow;
}

FloatFormat choose_format(const View& view) {
  FloatFormat format;
  double largest = 0, smallest = INFINITY;
  bool any_finite = false, any_special = false, negative_infinity = false;
  auto scan = [&](int64_t i) {
    double v = float_value(view.dtype, view.at(i));
    if (!std::isfinite(v)) {
      any_special = true;
      negative_infinity |= std::isinf(v) && v < 0;
      return;
    }
    any_finite = true;
    if (v == 0) return;
    largest = std::max(largest, std::fabs(v));
    smallest = std::min(smallest, std::fabs(v));
  };
  for_each_shown(view, 0, 0, scan);
  if (largest > 0) {
    // In the precision of the elements, as NumPy compares and divides.
    double ratio = rounded_to(view.dtype, largest / smallest);
    format.scientific = largest >= 1e8 || smallest < rounded_to(view.dtype, 0.0001) || ratio > 1000;
  }
  if (any_finite) {
    auto measure = [&](int64_t i) {
      Scalar s = view.at(i);
      if (!std::isfinite(float_value(view.dtype, s))) return;
      Pieces p = format.scientific ? scientific(view.dtype, s, kPrecision) : positional(view.dtype, s, kPrecision);
      format.left = std::max(format.left, p.whole.size());
      format.right = std::max(format.right, p.fraction.size());
      format.exponent_digits = std::max(format.exponent_digits, exponent_text(p.exponent, 2).size() - 2);
    };
    for_each_shown(view, 0, 0, measure);
    if (format.scientific) format.precision = static_cast<int>(format.right);
  }
  if (any_special) {
    size_t after = format.scientific ? format.exponent_digits + 2 + format.right + 1 : format.right + 1;
    size_t widest = negative_infinity ? 4 : 3;
    if (widest > after) format.left = std::max(format.left, widest - after);
  }
  return format;
}

std::string format_float(const View& view, int64_t index, const FloatFormat& format) {
  Scalar s = view.at(index);
  double v = float_value(view.dtype, s);
  std::string text;
  if (!std::isfinite(v)) {
    text = std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
    size_t width = format.left + 1 + format.right + (format.scientific ? format.exponent_digits + 2 : 0);
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
  }
  Pieces p = format.scientific ? scientific(view.dtype, s, format.precision, format.precision)
                               : positional(view.dtype, s, kPrecision);
  text = std::string(format.left > p.whole.size() ? format.left - p.whole.size() : 0, ' ');
  text += p.whole;
  text += '.';
  text += p.fraction;
  text.append(format.right - std::min(format.right, p.fraction.size()), format.scientific ? '0' : ' ');
  if (format.scientific) text += exponent_text(p.exponent, format.exponent_digits);
  return text;
}

// ---- brackets, lines and dots ----

// Writes the elements of the last axis into lines.
template <class Element>
std::string format_row(const View& view, int64_t base, const std::string& indent, size_t width, Element& element) {
  int64_t n = view.dims.back();
  bool cut = view.summarised && n > 2 * kEdge;
  std::string done, line = indent;
  auto extend = [&](const std::string& word) {
    if (code_points(line) + code_points(word) > width && line.size() > indent.size()) {
      while (!line.empty() && line.back() == ' ')
        line.pop_back();
      done += line;
      done += '\n';
      line = indent;
    }
    line += word;
  };
  // A word with line breaks of its own does not occur: elements are single-line.
  for (int64_t i = 0; i < n; ++i) {
    if (cut && i == kEdge) {
      extend("...");
      line += ' ';
      i = n - kEdge;
    }
    extend(element(base * n + i));
    if (i + 1 < n) line += ' ';
  }
  return done + line;
}

template <class Element>
std::string format_axes(const View& view, size_t axis, int64_t base, const std::string& indent, size_t width,
                        Element& element) {
  size_t left = view.dims.size() - axis;
  std::string text;
  if (left == 1) {
    text = format_row(view, base, indent, width - 1, element);
  } else {
    int64_t n = view.dims[axis];
    bool cut = view.summarised && n > 2 * kEdge;
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdge) {
        text += indent;
        text += "...";
        text.append(left - 1, '\n');
        i = n - kEdge;
      }
      text += indent;
      text += format_axes(view, axis + 1, base * n + i, indent + ' ', width - 1, element);
      if (i + 1 < n) text.append(left - 1, '\n');
    }
  }
  std::string out = "[";
  out += std::string_view(text).substr(indent.size());
  return out + ']';
}

template <class Element> std::string format_all(const View& view, Element& element) {
  return format_axes(view, 0, 0, " ", std::max<size_t>(line_width, view.dims.size() + 1), element);
}

// Elements as words of one width, right-aligned.
std::string format_words(const View& view, size_t least_width, const std::function<std::string(int64_t)>& word) {
  size_t widest = least_width;
  auto measure = [&](int64_t i) { widest = std::max(widest, code_points(word(i))); };
  for_each_shown(view, 0, 0, measure);
  auto element = [&](int64_t i) {
    std::string text = word(i);
    return std::string(widest - code_points(text), ' ') + text;
  };
  return format_all(view, element);
}

// Numbers whose real parts come first, then the imaginary ones. As in NumPy: each kind of part in one format.
std::string format_complex_tensor(DType part, std::span<const int64_t> dims, const std::byte* data,
                                  std::string_view spec) {
  const std::span<const int64_t> own = dims.subspan(1);
  int64_t count = 1;
  for (int64_t d : own)
    count *= d;
  View re{part, own, data, count > kThreshold}, im = re;
  im.data += count * size_of(part);
  if (own.empty()) return format_complex(part, re.at(0), im.at(0), spec == kBrief ? std::string_view{} : spec);
  if (count == 0) return "[]";
  if (spec == kBrief) {
    if (count > kBriefThreshold) return type_text(complex_of(part).value_or(part), own);
    spec = {};
  }
  if (!spec.empty())
    return format_words(re, 0, [&](int64_t i) { return format_complex(part, re.at(i), im.at(i), spec); });
  const FloatFormat re_format = choose_format(re), im_format = choose_format(im);
  auto with_sign = [&](int64_t i) {
    std::string text = format_float(im, i, im_format);
    text.erase(0, text.find_first_not_of(' '));
    return text[0] == '-' ? text : "+" + text;
  };
  size_t widest = 0;
  auto measure = [&](int64_t i) { widest = std::max(widest, with_sign(i).size()); };
  for_each_shown(im, 0, 0, measure);
  auto element = [&](int64_t i) {
    std::string text = with_sign(i);
    text.insert(0, widest - text.size(), ' ');
    text.insert(text.find_last_not_of(' ') + 1, "i");
    return format_float(re, i, re_format) + text;
  };
  return format_all(re, element);
}

} // namespace

std::string format_tensor(DType dtype, std::span<const int64_t> dims, const std::byte* data, std::string_view spec) {
  if (spec.starts_with(kComplexParts))
    return format_complex_tensor(dtype, dims, data, spec.substr(kComplexParts.size()));
  View view{dtype, dims, data, false};
  if (dims.empty()) return format_scalar(dtype, view.at(0), spec);
  int64_t count = 1;
  for (int64_t d : dims)
    if (d == 0) return "[]";
  for (int64_t d : dims)
    count *= d;
  if (spec == kBrief) {
    if (count > kBriefThreshold) return type_text(dtype, dims);
    spec = {};
  }
  view.summarised = count > kThreshold;
  if (!spec.empty() || !is_float(dtype))
    return format_words(view, spec.empty() && dtype == DType::Bool ? 5 : 0,
                        [&](int64_t i) { return format_scalar(dtype, view.at(i), spec); });
  FloatFormat format = choose_format(view);
  auto element = [&](int64_t i) { return format_float(view, i, format); };
  return format_all(view, element);
}

void set_line_width(size_t columns) { line_width = columns; }

std::string type_text(DType dtype, std::span<const int64_t> dims) {
  std::string text{name_of(dtype)};
  if (dims.empty()) return text;
  for (size_t i = 0; i < dims.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : "[", dims[i]);
  return text + ']';
}

std::string debug_summary(DType dtype, std::span<const int64_t> dims, const std::byte* data) {
  std::string text = type_text(dtype, dims);
  View view{dtype, dims, data, false};
  int64_t count = 1;
  for (int64_t d : dims)
    count *= d;
  if (dims.empty()) return fmt::format("{} {}", text, format_scalar(dtype, view.at(0)));
  double sum = 0;
  int64_t nans = 0, least = -1, most = -1;
  auto value = [&](int64_t i) {
    if (is_float(dtype)) return float_value(dtype, view.at(i));
    Integer v = integer_value(dtype, view.at(i));
    return v.negative ? -static_cast<double>(v.magnitude) : static_cast<double>(v.magnitude);
  };
  for (int64_t i = 0; i < count; ++i) {
    double v = value(i);
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    sum += v;
    if (least < 0 || v < value(least)) least = i;
    if (most < 0 || v > value(most)) most = i;
  }
  if (least >= 0)
    text += fmt::format(" min {} mean {:.6g} max {}", format_scalar(dtype, view.at(least)),
                        sum / static_cast<double>(count - nans), format_scalar(dtype, view.at(most)));
  if (nans) text += fmt::format(", {} NaN", nans);
  return text;
}

// "0:07", "12:30", "3:05:09"
static std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 3.6e9) + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// "  12.5/s, 0:07 left". Nothing in the first moments, which say little about the rest.
static std::string pace_text(int64_t done, int64_t total, double seconds, bool is_last) {
  constexpr double kMoment = 0.5;
  if (done <= 0 || seconds < kMoment) return "";
  const double rate = static_cast<double>(done) / seconds;
  const std::string pace = rate >= 1 ? fmt::format("{:.{}f}/s", rate, rate < 100 ? 1 : 0)
                                     : fmt::format("{:.{}f} s each", 1 / rate, rate > 0.01 ? 1 : 0);
  return is_last ? fmt::format("  {}, {}", pace, clock_text(seconds))
                 : fmt::format("  {}, {} left", pace, clock_text(static_cast<double>(total - done) / rate));
}

std::string progress_text(int64_t done, int64_t total, std::string_view beside, const ProgressBar& bar) {
  constexpr int64_t kWidth = 30, kDraws = 200;
  constexpr double kStill = 1; // seconds after which a bar is drawn again, whatever has changed
  if (total <= 0) return "";
  auto steps = [&](int64_t at, int64_t parts) {
    return static_cast<int64_t>(static_cast<__int128>(at) * parts / total);
  };
  auto passed = [&](int64_t parts) { return done > 0 && steps(done, parts) != steps(done - 1, parts); };
  auto counts = [&](const std::string& pace) {
    return fmt::format("{:3}% {}/{}{}{}{}", steps(done, 100), done, total, pace, beside.empty() ? "" : "  ", beside);
  };
  if (!bar.terminal) return passed(10) ? fmt::format("progress {}\n", counts("")) : "";
  if (!bar.is_last && done > 0 && !passed(kDraws) && bar.still < kStill) return "";
  std::string blocks;
  int64_t eighths = steps(done, kWidth * 8);
  static constexpr const char* parts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (int64_t k = 0; k < kWidth; ++k, eighths -= 8)
    blocks += eighths >= 8 ? "█" : parts[std::max<int64_t>(eighths, 0)];
  return fmt::format("\r\x1b[K▕{}▏{}{}", blocks, counts(pace_text(done, total, bar.seconds, bar.is_last)),
                     bar.is_last ? "\n" : "");
}

} // namespace tl
