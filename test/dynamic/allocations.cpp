// This program too counts what it allocates.
#include "../io/allocations.cpp"
