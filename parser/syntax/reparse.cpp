#include "parser/syntax/reparse.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace tl {

TextEdit difference(std::string_view before, std::string_view after) {
  const size_t shorter = std::min(before.size(), after.size());
  size_t head = 0, tail = 0;
  while (head < shorter && before[head] == after[head])
    ++head;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  return {static_cast<uint32_t>(head), static_cast<uint32_t>(before.size() - tail),
          static_cast<uint32_t>(after.size() - tail)};
}

// ---- moving --------------------------------------------------------------------------------------------------------

namespace {

// The spans of a node, by the fields of its structs, so that none is forgotten. What a node points to is another node.
struct AnyField {
  template <class T> operator T() const; // never defined: it only counts
};
template <class T, class... Fields> constexpr size_t field_count() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; })
    return field_count<T, Fields..., AnyField>();
  else
    return sizeof...(Fields);
}

template <class T, class Act> void each_field(T& node, const Act& act) {
  constexpr size_t kCount = field_count<T>();
  static_assert(kCount <= 7, "a node has more fields than this knows");
  if constexpr (kCount == 1) {
    auto& [a] = node;
    act(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = node;
    (act(a), act(b));
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = node;
    (act(a), act(b), act(c));
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = node;
    (act(a), act(b), act(c), act(d));
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = node;
    (act(a), act(b), act(c), act(d), act(e));
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = node;
    (act(a), act(b), act(c), act(d), act(e), act(f));
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = node;
    (act(a), act(b), act(c), act(d), act(e), act(f), act(g));
  }
}

class Mover {
public:
  explicit Mover(const std::function<Span(Span)>& place) : place_(place) {}

  void move(Span& span) const {
    if (span.valid()) span = place_(span);
  }
  void move(std::string&) const {}
  template <class T> void move(std::vector<T>& all) const {
    for (T& one : all)
      move(one);
  }
  template <class T> void move(std::optional<T>& part) const {
    if (part) move(*part);
  }
  template <class... T> void move(std::variant<T...>& node) const {
    std::visit([&](auto& of) { move(of); }, node);
  }
  template <class T> void move(T& part) const {
    if constexpr (std::is_aggregate_v<T>)
      each_field(part, [&](auto& field) { move(field); });
    else
      static_assert(std::is_scalar_v<T>);
  }

private:
  const std::function<Span(Span)>& place_;
};

} // namespace

void move_nodes(ast::Arena& arena, const std::function<Span(Span)>& place) {
  const Mover mover(place);
  const auto all = [&](auto& nodes) {
    for (auto& node : nodes)
      mover.move(node);
  };
  all(arena.exprs);
  all(arena.stmts);
  all(arena.types);
  all(arena.patterns);
}

// ---- reading again -------------------------------------------------------------------------------------------------

std::optional<Reparsed> reparse(SourceManager& sources, const ast::File& before, FileId now, TextEdit edit) {
  const std::vector<ast::Stmt*>& all = before.statements;
  const auto begins_at = [](uint32_t place, const ast::Stmt* s) { return place < s->span.begin; };
  // What ends or begins where the edit does may have grown together with it.
  auto first = std::lower_bound(all.begin(), all.end(), edit.begin,
                                [](const ast::Stmt* s, uint32_t place) { return s->span.begin < place; });
  if (first != all.begin()) --first;
  const auto last = std::upper_bound(all.begin(), all.end(), edit.old_end, begins_at);
  if (first == last || (*first)->span.begin > edit.begin) return std::nullopt; // what stands above the first one
  const std::string_view text = sources.text(now);
  const uint32_t begin = (*first)->span.begin;
  const auto end =
      static_cast<uint32_t>(last == all.end() ? text.size() : (*last)->span.begin + edit.new_end - edit.old_end);
  const FileId part = sources.add(sources.name(now), std::string(text.substr(begin, end - begin)));
  Diagnostics diagnostics;
  Reparsed result{static_cast<size_t>(first - all.begin()), static_cast<size_t>(last - first),
                  parse(sources, part, diagnostics)};
  sources.forget(part);
  const std::vector<ast::Stmt*>& made = result.part.statements;
  const uint32_t code_end = made.empty() ? begin : begin + made.back()->span.end;
  if (!diagnostics.empty() || (last != all.end() && text.substr(code_end, end - code_end).find('\n') == text.npos))
    return std::nullopt;
  move_nodes(*result.part.arena, [&](Span span) { return Span{now, span.begin + begin, span.end + begin}; });
  result.part.id = now;
  return result;
}

} // namespace tl
