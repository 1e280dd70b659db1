// The result of passes/memory/peak_memory.h in words.
#include "passes/memory/peak_memory.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tl {

static bool same(const PeakMemory::Part& a, const PeakMemory::Part& b) {
  return a.bytes == b.bytes && a.what == b.what && a.dims == b.dims && a.loc == b.loc;
}

// Without the terms after the first few, those that a bound has of names found in data.
static std::string short_text(const SizeAtoms& atoms, const Size& size) {
  constexpr size_t kMostTerms = 12;
  if (size.terms.size() <= kMostTerms) return atoms.to_string(size);
  Size shown;
  shown.terms.assign(size.terms.begin(), size.terms.begin() + kMostTerms);
  return fmt::format("{} + {} such terms", atoms.to_string(shown), size.terms.size() - kMostTerms);
}

std::string to_text(const PeakMemory& peak, const std::function<std::string(LocId)>& place) {
  constexpr size_t kMostMoments = 3, kMostLines = 4;
  std::string text;
  auto at = [&](LocId loc) {
    std::string where = place(loc);
    return where.empty() ? "" : " at " + where;
  };
  for (const PeakMemory::Device& device : peak.devices) {
    std::vector<std::string> formulas;
    for (const auto& moment : device.moments)
      formulas.push_back(short_text(peak.atoms, moment.bytes));
    const size_t most_parts = device.moments.size() > 1 ? 3 : 5;
    std::string formula = formulas.empty() ? "0" : formulas[0];
    if (formulas.size() > 1) formula = fmt::format("max({})", fmt::join(formulas, ", "));
    bool lacks = false;
    for (const auto& unknown : peak.unknown)
      lacks = lacks || unknown.name.empty();
    text += fmt::format("peak of {}: {}{} bytes\n", device.name,
                        lacks            ? "at least "
                        : device.at_most ? "at most "
                                         : "",
                        formula);
    for (size_t k = 0; k < device.moments.size() && k < kMostMoments; ++k) {
      const PeakMemory::Moment& moment = device.moments[k];
      if (moment.parts.empty()) continue;
      text += fmt::format("  {}{}:\n", device.moments.size() > 1 ? formulas[k] : "it is reached", at(moment.loc));
      Size rest = moment.bytes;
      size_t lines = 0, shown = 0;
      for (size_t n = 0; n < moment.parts.size() && lines < most_parts; ++lines) {
        const PeakMemory::Part& part = moment.parts[n];
        int64_t alike = 0; // of a list, say
        for (; n < moment.parts.size() && same(moment.parts[n], part); ++n)
          ++alike;
        std::string what = alike > 1 ? fmt::format("{} times ", alike) + part.what : part.what;
        for (size_t axis = 0; axis < part.dims.size(); ++axis)
          what += (axis ? ", " : "[") + peak.atoms.to_string(part.dims[axis]);
        if (!part.dims.empty()) what += "]";
        Size bytes = part.bytes * Size(alike);
        text += fmt::format("    {:<20} {}{}\n", peak.atoms.to_string(bytes), what, at(part.loc));
        rest = rest - bytes;
        shown = n;
      }
      if (shown < moment.parts.size() && !device.at_most)
        text += fmt::format("    {:<20} {} more\n", peak.atoms.to_string(rest), moment.parts.size() - shown);
    }
    if (device.exact)
      text +=
          fmt::format("  {} {} bytes in blocks of the pool\n", device.always ? "exactly" : "at most", *device.exact);
  }
  std::vector<std::string> lines; // the same may be said of several instructions of a line
  for (const auto& unknown : peak.unknown) {
    std::string line =
        fmt::format("  {}: {}{}\n", unknown.name.empty() ? "not known" : unknown.name, unknown.what, at(unknown.loc));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  for (size_t k = 0; k < lines.size() && k < kMostLines; ++k)
    text += lines[k];
  if (lines.size() > kMostLines) text += fmt::format("  and {} more\n", lines.size() - kMostLines);
  return text;
}

} // namespace tl
