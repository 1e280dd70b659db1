// Programs that the client asks to run: in a process each, so that the server goes on answering.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace tl::lsp {

// One at a time: the next one ends the last one.
class Runs {
public:
  // What is called from a thread of its own: with each line that the program prints, and once with how it ended.
  struct Listener {
    std::function<void(const std::string& line)> on_line;
    std::function<void(const std::string& how)> on_end;
  };
  Runs(Listener listener, std::chrono::seconds patience) : listener_(std::move(listener)), patience_(patience) {}
  ~Runs() { stop(); }
  Runs(const Runs&) = delete;

  // The program reads `input`. Throws std::system_error where no process can be made.
  void start(const std::vector<std::string>& command, const std::string& folder, const std::string& input);
  bool stop(); // false: nothing ran

private:
  void follow(int output);

  Listener listener_;
  std::chrono::seconds patience_;
  std::mutex mutex_;        // of the next two, which the thread sets when the process has ended
  pid_t process_ = 0;       // and its group; 0: none runs
  bool is_stopped_ = false; // by stop()
  std::thread thread_;
};

} // namespace tl::lsp
