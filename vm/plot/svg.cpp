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

std::string shape_text(const Shape& shape, const Pixels& pixels) {
  const Spot& at = shape.spots[0];
  switch (shape.kind) {
  case Shape::Kind::Curve: {
    std::string points;
    for (const Spot& s : shape.spots)
      points += fmt::format("{}{},{}", points.empty() ? "" : " ", number(s.x), number(s.y));
    return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" "
                       "points=\"{}\"/>\n",
                       colour(shape.colour), number(shape.size), points);
  }
  case Shape::Kind::Dots: {
    std::string text = fmt::format("<g fill=\"{}\">\n", colour(shape.colour));
    for (const Spot& s : shape.spots)
      text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", number(s.x), number(s.y), number(shape.size));
    return text + "</g>\n";
  }
  case Shape::Kind::Bar:
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", number(at.x), number(at.y),
                       number(shape.spots[1].x - at.x), number(shape.spots[1].y - at.y), colour(shape.colour));
  case Shape::Kind::Text: {
    constexpr const char* anchors[] = {"start", "middle", "end"};
    return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n",
                       number(at.x), number(at.y), number(shape.size), anchors[static_cast<int>(shape.anchor)],
                       colour(shape.colour), escaped(shape.text));
  }
  case Shape::Kind::Pixels:
    if (pixels.rgba.empty()) return "";
    return fmt::format("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
                       "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
                       number(at.x), number(at.y), number(shape.spots[1].x - at.x), number(shape.spots[1].y - at.y),
                       embedded(pixels));
  }
  return "";
}

} // namespace

std::string to_svg(const Picture& picture, const Pixels& pixels) {
  std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                                 "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n"
                                 "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                                 number(picture.width), number(picture.height));
  for (const Shape& shape : picture.shapes)
    text += shape_text(shape, pixels);
  return text + "</svg>\n";
}

} // namespace tl::plot
