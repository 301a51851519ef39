// serve MODEL.onnx [--port N] [--workers N] [--queue N] [--deadline SECONDS] [--connections N] [--sizes N]
//                  [--size N] [--mean M] [--std S]
//
// Serves a network of one image input over HTTP. One Model holds the weights; each worker has an engine over it, on a
// thread of its own, and takes images of any size that the network allows.
//
//     POST /run       an .npy array of CxHxW or NxCxHxW, or a PNG or JPEG image -> JSON with all results
//     GET  /health    200
//     GET  /metrics   counters in the text format of Prometheus
//
// A full queue answers 429, a request that waited longer than the deadline 503, one that the network cannot take 400.
// SIGTERM and SIGINT end the server when every request that it accepted is answered.
#include <primsel/core/read_number.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/engine/model.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#ifdef SERVE_IMAGES
#include <image.hpp>
#endif

#include <httplib.h>

#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    std::string model;
    int port = 8080;
    std::size_t workers = ps::usable_threads().count(), queue = 64, connections = 128, sizes = 8;
    double deadline = 10;
    int size = 0;                   // of the first images, where the file leaves it open
    float mean = 0, deviation = 1;  // of pixels from 0 to 1
};

struct Answer {
    int status = 200;
    std::string body;
};
Answer refusal(int status, std::string_view reason) {
    return {status, ps::to_string(ps::Json(ps::Json::Object{{"error", ps::printable(reason)}})) + "\n"};
}

struct Job {
    ps::RunSize size;
    std::vector<float> images;
    Clock::time_point accepted = Clock::now();
    std::promise<Answer> answer;
};

/// Jobs that wait for a worker; no more than so many.
class JobQueue {
public:
    explicit JobQueue(std::size_t most) : most_(most) {}
    /// Returns whether there is room for the job.
    [[nodiscard]] bool push(std::unique_ptr<Job> job) {
        const std::scoped_lock lock(mutex_);
        if (jobs_.size() >= most_) return false;
        jobs_.push_back(std::move(job));
        changed_.notify_one();
        return true;
    }
    /// Waits for a job; null when the queue is closed and empty.
    [[nodiscard]] std::unique_ptr<Job> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
        if (jobs_.empty()) return nullptr;
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        return job;
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] std::size_t size() const {
        const std::scoped_lock lock(mutex_);
        return jobs_.size();
    }

private:
    std::size_t most_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Job>> jobs_;
    bool closed_ = false;
};

/// A histogram of seconds, as Prometheus has them.
class Seconds {
public:
    void add(double seconds) {
        for (std::size_t i = 0; i < bounds.size(); ++i) below_[i] += seconds <= bounds[i] ? 1 : 0;
        sum_ += seconds, ++count_;
    }
    [[nodiscard]] std::string text(std::string const& name) const {
        std::string text = "# TYPE " + name + " histogram\n";
        for (std::size_t i = 0; i < bounds.size(); ++i) {
            text += ps::join(name, "_bucket{le=\"", bounds[i], "\"} ", below_[i], '\n');
        }
        return text + ps::join(name, "_bucket{le=\"+Inf\"} ", count_, '\n', name, "_sum ", sum_, '\n', name, "_count ",
                               count_, '\n');
    }

private:
    static constexpr std::array bounds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0};
    std::array<std::size_t, bounds.size()> below_{};
    double sum_ = 0;
    std::size_t count_ = 0;
};

class Metrics {
public:
    void count_answer(int status) {
        const std::scoped_lock lock(mutex_);
        ++answers_[status];
    }
    void count_run(double waited, double ran) {
        const std::scoped_lock lock(mutex_);
        waited_.add(waited), ran_.add(ran);
    }
    [[nodiscard]] std::size_t answers() const {
        const std::scoped_lock lock(mutex_);
        std::size_t sum = 0;
        for (auto const& [status, count] : answers_) sum += count;
        return sum;
    }
    [[nodiscard]] std::string text() const {
        const std::scoped_lock lock(mutex_);
        std::string text = "# TYPE primsel_requests_total counter\n";
        for (auto const& [status, count] : answers_) {
            text += ps::join("primsel_requests_total{code=\"", status, "\"} ", count, '\n');
        }
        return text + waited_.text("primsel_wait_seconds") + ran_.text("primsel_run_seconds");
    }

private:
    mutable std::mutex mutex_;
    std::map<int, std::size_t> answers_;
    Seconds waited_, ran_;
};
std::string gauge(std::string const& name, std::size_t value) {
    return ps::join("# TYPE ", name, " gauge\n", name, ' ', value, '\n');
}

