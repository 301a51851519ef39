#include "http.hpp"

#include "metrics.hpp"
#include "queue.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/npy.hpp>

#ifdef SERVE_IMAGES
#include <image.hpp>
#endif

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <future>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/socket.h>

namespace serve {

namespace ps = primsel;

namespace {

struct Answer {
    int status = 200;
    std::string body;
};
Answer refusal(int status, std::string_view reason) {
    return {status, ps::to_string(ps::Json(ps::Json::Object{{"error", ps::printable(reason)}})) + "\n"};
}

/// The images of a request's body. Throws error where it holds none that the network takes.
Images read_images(std::string const& body, int channels, [[maybe_unused]] Settings const& settings) {
    const auto bytes = std::as_bytes(std::span(body));
    Images images;
    if (body.starts_with("\x93NUMPY")) {
        ps::NpyArray array = ps::parse_npy("the request", bytes);
        std::vector<std::int64_t>& dims = array.dims;
        if (dims.size() == 3) dims.insert(dims.begin(), 1);
        constexpr std::int64_t most = 1 << 16;
        const bool fits =
            dims.size() == 4 && dims[1] == channels && dims[0] <= most && dims[2] <= most && dims[3] <= most;
        if (!fits) {
            ps::fail("the request: an array of ", ps::to_string(array.dims), "; the network takes ", channels,
                     "xHxW or Nx", channels, "xHxW");
        }
        if (array.values.size() / static_cast<std::size_t>(channels) > settings.pixels) {
            ps::fail("the request: an array of ", ps::to_string(array.dims), "; this server takes ", settings.pixels,
                     " pixels");
        }
        images.count = static_cast<int>(dims[0]);
        images.height = static_cast<int>(dims[2]), images.width = static_cast<int>(dims[3]);
        images.values = std::move(array.values);
        return images;
    }
#ifdef SERVE_IMAGES
    if (channels != 1 && channels != 3) ps::fail("the request: images have 1 or 3 channels, the network ", channels);
    const image::Image picture =
        image::decode("the request", bytes, channels, image::Orientation::from_exif, settings.pixels);
    images.height = picture.h, images.width = picture.w;
    images.values.resize(picture.pixels.size());
    const auto step = static_cast<std::size_t>(channels), pixels = picture.pixels.size() / step;
    for (std::size_t c = 0; c < step; ++c) {
        float* const plane = images.values.data() + c * pixels;
        for (std::size_t i = 0; i < pixels; ++i) {
            plane[i] = (static_cast<float>(picture.pixels[i * step + c]) / 255 - settings.mean) / settings.deviation;
        }
    }
    return images;
#else
    ps::fail("the request: no .npy array");
#endif
}

std::string text_of(int images, Done const& done) {
    ps::Json::Array outputs;
    for (Result const& result : done.results) {
        ps::Json::Array shape, values;
        for (const std::int64_t dim : result.dims) shape.emplace_back(dim);
        for (const float value : result.values) {
            values.push_back(std::isfinite(value) ? ps::Json(static_cast<double>(value)) : ps::Json());
        }
        outputs.push_back(
            ps::Json::Object{{"name", result.name}, {"shape", std::move(shape)}, {"values", std::move(values)}});
    }
    return ps::to_string(ps::Json(ps::Json::Object{{"batch", images},
                                                   {"wait_ms", done.waited_seconds * 1e3},
                                                   {"run_ms", done.ran_seconds * 1e3},
                                                   {"outputs", std::move(outputs)}})) +
           "\n";
}

/// A job waited longer than the deadline.
struct Late {};

/// Runs jobs until the queue is closed and empty.
void work(Worker& worker, JobQueue& queue, Metrics& metrics, double deadline_seconds) {
    while (const auto job = queue.pop()) {
        try {
            Done done;
            done.waited_seconds = std::chrono::duration<double>(Clock::now() - job->accepted).count();
            if (done.waited_seconds > deadline_seconds) throw Late{};
            const ps::Timer timer;
            done.results = worker.run(job->images);
            done.ran_seconds = timer.seconds();
            metrics.count_run(done.waited_seconds, done.ran_seconds);
            job->done.set_value(std::move(done));
        } catch (...) {
            job->done.set_exception(std::current_exception());
        }
    }
}

/// Reads a request, waits until a worker has run it, and writes the answer. All but the run is on the thread of the
/// connection, so that workers do nothing else.
Answer answer(std::string const& body, int channels, Settings const& settings, JobQueue& queue) try {
    auto job = std::make_unique<Job>();
    job->images = read_images(body, channels, settings);
    job->accepted = Clock::now();
    const int images = job->images.count;
    std::future<Done> done = job->done.get_future();
    if (!queue.push(std::move(job))) return refusal(429, "the queue is full");
    return {200, text_of(images, done.get())};
} catch (Late const&) {
    return refusal(503, "it waited longer than the deadline");
} catch (ps::error const& fault) {
    return refusal(400, fault.what());
} catch (std::exception const& fault) {
    return refusal(500, fault.what());
}

/// The signals that end the server. They are blocked in the calling thread and in all that it starts, and one that
/// comes while the server starts waits until somebody asks for it.
sigset_t block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return signals;
}

}  // namespace

