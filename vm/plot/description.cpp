#include "vm/plot/description.h"
#include "abi/plot_op.h"
#include "vm/io/io.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tl::plot {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw IoError(message, "InvalidRange"); }

template <class T> std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace

const std::string* Properties::find(std::string_view key) const {
  auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& p) { return p.first == key; });
  return found == all_.end() ? nullptr : &found->second;
}

std::string Properties::text(std::string_view key) const {
  const std::string* value = find(key);
  return value ? *value : "";
}

int64_t Properties::count(std::string_view key, int64_t otherwise, int64_t least, int64_t most) const {
  const std::string* value = find(key);
  if (!value) return otherwise;
  const auto number = parsed<int64_t>(*value);
  if (!number || *number < least || *number > most)
    refuse(fmt::format("{} of a plot: {} to {}, not {}", key, least, most, *value));
  return *number;
}

double Properties::number(std::string_view key, double otherwise) const {
  const std::string* value = find(key);
  if (!value) return otherwise;
  const auto number = parsed<double>(*value);
  if (!number) refuse(fmt::format("{} of a plot is a number, not {}", key, *value));
  return *number;
}

std::optional<std::pair<double, double>> Properties::range(std::string_view key) const {
  const std::string* value = find(key);
  if (!value) return std::nullopt;
  const size_t blank = std::min(value->find(' '), value->size());
  const std::string_view all = *value;
  const auto a = parsed<double>(all.substr(0, blank)), b = parsed<double>(all.substr(std::min(blank + 1, all.size())));
  if (!a || !b) refuse(fmt::format("{} of a plot is a pair of numbers, not {}", key, *value));
  return std::pair(*a, *b);
}

std::vector<std::string> Properties::lines(std::string_view key) const {
  std::vector<std::string> result;
  const std::string all = text(key);
  for (size_t begin = 0; begin <= all.size() && has(key);) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    result.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

size_t Properties::choice(std::string_view key, std::span<const std::string_view> words, size_t otherwise) const {
  const std::string* value = find(key);
  if (!value) return otherwise;
  const auto found = std::find(words.begin(), words.end(), *value);
  if (found == words.end()) {
    std::string all;
    for (std::string_view word : words)
      all.append(all.empty() ? "" : ", ").append(word);
    refuse(fmt::format("{} of a plot is one of {}, not \"{}\"", key, all, *value));
  }
  return static_cast<size_t>(found - words.begin());
}

FigureText read_description(std::string_view text) {
  FigureText figure;
  Properties* properties = &figure.properties;
  while (!text.empty()) {
    const size_t key_end = text.find(kKeyEnd), value_end = text.find(kValueEnd);
    if (value_end == std::string_view::npos || key_end > value_end) refuse("the description of a plot is not complete");
    const std::string_view key = text.substr(0, key_end), value = text.substr(key_end + 1, value_end - key_end - 1);
    text.remove_prefix(value_end + 1);
    if (key == "panel") {
      properties = &figure.panels.emplace_back().properties;
    } else if (key == "layer") {
      if (figure.panels.empty()) figure.panels.emplace_back();
      properties = &figure.panels.back().layers.emplace_back(LayerText{std::string(value), {}}).properties;
    } else {
      properties->add(key, value);
    }
  }
  if (figure.panels.empty()) figure.panels.push_back({figure.properties, {}});
  return figure;
}

} // namespace tl::plot
