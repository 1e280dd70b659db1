// Pictures of pixels: curves and dots with smooth edges, text in the built-in font.
#include "vm/io/formats.h"
#include "vm/plot/font.h"
#include "vm/plot/picture.h"
#include <algorithm>
#include <cmath>

namespace tl::plot {
namespace {

class Raster {
public:
  Raster(const Picture& picture, const Pixels& pixels, int scale)
      : pixels_(pixels), scale_(scale), width_(static_cast<int64_t>(picture.width * scale)),
        height_(static_cast<int64_t>(picture.height * scale)),
        image_(HostTensor::make(DType::U8, {height_, width_, 3})), cover_(static_cast<size_t>(width_ * height_)) {
    std::fill_n(image_.data(), image_.byte_count(), std::byte{255});
  }

  HostTensor run(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
      switch (shape.kind) {
      case Shape::Kind::Curve: curve(shape); break;
      case Shape::Kind::Dots:
        for (const Spot& s : shape.spots)
          segment(scaled(s), scaled(s), shape.size * scale_);
        blend(shape.colour);
        break;
      case Shape::Kind::Bar: bar(shape); break;
      case Shape::Kind::Text: text(shape); break;
      case Shape::Kind::Pixels: picture(shape); break;
      }
    }
    return image_;
  }

private:
  Spot scaled(const Spot& s) const { return {s.x * scale_, s.y * scale_}; }

  // Covers what is nearer than `radius` to the segment. Edges take a pixel.
  void segment(Spot a, Spot b, double radius) {
    const double reach = radius + 1;
    const auto left = std::max<int64_t>(0, static_cast<int64_t>(std::min(a.x, b.x) - reach));
    const auto right = std::min(width_ - 1, static_cast<int64_t>(std::max(a.x, b.x) + reach));
    const auto top = std::max<int64_t>(0, static_cast<int64_t>(std::min(a.y, b.y) - reach));
    const auto bottom = std::min(height_ - 1, static_cast<int64_t>(std::max(a.y, b.y) + reach));
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    for (int64_t y = top; y <= bottom; ++y)
      for (int64_t x = left; x <= right; ++x) {
        const double px = static_cast<double>(x) + 0.5 - a.x, py = static_cast<double>(y) + 0.5 - a.y;
        const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
        const double distance = std::hypot(px - along * dx, py - along * dy);
        const double part = std::clamp(radius + 0.5 - distance, 0.0, 1.0);
        if (part <= 0) continue;
        uint8_t& cover = cover_[static_cast<size_t>(y * width_ + x)];
        cover = std::max(cover, static_cast<uint8_t>(std::lround(part * 255)));
        touched_.push_back(y * width_ + x);
      }
    if (touched_.size() > (size_t{1} << 22)) { // each pixel once
      std::sort(touched_.begin(), touched_.end());
      touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    }
  }

  void mix(int64_t at, Colour colour, int64_t cover) {
    auto* p = reinterpret_cast<uint8_t*>(image_.data()) + at * 3;
    const uint8_t to[3] = {colour.red, colour.green, colour.blue};
    for (int c = 0; c < 3; ++c)
      p[c] = static_cast<uint8_t>((p[c] * (255 - cover) + to[c] * cover + 127) / 255);
  }

  void blend(Colour colour) {
    for (int64_t at : touched_) {
      uint8_t& cover = cover_[static_cast<size_t>(at)];
      if (cover) mix(at, colour, cover);
      cover = 0; // the next time it is done
    }
    touched_.clear();
  }

  void curve(const Shape& shape) {
    for (size_t i = 0; i + 1 < shape.spots.size(); ++i)
      segment(scaled(shape.spots[i]), scaled(shape.spots[i + 1]), shape.size * scale_ / 2);
    blend(shape.colour);
  }

  template <class Paint> void area(const Shape& shape, const Paint& paint) {
    const Spot a = scaled(shape.spots[0]), b = scaled(shape.spots[1]);
    const auto left = static_cast<int64_t>(std::lround(a.x)), top = static_cast<int64_t>(std::lround(a.y));
    const auto right = std::max(left + 1, static_cast<int64_t>(std::lround(b.x)));
    const auto bottom = static_cast<int64_t>(std::lround(b.y));
    for (int64_t y = std::max<int64_t>(0, top); y < std::min(height_, bottom); ++y)
      for (int64_t x = std::max<int64_t>(0, left); x < std::min(width_, right); ++x)
        paint(y * width_ + x, static_cast<double>(x - left) / static_cast<double>(right - left),
              static_cast<double>(y - top) / static_cast<double>(bottom - top));
  }

  void bar(const Shape& shape) {
    area(shape, [&](int64_t at, double, double) { mix(at, shape.colour, 255); });
  }

  void picture(const Shape& shape) {
    if (pixels_.rgba.empty()) return;
    area(shape, [&](int64_t at, double across, double down) {
      const auto x = static_cast<int64_t>(across * static_cast<double>(pixels_.width));
      const auto y = static_cast<int64_t>(down * static_cast<double>(pixels_.height));
      const auto& p = pixels_.rgba[static_cast<size_t>(y * pixels_.width + x)];
      mix(at, {p[0], p[1], p[2]}, p[3]);
    });
  }

  void text(const Shape& shape) {
    const std::vector<uint32_t> codes = code_points(shape.text);
    // A glyph of 7 rows is about the height of capitals of a font of size 10.
    const int64_t dot = std::max<int64_t>(1, std::lround(shape.size * scale_ / 12));
    const int64_t width = static_cast<int64_t>(codes.size()) * kGlyphAdvance * dot - dot;
    const Spot at = scaled(shape.spots[0]);
    auto x = static_cast<int64_t>(std::lround(at.x));
    const int64_t top = static_cast<int64_t>(std::lround(at.y)) - kGlyphBaseline * dot;
    if (shape.anchor == Shape::Anchor::Middle) x -= width / 2;
    if (shape.anchor == Shape::Anchor::End) x -= width;
    for (uint32_t code : codes) {
      const Glyph& rows = glyph(code);
      for (int64_t row = 0; row < kGlyphHeight * dot; ++row)
        for (int64_t column = 0; column < kGlyphWidth * dot; ++column) {
          const bool is_set = rows[static_cast<size_t>(row / dot)] >> (kGlyphWidth - 1 - column / dot) & 1;
          const int64_t px = x + column, py = top + row;
          if (is_set && px >= 0 && px < width_ && py >= 0 && py < height_) mix(py * width_ + px, shape.colour, 255);
        }
      x += kGlyphAdvance * dot;
    }
  }

  const Pixels& pixels_;
  int scale_;
  int64_t width_, height_;
  HostTensor image_;
  std::vector<uint8_t> cover_; // of the shape being drawn
  std::vector<int64_t> touched_;
};

} // namespace

HostTensor to_pixels(const Picture& picture, const Pixels& pixels, int scale) {
  return Raster(picture, pixels, scale).run(picture.shapes);
}

std::string to_png(const HostTensor& image) {
  std::string bytes;
  write_png([&](const void* data, size_t count) { bytes.append(static_cast<const char*>(data), count); }, "a picture",
            image);
  return bytes;
}

} // namespace tl::plot
