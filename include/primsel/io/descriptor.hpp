// The system's files: what the standard library's streams do not do. Paths are UTF-8, bytes are written as they are.
// A function that fails returns false and leaves the reason in errno.
#pragma once

#include <primsel/io/detail/descriptor_posix.hpp>
#include <primsel/io/detail/descriptor_windows.hpp>
#include <primsel/io/detail/file_status.hpp>
