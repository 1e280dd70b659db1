// The reader and importer of ONNX models. Files are changed as trees of messages, whose lengths are right again when
// they are written: bytes changed at random would seldom get past the reader.
#include "importers/onnx/import.h"
#include "importers/onnx/wire.h"
#include "vm/io/access.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using namespace tl;
using onnx::WireType;

constexpr uint64_t kMostBytes = 64 << 20; // of what is read
constexpr int kDeepest = 12;

// A field, and the fields inside where its bytes are a message. (Names may be taken for messages: no harm.)
struct Node {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  uint64_t value = 0;
  std::string bytes;
  std::vector<Node> inside;
};

std::optional<std::vector<Node>> parse(onnx::Bytes message, int depth) {
  std::vector<Node> nodes;
  try {
    for (onnx::FieldReader reader(message); reader.next();) {
      const onnx::Field& field = reader.field();
      Node node{field.number, field.type, field.value, std::string(field.text()), {}};
      if (field.type == WireType::Length && depth < kDeepest && !field.bytes.empty())
        if (auto inside = parse(field.bytes, depth + 1)) node.inside = std::move(*inside);
      nodes.push_back(std::move(node));
    }
  } catch (const onnx::WireError&) {
    return std::nullopt;
  }
  return nodes;
}

void write_varint(uint64_t value, std::string& to) {
  for (; value >= 128; value >>= 7)
    to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

std::string written(const std::vector<Node>& nodes) {
  std::string to;
  for (const Node& node : nodes) {
    write_varint(uint64_t{node.number} << 3 | static_cast<uint64_t>(node.type), to);
    switch (node.type) {
    case WireType::Varint: write_varint(node.value, to); break;
    case WireType::Fixed64: to.append(reinterpret_cast<const char*>(&node.value), 8); break;
    case WireType::Fixed32: to.append(reinterpret_cast<const char*>(&node.value), 4); break;
    case WireType::Length: {
      const std::string bytes = node.inside.empty() ? node.bytes : written(node.inside);
      write_varint(bytes.size(), to);
      to += bytes;
    }
    }
  }
  return to;
}

struct Place {
  std::vector<Node>* siblings;
  size_t at;
  Node& node() const { return (*siblings)[at]; }
};

void list_places(std::vector<Node>& nodes, std::vector<Place>& places) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    places.push_back({&nodes, i});
    list_places(nodes[i].inside, places);
  }
}

using Source = std::minstd_rand;

size_t below(Source& source, size_t count) { return source() % count; }

void change_value(Node& node, Source& source) {
  constexpr uint64_t extremes[] = {
      0, 1, 2, 3, 7, 64, ~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1} << 31, uint64_t{1} << 63, uint64_t{1} << 40};
  if (node.type != WireType::Length) {
    node.value = source() % 2 ? extremes[below(source, std::size(extremes))] : node.value + source() % 3 - 1;
    return;
  }
  node.inside.clear();
  const size_t size = node.bytes.size();
  node.bytes.resize(size + 16);
  node.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(node.bytes.data()), size, size + 16));
}

void change(std::vector<Node>& nodes, Source& source) {
  std::vector<Place> places;
  list_places(nodes, places);
  if (places.empty()) return;
  const Place place = places[below(source, places.size())];
  Node& node = place.node();
  auto at = place.siblings->begin() + static_cast<std::ptrdiff_t>(place.at);
  switch (source() % 6) {
  case 0: place.siblings->erase(at); return;
  case 1: place.siblings->insert(at, Node(node)); return; // twice
  case 2: std::swap(node, (*place.siblings)[below(source, place.siblings->size())]); return;
  case 3: { // another's: the same field of another message, if chance finds one
    for (int tries = 0; tries < 64; ++tries) {
      const Node& other = places[below(source, places.size())].node();
      if (&other == &node || other.number != node.number || other.type != node.type) continue;
      const Node copy = other;
      node = copy;
      return;
    }
    return;
  }
  default: change_value(node, source);
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Source source(seed);
  if (seed % 16 != 0)
    if (auto nodes = parse({reinterpret_cast<const std::byte*>(data), size}, 0)) {
      for (size_t changes = 1 + source() % 4; changes > 0; --changes)
        change(*nodes, source);
      const std::string bytes = written(*nodes);
      if (bytes.size() <= most && !bytes.empty()) {
        std::memcpy(data, bytes.data(), bytes.size());
        return bytes.size();
      }
    }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool limited = (limit_reading(kMostBytes), true);
  static_cast<void>(limited);
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  onnx::ImportOptions options;
  options.weights_file = "fuzz.safetensors";
  // Nothing computes constants here: a model that needs them is refused where they are needed.
  options.evaluate = [](const std::string&, const std::vector<HostTensor>&) -> std::vector<HostTensor> {
    throw std::runtime_error("nothing computes");
  };
  try {
    const onnx::Imported model = onnx::import_model("/proc/self/fd/" + std::to_string(file), options);
    if (model.refusals.empty() == model.source.empty()) std::abort(); // neither, or both
  } catch (const onnx::ModelError&) {
  } catch (const IoError&) {
  }
  close(file);
  return 0;
}