Settings read_settings(int argc, char** argv) {
    Settings settings;
    settings.workers = settings.threads = ps::usable_threads().count();
    const auto number = [](std::string_view option, const char* text, auto& value, double least) {
        if (text == nullptr || !ps::read_number(text, value) || !(static_cast<double>(value) >= least)) {
            ps::fail(option, ' ', text == nullptr ? "" : text, ": expected a number of at least ", least);
        }
    };
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (!option.starts_with("--")) {
            settings.files.emplace_back(option);
            continue;
        }
        const char* const value = argv[++i];  // null behind the last argument
        if (option == "--port")
            number(option, value, settings.port, 0);
        else if (option == "--workers")
            number(option, value, settings.workers, 1);
        else if (option == "--threads")
            number(option, value, settings.threads, 1);
        else if (option == "--queue")
            number(option, value, settings.queue, 1);
        else if (option == "--connections")
            number(option, value, settings.connections, 1);
        else if (option == "--sizes")
            number(option, value, settings.sizes, 1);
        else if (option == "--pixels")
            number(option, value, settings.pixels, 1);
        else if (option == "--deadline")
            number(option, value, settings.deadline_seconds, 0);
        else if (option == "--size")
            number(option, value, settings.size, 1);
        else if (option == "--mean")
            number(option, value, settings.mean, -1e6);
        else if (option == "--std")
            number(option, value, settings.deviation, 1e-6);
        else
            ps::fail(option, ": no such option; see the head of examples/serve/serve.cpp");
    }
    if (settings.port > 65535) ps::fail("--port ", settings.port, ": expected a number of at most 65535");
    return settings;
}

void serve(Settings const& settings, std::unique_ptr<Network> (*make)(Settings const&)) {
    const sigset_t signals = block_signals();
    const std::unique_ptr<Network> network = make(settings);
    const int channels = network->channels();
    JobQueue queue(settings.queue);
    Metrics metrics;
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < settings.workers; ++i) workers.push_back(network->make_worker());

    httplib::Server server;
    server.new_task_queue = [&] { return new httplib::ThreadPool(settings.connections); };
    // Head and body of an answer are two writes; without this the second waits for the client to acknowledge the first.
    server.set_tcp_nodelay(true);
    server.set_keep_alive_max_count(1000);
    // As much as an array of doubles and its header take.
    server.set_payload_max_length(settings.pixels * static_cast<std::size_t>(channels) * sizeof(double) + 4096);
    int listener = -1;
    server.set_socket_options([&listener](int socket) {
        // The library's own options would let a second server share the port.
        const int yes = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        listener = socket;
    });
    std::atomic<bool> ending = false;
    server.Post("/run", [&](httplib::Request const& request, httplib::Response& response) {
        const Answer given = answer(request.body, channels, settings, queue);
        metrics.count_answer(given.status);
        response.status = given.status;
        if (given.status == 429) response.set_header("Retry-After", "1");
        if (ending) response.set_header("Connection", "close");
        response.set_content(given.body, "application/json");
    });
    server.Get("/health", [](httplib::Request const&, httplib::Response& response) {
        response.set_content("ok\n", "text/plain");
    });
    server.Get("/metrics", [&](httplib::Request const&, httplib::Response& response) {
        response.set_content(metrics.text() + gauge("primsel_queue_jobs", queue.size()) +
                                 gauge("primsel_weight_bytes", network->weight_bytes()) +
                                 gauge("primsel_workers", settings.workers),
                             "text/plain; version=0.0.4");
    });

    int port = settings.port;
    if (port == 0)
        port = server.bind_to_any_port("127.0.0.1");
    else if (!server.bind_to_port("127.0.0.1", port))
        port = -1;
    if (port <= 0) ps::fail("cannot listen on port ", settings.port);
    // The library lets five connections wait to be accepted; the next ones would try again after a second.
    ::listen(listener, static_cast<int>(settings.connections));

    std::vector<std::thread> threads;
    for (const auto& worker : workers) {
        threads.emplace_back([&] { work(*worker, queue, metrics, settings.deadline_seconds); });
    }
    std::printf("listening on http://127.0.0.1:%d with %zu workers\n", port, settings.workers);
    std::fflush(stdout);
    std::atomic<bool> ended = false;
    std::thread waiter([&] {
        int signal = 0;
        sigwait(&signals, &signal);
        ending = true;
        // Before the server runs, stop() does nothing.
        while (!server.is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        server.stop();  // listen_after_bind returns when all accepted requests are answered
    });
    server.listen_after_bind();
    ended = true;
    pthread_kill(waiter.native_handle(), SIGTERM);
    waiter.join();
    queue.close();
    for (std::thread& thread : threads) thread.join();
    std::printf("answered %zu requests\n", metrics.answers());
}

}  // namespace serve
