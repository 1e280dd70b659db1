// Pictures of pixels: everything with smooth edges, text in the built-in font.
#include "vm/io/formats.h"
#include "vm/plot/coverage.h"
#include "vm/plot/font.h"
#include "vm/plot/marks.h"
#include "vm/plot/picture.h"
#include <algorithm>
#include <cmath>

namespace tl::plot {
namespace {

constexpr int64_t kOpaque = 255;

class Raster {
public:
  Raster(const Picture& picture, int scale)
      : scale_(scale), width_(static_cast<int64_t>(picture.width * scale)),
        height_(static_cast<int64_t>(picture.height * scale)),
        image_(HostTensor::make(DType::U8, {height_, width_, 3})), cover_(width_, height_) {
    std::fill_n(image_.data(), image_.byte_count(), std::byte{255});
  }

  HostTensor run(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
      clip_ = shape.clip ? pixels_of(*shape.clip) : Window{0, width_, 0, height_};
      draw(shape);
    }
    return image_;
  }

private:
  struct Window { // of pixels; the ends are outside
    int64_t left = 0, right = 0, top = 0, bottom = 0;
  };
  Window pixels_of(const Frame& f) const {
    const auto pixel = [&](double at, int64_t most) {
      return std::clamp<int64_t>(std::lround(std::clamp(at * scale_, -1e9, 1e9)), 0, most);
    };
    return {pixel(f.left, width_), pixel(f.right, width_), pixel(f.top, height_), pixel(f.bottom, height_)};
  }
  Spot scaled(const Spot& s) const { return {s.x * scale_, s.y * scale_}; }

  void draw(const Shape& shape) {
    switch (shape.kind) {
    case Shape::Kind::Curve: return curve(shape);
    case Shape::Kind::Segments:
      for (size_t i = 0; i + 1 < shape.spots.size(); i += 2)
        stroke(shape.spots[i], shape.spots[i + 1], shape.size);
      return blend(shape);
    case Shape::Kind::Marks: return marks(shape);
    case Shape::Kind::Bar: return bar(shape);
    case Shape::Kind::Area: fill(shape.spots); return blend(shape);
    case Shape::Kind::Text: return text(shape);
    case Shape::Kind::Pixels: return picture(shape);
    }
  }

  void mix(int64_t at, Colour colour, int64_t cover) {
    auto* p = reinterpret_cast<uint8_t*>(image_.data()) + at * 3;
    const uint8_t to[3] = {colour.red, colour.green, colour.blue};
    for (int c = 0; c < 3; ++c)
      p[c] = static_cast<uint8_t>((p[c] * (kOpaque - cover) + to[c] * cover + kOpaque / 2) / kOpaque);
  }

  // Paints what the shape covers.
  void blend(const Shape& shape) {
    cover_.take([&](int64_t x, int64_t y, double part) {
      if (x >= clip_.left && x < clip_.right && y >= clip_.top && y < clip_.bottom)
        mix(y * width_ + x, shape.colour, std::lround(part * shape.opacity * kOpaque));
    });
  }

  void stroke(const Spot& a, const Spot& b, double width) { cover_.stroke(scaled(a), scaled(b), width * scale_ / 2); }

  void fill(const std::vector<Spot>& corners) {
    for (size_t i = 0; i < corners.size(); ++i)
      cover_.edge(scaled(corners[i]), scaled(corners[(i + 1) % corners.size()]));
    cover_.end_polygon();
  }

  void curve(const Shape& shape) {
    const std::vector<double> pattern = dash_pattern(shape.dash, shape.size);
    if (pattern.empty())
      for (size_t i = 0; i + 1 < shape.spots.size(); ++i)
        stroke(shape.spots[i], shape.spots[i + 1], shape.size);
    else
      dashed(shape, pattern);
    blend(shape);
  }

  void dashed(const Shape& shape, const std::vector<double>& pattern) {
    size_t turn = 0;
    double left = pattern[0]; // of this stroke or gap
    for (size_t i = 0; i + 1 < shape.spots.size(); ++i) {
      const Spot &a = shape.spots[i], &b = shape.spots[i + 1];
      const double length = std::hypot(b.x - a.x, b.y - a.y);
      for (double at = 0; at < length;) {
        const double end = std::min(length, at + left);
        const auto spot = [&](double d) {
          return Spot{a.x + (b.x - a.x) * d / length, a.y + (b.y - a.y) * d / length};
        };
        if (turn % 2 == 0) stroke(spot(at), spot(end), shape.size);
        left -= end - at;
        at = end;
        if (left <= 1e-9) left = pattern[++turn % pattern.size()];
      }
    }
  }

