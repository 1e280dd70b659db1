#include "lsp/message.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <unistd.h>

namespace tl::lsp {
namespace {

constexpr size_t kLongestMessage = size_t{256} << 20; // programs have at most 64 MiB
constexpr size_t kLongestHeader = 4096;
constexpr std::string_view kLength = "content-length:";

bool is_field(const std::string& line, std::string_view name) {
  return line.size() >= name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char wanted, char c) {
           return wanted == std::tolower(static_cast<unsigned char>(c));
         });
}

// Nothing where the text is no length.
std::optional<size_t> length_in(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t", kLength.size());
  size_t length = 0;
  if (begin == std::string::npos) return std::nullopt;
  const char* last = line.data() + line.size();
  const auto [end, error] = std::from_chars(line.data() + begin, last, length);
  return error == std::errc() && end == last && length <= kLongestMessage ? std::optional(length) : std::nullopt;
}

} // namespace

Inbox::Inbox(int descriptor) : descriptor_(descriptor), thread_([this] { read_all(); }) {}

Inbox::~Inbox() { thread_.join(); }

void Inbox::read_all() {
  for (;;) {
    Item item;
    if (!read_frame(item)) break;
    bool is_last = false;
    if (item.problem.empty() && item.message.is_object()) {
      const auto method = item.message.find("method");
      is_last = method != item.message.end() && *method == "exit";
      if (method != item.message.end() && *method == "$/cancelRequest") {
        const Json id = item.message.value("params", Json::object());
        const std::lock_guard lock(mutex_);
        if (id.is_object() && id.contains("id")) cancelled_.insert(id["id"].dump());
        continue;
      }
    }
    put(std::move(item));
    if (is_last) return;
  }
  Item end;
  end.is_end = true;
  put(std::move(end));
}

void Inbox::put(Item item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  has_more_ = true;
  arrived_.notify_one();
}

bool Inbox::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  char bytes[65536];
  ssize_t count = 0;
  while ((count = ::read(descriptor_, bytes, sizeof bytes)) < 0 && errno == EINTR) {
  }
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

bool Inbox::read_line(std::string& line) {
  line.clear();
  for (;;) {
    if (at_ == buffer_.size() && !fill()) return false;
    const char c = buffer_[at_++];
    if (c == '\n') break;
    if (line.size() < kLongestHeader) line += c;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

bool Inbox::read_bytes(std::string& bytes, size_t count) {
  while (bytes.size() < count) {
    if (at_ == buffer_.size() && !fill()) return false;
    const size_t part = std::min(count - bytes.size(), buffer_.size() - at_);
    bytes.append(buffer_, at_, part);
    at_ += part;
  }
  return true;
}

bool Inbox::read_frame(Item& item) {
  std::string line, body;
  std::optional<size_t> length;
  bool any = false;
  for (;;) {
    if (!read_line(line)) return false;
    if (line.empty() && any) break;
    any = any || !line.empty();
    if (is_field(line, kLength)) length = length_in(line);
  }
  if (!length) {
    item.problem = "a message has no Content-Length, or none that it can have";
    return true;
  }
  if (!read_bytes(body, *length)) return false;
  item.message = Json::parse(body, nullptr, false);
  if (item.message.is_discarded()) item.problem = "a message is not JSON";
  return true;
}

Inbox::Item Inbox::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !items_.empty(); });
  Item item = std::move(items_.front());
  items_.pop_front();
  has_more_ = !items_.empty();
  return item;
}

bool Inbox::is_idle(int milliseconds) {
  std::unique_lock lock(mutex_);
  return !arrived_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !items_.empty(); });
}

bool Inbox::is_cancelled(const Json& id) {
  const std::lock_guard lock(mutex_);
  return cancelled_.erase(id.dump()) != 0;
}

void write_message(int descriptor, const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string frame = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (size_t at = 0; at < frame.size();) {
    const ssize_t count = ::write(descriptor, frame.data() + at, frame.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::generic_category());
    at += static_cast<size_t>(count);
  }
}

} // namespace tl::lsp
