#include "vm/plot/colour.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

namespace tl::plot {
namespace {

struct Named {
  std::string_view name;
  Colour colour;
};
constexpr Named kNamed[] = {
    {"blue", {31, 119, 180}},    {"red", {214, 39, 40}},    {"green", {44, 160, 44}},  {"orange", {255, 127, 14}},
    {"purple", {148, 103, 189}}, {"brown", {140, 86, 75}},  {"pink", {227, 119, 194}}, {"cyan", {23, 190, 207}},
    {"black", {0, 0, 0}},        {"grey", {127, 127, 127}}, {"gray", {127, 127, 127}}, {"white", {255, 255, 255}},
    {"yellow", {230, 200, 40}},
};
constexpr size_t kLineColours = 8; // the first of them

// Evenly spaced; what lies between two is mixed of both. Viridis is that of Smith and van der Walt (CC0), at 17 places.
constexpr Colour kViridis[] = {{68, 1, 84},    {72, 24, 106},  {71, 45, 123},  {66, 64, 134},  {59, 82, 139},
                               {51, 99, 141},  {44, 114, 142}, {38, 130, 142}, {33, 145, 140}, {31, 160, 136},
                               {40, 174, 128}, {63, 188, 115}, {94, 201, 98},  {132, 212, 75}, {173, 220, 48},
                               {216, 226, 25}, {253, 231, 37}};
constexpr Colour kGrey[] = {{0, 0, 0}, {255, 255, 255}};
constexpr Colour kBlues[] = {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}};
constexpr Colour kDiverging[] = {{33, 60, 140},   {90, 130, 200}, {180, 205, 235}, {245, 245, 245},
                                 {240, 190, 170}, {205, 100, 80}, {140, 20, 35}};

std::span<const Colour> colours_of(ColourMap map) {
  switch (map) {
  case ColourMap::Viridis: return kViridis;
  case ColourMap::Grey: return kGrey;
  case ColourMap::Blues: return kBlues;
  case ColourMap::Diverging: return kDiverging;
  }
  return kGrey;
}

std::optional<uint8_t> hex_byte(std::string_view digits) {
  int value = 0;
  for (char c : digits) {
    const bool decimal = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
    if (!decimal && !lower && !upper) return std::nullopt;
    value = value * 16 + (decimal ? c - '0' : lower ? c - 'a' + 10 : c - 'A' + 10);
  }
  return static_cast<uint8_t>(value);
}

} // namespace

Colour line_colour(size_t i) { return kNamed[i % kLineColours].colour; }

std::optional<Colour> colour_named(std::string_view name) {
  if (name.size() == 7 && name[0] == '#') {
    const auto red = hex_byte(name.substr(1, 2)), green = hex_byte(name.substr(3, 2)),
               blue = hex_byte(name.substr(5, 2));
    if (red && green && blue) return Colour{*red, *green, *blue};
  }
  for (const Named& named : kNamed)
    if (named.name == name) return named.colour;
  return std::nullopt;
}

Colour colour_at(ColourMap map, double part) {
  const std::span<const Colour> colours = colours_of(map);
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(colours.size() - 1);
  const auto i = std::min(static_cast<size_t>(at), colours.size() - 2);
  const double rest = at - static_cast<double>(i);
  auto mixed = [&](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + (b - a) * rest)); };
  const Colour &a = colours[i], &b = colours[i + 1];
  return {mixed(a.red, b.red), mixed(a.green, b.green), mixed(a.blue, b.blue)};
}

} // namespace tl::plot
