"""Draws how many times as long as tl the best peer takes: docs/images/ratios.svg, which bench/tables.py writes."""
import math

LEFT, WIDTH, STEP, TOP = 170, 430, 24, 34


def draw(ratios):
    """The picture, as text of an SVG. `ratios`: by name."""
    rows = sorted(ratios.items(), key=lambda row: -row[1])
    low = min(-1, math.floor(min(math.log2(r) for _, r in rows)))
    high = max(1, math.ceil(max(math.log2(r) for _, r in rows)))

    def at(ratio):
        return LEFT + WIDTH * (math.log2(ratio) - low) / (high - low)

    height = TOP + STEP * len(rows) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 70} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    for power in range(low, high + 1):
        x = at(2.0**power)
        text = f"{2**power} ×" if power >= 0 else f"1/{2**-power}"
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 12}" stroke="{"#444444" if power == 0 else "#dddddd"}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 14}" text-anchor="middle" fill="#444444">{text}</text>')
    for i, (name, ratio) in enumerate(rows):
        y = TOP + STEP * i
        x0, x1 = sorted((at(1.0), at(ratio)))
        colour = "#2a6f97" if ratio >= 1 else "#c8553d"
        out.append(f'<text x="{LEFT - 10}" y="{y + 12}" text-anchor="end" fill="#222222">{name}</text>')
        out.append(f'<rect x="{x0:.1f}" y="{y}" width="{max(x1 - x0, 1):.1f}" height="16" fill="{colour}"/>')
        out.append(f'<text x="{max(x1, at(1.0)) + 6:.1f}" y="{y + 12}" fill="#222222">{ratio:.2g}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