/// The images of a request's body. Throws error where it holds none that the network takes.
Job read_job(std::string const& body, ps::Model<> const& model, [[maybe_unused]] Settings const& settings) {
    const int channels = model.graph()[model.graph().input()].shape.c;
    const auto bytes = std::as_bytes(std::span(body));
    Job job;
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
        job.size = {static_cast<int>(dims[0]), static_cast<int>(dims[2]), static_cast<int>(dims[3])};
        job.images = std::move(array.values);
        return job;
    }
#ifdef SERVE_IMAGES
    if (channels != 1 && channels != 3) ps::fail("the request: images have 1 or 3 channels, the network ", channels);
    const image::Image picture = image::decode("the request", bytes, channels);
    job.size = {1, picture.h, picture.w};
    job.images.resize(picture.pixels.size());
    const std::size_t pixels = picture.pixels.size() / static_cast<std::size_t>(channels);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
        const float value = static_cast<float>(picture.pixels[i]) / 255;
        job.images[i % static_cast<std::size_t>(channels) * pixels + i / static_cast<std::size_t>(channels)] =
            (value - settings.mean) / settings.deviation;
    }
    return job;
#else
    ps::fail("the request: no .npy array");
#endif
}

/// Runs jobs until the queue is closed and empty.
void work(ps::ModelEngine<>& engine, std::vector<std::string> const& names, JobQueue& queue, Metrics& metrics,
          double deadline) {
    const auto answer = [&](Job const& job) -> Answer {
        const double waited = std::chrono::duration<double>(Clock::now() - job.accepted).count();
        if (waited > deadline) return refusal(503, "it waited longer than the deadline");
        const ps::Timer timer;
        engine.use(job.size);
        std::vector<std::vector<float>> results;
        std::vector<std::span<float>> dsts;
        for (std::size_t i = 0; i < names.size(); ++i) results.emplace_back(engine.program().out_floats(i));
        for (std::vector<float>& result : results) dsts.emplace_back(result);
        const std::span<const float> src(job.images);
        engine.run(std::span(&src, 1), dsts);
        const double ran = timer.seconds();
        metrics.count_run(waited, ran);
        ps::Json::Array outputs;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const ps::Shape shape = engine.out_shapes()[i];
            ps::Json::Array values;
            for (const float value : results[i]) {
                values.push_back(std::isfinite(value) ? ps::Json(static_cast<double>(value)) : ps::Json());
            }
            outputs.push_back(ps::Json::Object{{"name", names[i]},
                                               {"shape", ps::Json::Array{shape.c, shape.h, shape.w}},
                                               {"values", std::move(values)}});
        }
        return {200, ps::to_string(ps::Json(ps::Json::Object{{"batch", job.size.batch},
                                                             {"wait_ms", waited * 1e3},
                                                             {"run_ms", ran * 1e3},
                                                             {"outputs", std::move(outputs)}})) +
                         "\n"};
    };
    while (const auto job = queue.pop()) {
        try {
            job->answer.set_value(answer(*job));
        } catch (ps::error const& fault) {
            job->answer.set_value(refusal(400, fault.what()));
        } catch (std::exception const& fault) {
            job->answer.set_value(refusal(500, fault.what()));
        }
    }
}

