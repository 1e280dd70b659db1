#include "vm/plot/marks.h"
#include "vm/plot/picture.h"
#include <fmt/format.h>

namespace tl::plot {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string number(double x) { // two decimals at most
  std::string text = fmt::format("{:.2f}", x);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string colour(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string base64(const std::string& bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

std::string embedded(const Pixels& pixels) {
  HostTensor image = HostTensor::make(DType::U8, {pixels.height, pixels.width, 4});
  for (size_t i = 0; i < pixels.rgba.size(); ++i)
    for (size_t c = 0; c < 4; ++c)
      image.data()[i * 4 + c] = static_cast<std::byte>(pixels.rgba[i][c]);
  return base64(to_png(image));
}

std::string place(const Spot& s) { return number(s.x) + "," + number(s.y); }

std::string points(const std::vector<Spot>& spots) {
  std::string text;
  for (const Spot& s : spots)
    text += (text.empty() ? "" : " ") + place(s);
  return text;
}

std::string opacity(const Shape& shape) {
  return shape.opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", number(shape.opacity)) : "";
}

std::string dashes(const Shape& shape) {
  std::string text;
  for (double length : dash_pattern(shape.dash, shape.size))
    text += (text.empty() ? "" : " ") + number(length);
  return text.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", text);
}

std::string rectangle(const Spot& a, const Spot& b) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(a.x), number(a.y), number(b.x - a.x),
                     number(b.y - a.y));
}

std::string mark_text(const Shape& shape, const Spot& s) {
  const MarkOutline outline = mark_outline(shape.marker, s, shape.size);
  if (shape.marker == Marker::Circle)
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", number(s.x), number(s.y), number(shape.size));
  if (!outline.corners.empty()) return fmt::format("<polygon points=\"{}\"/>\n", points(outline.corners));
  std::string path;
  for (const auto& [a, b] : outline.strokes)
    path += fmt::format("M{}L{}", place(a), place(b));
  return fmt::format("<path stroke=\"{}\" stroke-width=\"{}\" d=\"{}\"/>\n", colour(shape.colour),
                     number(outline.width), path);
}

std::string shape_text(const Shape& shape) {
  const Spot& at = shape.spots[0];
  switch (shape.kind) {
  case Shape::Kind::Curve:
    return fmt::format(
        "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} stroke-linejoin=\"round\" points=\"{}\"/>\n",
        colour(shape.colour), number(shape.size), dashes(shape), points(shape.spots));
  case Shape::Kind::Segments: {
    std::string path;
    for (size_t i = 0; i + 1 < shape.spots.size(); i += 2)
      path += fmt::format("M{}L{}", place(shape.spots[i]), place(shape.spots[i + 1]));
    return fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" d=\"{}\"/>\n", colour(shape.colour),
                       number(shape.size), path);
  }
  case Shape::Kind::Marks: {
    std::string text = fmt::format("<g fill=\"{}\"{}>\n", colour(shape.colour), opacity(shape));
    for (const Spot& s : shape.spots)
      text += mark_text(shape, s);
    return text + "</g>\n";
  }
  case Shape::Kind::Bar:
    return fmt::format("<rect {} fill=\"{}\"{}/>\n", rectangle(at, shape.spots[1]), colour(shape.colour),
                       opacity(shape));
  case Shape::Kind::Area:
    return fmt::format("<polygon fill=\"{}\"{} points=\"{}\"/>\n", colour(shape.colour), opacity(shape),
                       points(shape.spots));
  case Shape::Kind::Text: {
    constexpr const char* anchors[] = {"start", "middle", "end"};
    const std::string turned =
        shape.upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", number(at.x), number(at.y)) : "";
    return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                       number(at.x), number(at.y), number(shape.size), anchors[static_cast<int>(shape.anchor)],
                       colour(shape.colour), turned, escaped(shape.text));
  }
  case Shape::Kind::Pixels:
    if (shape.pixels.rgba.empty()) return "";
    return fmt::format("<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                       "href=\"data:image/png;base64,{}\"/>\n",
                       rectangle(at, shape.spots[1]), embedded(shape.pixels));
  }
  return "";
}

bool same(const Frame& a, const Frame& b) {
  return a.left == b.left && a.right == b.right && a.top == b.top && a.bottom == b.bottom;
}

// Writes shapes, those with a clip in a group that has it.
class Writer {
public:
  std::string run(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
      std::string text = shape_text(shape);
      if (shape.clip) text = fmt::format("<g clip-path=\"url(#clip{})\">\n{}</g>\n", clip(*shape.clip), text);
      text_ += text;
    }
    return std::move(text_);
  }

private:
  size_t clip(const Frame& f) {
    for (size_t i = 0; i < clips_.size(); ++i)
      if (same(clips_[i], f)) return i;
    text_ += fmt::format("<clipPath id=\"clip{}\"><rect {}/></clipPath>\n", clips_.size(),
                         rectangle({f.left, f.top}, {f.right, f.bottom}));
    clips_.push_back(f);
    return clips_.size() - 1;
  }

  std::string text_;
  std::vector<Frame> clips_;
};

} // namespace

std::string to_svg(const Picture& picture) {
  std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                                 "viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
                                 "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                                 number(picture.width), number(picture.height));
  return text + Writer().run(picture.shapes) + "</svg>\n";
}

} // namespace tl::plot
