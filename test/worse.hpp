#pragma once

/// The larger of two errors. NaN is larger than any.
[[nodiscard]] inline double worse(double a, double b) { return a != a || a >= b ? a : b; }