Settings read_settings(int argc, char** argv) {
    Settings settings;
    const auto number = [](std::string_view option, const char* text, auto& value, double least) {
        if (text == nullptr || !ps::read_number(text, value) || !(static_cast<double>(value) >= least)) {
            ps::fail(option, ' ', text == nullptr ? "" : text, ": expected a number of at least ", least);
        }
    };
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (!option.starts_with("--")) {
            if (!settings.model.empty()) ps::fail("two models: ", settings.model, " and ", option);
            settings.model = option;
            continue;
        }
        const char* const value = argv[++i];  // null behind the last argument
        if (option == "--port")
            number(option, value, settings.port, 0);
        else if (option == "--workers")
            number(option, value, settings.workers, 1);
        else if (option == "--queue")
            number(option, value, settings.queue, 1);
        else if (option == "--connections")
            number(option, value, settings.connections, 1);
        else if (option == "--sizes")
            number(option, value, settings.sizes, 1);
        else if (option == "--deadline")
            number(option, value, settings.deadline, 0);
        else if (option == "--size")
            number(option, value, settings.size, 1);
        else if (option == "--mean")
            number(option, value, settings.mean, -1e6);
        else if (option == "--std")
            number(option, value, settings.deviation, 1e-6);
        else
            ps::fail(option, ": no such option; see the head of examples/serve/serve.cpp");
        if (value == nullptr) break;
    }
    if (settings.model.empty()) ps::fail("usage: serve MODEL.onnx [--port N] [--workers N] ...");
    return settings;
}

void serve(Settings const& settings) {
    ps::OnnxOptions options;
    if (settings.size > 0) options.image = {settings.size, settings.size};
    ps::OnnxModel file = ps::load_onnx(settings.model, options);
    if (file.graph.inputs().size() != 1) ps::fail(settings.model, ": it has several inputs; serve takes one image");
    std::vector<std::string> names;
    for (ps::OnnxValueInfo const& output : file.outputs) names.push_back(output.name);
    const ps::Model<> model(std::move(file.graph), std::move(file.weights), {}, settings.sizes * 4);

    // Only the thread that waits for them gets these signals.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);

    JobQueue queue(settings.queue);
    Metrics metrics;
    std::deque<ps::ModelEngine<>> engines;
    for (std::size_t i = 0; i < settings.workers; ++i) engines.emplace_back(model, ps::Sequential{}, settings.sizes);
    std::vector<std::thread> workers;
    for (ps::ModelEngine<>& engine : engines) {
        workers.emplace_back([&] { work(engine, names, queue, metrics, settings.deadline); });
    }

    httplib::Server server;
    server.new_task_queue = [&] { return new httplib::ThreadPool(settings.connections); };
    server.set_payload_max_length(std::size_t{256} << 20);
    server.Post("/run", [&](httplib::Request const& request, httplib::Response& response) {
        Answer answer;
        try {
            auto job = std::make_unique<Job>(read_job(request.body, model, settings));
            std::future<Answer> result = job->answer.get_future();
            answer = queue.push(std::move(job)) ? result.get() : refusal(429, "the queue is full");
        } catch (ps::error const& fault) {
            answer = refusal(400, fault.what());
        } catch (std::exception const& fault) {
            answer = refusal(500, fault.what());
        }
        metrics.count_answer(answer.status);
        response.status = answer.status;
        if (answer.status == 429) response.set_header("Retry-After", "1");
        response.set_content(answer.body, "application/json");
    });
    server.Get("/health", [](httplib::Request const&, httplib::Response& response) {
        response.set_content("ok\n", "text/plain");
    });
    server.Get("/metrics", [&](httplib::Request const&, httplib::Response& response) {
        response.set_content(metrics.text() + gauge("primsel_queue_jobs", queue.size()) +
                                 gauge("primsel_weight_bytes", model.weight_bytes()) +
                                 gauge("primsel_workers", settings.workers),
                             "text/plain; version=0.0.4");
    });

    int port = settings.port;
    if (port == 0)
        port = server.bind_to_any_port("127.0.0.1");
    else if (!server.bind_to_port("127.0.0.1", port))
        port = -1;
    if (port > 0) {
        std::printf("listening on http://127.0.0.1:%d with %zu workers\n", port, settings.workers);
        std::fflush(stdout);
        std::thread waiter([&server, signals] {
            int signal = 0;
            sigwait(&signals, &signal);
            server.stop();  // listen_after_bind returns when all accepted requests are answered
        });
        server.listen_after_bind();
        pthread_kill(waiter.native_handle(), SIGTERM);
        waiter.join();
    }
    queue.close();
    for (std::thread& worker : workers) worker.join();
    if (port <= 0) ps::fail("cannot listen on port ", settings.port);
    std::printf("answered %zu requests\n", metrics.answers());
}

}  // namespace

int main(int argc, char** argv) try {
    serve(read_settings(argc, argv));
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
}