  void marks(const Shape& shape) {
    for (const Spot& s : shape.spots) {
      const MarkOutline outline = mark_outline(shape.marker, s, shape.size);
      if (shape.marker == Marker::Circle) stroke(s, s, shape.size * 2);
      if (!outline.corners.empty()) fill(outline.corners);
      for (const auto& [a, b] : outline.strokes)
        stroke(a, b, outline.width);
      if (shape.opacity < 1) blend(shape); // where they overlap they are darker
    }
    blend(shape);
  }

  template <class Paint> void rectangle(const Shape& shape, const Paint& paint) {
    const Spot a = scaled(shape.spots[0]), b = scaled(shape.spots[1]);
    const auto left = static_cast<int64_t>(std::lround(a.x)), top = static_cast<int64_t>(std::lround(a.y));
    const auto right = std::max(left + 1, static_cast<int64_t>(std::lround(b.x)));
    const auto bottom = static_cast<int64_t>(std::lround(b.y));
    for (int64_t y = std::max(clip_.top, top); y < std::min(clip_.bottom, bottom); ++y)
      for (int64_t x = std::max(clip_.left, left); x < std::min(clip_.right, right); ++x)
        paint(y * width_ + x, static_cast<double>(x - left) / static_cast<double>(right - left),
              static_cast<double>(y - top) / static_cast<double>(bottom - top));
  }

  void bar(const Shape& shape) {
    const int64_t cover = std::lround(shape.opacity * kOpaque);
    rectangle(shape, [&](int64_t at, double, double) { mix(at, shape.colour, cover); });
  }

  void picture(const Shape& shape) {
    const Pixels& pixels = shape.pixels;
    if (pixels.rgba.empty()) return;
    rectangle(shape, [&](int64_t at, double across, double down) {
      const auto x = static_cast<int64_t>(across * static_cast<double>(pixels.width));
      const auto y = static_cast<int64_t>(down * static_cast<double>(pixels.height));
      const auto& p = pixels.rgba[static_cast<size_t>(y * pixels.width + x)];
      mix(at, {p[0], p[1], p[2]}, p[3]);
    });
  }

  void text(const Shape& shape) {
    const double width = text_width(shape.text);
    double pen = shape.anchor == Shape::Anchor::Middle ? -width / 2 : shape.anchor == Shape::Anchor::End ? -width : 0;
    for (uint32_t code : code_points(shape.text)) {
      const Glyph& g = glyph(code);
      for (const auto& contour : g.contours)
        outline(shape, contour, pen);
      cover_.end_polygon();
      pen += g.advance;
    }
    blend(shape);
  }

  // A closed contour: lines, and quadratic curves around the points that are not on it.
  void outline(const Shape& shape, const std::vector<OutlinePoint>& contour, double pen) {
    const auto placed = [&](double x, double y) {
      const double right = (pen + x) * shape.size, up = y * shape.size;
      const Spot& at = shape.spots[0];
      return scaled(shape.upwards ? Spot{at.x - up, at.y - right} : Spot{at.x + right, at.y - up});
    };
    const size_t n = contour.size();
    const auto middle = [](const OutlinePoint& a, const OutlinePoint& b) {
      return OutlinePoint{(a.x + b.x) / 2, (a.y + b.y) / 2, true};
    };
    OutlinePoint last = contour[0];
    for (size_t i = 1; i <= n; ++i) {
      const OutlinePoint& p = contour[i % n];
      if (p.on) {
        cover_.edge(placed(last.x, last.y), placed(p.x, p.y));
        last = p;
        continue;
      }
      const OutlinePoint& next = contour[(i + 1) % n];
      const OutlinePoint end = next.on ? next : middle(p, next);
      bend(last, p, end, placed);
      last = end;
      if (next.on) ++i;
    }
  }
  void bend(const OutlinePoint& a, const OutlinePoint& control, const OutlinePoint& b, const auto& placed) {
    constexpr int steps = 5;
    Spot before = placed(a.x, a.y);
    for (int k = 1; k <= steps; ++k) {
      const double t = static_cast<double>(k) / steps, s = 1 - t;
      const Spot here =
          placed(s * s * a.x + 2 * s * t * control.x + t * t * b.x, s * s * a.y + 2 * s * t * control.y + t * t * b.y);
      cover_.edge(before, here);
      before = here;
    }
  }

  int scale_;
  int64_t width_, height_;
  HostTensor image_;
  Coverage cover_; // of the shape being drawn
  Window clip_;
};

} // namespace

HostTensor to_pixels(const Picture& picture, int scale) { return Raster(picture, scale).run(picture.shapes); }

std::string to_png(const HostTensor& image) {
  std::string bytes;
  write_png([&](const void* data, size_t count) { bytes.append(static_cast<const char*>(data), count); }, "a picture",
            image);
  return bytes;
}

} // namespace tl::plot
