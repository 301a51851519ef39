// The unit that CMake's precompiled header of the tests belongs to.
