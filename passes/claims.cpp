// Makes effects wait for the checks of sizes before them.
//
// A size that is declared may be used without the value that was checked for it: `print(len(y))`. Where the check
// fails, nothing that follows it may be seen, so it is an assertion, too.
//
// Needs: no transforms of functions; calls that are inlined, but for recursive ones.
// Gives: an effect behind a Guard of sizes, in the same region or one inside of it, comes after an Assert of the same.
#include "ir/graph/graph.h"
#include "passes/passes.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

// A site's message, whose {0} and {1} are the operands behind a Guard's condition, as a format of these.
FormatTemplate format_of(const std::string& message, const std::vector<ValueId>& values, std::vector<ValueId>& shown) {
  FormatTemplate format;
  std::string literal;
  for (size_t i = 0; i < message.size(); ++i) {
    const size_t number = i + 2 < message.size() ? static_cast<size_t>(message[i + 1] - '0') : values.size();
    if (message[i] == '{' && number < values.size() && message[i + 2] == '}') {
      format.literals.push_back(std::move(literal));
      format.specs.emplace_back();
      shown.push_back(values[number]);
      literal.clear();
      i += 2;
    } else {
      literal += message[i];
    }
  }
  format.literals.push_back(std::move(literal));
  return format;
}

bool is_token(const Function& f, ValueId value) { return f[value].type == Type::token(); }

ValueId token_among(const Function& f, const std::vector<ValueId>& values) {
  const auto found = std::find_if(values.begin(), values.end(), [&](ValueId value) { return is_token(f, value); });
  return found == values.end() ? ValueId{} : *found;
}

class Claims {
public:
  Claims(Module& module, Function& function) : module_(module), f_(function) {}

  void run() { region(f_.body, token_among(f_, f_.body.params)); }

private:
  // token: the newest, of the region or, in a branch, from outside of it; invalid where nothing has effects.
  void region(Region& r, ValueId token) {
    auto renew = [&](std::vector<ValueId>& values) {
      for (ValueId& value : values)
        if (is_token(f_, value)) value = token;
    };
    Region out;
    for (NodeId id : r.nodes) {
      renew(f_[id].operands);
      if (token.valid() && f_[id].op == Op::Guard && is_claim(f_[id])) token = assertion(out, id, token);
      const ValueId result = token_among(f_, f_[id].results);
      for (size_t i = 0; i < f_[id].regions.size(); ++i) {
        Region inner = std::move(f_[id].regions[i]); // adding nodes moves the others
        ValueId own = token_among(f_, inner.params);
        if (!own.valid() && f_[id].op == Op::If && result.valid()) own = token;
        region(inner, own);
        f_[id].regions[i] = std::move(inner);
      }
      if (result.valid()) token = result;
      out.nodes.push_back(id);
    }
    renew(r.yields);
    r.nodes = std::move(out.nodes);
  }

  // Also what the library asks of arguments, before it relies on their sizes: of two failures the first is reported.
  bool is_claim(const Node& guard) const {
    const std::string& kind = module_.sites[guard.as<SiteAttrs>().site].kind;
    return (kind == "ShapeMismatch" || kind == "WrongArguments") && f_[guard.operands[1]].type.is_scalar();
  }

  ValueId assertion(Region& into, NodeId id, ValueId token) {
    const Node& guard = f_[id];
    const uint32_t site = guard.as<SiteAttrs>().site;
    std::vector<ValueId> operands{token, guard.operands[1]};
    const std::vector<ValueId> values(guard.operands.begin() + 2, guard.operands.end());
    FormatTemplate format = format_of(module_.sites[site].message, values, operands);
    const LocId at = guard.loc;
    return Builder(module_, f_, into)
        .one(Op::Assert, std::move(operands), Type::token(), AssertAttrs{site, std::move(format)}, at);
  }

  Module& module_;
  Function& f_;
};

} // namespace

Module claims(Module module) {
  for (Function& function : module.functions)
    Claims(module, function).run();
  return module;
}

} // namespace tl
