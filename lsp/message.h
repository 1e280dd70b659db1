// The base protocol: frames of JSON on two file descriptors, and what is wrong with a request.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace tl::lsp {

using Json = nlohmann::json;

// Of JSON-RPC and the protocol, as far as the server answers them.
enum class ErrorCode {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  ServerNotInitialized = -32002,
  RequestFailed = -32803,
  RequestCancelled = -32800,
};

// Thrown by what answers a request: the answer is this error.
struct ResponseError : std::runtime_error {
  ResponseError(ErrorCode code, const std::string& message) : std::runtime_error(message), code(code) {}
  ErrorCode code;
};

// Messages as they arrive: a thread reads them, so that a request can be cancelled before it is answered, and the
// server knows whether there is more to do. It ends at the end of the input, or behind the notification `exit`.
class Inbox {
public:
  explicit Inbox(int descriptor);
  ~Inbox();
  Inbox(const Inbox&) = delete;

  struct Item {
    Json message;        // if there is no problem
    std::string problem; // why this is no message
    bool is_end = false;
  };
  Item next();                    // waits for it
  bool is_idle(int milliseconds); // nothing comes for so long
  bool is_cancelled(const Json& id);
  // True from the moment something arrives: what works ahead stops then.
  const std::atomic<bool>& has_more() const { return has_more_; }

private:
  void read_all();
  bool read_frame(Item& item); // false: the input has ended
  bool read_line(std::string& line);
  bool read_bytes(std::string& bytes, size_t count);
  bool fill();
  void put(Item item);

  int descriptor_;
  std::string buffer_;
  size_t at_ = 0; // what of buffer_ has been taken
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Item> items_;
  std::set<std::string> cancelled_; // ids as text
  std::atomic<bool> has_more_ = false;
  std::thread thread_; // the last member: it uses the others
};

// Writes a message. Throws std::system_error where the other end is gone.
void write_message(int descriptor, const Json& message);

} // namespace tl::lsp
