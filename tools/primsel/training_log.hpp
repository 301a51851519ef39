// Output of a training while it runs.
#pragma once

#include "progress.hpp"

#include <primsel/core/timer.hpp>
#include <primsel/io/json.hpp>
#include <primsel/train/training_options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

namespace ps = primsel;

/// A line an epoch, a picture of all epochs, and how far it has come.
class TrainingLog {
public:
    struct Form {
        /// Lines of JSON in place of words.
        bool json = false;
        /// The picture's file, or empty.
        std::string curves;
    };
    TrainingLog(Form form, std::int64_t epochs, std::int64_t updates_per_epoch);

    /// Goes on after so many updates with the history that an earlier log gave; `source` names its file.
    void resume(std::string_view history, std::string const& source, std::int64_t updates);
    void add(ps::EpochReport const& epoch);
    /// After each update.
    void tick(std::int64_t updates);
    /// All epochs as JSON, without their times: the same for the same training.
    [[nodiscard]] std::string history() const;

private:
    void draw() const;

    Form form_;
    std::int64_t epochs_, updates_per_epoch_, first_update_ = 0;
    ps::Json::Array history_;
    ps::Timer since_;
    ProgressLine line_;
};

}  // namespace cli
