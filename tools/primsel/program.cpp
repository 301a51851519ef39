#include "program.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

extern char** environ;

namespace cli {
namespace ps = primsel;
namespace {

struct CloseProgramFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using ErrorFile = std::unique_ptr<std::FILE, CloseProgramFile>;

/// A program that runs: its output can be read. It is ended with the object.
class ChildProgram {
public:
    ChildProgram(std::vector<std::string> const& words, std::map<std::string, std::string> const& environment)
        : name_(words.at(0)), errors_(std::tmpfile()) {
        if (!errors_) ps::fail("no temporary file for the errors of ", name_);
        int ends[2];
        if (::pipe2(static_cast<int*>(ends), O_CLOEXEC) != 0) ps::fail("no pipe for the output of ", name_);
        output_.reset(::fdopen(ends[0], "r"));
        std::vector<std::string> kept;
        for (char** each = environ; *each != nullptr; ++each) {
            const std::string text = *each;
            if (!environment.contains(text.substr(0, text.find('=')))) kept.push_back(text);
        }
        for (auto const& [name, value] : environment) kept.push_back(ps::join(name, '=', value));
        std::vector<char*> arguments, variables;
        for (std::string const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        for (std::string const& variable : kept) variables.push_back(const_cast<char*>(variable.c_str()));
        arguments.push_back(nullptr), variables.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ::fileno(errors_.get()), STDERR_FILENO);
        const int fault = ::posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
        posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        if (fault != 0) {
            id_ = 0;
            ps::fail(name_, ": ", std::strerror(fault));
        }
    }
    ChildProgram(ChildProgram const&) = delete;
    ChildProgram& operator=(ChildProgram const&) = delete;
    ~ChildProgram() { end(); }

    [[nodiscard]] std::FILE* output() const { return output_.get(); }
    void end() {
        if (id_ == 0) return;
        ::kill(id_, SIGTERM);
        (void)wait();
    }
    /// Waits for the program's end. Throws error unless its status is 0.
    void finish() {
        const int status = wait();
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        const std::string how = WIFSIGNALED(status) ? ps::join("was ended by signal ", WTERMSIG(status))
                                                    : ps::join("failed with status ", WEXITSTATUS(status));
        const std::string last = last_error();
        ps::fail(name_, ' ', how, last.empty() ? "" : ": ", ps::printable(last));
    }

private:
    [[nodiscard]] int wait() {
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        id_ = 0;
        return status;
    }
    [[nodiscard]] std::string last_error() const {
        constexpr long most = 4000;
        std::fseek(errors_.get(), 0, SEEK_END);
        const long size = std::ftell(errors_.get());
        std::fseek(errors_.get(), size > most ? size - most : 0, SEEK_SET);
        std::string text(static_cast<std::size_t>(most), '\0');
        text.resize(std::fread(text.data(), 1, text.size(), errors_.get()));
        while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
        return text.substr(text.find_last_of('\n') + 1);
    }

    std::string name_;
    ErrorFile errors_, output_;
    pid_t id_ = 0;
};

}  // namespace

void run_program(std::vector<std::string> const& words, std::map<std::string, std::string> const& environment,
                 std::function<bool(std::string_view)> const& line) {
    ChildProgram child(words, environment);
    std::string text;
    const auto take = [&] { return line(std::exchange(text, {})); };
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), child.output()) != nullptr) {
        text += part.data();
        if (text.empty() || text.back() != '\n') continue;
        text.pop_back();
        if (!take()) return child.end();
    }
    if (!text.empty() && !take()) return child.end();
    child.finish();
}

std::vector<std::string> shell_command(std::string command, std::string const& file) {
    std::string quoted = "'";
    for (const char letter : file) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    quoted += '\'';
    constexpr std::string_view place = "{model}";
    for (std::size_t at = command.find(place); at != std::string::npos; at = command.find(place, at)) {
        command.replace(at, place.size(), quoted);
        at += quoted.size();
    }
    return {"/bin/sh", "-c", std::move(command)};
}

}  // namespace cli
