// The descriptions of figures (abi/plot_op.h), read.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tl::plot {

// Keys and values of one panel, of one of its layers, or of the whole figure.
class Properties {
public:
  void add(std::string_view key, std::string_view value) { all_.emplace_back(key, value); }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string text(std::string_view key) const; // "" where it is not there
  // Throws IoError where it is no number, or less than `least` or more than `most`.
  int64_t count(std::string_view key, int64_t otherwise, int64_t least, int64_t most) const;
  double number(std::string_view key, double otherwise) const;
  std::optional<std::pair<double, double>> range(std::string_view key) const; // two numbers with a blank between them
  std::vector<std::string> lines(std::string_view key) const;
  // The place of the value among these words; throws IoError for another one. Without the property it is `otherwise`.
  size_t choice(std::string_view key, std::span<const std::string_view> words, size_t otherwise) const;

private:
  const std::string* find(std::string_view key) const;
  std::vector<std::pair<std::string, std::string>> all_;
};

struct LayerText {
  std::string kind;
  Properties properties;
};
struct PanelText {
  Properties properties;
  std::vector<LayerText> layers;
};
struct FigureText {
  Properties properties;
  std::vector<PanelText> panels; // one at least
};

// In order: the figure's properties, and for each `panel` its own and for each `layer` its own.
FigureText read_description(std::string_view text);

} // namespace tl::plot
